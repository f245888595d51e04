#include "tumbling_window/tumbling_window.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <random>

#include "window_harness.h"

using namespace window_test;

TEST_CASE("job DWS: users per window") {
  Harness h("{size: 10s, zone: Asia/Shanghai, aggregates: {cart_add_uu_ct: count}}");
  h.open();
  h.set_now(1700000000000);
  h.push_batch({row(0), row(9), row(10), row(31)});
  h.watermark(at(9));
  CHECK(h.pull().empty());
  h.watermark(at(10));
  const auto rows = h.pull();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].json ==
        R"({"stt":"2023-11-07 00:00:00","edt":"2023-11-07 00:00:10","cart_add_uu_ct":2,"ts":1700000000000})");
  CHECK(rows[0].event_time == at(10) - 1);
  h.set_now(1700000000777);
  h.watermark(SLUICE_END_OF_TIME);  // a window without rows gives none
  CHECK(h.pull_json() ==
        Texts{R"({"stt":"2023-11-07 00:00:10","edt":"2023-11-07 00:00:20","cart_add_uu_ct":1,"ts":1700000000777})",
              R"({"stt":"2023-11-07 00:00:30","edt":"2023-11-07 00:00:40","cart_add_uu_ct":1,"ts":1700000000777})"});
  CHECK(h.counter("results") == 3);
}

TEST_CASE("WM-04: the final watermark closes the last window") {
  Harness h(kCount);
  h.open();
  h.push_batch({row(0), row(1), row(11), row(12)});
  h.watermark(SLUICE_END_OF_TIME);
  CHECK(h.pull_json() == Texts{result(0, 2, h.now()), result(10, 2, h.now())});
}

TEST_CASE("WM-07: late rows") {
  const std::vector<InputRow> rows = {row(0), row_after(-2, 12), row_after(10, 5, R"({"id":5})"), row_after(10, 11),
                                      row_after(10, 22)};
  SECTION("dropped and counted") {
    Harness h(kCount);
    h.open();
    h.push_batch(rows);
    h.watermark(at(20));
    CHECK(h.pull_json() == Texts{result(0, 1, h.now()), result(10, 2, h.now())});
    CHECK(h.counter("late_dropped") == 1);
    CHECK(h.rejected().empty());
  }
  SECTION("dead letters") {
    Harness h("{size: 10s, aggregates: {n: count}, late: dead_letter}");
    h.open();
    h.push_batch(rows);
    REQUIRE(h.rejected().size() == 1);
    CHECK(h.rejected()[0].json == R"({"id":5})");
    CHECK(h.rejected()[0].reason ==
          "late: its window [2023-11-06 16:00:00, 2023-11-06 16:00:10) is closed; the row is 5000 ms behind the "
          "watermark");
    CHECK(h.counter("late_dead_letter") == 1);
  }
  SECTION("output") {
    Harness h("{size: 10s, aggregates: {n: count}, late: output}");
    h.open();
    h.push_batch(rows);
    h.watermark(at(20));
    CHECK(h.pull_json(1) == Texts{R"({"id":5})"});
    CHECK(h.pull().size() == 2);
    CHECK(h.counter("late_output") == 1);
  }
}

TEST_CASE("WM-09: days in a zone, whatever the machine's zone is") {
  const std::string machine = GENERATE(as<std::string>{}, "UTC", "America/New_York");
  ::setenv("TZ", machine.c_str(), 1);
  Harness h("{size: 1d, zone: Asia/Shanghai, aggregates: {n: count}, version_column: ''}");
  h.open();
  h.push_batch({row(-1), row(0), row(86400)});
  h.watermark(SLUICE_END_OF_TIME);
  CHECK(h.pull_json() == Texts{R"({"stt":"2023-11-06 00:00:00","edt":"2023-11-07 00:00:00","n":1})",
                               R"({"stt":"2023-11-07 00:00:00","edt":"2023-11-08 00:00:00","n":1})",
                               R"({"stt":"2023-11-08 00:00:00","edt":"2023-11-09 00:00:00","n":1})"});
  ::unsetenv("TZ");
}

