// Snapshot and changes on a real server, as they should be when nothing goes wrong.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "mysql_cdc/mysql_cdc_source.h"
#include "test_server.h"

using namespace sluice_mysql;
using namespace sluice_mysql::testing;
using Harness = sluice::testing::Harness<MysqlCdcSource>;
using Lines = std::vector<std::string>;

TEST_CASE("a snapshot, a marker, and every change after it") {
  const std::string db = server().fresh_database();
  server().sql("CREATE TABLE " + db + ".t (id INT PRIMARY KEY, a VARCHAR(20), n DECIMAL(6,2))");
  server().sql("CREATE TABLE " + db + ".other (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + db + ".t VALUES (1,'one',1.50),(2,NULL,NULL)");
  server().sql("INSERT INTO " + db + ".other VALUES (1)");
  Harness h(server().options(db + ".t"));
  begin(h);
  poll_to_end(h);
  CHECK(h.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
  auto rows = h.pull();
  CHECK(essences(rows) == Lines{R"(r null {"id":1,"a":"one","n":"1.50"})", R"(r null {"id":2,"a":null,"n":null})"});
  CHECK(rows[0].change == SLUICE_CHANGE_SNAPSHOT);
  CHECK(rows[0].message_key == R"({"id":1})");
  CHECK(h.describe_position("binlog", rows[1].position) == "snapshot of " + db + ".t row 2");

  server().sql("INSERT INTO " + db + ".t VALUES (3,'three',3)");
  server().sql("UPDATE " + db + ".t SET a='zwei' WHERE id=2");
  server().sql("UPDATE " + db + ".t SET id=4 WHERE id=3");
  server().sql("DELETE FROM " + db + ".t WHERE id=1");
  server().sql("INSERT INTO " + db + ".other VALUES (2)");
  poll_to_end(h);
  rows = h.pull();
  CHECK(essences(rows) == Lines{
                              R"(c null {"id":3,"a":"three","n":"3.00"})",
                              R"(u {"id":2,"a":null,"n":null} {"id":2,"a":"zwei","n":null})",
                              R"(d {"id":3,"a":"three","n":"3.00"} null)",
                              R"(c null {"id":4,"a":"three","n":"3.00"})",
                              R"(d {"id":1,"a":"one","n":"1.50"} null)",
                          });
  std::vector<sluice_change> changes;
  for (const auto& r : rows) changes.push_back(r.change);
  CHECK(changes == std::vector<sluice_change>{SLUICE_CHANGE_INSERT, SLUICE_CHANGE_UPDATE, SLUICE_CHANGE_DELETE,
                                              SLUICE_CHANGE_INSERT, SLUICE_CHANGE_DELETE});
  CHECK(rows[4].message_key == R"({"id":1})");
  CHECK(h.counter("snapshot_rows") == 2);
  CHECK(h.counter("inserts") == 1);
  CHECK(h.counter("updates") == 2);
  CHECK(h.counter("deletes") == 1);
}

TEST_CASE("every type is the same from the snapshot and from the binlog") {
  const std::string db = server().fresh_database();
  const std::string t = db + ".t";
  server().sql("CREATE TABLE " + t +
               " (id INT PRIMARY KEY, i1 TINYINT, u1 TINYINT UNSIGNED, i2 SMALLINT, u3 MEDIUMINT UNSIGNED, i4 INT, i8 "
               "BIGINT, u8 BIGINT UNSIGNED,"
               " b1 BIT(1), b9 BIT(9), dc DECIMAL(30,10), f FLOAT, d DOUBLE, y YEAR, dt DATE, t0 TIME, t6 TIME(6), dt0 "
               "DATETIME, dt3 DATETIME(3),"
               " dt6 DATETIME(6), ts0 TIMESTAMP NULL, ts6 TIMESTAMP(6) NULL, c CHAR(10), v VARCHAR(300), l1 "
               "VARCHAR(20) CHARACTER SET latin1,"
               " g VARCHAR(20) CHARACTER SET gbk, b BINARY(4), vb VARBINARY(10), tx TEXT, bl BLOB, e "
               "ENUM('x','ü','z'), s SET('a','b','c'), js JSON, p POINT)"
               " DEFAULT CHARSET utf8mb4");
  Harness stream(server().options(t, "start: latest"));
  begin(stream);
  server().sql("SET NAMES utf8mb4");
  server().sql("SET time_zone='+00:00'");
  server().sql("INSERT INTO " + t +
               " VALUES "
               "(1,-128,255,-32768,16777215,-2147483648,-9223372036854775808,18446744073709551615,b'1',b'100000001',-"
               "12345678901234567890.0000000001,"
               "1.5,-0.1,2024,'2024-02-29','-12:34:56','-838:59:58.999999','2024-02-29 23:59:58','2024-02-29 "
               "23:59:58.123','1000-01-01 00:00:00.000001',"
               "'2024-02-29 23:59:58','2038-01-19 "
               "03:14:07.999999','ab','日本語😀','café','中文',0x41420000,0x00FF,'text \"q\" \\\\','blob','ü','a,c',"
               "'{\"a\": [1, 2.5, \"x\"], \"b\": null}',ST_GeomFromText('POINT(1 2)'))");
  server().sql("INSERT INTO " + t + " (id) VALUES (2)");
  server().sql("INSERT INTO " + t + " (id,f,d,dc,t0,b9,v) VALUES (3,3.4028e38,1e300,0,'00:00:00',b'0','')");
  poll_to_end(stream);
  Harness snapshot(server().options(t));
  begin(snapshot);
  poll_to_end(snapshot);
  const Lines a = essences(stream.pull()), b = essences(snapshot.pull());
  REQUIRE(a.size() == 3);
  REQUIRE(b.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(a[i].substr(2) == b[i].substr(2));
  CHECK(a[0].find("\"u8\":18446744073709551615") != std::string::npos);
  CHECK(a[0].find("\"dc\":\"-12345678901234567890.0000000001\"") != std::string::npos);
  CHECK(a[0].find("\"l1\":\"café\",\"g\":\"中文\"") != std::string::npos);
}

TEST_CASE("a table without a primary key keeps equal rows apart") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (a INT, b INT)");
  server().sql("INSERT INTO " + t + " VALUES (1,1),(1,1)");
  Harness h(server().options(t));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,1)");
  server().sql("UPDATE " + t + " SET b=2 LIMIT 1");
  server().sql("DELETE FROM " + t + " WHERE b=1 LIMIT 1");
  poll_to_end(h);
  const auto rows = h.pull();
  CHECK_FALSE(rows.at(0).message_key.has_value());
  Replica replica;
  replica.apply(rows);
  CHECK(replica.size() == 2);
  CHECK(replica.difference_to_server(t) == "");
}

TEST_CASE("where a first start begins") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + t + " VALUES (1)");
  const std::string position = server().position(), gtids = server().gtids();
  server().sql("INSERT INTO " + t + " VALUES (2)");
  server().sql("FLUSH BINARY LOGS");
  server().sql("INSERT INTO " + t + " VALUES (3)");
  const auto ids = [&](const std::string& more) {
    Harness h(server().options(t, more));
    begin(h);
    const bool latest = more == "start: latest";
    CHECK(((h.split("binlog").flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) != 0) == latest);
    if (latest) server().sql("INSERT INTO " + t + " VALUES (4)");
    poll_to_end(h);
    CHECK((h.split("binlog").flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) != 0);
    std::string out;
    for (const std::string& e : essences(h.pull())) out += e + ";";
    return out;
  };
  CHECK(ids("start: position\nstart_position: " + position) == R"(c null {"id":2};c null {"id":3};)");
  CHECK(ids("start: gtid\nstart_gtid: \"" + gtids + "\"") == R"(c null {"id":2};c null {"id":3};)");
  CHECK(ids("start: earliest") == R"(c null {"id":1};c null {"id":2};c null {"id":3};)");
  CHECK(ids("start: latest") == R"(c null {"id":4};)");
}

