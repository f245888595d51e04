// Rows, columns, blocks and options, on real servers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "answer_proxy.h"
#include "support/temp_folder.h"
#include "test_server.h"

namespace sluice::clickhouse::testing {
namespace {

std::vector<TestServer> all() { return {TestServer::utc(), TestServer::shanghai(), TestServer::engine()}; }

Lines final_rows(const TestServer& s, const std::string& table) {
  return s.rows("select stt, edt, cart_add_uu_ct, ts from " + table + " final order by stt, edt");
}

TEST_CASE("windows of the course, written twice with a larger version") {
  for (const TestServer& s : all()) {
    const std::string table = fresh_name();
    const std::string create =
        "create table if not exists " + table + " (" + kWindowColumns + ") engine = " + kWindowEngine;
    SinkHarness h(s.options(table, "create: \"" + create + "\""));
    h.open();
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 100));
    h.push(window_row("2024-05-02 00:00:00", "2024-05-02 00:00:10", 1, 101));
    h.checkpoint();
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 6, 200));
    h.checkpoint();
    // What comes again after a crash is older than what is there.
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 100));
    h.checkpoint();
    CHECK(final_rows(s, table) == Lines{"2024-05-01 10:00:00\t2024-05-01 10:00:10\t6\t200",
                                        "2024-05-02 00:00:00\t2024-05-02 00:00:10\t1\t101"});
    CHECK(h.needs().delivery == SLUICE_DELIVERY_UPSERT);
    h.close();
  }
}

TEST_CASE("the table that is there may have other columns than `create` says") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("stt DateTime, ts UInt64", "ReplacingMergeTree(ts) order by stt");
    SinkHarness h(s.options(table, "create: \"create table if not exists " + table + " (" + kWindowColumns +
                                       ") engine = " + kWindowEngine + "\""));
    h.open();
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 100));
    h.checkpoint();
    CHECK(reasons(h) == Lines{"the table default." + table + " has no column \"edt\""});
  }
}

TEST_CASE("members that are no columns") {
  for (const TestServer& s : both()) {
    const std::string table =
        s.table("id UInt32, m UInt32 materialized id + 1, ts UInt64", "ReplacingMergeTree(ts) order by id");
    SinkHarness reject(s.options(table));
    reject.open();
    reject.push(R"({"id":1,"ts":1,"x":{"y":[1,"}"]}})");
    reject.push(R"({"id":2,"ts":1,"m":7})");
    reject.push(R"({"id":3,"ts":1})");
    reject.checkpoint();
    CHECK(reasons(reject) == Lines{"the table default." + table + " has no column \"x\"",
                                   "column \"m\" is computed by the table default." + table + " itself"});
    SinkHarness ignore(s.options(table, "unknown_fields: ignore"));
    ignore.open();
    ignore.push(R"({"x":{"y":[1,"}"]},"id":4,"ts":1})");
    ignore.checkpoint();
    CHECK(reasons(ignore).empty());
    CHECK(s.rows("select id, m from " + table + " final order by id") == Lines{"3\t4", "4\t5"});
    SinkHarness fail(s.options(table, "unknown_fields: fail"));
    fail.open();
    CHECK(fail.try_push(R"({"id":5,"ts":1,"x":1})").message() ==
          "the table default." + table + " has no column \"x\" (`unknown_fields: fail`)");
  }
}

TEST_CASE("columns that a row lacks, and null where there is none") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("id UInt32, d UInt32 default id * 10, z UInt32, n Nullable(UInt32), ts UInt64",
                                      "ReplacingMergeTree(ts) order by id");
    SinkHarness h(s.options(table));
    h.open();
    h.push(R"({"id":1,"ts":1})");
    h.push(R"({"id":2,"ts":1,"d":5,"z":6,"n":7})");
    h.push(R"({"id":3,"ts":1,"d":null})");
    h.push(R"({"id":4,"ts":1,"n":null})");
    h.push(R"({})");
    h.checkpoint();
    CHECK(reasons(h) ==
          Lines{"column \"d\": null is not allowed in UInt32", "the row has none of the columns of default." + table});
    SinkHarness replace(s.options(table, "null_as: default"));
    replace.open();
    replace.push(R"({"id":3,"ts":1,"d":null,"z":null,"n":null})");
    replace.checkpoint();
    CHECK(reasons(replace).empty());
    SinkHarness strict(s.options(table, "missing_columns: reject"));
    strict.open();
    strict.push(R"({"id":5,"ts":1,"n":1})");
    strict.push(R"({"id":6,"ts":1,"z":1,"n":1})");
    strict.checkpoint();
    CHECK(reasons(strict) == Lines{"the row has no \"z\", a column without DEFAULT (`missing_columns: reject`)"});
    CHECK(s.rows("select id, d, z, n from " + table + " final order by id") ==
          Lines{"1\t10\t0\t\\N", "2\t5\t6\t7", "3\t30\t0\t\\N", "4\t40\t0\t\\N", "6\t60\t1\t1"});
  }
}

