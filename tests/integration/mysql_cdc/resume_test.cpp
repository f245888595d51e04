// Nothing is lost, doubled or altered, whatever is cut off: the connection, the server, the job. CDC_ROWS sets the
// size.
#include <signal.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mysql_cdc/mysql_cdc_source.h"
#include "test_server.h"

using namespace sluice_mysql;
using namespace sluice_mysql::testing;
using Harness = sluice::testing::Harness<MysqlCdcSource>;
using Clock = std::chrono::steady_clock;

namespace {

size_t size_from_environment(size_t otherwise) {
  const char* text = std::getenv("CDC_ROWS");
  return text != nullptr ? std::stoul(text) : otherwise;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// A table with the rows 1..n, written in one transaction.
void fill(const std::string& table, size_t n) {
  const std::string count = std::to_string(n);
  server().sql("CREATE TABLE " + table + " (id INT PRIMARY KEY, bal BIGINT, v INT, s VARCHAR(200))");
  if (server().mariadb()) {
    server().sql("USE " + table.substr(0, table.find('.')));
    server().sql("INSERT INTO " + table + " SELECT seq, 1000, 0, CONCAT('row ', seq) FROM seq_1_to_" + count);
    return;
  }
  server().sql("SET SESSION cte_max_recursion_depth=2000000000");
  server().sql("INSERT INTO " + table + " WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT n+1 FROM q WHERE n<" +
               count + ") SELECT n, 1000, 0, CONCAT('row ', n) FROM q");
}

int64_t id_in(const std::string& json) {
  const size_t at = json.find("\"after\":{\"id\":");
  return at == std::string::npos ? -1 : std::stoll(json.substr(at + 14));
}

// Moves money between accounts, adds and removes some, rolls back now and then; until told to stop.
class Writer {
 public:
  Writer(std::string table, size_t accounts, unsigned seed)
      : thread_([this, table = std::move(table), accounts, seed] { run(table, accounts, seed); }) {}
  ~Writer() { stop(); }
  size_t stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return statements_;
  }

 private:
  void run(const std::string& t, size_t accounts, unsigned seed) {
    Session s(server().host(), server().port());
    std::mt19937 random(seed);
    size_t next = accounts + 1000000 * (seed + 1), first = next;
    while (!stop_) {
      auto a = random() % accounts + 1, b = random() % accounts + 1;
      if (a > b) std::swap(a, b);
      const auto kind = random() % 100;
      if (kind < 80) {
        s.sql("BEGIN");
        s.sql("UPDATE " + t + " SET bal=bal-7, v=v+1 WHERE id=" + std::to_string(a));
        s.sql("UPDATE " + t + " SET bal=bal+7, v=v+1 WHERE id=" + std::to_string(b));
        s.sql("COMMIT");
      } else if (kind < 90) {
        s.sql("INSERT INTO " + t + " VALUES (" + std::to_string(next++) + ",0,0,'new')");
      } else if (kind < 95 && first < next) {
        s.sql("DELETE FROM " + t + " WHERE id=" + std::to_string(first++));
      } else {
        s.sql("BEGIN");
        s.sql("UPDATE " + t + " SET bal=bal-1 WHERE id=" + std::to_string(a));
        s.sql("ROLLBACK");
      }
      ++statements_;
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<size_t> statements_{0};
  std::thread thread_;
};

int64_t balance_of(const std::vector<sluice::testing::OutRow>& rows, const std::string& op) {
  int64_t sum = 0;
  for (const auto& r : rows) {
    if (r.json.find("\"op\":\"" + op + "\"") == std::string::npos) continue;
    sum += std::stoll(r.json.substr(r.json.find("\"bal\":", r.json.find("\"after\":")) + 6));
  }
  return sum;
}

}  // namespace

TEST_CASE("a snapshot under load is of one moment, and the changes behind it fit", "[million]") {
  const size_t accounts = size_from_environment(20000);
  for (const char* lock : {"auto", "tables", "global"}) {
    const std::string t = server().fresh_database() + ".acc";
    fill(t, accounts);
    Writer w0(t, accounts, 0), w1(t, accounts, 1), w2(t, accounts, 2);
    Harness h(server().options(t, std::string("snapshot_lock: ") + lock));
    begin(h);
    Replica replica;
    const auto start = Clock::now();
    poll_until(
        h, "the snapshot", [&] { return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END; }, 300);
    auto rows = h.pull();
    std::cout << lock << ": snapshot of " << rows.size() << " rows in " << seconds_since(start) << " s\n";
    CHECK(balance_of(rows, "r") == static_cast<int64_t>(accounts) * 1000);  // money in flight would be missing
    replica.apply(rows);
    const auto until = Clock::now() + std::chrono::milliseconds(accounts > 100000 ? 20000 : 1000);
    while (Clock::now() < until) {
      h.poll();
      replica.apply(h.pull());
    }
    const size_t statements = w0.stop() + w1.stop() + w2.stop();
    poll_to_end(h, 300);
    replica.apply(h.pull());
    CHECK(replica.difference_to_server(t) == "");
    std::cout << lock << ": " << statements << " transactions meanwhile, "
              << h.counter("inserts") + h.counter("updates") + h.counter("deletes") << " changes\n";
    if (accounts > 100000) break;  // one is long enough
  }
}

TEST_CASE("a start among writers: the place and its GTIDs are of one moment") {
  const std::string t = server().fresh_database() + ".acc", other = t + "2";
  fill(t, 100);
  fill(other, 100);
  Writer w0(t, 100, 0), w1(other, 100, 1), w2(other, 100, 2);
  for (int i = 0; i < 20; ++i) {
    Harness h(server().options(t, i % 2 == 0 ? "start: latest" : "snapshot_lock: tables"));
    begin(h);
    if (i % 2 != 0)
      poll_until(h, "the snapshot", [&] { return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END; });
    h.checkpoint();
    const auto at = BinlogPosition::decode(*h.split("binlog").position);
    REQUIRE(at);
    if (server().mariadb() && !at->inside_transaction())
      CHECK(server().value("SELECT BINLOG_GTID_POS('" + at->file + "'," + std::to_string(at->begin) + ")") == at->gtid);
    h.crash();
    h.restore();
    h.pull();
    poll_until(h, "changes after the restart", [&] { return h.pull().size() > 0; });
    CHECK(h.counter("gaps") == 0);
  }
}

TEST_CASE("a checkpoint in the middle of a large transaction goes on with the next row") {
  const size_t n = 60000;
  const std::string t = server().fresh_database() + ".big";
  Harness h(server().options(t, "start: latest\nmax_queue: 1MiB"));
  begin(h);
  h.checkpoint();
  fill(t, n);
  server().sql("INSERT INTO " + t + " VALUES (0,0,0,'behind')");
  std::mt19937 random(7);
  std::vector<int64_t> kept;
  std::vector<std::string> places;
  int crashes = 0;
  while (kept.size() < n + 1) {
    std::vector<int64_t> since;
    const size_t wanted = 1 + random() % 9000;
    poll_until(h, "rows", [&] {
      for (const auto& r : h.pull()) since.push_back(id_in(r.json));
      return since.size() >= wanted || kept.size() + since.size() >= n + 1;
    });
    // Half of the time what came since the checkpoint is lost with the job.
    if (random() % 2 == 0) {
      h.checkpoint();
      kept.insert(kept.end(), since.begin(), since.end());
      places.push_back(h.describe_position("binlog", *h.split("binlog").position));
    }
    h.crash();
    h.restore();
    ++crashes;
  }
  bool in_order = kept.size() == n + 1;
  for (size_t i = 0; i < n && in_order; ++i) in_order = kept[i] == static_cast<int64_t>(i) + 1;
  CHECK(in_order);
  CHECK(kept.back() == 0);
  CHECK(places.at(0).find(" of the transaction at ") != std::string::npos);
  std::cout << crashes << " crashes inside one transaction of " << n << " rows; " << places.at(0) << "\n";
}

TEST_CASE("the connection is killed again and again: every change comes once", "[million]") {
  const size_t transactions = size_from_environment(8000) / 4;
  const std::string t = server().fresh_database() + ".rs";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY AUTO_INCREMENT, a INT)");
  for (const char* format : {"debezium", "maxwell"}) {
    server().sql("TRUNCATE TABLE " + t);
    Harness h(server().options(t, std::string("start: latest\nformat: ") + format));
    begin(h);
    std::atomic<bool> done{false};
    std::thread writer([&] {
      Session s(server().host(), server().port());
      for (size_t i = 0; i < transactions; ++i) {
        const std::string v = "(" + std::to_string(i) + ")";
        s.sql("BEGIN");
        s.sql("INSERT INTO " + t + "(a) VALUES " + v + "," + v + "," + v);
        s.sql("INSERT INTO " + t + "(a) VALUES " + v);
        s.sql("COMMIT");
        if (i % 997 == 0) s.sql("FLUSH BINARY LOGS");
      }
      done = true;
    });
    std::vector<std::string> got;
    int kills = 0;
    auto next_kill = Clock::now() + std::chrono::milliseconds(100);  // a short run is over soon
    const auto start = Clock::now();
    bool at_end = false;
    while (!at_end) {
      h.poll();
      for (auto& r : h.pull()) got.push_back(std::move(r.json));
      if (Clock::now() >= next_kill && !done) {
        const int killed = server().kill_dumps();  // none: it is just connecting
        kills += killed;
        next_kill = Clock::now() + std::chrono::milliseconds(killed > 0 ? 500 : 10);
      }
      at_end = done && got.size() >= transactions * 4;
      if (seconds_since(start) > 600) break;
    }
    writer.join();
    poll_to_end(h);
    for (auto& r : h.pull()) got.push_back(std::move(r.json));
    const bool maxwell = std::string(format) == "maxwell";
    REQUIRE(got.size() == transactions * 4);
    bool exact = true;
    for (size_t i = 0; i < got.size(); ++i) {
      const std::string id = "{\"id\":" + std::to_string(i + 1) + ",\"a\":" + std::to_string(i / 4) + "}";
      exact = exact && got[i].find(id) != std::string::npos;
      if (maxwell) exact = exact && (got[i].find("\"commit\":true}") != std::string::npos) == (i % 4 == 3);
      if (maxwell && i % 4 != 3)
        exact = exact && got[i].find("\"xoffset\":" + std::to_string(i % 4) + "}") != std::string::npos;
    }
    CHECK(exact);
    CHECK(kills > 0);
    std::cout << format << ": " << got.size() << " changes, " << kills << " kills, " << h.counter("reconnects")
              << " reconnects, " << seconds_since(start) << " s\n";
  }
}

TEST_CASE("a server that is killed or restarted is waited for") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  server().sql("INSERT INTO " + t + " VALUES (1)");
  poll_to_end(h);
  server().script("kill");
  poll_until(h, "a note", [&] { return h.note().find("mysql away: cannot ") == 0; });
  h.poll();
  CHECK((h.split("binlog").flags & SLUICE_SPLIT_CAUGHT_UP) == 0);
  poll_until(h, "that nobody answers", [&] {
    return h.note().find("connect to 127.0.0.1:") != std::string::npos && h.note().find("(2002)") != std::string::npos;
  });
  server().script("start");
  server().sql("INSERT INTO " + t + " VALUES (2)");
  poll_to_end(h);
  CHECK(h.note() == "");
  server().script("stop");
  server().script("start");
  server().sql("INSERT INTO " + t + " VALUES (3)");
  poll_to_end(h);
  CHECK(essences(h.pull()) ==
        std::vector<std::string>{R"(c null {"id":1})", R"(c null {"id":2})", R"(c null {"id":3})"});
  CHECK((h.split("binlog").flags & SLUICE_SPLIT_CAUGHT_UP) != 0);
}