TEST_CASE("after a start by GTID a restart goes on at a place in a file") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  const std::string gtids = server().gtids();
  for (int i = 1; i <= 3; ++i) server().sql("INSERT INTO " + t + " VALUES (" + std::to_string(i) + ")");
  Harness h(server().options(t, "start: gtid\nstart_gtid: \"" + gtids + "\""));
  begin(h);
  h.checkpoint();
  h.crash();
  h.restore();
  poll_to_end(h);
  CHECK(h.pull().size() == 3);
  h.checkpoint();
  const std::string at = h.describe_position("binlog", *h.split("binlog").position);
  CHECK(at.find(server().position() + " (after ") == 0);
  h.crash();
  server().sql("INSERT INTO " + t + " VALUES (4)");
  h.restore();
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":4})"});
}

TEST_CASE("DDL on a captured table is followed or reported") {
  const std::string db = server().fresh_database();
  const std::string t = db + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, a VARCHAR(10))");
  Harness h(server().options(t + ", " + db + ".t2", "start: latest"));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1,'a')");
  server().sql("ALTER TABLE " + t + " ADD COLUMN b INT NOT NULL DEFAULT 5 AFTER id");
  server().sql("INSERT INTO " + t + " VALUES (2,7,'b')");
  server().sql("ALTER TABLE " + t + " CHANGE a aa VARCHAR(400)");
  server().sql("UPDATE " + t + " SET aa='c' WHERE id=1");
  server().sql("TRUNCATE TABLE " + t);
  server().sql("INSERT INTO " + t + " VALUES (3,1,'x')");
  server().sql("RENAME TABLE " + t + " TO " + t + "2");
  server().sql("INSERT INTO " + t + "2 VALUES (4,1,'y')");
  server().sql("ALTER TABLE " + t + "2 RENAME TO " + t + "3");
  server().sql("INSERT INTO " + t + "3 VALUES (5,1,'z')");
  server().sql("ALTER TABLE " + t + "3 RENAME TO " + t);
  server().sql("DROP TABLE " + t);
  server().sql("DROP DATABASE " + db);
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{
                                  R"(c null {"id":1,"a":"a"})",
                                  R"(c null {"id":2,"b":7,"a":"b"})",
                                  R"(u {"id":1,"b":5,"aa":"a"} {"id":1,"b":5,"aa":"c"})",
                                  R"(t null null)",
                                  R"(c null {"id":3,"b":1,"aa":"x"})",
                                  R"(c null {"id":4,"b":1,"aa":"y"})",
                              });
  CHECK(h.counter("alters") == 2);
  CHECK(h.counter("truncates") == 1);
  CHECK(h.counter("renames") == 3);
  CHECK(h.counter("drops") == 2);
  std::string log;
  for (const auto& line : h.log())
    if (line.level == SLUICE_LOG_WARNING) log += line.text + "\n";
  CHECK(log.find("table " + t + " was truncated (") != std::string::npos);
  CHECK(log.find("table " + t + " is called " + t + "2 from now on (") != std::string::npos);
  CHECK(log.find("table " + t + "2 is called " + t + "3 from now on (") != std::string::npos);
  CHECK(log.find("; under its new name it is not captured") != std::string::npos);
  CHECK(log.find("table " + t + "3 is called " + t + " from now on (") != std::string::npos);
  CHECK(log.find("; from now on its changes are captured, the rows it has are not read") != std::string::npos);
  CHECK(log.find("table " + t + " was dropped (") != std::string::npos);
  CHECK(log.find("database " + db + " was dropped (") != std::string::npos);
}

