// phoenix.sink: rows into tables of Apache Phoenix by key, over Phoenix Query Servers.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "phoenix/lane_times.h"
#include "phoenix/operator_page.h"
#include "phoenix/row_writer.h"
#include "phoenix/servers.h"
#include "phoenix/target_table.h"
#include "sluice/sdk.hpp"

namespace sluice::phoenix {

enum class ZeroDates { kReject, kNull };
enum class WriteTime { kConnection, kServer };

struct PhoenixSinkConfig {
  std::vector<std::string> servers;
  std::string user, password, ca_file, certificate_file, key_file;
  std::optional<std::string> schema, table, table_field, key_field;
  Case letters = Case::kUpper;
  std::vector<std::string> key;
  bool create = true;
  StringMap columns;
  ZeroDates zero_dates = ZeroDates::kNull;
  int64_t batch_rows = 0;
  Size batch_bytes;
  std::chrono::milliseconds timeout{};
  WriteTime write_time = WriteTime::kConnection;
};

// Made by the host, one for each lane, each with connections of its own; [operator] calls only; holds no thread.
class PhoenixSink final : public Sink<PhoenixSinkConfig> {
 public:
  static constexpr const char* kType = "phoenix.sink";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kSummary =
      "Writes rows into tables of Apache Phoenix, by key, over Phoenix Query Servers.";
  static constexpr const char* kDoc = kPhoenixSinkDoc;
  static Options<PhoenixSinkConfig> options();

  Status configure(Needs& needs) override;
  Status open() override;
  Status check(Problems& problems) override;
  Status prepare(uint64_t checkpoint) override;
  Status write(const Batch& in, uint32_t* consumed) override;
  Status on_schema(const sluice_schema& schema) override;
  Status close() override;

 private:
  Status restore_times();
  Failure check_schema();
  TargetTable* table(std::string_view name);
  Status table_of(const Value& row, std::string_view* name) const;
  Failure bind_row(const Batch& in, uint32_t row);
  Failure flush();
  Status give_up(const Failure& failure, const Batch& in, uint32_t done, uint32_t* consumed);
  Status report_rejected(uint32_t done);
  Status status_of(const Failure& failure);
  void worked();

  // One entry in each lane; of several lanes, when there are fewer than before, until open().
  OperatorState<WrittenTimes> times_{this, "write_times", StateOptions().format(1, 1)};
  std::shared_ptr<LaneTimes> lane_times_;  // with several lanes
  std::chrono::steady_clock::time_point last_checkpoint_{};
  int64_t longest_gap_ms_ = 0;

  TableRules rules_;
  Servers servers_;
  RowWriter writer_;
  std::map<std::string, std::unique_ptr<TargetTable>, std::less<>> tables_;  // by Phoenix's name
  std::string last_name_;                                                    // as the last row wrote it
  TargetTable* last_table_ = nullptr;
  std::vector<std::pair<uint32_t, std::string>>
      rejected_;      // rows of the batch; told to the host when they are done for
  int failures_ = 0;  // since something worked
};

}  // namespace sluice::phoenix

template <>
struct sluice::Codec<sluice::phoenix::WrittenTimes> {
  using Times = sluice::phoenix::WrittenTimes;
  static void write(const Times& v, std::string* out) {
    Codec<int64_t>::write(v.newest_ms, out);
    Codec<int64_t>::write(v.longest_gap_ms, out);
  }
  static bool read(std::string_view bytes, Times* out) {
    constexpr size_t n = sizeof(int64_t);
    return bytes.size() == 2 * n && Codec<int64_t>::read(bytes.substr(0, n), &out->newest_ms) &&
           Codec<int64_t>::read(bytes.substr(n), &out->longest_gap_ms);
  }
};
