// Statements in the binlog that change captured tables without rows: seen by whatever way they reach them.
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "mysql_cdc/mysql_cdc_source.h"
#include "test_server.h"

using namespace sluice_mysql;
using namespace sluice_mysql::testing;
using Harness = sluice::testing::Harness<MysqlCdcSource>;
using Lines = std::vector<std::string>;

namespace {

const std::string kByStatement = " by a statement that the binlog has as such, without the rows (";
const std::string kSetRow = "a session ran with binlog_format STATEMENT or MIXED; set ROW everywhere";

std::string warnings(const Harness& h) {
  std::string out;
  for (const auto& line : h.log())
    if (line.level == SLUICE_LOG_WARNING) out += line.text + "\n";
  return out;
}

// Who may see triggers.
std::string options(const std::string& tables, const std::string& more = "") {
  server().make_user("sees", std::string("SELECT, LOCK TABLES, TRIGGER, REPLICATION SLAVE, ") +
                                 (server().mariadb() ? "BINLOG MONITOR" : "REPLICATION CLIENT"));
  return server().options(tables, more, "sees", "x");
}

struct Way {
  std::string prepare, statement, said;
  bool mysql_only = false;
};

}  // namespace

TEST_CASE("a statement that reaches a captured table without naming it is a gap") {
  const std::string function =
      "CREATE FUNCTION f() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (9); RETURN 1; END";
  const std::string may = "rows of captured tables may have been changed", were = "rows of D.t were changed";
  const Way way = GENERATE_COPY(
      Way{"CREATE TRIGGER g AFTER INSERT ON u FOR EACH ROW INSERT INTO t VALUES (NEW.id)", "INSERT INTO u VALUES (1)",
          may + kByStatement + "W): D.u has the trigger g, and " + kSetRow},
      Way{"CREATE VIEW v AS SELECT id FROM t", "UPDATE v SET id=id+1",
          may + kByStatement + "W): D.v is a view, and " + kSetRow},
      Way{function, "SELECT f()",
          may + kByStatement + "W): it calls D.f, which is stored at the server, and " + kSetRow},
      Way{function, "DO f()", may + kByStatement + "W): it calls D.f, which is stored at the server, and " + kSetRow},
      Way{function, "INSERT INTO u VALUES (f())",
          may + kByStatement + "W): it calls f, which is stored at the server, and " + kSetRow},
      Way{"ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES u (id) ON DELETE CASCADE", "DELETE FROM u",
          may + kByStatement + "W): a foreign key of D.t follows D.u, and " + kSetRow},
      Way{"DO 1", "CREATE TABLE c AS SELECT 1 AS id", "rows of D.c were changed" + kByStatement + "W): " + kSetRow},
      Way{"SET SESSION sql_mode='ANSI_QUOTES'", "INSERT INTO \"t\" VALUES (1)", were + kByStatement + "W): " + kSetRow},
      Way{"DO 1", "WITH c AS (SELECT REPLACE('1','1','2') AS a) UPDATE t JOIN c SET id=a",
          were + kByStatement + "W): " + kSetRow, true});
  if (way.mysql_only && server().mariadb()) return;
  CAPTURE(way.statement);
  const std::string db = server().fresh_database();
  Session s(server().host(), server().port());
  s.sql("USE " + db);
  s.sql("CREATE TABLE u (id INT PRIMARY KEY)");
  s.sql("CREATE TABLE w (id INT PRIMARY KEY)");
  s.sql("CREATE TABLE k (id INT PRIMARY KEY)");
  s.sql("CREATE TABLE t (id INT PRIMARY KEY)");
  s.sql("INSERT INTO u VALUES (3)");
  s.sql("INSERT INTO t VALUES (3)");
  s.sql(way.prepare);
  Harness h(options(db + ".t, " + db + ".c", "start: latest"));
  begin(h);
  poll_to_end(h);
  // What changes no captured table goes by.
  s.sql("SET SESSION binlog_format=STATEMENT");
  s.sql("INSERT INTO w (id) VALUE (LENGTH(CONCAT('a', LEFT('bc', 1))))");
  s.sql("INSERT INTO w SELECT id + IF(id IN (3), 4, 5) FROM t WHERE EXTRACT(DAY FROM NOW()) > 0");
  s.sql("UPDATE w AS x JOIN k USING (id) SET x.id=ABS(-8) WHERE x.id IN (SELECT COUNT(*) FROM u)");
  s.sql("DELETE FROM w WHERE id BETWEEN 1 AND CAST('3' AS DECIMAL(10,0))");
  s.sql("CREATE TABLE d (a DATETIME(6), n VARCHAR(10)) AS SELECT NOW(6) AS a, UPPER('x') AS n");
  poll_to_end(h);
  const std::string at = server().position();
  s.sql(way.statement);
  const std::string message = poll_to_failure(h).message();
  const auto replaced = [&](std::string text, const std::string& what, const std::string& by) {
    for (size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + by.size()))
      text.replace(i, what.size(), by);
    return text;
  };
  const size_t place = message.find("rows (") + 6;
  REQUIRE(message.substr(place).find(at.substr(0, at.find(':') + 1)) == 0);
  const std::string where = message.substr(place, message.find(')', place) - place);
  const std::string said = replaced(replaced(way.said, "(W)", "(" + where + ")"), "D.", db + ".");
  CHECK(message.find(said + ". Changes are lost") == 0);
}