TEST_CASE("upsert: a row without its key or version replaces no other") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("id UInt32, day Date, k UInt32 default 7, v UInt32, ts UInt64",
                                      "ReplacingMergeTree(ts) order by (id, toYYYYMM(day), k)");
    SinkHarness h(s.options(table, "null_as: default"));
    h.open();
    h.push(R"({"id":0,"day":"2024-05-01","v":1,"ts":1})");
    h.push(R"({"day":"2024-05-01","v":2,"ts":2})");
    h.push(R"({"id":0,"v":3,"ts":3})");
    h.push(R"({"id":0,"day":"2024-05-01","v":4})");
    h.push(R"({"id":null,"day":"2024-05-01","v":5,"ts":5})");
    h.push(R"({"id":0,"day":"2024-05-01","v":6,"ts":null})");
    h.push(R"({"id":0,"day":"2024-05-01","k":null,"v":null,"ts":7})");
    h.checkpoint();
    CHECK(reasons(h) == Lines{"the row has no \"id\", by which rows replace each other",
                              "the row has no \"day\", by which rows replace each other",
                              "the row has no \"ts\", by which rows replace each other",
                              "column \"id\": null is not allowed where rows replace each other by it",
                              "column \"ts\": null is not allowed where rows replace each other by it"});
    CHECK(s.rows("select * from " + table + " final") == Lines{"0\t2024-05-01\t7\t0\t7"});
    // Where rows do not replace each other a default is as good as a value.
    SinkHarness any(s.options(table, "delivery: at_least_once"));
    any.open();
    any.push(R"({"v":8})");
    any.checkpoint();
    CHECK(reasons(any).empty());
    CHECK(s.rows("select v from " + table + " where v = 8") == Lines{"8"});
  }
}

TEST_CASE("upsert: rows of one key and one version keep their order, whatever columns they have") {
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("id UInt32, v String, w String, ts UInt64, gone UInt8", "ReplacingMergeTree(ts, gone) order by id");
  SinkHarness h(s.options(table, "on_delete: mark, flush_interval: 0"));
  h.open();
  sluice::testing::RowMeta deleted;
  deleted.change = SLUICE_CHANGE_DELETE;
  h.push(R"({"id":1,"v":"a","ts":1})");
  h.push(R"({"id":1,"ts":1})", deleted);
  h.push(R"({"id":1,"v":"b","ts":1})");
  h.push(R"({"id":2,"v":"a","ts":1})");
  h.push(R"({"id":2,"v":"b","w":"b","ts":1})");
  h.push(R"({"id":2,"v":"c","ts":1})");
  h.push(R"({"id":3,"v":"a","ts":1})");
  h.push(R"({"id":3,"ts":1})", deleted);
  h.checkpoint();
  CHECK(s.rows("select id, v, w from " + table + " final order by id") == Lines{"1\tb\t", "2\tc\t"});
}

