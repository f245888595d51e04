// Hands the spooled rows of an epoch to its sink: after a checkpoint, and once more after a crash when the sink does
// not have them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/json_reader.h"
#include "runtime/dead_letters.h"
#include "runtime/job_context.h"
#include "runtime/operator.h"
#include "runtime/spool.h"

namespace sluice::runtime {

// Made for one attempt, by the thread that may call the operator.
class EpochWriter {
 public:
  using NextArena = std::function<std::shared_ptr<data::Arena>()>;  // memory of one batch, bound to the operator as well
  using PositionText = std::function<std::string(size_t source, const std::string& split, std::string_view position)>;
  EpochWriter(JobContext& job, Operator& op, uint32_t lane, data::JsonReader& reader, NextArena next_arena, PositionText position_text);

  // One transaction of the sink: epoch_begin(n), the rows of the spool file in order, commit(n).
  // RETRY: nothing is known; ask last_committed() before trying again. Rows that the sink refuses have letters of their
  // own for each attempt, durable before the commit; *refused counts them.
  base::Status write(uint64_t checkpoint, const std::string& file, uint64_t* refused);
  // The rows of an attempt turned out to be in the target: counts those it refused.
  void count_refused(uint64_t rows);

 private:
  struct Pending {
    std::shared_ptr<data::Arena> arena;
    std::vector<sluice_str> json, key, source, split, position;
    std::vector<int64_t> event_time;
    std::vector<uint8_t> change;
    bool has_key = false;
  };
  base::Status give();
  base::Status take_refused(const Pending* batch);
  base::Status refuse(std::string_view json, const SpoolOrigin& origin, const std::string& reason);
  config::OnError policy() const;

  JobContext& job_;
  Operator& op_;
  data::JsonReader& reader_;
  NextArena next_arena_;
  PositionText position_text_;
  DeadLetters letters_;
  Pending pending_;
  uint64_t* refused_ = nullptr;
};

}  // namespace sluice::runtime
