// What goes wrong on real servers: rights, refused rows, a table that changes, servers that are away.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "answer_proxy.h"
#include "test_server.h"

namespace sluice::clickhouse::testing {
namespace {

TEST_CASE("wrong password, unknown user, no rights: the job stops, and nothing shows the password") {
  const TestServer s = TestServer::utc();
  const std::string table = s.window_table();
  const auto start = [&](const std::string& more) {
    SinkHarness h(s.options(table, more));
    Status status = h.try_open();
    CHECK(status.code() == SLUICE_FATAL);
    CHECK(status.message().find("hush") == std::string::npos);
    for (const auto& line : h.log()) CHECK(line.text.find("hush") == std::string::npos);
    CHECK(h.note().find("hush") == std::string::npos);
    return status.message();
  };
  CHECK(start("user: etl, password: hush") ==
        s.url() + ": code 193: Wrong password for user etl: check `user` and `password`");
  CHECK(start("user: nobody, password: hush") ==
        s.url() + ": code 192: Unknown user nobody: check `user` and `password`");
  CHECK(start("user: stranger, password: etlpw").find("code 291") != std::string::npos);
  CHECK(start("database: nowhere") ==
        s.url() + ": code 81: Database nowhere doesn't exist: create the database, or name another one in `database`");
  CHECK(start("create: \"select 1 from nowhere\"")
            .find("`create`: " + s.url() + ": code 60: Table default.nowhere doesn't exist.") == 0);

  SinkHarness reader(s.options(table, "user: reader, password: etlpw"));
  reader.open();
  reader.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
  Status refused = checkpoint(reader);
  CHECK(refused.code() == SLUICE_FATAL);
  CHECK(refused.message().find(s.url() + ": code 164: ") == 0);
  CHECK(refused.message().find("the user may only read: give it the right to insert") != std::string::npos);
  CHECK(s.rows("select * from " + table).empty());

  const std::string home = TestServer::from_environment("CLICKHOUSE_HOME");
  clickhouse_sh("start engine-locked", home);
  SinkHarness modern("{servers: ['http://" + clickhouse_sh("address engine-locked", home) +
                     "'], table: t, user: etl, password: hush}");
  CHECK(modern.try_open().message().find("code 516: etl: Authentication failed: password is incorrect") !=
        std::string::npos);
  SinkHarness right("{servers: ['http://" + clickhouse_sh("address engine-locked", home) +
                    "'], table: t, user: etl, password: etlpw, create: 'create table if not exists t (a UInt8, ts "
                    "UInt64) engine = ReplacingMergeTree(ts) order by a'}");
  right.open();
  right.close();
  clickhouse_sh("clean engine-locked", home);
}

TEST_CASE("rows that the server alone refuses are found among the others") {
  for (const TestServer& s : both()) {
    // An expression that fails for some rows.
    const std::string table = s.table("id UInt32, bad UInt8 materialized throwIf(id % 100 = 13), ts UInt64",
                                      "ReplacingMergeTree(ts) order by id");
    SinkHarness h(s.options(table));
    h.open();
    for (int i = 0; i < 300; ++i) h.push("{\"id\":" + std::to_string(i) + ",\"ts\":1}");
    REQUIRE(checkpoint(h).is_ok());
    REQUIRE(h.rejected().size() == 3);
    CHECK(h.rejected()[0].json == R"({"id":13,"ts":1})");
    CHECK(h.rejected()[1].json == R"({"id":113,"ts":1})");
    CHECK(h.rejected()[2].json == R"({"id":213,"ts":1})");
    CHECK(h.rejected()[0].reason.find(
              "ClickHouse refuses the row: code 395: Value passed to 'throwIf' function is non") == 0);
    CHECK(s.rows("select count(), uniqExact(id), sum(id) from " + table + " final") ==
          Lines{"297\t297\t" + std::to_string(299 * 300 / 2 - 13 - 113 - 213)});

    SinkHarness blind(s.options(table, "isolate_errors: false"));
    blind.open();
    blind.push(R"({"id":1013,"ts":1})");
    const Status stopped = checkpoint(blind);
    CHECK(stopped.code() == SLUICE_FATAL);
    CHECK(stopped.message().find("(row: {\"id\":1013,\"ts\":1}); `isolate_errors: true` makes such rows bad records") !=
          std::string::npos);
  }
}

TEST_CASE("a constraint of a modern server") {
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("id UInt32, ts UInt64, constraint small check id < 10", "ReplacingMergeTree(ts) order by id");
  SinkHarness h(s.options(table));
  h.open();
  for (int i = 8; i < 12; ++i) h.push("{\"id\":" + std::to_string(i) + ",\"ts\":1}");
  REQUIRE(checkpoint(h).is_ok());
  CHECK(h.rejected().size() == 2);
  CHECK(reasons(h)[0].find("code 469: Constraint `small`") != std::string::npos);
  CHECK(s.rows("select id from " + table + " final order by id") == Lines{"8", "9"});
}

TEST_CASE("when every row is refused for the same reason it is not the rows: the job stops") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("id UInt32, bad UInt8 materialized throwIf(id < 1000), ts UInt64",
                                      "ReplacingMergeTree(ts) order by id");
    const auto push = [](SinkHarness& h, int begin, int end) {
      for (int i = begin; i < end; ++i) h.push("{\"id\":" + std::to_string(i) + ",\"ts\":1}");
    };
    SinkHarness h(s.options(table, "flush_interval: 0, stop_after_refused: 20"));
    h.open();
    // Eighteen, one that is taken, and eighteen: no more than eighteen in succession.
    push(h, 0, 18);
    push(h, 5000, 5001);
    push(h, 18, 36);
    REQUIRE(checkpoint(h).is_ok());
    CHECK(h.rejected().size() == 36);
    CHECK(s.rows("select count() from " + table) == Lines{"1"});
    push(h, 5001, 5002);
    push(h, 100, 118);
    REQUIRE(checkpoint(h).is_ok());
    push(h, 200, 218);  // in another block: eighteen and two are enough
    const Status stopped = checkpoint(h);
    CHECK(stopped.code() == SLUICE_FATAL);
    CHECK(h.rejected().size() == 36 + 18 + 2);
    CHECK(stopped.message().find(s.url() + " refused 20 rows in succession with code 395 and took none, so it is "
                                           "hardly the rows. The next one: code 395: ") == 0);
    CHECK(stopped.message().find("see what default." + table + " demands of its rows") != std::string::npos);
    CHECK(stopped.message().find("`stop_after_refused: 0`") != std::string::npos);
    CHECK(h.try_close().code() == SLUICE_FATAL);
    CHECK(h.rejected().size() == 36 + 18 + 2);