TEST_CASE("deletes: refused, left out, marked") {
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("id UInt32, v String, ts UInt64, gone UInt8", "ReplacingMergeTree(ts, gone) order by id");
  SinkHarness h(s.options(table, "on_delete: mark"));
  h.open();
  h.push(R"({"id":1,"v":"a","ts":1})");
  h.push(R"({"id":2,"v":"b","ts":1})");
  h.checkpoint();
  CHECK(s.rows("select id, v, gone from " + table + " final order by id") == Lines{"1\ta\t0", "2\tb\t0"});
  sluice::testing::RowMeta deleted;
  deleted.change = SLUICE_CHANGE_DELETE;
  h.push(R"({"id":1,"v":"a","ts":2})", deleted);
  h.checkpoint();
  CHECK(s.rows("select id, v from " + table + " final order by id") == Lines{"2\tb"});
  for (const TestServer& other : both()) {
    const std::string plain = other.table("id UInt32, ts UInt64", "ReplacingMergeTree(ts) order by id");
    SinkHarness refuse(other.options(plain));
    refuse.open();
    refuse.push(R"({"id":1,"ts":1})", deleted);
    CHECK(reasons(refuse) == Lines{"a deleted row cannot be written; see `on_delete`"});
    SinkHarness ignore(other.options(plain, "on_delete: ignore"));
    ignore.open();
    ignore.push(R"({"id":1,"ts":1})", deleted);
    ignore.checkpoint();
    CHECK(ignore.counter("deletes_ignored") == 1);
    CHECK(other.rows("select * from " + plain).empty());
    SinkHarness mark(other.options(plain, "on_delete: mark"));
    CHECK(mark.try_open().message() == "`on_delete: mark` needs ReplacingMergeTree(version, is_deleted), and default." +
                                           plain +
                                           " is ReplacingMergeTree(ts) ORDER BY id SETTINGS index_granularity = 8192");
  }
}

TEST_CASE("upsert is refused where a row that comes again would stay") {
  for (const TestServer& s : both()) {
    const std::string plain = s.table("id UInt32", "MergeTree order by id");
    CHECK(SinkHarness(s.options(plain)).try_open().message() ==
          "`delivery: upsert` needs a ReplacingMergeTree, and default." + plain +
              " is a MergeTree: a row that is written again would be there twice. Make it engine = "
              "ReplacingMergeTree(version column), or use "
              "`delivery: at_least_once` or `exactly_once`");
    const std::string unversioned = s.table("id UInt32", "ReplacingMergeTree order by id");
    CHECK(SinkHarness(s.options(unversioned)).try_open().message() ==
          "`delivery: upsert` needs a version column: default." + unversioned +
              " is a ReplacingMergeTree without one, so after a restart an older row could win. Make it engine = "
              "ReplacingMergeTree(version column), or use `delivery: at_least_once`");
    SinkHarness any(s.options(plain, "delivery: at_least_once"));
    any.open();
    CHECK(any.needs().delivery == SLUICE_DELIVERY_AT_LEAST_ONCE);
    any.push(R"({"id":1})");
    any.checkpoint();
    CHECK(s.rows("select * from " + plain) == Lines{"1"});
  }
}

TEST_CASE("an insert stays within one partition and within batch_rows") {
  for (const TestServer& s : both()) {
    const std::string table = s.window_table();
    s.run("system stop merges");
    SinkHarness h(s.options(table, "batch_rows: 100, flush_interval: 0"));
    h.open();
    for (int i = 0; i < 300; ++i)
      h.push(window_row("2024-05-0" + std::to_string(1 + i % 2) + " 10:00:" + std::to_string(10 + i % 50),
                        "2024-05-03 00:00:00", i, i));
    h.checkpoint();
    // 150 rows of each day: 100 and 50.
    CHECK(h.counter("inserts") == 4);
    CHECK(h.counter("inserted_rows") == 300);
    CHECK(s.rows("select partition, count() from system.parts where active and table = '" + table +
                 "' group by partition order by partition") == Lines{"20240501\t2", "20240502\t2"});
    s.run("system start merges");
    h.close();
  }
}

TEST_CASE("a partition key that is not evaluated: rows go as they come, and the log says so") {
  for (const TestServer& s : both()) {
    const std::string table = s.table("id UInt32, ts UInt64", "ReplacingMergeTree(ts) partition by id % 3 order by id");
    SinkHarness h(s.options(table));
    h.open();
    for (int i = 0; i < 9; ++i) h.push("{\"id\":" + std::to_string(i) + ",\"ts\":1}");
    h.checkpoint();
    CHECK(h.counter("inserts") == 1);
    bool said = false;
    for (const auto& line : h.log())
      said = said || line.text.find("is not evaluated by this sink") != std::string::npos;
    CHECK(said);
    CHECK(s.rows("select count(), uniqExact(id) from " + table + " final") == Lines{"9\t9"});
  }
}

