// The harness runs operators of every kind as the host would.
#include <catch2/catch.hpp>

#include <sluice/testing/harness.hpp>

#include "example_operators.h"

using namespace acme;
using sluice::testing::Harness;
using Rows = std::vector<std::string>;

TEST_CASE("a source goes on where its checkpoint was") {
  Harness<Numbers> h("until: 5");
  h.open();
  CHECK(h.discover().size() == 1);
  h.assign();
  CHECK(h.split("numbers").position == "1");
  CHECK(h.poll(2) == 2);
  auto out = h.pull();
  REQUIRE(out.size() == 2);
  CHECK(out[1].json == R"({"n":2})");
  CHECK(out[1].split == "numbers");
  CHECK(out[1].position == "3");
  CHECK(h.describe_position("numbers", out[1].position) == "before number 3");
  h.checkpoint();
  h.poll(1);
  h.crash();
  CHECK(h.pull().empty());
  h.restore();
  CHECK(h.poll_until_quiet() == 3);
  CHECK(h.pull_json() == Rows{R"({"n":3})", R"({"n":4})", R"({"n":5})"});
  CHECK(h.split("numbers").flags == (SLUICE_SPLIT_END | SLUICE_SPLIT_SNAPSHOT_COMPLETE));
}

TEST_CASE("a source without a checkpoint starts anew, with checkpoint 0 at its start") {
  Harness<Numbers> h("until: 2");
  h.open();
  h.discover();
  h.assign();
  SECTION("none") {
    h.poll(1);
    h.crash();
    h.restore();
    CHECK(h.poll_until_quiet() == 2);
  }
  SECTION("one before the first row") {
    h.checkpoint();
    h.crash();
    h.restore();
    CHECK(h.split("numbers").position == "1");
    CHECK(h.poll_until_quiet() == 2);
  }
}

TEST_CASE("splits of other lanes are not assigned") {
  Harness<Numbers> h("until: 2");
  h.set_lane(1, 2);
  h.open();
  h.discover();
  h.assign();
  CHECK(h.splits().empty());
  CHECK(h.poll() == 0);
}

TEST_CASE("event timers fire in order when the watermark passes") {
  Harness<PerMinute> h;
  h.open();
  h.push("{}", {"b", 61000});
  h.push("{}", {"a", 10});
  h.push("{}", {"a", 59999});
  CHECK(h.timers() == 2);
  h.watermark(59999);
  CHECK(h.pull().empty());
  h.watermark(120000);
  CHECK(h.pull_json() == Rows{R"({"key":"a","start":0,"rows":2})", R"({"key":"b","start":60000,"rows":1})"});
  CHECK(h.timers() == 0);
  CHECK(h.state_size("rows") == 0);

  h.push(R"({"late":1})", {"a", 100});
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.rejected()[0].json == R"({"late":1})");
  CHECK(h.rejected()[0].reason == "late");
}

TEST_CASE("state and timers come back after a crash, and only what was in the checkpoint") {
  Harness<PerMinute> h;
  h.open();
  h.push("{}", {"a", 10});
  h.watermark(5);
  CHECK(h.checkpoint() == 1);
  h.push("{}", {"a", 20});
  h.push("{}", {"b", 20});
  h.crash();
  h.restore();
  CHECK(h.current_watermark() == 5);
  CHECK(h.checkpoint() == 3);  // 2 may have been begun before the crash: numbers are not used twice
  h.watermark(60000);
  CHECK(h.pull_json() == Rows{R"({"key":"a","start":0,"rows":1})"});
}

TEST_CASE("lateness is that of the row, not of the batch") {
  Harness<PerMinute> h;
  h.open();
  h.push_batch({{"{}", {"a", 10, SLUICE_CHANGE_NONE, 0}}, {"{}", {"a", 20, SLUICE_CHANGE_NONE, 60000}}});
  CHECK(h.rejected().size() == 1);
}

