// How fast changes become JSON, from the binlog of one large transaction and of many small ones, beside a pass over the
// same binlog that only reads it. Prints rates; fails only when something is missing. CDC_ROWS sets the size.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <thread>

#include "mysql_cdc/mysql_cdc_source.h"
#include "test_server.h"

using namespace sluice_mysql;
using namespace sluice_mysql::testing;
using Harness = sluice::testing::Harness<MysqlCdcSource>;

namespace {

const char* const kColumns =
    " (id BIGINT PRIMARY KEY AUTO_INCREMENT, user_id BIGINT, amount DECIMAL(16,2), status VARCHAR(20), name "
    "VARCHAR(100), create_time DATETIME(6), "
    "ts TIMESTAMP, n INT, r DOUBLE) DEFAULT CHARSET utf8mb4";

size_t rows_wanted() {
  const char* text = std::getenv("CDC_ROWS");
  return text != nullptr ? std::stoul(text) : 100000;
}

std::string values(const std::string& n) {
  return n + "," + n + "/100,'PAID',CONCAT('商品 name '," + n + "),NOW(6),NOW()," + n + "%97," + n + "/7";
}
const char* const kInsert = "(user_id,amount,status,name,create_time,ts,n,r) ";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string per_second(size_t n, double s) {
  return std::to_string(n) + " in " + std::to_string(s) + " s = " + std::to_string(static_cast<int64_t>(static_cast<double>(n) / s)) + "/s";
}

// Seconds until the binlog's end: the same connection, and each event is thrown away as it comes. No reader can be faster.
double read_bare(const char* what, const std::string& position, size_t transactions) {
  CdcConfig config;
  config.host = server().host();
  config.port = server().port();
  config.user = "cdc";
  config.password = "cdcpw";
  config.heartbeat = std::chrono::seconds(2);
  config.connect_timeout = std::chrono::seconds(5);
  Interrupter interrupter;
  Connection sql(&interrupter);
  ServerFacts facts;
  REQUIRE(sql.open(config, std::chrono::seconds(60)).is_ok());
  REQUIRE(read_facts(&sql, &facts).is_ok());
  BinlogPosition from;
  from.file = parse_file_position(position)->file;
  from.begin = parse_file_position(position)->position;
  BinlogConnection binlog(&interrupter);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(binlog.open_to_look(config, facts, from).is_ok());
  size_t events = 0, bytes = 0, size = 1;
  while (true) {
    const uint8_t* data = nullptr;
    if (const Outcome o = binlog.read(&data, &size); !o.is_ok()) FAIL(o.message());
    if (size == 0) break;
    ++events;
    bytes += size;
  }
  const double s = seconds_since(start);
  std::cout << what << ", only read: " << per_second(transactions, s) << ", " << events << " events, "
            << static_cast<double>(bytes) / s / 1e6 << " MB/s\n";
  CHECK(events >= 4 * transactions);  // GTID, table, rows, end
  return s;
}

// Seconds until `rows` have come and been thrown away, from what is in the binlog already.
double measure(const char* what, const std::string& table, const std::string& position, size_t rows) {
  Harness h(server().options(table, "start: position\nstart_position: " + position));
  h.open();
  h.discover();
  const auto start = std::chrono::steady_clock::now();
  h.assign();
  size_t got = 0, bytes = 0;
  const std::clock_t cpu = std::clock();
  while (got < rows && std::chrono::steady_clock::now() - start < std::chrono::seconds(120)) {
    const size_t n = h.poll(4096);
    got += n;
    for (const auto& r : h.pull()) bytes += r.json.size();
    if (n == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  const double s = seconds_since(start);
  std::cout << what << ": " << per_second(got, s) << ", " << bytes / (got > 0 ? got : 1) << " bytes a row, "
            << static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC << " s of CPU in this process, "
            << h.counter("reconnects") << " reconnects\n";
  CHECK(got == rows);
  return s;
}

}  // namespace

TEST_CASE("rates") {
  const size_t n = rows_wanted(), small = n >= 500000 ? std::max<size_t>(n / 10, 100000) : n / 10;
  const std::string db = server().fresh_database(), big = db + ".big", many = db + ".many";
  server().sql("SET NAMES utf8mb4");
  server().sql("USE " + db);
  server().sql("CREATE TABLE " + big + kColumns);
  server().sql("CREATE TABLE " + many + kColumns);
  server().sql("FLUSH BINARY LOGS");
  const std::string first = server().position();
  if (server().mariadb()) {
    server().sql("INSERT INTO " + big + kInsert + "SELECT " + values("seq") + " FROM seq_1_to_" + std::to_string(n));
  } else {
    server().sql("SET SESSION cte_max_recursion_depth=2000000000");
    server().sql("INSERT INTO " + big + kInsert +
                 "WITH RECURSIVE q AS (SELECT 1 AS k UNION ALL SELECT k+1 FROM q WHERE k<" + std::to_string(n) +
                 ") SELECT " + values("k") + " FROM q");
  }
  server().sql("FLUSH BINARY LOGS");
  const std::string second = server().position();
  for (size_t i = 0; i < small; ++i)
    server().sql("INSERT INTO " + many + kInsert + "VALUES (" + values(std::to_string(i)) + ")");
  measure("one transaction", big, first, n);
  // Twice, in turns: the machine has others to serve, too.
  double bare = 1e9, ours = 1e9;
  for (int i = 0; i < 2; ++i) {
    bare = std::min(bare, read_bare("single-row transactions", second, small));
    ours = std::min(ours, measure("single-row transactions", many, second, small));
  }
  std::cout << "single-row transactions: " << static_cast<int>(100 * bare / ours)
            << " % of the rate at which the binlog can only be read\n";
  Harness h(server().options(big));
  const auto start = std::chrono::steady_clock::now();
  begin(h);
  size_t got = 0;
  poll_until(h, "the snapshot", [&] {
    got += h.pull().size();
    return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END;
  });
  got += h.pull().size();
  std::cout << "snapshot: " << per_second(got, seconds_since(start)) << "\n";
  CHECK(got == n);
}
