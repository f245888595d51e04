// What a table may be, become or be joined by: other names for its columns, values that cannot be read, old rows in it,
// a place in the list while others are read; and transactions that are between their prepare and their commit.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

std::string fresh_table(const std::string& columns = "id INT PRIMARY KEY, a INT, b INT") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (" + columns + ")");
  return t;
}

std::string database_of(const std::string& table) { return table.substr(0, table.find('.')); }

std::string logged(const Harness& h, uint32_t level) {
  std::string out;
  for (const auto& line : h.log())
    if (line.level == level) out += line.text + "\n";
  return out;
}

bool at_snapshot_end(const Harness& h) { return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END; }

// New sessions log no names.
class NoNames {
 public:
  NoNames() { set(server().mariadb() ? "NO_LOG" : "MINIMAL"); }
  ~NoNames() { set("FULL"); }

 private:
  static void set(const std::string& value) { server().sql("SET GLOBAL binlog_row_metadata=" + value); }
};

std::string try_from(const std::string& table, const std::string& position, Lines* given) {
  Harness h(server().options(table, "start: position\nstart_position: " + position));
  begin(h);
  const sluice::Status s = poll_to_failure(h);
  CHECK(s.code() == SLUICE_FATAL);
  *given = essences(h.pull());
  return s.message();
}

const std::string kSaysFull = "binlog_row_metadata=FULL";

}  // namespace

TEST_CASE("without full metadata rows never come under names that columns have got since") {
  const NoNames none;
  struct Way {
    const char *name, *alter;
  };
  // The same number of columns, of the same types: nothing in the rows tells.
  const Way way =
      GENERATE(Way{"renamed", "ALTER TABLE T RENAME COLUMN a TO c"}, Way{"changed", "ALTER TABLE T CHANGE a c INT"},
               Way{"moved", "ALTER TABLE T MODIFY b INT AFTER id"},
               Way{"replaced", "ALTER TABLE T DROP COLUMN a, ADD COLUMN c INT"});
  CAPTURE(way.name);
  const std::string t = fresh_table();
  std::string alter = way.alter;
  alter.replace(alter.find(" T ") + 1, 1, t);
  const std::string position = server().position();
  server().sql("INSERT INTO " + t + " VALUES (1,10,20)");
  server().sql(alter);
  server().sql("INSERT INTO " + t + " VALUES (2,10,20)");
  Lines given;
  const std::string message = try_from(t, position, &given);
  CHECK(given == Lines{});
  CHECK(message.find("the rows of " + t + " at ") == 0);
  CHECK(message.find(" were written before the table was altered, at ") != std::string::npos);
  CHECK(message.find(kSaysFull) != std::string::npos);
  CHECK(message.find("on_gap: snapshot") != std::string::npos);
  // Behind the alteration, and while it happens, names are right.
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  h.pull();
  server().sql("INSERT INTO " + t + " VALUES (3,1,2)");
  poll_to_end(h);
  server().sql("ALTER TABLE " + t + " RENAME COLUMN id TO nr");
  server().sql("INSERT INTO " + t + " VALUES (4,1,2)");
  poll_to_end(h);
  const Lines rows = essences(h.pull());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].find("{\"id\":3,") != std::string::npos);
  CHECK(rows[1].find("{\"nr\":4,") != std::string::npos);
}

TEST_CASE("without full metadata a table that takes another one's name is seen") {
  const NoNames none;
  const std::string t = fresh_table(), db = database_of(t);
  const std::string position = server().position();
  server().sql("CREATE TABLE " + db + ".t_new (id INT PRIMARY KEY, c INT, d INT)");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // older than the rows that follow
  server().sql("INSERT INTO " + t + " VALUES (1,10,20)");
  server().sql("RENAME TABLE " + t + " TO " + db + ".t_old, " + db + ".t_new TO " + t);
  Lines given;
  CHECK(try_from(t, position, &given).find("the rows of " + t + " at ") == 0);
  CHECK(given == Lines{});
}

TEST_CASE("without full metadata what changes no column stops nothing") {
  const NoNames none;
  const std::string t = fresh_table();
  const std::string position = server().position();
  server().sql("INSERT INTO " + t + " VALUES (1,10,20)");
  server().sql("CREATE INDEX i ON " + t + "(a)");
  server().sql("ALTER TABLE " + t + " ADD INDEX j(b), COMMENT='x'");
  server().sql("OPTIMIZE TABLE " + t);
  server().sql("CREATE TABLE IF NOT EXISTS " + t + " (id INT)");
  Harness h(server().options(t, "start: position\nstart_position: " + position));
  begin(h);
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":1,"a":10,"b":20})"});
}

