// Materialized views on the table: each block gets into them as often as into the table.
#include <catch2/catch.hpp>
#include <thread>

#include "answer_proxy.h"
#include "test_server.h"

namespace sluice::clickhouse::testing {
namespace {

const std::string kRemembers = " settings non_replicated_deduplication_window = 100";

std::string row(int n) { return "{\"n\":" + std::to_string(n) + "}"; }

// A table, and a view on it that sums its rows up in a table of its own or in `into`.
struct Source {
  explicit Source(const std::string& sums_settings, const std::string& sums_engine = "SummingMergeTree order by g")
      : table(server.table("n UInt32", "MergeTree order by n" + kRemembers)),
        sums(server.table("g UInt32, s UInt64", sums_engine + sums_settings)),
        view(fresh_name()) {
    server.run("create materialized view " + view + " to " + sums + " as select n % 2 as g, sum(n) as s from " + table +
               " group by g");
  }
  std::string sum() const { return server.rows("select sum(s) from " + sums)[0]; }

  const TestServer server = TestServer::engine();
  const std::string table, sums, view;
};

TEST_CASE("exactly once reaches a view whose table remembers its inserts") {
  const Source s(kRemembers);
  AnswerProxy proxy(s.server.url());
  OnceSink h(s.server, s.table, "batch_rows: 3", proxy.url());
  h.open();
  for (int n = 0; n < 9; ++n) h.push(row(n));
  h.checkpoint_uncommitted();
  proxy.lose_next_answer();  // the same block again
  h.commit();
  CHECK(proxy.inserts().size() == 4);
  CHECK(proxy.inserts()[0].head.find("deduplicate_blocks_in_dependent_materialized_views=1") != std::string::npos);
  check_once(s.server, s.table, 9);
  CHECK(s.sum() == "36");
  // Other blocks that give the view the same rows are no repetition.
  for (int round = 0; round < 2; ++round) {
    h.push(row(100));
    h.checkpoint();
  }
  CHECK(s.sum() == "236");
}

TEST_CASE("a view that fails behind the table: when it works again, table and view have the rows once") {
  const TestServer server = TestServer::engine();
  const std::string table = server.table("n UInt32", "MergeTree order by n" + kRemembers);
  const std::string sums = server.table("n UInt32, constraint small check n < 5", "MergeTree order by n" + kRemembers);
  server.run("create materialized view " + fresh_name() + " to " + sums + " as select n from " + table);
  OnceSink h(server, table);
  h.open();
  for (int n = 0; n < 8; ++n) h.push(row(n));
  h.checkpoint_uncommitted();
  const Status stopped = h.try_commit();
  CHECK(stopped.code() == SLUICE_FATAL);
  CHECK(stopped.message().find(server.url() + " refused a block of 8 rows: code 469: Constraint `small`") == 0);
  CHECK(stopped.message().find("Mend the view") != std::string::npos);
  check_once(server, table, 8);
  CHECK(server.rows("select count() from " + sums) == Lines{"0"});
  server.run("alter table " + sums + " drop constraint small");
  h.crash();
  h.restore();
  check_once(server, table, 8);
  check_once(server, sums, 8);
}

TEST_CASE("refused where a view would get a block twice, with a way out that works") {
  const Source s("");
  CHECK(OnceSink(s.server, s.table).try_open().message() ==
        "`delivery: exactly_once`: the materialized view default." + s.view + " writes into default." + s.sums +
            ", which remembers 0 inserts (non_replicated_deduplication_window), and the table 100: a block that is "
            "sent again could be in twice. Run: alter table `default`.`" +
            s.sums + "` modify setting non_replicated_deduplication_window = 100");
  const auto problems = OnceSink(s.server, s.table).find_problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].text.find("the materialized view default." + s.view) != std::string::npos);
  s.server.run("alter table `default`.`" + s.sums + "` modify setting non_replicated_deduplication_window = 100");
  OnceSink(s.server, s.table).open();

  const Source memory("", "Memory");
  CHECK(OnceSink(memory.server, memory.table).try_open().message().find("a Memory, which does not remember") !=
        std::string::npos);
  CHECK(OnceSink(s.server, s.table, "settings: {deduplicate_blocks_in_dependent_materialized_views: \"0\"}")
            .try_open()
            .message()
            .find("is set by the sink itself") != std::string::npos);
}

TEST_CASE("a view that comes while the job runs is checked with the next checkpoint, and so is a smaller window") {
  const TestServer server = TestServer::engine();
  const std::string table = server.table("n UInt32", "MergeTree order by n" + kRemembers);
  const std::string sums = server.table("n UInt32", "MergeTree order by n");
  OnceSink h(server, table);
  h.open();
  h.push(row(0));
  h.checkpoint();
  server.run("create materialized view " + fresh_name() + " to " + sums + " as select n from " + table);
  h.push(row(1));
  h.checkpoint_uncommitted();
  CHECK(h.try_commit().message().find("writes into default." + sums + ", which remembers 0 inserts") !=
        std::string::npos);
  check_once(server, table, 1);
  server.run("alter table " + sums + " modify setting non_replicated_deduplication_window = 100");
  h.crash();
  h.restore();
  check_once(server, table, 2);
  server.run("alter table " + table + " modify setting non_replicated_deduplication_window = 0");
  h.push(row(2));
  h.checkpoint_uncommitted();
  CHECK(h.try_commit().message().find("does not remember its inserts") != std::string::npos);
}

