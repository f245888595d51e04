#include "server_facts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "binlog_connection.h"
#include "gtid_set.h"
#include "table_catalog.h"

namespace sluice_mysql {
namespace {

const std::string& text(const SqlValue& value) {
  static const std::string kNone;
  return value ? *value : kNone;
}

bool is_on(const std::string& value) { return value == "1" || value == "ON"; }

using Variables = std::map<std::string, std::string>;

Outcome read_variables(Connection* connection, Variables* out) {
  SqlRows rows;
  SLUICE_MYSQL_CHECK(
      connection->query("SHOW GLOBAL VARIABLES WHERE Variable_name IN "
                        "('log_bin','binlog_format','binlog_row_image','binlog_row_metadata','log_slave_updates',"
                        "'binlog_row_value_options','binlog_transaction_compression')",
                        "read the server's variables", &rows));
  for (const SqlRow& r : rows) (*out)[text(r[0])] = text(r[1]);
  return Outcome::ok();
}

void check_variables(const Variables& v, Findings* out) {
  const auto value = [&](const char* name) {
    const auto it = v.find(name);
    return it != v.end() ? it->second : std::string();
  };
  const auto problem = [&](std::string text) { out->problems.push_back({"", std::move(text)}); };
  if (!is_on(value("log_bin"))) {
    problem("the server writes no binlog: start it with log_bin (MySQL: without skip-log-bin)");
    return;  // the others say nothing then
  }
  if (value("binlog_format") != "ROW")
    problem("binlog_format is " + value("binlog_format") +
            ": changes would be missing. Set it to ROW, for sessions that are open already too");
  if (const std::string image = value("binlog_row_image"); !image.empty() && image != "FULL")
    problem("binlog_row_image is " + image +
            ": rows would lack columns. Set it to FULL, for sessions that are open already too");
  if (const std::string o = value("binlog_row_value_options"); !o.empty())
    problem("binlog_row_value_options is " + o + ": the binlog has only parts of JSON values. Set it to ''");
  if (is_on(value("binlog_transaction_compression")))
    problem("binlog_transaction_compression is ON: such transactions cannot be read. Set it to OFF");
  if (const std::string m = value("binlog_row_metadata"); m != "FULL")
    out->warnings.push_back({"", "binlog_row_metadata is " + (m.empty() ? "not known to this server" : m) +
                                     ": the binlog does not say how columns are called. Names are taken from "
                                     "information_schema as it is now, so after an ALTER TABLE "
                                     "older changes may not be readable. Set it to FULL"});
}

// Among rows about privileges those of the user: one who may read the database mysql sees the privileges of all.
const char* const kMine =
    " WHERE GRANTEE=CONCAT('\\'', LEFT(CURRENT_USER(), "
    "LENGTH(CURRENT_USER())-LENGTH(SUBSTRING_INDEX(CURRENT_USER(),'@',-1))-1), "
    "'\\'@\\'', SUBSTRING_INDEX(CURRENT_USER(),'@',-1), '\\'')";

// The privileges that the user has everywhere or on one of the filter's databases. Those of roles are not among them.
Outcome read_privileges(Connection* connection, const TableFilter& filter, std::vector<std::string>* out,
                        bool* has_role) {
  SqlRows rows;
  SLUICE_MYSQL_CHECK(connection->query(
      std::string("SELECT PRIVILEGE_TYPE, '' FROM information_schema.USER_PRIVILEGES") + kMine +
          " UNION SELECT PRIVILEGE_TYPE, TABLE_SCHEMA FROM information_schema.SCHEMA_PRIVILEGES" + kMine,
      "read the rights of the user", &rows));
  for (const SqlRow& r : rows)
    if (text(r[1]).empty() || filter.matches_database(text(r[1]))) out->push_back(text(r[0]));
  SLUICE_MYSQL_CHECK(
      connection->query("SELECT COALESCE(CURRENT_ROLE(), 'NONE')", "read the rights of the user", &rows));
  *has_role = text(rows[0][0]) != "NONE" && !text(rows[0][0]).empty();
  return Outcome::ok();
}

// For MySQL without a lock on the tables, which would wait for them.
Outcome check_prepared_xa(Connection* connection, Findings* out) {
  std::vector<std::string> prepared;
  bool allowed = true;
  SLUICE_MYSQL_CHECK(read_prepared_xa(connection, &prepared, &allowed));
  if (!allowed)
    out->warnings.push_back(
        {"user",
         "the user may not see prepared XA transactions (GRANT XA_RECOVER_ADMIN ON *.*): the rows of "
         "one that is prepared when the snapshot begins and committed later would be missing. "
         "`snapshot_lock: tables` waits for them"});
  return Outcome::ok();
}

Outcome check_lock(Connection* connection, const CdcConfig& config, const TableFilter& filter, bool mariadb,
                   Findings* out) {
  const bool none =
      config.snapshot_lock == SnapshotLock::kNone || (config.snapshot_lock == SnapshotLock::kAuto && mariadb);
  if (config.snapshot_lock == SnapshotLock::kNone && !mariadb) {
    out->problems.push_back(
        {"snapshot_lock",
         "`snapshot_lock: none` is for MariaDB: MySQL cannot say to which place of the binlog a snapshot "
         "belongs without a short lock. Leave it out"});
    return Outcome::ok();
  }
  if (none) return Outcome::ok();
  std::vector<std::string> have;
  bool has_role = false;
  SLUICE_MYSQL_CHECK(read_privileges(connection, filter, &have, &has_role));
  const auto has = [&](const char* p) { return has_role || std::find(have.begin(), have.end(), p) != have.end(); };
  const bool tables = has("LOCK TABLES"), global = has("RELOAD");
  if (config.snapshot_lock == SnapshotLock::kTables && !tables)
    out->problems.push_back(
        {"user", "the user may not lock the tables for the moment in which the snapshot begins: GRANT LOCK TABLES"});
  if (config.snapshot_lock == SnapshotLock::kGlobal && !global)
    out->problems.push_back(
        {"user", "the user may not FLUSH TABLES WITH READ LOCK, which `snapshot_lock: global` does: GRANT RELOAD"});
  if (config.snapshot_lock == SnapshotLock::kAuto && !tables && !global)
    out->problems.push_back({"user",
                             "the user may not lock the tables for the moment in which the snapshot begins: GRANT LOCK "
                             "TABLES (or RELOAD)"});
  const bool all =
      config.snapshot_lock == SnapshotLock::kGlobal || (config.snapshot_lock == SnapshotLock::kAuto && !tables);
  return all && !mariadb ? check_prepared_xa(connection, out) : Outcome::ok();
}

Outcome list_entries(Connection* connection, const TableFilter& filter, std::vector<TableName>* tables,
                     std::vector<TableName>* sequences) {
  SLUICE_MYSQL_CHECK(TableCatalog(connection).list(filter, tables));
  SqlRows rows;
  SLUICE_MYSQL_CHECK(
      connection->query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE='SEQUENCE'",
                        "list the tables", &rows));
  for (const SqlRow& r : rows)
    if (filter.matches(text(r[0]), text(r[1]))) sequences->push_back({text(r[0]), text(r[1])});
  return Outcome::ok();
}

bool keeps_history_by_transaction(const Table& table) {
  return std::any_of(table.columns.begin(), table.columns.end(), [&](const Column& c) {
    return !table.row_end.empty() && c.name == table.row_end && c.kind == ColumnKind::kInteger;
  });
}

Outcome check_tables(Connection* connection, const TableFilter& filter, const std::vector<TableName>& tables,
                     const std::vector<TableName>& sequences, bool must_be_there, Findings* out) {
  // A start that reads no rows can wait for a table; what it would be told by the first change it is told now.
  auto* const findings = must_be_there ? &out->problems : &out->warnings;
  for (const TableName& t : sequences) {
    const bool named = filter.names(t.database, t.table);
    (named ? out->problems : out->warnings)
        .push_back({"tables", t.database + "." + t.table + " is a sequence: it has no rows, and its numbers are " +
                                  (named ? "not read. Leave it out of `tables`" : "not read")});
  }
  for (const TableFilter::Entry& e : filter.entries()) {
    const auto is_of = [&](const TableName& t) {
      return filter.matches(e, t.database, t.table);
    };
    if (std::any_of(tables.begin(), tables.end(), is_of) || std::any_of(sequences.begin(), sequences.end(), is_of))
      continue;
    findings->push_back(
        {"tables", "there is no table " + e.text() + " on this server, or the user may not see it: GRANT SELECT"});
  }
  for (const TableName& t : tables) {
    const std::string name = t.database + "." + t.table;
    Outcome o = connection->query("SELECT 1 FROM " + quote_name(t.database) + "." + quote_name(t.table) + " LIMIT 0",
                                  "read " + name);
    if (!o.is_ok() && o.trouble() == Trouble::kAway) return o;
    if (!o.is_ok()) {
      findings->push_back({"user", "the user may not read " + name + ": GRANT SELECT"});
      continue;
    }
    std::optional<Described> described;
    o = TableCatalog(connection).describe(t, &described);
    if (!o.is_ok() && o.trouble() == Trouble::kAway) return o;
    if (!o.is_ok()) findings->push_back({"tables", o.message()});
    // The snapshot would have them, converted by the server; changes would not.
    for (const Column& c : described ? described->table.columns : std::vector<Column>())
      if (CharsetConverter any; !c.charset.empty() && !CharsetConverter::open(c.charset, &any).is_ok())
        findings->push_back({"tables", "column '" + c.name + "' of " + name + ": character set '" + c.charset +
                                           "' is not supported, so changes with a value there would be refused. "
                                           "Convert the column to utf8mb4, or leave the table out of `tables`"});
    if (described && keeps_history_by_transaction(described->table))
      findings->push_back(
          {"tables", name + " keeps its history by transaction ids (`ROW START` and `ROW END` are BIGINT): "
                            "MariaDB logs its changes as statements, without the rows. Make the two "
                            "TIMESTAMP(6), or leave the table out of `tables`"});
  }
  return Outcome::ok();
}

// binlog_do_db and binlog_ignore_db: of a table in a database that they leave out no change is in the binlog.
Outcome check_filters(Connection* connection, const TableFilter& filter, const std::vector<TableName>& tables,
                      const ServerFacts& facts, Findings* out) {
  SqlRows rows;
  Outcome o = connection->query("SHOW MASTER STATUS", "read the end of the binlog", &rows);
  if (!o.is_ok() && connection->error_code() == 1064)  // MySQL 8.4
    o = connection->query("SHOW BINARY LOG STATUS", "read the end of the binlog", &rows);
  if (!o.is_ok() && o.trouble() == Trouble::kAway) return o;
  if (!o.is_ok()) {
    // MySQL: a problem of its own, see check_server().
    if (facts.mariadb)
      out->warnings.push_back({"user",
                               "the user may not ask whether binlog_do_db or binlog_ignore_db keep tables out of the "
                               "binlog: GRANT BINLOG MONITOR ON *.*"});
    return Outcome::ok();
  }
  if (rows.empty() || rows[0].size() < 4) return Outcome::ok();
  const auto lists = [](const std::string& list, const std::string& database) {
    return ("," + list + ",").find("," + database + ",") != std::string::npos;
  };
  const std::string &only = text(rows[0][2]), &ignored = text(rows[0][3]);
  const auto folded = [&](const TableFilter::Entry& e) {
    return facts.folds_names ? TableName{lower_case(e.database), lower_case(e.table)} : TableName{e.database, e.table};
  };
  std::vector<TableName> asked = tables;
  for (const TableFilter::Entry& e : filter.entries())
    if (!e.is_pattern()) asked.push_back(folded(e));
  std::map<std::string, bool> left_out;  // databases: whether a table there is named without a pattern
  size_t unlogged = 0;
  for (const TableName& t : asked) {
    if ((only.empty() || lists(only, t.database)) && !lists(ignored, t.database)) continue;
    ++unlogged;
    left_out[t.database] = left_out[t.database] || filter.names(t.database, t.table);
  }
  for (const auto& [database, named] : left_out) {
    const std::string why = lists(ignored, database) ? "binlog_ignore_db (" + ignored + ") has it"
                                                     : "binlog_do_db (" + only + ") leaves it out";
    (named || unlogged == asked.size() ? out->problems : out->warnings)
        .push_back({"tables", "the server does not log changes in database " + database + ": " + why +
                                  ", so none would come. Change that at the server, or leave its tables out"});
  }
  return Outcome::ok();
}

// A replica that does not log what it gets from its primary: only what is written to it directly would come.
Outcome check_replica(Connection* connection, const Variables& variables, bool mariadb, Findings* out) {
  const auto updates = variables.find("log_slave_updates");
  if (updates == variables.end() || is_on(updates->second)) return Outcome::ok();
  SqlRows rows;
  const std::string doing = "ask whether the server is a replica";
  Outcome o = connection->query(mariadb ? "SHOW ALL SLAVES STATUS" : "SHOW REPLICA STATUS", doing, &rows);
  if (!o.is_ok() && connection->error_code() == 1064) o = connection->query("SHOW SLAVE STATUS", doing, &rows);
  if (!o.is_ok() && o.trouble() == Trouble::kAway) return o;
  bool replica = o.is_ok() && !rows.empty();
  if (!o.is_ok() && mariadb) {  // without the right
    SLUICE_MYSQL_CHECK(connection->query("SHOW GLOBAL STATUS LIKE 'Slaves_running'", doing, &rows));
    replica = !rows.empty() && rows[0].size() > 1 && text(rows[0][1]) != "0";
    SLUICE_MYSQL_CHECK(connection->query("SELECT @@gtid_slave_pos", doing, &rows));
    if (!replica && !text(rows[0][0]).empty())
      out->warnings.push_back(
          {"host",
           "the server has been a replica, and log_slave_updates is OFF: if it still is one, changes "
           "from its primary are not in its binlog. GRANT REPLICA MONITOR ON *.* lets this be seen"});
  }
  if (replica)
    out->problems.push_back(
        {"host",
         "the server is a replica with log_slave_updates OFF: changes that it gets from its primary "
         "are not in its binlog, so none of them would come. Set log_slave_updates=ON there, or read "
         "the primary"});
  return Outcome::ok();
}

// Other readers of the binlog that have told the server their name.
Outcome check_other_clients(Connection* connection, const ClientName& client, bool mariadb, Findings* out) {
  SqlRows rows;
  Outcome o = connection->query("SHOW SLAVE HOSTS", "list the server's replicas", &rows);
  if (!o.is_ok() && connection->error_code() == 1064)
    o = connection->query("SHOW REPLICAS", "list the server's replicas", &rows);
  if (!o.is_ok()) return o.trouble() == Trouble::kAway ? o : Outcome::ok();  // MariaDB lets few look
  for (const SqlRow& r : rows) {
    if (text(r[0]) != std::to_string(client.server_id)) continue;
    const std::string& host = text(r[1]);
    // What a run of this pipeline has left behind goes away when this one connects.
    if (mariadb ? host == client.label : r.size() > 4 && text(r[4]) == client.uuid) continue;
    out->problems.push_back({"server_id", "server id " + std::to_string(client.server_id) +
                                              " is used by another reader of this server's binlog (" +
                                              (host.empty() ? "of an unknown host" : host) +
                                              "): choose another `server_id`"});
  }
  return Outcome::ok();
}

Outcome check_replication(const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter, Findings* out) {
  const Outcome o = try_dump(config, facts, interrupter);
  if (o.is_ok() || o.trouble() == Trouble::kAway) return o;
  // A server that was asked for its very end and cannot give it says so when it is read.
  if (o.trouble() == Trouble::kLost) return Outcome::ok();
  const bool right = o.message().find("(1227)") != std::string::npos || o.message().find("(1045)") != std::string::npos;
  out->problems.push_back(
      {right ? "user" : "", right ? "the user may not read the binlog: GRANT REPLICATION SLAVE ON *.*" : o.message()});
  return Outcome::ok();
}

std::vector<std::string> pieces(const std::string& list) {
  std::vector<std::string> out(1);
  for (const char c : list) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back().push_back(c);
    }
  }
  return out;
}

