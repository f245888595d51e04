// The body of a TABLE_MAP event.
#pragma once
#include "binlog_event.h"
#include "byte_reader.h"

namespace sluice_mysql {

// Where servers differ in what the lists of a table map count.
struct TableMapRules {
  bool years_have_signs = true;       // MariaDB, MySQL from 8.0.16 on (seen: 8.0.15 without, 8.0.31 with)
  bool geometries_have_charsets = false;  // MariaDB (10.11)
};

// What follows the table id and the flags. Not OK, or reader failed: it is broken.
sluice::Status read_table_map(ByteReader* r, const TableMapRules& rules, TableMap* out);

}  // namespace sluice_mysql
