// What a statement in a QUERY event is. Not a SQL parser: it reads the first words, past comments, and table names.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sql_tokens.h"

namespace sluice_mysql {

enum class StatementKind : uint8_t {
  kBegin,           // BEGIN, XA START
  kCommit,          // COMMIT: ends a transaction of tables without transactions
  kRollback,        // ROLLBACK
  kSavepoint,       // SAVEPOINT, ROLLBACK TO, RELEASE SAVEPOINT
  kXaEnd,           // XA END
  kXaCommit,        // XA COMMIT: its rows came with the XA PREPARE
  kXaRollback,      // XA ROLLBACK: its rows came, and do not hold any more
  kCreateTable,
  kAlterTable,      // CREATE INDEX and DROP INDEX among them
  kMoveRows,        // ALTER TABLE that takes partitions or a tablespace away or brings them, with their rows: tables =
                    // its table, and the one at the other side, if there is one
  kDropTable,
  kRenameTable,     // tables = from, to, from, to, ..
  kTruncateTable,
  kCreateDatabase,  // tables[0].database
  kAlterDatabase,
  kDropDatabase,
  kRowChange,       // INSERT, UPDATE, DELETE, REPLACE, LOAD DATA: logged as a statement, its rows are not there; and
                    // SELECT, DO, CALL: logged only for what the functions that they call have changed
  kOther,           // GRANT, CREATE VIEW, FLUSH, ..: changes no row
};

struct TableName {
  std::string database, table;
  bool operator==(const TableName& o) const { return database == o.database && table == o.table; }
};

struct Statement {
  StatementKind kind = StatementKind::kOther;
  std::vector<TableName> tables;  // of DDL and TRUNCATE; names without a database are in `database`
  bool replaces = false;          // CREATE OR REPLACE: what had the name is dropped
  bool fills = false;             // CREATE TABLE .. SELECT: the rows that it begins with are not there
  bool temporary = false;         // CREATE/DROP TEMPORARY TABLE: no table of interest
  bool ignores = false;           // ALTER IGNORE TABLE (MariaDB): rows that a new unique key does not allow are dropped
  bool changes_columns = false;   // ALTER TABLE: some are added, dropped, renamed, moved, or hold something else
};

// `database`, `mode`: the QUERY event's.
Statement read_statement(std::string_view sql, std::string_view database, SqlMode mode = {});

// Whether columns of its tables may be called otherwise after it, or be other ones.
bool changes_names(const Statement& s);

// "table-create", "table-alter", "table-drop", "database-create", "database-alter", "database-drop"; empty: Maxwell has
// no record for it. A rename is a table-alter.
std::string_view maxwell_type(StatementKind kind);

}  // namespace sluice_mysql
