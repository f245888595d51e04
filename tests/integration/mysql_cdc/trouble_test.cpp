// Whatever can be wrong with a server, a user or a binlog: it is said, with the way out, or it heals.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "mysql_cdc/mysql_cdc_source.h"
#include "test_server.h"

using namespace sluice_mysql;
using namespace sluice_mysql::testing;
using Harness = sluice::testing::Harness<MysqlCdcSource>;
using Lines = std::vector<std::string>;

namespace {

std::string fresh_table(const std::string& columns = "id INT PRIMARY KEY, a VARCHAR(20), n INT") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (" + columns + ")");
  return t;
}

// What `validate --connect` says.
std::string found_by(Harness& h) {
  std::string found;
  for (const auto& p : h.find_problems()) found += (found.empty() ? "" : "\n") + p.text;
  return found;
}

// What a start says, and what `validate --connect` says: the same.
std::string problem(const std::string& options) {
  Harness h(options);
  const sluice::Status s = try_begin(h);
  CHECK(s.code() == SLUICE_FATAL);
  Harness check(options);
  CHECK(found_by(check) == s.message());
  return s.message();
}

// A global variable with another value for a while; new sessions see it.
class Setting {
 public:
  Setting(std::string name, const std::string& value)
      : name_(std::move(name)), old_(server().value("SELECT @@global." + name_)) {
    set(value);
  }
  ~Setting() { set(old_); }

 private:
  void set(const std::string& value) {
    const bool number = !value.empty() && value.find_first_not_of("0123456789.") == std::string::npos;
    server().sql("SET GLOBAL " + name_ + "=" + (number ? value : "'" + value + "'"));
  }
  std::string name_, old_;
};

std::string file_of(const std::string& position) { return position.substr(0, position.find(':')); }

std::string warnings(const Harness& h) {
  std::string out;
  for (const auto& line : h.log())
    if (line.level == SLUICE_LOG_WARNING) out += line.text + "\n";
  return out;
}

const char* const kWayOut =
    ". Changes are lost, so the position of the checkpoint cannot be gone on at. Set `on_gap: snapshot` and start "
    "again: a new snapshot is taken, and the "
    "changes after it follow. Keep binlogs for longer than the longest time that the job may be away";

}  // namespace

TEST_CASE("settings of the server that would lose changes are refused at start") {
  const std::string t = fresh_table(), options = server().options(t);
  {
    Setting s("binlog_format", "MIXED");
    CHECK(problem(options) ==
          "binlog_format is MIXED: changes would be missing. Set it to ROW, for sessions that are open already too");
  }
  {
    Setting s("binlog_row_image", "MINIMAL");
    CHECK(
        problem(options) ==
        "binlog_row_image is MINIMAL: rows would lack columns. Set it to FULL, for sessions that are open already too");
  }
  if (!server().mariadb()) {
    {
      Setting s("binlog_row_value_options", "PARTIAL_JSON");
      CHECK(problem(options) ==
            "binlog_row_value_options is PARTIAL_JSON: the binlog has only parts of JSON values. Set it to ''");
    }
    Setting s("binlog_transaction_compression", "1");
    CHECK(problem(options) == "binlog_transaction_compression is ON: such transactions cannot be read. Set it to OFF");
  }
  Setting a("binlog_format", "STATEMENT"), b("binlog_row_image", "NOBLOB");
  const std::string both = problem(options);
  CHECK(both.find("binlog_format is STATEMENT") == 0);
  CHECK(both.find("\nbinlog_row_image is NOBLOB") != std::string::npos);
}

TEST_CASE("without full metadata names come from information_schema") {
  Setting s("binlog_row_metadata", server().mariadb() ? "NO_LOG" : "MINIMAL");
  const std::string t =
      fresh_table("id INT PRIMARY KEY, u INT UNSIGNED, e ENUM('x','y'), s VARCHAR(10) CHARACTER SET latin1");
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  CHECK(warnings(h).find("binlog_row_metadata is " + std::string(server().mariadb() ? "NO_LOG" : "MINIMAL") +
                         ": the binlog does not say how columns are called") == 0);
  server().sql("SET NAMES utf8mb4");
  server().sql("INSERT INTO " + t + " VALUES (1,4294967295,'y','é')");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":1,"u":4294967295,"e":"y","s":"é"})"});
  // A table that is not what it was when its rows were written.
  const std::string position = server().position();
  server().sql("INSERT INTO " + t + " VALUES (2,1,'x','')");
  server().sql("ALTER TABLE " + t + " ADD COLUMN later INT");
  Harness old(server().options(t, "start: position\nstart_position: " + position));
  begin(old);
  const sluice::Status failed = poll_to_failure(old);
  CHECK(failed.code() == SLUICE_FATAL);
  CHECK(failed.message().find("the binlog's rows of " + t +
                              " have 4 columns, and information_schema has 5: the table has been altered since") == 0);
}