TEST_CASE("a broadcast side that is loaded anew replaces the old one at its end") {
  Harness<TableFilter> h;
  h.open();
  h.marker(SLUICE_SNAPSHOT_BEGIN);
  h.push_broadcast(R"({"name":"user","target":"dim_user"})");
  h.push_broadcast(R"({"name":"old","target":"dim_old"})");
  h.push(R"({"table":"user"})");
  CHECK(h.pull_json(1) == Rows{R"({"table":"user"})"});  // not loaded yet
  h.marker(SLUICE_SNAPSHOT_END);
  h.push(R"({"table":"user", "id": 1.50})");
  CHECK(h.pull_json() == Rows{R"({"table":"user","id":1.50,"target":"dim_user"})"});

  // A change passes at once; a load does not until it is complete.
  h.push_broadcast(R"({"name":"sku","target":"dim_sku"})");
  CHECK(h.state_size("targets") == 3);
  h.push_broadcast(R"({"name":"sku"})", {{}, SLUICE_NO_TIME, SLUICE_CHANGE_DELETE});
  CHECK(h.state_size("targets") == 2);
  h.marker(SLUICE_SNAPSHOT_BEGIN);
  h.push_broadcast(R"({"name":"user","target":"dim_person"})");
  CHECK(h.state_size("targets") == 2);

  SECTION("cut off by a crash: the old one is there") {
    h.checkpoint();
    h.crash();
    h.restore();
    h.push(R"({"table":"old"})");
    CHECK(h.pull_json() == Rows{R"({"table":"old","target":"dim_old"})"});
  }
  SECTION("complete: what is gone there is gone here") {
    h.marker(SLUICE_SNAPSHOT_END);
    h.push(R"({"table":"old"})");
    h.push(R"({"table":"user"})");
    CHECK(h.pull_json(1) == Rows{R"({"table":"old"})"});
    CHECK(h.pull_json() == Rows{R"({"table":"user","target":"dim_person"})"});
  }
  SECTION("begun again: starts empty") {
    h.marker(SLUICE_SNAPSHOT_BEGIN);
    h.marker(SLUICE_SNAPSHOT_END);
    CHECK(h.state_size("targets") == 0);
  }
}

TEST_CASE("a forwarded row is rejected when it is not JSON throughout, and a broken one never comes in") {
  Harness<TableFilter> h;
  h.open();
  h.push(R"({"table":"t","x":01})");
  h.push(R"({"table":"t")");
  h.push(R"([1])");
  h.push("{\"table\":\"\xFF\"}");
  CHECK(h.pull().empty());
  REQUIRE(h.rejected().size() == 4);
  CHECK(h.rejected()[0].reason == "not valid JSON: a number begins with 0 at byte 18");
  CHECK(h.rejected()[1].reason == "not valid JSON: expected `}` at byte 12");
  CHECK(h.rejected()[2].reason == "not valid JSON: not a JSON object");
  CHECK(h.rejected()[3].reason == "not valid JSON: invalid UTF-8 at byte 10");
}

TEST_CASE("an epoch sink gets its rows once, whenever it crashes") {
  LedgerSink::ledger() = Ledger();
  auto& rows = LedgerSink::ledger().rows;
  Harness<LedgerSink> h;
  h.open();
  h.push(R"({"n":1})");
  h.push(R"({"n":2})");
  h.push(R"({"n":01})");
  CHECK(rows.empty());
  SECTION("commit writes the epoch") {
    h.checkpoint();
    CHECK(rows == Rows{R"({"n":1})", R"({"n":2})"});
    CHECK(h.rejected().size() == 1);
    CHECK(h.last_committed() == std::pair<uint64_t, std::string>(1, "lineage-1"));
    h.crash();
    h.restore();  // the marker is there: nothing comes again
    CHECK(rows.size() == 2);
  }
  SECTION("a crash before the checkpoint: the source gives the rows again") {
    h.crash();
    h.restore();
    h.checkpoint();
    CHECK(rows.empty());
  }
  SECTION("a crash between checkpoint and commit: the rows come from the checkpoint") {
    h.checkpoint_uncommitted();
    h.crash();
    h.restore();
    CHECK(rows == Rows{R"({"n":1})", R"({"n":2})"});
    h.crash();
    h.restore();
    CHECK(rows.size() == 2);
  }
  SECTION("a target that is ahead is refused") {
    h.checkpoint();
    LedgerSink::ledger().checkpoint = 9;
    h.crash();
    const auto s = h.try_restore();
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(s.message() == "the target holds checkpoint 9, newer than the restored 1");
  }
  SECTION("a target of another lineage is refused") {
    h.checkpoint();
    LedgerSink::ledger().lineage = "other";
    h.crash();
    CHECK(h.try_restore().message() == "the target holds the marker of lineage `other`, not of `lineage-1`");
  }
}

