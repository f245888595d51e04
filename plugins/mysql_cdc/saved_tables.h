// What a checkpoint says of the captured tables, beside the position: which they were, and those that were added.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binlog_position.h"
#include "decode/statement.h"
#include "table_filter.h"

namespace sluice_mysql {

// Tables that got their snapshot while others were being read further back: their changes from before it are in it.
struct AddedTables {
  BinlogPosition at;  // of the snapshot
  std::vector<TableName> tables;

  bool contains(const TableName& table) const noexcept;
};
std::string encode_added(const std::vector<AddedTables>& all);
// None: it is no such text.
std::optional<std::vector<AddedTables>> decode_added(std::string_view text);

// The operator state `tables`; each is empty if there is nothing to say. Plain values, as text.
struct SavedTables {
  static constexpr const char* kCaptured = "captured";  // a filter, see filter_text()
  static constexpr const char* kAdded = "added";        // encode_added()

  std::string captured, added;
};

// A filter as text, and back. None: it is no such text.
std::string filter_text(const TableFilter& filter);
std::optional<TableFilter> read_filter(std::string_view text);

}  // namespace sluice_mysql