TEST_CASE("a LOAD DATA that is logged as a statement is looked at by its table") {
  const std::string db = server().fresh_database(), file = "/tmp/sluice-load-" + db;
  struct Cleared {
    std::string file;
    ~Cleared() {
      std::remove(file.c_str());
      server().sql("SET GLOBAL local_infile=" + std::string(server().mariadb() ? "1" : "0"));
    }
  } cleared{file};
  std::ofstream(file) << "1\n2\n";
  server().sql("SET GLOBAL local_infile=1");
  for (const char* table : {".t", ".other"}) server().sql("CREATE TABLE " + db + table + " (id INT PRIMARY KEY)");
  const auto load = [&](const std::string& table) {
    server().script("sql --local-infile=1 -e \"SET SESSION binlog_format=STATEMENT; LOAD DATA LOCAL INFILE '" + file +
                    "' INTO TABLE " + db + table + " LINES TERMINATED BY '\\n' (id)\"");
  };
  Harness h(options(db + ".t"));
  begin(h);
  poll_to_end(h);
  load(".other");
  CHECK(server().value("SELECT COUNT(*) FROM " + db + ".other") == "2");
  server().sql("INSERT INTO " + db + ".t VALUES (7)");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":7})"});
  load(".t");
  CHECK(poll_to_failure(h).message().find("rows of " + db + ".t were changed" + kByStatement) == 0);
  CHECK(essences(h.pull()) == Lines{});
}

TEST_CASE("where the user may not see triggers, a statement on another table is a gap until the user may") {
  const std::string db = server().fresh_database();
  server().sql("CREATE TABLE " + db + ".t (id INT PRIMARY KEY)");
  server().sql("CREATE TABLE " + db + ".u (id INT PRIMARY KEY)");
  Harness h(server().options(db + ".t"));
  begin(h);
  poll_to_end(h);
  h.checkpoint();
  Session s(server().host(), server().port());
  s.sql("SET SESSION binlog_format=STATEMENT");
  s.sql("INSERT INTO " + db + ".u VALUES (1)");
  server().sql("INSERT INTO " + db + ".t VALUES (1)");
  CHECK(poll_to_failure(h).message().find("): the user may not see whether " + db +
                                          ".u has triggers (GRANT TRIGGER ON `" + db + "`.`u` lets it), and " +
                                          kSetRow) != std::string::npos);
  h.crash();
  server().sql("GRANT TRIGGER ON " + db + ".u TO cdc@'127.0.0.1'");
  h.restore();
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":1})"});
}