TEST_CASE("views on the tables of views, and views with a table of their own") {
  const Source s(kRemembers);
  const std::string own = fresh_name(), far = s.server.table("g UInt32", "Log"), chain = fresh_name();
  s.server.run("create materialized view " + own + " engine = MergeTree order by n as select n from " + s.table);
  const std::string refused = OnceSink(s.server, s.table).try_open().message();
  CHECK(refused.find("the materialized view default." + own + " writes into default..inner") != std::string::npos);
  const size_t run = refused.find("Run: ");
  REQUIRE(run != std::string::npos);
  s.server.run(refused.substr(run + 5));
  OnceSink(s.server, s.table).open();
  s.server.run("create materialized view " + chain + " to " + far + " as select g from " + s.sums);
  CHECK(OnceSink(s.server, s.table).try_open().message().find("the materialized view default." + chain) !=
        std::string::npos);
  s.server.run("drop table " + chain);
  // What a Null table hands on is looked at as well.
  const std::string nothing = s.server.table("n UInt32", "Null");
  s.server.run("create materialized view " + fresh_name() + " to " + nothing + " as select n from " + s.table);
  OnceSink(s.server, s.table).open();
  s.server.run("create materialized view " + chain + " to " + far + " as select n as g from " + nothing);
  CHECK(OnceSink(s.server, s.table).try_open().message().find("the materialized view default." + chain) !=
        std::string::npos);
}

// On 18.16 the table has the block when a view refuses a row of it.
TEST_CASE("other deliveries: a block that a view refuses is not tried in parts, which would be in the table again") {
  for (const TestServer& s : {TestServer::utc(), TestServer::engine()})
    for (const std::string delivery : {"at_least_once", "upsert"})
      for (const bool comes_later : {false, true}) {
        INFO(s.url() << " " << delivery << " " << comes_later);
        const std::string engine = delivery == "upsert" ? "ReplacingMergeTree(ts)" : "MergeTree";
        const std::string table = s.table("id UInt32, v String, ts UInt64", engine + " order by id");
        const std::string numbers = s.table("id UInt32, v UInt8", "MergeTree order by id"), view = fresh_name();
        const auto make_view = [&](const std::string& value) {
          s.run("create materialized view " + view + " to " + numbers + " as select id, " + value + " as v from " +
                table);
        };
        if (!comes_later) make_view("toUInt8(v)");
        AnswerProxy proxy(s.url());
        SinkHarness h(options_of({proxy.url()}, table, "flush_interval: 0, delivery: " + delivery));
        h.open();
        if (comes_later) {
          make_view("toUInt8(v)");
          std::this_thread::sleep_for(std::chrono::milliseconds(1100));
        }
        const auto push = [&](SinkHarness& sink) {
          for (int id = 0; id < 16; ++id)
            sink.push("{\"id\":" + std::to_string(id) + ",\"v\":\"" + (id == 11 ? "x" : "7") + "\",\"ts\":1}");
        };
        push(h);
        const Status stopped = checkpoint(h);
        CHECK(stopped.code() == SLUICE_FATAL);
        CHECK(stopped.message().find(proxy.url() + " refused a block of 16 rows: code ") == 0);
        const std::string rest =
            ". default." + table +
            " has materialized views and may have it although one of them refused it, so its rows cannot be tried one "
            "by "
            "one. Mend the view, the constraint or the expression, and start the job again: the block comes again";
        CHECK(stopped.message().substr(std::min(stopped.message().rfind(". default."), stopped.message().size())) ==
              rest);
        CHECK(h.rejected().empty());
        CHECK(proxy.inserts().size() == 1);
        CHECK(h.try_close().code() == SLUICE_FATAL);
        s.run("drop table " + view);
        make_view("toUInt8OrZero(v)");
        SinkHarness again(s.options(table, "flush_interval: 0, delivery: " + delivery));
        again.open();
        push(again);
        REQUIRE(checkpoint(again).is_ok());
        if (delivery == "upsert") CHECK(s.rows("select count() from " + table + " final") == Lines{"16"});
        CHECK(s.rows("select count(), sum(v) from " + numbers) == Lines{"16\t105"});
      }
}

TEST_CASE("other deliveries say that views get repeated rows twice") {
  for (const TestServer& s : {TestServer::utc(), TestServer::engine()}) {
    const std::string table = s.table("id UInt32, ts UInt64", "ReplacingMergeTree(ts) order by id");
    const std::string sums = s.table("ts UInt64, c UInt64", "SummingMergeTree order by ts"), view = fresh_name();
    s.run("create materialized view " + view + " to " + sums + " as select ts, count() as c from " + table +
          " group by ts");
    AnswerProxy proxy(s.url());
    SinkHarness h(options_of({proxy.url()}, table));
    h.open();
    bool said = false;
    for (const auto& line : h.log())
      said =
          said || line.text.find("comes twice into its materialized views (default." + view + ")") != std::string::npos;
    CHECK(said);
    h.push(R"({"id":1,"ts":5})");
    proxy.lose_next_answer();
    REQUIRE(checkpoint(h).is_ok());
    CHECK(s.rows("select count() from " + table + " final") == Lines{"1"});
    CHECK(s.rows("select sum(c) from " + sums) == Lines{"2"});  // so it is
  }
}

}  // namespace
}  // namespace sluice::clickhouse::testing
