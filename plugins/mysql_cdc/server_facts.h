// What a server is, and whether its changes can be read: looked at before anything is read.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binlog_position.h"
#include "decode/charset.h"
#include "decode/statement.h"
#include "server_connection.h"
#include "table_filter.h"

namespace sluice_mysql {

struct ServerFacts {
  bool mariadb = false;
  std::string version;
  std::string identity;        // who writes the binlog files: @@server_uuid, or @@server_id (MariaDB)
  std::string server_id;       // @@server_id
  bool checksum = false;       // of binlog events
  bool folds_names = false;    // lower_case_table_names: tables are not told by the case of their names
  bool full_metadata = false;  // the binlog says the columns' names
  // The end of the binlog now. Empty file: log_bin is off, or the user may not know.
  std::string end_file;
  uint64_t end_position = 0;
  std::string end_gtid;
};

// About the value of an option, or about none.
struct Problem {
  std::string option, text;
};
struct Findings {
  std::vector<Problem> problems, warnings;
  // The problems in lines.
  std::string text() const;
};

// The version and the present end of the binlog.
Outcome read_facts(Connection* connection, ServerFacts* out);
// MariaDB: end_gtid may be further on than the position.
Outcome read_end(Connection* connection, bool mariadb, ServerFacts* out);
// MariaDB: the GTIDs before a place in a binlog file. None: the server does not say.
Outcome read_gtid_at(Connection* connection, const FilePosition& at, std::optional<std::string>* out);
// Which binlogs there are: "binlog.000003 to binlog.000007". Empty: the user may not know.
Outcome read_binlogs(Connection* connection, std::string* out);
Outcome read_collations(Connection* connection, Collations* out);

// What is asked about the tables: nothing (they were looked at when the job started), or that the user may read those
// that are there, or that there are some: a snapshot will be taken.
enum class Tables { kNotAsked, kMayBeMissing, kMustBeThere };

// Everything that makes reading impossible or loses changes. The outcome is not OK when the server cannot be asked.
Outcome check_server(Connection* connection, const CdcConfig& config, const ClientName& client,
                     const TableFilter& filter, const ServerFacts& facts, Tables tables, Interrupter* interrupter,
                     Findings* findings);

// Whether reading can begin where `start_position` or `start_gtid` says; to be asked while nothing has been read. With
// an `on_gap` that goes on elsewhere it is only warned of.
Outcome check_start(Connection* connection, const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter,
                    Findings* findings);

// Whether the user has been given the right without which a table's triggers cannot be seen; not by a role.
Outcome may_see_triggers(Connection* connection, const TableName& table, bool* out);

// XA transactions that are prepared and wait for their end, as XA COMMIT takes them: "'a','b',1". *allowed = false: the
// user may not know (MySQL).
Outcome read_prepared_xa(Connection* connection, std::vector<std::string>* out, bool* allowed);

}  // namespace sluice_mysql
