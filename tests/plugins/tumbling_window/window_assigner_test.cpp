#include "tumbling_window/window_assigner.h"

#include <catch2/catch.hpp>
#include <string>

#include "tumbling_window/time_text.h"

namespace {

using namespace sluice::tumbling_window;

constexpr int64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

struct Zoned {
  LocalZone zone;
  WindowAssigner assigner;
  TimeText text;
  Zoned(const std::string& name, int64_t size, int64_t offset = 0) : assigner(size, offset, &zone) {
    REQUIRE(zone.set(name));
    REQUIRE(text.set("yyyy-MM-dd HH:mm:ss").empty());
  }
  std::string at(int64_t time) {
    const Window w = assigner.at(time);
    CHECK(w.contains(time));
    return text.write(w.start, &zone) + " - " + text.write(w.end, &zone) + " " +
           std::to_string((w.end - w.start) / kMinute) + "m";
  }
};

// All windows that touch [from, to) follow each other without gaps, and every moment of one is assigned to it.
void check_cover(const std::string& zone, int64_t size, int64_t offset, int64_t from, int64_t to) {
  INFO(zone << " size " << size << " offset " << offset);
  Zoned z(zone, size, offset);
  Window w = z.assigner.at(from);
  while (w.end < to) {
    REQUIRE(w.start < w.end);
    for (const int64_t t : {w.start, w.start + (w.end - w.start) / 2, w.end - 1}) {
      Zoned fresh(zone, size, offset);
      const Window again = fresh.assigner.at(t);
      REQUIRE(again.start == w.start);
      REQUIRE(again.end == w.end);
    }
    const Window next = z.assigner.at(w.end);
    REQUIRE(next.start == w.end);
    w = next;
  }
}

}  // namespace

TEST_CASE("windows in UTC") {
  Zoned z("UTC", 10 * kSecond);
  CHECK(z.at(1699286405123) == "2023-11-06 16:00:00 - 2023-11-06 16:00:10 0m");
  CHECK(z.at(0) == "1970-01-01 00:00:00 - 1970-01-01 00:00:10 0m");
  CHECK(z.at(-1) == "1969-12-31 23:59:50 - 1970-01-01 00:00:00 0m");
  CHECK(Zoned("UTC", 7 * kDay, 4 * kDay).at(1699286400000) ==
        "2023-11-06 00:00:00 - 2023-11-13 00:00:00 10080m");  // Monday
}

TEST_CASE("windows in a zone without changes") {
  CHECK(Zoned("Asia/Shanghai", kDay).at(1699286399000) == "2023-11-06 00:00:00 - 2023-11-07 00:00:00 1440m");
  CHECK(Zoned("Asia/Shanghai", kDay).at(1699286400000) == "2023-11-07 00:00:00 - 2023-11-08 00:00:00 1440m");
  CHECK(Zoned("Asia/Kolkata", kHour).at(1699286400000) == "2023-11-06 21:00:00 - 2023-11-06 22:00:00 60m");
  CHECK(Zoned("Asia/Shanghai", kDay, 6 * kHour).at(1699286400000) == "2023-11-06 06:00:00 - 2023-11-07 06:00:00 1440m");
}

TEST_CASE("windows where clocks are changed") {
  const int64_t fall = 1699164000000;    // 2023-11-05 06:00Z, New York sets 02:00 back to 01:00
  const int64_t spring = 1678604400000;  // 2023-03-12 07:00Z, 02:00 becomes 03:00
  SECTION("days have 25 and 23 hours") {
    CHECK(Zoned("America/New_York", kDay).at(fall) == "2023-11-05 00:00:00 - 2023-11-06 00:00:00 1500m");
    CHECK(Zoned("America/New_York", kDay).at(spring) == "2023-03-12 00:00:00 - 2023-03-13 00:00:00 1380m");
  }
  SECTION("quarters of a day keep their local times") {
    CHECK(Zoned("America/New_York", 6 * kHour).at(fall) == "2023-11-05 00:00:00 - 2023-11-05 06:00:00 420m");
    CHECK(Zoned("America/New_York", 6 * kHour).at(fall + 6 * kHour) ==
          "2023-11-05 06:00:00 - 2023-11-05 12:00:00 360m");
    CHECK(Zoned("America/New_York", 6 * kHour).at(spring) == "2023-03-12 00:00:00 - 2023-03-12 06:00:00 300m");
  }
  SECTION("hours and less keep their length") {
    CHECK(Zoned("America/New_York", kHour).at(fall - 1) == "2023-11-05 01:00:00 - 2023-11-05 01:00:00 60m");
    CHECK(Zoned("America/New_York", kHour).at(fall) == "2023-11-05 01:00:00 - 2023-11-05 02:00:00 60m");
    CHECK(Zoned("America/New_York", 10 * kMinute).at(spring - 1) == "2023-03-12 01:50:00 - 2023-03-12 03:00:00 10m");
    CHECK(Zoned("America/New_York", kHour, 30 * kMinute).at(spring - 1) ==
          "2023-03-12 01:30:00 - 2023-03-12 03:00:00 30m");
  }
  SECTION("they cover all time") {
    for (const int64_t size :
         {10 * kMinute, 45 * kMinute, kHour, 90 * kMinute, 2 * kHour, 5 * kHour, 6 * kHour, 12 * kHour, kDay, 7 * kDay})
      for (const int64_t offset : {int64_t{0}, 5 * kMinute}) {
        check_cover("America/New_York", size, offset, fall - 3 * kDay, fall + 3 * kDay);
        check_cover("America/New_York", size, offset, spring - 3 * kDay, spring + 3 * kDay);
        check_cover("Europe/Berlin", size, offset, 1698541200000 - 3 * kDay, 1698541200000 + 3 * kDay);
        check_cover("Australia/Lord_Howe", size, offset, 1680361200000 - 3 * kDay,
                    1680361200000 + 3 * kDay);  // by half an hour
        check_cover("Pacific/Apia", size, offset, 1325239200000 - 3 * kDay,
                    1325239200000 + 3 * kDay);  // left out a day
        check_cover("Asia/Shanghai", size, offset, -6 * kDay, 6 * kDay);
      }
  }
}

TEST_CASE("written times") {
  LocalZone zone;
  REQUIRE(zone.set("Asia/Shanghai"));
  const auto write = [&zone](const char* format, int64_t time = 1699286400123) {
    TimeText text;
    REQUIRE(text.set(format).empty());
    return text.write(time, &zone);
  };
  CHECK(write("yyyy-MM-dd HH:mm:ss") == "2023-11-07 00:00:00");
  CHECK(write("yyyyMMdd") == "20231107");
  CHECK(write("yyyy-MM-dd'T'HH:mm:ss.SSS") == "2023-11-07T00:00:00.123");
  CHECK(write("yyyy 'o''''clock'") == "2023 o'clock");
  CHECK(write("epoch_ms") == "1699286400123");
  CHECK(write("yyyy-MM-dd HH:mm:ss", -62135596800000) == "0001-01-01 08:05:43");  // local mean time of those days
  TimeText text;
  CHECK_THAT(text.set("yyyy-mm-DD"), Catch::Contains("`DD`"));
  CHECK_THAT(text.set("'x"), Catch::Contains("not closed"));
  CHECK_THAT(text.set(""), Catch::Contains("empty"));
  LocalZone none;
  CHECK_FALSE(none.set("Mars/Olympus"));
}
