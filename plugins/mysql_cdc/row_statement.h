// What a statement that changes rows names: in a binlog such a statement is a change whose rows are not there.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "decode/statement.h"

namespace sluice_mysql {

struct CalledFunction {
  std::string text;     // as a statement can call it
  bool native = false;  // it may be one of the server's own: no database is said
};

struct RowStatement {
  // Every name that may be a changed table: too many of UPDATE and DELETE, never too few.
  std::vector<TableName> listed;
  std::vector<TableName> changed;      // those that stand where a changed table may
  std::vector<TableName> read;         // others that stand where a table does
  std::vector<CalledFunction> called;  // what stands before a bracket as a function does
};

// Of an INSERT, UPDATE, DELETE, REPLACE, LOAD DATA, SELECT, DO, CALL or CREATE TABLE .. SELECT. Names of tables without
// a database are in `database`.
RowStatement read_row_statement(std::string_view sql, std::string_view database, SqlMode mode = {});

}  // namespace sluice_mysql