    SinkHarness all(s.options(table, "stop_after_refused: 0"));
    all.open();
    push(all, 0, 110);
    REQUIRE(checkpoint(all, std::chrono::seconds(120)).is_ok());
    CHECK(all.rejected().size() == 110);
    CHECK(SinkHarness(s.options(table, "stop_after_refused: -1")).try_open().message() ==
          "`stop_after_refused` must not be negative");
  }
}

TEST_CASE("a right on one column that is missing: no row is to blame") {
  const TestServer s = TestServer::engine();
  AnswerProxy proxy(s.url());
  const std::string table = s.window_table();
  SinkHarness h(options_of({proxy.url()}, table));
  h.open();
  proxy.refuse_all(http_answer("403 Forbidden",
                               "Code: 497. DB::Exception: etl: Not enough privileges. To execute this query, it's "
                               "necessary to have the grant INSERT(stt, edt, cart_add_uu_ct, ts) ON default.t. "
                               "(ACCESS_DENIED)\n"));
  for (int i = 0; i < 18; ++i) h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", i, i));
  const Status stopped = checkpoint(h);
  CHECK(stopped.code() == SLUICE_FATAL);
  CHECK(stopped.message().find("grant the user INSERT on the table") != std::string::npos);
  CHECK(h.rejected().empty());
  CHECK(proxy.inserts().size() == 1);
}