TEST_CASE("rows that take other rows' places") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, u INT UNIQUE, n INT)");
  server().sql("INSERT INTO " + t + " VALUES (1,10,0),(2,20,0),(3,30,0)");
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  Replica replica;
  replica.apply(h.pull());
  const auto changes_of = [&](const std::string& statement) {
    server().sql(statement);
    poll_to_end(h);
    const auto rows = h.pull();
    replica.apply(rows);
    CHECK(replica.difference_to_server(t) == "");
    return essences(rows);
  };
  CHECK(changes_of("INSERT INTO " + t + " VALUES (1,11,1),(4,40,0) ON DUPLICATE KEY UPDATE n=n+5") ==
        Lines{R"(u {"id":1,"u":10,"n":0} {"id":1,"u":10,"n":5})", R"(c null {"id":4,"u":40,"n":0})"});
  CHECK(changes_of("REPLACE INTO " + t + " VALUES (5,50,0)") == Lines{R"(c null {"id":5,"u":50,"n":0})"});
  // Two rows are in the way of the new one.
  CHECK(changes_of("REPLACE INTO " + t + " VALUES (2,30,7)") ==
        Lines{R"(d {"id":2,"u":20,"n":0} null)", R"(d {"id":3,"u":30,"n":0} null)", R"(c null {"id":2,"u":30,"n":7})"});
  CHECK(replica.size() == 4);
}

