// `delivery: exactly_once` when a checkpoint's blocks come again, after others have written.
#include <catch2/catch.hpp>
#include <memory>

#include "answer_proxy.h"
#include "test_server.h"

namespace sluice::clickhouse::testing {
namespace {

// A commit waits for as long as one request may take.
constexpr const char* kImpatient = "batch_rows: 2, connect_timeout: 100ms, request_timeout: 900ms";
const std::string kAway = http_answer("503 Service Unavailable", "away");

// As a host does, again and again; a slow machine may need it.
Status commit(SinkHarness& h) {
  Status s = h.try_commit();
  for (int again = 0; again < 20 && s.code() == SLUICE_RETRY; ++again) s = h.try_commit();
  return s;
}

std::string row(int n) { return "{\"n\":" + std::to_string(n) + "}"; }

// Lane 0 of two behind a proxy, and the table that both write.
class TwoLanes {
 public:
  explicit TwoLanes(int window)
      : table(server.table("n UInt32", "MergeTree order by n settings non_replicated_deduplication_window = " +
                                           std::to_string(window))),
        stuck(server, table, kImpatient, proxy.url()),
        other(server, table, kImpatient) {
    stuck.set_lane(0, 2);
    stuck.open();
    other.set_lane(1, 2);
    other.open();
  }

  // Rows 0 to 5 in three blocks: the first one gets in, the second as well but without an answer, the third does not.
  void get_stuck() {
    for (int n = 0; n < 6; ++n) stuck.push(row(n));
    stuck.checkpoint_uncommitted();
    proxy.let_next_through();
    proxy.lose_next_answer();
    proxy.refuse_all(kAway);
    CHECK(stuck.try_commit().code() == SLUICE_RETRY);
    check_once(server, table, 4);
  }
  // So many checkpoints of one block each.
  void go_on(int checkpoints, int from) {
    for (int n = from; n < from + checkpoints; ++n) {
      other.push(row(n));
      other.checkpoint();
    }
  }