TEST_CASE("a server that has nothing to say is waited for, one that says nothing at all is given up") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  Harness h(server().options(t, "start: latest"));
  begin(h);
  poll_to_end(h);
  // Three heartbeats of 2 s that are missing would be its end.
  const auto quiet = Clock::now();
  poll_until(h, "7 s", [&] { return h.poll(), seconds_since(quiet) > 7; });
  CHECK(h.counter("reconnects") == 0);
  CHECK(h.note() == "");
  struct Stopped {
    pid_t pid = server().pid();
    Stopped() { kill(pid, SIGSTOP); }
    ~Stopped() { kill(pid, SIGCONT); }
  };
  {
    const Stopped stopped;
    poll_until(h, "a note", [&] { return h.note().find("mysql away: cannot read the binlog: ") == 0; });
    h.poll();
    CHECK((h.split("binlog").flags & SLUICE_SPLIT_CAUGHT_UP) == 0);
    poll_until(h, "that nobody answers", [&] { return h.note().find("mysql away: cannot connect to 127.0.0.1:") == 0; });
  }
  server().sql("INSERT INTO " + t + " VALUES (1)");
  poll_to_end(h);
  CHECK(essences(h.pull()) == std::vector<std::string>{R"(c null {"id":1})"});
  CHECK(h.note() == "");
  CHECK(h.counter("reconnects") >= 2);
  CHECK(h.counter("gaps") == 0);
}