// MariaDB silently begins at its first file when it has never heard of the domain.
Outcome check_start_gtid(Connection* connection, const std::string& gtid, bool mariadb, Findings* out) {
  const auto wanted = GtidSet::parse(mariadb, gtid);
  if (!wanted || wanted->empty()) {
    out->problems.push_back(
        {"start_gtid", "`" + gtid + "` is no GTID of " +
                           (mariadb ? "MariaDB: write domain-server-number, several with commas: 0-101-382"
                                    : "MySQL: write UUID:FIRST-LAST, several with commas")});
    return Outcome::ok();
  }
  SqlRows rows;
  if (!mariadb) {
    const std::string set = connection->quoted(wanted->text());
    SLUICE_MYSQL_CHECK(connection->query("SELECT GTID_SUBSET(" + set + ", @@global.gtid_executed), GTID_SUBTRACT(" +
                                             set + ", @@global.gtid_executed)",
                                         "read the server's GTIDs", &rows));
    if (text(rows[0][0]) == "0")
      out->problems.push_back({"start_gtid", "the server has never had " + text(rows[0][1])});
    return Outcome::ok();
  }
  SLUICE_MYSQL_CHECK(connection->query("SELECT @@gtid_binlog_state", "read the server's GTIDs", &rows));
  const std::string& state = text(rows[0][0]);  // the last transaction of each server in each domain
  const auto known = GtidSet::parse(true, state);
  if (!known) return Outcome::ok();
  const std::vector<uint32_t> domains = known->domains();
  for (const uint32_t d : wanted->domains())
    if (std::find(domains.begin(), domains.end(), d) == domains.end())
      out->problems.push_back({"start_gtid", "the server's binlog has no GTID domain " + std::to_string(d)});
  if (!out->problems.empty()) return Outcome::ok();
  for (const std::string& one : pieces(wanted->text())) {
    const std::vector<std::string> there = pieces(state);
    const auto has = [&](const std::string& last) {
      const auto set = GtidSet::parse(true, last);
      return set && set->contains(one);
    };
    if (std::none_of(there.begin(), there.end(), has))
      out->problems.push_back({"start_gtid", "the server has never had " + one + "; its binlog has " + state});
  }
  return Outcome::ok();
}

