// What a server says about the table: its columns, engine and keys.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "column_type.h"
#include "partition_key.h"
#include "sluice/status.hpp"

namespace sluice::clickhouse {

struct Column {
  std::string name;
  ColumnType type;
  bool has_default = false;  // an expression of its own for rows without it
};

// Shared, and never changed once it is read.
struct TableLayout {
  std::vector<Column> columns;        // those that can be inserted, in the table's order
  std::vector<std::string> computed;  // MATERIALIZED and ALIAS columns
  std::string engine, engine_full, partition_key, sorting_key, server_zone;
  PartitionKey partition;
  std::string signature;  // equal: blocks for the one fit the other

  int find(std::string_view name) const noexcept;  // -1: no such column
  // Indexes of the columns that an expression over the table names, each once, however deep they stand in it.
  std::vector<uint32_t> named_in(std::string_view expression) const;
};

// `columns`: name, type, default_kind; `table`: engine, engine_full, partition_key, sorting_key; both as
// TabSeparated answers. fatal: the table is not there, or its types cannot be used on this machine.
// `last_day`: see ColumnType.
Status read_layout(std::string_view columns, std::string_view table, const std::string& server_zone, int64_t last_day,
                   const std::string& table_name, std::shared_ptr<const TableLayout>* out);

// Of a family whose tables have one content on several servers: Replicated…, Shared….
bool is_shared_engine(std::string_view engine) noexcept;

// What a ReplacingMergeTree, of whichever family, was made with; empty where it has none.
struct ReplacingEngine {
  bool is_replacing = false;
  std::string version, deleted;
};
ReplacingEngine read_replacing_engine(std::string_view engine, std::string_view engine_full);

// The value of a setting in the table's own SETTINGS clause; empty: not there.
std::string table_setting(std::string_view engine_full, std::string_view name);

// Lines and fields of a TabSeparated answer, unescaped.
std::vector<std::vector<std::string>> read_tsv(std::string_view text);

std::string quoted_name(std::string_view name);  // in backquotes
std::string quoted_text(std::string_view text);  // in single quotes

}  // namespace sluice::clickhouse
