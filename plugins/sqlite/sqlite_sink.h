// sqlite.sink: rows into tables of a SQLite file, by key or exactly once by epoch.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database.h"
#include "operator_page.h"
#include "sluice/sdk.hpp"
#include "target_table.h"

namespace sluice::sqlite {

enum class Mode { kUpsert, kAppend };

struct SqliteSinkConfig {
  std::string path;
  Mode mode = Mode::kUpsert;
  std::optional<std::string> table, table_field, key_field;
  std::vector<std::string> key;
  bool create = true;
  StringMap columns;
  std::chrono::milliseconds busy_timeout{};
};

// Made by the host, one for each lane, each with a connection of its own; [operator] calls only; holds no thread.
class SqliteSink final : public Sink<SqliteSinkConfig> {
 public:
  static constexpr const char* kType = "sqlite.sink";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kSummary =
      "Writes rows into tables of a SQLite file: upserts by key, or appends exactly once.";
  static constexpr const char* kDoc = kSqliteSinkDoc;
  static Options<SqliteSinkConfig> options();

  Status configure(Needs& needs) override;
  Status open() override;
  Status check(Problems& problems) override;
  Status write(const Batch& in, uint32_t* consumed) override;
  Status on_schema(const sluice_schema& schema) override;
  Status prepare(uint64_t checkpoint) override;
  Status epoch_begin(uint64_t checkpoint) override;
  Status commit(uint64_t checkpoint) override;
  Status last_committed(uint64_t* checkpoint, std::string* lineage) override;
  Status close() override;

 private:
  bool appends() const noexcept { return config().mode == Mode::kAppend; }
  TargetTable* table(std::string_view name);
  Status write_row(const Batch& in, uint32_t row);
  Status table_of(const Value& row, std::string_view* name) const;
  void give_up_transaction();
  Status make_marker_table();
  Status read_marker();
  Status write_marker(uint64_t checkpoint);
  Status epoch_lost() const;

  Database database_;  // dies after the tables' statements
  TableRules rules_;
  std::map<std::string, std::unique_ptr<TargetTable>, std::less<>> tables_;  // by folded name
  std::string last_name_;                                                    // as the last row wrote it
  TargetTable* last_table_ = nullptr;
  std::vector<std::pair<uint32_t, std::string>> rejected_;  // rows of the batch; told to the host after the commit
  bool unsynced_ = false;                                   // upsert: committed, but not on the disk for sure
  bool epoch_has_rows_ = false;                             // append: rows of the epoch are in the open transaction
  uint64_t committed_ = 0;                                  // append: the marker
  std::string committed_lineage_;
};

}  // namespace sluice::sqlite