// Of SHOW BINARY LOGS.
std::string range_of(const SqlRows& files) {
  const std::string &first = text(files.front()[0]), &last = text(files.back()[0]);
  return first == last ? first + " only" : first + " to " + last;
}

// Without the right to list the files reading says what is wrong.
Outcome check_start_position(Connection* connection, const std::string& position, Findings* out) {
  const FilePosition p = *parse_file_position(position);
  SqlRows rows;
  const Outcome o = connection->query("SHOW BINARY LOGS", "list the binlogs", &rows);
  if (!o.is_ok()) return o.trouble() == Trouble::kAway ? o : Outcome::ok();
  if (rows.empty()) return Outcome::ok();
  for (const SqlRow& r : rows) {
    if (text(r[0]) != p.file) continue;
    if (p.position > std::strtoull(text(r[1]).c_str(), nullptr, 10))
      out->problems.push_back({"start_position", "`" + position + "` is no place in the binlog: " + p.file +
                                                     " ends at " + text(r[1])});
    return Outcome::ok();
  }
  out->problems.push_back(
      {"start_position", "`" + position + "` is no place in the binlog: the server has " + range_of(rows)});
  return Outcome::ok();
}

}  // namespace

std::string Findings::text() const {
  std::string out;
  for (const Problem& p : problems) out += (out.empty() ? "" : "\n") + p.text;
  return out;
}