TEST_CASE("a row of more than one packet") {
  const size_t size = size_t{40} << 20, rest = size % 3;
  REQUIRE(rest == 1);
  struct Packet {
    std::string old = server().value("SELECT @@global.max_allowed_packet");
    Packet() { server().sql("SET GLOBAL max_allowed_packet=134217728"); }
    ~Packet() {
      server().sql("SET GLOBAL max_allowed_packet=" + old);
      server().sql("FLUSH BINARY LOGS");
    }
  } packet;
  Session s(server().host(), server().port());
  const std::string t = server().fresh_database() + ".t";
  s.sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, b LONGBLOB)");
  const std::string value = "REPEAT('x'," + std::to_string(size) + ")", other = "REPEAT('y'," + std::to_string(size) + ")";
  s.sql("INSERT INTO " + t + " VALUES (1," + value + ")");
  std::string x, y;
  for (size_t i = 0; i < size / 3; ++i) x += "eHh4", y += "eXl5";
  x = "\"b\":\"" + x + "eA==\"}", y = "\"b\":\"" + y + "eQ==\"}";
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  auto rows = h.pull();
  REQUIRE(rows.size() == 1);
  CHECK((rows[0].json.find("{\"before\":null,\"after\":{\"id\":1," + x) == 0));
  s.sql("UPDATE " + t + " SET b=" + other);
  s.sql("DELETE FROM " + t);
  poll_to_end(h);
  rows = h.pull();
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].json.find("{\"before\":{\"id\":1," + x + ",\"after\":{\"id\":1," + y) == 0));
  CHECK((rows[1].json.find("{\"before\":{\"id\":1," + y + ",\"after\":null") == 0));
  CHECK(h.counter("reconnects") == 0);
  // A start behind it, with the limit that the server has: the event is larger than that.
  server().sql("SET GLOBAL max_allowed_packet=" + packet.old);
  server().sql("INSERT INTO " + t + " VALUES (2,'z')");
  const std::string gtids = server().gtids();
  for (const char* start : {"initial", "latest"}) {
    CAPTURE(start);
    Harness later(server().options(t, std::string("start: ") + start));
    begin(later);
    poll_until(later, "the place", [&] {
      later.poll();
      return (later.split("binlog").flags & SLUICE_SPLIT_CAUGHT_UP) != 0;
    });
    CHECK(BinlogPosition::decode(*later.split("binlog").position)->gtid == gtids);
    CHECK(later.counter("reconnects") == 0);
  }
}

TEST_CASE("columns that SELECT * does not show") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, a INT INVISIBLE DEFAULT 7, b INT)");
  server().sql("INSERT INTO " + t + " (id,b) VALUES (1,1)");
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  server().sql("INSERT INTO " + t + " (id,b) VALUES (2,2)");
  server().sql("UPDATE " + t + " SET a=8 WHERE id=1");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(r null {"id":1,"a":7,"b":1})", R"(c null {"id":2,"a":7,"b":2})",
                                    R"(u {"id":1,"a":7,"b":1} {"id":1,"a":8,"b":1})"});
}

