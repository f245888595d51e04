// What goes over the wire, and answers that are lost or not what they seem.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "answer_proxy.h"
#include "test_server.h"

namespace sluice::clickhouse::testing {
namespace {

TEST_CASE("a lost answer: the same bytes again, and the row is there once") {
  for (const TestServer& s : both()) {
    AnswerProxy proxy(s.url());
    const std::string table = s.window_table();
    SinkHarness h(options_of({proxy.url()}, table));
    h.open();
    proxy.lose_next_answer();
    for (int i = 0; i < 3; ++i)
      h.push(window_row("2024-05-01 10:00:0" + std::to_string(i), "2024-05-01 10:00:10", 5, i));
    REQUIRE(checkpoint(h).is_ok());
    const auto inserts = proxy.inserts();
    REQUIRE(inserts.size() == 2);
    CHECK(inserts[0].body == inserts[1].body);
    CHECK(inserts[0].head == inserts[1].head);
    CHECK(h.counter("retries") == 1);
    CHECK(s.rows("select stt, cart_add_uu_ct from " + table + " final order by stt") ==
          Lines{"2024-05-01 10:00:00\t5", "2024-05-01 10:00:01\t5", "2024-05-01 10:00:02\t5"});
  }
}

TEST_CASE("what waits is forgotten at once, although an insert gets no answer") {
  AnswerProxy proxy("http://127.0.0.1:1");
  TargetRules rules;
  rules.servers = {proxy.url()};
  rules.database = "default";
  rules.table = "t";
  HttpRules http;
  http.connect_timeout = http.request_timeout = std::chrono::seconds(60);
  auto info = std::make_shared<ServerInfo>();
  REQUIRE(
      read_layout("id\tUInt32\t\n", "MergeTree\tMergeTree ORDER BY id\t\tid\n", "UTC", 0, "default.t", &info->layout)
          .is_ok());
  info->checks_types = true;
  BlockSender sender(rules, http, std::chrono::milliseconds(0),
                     {[](const std::string&) {}, [](const char*, int64_t) {}, [](const std::string&) {}});
  sender.start(0, info);
  const auto add = [&](const char* token) {
    auto block = std::make_unique<Block>();
    block->layout = info->layout;
    block->columns = {0};
    block->token = token;
    block->add(std::string(4, '\x01'), "{}", 0, 0);
    sender.open().push_back(std::move(block));
  };
  const auto wait_for_inserts = [&](size_t n) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (proxy.inserts().size() < n && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(proxy.inserts().size() == n);
  };
  for (size_t round = 1; round <= 2; ++round) {
    proxy.hold_next();
    {
      std::unique_lock lock(sender.mutex());
      add("first");
      add("second");
      sender.seal_all();
    }
    wait_for_inserts(round);  // after a round the sender works as before
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(sender.mutex());
    sender.discard(lock);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
    CHECK(sender.is_empty());
    CHECK(sender.trouble().empty());
  }
}

TEST_CASE("a lost answer is no second row where the server remembers inserts") {
  const TestServer s = TestServer::engine();
  AnswerProxy proxy(s.url());
  const std::string table =
      s.table("id UInt32", "MergeTree order by id settings non_replicated_deduplication_window = 100");
  SinkHarness once(options_of({proxy.url()}, table, "delivery: exactly_once"));
  once.set_id(table);
  once.open();
  once.push(R"({"id":1})");
  once.checkpoint_uncommitted();
  proxy.lose_next_answer();
  once.commit();
  SinkHarness at_least(options_of({proxy.url()}, table, "delivery: at_least_once"));
  at_least.open();
  at_least.push(R"({"id":2})");
  proxy.lose_next_answer();
  REQUIRE(checkpoint(at_least).is_ok());
  CHECK(proxy.inserts().size() >= 4);
  CHECK(s.rows("select id from " + table + " order by id") == Lines{"1", "2"});
}

TEST_CASE("answers that look well, or come from something in between") {
  for (const TestServer& s : both()) {
    AnswerProxy proxy(s.url());
    const std::string table = s.window_table();
    SinkHarness h(options_of({proxy.url()}, table));
    h.open();
    const std::string code =
        "Code: 241, e.displayText() = DB::Exception: Memory limit exceeded, e.what() = DB::Exception\n";
    proxy.refuse_next("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(code.size()) +
                      "\r\nConnection: close\r\n\r\n" + code);
    proxy.refuse_next("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nwell?");
    proxy.refuse_next("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 12\r\nConnection: close\r\n\r\n<html></html>");
    proxy.refuse_next(
        "HTTP/1.1 200 OK\r\nX-ClickHouse-Exception-Code: 241\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    proxy.refuse_next("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf");
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
    REQUIRE(checkpoint(h).is_ok());
    CHECK(h.counter("retries") == 5);
    CHECK(proxy.inserts().size() == 6);
    CHECK(s.rows("select cart_add_uu_ct from " + table + " final") == Lines{"5"});
  }
}

TEST_CASE("inserts that are too large for a gateway: smaller ones, and a row that is too large alone is refused") {
  for (const TestServer& s : both()) {
    AnswerProxy proxy(s.url());
    const std::string table = s.table("id UInt32, v String, ts UInt64", "ReplacingMergeTree(ts) order by id");
    SinkHarness h(options_of({proxy.url()}, table, "flush_interval: 0"));
    h.open();
    proxy.limit(20000);
    const auto row = [](int id, size_t size) {
      return "{\"id\":" + std::to_string(id) + ",\"v\":\"" + std::string(size, 'x') + "\",\"ts\":1}";
    };
    for (int id = 0; id < 100; ++id) h.push(row(id, id == 42 ? 30000 : 1000));
    REQUIRE(checkpoint(h).is_ok());
    REQUIRE(h.rejected().size() == 1);
    CHECK(h.rejected()[0].json == row(42, 30000));
    CHECK(h.rejected()[0].reason == proxy.url() +
                                        ": HTTP status 413 from a gateway, which takes no request of this size: raise "
                                        "its limit (of nginx: client_max_body_size)");
    CHECK(s.rows("select count(), uniqExact(id) from " + table) == Lines{"99\t99"});
    CHECK(h.counter("retries") == 0);
  }
}

TEST_CASE("exactly once, an insert that is too large for a gateway stops the job, and comes when it is let through") {
  const TestServer s = TestServer::engine();
  AnswerProxy proxy(s.url());
  const std::string table =
      s.table("n UInt32, v String", "MergeTree order by n settings non_replicated_deduplication_window = 100");
  OnceSink h(s, table, "", proxy.url());
  h.open();
  for (int n = 0; n < 100; ++n) h.push("{\"n\":" + std::to_string(n) + ",\"v\":\"" + std::string(1000, 'x') + "\"}");
  h.checkpoint_uncommitted();
  proxy.limit(20000);
  const Status stopped = h.try_commit();
  CHECK(stopped.code() == SLUICE_FATAL);
  CHECK(stopped.message() == proxy.url() +
                                 ": HTTP status 413 from a gateway, which takes no request of this size: raise its "
                                 "limit (of nginx: client_max_body_size), or set `compression: gzip`, and start the "
                                 "job again. Inserts of a checkpoint stay as they are (`delivery: exactly_once`); a "
                                 "smaller `batch_rows` is for the checkpoints after it");
  CHECK(h.rejected().empty());
  proxy.limit(SIZE_MAX);
  h.crash();
  h.restore();
  check_once(s, table, 100);
}

TEST_CASE("a proxy of the environment gets nothing to see") {
  const TestServer s = TestServer::engine();
  AnswerProxy proxy(s.url());
  const std::string table = s.window_table();
  unsetenv("no_proxy");
  unsetenv("NO_PROXY");
  setenv("http_proxy", proxy.url().c_str(), 1);
  SinkHarness h(s.options(table, "user: etl, password: etlpw"));
  h.open();
  h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
  CHECK(checkpoint(h).is_ok());
  unsetenv("http_proxy");
  CHECK(proxy.all().empty());
  CHECK(s.rows("select cart_add_uu_ct from " + table) == Lines{"5"});
}

TEST_CASE("what is sent: no password in an address, no wait for a go-ahead, only settings that the server lists") {
  for (const TestServer& s : {TestServer::utc(), TestServer::engine()}) {
    AnswerProxy proxy(s.url());
    const std::string table = s.window_table();
    SinkHarness h(options_of({proxy.url()}, table, "flush_interval: 0, user: etl, password: etlpw"));
    h.open();
    for (int i = 0; i < 2000; ++i) h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", i, i));
    REQUIRE(checkpoint(h).is_ok());
    const bool old = s.url() == TestServer::utc().url();
    for (const SeenRequest& r : proxy.all()) {
      CHECK(r.head.substr(0, r.head.find("\r\n")).find("etlpw") == std::string::npos);
      CHECK(r.head.find("X-ClickHouse-Key: etlpw\r\n") != std::string::npos);
      CHECK(r.head.find("Expect") == std::string::npos);
      CHECK(r.body.find("etlpw") == std::string::npos);
    }
    REQUIRE(proxy.inserts().size() == 1);
    const std::string head = proxy.inserts()[0].head;
    CHECK((head.find("async_insert=0") == std::string::npos) == old);
    CHECK((head.find("insert_deduplication_token=") == std::string::npos) == old);
    CHECK((head.find("RowBinaryWithNamesAndTypes") == std::string::npos) == old);
    CHECK(head.find("max_insert_block_size=1048576") != std::string::npos);
    CHECK(proxy.inserts()[0].body.size() == 2000 * 24 + (old ? 0u : 59u));
  }
}

}  // namespace
}  // namespace sluice::clickhouse::testing