namespace {

struct PickyConfig {};
// Takes one row of each batch and asks to come again; tombstones too.
class PickySink final : public sluice::Sink<PickyConfig> {
 public:
  static constexpr const char* kType = "test.picky";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Takes its time.";
  static sluice::Options<PickyConfig> options() { return {}; }
  sluice::Status configure(sluice::Needs& needs) override {
    needs.tombstones();
    needs.delivery(SLUICE_DELIVERY_UPSERT);
    return sluice::Status::ok();
  }
  sluice::Status open() override { return attempts++ == 0 ? sluice::Status::retry("no connection", 10) : sluice::Status::ok(); }
  sluice::Status write(const sluice::Batch& in, uint32_t* consumed) override {
    *consumed = 1;
    std::string payload = in.is_tombstone(0) ? "tombstone " + std::string(in.message_key(0)) : std::string(in.payload(0));
    uint64_t handle = 0;
    SLUICE_CHECK_OK(keep_origin(0, &handle));
    handles.push_back(handle);
    taken.push_back(std::move(payload));
    note("one at a time");
    return in.size() > 1 ? sluice::Status::retry("slowly") : sluice::Status::ok();
  }
  sluice::Status on_schema(const sluice_schema& s) override {
    return sluice::view(s.table) == "bad" ? sluice::Status::bad_record("no such table") : sluice::Status::ok();
  }
  sluice::Status prepare(uint64_t) override {
    for (const uint64_t h : handles)
      if (h % 2 == 0) SLUICE_CHECK_OK(reject_origin(h, "even"));
    SLUICE_CHECK_OK(drop_origins(handles.empty() ? 0 : handles.back()));
    handles.clear();
    return sluice::Status::ok();
  }
  sluice::Status commit(uint64_t n) override {
    commits.push_back(n);
    return sluice::Status::ok();
  }
  static int attempts;
  static Rows taken;
  static std::vector<uint64_t> commits;
  std::vector<uint64_t> handles;
};
int PickySink::attempts = 0;
Rows PickySink::taken;
std::vector<uint64_t> PickySink::commits;

}  // namespace

TEST_CASE("RETRY comes again with what is left") {
  PickySink::attempts = 0;
  PickySink::taken.clear();
  PickySink::commits.clear();
  Harness<PickySink> h;
  CHECK(h.try_open().code() == SLUICE_RETRY);
  h.open();
  sluice::testing::InputRow gone{"", {{}, SLUICE_NO_TIME, SLUICE_CHANGE_NONE, {}, "k1"}, true};
  CHECK(h.try_push_batch({{"{\"n\":1}"}, {"{\"n\":2}"}, gone}).code() == SLUICE_RETRY);
  CHECK(h.rows_waiting() == 2);
  CHECK_THROWS_AS(h.push("{}"), sluice::testing::HarnessError);
  CHECK(h.try_retry().code() == SLUICE_RETRY);
  h.retry();
  CHECK(h.rows_waiting() == 0);
  CHECK(PickySink::taken == Rows{"{\"n\":1}", "{\"n\":2}", "tombstone k1"});
  CHECK(h.note() == "one at a time");
  CHECK(h.tombstones_dropped() == 0);

  CHECK(h.try_push_schema({"good", {"id"}, {"id"}}).is_ok());
  CHECK(h.try_push_schema({"bad", {"id"}, {"id"}}).code() == SLUICE_BAD_RECORD);

  h.checkpoint();
  REQUIRE(h.rejected().size() == 1);  // in a later call, with the row's own bytes
  CHECK(h.rejected()[0].json == "{\"n\":2}");
  CHECK(h.rejected()[0].reason == "even");
  h.crash();
  h.restore();
  CHECK(PickySink::commits == std::vector<uint64_t>{1, 1});  // commit comes again
}

TEST_CASE("tombstones are counted and dropped unless they are asked for") {
  Harness<TableFilter> h;
  h.open();
  h.push_tombstone();
  CHECK(h.tombstones_dropped() == 1);
  CHECK(h.pull().empty());
}
