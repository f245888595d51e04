#include "data/time_reader.h"

#include <catch2/catch.hpp>
#include <date/tz.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace sluice::data {
namespace {

using Kind = TimeReader::Kind;
using Part = TimeReader::Part;

TimeReader reader(Kind kind, std::vector<Part> parts = {}, const std::string& zone = "UTC") {
  auto made = TimeReader::make(kind, std::move(parts), zone);
  REQUIRE(made.is_ok());
  return std::move(made).value();
}
// yyyy-MM-dd HH:mm:ss
std::vector<Part> usual() {
  return {{'y', ""}, {0, "-"}, {'M', ""}, {0, "-"}, {'d', ""}, {0, " "}, {'H', ""}, {0, ":"}, {'m', ""}, {0, ":"}, {'s', ""}};
}
constexpr int64_t kBad = INT64_MIN;
int64_t read(TimeReader& r, const std::string& text, bool number = false) {
  int64_t ms = 0;
  return r.read(text, number, &ms) ? ms : kBad;
}
std::string local_text(int64_t local_s) {
  return date::format("%Y-%m-%d %H:%M:%S", date::local_seconds(std::chrono::seconds(local_s)));
}

TEST_CASE("patterns in UTC") {
  TimeReader r = reader(Kind::kPattern, usual());
  CHECK(read(r, "1970-01-01 00:00:00") == 0);
  CHECK(read(r, "2023-09-01 12:30:45") == 1693571445000);
  CHECK(read(r, "1969-12-31 23:59:59") == -1000);
  CHECK(read(r, "2024-02-29 00:00:00") == 1709164800000);
  CHECK(read(r, "2000-02-29 00:00:00") == 951782400000);
  CHECK(read(r, "9999-12-31 23:59:59") == 253402300799000);
  CHECK(read(r, "0001-01-01 00:00:00") == -62135596800000);
  for (const char* bad : {"", "2023-09-01", "2023-09-01 12:30", "2023-09-01 12:30:45 ", " 2023-09-01 12:30:45", "2023-9-1 12:30:45",
                          "2023-09-01T12:30:45", "2023-13-01 00:00:00", "2023-00-01 00:00:00", "2023-02-29 00:00:00", "1900-02-29 00:00:00",
                          "2023-09-31 00:00:00", "2023-09-00 00:00:00", "2023-09-01 24:00:00", "2023-09-01 00:60:00", "2023-09-01 00:00:60",
                          "+023-09-01 00:00:00", "-001-09-01 00:00:00", "2023-09-01 12:30:4x", "２０２３-09-01 12:30:45", "2023-09-01 12:30:45.000"}) {
    INFO(bad);
    CHECK(read(r, bad) == kBad);
  }
  CHECK(read(r, "2023-09-01 12:30:45", true) == kBad);
}

TEST_CASE("other patterns") {
  TimeReader compact = reader(Kind::kPattern, {{'y', ""}, {'M', ""}, {'d', ""}, {'H', ""}, {'m', ""}, {'s', ""}, {'S', ""}});
  CHECK(read(compact, "20230901123045678") == 1693571445678);
  CHECK(read(compact, "2023090112304567") == kBad);
  TimeReader day = reader(Kind::kPattern, {{'d', ""}, {0, "."}, {'M', ""}, {0, "."}, {'y', ""}});
  CHECK(read(day, "01.09.2023") == 1693526400000);
  TimeReader literal = reader(Kind::kPattern, {{0, "at "}, {'y', ""}, {0, "年"}, {'M', ""}});
  CHECK(read(literal, "at 2023年09") == 1693526400000);
  CHECK(read(literal, "at 2023年") == kBad);
  CHECK(read(literal, "at") == kBad);
}

TEST_CASE("numbers") {
  TimeReader ms = reader(Kind::kEpochMs);
  CHECK(read(ms, "1693571445678", true) == 1693571445678);
  CHECK(read(ms, "1693571445678", false) == 1693571445678);
  CHECK(read(ms, "-1", true) == -1);
  CHECK(read(ms, "0", true) == 0);
  TimeReader s = reader(Kind::kEpochS);
  CHECK(read(s, "1693571445", true) == 1693571445000);
  for (const char* bad : {"", "1.5", "1e3", "abc", " 1", "1 ", "+1", "99999999999999999999", "0x10"}) {
    INFO(bad);
    CHECK(read(ms, bad, true) == kBad);
    CHECK(read(s, bad, true) == kBad);
  }
  // Beyond year 9999 in either direction is no time: microseconds for milliseconds, or a number that means "none".
  for (const char* far : {"9223372036854775807", "-9223372036854775808", "-9223372036854775807", "253402300800000", "1693571445678000"}) {
    INFO(far);
    CHECK(read(ms, far, true) == kBad);
    CHECK(read(s, far, true) == kBad);
  }
  CHECK(read(ms, "253402300799999", true) == 253402300799999);
  CHECK(read(s, "253402300799", true) == 253402300799000);
}

TEST_CASE("ISO 8601") {
  TimeReader r = reader(Kind::kIso8601);
  CHECK(read(r, "2023-09-01T12:30:45Z") == 1693571445000);
  CHECK(read(r, "2023-09-01T12:30:45.678Z") == 1693571445678);
  CHECK(read(r, "2023-09-01T12:30:45.6z") == 1693571445600);
  CHECK(read(r, "2023-09-01T12:30:45,678901234Z") == 1693571445678);
  CHECK(read(r, "2023-09-01T20:30:45+08:00") == 1693571445000);
  CHECK(read(r, "2023-09-01T20:30:45+0800") == 1693571445000);
  CHECK(read(r, "2023-09-01T20:30:45+08") == 1693571445000);
  CHECK(read(r, "2023-09-01T07:00:45-05:30") == 1693571445000);
  CHECK(read(r, "2023-09-01 12:30:45") == 1693571445000);
  CHECK(read(r, "2023-09-01T12:30") == 1693571400000);
  CHECK(read(r, "2023-09-01") == 1693526400000);
  for (const char* bad : {"", "2023", "2023-09", "2023-09-01T", "2023-09-01T12", "2023-09-01T12:3", "2023-09-01T12:30:", "2023-09-01T12:30:45.",
                          "2023-09-01T12:30:45X", "2023-09-01T12:30:45+", "2023-09-01T12:30:45+8", "2023-09-01T12:30:45+08:", "2023-09-01T12:30:45+19:00",
                          "2023-09-01T12:30:45+08:60", "2023-09-01T12:30:45ZZ", "2023/09/01", "2023-02-30", "2023-09-01x12:30"}) {
    INFO(bad);
    CHECK(read(r, bad) == kBad);
  }
  TimeReader shanghai = reader(Kind::kIso8601, {}, "Asia/Shanghai");
  CHECK(read(shanghai, "2023-09-01T20:30:45") == 1693571445000);
  CHECK(read(shanghai, "2023-09-01T12:30:45Z") == 1693571445000);  // its own offset counts
}

// What java.time does with local times, by way of the date library.
int64_t expected_utc_s(const date::time_zone* zone, int64_t local_s) {
  const date::local_seconds local{std::chrono::seconds(local_s)};
  const date::local_info info = zone->get_info(local);
  return local_s - info.first.offset.count();  // unique; ambiguous: the earlier offset; in a gap: moved by the gap
}

TEST_CASE("zones with gaps and overlaps") {
  struct Fixed {
    const char *zone, *local;
    int64_t utc_s;
  };
  const Fixed fixed[] = {
      {"Europe/Berlin", "2023-03-26 01:59:59", 1679792399},
      {"Europe/Berlin", "2023-03-26 02:30:00", 1679794200},  // in the gap: 03:30 summer time
      {"Europe/Berlin", "2023-03-26 03:00:00", 1679792400},
      {"Europe/Berlin", "2023-10-29 01:59:59", 1698537599},
      {"Europe/Berlin", "2023-10-29 02:30:00", 1698539400},  // twice: the first
      {"Europe/Berlin", "2023-10-29 03:00:00", 1698544800},
      {"America/New_York", "2023-11-05 01:30:00", 1699162200},
      {"America/New_York", "2023-03-12 02:30:00", 1678606200},
      {"Asia/Shanghai", "2023-09-01 20:30:45", 1693571445},
      {"Australia/Lord_Howe", "2023-04-02 01:45:00", 1680360300},  // half an hour back
      {"Pacific/Apia", "2011-12-30 12:00:00", 1325282400},         // a day that never was: moved by 24 hours
  };
  for (const auto& c : fixed) {
    INFO(c.zone << " " << c.local);
    TimeReader r = reader(Kind::kPattern, usual(), c.zone);
    CHECK(read(r, c.local) == c.utc_s * 1000);
    CHECK(read(r, c.local) == c.utc_s * 1000);  // from the cached span
  }
}

TEST_CASE("one reader going back and forth over all transitions") {
  const unsigned start = [] {
    const char* text = std::getenv("SLUICE_TEST_SEED");
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : std::random_device{}();
  }();
  CAPTURE(start);
  std::mt19937 random(start);
  for (const char* name : {"Europe/Berlin", "America/New_York", "Asia/Shanghai", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca",
                           "Pacific/Apia", "America/Sao_Paulo", "UTC"}) {
    CAPTURE(name);
    const date::time_zone* zone = date::locate_zone(name);
    TimeReader r = reader(Kind::kPattern, usual(), name);
    std::vector<int64_t> moments;
    date::sys_seconds at{date::sys_days{date::year{1950} / 1 / 1}};
    const date::sys_seconds end{date::sys_days{date::year{2045} / 1 / 1}};
    while (at < end) {
      const date::sys_info info = zone->get_info(at);
      for (int64_t d : {-90000, -86401, -86400, -86399, -7201, -3601, -3600, -1800, -1, 0, 1, 1799, 3599, 3600, 3601, 7200, 86399, 86400, 86401})
        moments.push_back(info.begin.time_since_epoch().count() + info.offset.count() + d);
      if (info.end >= end) break;
      at = info.end;
    }
    for (int i = 0; i < 300; ++i) moments.push_back(std::uniform_int_distribution<int64_t>(-631152000, 2366841600)(random));
    std::shuffle(moments.begin(), moments.end(), random);
    for (int64_t local : moments) {
      if (local < -2000000000 || local > 2400000000) continue;
      const std::string text = local_text(local);
      const int64_t got = read(r, text), want = expected_utc_s(zone, local) * 1000;
      if (got == want) continue;
      CAPTURE(text, got, want);
      FAIL();
    }
  }
}

TEST_CASE("year 9999 in every zone") {
  for (const char* name : {"Europe/Berlin", "America/New_York", "Asia/Shanghai", "UTC"}) {
    INFO(name);
    TimeReader r = reader(Kind::kPattern, usual(), name);
    CHECK(read(r, "9999-07-01 12:00:00") != kBad);
    CHECK(read(r, "9999-12-31 23:59:59") != kBad);
    CHECK(read(r, "2023-09-01 12:00:00") < read(r, "9999-12-31 23:59:59"));
  }
}

TEST_CASE("zone names") {
  CHECK(zone_exists("Asia/Shanghai"));
  CHECK(zone_exists("UTC"));
  CHECK_FALSE(zone_exists("Asia/Shanghia"));
  CHECK_FALSE(zone_exists(""));
  CHECK(zone_names().size() > 100);
  const auto unknown = TimeReader::make(Kind::kIso8601, {}, "Mars/Olympus");
  REQUIRE_FALSE(unknown.is_ok());
  CHECK(unknown.status().message() == "time zone \"Mars/Olympus\" is unknown");
}

TEST_CASE("times for messages") {
  CHECK(format_utc(0) == "1970-01-01 00:00:00");
  CHECK(format_utc(1693571445678) == "2023-09-01 12:30:45");
  CHECK(format_utc(-1) == "1969-12-31 23:59:59");
}

}  // namespace
}  // namespace sluice::data