TEST_CASE("a restart does not need the server, and its snapshot stays complete") {
  const std::string t = server().fresh_database() + ".t";
  server().sql("CREATE TABLE " + t + " (id INT PRIMARY KEY)");
  Harness h(server().options(t));
  begin(h);
  poll_to_end(h);
  h.checkpoint();
  h.crash();
  server().script("stop");
  h.restore();
  CHECK((h.split("binlog").flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) != 0);
  poll_until(h, "a note", [&] { return h.note().find("(2002)") != std::string::npos; });
  // A first start does wait.
  Harness fresh(server().options(t));
  const sluice::Status s = try_begin(fresh);
  CHECK(s.code() == SLUICE_RETRY);
  CHECK(s.message().find("cannot connect to 127.0.0.1:" + std::to_string(server().port()) + ": ") == 0);
  CHECK(fresh.note() == "mysql away: " + s.message());
  server().script("start");
  server().sql("INSERT INTO " + t + " VALUES (1)");
  poll_to_end(h);
  CHECK(h.pull().size() == 1);
}

TEST_CASE("a snapshot that is cut off starts anew") {
  const size_t n = 30000;
  const std::string t = server().fresh_database() + ".t";
  fill(t, n);
  const auto end = [](Harness& h) { return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END; };
  SECTION("by a crash of the job") {
    Harness h(server().options(t, "max_queue: 64KiB"));
    begin(h);
    poll_until(h, "some rows", [&] { return h.counter("snapshot_rows") > 0 && h.poll() > 0; });
    h.checkpoint();
    CHECK(h.describe_position("binlog", *h.split("binlog").position).find("snapshot of " + t + " row ") == 0);
    CHECK((h.split("binlog").flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) == 0);
    server().sql("DELETE FROM " + t + " WHERE id<=10");
    h.crash();
    h.restore();
    poll_until(h, "the snapshot", [&] { return end(h); });
    CHECK(h.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
    size_t rows = 0, deletes = 0;
    for (const auto& r : h.pull()) ++(r.change == SLUICE_CHANGE_DELETE ? deletes : rows);
    CHECK(rows == n - 10);
    CHECK(deletes == 10);  // of rows that the attempt before may have given
  }
  SECTION("by the connection") {
    Harness h(server().options(t, "max_queue: 64KiB"));
    begin(h);
    poll_until(h, "some rows", [&] { return h.poll() > 0; });
    for (const Row& r : server().sql("SELECT ID FROM information_schema.PROCESSLIST WHERE USER='cdc'"))
      server().sql("KILL " + *r[0]);
    poll_until(h, "the snapshot", [&] { return end(h); });
    CHECK(h.markers() == std::vector<uint32_t>{SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END});
    const auto rows = h.pull();
    REQUIRE(rows.size() > n);
    Replica replica;
    replica.apply({rows.end() - static_cast<std::ptrdiff_t>(n), rows.end()});
    CHECK(replica.difference_to_server(t) == "");
  }
}

TEST_CASE("a pipeline that does not take rows costs no connection") {
  const std::string t = server().fresh_database() + ".t";
  const std::string old = server().value("SELECT @@global.net_write_timeout");
  server().sql("SET GLOBAL net_write_timeout=1");
  Harness h(server().options(t, "start: latest\nmax_queue: 64KiB"));
  begin(h);
  fill(t, 200000);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  size_t rows = 0;
  poll_until(h, "all", [&] { return (rows += h.pull().size()) >= 200000; });
  CHECK(rows == 200000);
  CHECK(h.counter("reconnects") == 0);
  server().sql("SET GLOBAL net_write_timeout=" + old);
}