TEST_CASE("a primary key that the server makes for itself is in the snapshot as in the binlog") {
  if (server().mariadb()) return;
  const std::string t = server().fresh_database() + ".t";
  for (const char* shown : {"OFF", "ON"}) {
    CAPTURE(shown);
    struct Shown {
      explicit Shown(const std::string& value) { set(value); }
      ~Shown() { set("ON"); }
      static void set(const std::string& value) {
        server().sql("SET GLOBAL show_gipk_in_create_table_and_information_schema=" + value);
      }
    } setting(shown);
    Session s(server().host(), server().port());
    s.sql("SET SESSION sql_generate_invisible_primary_key=ON");
    s.sql("DROP TABLE IF EXISTS " + t);
    s.sql("CREATE TABLE " + t + " (a INT)");
    s.sql("INSERT INTO " + t + " VALUES (5),(5)");
    Harness h(server().options(t));
    begin(h);
    poll_to_end(h);
    s.sql("DELETE FROM " + t + " LIMIT 1");
    poll_to_end(h);
    const auto rows = h.pull();
    CHECK(essences(rows) == Lines{R"(r null {"my_row_id":1,"a":5})", R"(r null {"my_row_id":2,"a":5})",
                                  R"(d {"my_row_id":1,"a":5} null)"});
    for (const auto& r : rows) CHECK(r.message_key.value_or("").find("{\"my_row_id\":") == 0);
  }
}

TEST_CASE("CREATE OR REPLACE drops the rows that were there") {
  if (!server().mariadb()) return;
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1)");
  server().sql("CREATE OR REPLACE TABLE " + t + " (id INT PRIMARY KEY, a INT)");
  server().sql("INSERT INTO " + t + " VALUES (1,2)");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{R"(c null {"id":1})", R"(c null {"id":1,"a":2})"});
  CHECK(h.counter("drops") == 1);
  REQUIRE(h.log().size() > 0);
  std::string log;
  for (const auto& line : h.log())
    if (line.level == SLUICE_LOG_WARNING) log += line.text + "\n";
  CHECK(log.find("table " + t + " was created anew by CREATE OR REPLACE (") == 0);
  CHECK(log.find("): rows that it had are gone without a delete of each") != std::string::npos);
}

TEST_CASE("TIMESTAMP in the zone of `time_zone`, from snapshot and binlog alike") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("SET time_zone='+00:00'");
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, ts TIMESTAMP NULL, dt DATETIME)");
  const auto write = [&](int id) {
    server().sql("INSERT INTO " + t + " VALUES (" + std::to_string(id) +
                 ",'2024-03-31 00:59:59','2024-03-31 00:59:59'),(" + std::to_string(id + 1) +
                 ",'2024-03-31 01:00:00','2024-03-31 01:00:00')");
  };
  write(1);
  Harness h(server().options(t, "format: maxwell\ntime_zone: Europe/Berlin"));
  begin(h);
  poll_to_end(h);
  write(3);
  poll_to_end(h);
  std::string all;
  for (const auto& r : h.pull()) all += r.json + "\n";
  for (int id = 1; id < 5; id += 2) {
    CHECK(all.find("{\"id\":" + std::to_string(id) + R"(,"ts":"2024-03-31 01:59:59","dt":"2024-03-31 00:59:59"})") !=
          std::string::npos);
    CHECK(all.find("{\"id\":" + std::to_string(id + 1) +
                   R"(,"ts":"2024-03-31 03:00:00","dt":"2024-03-31 01:00:00"})") != std::string::npos);
  }
}

