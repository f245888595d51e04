// A row of the configuration table, and the rule that it means once it has been checked.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/state.hpp"

namespace sluice::broadcast_filter {

// The five fields as they were read, and where. What the broadcast state keeps: rules are made of it again after a
// restore.
struct ConfigRow {
  std::string source_table;
  std::optional<std::string> sink_table, sink_columns, sink_pk, sink_extend;  // none: SQL NULL
  std::optional<std::string> from;  // the table that the row was in, "config.table_process"; none: it was not said

  // Whether both mean the same rule.
  bool same_rule(const ConfigRow& o) const {
    return source_table == o.source_table && sink_table == o.sink_table && sink_columns == o.sink_columns &&
           sink_pk == o.sink_pk && sink_extend == o.sink_extend;
  }
};

// A configuration row that can be used.
struct Rule {
  std::string database;  // of the main rows it is for; empty: of any database
  std::string table;
  std::string sink_table;
  std::vector<std::string> columns;
  std::vector<std::string> key;
  std::string columns_text;  // `columns`, joined by commas: the form in which rows carry them
  std::string key_text;
  std::string extend;
  std::string origin;  // where the row was said, for messages
  // Of a rule without database: the first database that a kept row came from, to notice a second one.
  std::string seen_database;
  bool mixed_databases = false, old_key_stays = false;
};

// Empty and *rule is filled, or why the row cannot be used.
std::string make_rule(const ConfigRow& row, Rule* rule);

}  // namespace sluice::broadcast_filter

// Bytes: 0x02, then for each of the six fields 0x00 (none) or 0x01, uint32 length, bytes. Little-endian. With 0x01 in
// front, as earlier versions wrote it, `from` is not there.
template <>
struct sluice::Codec<sluice::broadcast_filter::ConfigRow> {
  static void write(const sluice::broadcast_filter::ConfigRow& row, std::string* out);
  static bool read(std::string_view bytes, sluice::broadcast_filter::ConfigRow* out);
};