TEST_CASE("names in another case are the same where the server says so") {
  if (!server().mariadb()) return;  // MySQL takes the setting only when its data are made
  const OtherOptions lower_case("--lower-case-table-names=1");
  const std::string db = server().fresh_database();
  std::string upper = db;
  upper[0] = 'D';
  server().sql("CREATE TABLE " + upper + ".T (id INT PRIMARY KEY)");
  server().sql("CREATE TABLE " + upper + ".`Ä1` (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + upper + ".T VALUES (1)");
  Harness h(options(upper + ".T, " + upper + ".Ä*"));
  begin(h);
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(r null {"id":1})"});
  server().sql("TRUNCATE TABLE " + upper + ".T");
  server().sql("TRUNCATE TABLE " + upper + ".`Ä1`");
  server().sql("INSERT INTO " + upper + ".T VALUES (2)");
  poll_to_end(h);
  const auto rows = h.pull();
  CHECK(essences(rows) == Lines{"t null null", "t null null", R"(c null {"id":2})"});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].json.find("\"db\":\"" + db + "\"") != std::string::npos);
  CHECK(rows[0].json.find("\"table\":\"t\"") != std::string::npos);
  server().sql("RENAME TABLE " + upper + ".`Ä1` TO " + upper + ".Z");
  poll_to_end(h);
  CHECK(h.counter("renames") == 1);
  Session s(server().host(), server().port());
  s.sql("SET SESSION binlog_format=STATEMENT");
  s.sql("INSERT INTO " + upper + ".T VALUES (3)");
  CHECK(poll_to_failure(h).message().find("rows of " + db + ".t were changed" + kByStatement) == 0);
}

TEST_CASE("an ALTER IGNORE that drops rows is warned of") {
  if (!server().mariadb()) return;
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, a INT)");
  server().sql("INSERT INTO " + t + " VALUES (1,1), (2,1)");
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  const std::string at = server().position(), statement = "ALTER IGNORE TABLE " + t + " ADD UNIQUE (a)";
  server().sql(statement);
  CHECK(server().value("SELECT COUNT(*) FROM " + t) == "1");
  poll_to_end(h);
  const std::string begin = "table " + t + " was altered by ALTER IGNORE (" + at.substr(0, at.find(':') + 1);
  CHECK(warnings(h).find(begin) == 0);
  CHECK(warnings(h).find("): rows that a new unique key did not allow are gone without a delete of each: " + statement +
                         "\n") == warnings(h).find(')'));
  CHECK(h.counter("drops") == 1);
  CHECK(h.counter("alters") == 1);
}

TEST_CASE("partitions that take their rows away are warned of") {
  const std::string db = server().fresh_database(), t = db + ".t", u = db + ".u";
  server().sql("CREATE TABLE " + t +
               " (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), "
               "PARTITION p1 VALUES LESS THAN MAXVALUE)");
  server().sql("CREATE TABLE " + u + " (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + t + " VALUES (1), (11)");
  Harness h(server().options(t + ", " + u));
  begin(h);
  poll_to_end(h);
  const Lines statements = {"ALTER TABLE " + t + " EXCHANGE PARTITION p0 WITH TABLE " + u,
                            "ALTER TABLE " + t + " TRUNCATE PARTITION p1", "ALTER TABLE " + t + " DROP PARTITION p0"};
  std::string said;
  for (const std::string& statement : statements) {
    const std::string at = server().position();
    server().sql(statement);
    poll_to_end(h);
    for (const std::string& table : {t, u}) {
      if (statement.find(table) == std::string::npos) continue;
      const std::string begin =
          "partitions or a tablespace of table " + table + " went or came (" + at.substr(0, at.find(':') + 1);
      const std::string end = "): rows that it lost or got by that come in no record: " + statement + "\n";
      const size_t found = warnings(h).find(begin, said.size());
      REQUIRE(found == said.size());
      CHECK(warnings(h).find(end, found) == warnings(h).find(')', found));
      said = warnings(h).substr(0, warnings(h).find('\n', found) + 1);
    }
  }
  CHECK(warnings(h) == said);
  CHECK(h.counter("drops") == 4);
  CHECK(h.counter("alters") == 0);
}
