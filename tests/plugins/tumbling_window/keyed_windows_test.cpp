#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "window_harness.h"

using namespace window_test;

namespace {

constexpr const char* kByUser =
    "{size: 10s, aggregates: {n: count, s: sum(v)}, group_by: [u], version_column: '', end_column: '', start_column: "
    "w, time_format: epoch_ms}";
std::string user_row(const std::string& user, int v) {
  return R"({"u":")" + user + R"(","v":)" + std::to_string(v) + "}";
}
std::string user_result(int64_t second, const std::string& user, int n, int s) {
  return R"({"w":)" + std::to_string(at(second)) + R"(,"u":")" + user + R"(","n":)" + std::to_string(n) + R"(,"s":)" +
         std::to_string(s) + "}";
}

}  // namespace

TEST_CASE("each key has windows of its own") {
  Harness h(kByUser);
  h.open();
  h.push_batch({keyed("a", 0, user_row("a", 1)), keyed("b", 5, user_row("b", 2)), keyed("a", 9, user_row("a", 3)),
                keyed("a", 10, user_row("a", 4))});
  CHECK(h.timers() == 3);
  h.watermark(at(10));
  CHECK(h.pull_json() == Texts{user_result(0, "a", 2, 4), user_result(0, "b", 1, 2)});
  h.push_batch({keyed("b", 3, user_row("b", 1))});
  CHECK(h.counter("late_dropped") == 1);
  h.watermark(SLUICE_END_OF_TIME);
  CHECK(h.pull_json() == Texts{user_result(10, "a", 1, 4)});
  h.checkpoint();
  CHECK(h.state_size("windows") == 0);
  // That window the end has closed, not the watermark: a later run may be given more rows.
  CHECK(h.state_size("keyed_windows") == 1);
  CHECK(h.timers() == 1);
  h.crash();
  h.restore();
  h.push_batch({keyed("a", 12, user_row("a", 6)), keyed("b", 21, user_row("b", 1))});
  h.watermark(at(20));
  CHECK(h.pull_json() == Texts{user_result(10, "a", 2, 10)});
  CHECK(h.counter("corrections") == 1);
  h.watermark(at(30));
  CHECK(h.pull_json() == Texts{user_result(20, "b", 1, 1)});
  h.checkpoint();
  CHECK(h.state_size("keyed_windows") == 0);
  CHECK(h.timers() == 0);
}

TEST_CASE("keyed windows go on after a crash") {
  const std::string options = GENERATE(as<std::string>{}, kByUser,
                                       "{size: 10s, aggregates: {n: count, s: sum(v)}, version_column: '', end_column: "
                                       "'', start_column: w, time_format: epoch_ms}");
  const bool grouped = options == kByUser;
  Harness h(options);
  h.open();
  h.push_batch({keyed("a", 0, user_row("a", 1)), keyed("b", 5, user_row("b", 2)), keyed("a", 15, user_row("a", 3))});
  h.checkpoint();
  CHECK(h.state_size("keyed_windows") == 3);
  h.push_batch({keyed("a", 1, user_row("a", 100)), keyed("c", 1, user_row("c", 100))});
  h.crash();
  h.restore();
  h.push_batch({keyed("a", 2, user_row("a", 10))});
  h.watermark(at(10));
  const Texts got = h.pull_json();
  REQUIRE(got.size() == 2);
  CHECK(got[0] == (grouped ? user_result(0, "a", 2, 11) : R"({"w":)" + std::to_string(at(0)) + R"(,"n":2,"s":11})"));
  CHECK(got[1] == (grouped ? user_result(0, "b", 1, 2) : R"({"w":)" + std::to_string(at(0)) + R"(,"n":1,"s":2})"));
  h.checkpoint();
  CHECK(h.state_size("keyed_windows") == 1);
  h.crash();
  h.restore();
  h.watermark(SLUICE_END_OF_TIME);
  CHECK(h.pull().size() == 1);
}

TEST_CASE("a row that is refused leaves no window behind") {
  Harness h(kByUser);
  h.open();
  h.push_batch({keyed("a", 0, R"({"u":"a","v":"x"})")});
  CHECK(h.rejected().size() == 1);
  h.watermark(at(10));
  CHECK(h.pull().empty());
  h.checkpoint();
  CHECK(h.state_size("keyed_windows") == 0);
}

TEST_CASE("more keys than are kept in memory") {
  Harness h("{size: 10s, aggregates: {n: count}, version_column: '', time_format: epoch_ms, windows_in_memory: 100}");
  h.open();
  const int keys = 400;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < keys; i += 40) {
      std::vector<InputRow> rows;
      for (int k = i; k < i + 40; ++k) rows.push_back(keyed("user" + std::to_string(k), 5));
      h.push_batch(rows);
    }
  CHECK(h.state_size("keyed_windows") > 0);  // without a checkpoint
  h.watermark(at(10));
  const Texts got = h.pull_json();
  CHECK(got.size() == static_cast<size_t>(keys));
  const auto wrong = std::count_if(got.begin(), got.end(),
                                   [](const std::string& json) { return json.find(R"("n":2})") == std::string::npos; });
  CHECK(wrong == 0);
  h.checkpoint();
  CHECK(h.state_size("keyed_windows") == 0);
}

TEST_CASE("keyed windows close on the wall clock when the sources are idle") {
  Harness h("{size: 10s, aggregates: {n: count}, time_format: epoch_ms, close_windows_when_idle: 30s}");
  h.open();
  h.set_now(at(5));
  h.push_batch({keyed("a", 0), keyed("b", 1)});
  h.set_now(at(45));
  CHECK(h.fire_timers() == 2);  // not idle: looked at again later
  CHECK(h.pull().empty());
  h.idle(at(20));
  h.set_now(at(70));
  CHECK(h.fire_timers() == 2);
  CHECK(h.pull_json() == Texts{result(0, 1, at(70)), result(0, 1, at(70))});
  h.checkpoint();
  h.crash();
  h.set_now(at(40));  // set back
  h.restore();
  h.push_batch({keyed("a", 2)});
  h.watermark(at(10));
  CHECK(h.pull_json() == Texts{result(0, 2, at(70) + 1)});
  CHECK(h.counter("corrections") == 1);
  h.checkpoint();
  CHECK(h.state_size("keyed_windows") == 0);
}

TEST_CASE("keyed and global windows agree") {
  const unsigned seed = 99;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<InputRow> rows;
  for (int i = 0; i < 2000; ++i) {
    const std::string user = "u" + std::to_string(random() % 20);
    rows.push_back(
        keyed(user, static_cast<int64_t>(random() % 100), user_row(user, static_cast<int>(random() % 1000))));
  }
  const auto run = [&](bool with_key, bool crash) {
    Harness h(kByUser);
    h.open();
    Texts out;
    for (size_t i = 0; i < rows.size(); i += 100) {
      std::vector<InputRow> batch(rows.begin() + static_cast<std::ptrdiff_t>(i),
                                  rows.begin() + static_cast<std::ptrdiff_t>(i + 100));
      if (!with_key)
        for (InputRow& r : batch) r.meta.key.reset();
      h.push_batch(batch);
      if (crash) {
        h.checkpoint();
        h.crash();
        h.restore();
      }
    }
    h.watermark(SLUICE_END_OF_TIME);
    out = h.pull_json();
    std::sort(out.begin(), out.end());
    return out;
  };
  const Texts expected = run(false, false);
  CHECK(expected.size() == 200);
  CHECK(run(true, false) == expected);
  CHECK(run(true, true) == expected);
  CHECK(run(false, true) == expected);
}