TEST_CASE("rights that are missing are named before the snapshot") {
  const std::string t = fresh_table();
  const std::string monitor = server().mariadb() ? "BINLOG MONITOR" : "REPLICATION CLIENT";
  server().make_user("u1", "SELECT, LOCK TABLES, " + monitor);
  CHECK(problem(server().options(t, "", "u1", "x")) ==
        "the user may not read the binlog: GRANT REPLICATION SLAVE ON *.*");
  server().make_user("u2", "REPLICATION SLAVE, LOCK TABLES, " + monitor);
  CHECK(problem(server().options(t, "", "u2", "x")) ==
        "there is no table " + t + " on this server, or the user may not see it: GRANT SELECT");
  server().make_user("u3", "REPLICATION SLAVE, LOCK TABLES, INSERT, " + monitor);
  CHECK(problem(server().options(t, "", "u3", "x")) == "the user may not read " + t + ": GRANT SELECT");
  server().make_user("u4", "SELECT, REPLICATION SLAVE, " + monitor);
  const std::string none = server().mariadb() ? "" : problem(server().options(t, "", "u4", "x"));
  if (!server().mariadb())
    CHECK(
        none ==
        "the user may not lock the tables for the moment in which the snapshot begins: GRANT LOCK TABLES (or RELOAD)");
  CHECK(problem(server().options(t, "snapshot_lock: tables", "u4", "x")) ==
        "the user may not lock the tables for the moment in which the snapshot begins: GRANT LOCK TABLES");
  CHECK(problem(server().options(t, "snapshot_lock: global", "u4", "x")) ==
        "the user may not FLUSH TABLES WITH READ LOCK, which `snapshot_lock: global` does: GRANT RELOAD");
  server().make_user("u5", "SELECT, LOCK TABLES, REPLICATION SLAVE");
  if (server().mariadb()) {
    Harness h(server().options(t, "", "u5", "x"));
    begin(h);
    poll_to_end(h);
  } else {
    CHECK(problem(server().options(t, "", "u5", "x")) ==
          "the user may not ask where the binlog ends: GRANT REPLICATION CLIENT ON *.*");
    // RELOAD will do instead of LOCK TABLES.
    server().make_user("u6", "SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT");
    Harness h(server().options(t, "", "u6", "x"));
    begin(h);
    poll_to_end(h);
    CHECK(h.markers().back() == SLUICE_SNAPSHOT_END);
  }
  const std::string bad = problem(server().options(t, "", "cdc", "wrong"));
  CHECK(bad.find("cannot connect to 127.0.0.1:") == 0);
  CHECK(bad.find("Access denied for user 'cdc'@'127.0.0.1' (using password: YES) (1045): check `user` and `password`, "
                 "and from which hosts the user may come") != std::string::npos);
  CHECK(problem(server().options(t + ", nodb.nothing")) ==
        "there is no table nodb.nothing on this server, or the user may not see it: GRANT SELECT");
}

TEST_CASE("a server without a binlog") {
  const std::string t = fresh_table();
  server().script("stop");
  server().script("start", server().mariadb() ? "--skip-log-bin" : "--skip-log-bin --skip-log-slave-updates");
  CHECK(problem(server().options(t)) ==
        "the server writes no binlog: start it with log_bin (MySQL: without skip-log-bin)");
  server().script("stop");
  server().script("start");
}

TEST_CASE("a server that does not log what it replicates, or leaves databases out") {
  const std::string t = fresh_table(), db = t.substr(0, t.find('.'));
  const std::string no_updates = server().mariadb() ? "--log-slave-updates=OFF" : "--skip-log-slave-updates";
  OtherOptions restarted(no_updates + " --skip-slave-start");
  struct NoReplica {  // whatever fails
    ~NoReplica() { server().sql(server().mariadb() ? "RESET SLAVE ALL" : "RESET REPLICA ALL"); }
  } no_replica;
  {
    Harness primary(server().options(t));  // it is no replica
    begin(primary);
    poll_to_end(primary);
  }
  server().sql(server().mariadb() ? "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1"
                                  : "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1");
  if (server().mariadb()) server().sql("GRANT REPLICA MONITOR ON *.* TO cdc@'127.0.0.1'");
  CHECK(problem(server().options(t)) ==
        "the server is a replica with log_slave_updates OFF: changes that it gets from its primary are not in its "
        "binlog, "
        "so none of them would come. Set log_slave_updates=ON there, or read the primary");
  server().sql(server().mariadb() ? "RESET SLAVE ALL" : "RESET REPLICA ALL");
  if (server().mariadb()) {  // without the right to ask: what was replicated once
    server().sql("REVOKE REPLICA MONITOR ON *.* FROM cdc@'127.0.0.1'");
    server().sql("SET GLOBAL gtid_slave_pos=CONCAT('9-9-9,', @@gtid_binlog_pos)");
    Harness was(server().options(t));
    begin(was);
    CHECK(warnings(was).find("the server has been a replica, and log_slave_updates is OFF") != std::string::npos);
  }
  restarted.set("--binlog-ignore-db=" + db);
  CHECK(problem(server().options(t)) ==
        "the server does not log changes in database " + db + ": binlog_ignore_db (" + db +
            ") has it, so none would come. Change that at the server, or leave its tables out");
  CHECK(problem(server().options(db + ".*")).find("the server does not log changes in database " + db) == 0);
  CHECK(problem(server().options(t, "start: latest")).find("the server does not log changes in database " + db) == 0);
  restarted.set("--binlog-do-db=other");
  CHECK(problem(server().options(t)) ==
        "the server does not log changes in database " + db +
            ": binlog_do_db (other) leaves it out, so none would come. Change that at the "
            "server, or leave its tables out");
  // Others that a pattern catches are logged: that is said, and goes on.
  const std::string logged = db + "_x";
  server().sql("CREATE DATABASE " + logged);
  server().sql("CREATE TABLE " + logged + ".t (id INT PRIMARY KEY)");
  restarted.set("--binlog-ignore-db=" + db);
  Harness h(server().options(db + "*.t"));
  begin(h);
  poll_to_end(h);
  CHECK(warnings(h).find("the server does not log changes in database " + db + ":") != std::string::npos);
  if (server().mariadb()) {
    server().make_user("blind", "SELECT, REPLICATION SLAVE");
    Harness blind(server().options(logged + ".t", "", "blind", "x"));
    begin(blind);
    CHECK(warnings(blind).find(
              "the user may not ask whether binlog_do_db or binlog_ignore_db keep tables out of the binlog: "
              "GRANT BINLOG MONITOR ON *.*") != std::string::npos);
  }
}

TEST_CASE("what a start warns of, a check warns of, whatever the start is") {
  const Setting s("binlog_row_metadata", server().mariadb() ? "NO_LOG" : "MINIMAL");
  const std::string t = fresh_table();
  for (const char* start : {"initial", "latest"}) {
    const std::string options =
        server().options(t + (std::string(start) == "latest" ? ", nodb.nothing" : ""), std::string("start: ") + start);
    Harness started(options), checked(options);
    begin(started);
    CHECK(found_by(checked) == "");
    CHECK(warnings(checked) == warnings(started));
    CHECK(warnings(checked).find("binlog_row_metadata is ") == 0);
    if (std::string(start) == "latest")
      CHECK(warnings(checked).find("there is no table nodb.nothing on this server") != std::string::npos);
  }
}