TEST_CASE("Maxwell's shape: rows of a transaction are numbered, the last one says commit") {
  const std::string db = server().fresh_database();
  const std::string t = db + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, a INT)");
  server().sql("INSERT INTO " + t + " VALUES (1,1)");
  Harness h(server().options(t, "format: maxwell"));
  begin(h);
  poll_to_end(h);
  Lines got = h.pull_json();
  REQUIRE(got.size() == 3);
  CHECK(got[0].find(R"("type":"bootstrap-start")") != std::string::npos);
  CHECK(got[1].find(R"("type":"bootstrap-insert")") != std::string::npos);
  CHECK(got[2].find(R"("type":"bootstrap-complete")") != std::string::npos);
  server().sql("BEGIN");
  server().sql("INSERT INTO " + t + " VALUES (2,2),(3,3)");
  server().sql("UPDATE " + t + " SET a=9 WHERE id=1");
  server().sql("COMMIT");
  server().sql("DELETE FROM " + t + " WHERE id=3");
  poll_to_end(h);
  const auto without_ts = [](std::string s) {
    const size_t begin = s.find("\"ts\":"), end = s.find(',', begin);
    return s.erase(begin, end + 1 - begin);
  };
  const std::string gtid = server().gtids();
  const std::string n = gtid.substr(gtid.find_last_of("-:") + 1), before = std::to_string(std::stoull(n) - 1);
  got = h.pull_json();
  for (std::string& s : got) s = without_ts(s);
  const std::string head = "{\"database\":\"" + db + "\",\"table\":\"t\",";
  CHECK(got ==
        Lines{
            head + R"("type":"insert","data":{"id":2,"a":2},"xid":)" + before + R"(,"xoffset":0})",
            head + R"("type":"insert","data":{"id":3,"a":3},"xid":)" + before + R"(,"xoffset":1})",
            head + R"("type":"update","data":{"id":1,"a":9},"old":{"a":1},"xid":)" + before + R"(,"commit":true})",
            head + R"("type":"delete","data":{"id":3,"a":3},"xid":)" + n + R"(,"commit":true})",
        });
}

TEST_CASE("decimals and times as options") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, n DECIMAL(6,2))");
  server().sql("INSERT INTO " + t + " VALUES (1,12.30)");
  const auto after = [&](const std::string& decimals) {
    Harness h(server().options(t, "timestamps: true\ndecimals: " + decimals));
    begin(h);
    poll_to_end(h);
    const int64_t now = std::stoll(server().value("SELECT UNIX_TIMESTAMP()")) * 1000;
    server().sql("UPDATE " + t + " SET id=id+1");
    poll_to_end(h);
    const auto rows = h.pull();
    CHECK(rows.at(0).event_time == SLUICE_NO_TIME);
    CHECK(rows.at(1).event_time >= now);
    CHECK(rows.at(1).event_time < now + 5000);
    return essence(rows.at(0).json);
  };
  CHECK(after("text") == R"(r null {"id":1,"n":"12.30"})");
  CHECK(after("number").find(R"("n":12.3)") != std::string::npos);
  CHECK(after("base64") == R"(r null {"id":3,"n":"BM4="})");
}

TEST_CASE("what a transaction does in the end") {
  const std::string db = server().fresh_database();
  server().sql("CREATE TABLE " + db + ".t (id INT PRIMARY KEY)");
  server().sql("CREATE TABLE " + db + ".m (id INT PRIMARY KEY) ENGINE=MyISAM");
  server().sql("CREATE TABLE " + db + ".parent (id INT PRIMARY KEY)");
  server().sql("CREATE TABLE " + db +
               ".child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent(id) ON DELETE CASCADE)");
  Harness h(server().options(db + ".*", "start: latest"));
  begin(h);
  server().sql("BEGIN");
  server().sql("INSERT INTO " + db + ".t VALUES (1)");
  server().sql("SAVEPOINT s");
  server().sql("INSERT INTO " + db + ".t VALUES (2)");
  server().sql("ROLLBACK TO s");
  server().sql("INSERT INTO " + db + ".t VALUES (3)");
  server().sql("COMMIT");
  server().sql("BEGIN");
  server().sql("INSERT INTO " + db + ".t VALUES (4)");
  server().sql("ROLLBACK");
  server().sql("INSERT INTO " + db + ".m VALUES (1),(2)");
  server().sql("XA START 'x'");
  server().sql("INSERT INTO " + db + ".t VALUES (5)");
  server().sql("XA END 'x'");
  server().sql("XA PREPARE 'x'");
  server().sql("XA COMMIT 'x'");
  server().sql("INSERT INTO " + db + ".parent VALUES (1)");
  server().sql("INSERT INTO " + db + ".child VALUES (1,1)");
  server().sql("DELETE FROM " + db + ".parent WHERE id=1");
  server().sql("CREATE TABLE " + db + ".copy AS SELECT * FROM " + db + ".t");
  server().sql("XA START 'y'");
  server().sql("INSERT INTO " + db + ".t VALUES (6)");
  server().sql("XA END 'y'");
  server().sql("XA PREPARE 'y'");
  server().sql("XA ROLLBACK 'y'");
  server().sql("INSERT INTO " + db + ".t VALUES (7)");
  poll_to_end(h);
  CHECK(essences(h.pull()) == Lines{
                                  R"(c null {"id":1})",
                                  R"(c null {"id":3})",
                                  R"(c null {"id":1})",
                                  R"(c null {"id":2})",
                                  R"(c null {"id":5})",
                                  R"(c null {"id":1})",
                                  R"(c null {"id":1,"p":1})",
                                  R"(d {"id":1} null)",  // and not the child's: see the page
                                  R"(c null {"id":1})",
                                  R"(c null {"id":3})",
                                  R"(c null {"id":5})",
                                  R"(c null {"id":6})",
                                  R"(c null {"id":7})",
                              });
  CHECK(h.counter("xa_rollbacks") == 1);
}