TEST_CASE("what a start warns of, a check warns of") {
  const auto warnings = [](const SinkHarness& h) {
    Lines out;
    for (const auto& line : h.log()) out.push_back(line.text);
    return out;
  };
  for (const TestServer& s : all()) {
    const std::string table = s.table(
        "id UInt32, stt DateTime, edt DateTime, sum AggregateFunction(sum, UInt64), zoned DateTime('UTC'), ts UInt64",
        "ReplacingMergeTree(ts) partition by id % 3 order by id");
    s.run("create materialized view " + table + "_v engine = MergeTree order by id as select id from " + table);
    SinkHarness started(s.options(table)), checked(s.options(table));
    started.open();
    CHECK(checked.find_problems().empty());
    CHECK(warnings(checked) == warnings(started));
    const std::string name = "default." + table;
    REQUIRE(warnings(checked).size() == 4);
    for (const std::string& begin :
         {name + ": the partition key id % 3 is not evaluated by this sink: ",
          name + ": column sum cannot be written by this sink (AggregateFunction(sum, UInt64)); rows must not have it",
          name + ": the type of stt, edt has no time zone: ",
          name + ": what is written again after a crash comes twice into its materialized views (default." + table +
              "_v), "}) {
      const Lines said = warnings(checked);
      INFO(begin);
      CHECK(std::any_of(said.begin(), said.end(), [&](const std::string& w) { return w.rfind(begin, 0) == 0; }));
    }
  }
  // Tables of one name that are not one table.
  const std::string table = fresh_name(),
                    create = "create table " + table + " (id UInt64) engine = MergeTree order by id";
  for (const TestServer& s : {TestServer::utc(), TestServer::shanghai()}) s.run(create);
  const std::string options =
      options_of({TestServer::utc().url(), TestServer::shanghai().url()}, table, "delivery: at_least_once");
  SinkHarness started(options), checked(options);
  started.open();
  CHECK(checked.find_problems().empty());
  CHECK(warnings(checked) == warnings(started));
  REQUIRE(warnings(checked).size() == 1);
  CHECK(warnings(checked)[0].find("so after a change of server rows are in both") != std::string::npos);
}

TEST_CASE("too many partitions for one insert: it is halved until they are few enough") {
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("id UInt32, ts UInt64", "ReplacingMergeTree(ts) partition by id % 1000 order by id");
  SinkHarness h(s.options(table, "settings: {max_partitions_per_insert_block: '20'}"));
  h.open();
  for (int i = 0; i < 70; ++i) h.push("{\"id\":" + std::to_string(i) + ",\"ts\":1}");
  h.checkpoint();
  CHECK(reasons(h).empty());
  CHECK(s.rows("select count(), uniqExact(id) from " + table + " final") == Lines{"70\t70"});
  CHECK(h.counter("inserts") == 4);
}

TEST_CASE("rows go out after flush_interval, with no checkpoint and no row behind them") {
  for (const TestServer& s : both()) {
    const std::string table = s.window_table();
    SinkHarness h(s.options(table, "flush_interval: 200ms"));
    h.open();
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
    CHECK(final_rows(s, table).empty());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (final_rows(s, table).empty() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(final_rows(s, table) == Lines{"2024-05-01 10:00:00\t2024-05-01 10:00:10\t5\t1"});
  }
}

TEST_CASE("gzip, https, an address with a path's slash") {
  const TestServer s = TestServer::utc();
  const std::string table = s.window_table();
  const std::string home = TestServer::from_environment("CLICKHOUSE_HOME");
  SinkHarness h("{servers: ['https://" + clickhouse_sh("https utc", home) + "/'], table: " + table +
                ", compression: gzip, user: etl, password: etlpw, tls_ca: '" + home + "/utc/server.pem'}");
  h.open();
  for (int i = 0; i < 1000; ++i) h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", i, i));
  h.checkpoint();
  CHECK(final_rows(s, table) == Lines{"2024-05-01 10:00:00\t2024-05-01 10:00:10\t999\t999"});
  SinkHarness trusting("{servers: ['https://" + clickhouse_sh("https utc", home) + "'], table: " + table +
                       ", tls_verify: false}");
  trusting.open();
  SinkHarness modern(TestServer::engine().options(TestServer::engine().window_table(), "compression: gzip"));
  modern.open();
  modern.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 1, 1));
  modern.checkpoint();
  CHECK(modern.counter("inserted_rows") == 1);
}

