#include <malloc.h>

#include "lane_fixture.h"

using namespace sluice;
using namespace sluice::state;

namespace {

std::vector<Timer> pop_all(TimerTable& timers, TimerClock clock, int64_t now) {
  std::vector<Timer> due;
  while (auto timer = timers.pop_due(clock, now)) due.push_back(*timer);
  return due;
}

LaneOptions with_timers(uint32_t lane, uint32_t lanes) {
  LaneOptions options = lane_options(lane, lanes, {});
  options.timer_operators = {"session", "window"};
  return options;
}

}  // namespace

TEST_CASE("timers come in time order, each once, by their own clock") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, with_timers(0, 1)));
  CHECK(lane->timers("other") == nullptr);
  TimerTable& timers = *lane->timers("window");
  CHECK(timers.next_due(TimerClock::kEvent) == INT64_MAX);
  timers.set(TimerClock::kEvent, "b", 20, 1);
  timers.set(TimerClock::kEvent, "a", 20, 1);
  timers.set(TimerClock::kEvent, "a", 20, 1);  // the same one
  timers.set(TimerClock::kEvent, "z", -5, 7);
  timers.set(TimerClock::kEvent, "a", 30, 1);
  timers.set(TimerClock::kEvent, "gone", 15, 1);
  timers.set(TimerClock::kProcessing, "p", 1, 1);
  CHECK(timers.erase(TimerClock::kEvent, "gone", 15, 1));
  CHECK_FALSE(timers.erase(TimerClock::kEvent, "gone", 15, 1));
  CHECK(timers.next_due(TimerClock::kEvent) == -5);
  CHECK(pop_all(timers, TimerClock::kEvent, 20) == std::vector<Timer>{{-5, "z", 7}, {20, "a", 1}, {20, "b", 1}});
  CHECK(timers.size() == 2);
  CHECK(lane->timers("session")->size() == 0);
}

TEST_CASE("timers survive a restore and follow their keys to other lanes") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  std::vector<LaneSource> sources;
  std::map<std::string, int64_t> expected;
  for (uint32_t l = 0; l < 2; ++l) {
    auto lane = must(LaneStore::open(dir / ("lane" + std::to_string(l)), resources, with_timers(l, 2)));
    for (int i = 0; i < 500; ++i) {
      const std::string key = "k" + std::to_string(i);
      if (lane_of_key_group(key_group(key, 128), 2, 128) != l) continue;
      lane->timers("window")->set(TimerClock::kEvent, key, 1000 - i * 3, 9);
      lane->timers("session")->set(TimerClock::kProcessing, key, i, 0);
      expected[key] = 1000 - i * 3;
    }
    if (l == 0) must(lane->flush());
    for (int i = 0; i < 500; i += 5) {  // also those that were flushed already
      const std::string key = "k" + std::to_string(i);
      if (lane->timers("window")->erase(TimerClock::kEvent, key, 1000 - i * 3, 9)) expected.erase(key);
    }
    sources.push_back(source_of(must(lane->snapshot(dir / ("snapshot" + std::to_string(l))))));
  }
  std::map<std::string, int64_t> found;
  for (uint32_t l = 0; l < 3; ++l) {
    RestoreReport report;
    auto lane =
        must(LaneStore::restore(dir / ("new" + std::to_string(l)), resources, with_timers(l, 3), sources, 2, &report));
    CHECK_FALSE(report.linked);
    CHECK(report.timers_restored > 0);
    int64_t last = INT64_MIN;
    for (const Timer& timer : pop_all(*lane->timers("window"), TimerClock::kEvent, INT64_MAX - 1)) {
      CHECK(timer.at_ms >= last);
      last = timer.at_ms;
      CHECK(timer.tag == 9);
      CHECK(lane_of_key_group(key_group(timer.key, 128), 3, 128) == l);
      CHECK(found.emplace(timer.key, timer.at_ms).second);
    }
  }
  CHECK(found == expected);
}

TEST_CASE("timers of an operator that is gone are refused unless dropped") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, with_timers(0, 1)));
  lane->timers("window")->set(TimerClock::kEvent, "k", 1, 1);
  lane->timers("session")->set(TimerClock::kEvent, "k", 1, 1);
  const LaneSource source = source_of(must(lane->snapshot(dir / "snapshot")));
  LaneOptions options = with_timers(0, 1);
  options.timer_operators = {"session"};
  const auto refused = LaneStore::restore(dir / "lane2", resources, options, {source}, 1);
  REQUIRE_FALSE(refused.is_ok());
  CHECK_THAT(refused.status().message(), Catch::Contains("\"window\"") && Catch::Contains("--drop-state window"));
  options.drop_states = {"window"};
  lane = must(LaneStore::restore(dir / "lane2", resources, options, {source}, 1));
  CHECK(lane->timers("session")->size() == 1);
  const LaneSource clean = source_of(must(lane->snapshot(dir / "snapshot2")));
  options.drop_states = {};
  lane = must(LaneStore::restore(dir / "lane3", resources, options, {clean}, 1));
  CHECK(lane->timers("session")->size() == 1);
}

TEST_CASE("timers that come and go between two flushes leave nothing behind") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, with_timers(0, 1)));
  TimerTable& timers = *lane->timers("window");
  const size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 100'000; ++i) {  // as a job with `checkpoint.interval: 0`
    timers.set(TimerClock::kEvent, "k" + std::to_string(i), i, 1);
    if (i % 2 == 0) CHECK(timers.pop_due(TimerClock::kEvent, i));
    else CHECK(timers.erase(TimerClock::kEvent, "k" + std::to_string(i), i, 1));
  }
  CHECK(::mallinfo2().uordblks < before + (1 << 20));
}

TEST_CASE("what a timer became after it was flushed is what a restore finds") {
  sluice::tests::TempFolder dir;
  StateResources resources;
  auto lane = must(LaneStore::open(dir / "lane", resources, with_timers(0, 1)));
  TimerTable& timers = *lane->timers("window");
  const auto set = [&](const std::string& key) { timers.set(TimerClock::kEvent, key, 1, 1); };
  const auto erase = [&](const std::string& key) { CHECK(timers.erase(TimerClock::kEvent, key, 1, 1)); };
  for (const char* key : {"stays", "gone", "again", "again and gone"}) set(key);
  set("never");
  erase("never");
  must(lane->flush());
  for (const char* key : {"gone", "again", "again and gone"}) erase(key);
  for (const char* key : {"again", "again and gone", "new", "new and gone"}) set(key);
  for (const char* key : {"again and gone", "new and gone"}) erase(key);
  const LaneSource source = source_of(must(lane->snapshot(dir / "snapshot")));
  lane = must(LaneStore::restore(dir / "restored", resources, with_timers(0, 1), {source}, 1));
  CHECK(pop_all(*lane->timers("window"), TimerClock::kEvent, 1) ==
        std::vector<Timer>{{1, "again", 1}, {1, "new", 1}, {1, "stays", 1}});
}
