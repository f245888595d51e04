#include "daily_dedup/daily_dedup.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sluice/testing/harness.hpp"

namespace {

using Harness = sluice::testing::Harness<sluice::daily_dedup::DailyDedup>;
using sluice::testing::InputRow;
using Texts = std::vector<std::string>;

constexpr int64_t kHour = 3600000;

InputRow row(int id, const std::string& user, const std::string& create_time, const std::string& operate_time = "") {
  return {R"({"id":)" + std::to_string(id) + R"(,"user_id":")" + user + R"(","create_time":")" + create_time +
              R"(","operate_time":)" + (operate_time.empty() ? "null" : "\"" + operate_time + "\"") + "}",
          {user}};
}
// A row with an event time alone.
InputRow at(int64_t ms, const std::string& user = "u1") { return {R"({"ts":)" + std::to_string(ms) + "}", {user, ms}}; }

std::vector<int> ids(Harness& h) {
  std::vector<int> out;
  for (const std::string& json : h.pull_json()) out.push_back(std::stoi(json.substr(json.find(':') + 1)));
  return out;
}

}  // namespace

TEST_CASE("ST-02: the first of each user and day") {
  Harness h("{}");
  h.open();
  h.push_batch({row(1, "u1", "2023-11-07 00:00:00"), row(2, "u1", "2023-11-07 00:00:01"),
                row(3, "u2", "2023-11-07 00:00:02"), row(4, "u1", "2023-11-08 00:00:00")});
  CHECK(ids(h) == std::vector<int>{1, 3, 4});
  CHECK(h.counter("passed") == 3);
  CHECK(h.counter("dropped_seen") == 1);
  CHECK(h.state_size("last_date") == 2);
  CHECK(h.state_size("days") == 0);
}

TEST_CASE("operate_time goes before create_time") {
  Harness h;
  h.open();
  h.push_batch({row(1, "u", "2023-11-07 10:00:00"), row(2, "u", "2023-11-07 10:00:00", "2023-11-08 10:00:00"),
                row(3, "u", "2023-11-08T11:00:00"), row(4, "u", "2023-11-08")});
  CHECK(ids(h) == std::vector<int>{1, 2});
}

TEST_CASE("ST-01: days that interleave") {
  const std::vector<InputRow> rows = {row(1, "m", "2023-11-06 23:59:59"), row(2, "m", "2023-11-07 00:00:01"),
                                      row(3, "m", "2023-11-06 23:59:58"), row(4, "m", "2023-11-07 00:01:40")};
  const bool one_batch = GENERATE(true, false);
  const auto passed = [&](const char* options) {
    Harness h(options);
    h.open();
    if (one_batch)
      h.push_batch(rows);
    else
      for (const InputRow& r : rows) h.push_batch({r});
    return ids(h);
  };
  CHECK(passed("{}") == std::vector<int>{1, 2, 3, 4});  // the course's rule
  CHECK(passed("{each_day: true}") == std::vector<int>{1, 2});
}

TEST_CASE("the date of the event time, in a zone") {
  Harness h("{date_fields: [], zone: Asia/Shanghai, each_day: true}");
  h.open();
  h.push_batch({at(1699286399000), at(1699286401000), at(1699286398000), at(1699286500000)});
  CHECK(h.pull_json() == Texts{R"({"ts":1699286399000})", R"({"ts":1699286401000})"});
  h.push(R"({"ts":1})", {"u1"});
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Catch::Contains("no event time"));

  CHECK_THROWS_WITH(Harness("{date_fields: [], zone: Asia/Beijing}").open(),
                    Catch::Contains("no time zone `Asia/Beijing`"));
  for (const char* zone : {"{zone: UTC}", "{zone: Mars/Base}", "{zone: Asia/Shanghai, date_fields: [create_time]}"})
    CHECK_THROWS_WITH(Harness(zone).open(), Catch::Contains("`zone` is used with `date_fields: []` only"));
  Harness without_zone("{date_fields: [], each_day: true}");
  without_zone.open();
  without_zone.push_batch({at(1699315199000), at(1699315200000)});  // midnight UTC
  CHECK(without_zone.pull().size() == 2);
}

TEST_CASE("days on which clocks are changed") {
  Harness h("{date_fields: [], zone: America/New_York}");
  h.open();
  // 5 November 2023 has 25 hours: 04:00Z to 05:00Z of the next day.
  const int64_t midnight = 1699156800000;
  h.push_batch({at(midnight - 1, "a"), at(midnight, "a"), at(midnight + 24 * kHour + kHour - 1, "a"),
                at(midnight + 25 * kHour, "a")});
  // Out of order over the change.
  h.push_batch({at(midnight + 10 * kHour, "b"), at(midnight + kHour, "b"), at(midnight + 24 * kHour, "b")});
  CHECK(h.pull().size() == 4);
  // 12 March 2023 has 23.
  const int64_t spring = 1678597200000;
  h.push_batch({at(spring, "c"), at(spring + 23 * kHour - 1, "c"), at(spring + 23 * kHour, "c")});
  CHECK(h.pull().size() == 2);
}