TEST_CASE("a day of 25 hours") {
  Harness h("{size: 1d, zone: America/New_York, aggregates: {n: count}, version_column: ''}");
  h.open();
  const int64_t midnight = 1699156800000, hour = 3600000;
  std::vector<InputRow> rows;
  for (int i = -1; i <= 25; ++i) rows.push_back({"{}", {std::nullopt, midnight + i * hour}});
  h.push_batch(rows);
  h.watermark(SLUICE_END_OF_TIME);
  CHECK(h.pull_json() == Texts{R"({"stt":"2023-11-04 00:00:00","edt":"2023-11-05 00:00:00","n":1})",
                               R"({"stt":"2023-11-05 00:00:00","edt":"2023-11-06 00:00:00","n":25})",
                               R"({"stt":"2023-11-06 00:00:00","edt":"2023-11-07 00:00:00","n":1})"});
}

TEST_CASE("WM-10: old data is as good as new") {
  Harness h(kCount);
  h.open();
  h.set_now(1800000000000);
  std::vector<InputRow> rows;
  for (int i = 0; i < 100; ++i) rows.push_back({"{}", {std::nullopt, 1667750400000 + i * 1000}});
  h.push_batch(rows);
  h.watermark(1667750513000 - 2000);
  CHECK(h.pull().size() == 10);
  CHECK(h.counter("late_dropped") == 0);
}

TEST_CASE("aggregates, as in SQL and exact") {
  Harness h(
      "{size: 10s, start_column: '', end_column: '', version_column: '', aggregates: {rows: count, some: count(v), "
      "total: sum(v), least: min(v), most: max(v), mean: avg(v)}}");
  h.open();
  SECTION("digits are kept") {
    h.push_batch({row(0, R"({"v":20.00})"), row(1, R"({"v":"0.1"})"), row(2, R"({"v":null})"), row(3, "{}"),
                  row(4, R"({"v":-3})")});
    h.watermark(at(10));
    CHECK(h.pull_json() == Texts{R"({"rows":5,"some":3,"total":17.10,"least":-3,"most":20.00,"mean":5.70000000})"});
  }
  SECTION("of no value") {
    h.push_batch({row(0, R"({"v":null})")});
    h.watermark(at(10));
    CHECK(h.pull_json() == Texts{R"({"rows":1,"some":0,"total":null,"least":null,"most":null,"mean":null})"});
  }
  SECTION("large numbers") {
    h.push_batch(
        {row(0, R"({"v":18446744073709551615})"), row(1, R"({"v":9007199254740993})"), row(1, R"({"v":1e30})")});
    h.watermark(at(10));
    CHECK(
        h.pull_json() ==
        Texts{
            R"({"rows":3,"some":3,"total":1000000000018455751272964292608,"least":9007199254740993,"most":1000000000000000000000000000000,"mean":333333333339485250424321430869.333333})"});
  }
  SECTION("what is no number is refused, and nothing of its row is counted") {
    for (const char* v : {R"("abc")", "true", "[1]", "{}", R"("")", R"(" 1")", R"("1e2000")"})
      h.push_batch({row(0, std::string(R"({"v":)") + v + "}")});
    h.push_batch({row(0, R"({"v":1})")});
    h.watermark(at(10));
    CHECK(h.pull_json() == Texts{R"({"rows":1,"some":1,"total":1,"least":1,"most":1,"mean":1.000000})"});
    REQUIRE(h.rejected().size() == 7);
    CHECK(h.rejected()[0].reason == "sum(v): `abc` is not a number");
    CHECK(h.rejected()[1].reason == "sum(v): `true` is not a number");
  }
}

TEST_CASE("groups") {
  Harness h(
      "{size: 10s, start_column: w, end_column: '', version_column: '', time_format: epoch_ms, group_by: [sku.id, "
      "color], aggregates: {n: count}}");
  h.open();
  h.push_batch({row(0, R"({"sku":{"id":7},"color":"红"})"), row(1, R"({"sku":{"id":"7"},"color":"红"})"),
                row(2, R"({"color":null})"), row(3, "{}"), row(4, R"({"sku":{"id":7},"color":"红"})"),
                row(5, R"({"sku":{"id":{}},"color":1})"), row(6, R"({"sku":{"id":true},"color":1.50})"),
                row(11, R"({"sku":{"id":7},"color":"红"})")});
  h.watermark(at(20));
  const std::string w = std::to_string(at(0));
  Texts got = h.pull_json();
  CHECK(got ==
        Texts{R"({"w":)" + w + R"(,"id":true,"color":1.50,"n":1})", R"({"w":)" + w + R"(,"id":7,"color":"红","n":2})",
              R"({"w":)" + w + R"(,"id":"7","color":"红","n":1})", R"({"w":)" + w + R"(,"id":null,"color":null,"n":2})",
              R"({"w":)" + std::to_string(at(10)) + R"(,"id":7,"color":"红","n":1})"});
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.rejected()[0].reason == "field `sku.id` is an object; rows cannot be grouped by it");
}

