// `delivery: exactly_once` on a server that remembers its inserts.
#include <catch2/catch.hpp>

#include "test_server.h"

namespace sluice::clickhouse::testing {
namespace {

constexpr const char* kRemembers =
    "MergeTree partition by toYYYYMMDD(day) order by n settings non_replicated_deduplication_window = 100";

std::string row(int n) {
  return "{\"n\":" + std::to_string(n) + ",\"day\":\"2024-05-0" + std::to_string(1 + n % 3) + " 10:00:00\"}";
}
void push(SinkHarness& h, int begin, int end) {
  for (int n = begin; n < end; ++n) h.push(row(n));
}
// As if the job had been killed between the rows of the newest epoch and its marker.
void forget_newest_epoch(const TestServer& s, const std::string& operator_id) {
  s.run(
      "insert into _sluice_epochs select * replace (if(epoch > 1, lineage, '') as lineage, epoch - 1 as epoch, version "
      "+ "
      "1 as version) from _sluice_epochs final where operator = '" +
      operator_id + "'");
}

TEST_CASE("rows come with their checkpoint, once") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime", kRemembers);
  OnceSink h(s, table);
  h.open();
  CHECK(h.needs().delivery == SLUICE_DELIVERY_EPOCH);
  CHECK(h.last_committed() == std::pair<uint64_t, std::string>{0, ""});
  push(h, 0, 10);
  h.checkpoint_uncommitted();
  check_once(s, table, 0);
  h.commit();
  check_once(s, table, 10);
  push(h, 10, 12);
  CHECK(h.checkpoint() == 2);
  check_once(s, table, 12);
  CHECK(h.last_committed() == std::pair<uint64_t, std::string>{2, "line"});
  h.checkpoint();  // without rows
  CHECK(h.last_committed().first == 3);
  h.close();
}

TEST_CASE("killed between checkpoint and commit, and between rows and marker") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime", kRemembers);
  OnceSink h(s, table, "batch_rows: 4");
  h.open();
  push(h, 0, 20);
  h.checkpoint_uncommitted();
  h.crash();
  h.restore();
  check_once(s, table, 20);
  push(h, 20, 50);
  h.checkpoint();
  for (int again = 0; again < 2; ++again) {
    forget_newest_epoch(s, table);
    h.crash();
    h.restore();
    check_once(s, table, 50);
  }
  push(h, 50, 60);
  h.checkpoint();
  check_once(s, table, 60);
}

TEST_CASE("the newest epoch is cut as it was, although batch_rows is another now") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime", kRemembers);
  {
    OnceSink h(s, table, "batch_rows: 7");
    h.open();
    push(h, 0, 40);
    h.checkpoint();
    h.crash();
  }
  forget_newest_epoch(s, table);
  OnceSink h(s, table, "batch_rows: 1000");
  h.open();
  CHECK(h.last_committed().first == 0);
  push(h, 0, 40);
  h.checkpoint();
  check_once(s, table, 40);
  const int64_t before = h.counter("inserts");
  push(h, 40, 80);
  h.checkpoint();
  check_once(s, table, 80);
  CHECK(h.counter("inserts") - before == 3);  // one for each partition: cut by 1000 rows again
}

TEST_CASE("an epoch that the server has no memory for waits as it is: a smaller batch_rows is for those after it") {
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("n UInt32, v String", "MergeTree order by n settings non_replicated_deduplication_window = 1000");
  const auto push_large = [](SinkHarness& h, int begin, int end) {
    for (int n = begin; n < end; ++n)
      h.push("{\"n\":" + std::to_string(n) + ",\"v\":\"" + std::string(3000, 'x') + "\"}");
  };
  const auto options = [&](int batch_rows, const char* memory) {
    return options_of({s.url()}, table,
                      "delivery: exactly_once, request_timeout: 2s, batch_rows: " + std::to_string(batch_rows) +
                          ", settings: {max_memory_usage: '" + memory + "'}");
  };
  OnceSink h(s, table);
  h.set_options(options(10000, "5000000"));
  h.open();
  push_large(h, 0, 2000);
  h.checkpoint_uncommitted();
  const auto stuck = [&] {
    const Status status = h.try_commit();
    INFO(status.message());
    CHECK(status.code() == SLUICE_RETRY);
    CHECK(status.message().find("code 241: ") != std::string::npos);
    CHECK(status.message().find(". Inserts of a checkpoint stay as they are (`delivery: exactly_once`): let the server "
                                "have more memory for it (max_memory_usage); a smaller `batch_rows` is for the "
                                "checkpoints after it") != std::string::npos);
  };
  stuck();
  h.crash();
  h.set_options(options(100, "5000000"));
  CHECK(h.try_restore().code() == SLUICE_RETRY);
  stuck();
  check_once(s, table, 0);
  h.crash();
  h.set_options(options(100, "0"));
  h.restore();
  check_once(s, table, 2000);
  h.crash();
  h.set_options(options(100, "5000000"));
  h.restore();
  push_large(h, 2000, 3000);
  h.checkpoint();
  check_once(s, table, 3000);
}

TEST_CASE("a small buffer does not move the cuts between inserts") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime", kRemembers);
  OnceSink h(s, table, "batch_rows: 300, batch_bytes: 1KiB, max_buffer: 1KiB");
  h.open();
  push(h, 0, 3000);
  h.checkpoint();
  CHECK(h.counter("inserts") == 30);  // three days in each 300 rows
  forget_newest_epoch(s, table);
  h.crash();
  h.restore();
  check_once(s, table, 3000);
}