TEST_CASE("addresses and certificates that stay wrong stop the job: nothing is tried again") {
  const TestServer s = TestServer::utc();
  const std::string table = s.window_table(), home = TestServer::from_environment("CLICKHOUSE_HOME");
  const std::string https = "https://" + clickhouse_sh("https utc", home), http = s.url();
  const sluice::tests::TempFolder folder;
  const std::string no_certificates = folder.write("text.pem", "no certificates\n");
  const auto options = [&](const std::string& server, const std::string& more) {
    return "{servers: ['" + server + "'], table: " + table + more + "}";
  };
  const auto found = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  struct Wrong {
    std::string server, more, problem, advice;
  };
  const std::vector<Wrong> wrong = {
      {https, "", "certificate",
       ": name the file with the authority of the server's certificate in `tls_ca`, give the "},
      {https, ", tls_ca: '" + no_certificates + "'", no_certificates,
       ": `tls_ca` must be a file with certificates (PEM)"},
      // This server answers only when it has waited for three seconds for the rest of a request.
      {"https://" + http.substr(7), ", connect_timeout: 20s", "wrong version number",
       ": no TLS is spoken there: write http:// in `servers`, or the port for https://"}};
  for (const Wrong& w : wrong) {
    SinkHarness h(options(w.server, w.more));
    const Status status = h.try_open();
    INFO(w.server << w.more << ": " << status.message());
    CHECK(status.code() == SLUICE_FATAL);
    CHECK(status.message().find(w.server + ": ") == 0);
    found(status.message(), w.problem);
    found(status.message(), w.advice);
    SinkHarness checked(options(w.server, w.more));
    const auto problems = checked.find_problems();
    REQUIRE(problems.size() == 1);
    if (w.more.find("timeout") == std::string::npos) CHECK(problems[0].text == status.message());
  }
  const auto at_checkpoint = [&](SinkHarness& h) {
    h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 1, 1));
    const Status status = checkpoint(h);
    CHECK(status.code() == SLUICE_FATAL);
    return status.message();
  };
  // The same while rows are on their way: the second server's certificate is met when the first one is away.
  AnswerProxy proxy(s.url());
  SinkHarness h(options_of({proxy.url(), https}, table));
  h.open();
  const auto log = h.log();
  CHECK(std::any_of(log.begin(), log.end(), [&](const auto& line) {
    return line.text.find(https + ": ") == 0 &&
           line.text.find(". The job stops when it needs this server") != std::string::npos;
  }));
  proxy.close_at_once(true);
  const std::string second = at_checkpoint(h);
  found(second, https + ": ");
  found(second, "`tls_ca`");
  // What answers in TLS, or in another protocol.
  proxy.close_at_once(false);
  SinkHarness other(options_of({proxy.url()}, table));
  other.open();
  proxy.refuse_all(std::string("\x15\x03\x03\0\x02\x02\x46", 7));
  found(at_checkpoint(other),
        ": nothing speaks HTTP there: check the port in `servers`, and whether it is one for https://");
}

TEST_CASE("settings are the server's own, or the job does not start") {
  for (const TestServer& s : both()) {
    const std::string table = s.window_table();
    const std::string version = s.rows("select version()")[0];
    CHECK(SinkHarness(s.options(table, "settings: {max_memory_usge: '1000000000'}")).try_open().message() ==
          "`settings`: ClickHouse " + version + " has no setting max_memory_usge; did you mean max_memory_usage?");
    for (const char* name : {"async_insert", "min_insert_block_size_rows", "min_insert_block_size_bytes",
                             "input_format_skip_unknown_fields", "input_format_with_names_use_header",
                             "input_format_with_types_use_header"})
      CHECK(SinkHarness(s.options(table, "settings: {" + std::string(name) + ": '1'}")).try_open().message() ==
            "`settings`: " + std::string(name) + " is set by the sink itself, or rows would be lost or come twice");
  }
  // They have an effect: nothing can be written with this one.
  const TestServer s = TestServer::utc();
  SinkHarness h(s.options(s.window_table(), "settings: {readonly: '1'}"));
  h.open();
  h.push(window_row("2024-05-01 10:00:00", "2024-05-01 10:00:10", 5, 1));
  CHECK(h.try_checkpoint_uncommitted().message().find("code 164") != std::string::npos);
}

