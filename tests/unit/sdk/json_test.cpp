// The harness's JSON: strict, exact with numbers, and bounded.
#include <catch2/catch.hpp>

#include <sluice/testing/json.hpp>

namespace json = sluice::testing::json;

TEST_CASE("valid and broken texts") {
  for (const char* good : {"{}", "[]", " {\"a\" : [1,-0.5e+10,true,false,null,\"\\ud83d\\ude00\"]} ", "0", "\"\"", "\"\x7F\""}) {
    INFO(good);
    CHECK(json::problem_of(good).empty());
  }
  for (const char* bad : {"", " ", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "-", "1.", "1e", ".5", "+1", "tru", "nul", "\"a", "\"\\q\"", "\"\\u12\"",
                          "\"\\ud83d\"", "\"\\ude00\"", "\"\n\"", "1 2", "[1}", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xE4\xB8\""}) {
    INFO(bad);
    CHECK_FALSE(json::problem_of(bad).empty());
  }
}

TEST_CASE("depth and digits are bounded") {
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(json::problem_of(nested(512)).empty());
  CHECK(json::problem_of(nested(513)) == "nested too deep at byte 512");
  CHECK(json::problem_of(nested(100000)) == "nested too deep at byte 512");
  CHECK(json::problem_of(std::string(255, '9')).empty());
  CHECK(json::problem_of(std::string(400, '9')) == "a number of more than 255 characters at byte 400");
}

TEST_CASE("the structure of a record is looked at, its scalars are not") {
  CHECK(json::record_problem(R"({"a":01,"b":"\q","c":tru})").empty());
  CHECK(json::record_problem("") == "empty: no JSON text");
  CHECK(json::record_problem("null") == "not a JSON object");
  CHECK_FALSE(json::record_problem(R"({"a":1 2})").empty());
  CHECK_FALSE(json::record_problem("{\"a\":\"\xFF\"}").empty());
  CHECK_FALSE(json::record_problem(R"({"a":"x)").empty());
  CHECK_FALSE(json::record_problem(R"({"a":"x\)").empty());
}

TEST_CASE("numbers are written as the host writes them") {
  CHECK(json::number_text(0) == "0.0");
  CHECK(json::number_text(-0.0) == "-0.0");
  CHECK(json::number_text(1) == "1.0");
  CHECK(json::number_text(-12.5) == "-12.5");
  CHECK(json::number_text(0.1) == "0.1");
  CHECK(json::number_text(0.00012) == "0.00012");
  CHECK(json::number_text(1e20) == "100000000000000000000.0");
  CHECK(json::number_text(1e30) == "1e30");
  CHECK(json::number_text(1.5e-9) == "1.5e-9");
}

TEST_CASE("members are added, and replace those of the same name") {
  CHECK(json::with_members(R"({ "a" : 1.0, "b":"\u0041", "a":2 })", {{"c", "3"}}) == R"({"a":1.0,"b":"A","a":2,"c":3})");
  CHECK(json::with_members(R"({"a":1,"b":2})", {{"a", "\"x\""}}) == R"({"b":2,"a":"x"})");
  CHECK(json::with_members(R"({"a":1})", {{"a", ""}}) == "{}");
  CHECK(json::with_members("{}", {{"a", "1"}}) == R"({"a":1})");
}