TEST_CASE("large rows of many partitions do not pile up: inserts end by their bytes, again at the same places") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime", kRemembers);
  OnceSink h(s, table, "unknown_fields: ignore");
  h.open();
  const std::string pad = ",\"pad\":\"" + std::string(1 << 20, 'x') + "\"}";
  for (int n = 0; n < 160; ++n) h.push(row(n).substr(0, row(n).size() - 1) + pad);
  h.checkpoint();
  CHECK(h.counter("inserts") == 6);  // three days, after 128 and 160 rows
  forget_newest_epoch(s, table);
  h.crash();
  h.restore();
  check_once(s, table, 160);
}

TEST_CASE("rows that do not fit are refused, the others come once") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime", kRemembers);
  OnceSink h(s, table);
  h.open();
  push(h, 0, 2);
  h.push(R"({"n":-1,"day":"2024-05-01 10:00:00"})");
  h.push(R"({"n":7})");
  h.checkpoint();
  CHECK(reasons(h) == Lines{"column \"n\": -1 is outside the range of UInt32",
                            "the row has no \"day\", by which the table is partitioned"});
  check_once(s, table, 2);
}

TEST_CASE("a row that the server refuses leaves the rest, again after a crash") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime, constraint c check n != 5", kRemembers);
  OnceSink h(s, table);
  h.open();
  push(h, 0, 12);
  h.checkpoint();
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.rejected()[0].json == row(5));
  forget_newest_epoch(s, table);
  h.crash();
  h.restore();
  CHECK(s.rows("select n from " + table + " order by n") ==
        Lines{"0", "1", "2", "3", "4", "6", "7", "8", "9", "10", "11"});
}

TEST_CASE("a table that is another when an epoch comes: its blocks are cut anew, each row is in once") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, day DateTime, v Nullable(UInt32)",
                                    "MergeTree order by n settings non_replicated_deduplication_window = 100");
  OnceSink h(s, table, "null_as: default");
  h.open();
  Lines want;
  for (int n = 0; n < 30; ++n) {
    std::string with_v = row(n);
    with_v.insert(with_v.size() - 1, n % 2 == 0 ? ",\"v\":null" : ",\"v\":" + std::to_string(n));
    h.push(with_v);
    want.push_back(std::to_string(n) + "\t" + std::to_string(n % 2 == 0 ? 0 : n));
  }
  h.checkpoint_uncommitted();
  s.run("drop table " + table);
  s.run("create table " + table + " (n UInt32, day DateTime, v UInt32) engine = " + kRemembers);
  h.commit();
  CHECK(reasons(h).empty());
  // Rows with and without a value, of each day: of one partition there are two blocks.
  CHECK(h.counter("inserts") == 6);
  CHECK(s.rows("select n, v from " + table + " order by n") == want);
}

TEST_CASE("more inserts than the server remembers stop the job before it is too late") {
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("n UInt32, day DateTime", "MergeTree order by n settings non_replicated_deduplication_window = 3");
  OnceSink h(s, table, "batch_rows: 2");
  h.open();
  push(h, 0, 6);
  h.checkpoint();
  check_once(s, table, 6);
  push(h, 6, 20);
  h.checkpoint_uncommitted();
  CHECK(h.try_commit().message() == "checkpoint 2 has more than 3 inserts for each of 1 lanes, and default." + table +
                                        " remembers the last 3 only: make its deduplication window larger, or the "
                                        "checkpoint interval or the number of "
                                        "partitions smaller");
}

TEST_CASE("refused at the start where rows could come twice") {
  const TestServer old = TestServer::utc();
  const std::string there = old.table("n UInt32", "MergeTree order by n");
  CHECK(OnceSink(old, there).try_open().message() ==
        "`delivery: exactly_once` needs a server that knows insert_deduplication_token (22.2 or newer); " + old.url() +
            " is 18.16.1. Use `delivery: upsert` with a ReplacingMergeTree read with FINAL");
  const TestServer s = TestServer::engine();
  const std::string forgets = s.table("n UInt32", "MergeTree order by n");
  CHECK(OnceSink(s, forgets).try_open().message() ==
        "`delivery: exactly_once`: default." + forgets +
            " does not remember its inserts (non_replicated_deduplication_window is 0), so a block that is sent again "
            "would be in twice. Run: alter "
            "table default." +
            forgets + " modify setting non_replicated_deduplication_window = 10000");
  // The way out works.
  s.run("alter table default." + forgets + " modify setting non_replicated_deduplication_window = 10000");
  OnceSink h(s, forgets);
  h.open();
  const std::string unknown =
      s.table("n UInt32", "MergeTree partition by n % 7 order by n settings non_replicated_deduplication_window = 100");
  CHECK(OnceSink(s, unknown).try_open().message() ==
        "`delivery: exactly_once` cannot evaluate the partition key n % 7 of default." + unknown +
            ": use columns, toYYYYMMDD, toYYYYMM, toDate, toMonday, toYear or toStartOf… of a column, or `delivery: "
            "upsert`");
  const std::string memory = s.table("n UInt32", "Memory");
  CHECK(OnceSink(s, memory).try_open().message() ==
        "`delivery: exactly_once` needs a MergeTree, and default." + memory + " is a Memory");
  CHECK(SinkHarness("{servers: ['" + s.url() + "', 'http://127.0.0.1:1'], delivery: exactly_once, table: " + forgets +
                    "}")
            .try_open()
            .message() == "`delivery: exactly_once` with several servers needs a replicated table, and default." +
                              forgets + " is a MergeTree");
}

}  // namespace
}  // namespace sluice::clickhouse::testing