TEST_CASE("without full metadata a column of another size, sign or character set is another column") {
  const NoNames none;
  struct Pair {
    const char *before, *after;
  };
  const Pair pair =
      GENERATE(Pair{"VARCHAR(20)", "VARCHAR(30)"}, Pair{"CHAR(3)", "CHAR(4)"}, Pair{"DECIMAL(10,2)", "DECIMAL(11,2)"},
               Pair{"DATETIME(3)", "DATETIME(6)"}, Pair{"TEXT", "MEDIUMTEXT"}, Pair{"BIT(3)", "BIT(4)"},
               Pair{"INT", "INT NOT NULL"}, Pair{"VARBINARY(7)", "VARBINARY(8)"});
  CAPTURE(pair.before, pair.after);
  const std::string t = fresh_table(std::string("id INT PRIMARY KEY, a ") + pair.before);
  const std::string position = server().position();
  server().sql("INSERT INTO " + t + " VALUES (1,NULL)");
  server().sql("DELETE FROM " + t);
  server().sql("ALTER TABLE " + t + " MODIFY a " + pair.after);
  Lines given;
  const std::string message = try_from(t, position, &given);
  CHECK(given == Lines{});
  CHECK(message.find("column 'a' of " + t + ": it is ") == 0);
  CHECK(message.find(" now, and another one in the binlog (") != std::string::npos);
}

TEST_CASE("a value that cannot be read goes to the dead letters alone") {
  const std::string t = fresh_table("id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET keybcs2"), db = database_of(t);
  server().sql("CREATE TABLE " + db + ".other (id INT PRIMARY KEY)");
  const std::string format = GENERATE("debezium", "maxwell");
  Harness h(server().options(t + ", " + db + ".other", "start: latest\nformat: " + format));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'abc'),(2,NULL)");
  server().sql("UPDATE " + t + " SET s='x' WHERE id=2");
  server().sql("INSERT INTO " + db + ".other VALUES (7)");
  poll_to_end(h);
  const auto rows = h.pull();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].json.find("\"id\":2") != std::string::npos);
  CHECK(rows[1].json.find("\"id\":7") != std::string::npos);
  REQUIRE(h.rejected().size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const auto& r = h.rejected()[i];
    CAPTURE(r.json, r.reason);
    CHECK(r.reason.find("column 's' of " + t +
                        ": character set 'keybcs2' is not supported; convert the column to utf8mb4 (") == 0);
    CHECK(r.reason.find("binlog.") != std::string::npos);
    CHECK(r.json.find(i == 0 ? "\"s\":\"0x616263\"" : "\"s\":\"0x78\"") != std::string::npos);
    CHECK(r.json.find(format == "maxwell" ? "\"xid\":" : "\"op\":") != std::string::npos);
  }
  // The position goes on behind them.
  h.checkpoint();
  h.crash();
  h.restore();
  server().sql("INSERT INTO " + db + ".other VALUES (8)");
  poll_to_end(h);
  CHECK(h.pull().size() == 1);
  CHECK(h.rejected().size() == 2);
}

TEST_CASE("a system-versioned table gives the rows that hold, and their changes") {
  if (!server().mariadb()) return;
  const std::string columns = GENERATE("id INT PRIMARY KEY, a INT",
                                       "id INT PRIMARY KEY, a INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e "
                                       "TIMESTAMP(6) GENERATED ALWAYS AS ROW END, "
                                       "PERIOD FOR SYSTEM_TIME(s,e)");
  const bool names = GENERATE(true, false);
  CAPTURE(columns, names);
  std::optional<NoNames> none;
  if (!names) none.emplace();
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (" + columns + ") WITH SYSTEM VERSIONING");
  server().sql("INSERT INTO " + t + "(id,a) VALUES (1,1),(2,1),(3,1)");
  server().sql("UPDATE " + t + " SET a=2 WHERE id=1");
  server().sql("DELETE FROM " + t + " WHERE id=3");
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  server().sql("UPDATE " + t + " SET a=3 WHERE id=1");
  server().sql("INSERT INTO " + t + "(id,a) VALUES (4,1)");
  server().sql("DELETE FROM " + t + " WHERE id=2");
  server().sql("UPDATE " + t + " SET id=5 WHERE id=4");
  poll_to_end(h);
  const auto all = h.pull();
  Lines kinds;
  for (const auto& r : all) {
    kinds.push_back(essence(r.json).substr(0, 1) + r.message_key.value_or(""));
    if (columns.find("PERIOD") == std::string::npos) CHECK(r.json.find("row_end") == std::string::npos);
  }
  CHECK(kinds == Lines{R"(r{"id":1})", R"(r{"id":2})", R"(u{"id":1})", R"(c{"id":4})", R"(d{"id":2})", R"(d{"id":4})",
                       R"(c{"id":5})"});
  CHECK(h.counter("deletes") == 1);
  Replica replica;
  replica.apply(all);
  CHECK(replica.difference_to_server(t) == "");
}