TEST_CASE("dates that are none") {
  Harness h;
  h.open();
  const Texts bad = {
      "2023-02-29 00:00:00", "2023-13-01", "2023-00-10", "2023-1-1", "20231107", "2023-11-07x", "", "hello",
      "2023/11/07 00:00:00", "2023-11-0"};
  for (const std::string& text : bad) h.push_batch({row(1, "u", text)});
  CHECK(h.rejected().size() == bad.size());
  CHECK(h.rejected()[0].reason == "field `create_time` is `2023-02-29 00:00:00`, not a date yyyy-MM-dd…");
  h.push(R"({"id":1})", {"u"});
  CHECK(h.rejected().back().reason == "no date: `operate_time`, `create_time` are missing or null");
  h.push(R"({"id":1,"create_time":1699286399000})", {"u"});
  CHECK(h.rejected().back().reason == "field `create_time` is a number, not a text yyyy-MM-dd…");
  h.push(R"({"id":1,"operate_time":"","create_time":"2023-11-07"})", {"u"});  // present, and wrong
  CHECK(h.rejected().size() == bad.size() + 3);
  CHECK(h.pull().empty());
  CHECK(h.state_size("last_date") == 0);
  h.push_batch({row(5, "u", "2024-02-29 00:00:00")});
  CHECK(ids(h) == std::vector<int>{5});
}

TEST_CASE("a bad row does not disturb its batch") {
  Harness h;
  h.open();
  h.push_batch({row(1, "u", "2023-11-07"), row(2, "u", "x"), row(3, "v", "2023-11-07"), row(4, "u", "2023-11-07")});
  CHECK(ids(h) == std::vector<int>{1, 3});
  REQUIRE(h.rejected().size() == 1);
}

TEST_CASE("ST-07: an empty key is a key") {
  Harness h;
  h.open();
  h.push_batch({row(1, "", "2023-11-07"), row(2, "u1", "2023-11-07"), row(3, "", "2023-11-07")});
  CHECK(ids(h) == std::vector<int>{1, 2});
}

TEST_CASE("time to live, on the wall clock") {
  SECTION("counted from the last record that passed") {
    Harness h("{ttl: 1d}");
    h.open();
    h.push_batch({row(1, "u", "2023-11-07")});
    h.advance(23 * kHour);
    h.push_batch({row(2, "u", "2023-11-08")});  // renews it
    h.advance(23 * kHour);
    h.push_batch({row(3, "u", "2023-11-08")});
    h.advance(2 * kHour);
    h.push_batch({row(4, "u", "2023-11-08")});  // forgotten
    CHECK(ids(h) == std::vector<int>{1, 2, 4});
  }
  SECTION("a dropped record does not renew it") {
    Harness h("{ttl: 10h}");
    h.open();
    h.push_batch({row(1, "u", "2023-11-07")});
    h.advance(9 * kHour);
    h.push_batch({row(2, "u", "2023-11-07")});
    h.advance(2 * kHour);
    h.push_batch({row(3, "u", "2023-11-07")});
    CHECK(ids(h) == std::vector<int>{1, 3});
  }
  SECTION("each day for itself") {
    Harness h("{ttl: 1d, each_day: true}");
    h.open();
    h.push_batch({row(1, "u", "2023-11-07")});
    h.advance(20 * kHour);
    h.push_batch({row(2, "u", "2023-11-08"), row(3, "u", "2023-11-07")});
    CHECK(h.state_size("days") == 2);
    h.advance(5 * kHour);
    CHECK(h.state_size("days") == 1);
    h.push_batch({row(4, "u", "2023-11-08")});
    CHECK(ids(h) == std::vector<int>{1, 2});
  }
  CHECK_THROWS_WITH(Harness("{ttl: 0s}").open(), Catch::Contains("longer than 0"));
}

TEST_CASE("time to live, on the watermark") {
  Harness h("{ttl: 1d, ttl_clock: event}");
  h.open();
  h.watermark(0);
  h.push_batch({row(1, "u", "2023-11-07")});
  h.advance(100 * kHour);  // of no importance
  h.push_batch({row(2, "u", "2023-11-07")});
  h.watermark(25 * kHour);
  h.push_batch({row(3, "u", "2023-11-07")});
  CHECK(ids(h) == std::vector<int>{1, 3});
}

TEST_CASE("what passed before the checkpoint is known after a crash, what came later is read again") {
  const std::string options = GENERATE(as<std::string>{}, "{}", "{each_day: true}");
  Harness h(options);
  h.open();
  h.push_batch({row(1, "u1", "2023-11-07")});
  h.checkpoint();
  h.push_batch({row(2, "u2", "2023-11-07")});
  h.pull();
  h.crash();
  h.restore();
  h.push_batch({row(2, "u2", "2023-11-07"), row(3, "u1", "2023-11-07"), row(4, "u1", "2023-11-08")});
  CHECK(ids(h) == std::vector<int>{2, 4});
}

TEST_CASE("batches do not matter, and both rules agree with their definitions") {
  const bool each_day = GENERATE(false, true);
  const unsigned seed = 20231107;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<InputRow> rows;
  std::vector<int> expected;
  std::map<std::string, std::string> last;
  std::set<std::pair<std::string, std::string>> seen;
  for (int i = 0; i < 4000; ++i) {
    const std::string user = "user" + std::to_string(random() % 40),
                      day = "2023-11-" + std::to_string(10 + random() % 4);
    rows.push_back(row(i, user, day + " 12:00:00"));
    if (each_day ? seen.insert({user, day}).second : last[user] != day) expected.push_back(i);
    last[user] = day;
  }
  for (const size_t size : {size_t{1}, size_t{7}, size_t{1000}, size_t{4000}}) {
    Harness h(each_day ? "{each_day: true}" : "{}");
    h.open();
    for (size_t i = 0; i < rows.size(); i += size)
      h.push_batch({rows.begin() + static_cast<std::ptrdiff_t>(i),
                    rows.begin() + static_cast<std::ptrdiff_t>(std::min(i + size, rows.size()))});
    CHECK(ids(h) == expected);
  }
}