TEST_CASE("an exception that nobody knows: tried again, and when it stays, the server's text is the end") {
  const TestServer s = TestServer::engine();
  AnswerProxy proxy(s.url());
  const std::string table = s.window_table();
  TargetRules rules;
  rules.servers = {proxy.url()};
  rules.database = "default";
  rules.table = table;
  rules.unknown_error_patience = std::chrono::seconds(1);
  HttpRules http;
  http.connect_timeout = http.request_timeout = std::chrono::seconds(10);
  HttpClient client(http, [](std::chrono::milliseconds) { return false; });
  std::shared_ptr<const ServerInfo> info;
  REQUIRE(read_server(rules, 0, client, &info).is_ok());
  BlockSender sender(rules, http, std::chrono::milliseconds(0),
                     {[](const std::string&) {}, [](const char*, int64_t) {}, [](const std::string&) {}});
  sender.start(0, info);
  const std::string unknown =
      http_answer("500 Internal Server Error", "Code: 12345. DB::Exception: Something new. (NEW)\n");
  const auto send = [&] {
    std::unique_lock lock(sender.mutex());
    auto block = std::make_unique<Block>();
    block->layout = info->layout;
    block->columns = {0, 1, 2, 3};
    block->add(std::string(24, '\x01'), "{}", 0, 0);
    sender.open().push_back(std::move(block));
    sender.seal_all();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!sender.parked() && !sender.is_empty() && std::chrono::steady_clock::now() < end)
      sender.wait(lock, std::chrono::milliseconds(20));
  };
  for (int i = 0; i < 4; ++i) proxy.refuse_next(unknown);
  send();
  CHECK_FALSE(sender.parked());
  CHECK(proxy.inserts().size() == 5);
  proxy.refuse_all(unknown);
  send();
  REQUIRE(sender.parked());
  CHECK(sender.parked()->what == ErrorClass::kFatal);
  CHECK(sender.parked()->text.find("code 12345: Something new. (NEW): so said the server 5 times in 1 s.") == 0);
  CHECK(s.rows("select count() from " + table) == Lines{"1"});
}

TEST_CASE("a column that is added while the job runs") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("id UInt32, ts UInt64", "ReplacingMergeTree(ts) order by id");
    SinkHarness h(s.options(table));
    h.open();
    h.push(R"({"id":1,"ts":1})");
    s.run("alter table " + table + " add column v String");
    h.push(R"({"id":2,"ts":1,"v":"new"})");
    h.push(R"({"id":3,"ts":1})");
    REQUIRE(checkpoint(h).is_ok());
    CHECK(reasons(h).empty());
    CHECK(s.rows("select id, v from " + table + " final order by id") == Lines{"1\t", "2\tnew", "3\t"});
  }
}

TEST_CASE("a column that is added after its first row was refused") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("id UInt32, ts UInt64", "ReplacingMergeTree(ts) order by id");
    SinkHarness h(s.options(table));
    h.open();
    h.push(R"({"id":1,"ts":1,"v":"early"})");
    s.run("alter table " + table + " add column v String");
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    h.push(R"({"id":2,"ts":1,"v":"late"})");
    REQUIRE(checkpoint(h).is_ok());
    CHECK(reasons(h) == Lines{"the table default." + table + " has no column \"v\""});
    CHECK(s.rows("select id, v from " + table + " final order by id") == Lines{"2\tlate"});
  }
}

TEST_CASE("a table that is dropped is not made again behind one's back") {
  for (const TestServer& s : both()) {
    const std::string table = fresh_name();
    SinkHarness h(s.options(table, "create: \"create table if not exists " + table +
                                       " (id UInt32, ts UInt64) engine = ReplacingMergeTree(ts) order by id\""));
    h.open();
    h.push(R"({"id":1,"ts":1})");
    REQUIRE(checkpoint(h).is_ok());
    s.run("drop table " + table);
    h.push(R"({"id":1,"ts":1,"new":1})");
    h.push(R"({"id":2,"ts":1})");
    const Status gone = checkpoint(h);
    CHECK(gone.code() == SLUICE_FATAL);
    INFO(gone.message());
    const bool said = gone.message().find("create the table, or give its statement in `create`") != std::string::npos ||
                      gone.message().find(" is gone: create it again, or start the job again") != std::string::npos;
    CHECK(said);
    CHECK(s.rows("exists table " + table) == Lines{"0"});
  }
}