TEST_CASE("a table that keeps its history by transaction ids is refused: its changes are logged as statements") {
  if (!server().mariadb()) return;
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t +
               " (id INT PRIMARY KEY, a BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, e BIGINT UNSIGNED "
               "GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME(a,e)) WITH SYSTEM VERSIONING");
  Harness h(server().options(t));
  CHECK(try_begin(h).message().find(t + " keeps its history by transaction ids") == 0);
}

TEST_CASE("a sequence is no table") {
  if (!server().mariadb()) return;
  const std::string t = fresh_table(), db = database_of(t);
  server().sql("CREATE SEQUENCE " + db + ".s");
  {
    Harness named(server().options(db + ".s"));
    CHECK(try_begin(named).message() ==
          db + ".s is a sequence: it has no rows, and its numbers are not read. Leave it out of `tables`");
  }
  Harness h(server().options(db + ".*"));
  begin(h);
  poll_to_end(h);
  server().sql("SELECT NEXTVAL(" + db + ".s)");
  server().sql("INSERT INTO " + t + " VALUES (1,1,1)");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":1,"a":1,"b":1})"});
  CHECK(logged(h, SLUICE_LOG_WARNING).find(db + ".s is a sequence: it has no rows, and its numbers are not read\n") !=
        std::string::npos);
}

TEST_CASE("XA transactions that are prepared before a snapshot and committed after it are not lost") {
  const std::string t = fresh_table("id INT PRIMARY KEY");
  const std::string lock = GENERATE("auto", "global");
  CAPTURE(lock);
  server().sql("INSERT INTO " + t + " VALUES (1)");
  {
    Session s(server().host(), server().port());
    s.sql("XA START 'q','b',7");
    s.sql("INSERT INTO " + t + " VALUES (2)");
    s.sql("XA END 'q','b',7");
    s.sql("XA PREPARE 'q','b',7");
  }
  // The rights of the tests' user do not let it see them on MySQL.
  const std::string user = server().mariadb() || lock == "auto" ? "cdc" : "xa";
  if (user == "xa") server().make_user("xa", "SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT, XA_RECOVER_ADMIN");
  Harness h(
      server().options(t, "snapshot_lock_timeout: 1s\nsnapshot_lock: " + lock, user, user == "xa" ? "x" : "cdcpw"));
  begin(h);
  const std::string said =
      server().mariadb() || lock == "global" ? "XA transactions are prepared and not finished ('q','b',7)" : "(1205)";
  poll_until(h, "what it waits for", [&] {
    h.poll();
    return h.note().find(said) != std::string::npos;
  });
  CHECK(h.pull().empty());
  server().sql("XA COMMIT 'q','b',7");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(r null {"id":1})", R"(r null {"id":2})"});
  // From then on they come when they are prepared.
  {
    Session s(server().host(), server().port());
    s.sql("XA START 'r'");
    s.sql("INSERT INTO " + t + " VALUES (3)");
    s.sql("XA END 'r'");
    s.sql("XA PREPARE 'r'");
    s.sql("XA COMMIT 'r'");
  }
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":3})"});
}

