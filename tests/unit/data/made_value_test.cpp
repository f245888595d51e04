#include "data/made_value.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "sluice/value.hpp"

namespace sluice::data {
namespace {

// What is wrong with the value; empty: nothing is.
std::string problem(const Value& value) {
  JsonReader reader;
  const auto arena = std::make_shared<Arena>(std::make_shared<ChunkPool>());
  sluice_value v = value.raw();
  if (v.type == SLUICE_ARRAY || v.type == SLUICE_OBJECT) v.as.str = arena->copy(v.as.str);
  std::string why;
  const bool is_good = check_made_value(v, reader, &why);
  CHECK(is_good == why.empty());
  return why;
}

TEST_CASE("numbers, texts, arrays and objects that are what they say") {
  for (const char* number : {"0", "-0", "10", "-1.50", "1e5", "2E-7", "18446744073709551615"}) CHECK(problem(Value::number(number)).empty());
  for (const char* text : {"", "a", "eight by", "nine byte", "商品", "eight by商品"}) CHECK(problem(Value::string(text)).empty());
  CHECK(problem(Value::json_array("[1, {\"a\": \"商\"}]")).empty());
  CHECK(problem(Value::json_object(" {\"a\":1e5}")).empty());
  for (const Value& v : {Value::null(), Value::boolean(true), Value::integer(-7), Value::real(1e300), Value()}) CHECK(problem(v).empty());
}

TEST_CASE("those that are not") {
  for (const char* number : {"", "-", "1e", "01", "+1", ".5", "1.", "0x1", "NaN", "1 ", "１"})
    CHECK(problem(Value::number(number)) == "\"" + std::string(number) + "\" is not a number");
  CHECK(problem(Value::number(std::string(61, '0'))) == "\"" + std::string(60, '0') + "…\" is not a number");
  CHECK(problem(Value::number(std::string(255, '9'))).empty());
  CHECK(problem(Value::number(std::string(256, '9'))) == "a number of more than 255 characters");
  CHECK(problem(Value::real(std::nan(""))) == "NaN is not a number in JSON");
  CHECK(problem(Value::real(-INFINITY)) == "an infinite number is none in JSON");
  for (const char* text : {"\xE5\x95", "eight by\xE5", "\xFF", "\xC0\x80", "\xED\xA0\x80", "seven b\x80"})
    CHECK(problem(Value::string(text)) == "its text is not UTF-8");
  CHECK(problem(Value::json_array("{}")) == "\"{}\" is not the text of an array");
  CHECK(problem(Value::json_object("")) == "\"\" is not the text of an object");
  CHECK(problem(Value::json_object("{\"a\":01}")).find("byte") != std::string::npos);
  sluice_value invalid = Value::string("unexpected \":\" at byte 3").raw();
  invalid.type = SLUICE_INVALID;
  CHECK(problem(invalid) == "it was made of a field that is no valid JSON: unexpected \":\" at byte 3");
}

TEST_CASE("the field is named, however deep it is") {
  const sluice_value items[] = {Value::integer(1).raw(), Value::number("1e").raw()};
  sluice_value list{SLUICE_LIST, 0, {}};
  list.as.list.items = items;
  list.as.list.size = 2;
  const sluice_member inner[] = {{str("ok"), Value::integer(1).raw()}, {str("b"), list}};
  sluice_value map{SLUICE_MAP, 0, {}};
  map.as.map.members = inner;
  map.as.map.size = 2;
  const sluice_member outer[] = {{str("a"), map}};
  sluice_value body{SLUICE_MAP, 0, {}};
  body.as.map.members = outer;
  body.as.map.size = 1;
  CHECK(problem(body) == "field \"a.b[1]\": \"1e\" is not a number");

  const sluice_member bad_name[] = {{str("\xFF"), Value::integer(1).raw()}};
  body.as.map.members = bad_name;
  CHECK(problem(body) == "the name of a field is not UTF-8");
}

}  // namespace
}  // namespace sluice::data