TEST_CASE("a column that is removed while rows for it wait") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("id UInt32, v String, ts UInt64", "ReplacingMergeTree(ts) order by id");
    SinkHarness h(s.options(table, "flush_interval: 0"));
    h.open();
    h.push(R"({"id":1,"v":"a","ts":1})");
    s.run("alter table " + table + " drop column v");
    h.push(R"({"id":2,"ts":1})");  // of other columns: the first row goes on its way
    REQUIRE(checkpoint(h).is_ok());
    REQUIRE(reasons(h) == Lines{"the table default." + table + " has no column \"v\""});
    CHECK(h.rejected()[0].json == R"({"id":1,"v":"a","ts":1})");
    CHECK(s.rows("select * from " + table + " final order by id") == Lines{"2\t1"});

    const std::string other = s.table("id UInt32, v String, ts UInt64", "ReplacingMergeTree(ts) order by id");
    SinkHarness ignore(s.options(other, "flush_interval: 0, unknown_fields: ignore"));
    ignore.open();
    ignore.push(R"({"id":1,"v":"a","ts":1})");
    s.run("alter table " + other + " drop column v");
    REQUIRE(checkpoint(ignore).is_ok());
    CHECK(s.rows("select * from " + other + " final order by id") == Lines{"1\t1"});
  }
}

TEST_CASE("a column that becomes another type while rows wait: the bytes are not taken for something else") {
  for (const TestServer& s : both()) {
    const auto changed = [&](const std::string& from, const std::string& to, const Lines& values) {
      const std::string table = s.table("id UInt32, v " + from + ", ts UInt64", "ReplacingMergeTree(ts) order by id");
      SinkHarness h(s.options(table, "flush_interval: 0"));
      h.open();
      for (size_t i = 0; i < values.size(); ++i)
        h.push("{\"id\":" + std::to_string(i) + ",\"v\":" + values[i] + ",\"ts\":1}");
      s.run("alter table " + table + " modify column v " + to);
      REQUIRE(checkpoint(h).is_ok());
      Lines out = s.rows("select v from " + table + " final order by id");
      for (const auto& r : reasons(h)) out.push_back(r);
      return out;
    };
    // The same width: UInt64 bytes would be a nonsense Float64.
    CHECK(changed("UInt64", "Float64", {"5", "7"}) == Lines{"5", "7"});
    CHECK(changed("UInt64", "UInt8", {"5", "300"}) == Lines{"5", "column \"v\": 300 is outside the range of UInt8"});
    CHECK(changed("UInt32", "String", {"5"}) == Lines{"5"});
    // Of this one 18.16 would die, if the bytes came as a block of columns.
    CHECK(changed("UInt64", "Nullable(UInt64)", {"5"}) == Lines{"5"});
    CHECK(changed("DateTime", "UInt32", {"1714557600"}) == Lines{"1714557600"});
  }
}

TEST_CASE("a table that is dropped stops the job") {
  for (const TestServer& s : both()) {
    const std::string table = s.window_table();
    SinkHarness h(s.options(table));
    h.open();
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
    REQUIRE(checkpoint(h).is_ok());
    s.run("drop table " + table);
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 6, 2));
    const Status gone = checkpoint(h);
    CHECK(gone.code() == SLUICE_FATAL);
    const bool said = gone.message().find("create the table, or give its statement in `create`") != std::string::npos ||
                      gone.message().find("is not there") != std::string::npos;
    CHECK(said);
  }
}

