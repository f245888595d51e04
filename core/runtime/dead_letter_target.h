// A sink operator that takes the dead letters of a job: `dead_letters: { use: kafka.sink, with: … }`.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/json_reader.h"
#include "runtime/job_context.h"
#include "runtime/operator.h"

namespace sluice::runtime {

// One instance for all tasks of a job, which take turns. Owned by the job, outlives its tasks. A letter that the sink
// cannot take now is waited for, so that nothing goes on without it; one that it refuses comes back.
class DeadLetterTarget {
 public:
  struct Refused {
    std::string line, reason;
  };
  // `gives_up`: whoever waits may stop waiting. From any thread.
  DeadLetterTarget(const JobContext& job, const PlanNode& node, std::function<bool()> gives_up);
  DeadLetterTarget(const DeadLetterTarget&) = delete;
  DeadLetterTarget& operator=(const DeadLetterTarget&) = delete;

  base::Status open(const sluice_host* host);
  // `line` is a JSON object. Refused letters, earlier ones included, are added to *refused. [any task]
  base::Status write(std::string_view line, std::vector<Refused>* refused);
  // Barrier of a checkpoint: what was written before is durable outside when this returns OK. [any task]
  base::Status flush(uint64_t checkpoint, std::vector<Refused>* refused);
  base::Status commit(uint64_t checkpoint);  // the checkpoint is durable [coordinator]
  base::Status close();                      // [coordinator, without tasks]
  // Why letters wait; empty: they do not. [any]
  std::string waiting() const;

 private:
  base::Status give(std::string_view line, std::vector<Refused>* refused);
  void take_refused(const std::string& line, bool done, std::vector<Refused>* refused);
  base::Status until_taken(const std::function<base::Status()>& attempt);

  const JobContext& job_;
  const PlanNode& node_;
  const std::function<bool()> gives_up_;
  std::mutex mutex_;  // calls into the instance
  std::optional<Operator> op_;  // from open() on: before, the job has no lineage
  data::JsonReader reader_;
  std::shared_ptr<data::Arena> arena_;
  bool open_ = false, unflushed_ = false;
  mutable std::mutex waiting_mutex_;
  std::string waiting_;
};

}  // namespace sluice::runtime