Outcome read_end(Connection* connection, bool mariadb, ServerFacts* out) {
  SqlRows rows;
  out->end_file.clear();
  if (mariadb) {  // needs no right
    SLUICE_MYSQL_CHECK(connection->query("SHOW STATUS LIKE 'binlog_snapshot_%'", "read the end of the binlog", &rows));
    for (const SqlRow& r : rows) {
      if (text(r[0]) == "Binlog_snapshot_file") out->end_file = text(r[1]);
      if (text(r[0]) == "Binlog_snapshot_position") out->end_position = std::strtoull(text(r[1]).c_str(), nullptr, 10);
    }
    if (out->end_file.empty()) return Outcome::ok();
    SLUICE_MYSQL_CHECK(connection->query("SELECT @@gtid_binlog_pos", "read the server's GTIDs", &rows));
    out->end_gtid = text(rows[0][0]);
    return Outcome::ok();
  }
  Outcome o = connection->query("SHOW MASTER STATUS", "read the end of the binlog", &rows);
  if (!o.is_ok() && connection->error_code() == 1064)  // MySQL 8.4
    o = connection->query("SHOW BINARY LOG STATUS", "read the end of the binlog", &rows);
  SLUICE_MYSQL_CHECK(o);
  if (rows.empty()) return Outcome::ok();
  out->end_file = text(rows[0][0]);
  out->end_position = std::strtoull(text(rows[0][1]).c_str(), nullptr, 10);
  const auto set = GtidSet::parse(false, rows[0].size() > 4 ? text(rows[0][4]) : "");
  out->end_gtid = set ? set->text() : "";
  return Outcome::ok();
}

