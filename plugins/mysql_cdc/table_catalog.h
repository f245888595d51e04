// Tables as information_schema describes them now.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "decode/column.h"
#include "decode/statement.h"
#include "server_connection.h"
#include "table_filter.h"

namespace sluice_mysql {

struct Described {
  Table table;
  bool sequence = false;  // MariaDB: no table, though the binlog has rows of it
  int64_t altered_s = 0;  // when it got this form, seconds since 1970; 0: not known
};

// Borrows an open connection. One thread.
class TableCatalog {
 public:
  explicit TableCatalog(Connection* connection) : connection_(connection) {}

  // Base tables that the filter wants and the user may see, by name.
  Outcome list(const TableFilter& filter, std::vector<TableName>* out);
  // None: there is no such table, or the user may not see it. wrong: it has a column of a type that is not supported.
  Outcome describe(const TableName& name, std::optional<Described>* out);

 private:
  Connection* connection_;
};

}  // namespace sluice_mysql