TEST_CASE("snapshots among XA transactions miss none") {
  const std::string t = fresh_table("id INT PRIMARY KEY");
  std::atomic<bool> stop{false};
  std::atomic<int> next{0};
  std::vector<std::jthread> writers;
  for (int w = 0; w < 2; ++w)
    writers.emplace_back([&, w] {
      Session s(server().host(), server().port());
      while (!stop) {
        const int id = ++next;
        const std::string xid = "'w" + std::to_string(w) + "_" + std::to_string(id) + "'";
        s.sql("XA START " + xid);
        s.sql("INSERT INTO " + t + " VALUES (" + std::to_string(id) + ")");
        s.sql("XA END " + xid);
        s.sql("XA PREPARE " + xid);
        s.sql("XA COMMIT " + xid);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  std::vector<std::unique_ptr<Harness>> readers;
  for (int i = 0; i < 10; ++i) {
    readers.push_back(std::make_unique<Harness>(server().options(t)));
    readers.back()->set_id("reader" + std::to_string(i));
    begin(*readers.back());
    poll_until(*readers.back(), "the snapshot", [&] { return at_snapshot_end(*readers.back()); });
  }
  stop = true;
  for (std::jthread& w : writers) w.join();
  const size_t count = std::stoul(server().value("SELECT COUNT(*) FROM " + t));
  for (auto& h : readers) {
    poll_to_end(*h);
    std::set<std::string> ids;
    const auto rows = h->pull();
    for (const auto& r : rows) ids.insert(r.message_key.value_or(""));
    CHECK(ids.size() == count);
    CHECK(rows.size() == count);
  }
}

TEST_CASE("`start: latest` says which prepared XA transactions it passes over") {
  if (!server().mariadb()) return;  // the user may not see them
  const std::string t = fresh_table("id INT PRIMARY KEY");
  {
    Session s(server().host(), server().port());
    s.sql("XA START 'l'");
    s.sql("INSERT INTO " + t + " VALUES (2)");
    s.sql("XA END 'l'");
    s.sql("XA PREPARE 'l'");
  }
  Harness h(server().options(t, "start: latest"));
  begin(h);
  server().sql("XA COMMIT 'l'");
  CHECK(logged(h, SLUICE_LOG_WARNING)
            .find("the XA transaction 'l','',1 is prepared: its rows are in the binlog before the place where this job "
                  "starts") != std::string::npos);
}

TEST_CASE("rows that are deleted after a snapshot was cut off leave the target") {
  const std::string format = GENERATE("debezium", "maxwell");
  const std::string t = fresh_table("id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(200)"), db = database_of(t);
  server().sql("INSERT INTO " + t + "(s) VALUES (REPEAT('x',200))");
  for (int i = 0; i < 12; ++i) server().sql("INSERT INTO " + t + "(s) SELECT s FROM " + t);
  const int first = std::stoi(server().value("SELECT MIN(id) FROM " + t));
  Harness h(server().options(t, "max_queue: 64KiB\nformat: " + format));
  begin(h);
  poll_until(h, "some rows", [&] { return h.counter("snapshot_rows") > 0 && h.poll() > 0; });
  h.checkpoint();
  const bool by_crash = GENERATE(true, false);
  server().sql("DELETE FROM " + t + " WHERE id=" + std::to_string(first));
  server().sql("UPDATE " + t + " SET id=100000 WHERE id=" + std::to_string(first + 1));
  server().sql("UPDATE " + t + " SET s='y' WHERE id=" + std::to_string(first + 2));
  if (by_crash) {
    h.crash();
    h.restore();
  } else {
    for (const Row& r : server().sql("SELECT ID FROM information_schema.PROCESSLIST WHERE USER='cdc'"))
      server().sql("KILL " + *r[0]);
  }
  poll_until(h, "the snapshot", [&] { return at_snapshot_end(h); });
  std::map<std::string, std::string> target;  // as an upsert sink keeps it
  Lines deletes;
  for (const auto& r : h.pull()) {
    if (r.change == SLUICE_CHANGE_DELETE) {
      deletes.push_back(*r.message_key);
      target.erase(*r.message_key);
    } else if (r.message_key) {
      target[*r.message_key] = r.json;
    }
  }
  CHECK(deletes.size() == 2);
  CHECK(target.size() == 4095);
  CHECK(h.counter("deletes") == 2);
}

TEST_CASE("a table that is new in the list gets a snapshot of its own") {
  const std::string a = fresh_table("id INT PRIMARY KEY"), db = database_of(a), b = db + ".b";
  server().sql("CREATE TABLE " + b + " (id INT PRIMARY KEY, s VARCHAR(200))");
  server().sql("INSERT INTO " + a + " VALUES (1)");
  server().sql("INSERT INTO " + b + " VALUES (1,'x'),(2,'x'),(3,'x')");
  Harness h(server().options(a));
  begin(h);
  poll_to_end(h);
  h.checkpoint();
  h.crash();
  h.pull();
  // Both change while the job is away.
  server().sql("INSERT INTO " + a + " VALUES (2)");
  server().sql("DELETE FROM " + b + " WHERE id=2");
  h.set_options(server().options(a + ", " + b));
  h.restore();
  poll_to_end(h);
  // The delete comes because an attempt that was cut off might have given the row.
  CHECK(essences(h.pull()) == Lines{R"(d {"id":2,"s":"x"} null)", R"(r null {"id":1,"s":"x"})",
                                    R"(r null {"id":3,"s":"x"})", R"(c null {"id":2})"});
  CHECK(h.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
  CHECK(logged(h, SLUICE_LOG_INFO).find(b + " was not captured before: its rows are read first") != std::string::npos);
  server().sql("INSERT INTO " + b + " VALUES (4,'y')");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":4,"s":"y"})"});
  // Once is enough.
  h.checkpoint();
  h.crash();
  h.restore();
  server().sql("INSERT INTO " + b + " VALUES (5,'y')");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":5,"s":"y"})"});
}

