// phoenix.sink while HBase and the Query Servers are killed and started again.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "phoenix_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;
using sluice::testing::InputRow;

namespace {

std::vector<InputRow> numbered(int from, int to, const std::string& value) {
  std::vector<InputRow> rows;
  for (int i = from; i < to; ++i) rows.push_back({trademark(std::to_string(i), value), {}});
  return rows;
}
std::string rows_of(const Schema& s) {
  const Rows r = query("select count(*), min(tm_name), max(tm_name) from " + s.table("dim_base_trademark"));
  return r.at(0);
}
// Until it works, with the pauses that the sink asks for; gives the last message before.
std::string outlast(Sink& h, std::chrono::seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  std::string last;
  for (;;) {
    const sluice::Status s = h.try_retry();
    if (s.is_ok()) return last;
    if (s.code() != SLUICE_RETRY || std::chrono::steady_clock::now() > end) throw std::runtime_error(s.message());
    last = s.message();
    std::this_thread::sleep_for(std::chrono::milliseconds(s.retry_after_ms()));
  }
}

}  // namespace

TEST_CASE("the Query Server is killed and comes back", "[outage]") {
  for (const char* mode : {"write_time: connection", "write_time: server"}) {
    INFO(mode);
    Schema s;
    Sink h(s.options("timeout: 10s, " + std::string(mode)));
    h.open();
    h.push_schema(trademark_schema());
    push_through(h, numbered(0, 100, "a"));
    phoenix_sh("kill pqs");
    CHECK(h.try_push_batch(numbered(0, 200, "b")).code() == SLUICE_RETRY);
    const sluice::Status away = h.try_retry();
    CHECK(away.code() == SLUICE_RETRY);
    CHECK_THAT(away.message(), Contains("Phoenix away: http://" + server() + ": Failed to connect"));
    CHECK_THAT(h.note(), Contains("Phoenix away"));
    phoenix_sh("start");
    outlast(h, std::chrono::seconds(60));
    CHECK(h.note().empty());
    CHECK(rows_of(s) == "200|b|b");
    CHECK(h.counter("reconnects") == 1);
  }
}

// A connection for rows is used for five seconds at most: this server forgets sooner.
TEST_CASE("a connection for rows that the server has forgotten: they are written all the same", "[outage]") {
  SecondServer second("avatica.connectioncache.expiryduration=2 avatica.statementcache.expiryduration=60");
  for (const char* mode : {"write_time: connection", "write_time: server"}) {
    INFO(mode);
    Schema s;
    Sink h(s.options(mode, second.address()));
    h.open();
    h.push_schema(trademark_schema());
    push_through(h, numbered(0, 10, "a"));
    std::this_thread::sleep_for(std::chrono::milliseconds(3000));
    push_through(h, numbered(0, 20, "b"));
    CHECK(h.counter("rows_again") >= 20);
    CHECK(h.counter("reconnects") >= 1);
    CHECK(h.rejected().empty());
    CHECK(rows_of(s) == "20|b|b");
  }
}

TEST_CASE("HBase is killed while rows come: commits hang, are given up, and what they bring late does no harm",
          "[outage]") {
  Schema s;
  Sink h(s.options("timeout: 3s"));
  h.open();
  h.push_schema(trademark_schema());
  push_through(h, numbered(0, 100, "a"));
  phoenix_sh("kill hbase");
  const sluice::Status hung = h.try_push_batch(numbered(0, 150, "old"));
  CHECK(hung.code() == SLUICE_RETRY);
  CHECK_THAT(hung.message(), Contains("Phoenix away: ") && Contains("timed out"));
  const sluice::Status down = h.try_retry();
  CHECK_THAT(down.message(), Contains("HBase behind it does not"));
  // The job dies here; another one writes newer rows as soon as it can, while the old commit still waits in the Query
  // Server.
  h.crash();
  std::thread back([] { phoenix_sh("start"); });
  Sink next(s.options("timeout: 3s"));
  int waits = 0;
  for (sluice::Status o = next.try_open(); !o.is_ok(); o = next.try_open()) {
    REQUIRE(o.code() == SLUICE_RETRY);
    REQUIRE(++waits < 200);
    std::this_thread::sleep_for(std::chrono::milliseconds(o.retry_after_ms()));
  }
  for (sluice::Status o = next.try_push_schema(trademark_schema()); !o.is_ok();
       o = next.try_push_schema(trademark_schema())) {
    REQUIRE(o.code() == SLUICE_RETRY);
    REQUIRE(++waits < 200);
  }
  push_through(next, numbered(0, 150, "new"), 200);
  back.join();
  for (int i = 0; i < 10; ++i) {
    CHECK(rows_of(s) == "150|new|new");
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

TEST_CASE("with a second Query Server the death of the first is no outage", "[outage]") {
  SecondServer second;
  Schema s;
  {
    Sink h("{servers: ['" + server() + "', '" + second.address() + "'], schema: " + s.name + ", timeout: 10s}");
    h.open();
    h.push_schema(trademark_schema());
    push_through(h, numbered(0, 100, "a"));
    phoenix_sh("kill pqs");
    const auto begin = std::chrono::steady_clock::now();
    CHECK(push_through(h, numbered(0, 200, "b")) <= 3);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    phoenix_sh("kill pqs2");
    phoenix_sh("start");
    push_through(h, numbered(0, 300, "c"));
  }
  CHECK(rows_of(s) == "300|c|c");
}