TEST_CASE("no more rows in a call than were asked for") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  server().sql("INSERT INTO " + t + " VALUES (1),(2),(3),(4)");
  Harness h(server().options(t, "max_queue: 1KiB"));
  begin(h);
  size_t most = 0, total = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (total == 0 && std::chrono::steady_clock::now() < deadline) total += h.poll(1);
  server().sql("UPDATE " + t + " SET id=id+10");  // two records each
  while (total < 12 && std::chrono::steady_clock::now() < deadline) {
    const size_t n = h.poll(1);
    most = std::max(most, n);
    total += n;
  }
  CHECK(most == 1);
  CHECK(total == 12);
  Replica replica;
  replica.apply(h.pull());
  CHECK(replica.difference_to_server(t) == "");
}

TEST_CASE("binlog files that change, and checksums that come and go") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  Lines want;
  for (int i = 0; i < 6; ++i) {
    server().sql("INSERT INTO " + t + " VALUES (" + std::to_string(i) + ")");
    want.push_back("c null {\"id\":" + std::to_string(i) + "}");
    if (i == 1) server().sql("SET GLOBAL binlog_checksum=NONE");
    if (i == 3) server().sql("SET GLOBAL binlog_checksum=CRC32");
    if (i == 4) server().sql("FLUSH BINARY LOGS");
    if (i == 2) server().kill_dumps();
  }
  poll_to_end(h);
  CHECK(essences(h.pull()) == want);
}

TEST_CASE("compressed events of MariaDB") {
  if (!server().mariadb()) return;
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY, s TEXT)");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  server().sql("SET GLOBAL log_bin_compress=ON");
  server().sql("INSERT INTO " + t + " VALUES (1,REPEAT('abc',1000))");
  server().sql("UPDATE " + t + " SET s=REPEAT('d',500)");
  server().sql("SET GLOBAL log_bin_compress=OFF");
  poll_to_end(h);
  Replica replica;
  replica.apply(h.pull());
  CHECK(replica.size() == 1);
  CHECK(replica.difference_to_server(t) == "");
}

TEST_CASE("databases and patterns") {
  const std::string db = server().fresh_database();
  for (const char* name : {"order_1", "order_2", "orders", "users"}) {
    server().sql("CREATE TABLE " + db + "." + name + " (id INT PRIMARY KEY)");
    server().sql("INSERT INTO " + db + "." + name + " VALUES (1)");
  }
  const auto tables = [&](const std::string& options, const std::string& more) {
    Harness h(server().options(options, more));
    begin(h);
    poll_to_end(h);
    return h.pull().size();
  };
  CHECK(tables(db + ".order_?", "") == 2);
  CHECK(tables(db + ".order*, " + db + ".users", "") == 4);
  CHECK(tables("users, order_1", "databases: [" + db + "]") == 2);
  CHECK(tables("", "databases: [" + db + "]") == 4);
}