Outcome read_gtid_at(Connection* connection, const FilePosition& at, std::optional<std::string>* out) {
  SqlRows rows;
  SLUICE_MYSQL_CHECK(connection->query(
      "SELECT BINLOG_GTID_POS(" + connection->quoted(at.file) + "," + std::to_string(at.position) + ")",
      "read the GTIDs before " + at.text(), &rows));
  *out = rows[0][0];
  return Outcome::ok();
}

Outcome read_binlogs(Connection* connection, std::string* out) {
  out->clear();
  SqlRows rows;
  const Outcome o = connection->query("SHOW BINARY LOGS", "list the binlogs", &rows);
  if (!o.is_ok()) return o.trouble() == Trouble::kAway ? o : Outcome::ok();
  if (!rows.empty()) *out = range_of(rows);
  return Outcome::ok();
}

Outcome read_facts(Connection* connection, ServerFacts* out) {
  SqlRows rows;
  SLUICE_MYSQL_CHECK(connection->query("SELECT VERSION(), @@server_id", "ask for the server's version", &rows));
  out->version = text(rows[0][0]);
  out->server_id = text(rows[0][1]);
  out->mariadb = out->version.find("MariaDB") != std::string::npos;
  out->identity = out->server_id;
  if (!out->mariadb) {
    SLUICE_MYSQL_CHECK(connection->query("SELECT @@server_uuid", "ask for the server's uuid", &rows));
    out->identity = text(rows[0][0]);
  }
  SLUICE_MYSQL_CHECK(
      connection->query("SHOW GLOBAL VARIABLES WHERE Variable_name IN "
                        "('binlog_checksum','binlog_row_metadata','lower_case_table_names')",
                        "read the server's variables", &rows));
  for (const SqlRow& r : rows) {
    if (text(r[0]) == "binlog_checksum") out->checksum = text(r[1]) != "NONE";
    if (text(r[0]) == "lower_case_table_names") out->folds_names = text(r[1]) != "0";
    if (text(r[0]) == "binlog_row_metadata") out->full_metadata = text(r[1]) == "FULL";
  }
  return Outcome::ok();
}

