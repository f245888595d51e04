#include "table_catalog.h"

#include <cstdlib>

namespace sluice_mysql {
namespace {

std::string_view view(const SqlValue& value) { return value ? std::string_view(*value) : std::string_view(); }

}  // namespace

Outcome TableCatalog::list(const TableFilter& filter, std::vector<TableName>* out) {
  out->clear();
  SqlRows rows;
  SLUICE_MYSQL_CHECK(
      connection_->query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE "
                         "TABLE','SYSTEM VERSIONED') ORDER BY 1, 2",
                         "list the tables", &rows));
  for (const SqlRow& r : rows)
    if (filter.matches(view(r[0]), view(r[1]))) out->push_back({*r[0], *r[1]});
  return Outcome::ok();
}

Outcome TableCatalog::describe(const TableName& name, std::optional<Described>* out) {
  out->reset();
  const std::string where = " WHERE TABLE_SCHEMA=" + connection_->quoted(name.database) +
                            " AND TABLE_NAME=" + connection_->quoted(name.table);
  const std::string doing = "read the columns of " + name.database + "." + name.table;
  Described found;
  SqlRows rows;
  SLUICE_MYSQL_CHECK(connection_->query(
      "SELECT TABLE_TYPE, UNIX_TIMESTAMP(CREATE_TIME) FROM information_schema.TABLES" + where, doing, &rows));
  if (rows.empty()) return Outcome::ok();
  found.sequence = view(rows[0][0]) == "SEQUENCE";
  found.altered_s = std::strtoll(rows[0][1].value_or("0").c_str(), nullptr, 10);
  Table& table = found.table;
  table.database = name.database;
  table.name = name.table;
  table.versioned = view(rows[0][0]) == "SYSTEM VERSIONED";
  const std::string expression = table.versioned ? "GENERATION_EXPRESSION" : "NULL";
  SLUICE_MYSQL_CHECK(
      connection_->query("SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE, "
                         "EXTRA, CHARACTER_OCTET_LENGTH, " +
                             expression + " FROM information_schema.COLUMNS" + where + " ORDER BY ORDINAL_POSITION",
                         doing, &rows));
  if (rows.empty()) return Outcome::ok();
  for (const SqlRow& r : rows) {
    ColumnFields fields{view(r[0]), view(r[1]), view(r[2]), view(r[3]), view(r[4]), view(r[5]), view(r[6]), view(r[7])};
    Column column;
    if (const sluice::Status s = make_column(fields, &column); !s.is_ok())
      return Outcome::wrong(name.database + "." + name.table + ": " + s.message() +
                            ". Leave the table out of `tables`, or drop the column");
    if (view(r[8]) == "ROW END") table.row_end = column.name;
    table.columns.push_back(std::move(column));
  }
  SLUICE_MYSQL_CHECK(connection_->query("SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE" + where +
                                            " AND CONSTRAINT_NAME='PRIMARY' ORDER BY ORDINAL_POSITION",
                                        doing, &rows));
  // row_end is in the key of a system-versioned table because the server put it there.
  for (const SqlRow& r : rows)
    for (size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].name == view(r[0]) && table.columns[i].name != table.row_end)
        table.primary_key.push_back(static_cast<uint32_t>(i));
  *out = std::move(found);
  return Outcome::ok();
}

}  // namespace sluice_mysql