TEST_CASE("too many parts: the sink waits, and loses nothing") {
  const TestServer s = TestServer::utc();
  const std::string table =
      s.table("id UInt32, ts UInt64",
              "ReplacingMergeTree(ts) order by id settings parts_to_delay_insert = 3, parts_to_throw_insert = 5");
  s.run("system stop merges");
  SinkHarness h(s.options(table, "batch_rows: 1, flush_interval: 0"));
  h.open();
  for (int i = 0; i < 8; ++i) {
    Status st = h.try_push("{\"id\":" + std::to_string(i) + ",\"ts\":1}");
    REQUIRE(st.is_ok());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Status waits;
  while (h.note().find("Too many parts") == std::string::npos && std::chrono::steady_clock::now() < end)
    waits = h.try_checkpoint_uncommitted();
  CHECK(waits.code() == SLUICE_RETRY);
  CHECK(waits.message().find("waiting for ClickHouse: " + s.url() + ": code 252: Too many parts (") == 0);
  CHECK(h.counter("retries") > 0);
  s.run("system start merges");
  s.run("optimize table " + table);
  REQUIRE(checkpoint(h, std::chrono::seconds(60)).is_ok());
  CHECK(h.note().empty());
  CHECK(s.rows("select count(), uniqExact(id) from " + table + " final") == Lines{"8\t8"});
}

TEST_CASE("the first server of the list is away") {
  for (const TestServer& s : both()) {
    const std::string table = s.window_table();
    SinkHarness h(options_of({"http://127.0.0.1:1", s.url()}, table));
    h.open();
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
    REQUIRE(checkpoint(h).is_ok());
    CHECK(s.rows("select cart_add_uu_ct from " + table + " final") == Lines{"5"});
  }
  SinkHarness none("{servers: ['http://127.0.0.1:1'], table: t}");
  const Status away = none.try_open();
  CHECK(away.code() == SLUICE_RETRY);
  CHECK(away.message().find("http://127.0.0.1:1: Failed to connect to 127.0.0.1 port 1") == 0);
  CHECK(none.note().find("ClickHouse: http://127.0.0.1:1: Failed to connect") == 0);
}

TEST_CASE("servers that hold different tables: rows that replace each other would be on both") {
  const TestServer one = TestServer::utc(), two = TestServer::shanghai();
  const std::string table = fresh_name();
  for (const TestServer& s : {one, two})
    s.run("create table " + table + " (" + kWindowColumns + ") engine = " + kWindowEngine);
  const std::string refused = "`servers`: default." + table + " is one table on " + one.url() + " (ReplacingMergeTree ";
  CHECK(SinkHarness(options_of({one.url(), two.url()}, table)).try_open().message().find(refused) == 0);
  const std::vector<sluice::testing::FoundProblem> problems =
      SinkHarness(options_of({one.url(), two.url()}, table)).find_problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].option == "servers");
  CHECK(problems[0].text.find(refused) == 0);
  CHECK(problems[0].text.find("Give servers with replicas of one table (Replicated…MergeTree with one path), or one "
                              "server; `delivery: at_least_once` takes them as they are") != std::string::npos);

  // That takes them, and says so.
  SinkHarness spread(options_of({one.url(), two.url()}, table, "delivery: at_least_once"));
  spread.open();
  bool said = false;
  for (const auto& line : spread.log()) said = said || line.text.find(refused) != std::string::npos;
  CHECK(said);
  CHECK(SinkHarness(options_of({one.url(), two.url()}, table, "delivery: at_least_once")).find_problems().empty());

  // Two ways to one server are one table.
  AnswerProxy proxy(one.url());
  SinkHarness(options_of({one.url(), proxy.url()}, table)).open();
  CHECK(SinkHarness(options_of({one.url(), proxy.url()}, table)).find_problems().empty());
}

