#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>

#include "window_harness.h"

using namespace window_test;

namespace {

constexpr const char* kIdle =
    "{size: 10s, aggregates: {n: count}, time_format: epoch_ms, close_windows_when_idle: 30s}";

std::unique_ptr<Harness> phase(const char* options, uint32_t role, uint32_t lane, uint32_t lanes) {
  auto h = std::make_unique<Harness>(options);
  h->set_role(role);
  h->set_lane(lane, lanes);
  h->open();
  return h;
}
// What the first phase gave goes to the second one.
void hand_on(Harness& from, Harness& to) {
  std::vector<InputRow> rows;
  for (auto& r : from.pull()) rows.push_back({r.json, {std::nullopt, r.event_time}});
  if (!rows.empty()) to.push_batch(rows);
}

}  // namespace

TEST_CASE("two phases give what one gives") {
  const char* options =
      "{size: 10s, group_by: [k], version_column: '', aggregates: {n: count, c: count(v), s: sum(v), a: min(v), b: "
      "max(v), m: avg(v)}}";
  const unsigned seed = 5;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<InputRow> rows;
  for (int i = 0; i < 1000; ++i) {
    const Texts values = {"null", "1", "1.0", "\"2.50\"", "1e3", "-7", "9e99", std::to_string(random() % 100)};
    rows.push_back(row(static_cast<int64_t>(random() % 50), R"({"k":"组)" + std::to_string(random() % 4) + R"(","v":)" +
                                                                values[random() % values.size()] + "}"));
  }
  auto one = phase(options, SLUICE_ROLE_COMPLETE, 0, 1);
  one->push_batch(rows);
  one->watermark(at(20));
  Texts expected = one->pull_json();
  one->watermark(SLUICE_END_OF_TIME);
  for (auto& json : one->pull_json()) expected.push_back(json);
  CHECK(expected.size() == 20);

  const uint32_t lanes = GENERATE(1u, 2u, 4u);
  auto merge = phase(options, SLUICE_ROLE_MERGE, 0, 1);
  std::vector<std::unique_ptr<Harness>> parts;
  for (uint32_t lane = 0; lane < lanes; ++lane) parts.push_back(phase(options, SLUICE_ROLE_PARTIAL, lane, lanes));
  for (size_t i = 0; i < rows.size(); ++i) parts[random() % lanes]->push_batch({rows[i]});
  Texts got;
  for (const int64_t watermark : {at(20), SLUICE_END_OF_TIME}) {
    for (auto& part : parts) {
      part->checkpoint();
      part->crash();
      part->restore();
      part->watermark(watermark);
      hand_on(*part, *merge);
    }
    CHECK(merge->pull().empty());
    merge->checkpoint();
    merge->crash();
    merge->restore();
    merge->watermark(watermark);
    for (auto& json : merge->pull_json()) got.push_back(json);
  }
  CHECK(got == expected);
  for (auto& part : parts) {
    part->checkpoint();
    CHECK(part->state_size("windows") == 0);
    CHECK(part->counters().empty());
  }
}

TEST_CASE("late rows are handled in the first phase") {
  auto part = phase("{size: 10s, aggregates: {n: count}, late: output}", SLUICE_ROLE_PARTIAL, 1, 2);
  part->watermark(at(10));
  part->push_batch({row(5, R"({"id":5})"), row(11)});
  CHECK(part->pull_json(1) == Texts{R"({"id":5})"});
  CHECK(part->counter("late_output") == 1);
}

TEST_CASE("the first phase hands on when the sources are idle, the second one corrects") {
  auto part = phase(kIdle, SLUICE_ROLE_PARTIAL, 0, 2), merge = phase(kIdle, SLUICE_ROLE_MERGE, 0, 1);
  part->set_now(at(100));
  merge->set_now(at(100));
  part->push_batch({row(0), row(1)});
  part->idle(at(50));
  hand_on(*part, *merge);
  merge->idle(at(50));
  CHECK(merge->pull_json() == Texts{result(0, 2, at(100))});
  part->checkpoint();
  CHECK(part->state_size("windows") == 0);
  part->push_batch({row(2)});
  part->watermark(at(10));
  hand_on(*part, *merge);
  merge->watermark(at(10));
  CHECK(merge->pull_json() == Texts{result(0, 3, at(100) + 1)});
  CHECK(merge->counter("corrections") == 1);
}

TEST_CASE("a checkpoint is restored with other lanes") {
  SECTION("one lane becomes two: the first phase goes on with the open windows") {
    Harness h(kCount);
    h.open();
    h.push_batch({row(0), row(1)});
    h.checkpoint();
    h.crash();
    h.set_role(SLUICE_ROLE_PARTIAL);
    h.set_lane(0, 2);
    h.restore();
    h.push_batch({row(2)});
    h.checkpoint();
    CHECK(h.state_size("windows") == 1);  // under its new name only
    h.watermark(at(10));
    auto merge = phase(kCount, SLUICE_ROLE_MERGE, 0, 1);
    hand_on(h, *merge);
    merge->watermark(at(10));
    CHECK(merge->pull_json() == Texts{result(0, 3, merge->now())});
    h.checkpoint();
    CHECK(h.state_size("windows") == 0);
  }
  SECTION("an idle-closed window of one lane: a late part of another lane corrects the whole") {
    Harness h(kIdle);
    h.open();
    h.set_now(at(100));
    h.push_batch({row(0), row(1)});
    h.idle(at(50));
    CHECK(h.pull().size() == 1);
    h.checkpoint();
    h.crash();
    h.set_role(SLUICE_ROLE_PARTIAL);
    h.set_lane(0, 2);
    h.restore();
    auto other = phase(kIdle, SLUICE_ROLE_PARTIAL, 1, 2), merge = phase(kIdle, SLUICE_ROLE_MERGE, 0, 1);
    merge->set_now(at(20));
    other->push_batch({row(2)});
    for (Harness* part : {&h, other.get()}) {
      part->watermark(at(10));
      hand_on(*part, *merge);
    }
    merge->watermark(at(10));
    CHECK(merge->pull_json() == Texts{result(0, 3, at(100) + 1)});
  }
  SECTION("lane 1 becomes lane 0, also when both have the same window") {
    Harness h(kCount);
    h.set_role(SLUICE_ROLE_PARTIAL);
    h.set_lane(1, 2);
    h.open();
    h.push_batch({row(0)});
    h.checkpoint();
    h.crash();
    // Given the first phase's state, the second one leaves its entries alone and adds its own.
    h.set_role(SLUICE_ROLE_MERGE);
    h.set_lane(0, 1);
    h.restore();
    h.watermark(at(5));
    CHECK(h.pull().empty());
    auto part = phase(kCount, SLUICE_ROLE_PARTIAL, 0, 2);
    part->push_batch({row(1), row(2)});
    part->watermark(at(10));
    hand_on(*part, h);
    h.checkpoint();
    CHECK(h.state_size("windows") == 2);
    h.crash();
    // Now one lane for all: both entries are one window.
    h.set_role(SLUICE_ROLE_COMPLETE);
    h.restore();
    h.push_batch({row(3)});
    h.checkpoint();
    CHECK(h.state_size("windows") == 1);
    h.crash();
    h.restore();
    h.watermark(at(10));
    CHECK(h.pull_json() == Texts{result(0, 4, h.now())});
    h.checkpoint();
    CHECK(h.state_size("windows") == 0);
  }
}
