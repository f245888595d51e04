// Whether a statement that the binlog has as such may have changed rows of captured tables that it does not name: by a
// trigger, a view, a foreign key, a stored function or procedure.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "row_statement.h"
#include "server_connection.h"
#include "table_filter.h"

namespace sluice_mysql {

// Owned and used by one thread. It knows the server's tables as they are when it asks; forget() after each statement
// that may change them.
class StatementEffects {
 public:
  // *why: what may have changed them, as the end of a sentence ("d.u has the trigger t"); empty: nothing.
  Outcome look(Connection* connection, const RowStatement& statement, const TableFilter& filter, std::string* why);
  void forget();

 private:
  Outcome look_at_changed(Connection* connection, const TableName& table, const TableFilter& filter, std::string* why);
  Outcome look_at_read(Connection* connection, const TableName& table, std::string* why);
  Outcome look_at_call(Connection* connection, const CalledFunction& function, std::string* why);
  Outcome cascades(Connection* connection, const TableName& table, const TableFilter& filter, std::string* why);

  struct Cascade {
    TableName parent, child;
  };
  std::set<std::string> harmless_;                // tables and functions that were looked at
  std::optional<std::vector<Cascade>> cascades_;  // foreign keys that change their children
};

}  // namespace sluice_mysql