TEST_CASE("create: with a setting that it needs, and one that fails") {
  const TestServer s = TestServer::utc();
  const std::string table = fresh_name();
  const std::string create = "create: \"create table " + table +
                             " (v LowCardinality(String), ts UInt64) engine = ReplacingMergeTree(ts) order by v\"";
  SinkHarness without(s.options(table, create));
  CHECK(without.try_open().message().find("`create`: " + s.url() + ": code ") == 0);
  SinkHarness with(s.options(table, create + ", settings: {allow_experimental_low_cardinality_type: '1'}"));
  with.open();
  with.push(R"({"v":"a","ts":1})");
  with.checkpoint();
  CHECK(s.rows("select v from " + table) == Lines{"a"});
  CHECK(SinkHarness(s.options("x", "create: \"select 1; select 2\""))
            .try_open()
            .message()
            .find("Multi-statements are not allowed") != std::string::npos);
  SinkHarness wrong(s.options("x", "create: \"creat table x\""));
  CHECK(wrong.try_open().code() == SLUICE_FATAL);
  CHECK(wrong.try_open().message().find("`create`: " + s.url() + ": code 62: Syntax error") == 0);
}

TEST_CASE("options that cannot be") {
  const auto message = [](const std::string& options) { return SinkHarness(options).try_open().message(); };
  CHECK(message("{servers: [], table: t}") == "`servers` is empty");
  CHECK(message("{servers: ['ch:8123'], table: t}") == "`servers`: ch:8123 does not begin with http:// or https://");
  for (const char* address : {"http://etl:hush@ch:8123", "etl:hush@ch:8123", "ftp://etl:hush@ch?x"})
    CHECK(message("{servers: ['" + std::string(address) + "'], table: t}") ==
          "`servers`: user and password do not belong into an address: use `user` and `password`");
  for (const char* address : {"http://ch:8123/?user=etl&password=hush", "ch:8123?password=hush", "http://ch:8123#hush"})
    CHECK(message("{servers: ['" + std::string(address) + "'], table: t}") ==
          "`servers`: an address ends before ? and #: use `user`, `password` and `settings`");
  CHECK(message("{servers: ['http://ch 1:8123'], table: t}") ==
        "`servers`: http://ch 1:8123 is no address like http://host:8123: it is none: Bad hostname");
  CHECK(message("{servers: ['https://:8123'], table: t}") ==
        "`servers`: https://:8123 is no address like http://host:8123: it has no host");
  CHECK(message("{servers: ['http://ch:81234'], table: t}") ==
        "`servers`: http://ch:81234 is no address like http://host:8123: it is none: Port number was not a decimal "
        "number between 0 and 65535");
  CHECK(message("{servers: ['https://ch:8443'], table: t, tls_ca: /no/such/ca.pem}") ==
        "`tls_ca`: cannot read /no/such/ca.pem: No such file or directory");
  CHECK(message("{servers: ['http://ch:8123'], table: ''}") == "`table` is empty");
  CHECK(message("{servers: ['http://ch:8123'], table: t, batch_rows: 2000000}") ==
        "`batch_rows` must be from 1 to 1000000: the server takes larger inserts apart");
  CHECK(message("{servers: ['http://ch:8123'], table: t, batch_bytes: 1GiB}") ==
        "`batch_bytes` must be at most 64MiB: the server takes larger inserts apart");
  CHECK(message("{servers: ['http://ch:8123'], table: t, max_buffer: 1KiB}") ==
        "`max_buffer` is smaller than `batch_bytes`");
}

TEST_CASE("check() looks at all servers and makes nothing") {
  const TestServer s = TestServer::utc();
  const std::string table = s.window_table();
  CHECK(SinkHarness(s.options(table)).find_problems().empty());
  const std::string made = fresh_name();
  CHECK(SinkHarness(s.options(made, "create: \"create table " + made + " (a UInt8) engine = Memory\""))
            .find_problems()
            .empty());
  CHECK(s.rows("exists table " + made) == Lines{"0"});
  auto found = SinkHarness("{servers: ['" + s.url() + "', 'http://127.0.0.1:1'], table: nope}").find_problems();
  REQUIRE(found.size() == 2);
  CHECK(found[0].text.find("the table default.nope on " + s.url() + " is not there") == 0);
  CHECK(found[1].option == "servers");
  CHECK(found[1].text.find("http://127.0.0.1:1: Failed to connect") == 0);
  found = SinkHarness(s.options(s.table("a UInt8", "Memory"))).find_problems();
  REQUIRE(found.size() == 1);
  CHECK(found[0].text.find("`delivery: upsert` needs a ReplacingMergeTree") == 0);
}

}  // namespace
}  // namespace sluice::clickhouse::testing