  const TestServer server = TestServer::engine();
  AnswerProxy proxy{server.url()};
  const std::string table;
  OnceSink stuck, other;
};

std::string forgotten(const TwoLanes& t, int inserts, int window) {
  return t.proxy.url() + ": the rows of checkpoint 1 may be in default." + t.table +
         " for a part, and it may have forgotten which: it has got " + std::to_string(inserts) +
         " inserts since, and remembers the last " + std::to_string(window) +
         " (non_replicated_deduplication_window). Nothing more is written, so that no row is in twice. Look into the "
         "table; to go on all the same, with rows of this checkpoint that can be in twice, make the window larger "
         "(alter table default." +
         t.table + " modify setting …) and start the job again";
}

TEST_CASE("an outage longer than a commit waits: later the same blocks come again, each once") {
  TwoLanes t(100);
  t.get_stuck();
  for (int again = 0; again < 3; ++again) CHECK(t.stuck.try_commit().code() == SLUICE_RETRY);
  for (int n = 6; n < 10; ++n) t.stuck.push(row(n));
  t.stuck.checkpoint_uncommitted();
  t.go_on(20, 10);
  const size_t before = t.proxy.inserts().size();
  t.proxy.refuse_all("");
  REQUIRE(commit(t.stuck).is_ok());
  check_once(t.server, t.table, 30);
  // The block that was confirmed has not come again.
  Lines tokens;
  for (const SeenRequest& r : t.proxy.inserts(before)) {
    const size_t at = r.head.find("insert_deduplication_token=");
    tokens.push_back(r.head.substr(at, r.head.find_first_of("& ", at) - at));
  }
  CHECK(tokens.size() == 4);  // two of the first checkpoint, two of the second
}

TEST_CASE("the same after the job was killed in the outage") {
  TwoLanes t(100);
  t.get_stuck();
  for (int n = 6; n < 10; ++n) t.stuck.push(row(n));
  t.stuck.checkpoint_uncommitted();
  t.go_on(20, 10);
  t.stuck.crash();
  t.proxy.refuse_all("");
  t.stuck.restore();
  check_once(t.server, t.table, 30);
}

TEST_CASE("a lane that goes on pushes the tokens of a stuck one out of the window: the job stops") {
  for (const bool killed : {false, true}) {
    TwoLanes t(6);
    t.get_stuck();
    t.go_on(6, 6);
    t.proxy.refuse_all("");
    if (killed) t.stuck.crash();
    const Status stopped = killed ? t.stuck.try_restore() : commit(t.stuck);
    CHECK(stopped.code() == SLUICE_FATAL);
    CHECK(stopped.message() == forgotten(t, 8, 6));
    CHECK(t.server.rows("select count(), uniqExact(n) from " + t.table) == Lines{"10\t10"});
    // The way out.
    t.server.run("alter table " + t.table + " modify setting non_replicated_deduplication_window = 100");
    t.stuck.crash();
    t.stuck.restore();
    CHECK(t.server.rows("select uniqExact(n) from " + t.table) == Lines{"12"});
  }
}

TEST_CASE("within the window nothing stops") {
  TwoLanes t(8);
  t.get_stuck();
  t.go_on(4, 6);  // with the two blocks, and one that the other lane may add, seven
  t.proxy.refuse_all("");
  REQUIRE(commit(t.stuck).is_ok());
  check_once(t.server, t.table, 10);
}

TEST_CASE("a checkpoint that was not begun is no repeat, however long ago the last one was") {
  TwoLanes t(6);
  t.stuck.push(row(0));
  t.stuck.checkpoint();
  t.go_on(20, 1);
  t.stuck.crash();
  t.stuck.restore();
  t.stuck.push(row(21));
  t.stuck.checkpoint();
  check_once(t.server, t.table, 22);
}

TEST_CASE("too many parts say that nothing was written: the block may come whenever it can") {
  TwoLanes t(6);
  t.stuck.push(row(0));
  t.stuck.checkpoint_uncommitted();
  t.proxy.refuse_all(
      http_answer("500 Internal Server Error", "Code: 252. DB::Exception: Too many parts (300). (TOO_MANY_PARTS)\n"));
  CHECK(t.stuck.try_commit().code() == SLUICE_RETRY);
  const size_t before = t.proxy.inserts().size();
  CHECK(before > 0);
  t.proxy.refuse_all("");
  REQUIRE(commit(t.stuck).is_ok());
  check_once(t.server, t.table, 1);
}

TEST_CASE("a table that was made anew in the outage gets all rows of the checkpoint") {
  TwoLanes t(100);
  t.get_stuck();
  t.server.run("drop table " + t.table);
  t.server.run("create table " + t.table +
               " (n UInt32) engine = MergeTree order by n settings non_replicated_deduplication_window = 100");
  t.proxy.refuse_all("");
  REQUIRE(commit(t.stuck).is_ok());
  check_once(t.server, t.table, 6);
}

TEST_CASE("a marker table of an earlier version gets the columns that it lacks") {
  const TestServer s = TestServer::engine();
  const std::string database = fresh_name();
  s.run("create database " + database + " engine = Atomic");
  s.run("create table " + database +
        "._sluice_epochs (pipeline String, operator String, lane UInt32, lineage String, epoch UInt64, batch_rows "
        "Int64, version UInt64) engine = ReplacingMergeTree(version) order by (pipeline, operator, lane)");
  s.run("create table " + database +
        ".t (n UInt32) engine = MergeTree order by n settings non_replicated_deduplication_window = 100");
  OnceSink h(s, "t", "database: " + database);
  h.set_pipeline("p");
  s.run("insert into " + database + "._sluice_epochs values ('p', 't', 0, 'line', 7, 1000, 1)");
  h.open();
  CHECK(h.last_committed() == std::pair<uint64_t, std::string>{7, "line"});
  s.run("drop database " + database);
}

}  // namespace
}  // namespace sluice::clickhouse::testing