TEST_CASE("with another start than `initial` a new table's rows are not read, and that is said") {
  const std::string a = fresh_table("id INT PRIMARY KEY"), b = database_of(a) + ".b";
  server().sql("CREATE TABLE " + b + " (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + b + " VALUES (1)");
  Harness h(server().options(a, "start: latest"));
  begin(h);
  poll_to_end(h);
  h.checkpoint();
  h.crash();
  h.set_options(server().options(a + ", " + b, "start: latest"));
  h.restore();
  poll_to_end(h);
  server().sql("INSERT INTO " + b + " VALUES (2)");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":2})"});
  CHECK(logged(h, SLUICE_LOG_WARNING).find(b + " was not captured before: its changes from ") != std::string::npos);
}

TEST_CASE("DDL records of Maxwell's format, when they are asked for") {
  const std::string t = fresh_table("id INT PRIMARY KEY"), db = database_of(t);
  Harness silent(server().options(db + ".*", "start: latest\nformat: maxwell"));
  Harness h(server().options(db + ".*", "start: latest\nformat: maxwell\noutput_ddl: true"));
  h.set_id("ddl");
  begin(silent);
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1)");
  server().sql("ALTER TABLE " + t + " ADD COLUMN a INT");
  server().sql("TRUNCATE TABLE " + t);
  server().sql("CREATE TABLE " + db + ".u (id INT PRIMARY KEY)");
  server().sql("RENAME TABLE " + db + ".u TO " + db + ".v");
  server().sql("DROP TABLE " + t + ", " + db + ".v");
  poll_to_end(silent);
  poll_to_end(h);
  CHECK(silent.pull().size() == 1);
  CHECK(silent.counter("truncates") == 1);
  CHECK(logged(silent, SLUICE_LOG_WARNING).find("table " + t + " was truncated (") != std::string::npos);
  Lines got;
  for (const auto& r : h.pull()) got.push_back(r.json.substr(0, r.json.find(",\"ts\"")));
  const auto record = [&](const std::string& type, const std::string& table) {
    return "{\"type\":\"" + type + "\",\"database\":\"" + db + "\",\"table\":\"" + table + "\"";
  };
  REQUIRE(got.size() == 6);
  CHECK(got[0].find("\"type\":\"insert\"") != std::string::npos);
  CHECK(Lines(got.begin() + 1, got.end()) == Lines{record("table-alter", "t"), record("table-create", "u"),
                                                   record("table-alter", "u"), record("table-drop", "t"),
                                                   record("table-drop", "v")});
  Harness wrong("host: h\nuser: u\ntables: [a.t]\noutput_ddl: true");
  CHECK(wrong.try_open().message() ==
        "`output_ddl` is used with `format: maxwell` only: Debezium's shape has no such records");
}

TEST_CASE("the split is not at its end while changes of other tables pile up") {
  const std::string t = fresh_table("id INT PRIMARY KEY"), other = database_of(t) + ".other";
  server().sql("CREATE TABLE " + other + " (id INT PRIMARY KEY AUTO_INCREMENT, s LONGBLOB)");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  poll_to_end(h);
  const auto caught_up = [&] { return (h.split("binlog").flags & SLUICE_SPLIT_CAUGHT_UP) != 0; };
  CHECK(caught_up());
  std::jthread writer([&] {  // 600 MB in one transaction: they come all at once
    Session s(server().host(), server().port());
    s.sql("SET SESSION sql_mode=''");
    s.sql("BEGIN");
    for (int i = 0; i < 60; ++i) s.sql("INSERT INTO " + other + "(s) VALUES (REPEAT('x',10000000))");
    s.sql("COMMIT");
  });
  poll_until(h, "being behind", [&] {
    h.poll();
    return !caught_up();
  });
  writer.join();
  poll_to_end(h);
  CHECK(caught_up());
  CHECK(h.pull().empty());
  server().sql("DROP TABLE " + other);
}
