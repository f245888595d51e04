#include "time_text.h"

#include <catch2/catch.hpp>
#include <string>

#include "decimal_text.h"

namespace sluice::clickhouse {
namespace {

int64_t seconds(const char* text) {
  TimeText t;
  INFO(text);
  REQUIRE(read_time_text(text, &t) == nullptr);
  return t.seconds;
}
std::string problem(const char* text) {
  TimeText t;
  const char* p = read_time_text(text, &t);
  return p == nullptr ? "" : p;
}

TEST_CASE("dates and times as they are written") {
  CHECK(seconds("1970-01-01") == 0);
  CHECK(seconds("2024-02-29 10:00:00") == 1709200800);
  CHECK(seconds("2024-02-29T10:00:00") == 1709200800);
  CHECK(seconds("1900-01-01 00:00:00") == -2208988800);
  CHECK(seconds("2299-12-31 23:59:59") == 10413791999);
}

TEST_CASE("fractions and offsets") {
  TimeText t;
  REQUIRE(read_time_text("2024-02-29T10:00:00.125Z", &t) == nullptr);
  CHECK(t.nanos == 125000000);
  CHECK(t.has_offset);
  CHECK(t.offset == 0);
  REQUIRE(read_time_text("2024-02-29 10:00:00+08:00", &t) == nullptr);
  CHECK(t.offset == 8 * 3600);
  REQUIRE(read_time_text("2024-02-29 10:00:00 -0330", &t) == nullptr);
  CHECK(t.offset == -(3 * 3600 + 30 * 60));
  REQUIRE(read_time_text("2024-02-29 10:00:00.123456789+08", &t) == nullptr);
  CHECK(t.nanos == 123456789);
  REQUIRE(read_time_text("2024-02-29 10:00:00.1200000000", &t) == nullptr);
  CHECK(t.nanos == 120000000);
}

TEST_CASE("what is none") {
  const std::string no_time = "is no date or time like 2024-05-01 10:00:00", not_there = "is not in the calendar";
  for (const char* text : {"", "yesterday", "2024-2-29", "2024-02-29 10:00", "2024-02-29 10:00:", "2024-02-29x10:00:00",
                           "2024-02-29 10:00:00.", "2024-02-29 10:00:00 ", "2024-02-29 10:00:00+8",
                           "2024-02-29 10:00:00+08:00x", "2024-02-29 10:00:00Zulu", "20240229", "2024-02-2"})
    CHECK(problem(text) == no_time);
  for (const char* text : {"2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32 00:00:00", "2024-02-29 24:00:00",
                           "2024-02-29 10:60:00", "2024-02-29 10:00:60"})
    CHECK(problem(text) == not_there);
  for (const char* text : {"0000-00-00 00:00:00", "0000-00-00", "0000-00-00 10:00:00"})
    CHECK(problem(text) ==
          "is a zero date, which ClickHouse would turn into another one; `zero_dates: as_null` makes it NULL in a "
          "Nullable "
          "column, and in no other");
  CHECK(problem("2024-02-29 10:00:00.1234567891") == "has more than nine digits of a second");
}

TEST_CASE("zero dates, and what only begins like one") {
  for (const char* text : {"0000-00-00", "0000-00-00 00:00:00", "0000-00-00T00:00:00", "0000-00-00 00:00:00.000000",
                           "0000-00-00T00:00:00Z", "0000-00-00 00:00:00.0+08:00"}) {
    INFO(text);
    CHECK(is_zero_date(text));
  }
  for (const char* text : {"", "0000-00-0", "0000-00-01", "2020-00-00", "2020-00-00 00:00:00", "0000-00-00 00:00:01",
                           "0000-00-00 00:00:00.001", "0000-00-00x", "0000-00-00 00:00", "0000-00-00 00:00:00x"}) {
    INFO(text);
    CHECK(!is_zero_date(text));
  }
}

TEST_CASE("days back into dates") {
  int y = 0, m = 0, d = 0;
  date_of_days(days_of_date(2024, 2, 29), &y, &m, &d);
  CHECK(y == 2024);
  CHECK(m == 2);
  CHECK(d == 29);
}

std::string scaled(const char* text, int scale, bool cut = false) {
  DecimalText n;
  if (!read_decimal(text, &n)) return "no number";
  std::string digits;
  switch (scaled_digits(n, scale, cut, &digits)) {
    case Fit::kTooLarge:
      return "too large";
    case Fit::kTooManyFractionDigits:
      return "too fine";
    default:
      return (n.negative ? "-" : "") + digits;
  }
}

TEST_CASE("decimals, exactly") {
  CHECK(scaled("12.50", 2) == "1250");
  CHECK(scaled("-12.5", 2) == "-1250");
  CHECK(scaled("12.500", 2) == "1250");
  CHECK(scaled("12.501", 2) == "too fine");
  CHECK(scaled("12.509", 2, true) == "1250");
  CHECK(scaled("0.001", 2, true).empty());
  CHECK(scaled("1e3", 0) == "1000");
  CHECK(scaled("1.5E+1", 0) == "15");
  CHECK(scaled("15e-1", 1) == "15");
  CHECK(scaled("1e999999999", 0) == "too large");
  CHECK(scaled("1e-999", 2, true).empty());
  CHECK(scaled("18446744073709551616", 0) == "18446744073709551616");
  CHECK(scaled("000", 3).empty());
  for (const char* text : {"", "-", ".5", "5.", "1e", "0x10", "1 ", " 1", "+1", "1.2.3", "--1", "NaN"})
    CHECK(scaled(text, 0) == "no number");
}

std::string bytes(const char* digits, bool negative, size_t width, bool is_signed) {
  std::string out;
  return append_integer(digits, negative, width, is_signed, &out) ? out : "does not fit";
}

TEST_CASE("whole numbers at the edges of their widths") {
  CHECK(bytes("255", false, 1, false) == "\xFF");
  CHECK(bytes("256", false, 1, false) == "does not fit");
  CHECK(bytes("1", true, 1, false) == "does not fit");
  CHECK(bytes("", true, 1, false) == std::string(1, '\0'));
  CHECK(bytes("127", false, 1, true) == "\x7F");
  CHECK(bytes("128", false, 1, true) == "does not fit");
  CHECK(bytes("128", true, 1, true) == "\x80");
  CHECK(bytes("129", true, 1, true) == "does not fit");
  CHECK(bytes("18446744073709551615", false, 8, false) == std::string(8, '\xFF'));
  CHECK(bytes("18446744073709551616", false, 8, false) == "does not fit");
  CHECK(bytes("340282366920938463463374607431768211455", false, 16, false) == std::string(16, '\xFF'));
  CHECK(bytes("340282366920938463463374607431768211456", false, 16, false) == "does not fit");
  CHECK(bytes("1", true, 32, true) == std::string(32, '\xFF'));
}

}  // namespace
}  // namespace sluice::clickhouse