Outcome read_collations(Connection* connection, Collations* out) {
  SqlRows rows;
  const std::string doing = "read the server's character sets";
  Outcome o = connection->query(
      "SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY", doing, &rows);
  if (!o.is_ok() && connection->error_code() == 1054)
    o = connection->query("SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS", doing, &rows);
  SLUICE_MYSQL_CHECK(o);
  for (const SqlRow& r : rows)
    if (r[0] && r[1]) out->add(static_cast<uint32_t>(std::strtoul(r[0]->c_str(), nullptr, 10)), *r[1]);
  return Outcome::ok();
}

Outcome check_server(Connection* connection, const CdcConfig& config, const ClientName& client,
                     const TableFilter& filter, const ServerFacts& facts, Tables tables, Interrupter* interrupter,
                     Findings* findings) {
  Variables variables;
  SLUICE_MYSQL_CHECK(read_variables(connection, &variables));
  check_variables(variables, findings);
  if (facts.server_id == std::to_string(client.server_id))
    findings->problems.push_back(
        {"server_id", "server id " + facts.server_id + " is the server's own: choose another `server_id`"});
  const bool binlog = is_on(variables["log_bin"]);
  ServerFacts end = facts;
  if (binlog) {
    const Outcome o = read_end(connection, facts.mariadb, &end);
    if (!o.is_ok() && o.trouble() == Trouble::kAway) return o;
    if (!o.is_ok())
      findings->problems.push_back(
          {"user", "the user may not ask where the binlog ends: GRANT REPLICATION CLIENT ON *.*"});
    SLUICE_MYSQL_CHECK(check_replication(config, end, interrupter, findings));
    SLUICE_MYSQL_CHECK(check_other_clients(connection, client, facts.mariadb, findings));
  }
  if (binlog) SLUICE_MYSQL_CHECK(check_replica(connection, variables, facts.mariadb, findings));
  if (tables == Tables::kNotAsked) return Outcome::ok();
  std::vector<TableName> found, sequences;
  SLUICE_MYSQL_CHECK(list_entries(connection, filter, &found, &sequences));
  const bool must_be_there = tables == Tables::kMustBeThere;
  SLUICE_MYSQL_CHECK(check_tables(connection, filter, found, sequences, must_be_there, findings));
  if (binlog) SLUICE_MYSQL_CHECK(check_filters(connection, filter, found, facts, findings));
  if (!must_be_there) return Outcome::ok();
  return check_lock(connection, config, filter, facts.mariadb, findings);
}