TEST_CASE("rows without a time, or with one that cannot be") {
  Harness h(kCount);
  h.open();
  h.push("{}");
  h.push("{}", {std::nullopt, 253402300800000});
  h.push("{}", {std::nullopt, INT64_MAX});
  h.push("{}", {std::nullopt, INT64_MIN + 1});
  CHECK(h.rejected().size() == 4);
  CHECK(h.rejected()[0].reason == "the row has no event time");
  CHECK(h.rejected()[1].reason == "event time 253402300800000 ms is not in the years 0 to 9999");
  h.watermark(SLUICE_END_OF_TIME);
  CHECK(h.pull().empty());
}

TEST_CASE("what comes out does not depend on where batches end") {
  const unsigned seed = 42;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<InputRow> rows;
  int64_t newest = 0, watermark = -1000;
  for (int i = 0; i < 3000; ++i) {
    const int64_t second = i / 10 + static_cast<int64_t>(random() % 8) - 5;
    const std::string json = R"({"k":)" + std::to_string(random() % 3) + R"(,"v":)" + std::to_string(random() % 1000) +
                             "." + std::to_string(random() % 100) + "}";
    rows.push_back(row_after(watermark, second, json));
    newest = std::max(newest, second);
    watermark = newest - 2;
  }
  const auto run = [&](size_t size, int64_t* late) {
    Harness h(
        "{size: 10s, group_by: [k], version_column: '', aggregates: {n: count, s: sum(v), a: min(v), b: max(v), m: "
        "avg(v)}}");
    h.open();
    Texts out;
    for (size_t i = 0; i < rows.size(); i += size) {
      const size_t end = std::min(i + size, rows.size());
      h.push_batch({rows.begin() + static_cast<std::ptrdiff_t>(i), rows.begin() + static_cast<std::ptrdiff_t>(end)});
      if (end < rows.size()) h.watermark(*rows[end].meta.watermark);
      for (std::string& json : h.pull_json()) out.push_back(std::move(json));
    }
    h.watermark(SLUICE_END_OF_TIME);
    for (std::string& json : h.pull_json()) out.push_back(std::move(json));
    *late = h.counter("late_dropped");
    return out;
  };
  int64_t late_one = 0, late_many = 0;
  const Texts one = run(1, &late_one);
  CHECK(late_one > 10);
  for (const size_t size : {size_t{3}, size_t{1000}, size_t{3000}}) {
    CHECK(run(size, &late_many) == one);
    CHECK(late_many == late_one);
  }
}

TEST_CASE("WM-05: a checkpoint in the middle of windows") {
  Harness h(
      "{size: 10s, time_format: epoch_ms, group_by: [k], version_column: '', start_column: '', aggregates: {n: count, "
      "s: sum(v)}}");
  h.open();
  h.push_batch({row(0, R"({"k":"a","v":0.5})"), row(1, R"({"k":"b","v":1})"), row(11, R"({"k":"a","v":2})")});
  h.checkpoint();
  CHECK(h.pull().empty());
  CHECK(h.state_size("windows") == 3);
  h.push_batch({row(2, R"({"k":"a","v":100})"), row(21, R"({"k":"c","v":100})")});  // lost and read again
  h.crash();
  h.restore();
  h.push_batch({row(2, R"({"k":"a","v":0.25})")});
  h.watermark(at(10));
  CHECK(h.pull_json() == Texts{R"({"edt":)" + std::to_string(at(10)) + R"(,"k":"a","n":2,"s":0.75})",
                               R"({"edt":)" + std::to_string(at(10)) + R"(,"k":"b","n":1,"s":1})"});
  h.checkpoint();
  CHECK(h.state_size("windows") == 1);  // a closed window leaves nothing
  h.crash();
  h.restore();
  h.watermark(SLUICE_END_OF_TIME);
  CHECK(h.pull_json() == Texts{R"({"edt":)" + std::to_string(at(20)) + R"(,"k":"a","n":1,"s":2})"});
  h.checkpoint();
  CHECK(h.state_size("windows") == 1);  // what the end has closed, not the watermark, can get rows in a later run
  h.crash();
  h.restore();
  h.push_batch({row(12, R"({"k":"a","v":3})")});
  h.watermark(at(20));
  CHECK(h.pull_json() == Texts{R"({"edt":)" + std::to_string(at(20)) + R"(,"k":"a","n":2,"s":5})"});
  h.checkpoint();
  CHECK(h.state_size("windows") == 0);
}

