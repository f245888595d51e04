#include "config/time_format.h"

#include <catch2/catch.hpp>

namespace sluice::config {

using Field = TimeFormat::Field;

TEST_CASE("named time formats") {
  CHECK(parse_time_format("epoch_ms").value.kind == TimeFormat::Kind::kEpochMs);
  CHECK(parse_time_format("epoch_s").value.kind == TimeFormat::Kind::kEpochS);
  CHECK(parse_time_format("iso8601").value.kind == TimeFormat::Kind::kIso8601);
  CHECK_FALSE(parse_time_format("epoch").ok());
  CHECK_FALSE(parse_time_format("").ok());
}

TEST_CASE("a pattern is fields and literals") {
  const TimeFormatResult result = parse_time_format("yyyy-MM-dd'T'HH:mm:ss.SSS''年");
  REQUIRE(result.ok());
  const auto& parts = result.value.parts;
  REQUIRE(parts.size() == 14);
  CHECK(result.value.kind == TimeFormat::Kind::kPattern);
  CHECK(parts[0].field == Field::kYear);
  CHECK(parts[0].width() == 4);
  CHECK(parts[1].literal == "-");
  CHECK(parts[2].field == Field::kMonth);
  CHECK(parts[4].field == Field::kDay);
  CHECK(parts[5].literal == "T");
  CHECK(parts[6].field == Field::kHour);
  CHECK(parts[8].field == Field::kMinute);
  CHECK(parts[10].field == Field::kSecond);
  CHECK(parts[12].field == Field::kMilli);
  CHECK(parts[12].width() == 3);
  CHECK(parts[13].literal == "'年");
  CHECK(parse_time_format("yyyyMMdd").value.parts.size() == 3);
}

TEST_CASE("what is wrong with a pattern is found at its character") {
  const auto check = [](const char* text, size_t offset, const char* part, const char* suggestion = "") {
    INFO(text);
    const TimeFormatResult result = parse_time_format(text);
    CHECK_FALSE(result.ok());
    CHECK(result.offset == offset);
    CHECK_THAT(result.problem, Catch::Contains(part));
    CHECK(result.suggestion == suggestion);
  };
  check("yyyy-MM-dd hh:mm:ss", 11, "\"hh\" is not a part of a time pattern", "HH");
  check("YYYY-MM-dd", 0, "\"YYYY\" is not a part", "yyyy");
  check("yyyy-MM-DD", 8, "\"DD\" is not a part", "dd");
  check("yyyy-MM-ddTHH:mm", 10, "\"T\" is not a part", "'T'");
  check("yy-MM-dd", 0, "\"yy\" is not a part", "yyyy");
  check("yyyy-MM-dd HH:mm:ss.SS", 20, "\"SS\" is not a part", "SSS");
  check("yyyy-MM-dd x", 11, "\"x\" is not a part");
  check("yyyy-MM-dd MM", 11, "the month \"MM\" is given twice");
  check("yyyy-mm-dd", 0, "has no month (MM); \"mm\" is the minute");
  check("yyyy-MM HH", 0, "has no day (dd)");
  check("yyyy-MM-dd 'T", 11, "single quote");
  check("nonsense", 0, "neither epoch_ms, epoch_s, iso8601 nor a pattern");
}

}  // namespace sluice::config
