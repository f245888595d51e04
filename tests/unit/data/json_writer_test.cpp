#include "data/json_writer.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "data/utf8.h"
#include "json_fields.h"

namespace sluice::data {
namespace {

std::string json(const sluice_value& v) {
  std::string out;
  append_json(v, &out);
  return out;
}
sluice_value text(uint32_t type, std::string_view s) { return {type, 0, {.str = {s.data(), s.size()}}}; }
sluice_value integer(int64_t i) { return {SLUICE_INT64, 0, {.i64 = i}}; }
sluice_value real(double d) { return {SLUICE_DOUBLE, 0, {.f64 = d}}; }

TEST_CASE("values as JSON text") {
  CHECK(json({SLUICE_ABSENT, 0, {}}) == "null");
  CHECK(json({SLUICE_NULL, 0, {}}) == "null");
  CHECK(json({SLUICE_BOOL, 0, {.i64 = 1}}) == "true");
  CHECK(json({SLUICE_BOOL, 0, {.i64 = 0}}) == "false");
  CHECK(json(text(SLUICE_NUMBER, "-0.00")) == "-0.00");
  CHECK(json(text(SLUICE_NUMBER, "18446744073709551615")) == "18446744073709551615");
  CHECK(json(text(SLUICE_OBJECT, "{ \"a\" : 1 }")) == "{ \"a\" : 1 }");
  CHECK(json(integer(std::numeric_limits<int64_t>::min())) == "-9223372036854775808");
  CHECK(json(real(0.1)) == "0.1");
  CHECK(json(real(std::nan(""))) == "null");
  CHECK(json(real(INFINITY)) == "null");
  CHECK(json(text(SLUICE_STRING, "a\"\\\n\x01\x7f\xc3\xa9/")) == "\"a\\\"\\\\\\n\\u0001\x7f\xc3\xa9/\"");
  CHECK(json(text(SLUICE_STRING, "")) == "\"\"");
  CHECK(json({SLUICE_STRING, 0, {.str = {nullptr, 0}}}) == "\"\"");
}

TEST_CASE("what was taken apart is put together") {
  testing::Fixture f;
  const std::string original = R"({"a":1.50,"b":"x\ny","c":{"d":[1,2]},"e":[],"f":null,"g":true,"":"é"})";
  sluice_value map;
  REQUIRE(f.reader.parse(f.padded(original), &map, *f.arena, &f.error));
  CHECK(json(map) == original);
  sluice_value list;
  REQUIRE(f.reader.parse(f.padded("[1,\"a\",{\"b\": 1},[]]"), &list, *f.arena, &f.error));
  CHECK(json(list) == "[1,\"a\",{\"b\": 1},[]]");
  CHECK(json({SLUICE_MAP, 0, {.map = {nullptr, 0}}}) == "{}");
  CHECK(json({SLUICE_LIST, 0, {.list = {nullptr, 0}}}) == "[]");
}

TEST_CASE("is_utf8") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("abc\xc3\xa9\xf0\x9f\x98\x80"));
  for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "a\xff"}) CHECK_FALSE(is_utf8(bad));
}

}  // namespace
}  // namespace sluice::data