TEST_CASE("a sum that is longer than any number that is taken comes through a checkpoint") {
  Harness h("{size: 10s, version_column: '', start_column: '', end_column: '', time_format: epoch_ms, aggregates: {s: sum(v), a: avg(v)}}");
  h.open();
  const std::string nines(100, '9');
  h.push_batch({row(0, R"({"v":9e99})"), row(1, R"({"v":9e99})")});
  h.checkpoint();
  h.crash();
  h.restore();
  h.push_batch({row(2, R"({"v":9e99})"), row(11, R"({"v":-)" + nines + "}"), row(12, R"({"v":-)" + nines + "}"), row(13, R"({"v":1e100})")});
  CHECK(h.rejected().size() == 1);  // that number itself is too long
  h.checkpoint();
  h.crash();
  h.restore();
  h.watermark(SLUICE_END_OF_TIME);
  const std::string zeros(99, '0');
  CHECK(h.pull_json() == Texts{R"({"s":27)" + zeros + R"(,"a":9)" + zeros + ".000000}",
                               R"({"s":-1)" + std::string(99, '9') + R"(8,"a":-)" + nines + ".000000}"});
}

TEST_CASE("state of other options is refused with the reason") {
  Harness h(kCount);
  h.open();
  h.push_batch({row(0)});
  h.checkpoint();
  SECTION("written by the same options it is read") {
    h.crash();
    h.restore();
    h.watermark(at(10));
    CHECK(h.pull().size() == 1);
  }
  using sluice::tumbling_window::Accumulator;
  Accumulator a, b;
  a.cells.resize(2);
  CHECK(b.read(a.write("00ff"), "00ff", 2).empty());
  CHECK_THAT(b.read(a.write("00ff"), "00fe", 2), Catch::Contains("written with other options"));
  CHECK_FALSE(b.read(a.write("00ff"), "00ff", 3).empty());
  CHECK_FALSE(b.read(a.write("00ff"), "00ff", 1).empty());
  CHECK_FALSE(b.read("", "00ff", 1).empty());
}

TEST_CASE("options that cannot be") {
  const auto refusal = [](const char* options) -> std::string {
    try {
      Harness(options).open();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK_THAT(refusal("{size: 0s, aggregates: {n: count}}"), Catch::Contains("`size`"));
  CHECK_THAT(refusal("{size: 10s, offset: 10s, aggregates: {n: count}}"), Catch::Contains("`offset`"));
  CHECK_THAT(refusal("{size: 10s, zone: Nowhere, aggregates: {n: count}}"), Catch::Contains("no time zone `Nowhere`"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {}}"), Catch::Contains("nothing to compute"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {n: sum}}"), Catch::Contains("needs a field: `sum(field)`"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {n: median(x)}}"), Catch::Contains("expected `count`"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {n: sum(x}}"), Catch::Contains("no `)`"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {n: sum()}}"), Catch::Contains("no field"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {stt: count}}"),
             Catch::Contains("two result columns would be named `stt`"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {n: count}, group_by: [a.x, b.x]}"),
             Catch::Contains("two result columns would be named `x`"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {n: count}, time_format: YYYY}"), Catch::Contains("`YYYY`"));
  CHECK_THAT(refusal("{size: 10s, aggregates: {n: count}, close_windows_when_idle: 0s}"),
             Catch::Contains("close_windows_when_idle"));
  CHECK(refusal("{size: 10s, aggregates: {n: 'count(*)'}}") == "accepted");
}