TEST_CASE("a server that was away at the start is looked at before a row goes there") {
  const TestServer next = TestServer::shanghai();
  const std::string home = TestServer::from_environment("CLICKHOUSE_HOME") + "/mortal";
  clickhouse_sh("start --fresh utc", home);
  const TestServer mortal(clickhouse_sh("address utc", home));
  const std::string table = fresh_name();
  for (const TestServer& s : {mortal, next})
    s.run("create table " + table + " (" + kWindowColumns + ") engine = " + kWindowEngine);
  AnswerProxy proxy(next.url());
  SinkHarness h(options_of({mortal.url(), proxy.url()}, table, "flush_interval: 0"));
  proxy.close_at_once(true);
  h.open();
  h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
  REQUIRE(checkpoint(h).is_ok());
  proxy.close_at_once(false);
  h.push(window_row("2024-05-01 10:00:10", "2024-05-01 10:00:20", 6, 2));
  clickhouse_sh("clean utc", home);
  const Status stopped = checkpoint(h);
  CHECK(stopped.code() == SLUICE_FATAL);
  CHECK(stopped.message().find("`servers`: default." + table + " is one table on " + mortal.url()) !=
        std::string::npos);
  CHECK(next.rows("select count() from " + table) == Lines{"0"});
}

TEST_CASE("a server dies, the next one takes over, and its zone is another") {
  const TestServer next = TestServer::shanghai();
  const std::string home = TestServer::from_environment("CLICKHOUSE_HOME") + "/mortal";
  clickhouse_sh("start --fresh utc", home);
  const TestServer mortal(clickhouse_sh("address utc", home));
  const std::string table = fresh_name();
  const std::string create =
      "create table if not exists " + table + " (" + kWindowColumns + ") engine = " + kWindowEngine;
  SinkHarness h(options_of({mortal.url(), next.url()}, table,
                           "delivery: at_least_once, flush_interval: 0, create: \"" + create + "\""));
  h.open();
  h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
  REQUIRE(checkpoint(h).is_ok());
  CHECK(mortal.rows("select stt, cart_add_uu_ct from " + table + " final") == Lines{"2024-05-01 10:00:00\t5"});
  h.push(window_row("2024-05-01 10:00:10", "2024-05-01 10:00:20", 6, 2));
  clickhouse_sh("clean utc", home);
  REQUIRE(checkpoint(h).is_ok());
  CHECK(h.counter("retries") == 1);
  CHECK(next.rows("select stt, edt, cart_add_uu_ct from " + table + " final") ==
        Lines{"2024-05-01 10:00:10\t2024-05-01 10:00:20\t6"});
}

TEST_CASE("something that is no ClickHouse") {
  // The port of clickhouse-client answers HTTP with a hint.
  std::ifstream ports(TestServer::from_environment("CLICKHOUSE_HOME") + "/utc/ports");
  std::string http, native;
  ports >> http >> native;
  SinkHarness h("{servers: ['http://127.0.0.1:" + native + "'], table: t}");
  const Status st = h.try_open();
  CHECK(st.code() == SLUICE_FATAL);
  CHECK(st.message().find("http://127.0.0.1:" + native + ": HTTP status 400: Port " + native +
                          " is for clickhouse-client program") == 0);
}

TEST_CASE("a connection that the server has closed meanwhile is no failure") {
  const TestServer s = TestServer::utc();
  const std::string table = s.window_table();
  SinkHarness h(s.options(table));
  h.open();
  for (int i = 0; i < 2; ++i) {
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", i, i));
    REQUIRE(checkpoint(h).is_ok());
    if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3600));  // its keep_alive_timeout is 3 s
  }
  CHECK(h.counter("retries") == 0);
  CHECK(s.rows("select cart_add_uu_ct from " + table + " final") == Lines{"1"});
}

TEST_CASE("two blocks of equal rows are two blocks, also where the server remembers inserts") {
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("id UInt32", "MergeTree order by id settings non_replicated_deduplication_window = 100");
  SinkHarness h(s.options(table, "delivery: at_least_once"));
  h.open();
  for (int i = 0; i < 3; ++i) {
    h.push(R"({"id":1})");
    REQUIRE(checkpoint(h).is_ok());
  }
  CHECK(s.rows("select count() from " + table) == Lines{"3"});
}

}  // namespace
}  // namespace sluice::clickhouse::testing