TEST_CASE("a lock on a captured table does not hold up a start or a stop") {
  const std::string t = fresh_table();
  Session s(server().host(), server().port());
  s.sql("LOCK TABLES " + t + " WRITE");
  const auto begun = std::chrono::steady_clock::now();
  Harness h(server().options(t));
  const sluice::Status waits = try_begin(h);
  CHECK(waits.code() == SLUICE_RETRY);
  CHECK(waits.message().find("cannot read " + t +
                             ": Lock wait timeout exceeded; try restarting transaction (1205): a statement "
                             "or a transaction of another session holds a lock that this waits for") == 0);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(30));  // the lock is held for ever
  s.sql("UNLOCK TABLES");
}

TEST_CASE("a broken connection does not shut down whoever has its number next") {
  CdcConfig config;
  config.host = server().host();
  config.port = server().port();
  config.user = "cdc";
  config.password = "cdcpw";
  config.connect_timeout = std::chrono::seconds(5);
  Interrupter interrupter;
  Connection connection(&interrupter);
  REQUIRE(connection.open(config, std::chrono::seconds(5)).is_ok());
  SqlRows rows;
  REQUIRE(connection.query("SELECT CONNECTION_ID()", "ask", &rows).is_ok());
  server().sql("KILL " + *rows[0][0]);
  while (connection.query("SELECT 1", "ask", &rows).is_ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::vector<int> ends;  // those that were closed are taken first
  for (int i = 0; i < 8; ++i) {
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    ends.insert(ends.end(), {pair[0], pair[1]});
  }
  interrupter.interrupt();
  connection.close();
  for (size_t i = 0; i < ends.size(); i += 2) {
    char c = 'x';
    CHECK(send(ends[i], &c, 1, MSG_NOSIGNAL) == 1);
    CHECK(recv(ends[i + 1], &c, 1, MSG_DONTWAIT) == 1);
    close(ends[i]);
    close(ends[i + 1]);
  }
}

TEST_CASE("a server in the middle of sending lets go of a connection that is closed") {
  const std::string t = fresh_table("id INT PRIMARY KEY AUTO_INCREMENT, b LONGTEXT");
  const std::string begin = server().position();
  for (int i = 0; i < 60; ++i) server().sql("INSERT INTO " + t + " (b) VALUES (REPEAT('x',1000000))");
  CdcConfig config;
  config.host = server().host();
  config.port = server().port();
  config.user = "cdc";
  config.password = "cdcpw";
  config.heartbeat = std::chrono::seconds(2);
  config.connect_timeout = std::chrono::seconds(5);
  const auto dumps = [&] {
    return server().sql("SELECT STATE FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Binlog Dump','Killed')");
  };
  const auto wait = [&](const std::string& what, const std::function<bool()>& done) {
    for (int i = 0; !done(); ++i) {
      if (i == 1000) FAIL("waited in vain: " + what);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  wait("others to end", [&] { return server().kill_dumps(), dumps().empty(); });
  Interrupter interrupter;
  Connection sql(&interrupter);
  REQUIRE(sql.open(config, std::chrono::seconds(5)).is_ok());
  ServerFacts facts;
  REQUIRE(read_facts(&sql, &facts).is_ok());
  BinlogPosition from;
  from.file = parse_file_position(begin)->file;
  from.begin = parse_file_position(begin)->position;
  BinlogConnection binlog(&interrupter);
  REQUIRE(binlog.open(config, client_name("m", "p", "closing", 0), facts, from).is_ok());
  int full = 0;  // nothing is taken
  wait("a full connection", [&] {
    const Rows states = dumps();
    const std::string state = states.empty() ? "" : states[0][0].value_or("");
    full = state == "Writing to net" || state == "Sending to client" ? full + 1 : 0;
    return full == 20;
  });
  interrupter.interrupt();
  const uint8_t* data = nullptr;
  size_t size = 0, events = 0;
  while (binlog.read(&data, &size).is_ok()) ++events;  // what is here already
  CHECK(events > 0);
  binlog.close();
  wait("that the server lets go", [&] { return dumps().empty(); });
}

TEST_CASE("options that do not fit") {
  const auto refused = [](const std::string& options, const std::string& host = "h") {
    Harness h("host: '" + host + "'\nuser: u\n" + options);
    const sluice::Status s = h.try_open();
    CHECK(s.code() == SLUICE_FATAL);
    return s.message();
  };
  CHECK(refused("") == "nothing is captured: give `tables`, for example [gmall.table_process], or `databases`");
  for (const char* host : {"u:hush@h", "mysql://u:hush@h", "h/?password=hush"})
    CHECK(refused("tables: [a.t]", host) ==
          "`host` is more than a name or an address: use `port`, `user` and `password` for the rest");
  CHECK(refused("tables: [t]") == "`tables`: `t` has no database; write db.t");
  CHECK(refused("tables: [a.t]\ndatabases: [b]") == "`tables`: a.t is in none of the `databases`");
  CHECK(refused("tables: [a.t]\nstart: position") == "`start: position` needs `start_position`");
  CHECK(refused("tables: [a.t]\nstart_gtid: 0-1-2") == "`start_gtid` is used with `start: gtid` only");
  CHECK(refused("tables: [a.t]\nstart: position\nstart_position: binlog.1") ==
        "`start_position` is `binlog.1`: write file:offset, for example binlog.000003:4567; offsets begin at 4");
  CHECK(refused("tables: [a.t]\nstart: gtid\nstart_gtid: abc") ==
        "`start_gtid` is `abc`: write domain-server-number (MariaDB) or UUID:FIRST-LAST (MySQL), several with commas");
  CHECK(refused("tables: [a.t]\nserver_id: 0\nport: 0") ==
        "`port` is 0, not 1 to 65535\n`server_id` is 0, not 1 to 4294967295");
  CHECK(refused("tables: [a.t]\ntls_ca: /etc/hostname") ==
        "`tls_…` is given, but `tls` is off: set it to required or verified");
  CHECK(refused("tables: [a.t]\ntls: verified\ntls_ca: /nowhere/ca.pem") ==
        "cannot read /nowhere/ca.pem: No such file or directory");
  CHECK(refused("tables: [a.t]\ntime_zone: Asia/Shanghai") ==
        "`time_zone` is used with `format: maxwell` only: Debezium's shape has TIMESTAMP in UTC");
  CHECK(refused("tables: [a.t]\nformat: maxwell\ntime_zone: Asia/Shangai") ==
        "`time_zone` is `Asia/Shangai`, which no zone of this machine is called: write an IANA name, for example "
        "Asia/Shanghai or UTC");
  CHECK(refused("tables: [a.t]\nheartbeat: 10ms") == "`heartbeat` is less than 100ms");
}

TEST_CASE("changes that came as a statement are a gap, and a new snapshot heals it") {
  const std::string t = fresh_table();
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  server().make_user("sees", std::string("SELECT, LOCK TABLES, TRIGGER, REPLICATION SLAVE, ") +
                                 (server().mariadb() ? "BINLOG MONITOR" : "REPLICATION CLIENT"));
  Harness h(server().options(t, "", "sees", "x"));
  begin(h);
  poll_to_end(h);
  h.checkpoint();
  CHECK(h.pull().size() == 1);
  Session s(server().host(), server().port());
  s.sql("SET SESSION binlog_format=STATEMENT");
  s.sql("USE " + t.substr(0, t.find('.')));
  s.sql("CREATE TABLE unrelated (id INT PRIMARY KEY)");
  s.sql("INSERT INTO unrelated SELECT id FROM t");  // changes another one
  s.sql("UPDATE t SET n=2");
  s.sql("INSERT INTO t VALUES (2,'b',2)");
  const sluice::Status failed = poll_to_failure(h);
  CHECK(failed.code() == SLUICE_FATAL);
  CHECK(failed.message().find("rows of " + t +
                              " were changed by a statement that the binlog has as such, without the rows (") == 0);
  CHECK(failed.message().find("): a session ran with binlog_format STATEMENT or MIXED; set ROW everywhere" +
                              std::string(kWayOut)) != std::string::npos);

  const std::string position = *h.split("binlog").position;
  h.crash();
  Harness healed(
      server().options(t, "on_gap: snapshot\nstart: position\nstart_position: " + file_of(server().position()) + ":4"));
  begin(healed);
  poll_to_end(healed);
  CHECK(healed.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
  CHECK(healed.counter("gaps") == 1);
  CHECK(warnings(healed).find("Changes are lost; a new snapshot is taken (`on_gap: snapshot`)") != std::string::npos);
  const Lines got = essences(healed.pull());
  REQUIRE(got.size() >= 2);
  CHECK(Lines(got.end() - 2, got.end()) ==
        Lines{R"(r null {"id":1,"a":"a","n":2})", R"(r null {"id":2,"a":"b","n":2})"});
}

TEST_CASE("rows that lack columns are a gap") {
  const std::string t = fresh_table();
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  Session s(server().host(), server().port());
  s.sql("SET SESSION binlog_row_image=MINIMAL");
  s.sql("UPDATE " + t + " SET n=2");
  const std::string message = poll_to_failure(h).message();
  CHECK(message.find("the rows of " + t +
                     " lack columns; set binlog_row_image=FULL at the server, for all its sessions (") == 0);
  CHECK(message.find(kWayOut) != std::string::npos);
}

TEST_CASE("`on_gap: earliest` does not meet the same event for ever") {
  server().sql("RESET MASTER");
  const std::string t = fresh_table();
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  Harness h(server().options(t, "start: latest\non_gap: earliest"));
  begin(h);
  Session s(server().host(), server().port());
  s.sql("SET SESSION binlog_row_image=MINIMAL");
  s.sql("UPDATE " + t + " SET n=2");
  const std::string message = poll_to_failure(h).message();
  CHECK(message.find("the rows of " + t +
                     " lack columns; set binlog_row_image=FULL at the server, for all its sessions (") == 0);
  CHECK(message.find("): met again after `on_gap: earliest`, at " + file_of(server().position()) + ":") !=
        std::string::npos);
  CHECK(message.find(". Set `on_gap: snapshot`, or delete the binlogs up to this one") != std::string::npos);
  CHECK(h.counter("gaps") == 1);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":1,"a":"a","n":1})"});
}

TEST_CASE("a limit for everybody's statements does not end the snapshot") {
  const std::string t = fresh_table("id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(200)");
  server().sql("INSERT INTO " + t + "(s) VALUES (REPEAT('x',200))");
  for (int i = 0; i < 16; ++i) server().sql("INSERT INTO " + t + "(s) SELECT s FROM " + t);
  Setting limit(server().mariadb() ? "max_statement_time" : "max_execution_time",
                server().mariadb() ? "1.000000" : "1000");
  Harness h(server().options(t, "max_queue: 64KiB"));
  begin(h);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  size_t rows = 0;
  poll_until(h, "the snapshot", [&] {
    rows += h.pull().size();
    return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END;
  });
  CHECK(rows + h.pull().size() == 65536);
  CHECK(h.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
}

TEST_CASE("a table that is made while a snapshot begins belongs to it") {
  const std::string t = fresh_table("id INT PRIMARY KEY");
  const std::string db = t.substr(0, t.find('.'));
  Session writer(server().host(), server().port());
  writer.sql("BEGIN");
  writer.sql("INSERT INTO " + t + " VALUES (1)");
  Harness h(server().options(db + ".*", "snapshot_lock: tables"));
  begin(h);
  poll_until(h, "the lock", [&] {
    h.poll();
    return server().value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'LOCK TABLES%'") != "0";
  });
  server().sql("CREATE TABLE " + db + ".u (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + db + ".u VALUES (2)");
  writer.sql("COMMIT");
  poll_until(h, "the snapshot", [&] { return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END; });
  CHECK(h.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
  CHECK(essences(h.pull()) == Lines{R"(r null {"id":1})", R"(r null {"id":2})"});
}

TEST_CASE("parts of JSON values, compressed transactions") {
  if (server().mariadb()) return;
  const std::string t = fresh_table("id INT PRIMARY KEY, j JSON");
  server().sql("INSERT INTO " + t + " VALUES (1,'{\"a\": \"" + std::string(200, 'x') + "\", \"b\": 1}')");
  {
    Harness h(server().options(t, "start: latest"));
    begin(h);
    Session s(server().host(), server().port());
    s.sql("SET SESSION binlog_row_value_options=PARTIAL_JSON");
    s.sql("UPDATE " + t + " SET j=JSON_SET(j,'$.b',2)");
    const std::string message = poll_to_failure(h).message();
    CHECK(message.find("binlog_row_value_options") != std::string::npos);
    CHECK(message.find(kWayOut) != std::string::npos);
  }
  Harness h(server().options(t, "start: latest\non_gap: snapshot"));
  begin(h);
  Session s(server().host(), server().port());
  s.sql("SET SESSION binlog_transaction_compression=ON");
  s.sql("UPDATE " + t + " SET j='[]'");
  poll_until(h, "a new snapshot", [&] { return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END; });
  CHECK(warnings(h).find("binlog_transaction_compression") != std::string::npos);
  CHECK(essences(h.pull()) == Lines{R"(r null {"id":1,"j":"[]"})"});
}

TEST_CASE("a binlog that was deleted") {
  const std::string t = fresh_table();
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  h.checkpoint();
  const std::string position = *h.split("binlog").position;
  h.crash();
  server().sql("INSERT INTO " + t + " VALUES (2,'b',2)");
  server().sql("FLUSH BINARY LOGS");
  server().sql("FLUSH BINARY LOGS");
  server().sql("DELETE FROM " + t + " WHERE id=1");
  // A file that is being sent, or that InnoDB still needs, is kept.
  const std::string newest = file_of(server().position());
  for (int i = 0; i < 1200 && server().value("SHOW BINARY LOGS") != newest; ++i) {
    server().kill_dumps();
    server().sql("PURGE BINARY LOGS TO '" + newest + "'");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  REQUIRE(server().value("SHOW BINARY LOGS") == newest);
  const auto options = [&](const std::string& more) {
    const auto at = BinlogPosition::decode(position);
    return server().options(
        t, "start: position\nstart_position: " + at->file + ":" + std::to_string(at->begin) + "\n" + more);
  };
  h.restore();
  const sluice::Status failed = poll_to_failure(h);
  CHECK(failed.code() == SLUICE_FATAL);
  CHECK(failed.message() ==
        "cannot read the binlog: Could not find first log file name in binary log index file (1236): the server has "
        "deleted the binlog that comes next (needed: " +
            BinlogPosition::decode(position)->describe() + "; the server has " + newest + " only)" + kWayOut);
  Harness snapshot(options("on_gap: snapshot"));
  begin(snapshot);
  poll_to_end(snapshot);
  CHECK(snapshot.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
  CHECK(essences(snapshot.pull()) == Lines{R"(r null {"id":2,"a":"b","n":2})"});
  CHECK(warnings(snapshot).find("; the server has " + newest +
                                " only). Changes are lost; a new snapshot is taken (`on_gap: snapshot`). It says nothing of "
                                "rows that have been deleted since: a target that has them keeps them") !=
        std::string::npos);
  Harness earliest(options("on_gap: earliest"));
  begin(earliest);
  poll_to_end(earliest);
  CHECK(essences(earliest.pull()) == Lines{R"(d {"id":1,"a":"a","n":1} null)"});
  CHECK(earliest.counter("gaps") == 1);
  CHECK(
      warnings(earliest).find("Changes are lost; reading goes on at the first binlog there is (`on_gap: earliest`)") !=
      std::string::npos);
  // The same by GTIDs.
  const std::string gtid = BinlogPosition::decode(position)->gtid;
  const std::string said = server().mariadb()
                               ? "Could not find GTID state requested by slave in any binlog files. Probably the slave "
                                 "state is too old and required binlog files have been purged."
                               : "Cannot replicate because the master purged required binary logs.";
  const std::string by_gtid = problem(server().options(t, "start: gtid\nstart_gtid: \"" + gtid + "\""));
  CHECK(by_gtid.find("nothing can be read from `" + gtid + "` on: cannot read the binlog: " + said) == 0);
  CHECK(by_gtid.find(" (1236): the server has deleted the binlog that comes next; the server has " + newest + " only") !=
        std::string::npos);
  if (!server().mariadb()) return;
  // And of a checkpoint, when another server has the address.
  const OtherOptions other("--server-id=102");
  h.crash();
  h.restore();
  const std::string elsewhere = poll_to_failure(h).message();
  CHECK(elsewhere.find("cannot read the binlog: " + said + " (1236): the server has deleted the binlog that comes next "
                       "(needed: " + BinlogPosition::decode(position)->describe() + "; the server has " + newest + " to ") == 0);
  CHECK(elsewhere.find(kWayOut) != std::string::npos);
}

TEST_CASE("positions and GTIDs that the server does not have are refused before anything is read") {
  const std::string t = fresh_table();
  const std::string file = file_of(server().position());
  server().sql("INSERT INTO " + t + " VALUES (1,REPEAT('x',20),1)");
  const auto refused = [&](const std::string& start) { return problem(server().options(t, start)); };
  const std::string end = server().position();
  CHECK(refused("start: position\nstart_position: " + file + ":99999999") ==
        "`" + file + ":99999999` is no place in the binlog: " + file + " ends at " + end.substr(end.find(':') + 1));
  CHECK(refused("start: position\nstart_position: " + file + ":150")
            .find("nothing can be read from `" + file + ":150` on: cannot read the binlog: ") == 0);
  const std::string oldest = server().value("SHOW BINARY LOGS");
  CHECK(refused("start: position\nstart_position: nothing.000001:4") ==
        "`nothing.000001:4` is no place in the binlog: the server has " + oldest +
            (oldest == file ? " only" : " to " + file));
  if (server().mariadb()) {
    CHECK(refused("start: gtid\nstart_gtid: 0-101-99999999") ==
          "the server has never had 0-101-99999999; its binlog has " + server().value("SELECT @@gtid_binlog_state"));
    CHECK(refused("start: gtid\nstart_gtid: 7-1-1") == "the server's binlog has no GTID domain 7");
    CHECK(refused("start: gtid\nstart_gtid: \"11111111-1111-1111-1111-111111111111:1\"") ==
          "`11111111-1111-1111-1111-111111111111:1` is no GTID of MariaDB: write domain-server-number, several with "
          "commas: 0-101-382");
  } else {
    CHECK(refused("start: gtid\nstart_gtid: \"11111111-1111-1111-1111-111111111111:1-9\"") ==
          "the server has never had 11111111-1111-1111-1111-111111111111:1-9");
    CHECK(refused("start: gtid\nstart_gtid: 0-101-7") ==
          "`0-101-7` is no GTID of MySQL: write UUID:FIRST-LAST, several with commas");
  }
  // What is there is taken.
  const std::string gtids = server().gtids();
  for (const std::string& start : {"position\nstart_position: " + end, "gtid\nstart_gtid: \"" + gtids + "\""}) {
    Harness h(server().options(t, "start: " + start));
    CHECK(found_by(h) == "");
    begin(h);
    server().sql("UPDATE " + t + " SET n=n+1");
    poll_to_end(h);
    CHECK(h.pull().size() >= 1);
  }
}

TEST_CASE("a checkpoint with a wrong beginning is not a checkpoint's gap") {
  const std::string t = fresh_table();
  server().sql("FLUSH BINARY LOGS");
  const std::string file = file_of(server().position());
  Harness h(server().options(t, "start: position\nstart_position: " + file + ":4"));
  begin(h);
  h.checkpoint();
  const auto at = BinlogPosition::decode(*h.split("binlog").position);
  h.crash();
  server().sql("RESET MASTER");
  h.set_options(server().options(t, "start: position\nstart_position: " + server().position()));  // corrected
  h.restore();
  CHECK(poll_to_failure(h).message() ==
        "cannot read the binlog: Could not find first log file name in binary log index file (1236): the server has "
        "deleted the binlog that comes next (needed: " +
            at->describe() + "; the server has " + file_of(server().position()) +
            " only). Nothing has been read yet: correct `start_position`, and start once with "
            "`--from none`, because the checkpoint holds the one that is wrong");
}

TEST_CASE("a binlog that was made anew under the same names") {
  const std::string t = fresh_table();
  Harness h(server().options(t));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  poll_to_end(h);
  h.checkpoint();
  h.crash();
  server().sql("RESET MASTER");
  for (int i = 2; i < 100; ++i)
    server().sql("INSERT INTO " + t + " VALUES (" + std::to_string(i) + ",REPEAT('x',20),1)");
  h.restore();
  const std::string message = poll_to_failure(h).message();
  CHECK(message.find(kWayOut) != std::string::npos);
}

TEST_CASE("without GTIDs a position is a place in a file") {
  if (server().mariadb() || server().value("SELECT @@gtid_mode") != "OFF") return;
  const std::string t = fresh_table();
  Harness h(server().options(t));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  poll_to_end(h);
  h.checkpoint();
  const auto at = BinlogPosition::decode(*h.split("binlog").position);
  CHECK(at->gtid == "");
  CHECK(h.pull().at(0).json.find("\"gtid\":null") != std::string::npos);
  h.crash();
  server().sql("FLUSH BINARY LOGS");
  const std::string newest = file_of(server().position());
  server().sql("PURGE BINARY LOGS TO '" + newest + "'");
  REQUIRE(server().value("SHOW BINARY LOGS") == newest);
  h.restore();
  CHECK(poll_to_failure(h).message() ==
        "cannot read the binlog: Could not find first log file name in binary log index file (1236): the server has "
        "deleted the binlog that comes next (needed: " +
            at->describe() + "; the server has " + newest + " only)" + kWayOut);
}

TEST_CASE("a binlog that was made anew, with transactions of the same number and size") {
  const std::string db = server().fresh_database(), t = db + ".t";
  server().sql("RESET MASTER");
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, a VARCHAR(20))");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'a')");
  poll_to_end(h);
  const std::string end = server().position();
  h.checkpoint();
  const auto at = BinlogPosition::decode(*h.split("binlog").position);
  h.crash();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the files' times are seconds
  server().sql("RESET MASTER");
  server().sql("CREATE TABLE " + db + ".u (id INT PRIMARY KEY, a VARCHAR(20))");
  server().sql("INSERT INTO " + t + " VALUES (2,'b')");
  REQUIRE(server().position() == end);
  server().sql("INSERT INTO " + t + " VALUES (3,'c')");
  h.restore();
  const std::string message = poll_to_failure(h).message();
  CHECK(h.pull().empty());
  CHECK(message.find("binlog.000001 is not the file that was read before: it was begun at 2") == 0);
  CHECK(message.find(" UTC. The binlog was made anew (RESET MASTER) (needed: " + at->describe() +
                     "; the server has binlog.000001 only)" + kWayOut) != std::string::npos);
  // The file itself is known again.
  Harness same(server().options(t, "start: latest"));
  begin(same);
  poll_to_end(same);
  same.checkpoint();
  same.crash();
  same.restore();
  server().sql("INSERT INTO " + t + " VALUES (4,'d')");
  poll_to_end(same);
  CHECK(essences(same.pull()) == Lines{R"(c null {"id":4,"a":"d"})"});
  CHECK(same.counter("gaps") == 0);
}

TEST_CASE("a server whose binlog has none of the GTID domains that were read is a gap, not a beginning") {
  if (!server().mariadb()) return;
  const std::string t = fresh_table();
  Harness h(server().options(t));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  poll_to_end(h);
  h.checkpoint();
  const auto at = BinlogPosition::decode(*h.split("binlog").position);
  h.crash();
  struct OwnAgain {  // whatever fails
    ~OwnAgain() {
      server().sql("RESET MASTER");
      server().sql("SET GLOBAL gtid_slave_pos=''");
    }
  } own_again;
  const OtherOptions copy("--server-id=102 --gtid-domain-id=5");
  const auto said = [&](const std::string& here) {
    return "this server's binlog has nothing of GTID domain 0 (to go on after " + at->gtid +
           ", read from the server before, 101; here: " + here +
           "): it was filled by a copy of the data, or is of another replication, and where to go on in it is not known "
           "(needed: " + at->describe() + "; the server has binlog.000001 only)";
  };
  // A replica that is exactly as far, before and after something of its own is written.
  server().sql("RESET MASTER");
  server().sql("SET GLOBAL gtid_slave_pos='" + at->gtid + "'");
  h.restore();
  poll_until(h, "that it reads", [&] {
    h.poll();
    return server().value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND='Binlog Dump'") != "0";
  });
  h.crash();
  server().sql("INSERT INTO " + t + " VALUES (2,'b',2)");
  h.restore();
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":2,"a":"b","n":2})"});
  h.crash();
  // One that was filled by a copy: whether the copy is older or newer is not known.
  server().sql("RESET MASTER");
  server().sql("SET GLOBAL gtid_slave_pos=''");
  h.restore();
  CHECK(poll_to_failure(h).message() == said("none") + kWayOut);
  h.crash();
  server().sql("UPDATE " + t + " SET n=3 WHERE id=2");
  h.restore();
  CHECK(poll_to_failure(h).message() == said("5-102-1") + kWayOut);
  h.crash();
  h.set_options(server().options(t, "on_gap: snapshot"));
  h.restore();
  poll_until(h, "a new snapshot", [&] { return h.markers().size() == 4; });
  CHECK(essences(h.pull()) == Lines{R"(r null {"id":1,"a":"a","n":1})", R"(r null {"id":2,"a":"b","n":3})"});
  CHECK(warnings(h).find(said("5-102-1") + ". Changes are lost; a new snapshot is taken") == 0);
  // What the options name is looked at as well.
  Harness chosen(server().options(t, "start: gtid\nstart_gtid: 7-1-1\non_gap: earliest"));
  begin(chosen);
  server().sql("INSERT INTO " + t + " VALUES (3,'c',3)");
  poll_to_end(chosen);
  CHECK(chosen.counter("gaps") == 1);
  CHECK(warnings(chosen).find("this server's binlog has nothing of GTID domain 7 (to go on after 7-1-1; here: ") !=
        std::string::npos);
}

TEST_CASE("a character set that cannot be read is said before a row is") {
  const std::string t = fresh_table("id INT PRIMARY KEY, ok VARCHAR(9) CHARACTER SET cp852, s VARCHAR(9) CHARACTER SET keybcs2");
  const std::string text = "column 's' of " + t +
                           ": character set 'keybcs2' is not supported, so changes with a value there would be refused. "
                           "Convert the column to utf8mb4, or leave the table out of `tables`";
  CHECK(problem(server().options(t)) == text);
  // Without a snapshot the others' changes can be read.
  Harness started(server().options(t, "start: latest")), checked(server().options(t, "start: latest"));
  begin(started);
  CHECK(found_by(checked) == "");
  CHECK(warnings(started) == text + "\n");
  CHECK(warnings(checked) == text + "\n");
}

TEST_CASE("another server of the same replication") {
  const std::string t = fresh_table();
  Harness h(server().options(t, "start: latest"));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  server().sql("INSERT INTO " + t + " VALUES (2,'b',1),(3,'c',1),(4,'d',1)");
  poll_to_end(h);
  const auto rows = h.pull();
  REQUIRE(rows.size() == 4);
  h.crash();
  // Row 3 of 4, as another server's files would have it: only its GTIDs say where that is.
  auto at = BinlogPosition::decode(rows[2].position);
  REQUIRE(at);
  CHECK(at->rows == 2);
  const BinlogPosition own = *at;
  at->server = "9999";
  at->file = "other.000077";
  at->begin = 123456;
  at->event = 123999;
  std::string warned;
  const auto lines = [&](const BinlogPosition& from) {
    CdcConfig config;
    const Harness parsed(server().options(t));  // the options are checked there
    config.host = server().host();
    config.port = server().port();
    config.user = "cdc";
    config.password = "cdcpw";
    config.heartbeat = std::chrono::milliseconds(500);
    config.connect_timeout = std::chrono::seconds(5);
    config.max_queue.bytes = 1 << 20;
    TableFilter filter;
    REQUIRE(TableFilter::make({}, {t}, &filter).is_ok());
    sluice::testing::FakeHost host(sluice::detail::Binding<MysqlCdcSource>::desc());
    const sluice_context context = host.make_context();
    ChangeReader reader(config, filter, client_name("m", "p", "failover", 0), ReaderHost(&context));
    reader.start(from, true);
    Lines out;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      auto item = reader.queue().try_pop();
      if (!item) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      for (const auto& r : item->chunk.rows) out.push_back(essence(item->chunk.bytes.substr(r.raw, r.end - r.raw)));
      if (item->kind == Item::Kind::kFailed) out.push_back(item->text);
      if (item->kind == Item::Kind::kFailed || item->kind == Item::Kind::kCaughtUp) break;
    }
    reader.stop();
    warned.clear();
    for (const auto& line : host.log_lines())
      if (line.level == SLUICE_LOG_WARNING) warned += line.text + "\n";
    return out;
  };
  const auto needed = [&](const BinlogPosition& p) {
    const Rows files = server().sql("SHOW BINARY LOGS");
    const std::string first = *files.front()[0], last = *files.back()[0];
    return " (needed: " + p.describe() + "; the server has " + first + (first == last ? " only" : " to " + last) + ")";
  };
  CHECK(lines(*at) == Lines{R"(c null {"id":4,"a":"d","n":1})"});
  if (server().mariadb()) {  // after a failover: a domain that was read elsewhere, and of which this server has nothing
    BinlogPosition several = own;
    several.gtid += ",7-9999-5";
    CHECK(lines(several) == Lines{R"(c null {"id":4,"a":"d","n":1})"});
    CHECK(warned == "");  // it is the server that wrote the file
    several.server = "9999";
    several.file = "other.000077";
    CHECK(lines(several) == Lines{R"(c null {"id":4,"a":"d","n":1})"});
    CHECK(warned == "this server's binlog has nothing of GTID domain 7 (to go on after " + several.gtid +
                        ", read from the server before, 9999; here: " + server().value("SELECT @@gtid_binlog_state") +
                        "): changes of it that came here by a copy of the data are not read\n");
  }
  // Another transaction comes next there: its rows are not those of the one that was read in part.
  BinlogPosition gone = *at;
  gone.open_gtid = server().mariadb() ? "0-9999-1" : "11111111-1111-1111-1111-111111111111:1";
  const Lines other = lines(gone);
  REQUIRE(other.size() == 1);
  CHECK(other[0] == "transaction " + gone.open_gtid +
                        " was read in part from the server before (9999), and here the next one is " + at->open_gtid +
                        ": its other rows cannot be told apart" + kWayOut);
  gone.open_gtid.clear();  // as an earlier version wrote it
  CHECK(lines(gone) == Lines{R"(c null {"id":4,"a":"d","n":1})"});
  if (!server().mariadb()) {
    BinlogPosition ahead = *at;
    ahead.gtid = "11111111-1111-1111-1111-111111111111:1-5," + at->gtid;
    const Lines lacks = lines(ahead);
    REQUIRE(lacks.size() == 1);
    CHECK(lacks[0] == "this server does not have all of " + ahead.gtid +
                          ", which was read from the one before (9999): it has lost the end, or is still behind" +
                          needed(ahead) + kWayOut);
  }
  at->gtid.clear();
  const Lines failed = lines(*at);
  REQUIRE(failed.size() == 1);
  CHECK(
      failed[0].find(
          "is not the one that was read before (9999), and without GTIDs its binlog says nothing about where to go on" +
          needed(*at) + kWayOut) != std::string::npos);
}

TEST_CASE("two readers under one server id do not throw each other out for ever") {
  const std::string t = fresh_table();
  CHECK(problem(server().options(t, "server_id: " + server().value("SELECT @@server_id"))) ==
        "server id " + server().value("SELECT @@server_id") + " is the server's own: choose another `server_id`");
  // The same pipeline twice: the one that came first stops.
  Harness first(server().options(t, "start: latest\nserver_id: 7777")),
      second(server().options(t, "start: latest\nserver_id: 7777"));
  begin(first);
  poll_to_end(first);
  begin(second);
  poll_to_end(second);
  const sluice::Status s = poll_to_failure(first);
  CHECK(s.code() == SLUICE_FATAL);
  CHECK(s.message().find("another client reads this server's binlog under the same server id, and the server cut this "
                         "one off. Give one of them another "
                         "`server_id`") != std::string::npos);
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  poll_to_end(second);
  CHECK(second.pull().size() == 1);
  CHECK(second.counter("reconnects") == 0);
  if (server().mariadb()) return;
  // Another pipeline with the same number is seen before it does harm. (MariaDB lets only administrators look.)
  Harness third(server().options(t, "start: latest\nserver_id: 7777"));
  third.set_pipeline("another");
  CHECK(
      try_begin(third).message() ==
      "server id 7777 is used by another reader of this server's binlog (sluice:test.op): choose another `server_id`");
}

TEST_CASE("TLS is on, or nothing is said") {
  const std::string t = fresh_table();
  if (server().mariadb()) {
    CHECK(problem(server().options(t, "tls: required")).find("cannot connect to 127.0.0.1:") == 0);
    return;
  }
  server().make_user("tlsuser", "SELECT, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT", "caching_sha2_password");
  server().sql("ALTER USER tlsuser@'127.0.0.1' REQUIRE SSL");
  const std::string ca = server().value("SELECT @@datadir") + "ca.pem";
  Harness h(server().options(t, "tls: required", "tlsuser", "x"));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'a',1)");
  poll_to_end(h);
  CHECK(h.pull().size() == 1);
  CHECK(problem(server().options(t, "tls: off", "tlsuser", "x")).find("(1045)") != std::string::npos);
  {
    Setting s("require_secure_transport", "1");
    CHECK(problem(server().options(t)).find("(3159): the server lets nobody in without TLS: set `tls: required`") !=
          std::string::npos);
  }
  // The server made its certificate itself, with a name that is not the host's.
  const std::string unverified = problem(server().options(t, "tls: verified\ntls_ca: " + ca, "tlsuser", "x"));
  CHECK(
      unverified.find(
          "(2026): check the server's certificate and the options `tls`, `tls_ca`, `tls_certificate` and `tls_key`") !=
      std::string::npos);
}

TEST_CASE("a certificate for `localhost` is verified under that name") {
  const std::string t = fresh_table(), folder = server().value("SELECT @@datadir");
  const std::string made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
                           "subjectAltName=DNS:localhost -keyout " + folder + "lh-key.pem -out " + folder +
                           "lh-cert.pem 2>/dev/null";
  REQUIRE(std::system(made.c_str()) == 0);
  const OtherOptions certified("--ssl-ca=" + folder + "lh-cert.pem --ssl-cert=" + folder + "lh-cert.pem --ssl-key=" + folder +
                               "lh-key.pem");
  const std::string by_address = server().options(t, "tls: verified\ntls_ca: " + folder + "lh-cert.pem");
  std::string by_name = by_address;
  by_name.replace(by_name.find(server().host()), server().host().size(), "localhost");
  Harness h(by_name);
  begin(h);
  poll_to_end(h);
  CHECK(h.markers().back() == SLUICE_SNAPSHOT_END);
  CHECK(problem(by_address)
            .find("(2026): check the server's certificate and the options `tls`, `tls_ca`, `tls_certificate` and "
                  "`tls_key`") != std::string::npos);
}

TEST_CASE("the default login of MySQL 8") {
  if (server().mariadb()) return;
  const std::string t = fresh_table();
  server().make_user("sha2", "SELECT, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT", "caching_sha2_password");
  Harness h(server().options(t, "", "sha2", "x"));
  begin(h);
  poll_to_end(h);
  CHECK(h.markers().back() == SLUICE_SNAPSHOT_END);
}

TEST_CASE("an ALTER while a snapshot runs makes it start anew") {
  const std::string t = fresh_table("id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(200)");
  const std::string db = t.substr(0, t.find('.'));
  server().sql("INSERT INTO " + t + "(s) VALUES (REPEAT('x',200))");
  for (int i = 0; i < 13; ++i) server().sql("INSERT INTO " + t + "(s) SELECT s FROM " + t);
  server().sql("CREATE TABLE " + db + ".u (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + db + ".u VALUES (1)");
  Harness h(server().options(db + ".t, " + db + ".u", "max_queue: 64KiB"));
  begin(h);
  poll_until(h, "some rows", [&] { return h.poll() > 0; });
  server().sql("ALTER TABLE " + db + ".u ADD COLUMN a INT, ALGORITHM=COPY");
  poll_until(h, "the snapshot", [&] { return h.markers().back() == SLUICE_SNAPSHOT_END; });
  CHECK(h.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
  CHECK(essences(h.pull()).back() == R"(r null {"id":1,"a":null})");
}