Outcome check_start(Connection* connection, const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter,
                    Findings* findings) {
  if (!config.start_position && !config.start_gtid) return Outcome::ok();
  Findings found;
  SLUICE_MYSQL_CHECK(config.start_position ? check_start_position(connection, *config.start_position, &found)
                                           : check_start_gtid(connection, *config.start_gtid, facts.mariadb, &found));
  if (found.problems.empty()) {
    BinlogPosition from;
    if (config.start_position) {
      const FilePosition p = *parse_file_position(*config.start_position);
      from.file = p.file;
      from.begin = p.position;
    } else {
      from.gtid = GtidSet::parse(facts.mariadb, *config.start_gtid)->text();
    }
    const Outcome o = try_start(config, facts, interrupter, from);
    if (!o.is_ok() && o.trouble() == Trouble::kAway) return o;
    std::string there;
    if (!o.is_ok()) SLUICE_MYSQL_CHECK(read_binlogs(connection, &there));
    if (!there.empty()) there = "; the server has " + there;
    if (!o.is_ok())
      found.problems.push_back({config.start_position ? "start_position" : "start_gtid",
                                "nothing can be read from `" + config.start_position.value_or(from.gtid) + "` on: " +
                                    o.message() + there});
  }
  auto* const out = config.on_gap == OnGap::kFail ? &findings->problems : &findings->warnings;
  out->insert(out->end(), found.problems.begin(), found.problems.end());
  return Outcome::ok();
}

Outcome may_see_triggers(Connection* connection, const TableName& table, bool* out) {
  const std::string mine = std::string(kMine) + " AND PRIVILEGE_TYPE='TRIGGER'";
  SqlRows rows;
  SLUICE_MYSQL_CHECK(connection->query(
      "SELECT 1 FROM information_schema.USER_PRIVILEGES" + mine +
          " UNION SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES" + mine + " AND " +
          connection->quoted(table.database) + " LIKE TABLE_SCHEMA" +
          " UNION SELECT 1 FROM information_schema.TABLE_PRIVILEGES" + mine +
          " AND TABLE_SCHEMA=" + connection->quoted(table.database) +
          " AND TABLE_NAME=" + connection->quoted(table.table),
      "read the rights of the user", &rows));
  *out = !rows.empty();
  return Outcome::ok();
}

Outcome read_prepared_xa(Connection* connection, std::vector<std::string>* out, bool* allowed) {
  out->clear();
  *allowed = true;
  SqlRows rows;
  const Outcome o = connection->query("XA RECOVER", "list the prepared XA transactions", &rows);
  if (!o.is_ok() && connection->error_code() == 1401) {  // MySQL: without XA_RECOVER_ADMIN
    *allowed = false;
    return Outcome::ok();
  }
  SLUICE_MYSQL_CHECK(o);
  for (const SqlRow& r : rows) {
    const std::string& data = text(r[3]);
    const size_t global = std::min<size_t>(std::strtoul(text(r[1]).c_str(), nullptr, 10), data.size());
    out->push_back(connection->quoted(data.substr(0, global)) + "," + connection->quoted(data.substr(global)) + "," +
                   text(r[0]));
  }
  return Outcome::ok();
}

}  // namespace sluice_mysql
