// Values as parameters: what every type of column takes, exactly, and what it refuses.
#include "phoenix/column_type.h"

#include <catch2/catch.hpp>
#include <string>

using namespace sluice::phoenix;
using Catch::Matchers::Contains;
using sluice::Status;
using sluice::Value;

namespace {

Status no_json(const Value&, std::string_view*) { return Status::bug("not asked for"); }

// "REP value", or the reason with `!` before it.
std::string bound(ColumnType type, const Value& value) {
  avatica::TypedValue out;
  if (Status s = bind_value(type, value, no_json, &out); !s.is_ok()) return "!" + s.message();
  switch (out.type()) {
    case avatica::NULL_VALUE:
      return out.null() ? "null" : "?";
    case avatica::STRING:
      return "text " + out.string_value();
    case avatica::BIG_DECIMAL:
      return "decimal " + out.string_value();
    case avatica::DOUBLE:
      return "double " + std::to_string(out.double_value());
    case avatica::BOOLEAN:
      return out.bool_value() ? "true" : "false";
    case avatica::BYTE_STRING:
      return "bytes " + out.bytes_value();
    default:
      return std::to_string(out.type()) + " " + std::to_string(out.number_value());
  }
}
std::string bound(int type, const Value& value) { return bound(ColumnType{type, -1}, value); }
Value n(std::string_view lexeme) { return Value::number(lexeme); }
Value s(std::string_view text) { return Value::string(text); }

constexpr int kVarChar = 12, kBigInt = -5, kInteger = 4, kTinyInt = -6, kDecimal = 3, kFloat = 6, kDouble = 8,
              kUnsignedFloat = 14, kUnsignedDouble = 15, kBoolean = 16, kDate = 91, kTimestamp = 93;

}  // namespace

TEST_CASE("VARCHAR gets exactly what was written", "[phoenix][values]") {
  CHECK(bound(kVarChar, n("20.00")) == "text 20.00");
  CHECK(bound(kVarChar, n("18446744073709551615")) == "text 18446744073709551615");
  CHECK(bound(kVarChar, n("-0.00E+2")) == "text -0.00E+2");
  CHECK(bound(kVarChar, s("null")) == "text null");
  CHECK(bound(kVarChar, s("你好 'x' \\ \n")) == "text 你好 'x' \\ \n");
  CHECK(bound(kVarChar, Value::boolean(true)) == "text true");
  CHECK(bound(kVarChar, Value::integer(-7)) == "text -7");
  CHECK(bound(kVarChar, Value::json_object(R"({"a":[1,2]})")) == R"(text {"a":[1,2]})");
  CHECK(bound(kVarChar, Value::null()) == "null");
  CHECK(bound(kVarChar, Value()) == "null");
}

TEST_CASE("whole numbers fit or are refused", "[phoenix][values]") {
  CHECK(bound(kBigInt, n("9223372036854775807")) == "13 9223372036854775807");
  CHECK(bound(kBigInt, s("-42")) == "13 -42");
  CHECK(bound(kBigInt, n("20.00")) == "13 20");
  CHECK(bound(kBigInt, Value::boolean(true)) == "13 1");
  CHECK(bound(kInteger, n("2147483647")) == "12 2147483647");
  CHECK(bound(kTinyInt, n("-128")) == "9 -128");
  CHECK_THAT(bound(kBigInt, n("9223372036854775808")),
             Contains("!\"9223372036854775808\" is no whole number of 64 bits"));
  CHECK_THAT(bound(kBigInt, n("1.5")), Contains("no whole number"));
  CHECK_THAT(bound(kBigInt, n("1e3")), Contains("no whole number"));
  CHECK_THAT(bound(kBigInt, s("")), Contains("no whole number"));
  CHECK_THAT(bound(kBigInt, s("x")), Contains("no whole number"));
  CHECK_THAT(bound(kInteger, n("2147483648")), Contains("too large or too small"));
  CHECK_THAT(bound(10, n("-1")), Contains("too large or too small"));
  CHECK_THAT(bound(kBigInt, Value::json_array("[1]")), Contains("no whole number"));
}

TEST_CASE("decimals keep every digit or are refused", "[phoenix][values]") {
  CHECK(bound(kDecimal, n("0.1000000000000000000000000001")) == "decimal 0.1000000000000000000000000001");
  CHECK(bound(kDecimal, s("12.30")) == "decimal 12.30");
  CHECK(bound(kDecimal, n("1E+2")) == "decimal 1E+2");
  const ColumnType two{kDecimal, 2};
  CHECK(bound(two, n("1.23")) == "decimal 1.23");
  CHECK(bound(two, n("1.2300")) == "decimal 1.2300");
  CHECK(bound(two, n("123e-2")) == "decimal 123e-2");
  CHECK_THAT(bound(two, n("1.239")), Contains("more digits after the point"));
  CHECK_THAT(bound(two, n("1239e-3")), Contains("more digits after the point"));
  CHECK_THAT(bound(kDecimal, s("1.2.3")), Contains("no number"));
  CHECK_THAT(bound(kDecimal, s("1e99999999999")), Contains("no number"));
  CHECK_THAT(bound(kDecimal, Value::boolean(true)), Contains("no number"));
}

TEST_CASE("DOUBLE and FLOAT hold a whole number or refuse it", "[phoenix][values]") {
  const auto rounds = [](const std::string& text) {
    return "!\"" + text + "\" is a whole number that the column's type would round";
  };
  for (const int type : {kDouble, kUnsignedDouble}) {
    CHECK(bound(type, n("9007199254740992")) == "double 9007199254740992.000000");
    CHECK(bound(type, n("9007199254740993")) == rounds("9007199254740993"));
    CHECK(bound(type, s("9007199254740993.0")) == rounds("9007199254740993.0"));
    CHECK(bound(type, n("90071992547409930e-1")) == rounds("90071992547409930e-1"));
    CHECK(bound(type, n("9007199254740994")) == "double 9007199254740994.000000");
    // 2 to the power of 70 in full, and as a double's shortest text.
    CHECK(bound(type, n("1180591620717411303424")) == "double 1180591620717411303424.000000");
    CHECK(bound(type, n("1180591620717411300000")) == "double 1180591620717411303424.000000");
    CHECK(bound(type, n("1180591620717411303425")) == rounds("1180591620717411303425"));
    CHECK(bound(type, n("1e300")).find("double 1") == 0);
    CHECK(bound(type, n("0.1")) == "double 0.100000");
    CHECK(bound(type, n("0.000")) == "double 0.000000");
    CHECK(bound(type, n("100")) == "double 100.000000");
  }
  CHECK(bound(kDouble, Value::integer(-9007199254740993)).find(" is a whole number that") != std::string::npos);
  CHECK(bound(kDouble, n("-9007199254740992")) == "double -9007199254740992.000000");
  for (const int type : {kFloat, kUnsignedFloat}) {
    CHECK(bound(type, n("16777216")) == "double 16777216.000000");
    CHECK(bound(type, n("16777217")) == rounds("16777217"));
    CHECK(bound(type, n("1e38")).find("double 9999999") == 0);
    CHECK(bound(type, n("0.1")) == "double 0.100000");
    CHECK(bound(type, n("3.5e38")) == "!\"3.5e38\" is too large for the column's type");
  }
}

TEST_CASE("the other types", "[phoenix][values]") {
  CHECK(bound(kDouble, n("1.5")) == "double 1.500000");
  CHECK_THAT(bound(kDouble, n("1e999")), Contains("too large"));
  CHECK_THAT(bound(kDouble, s("nan")), Contains("no number"));
  CHECK_THAT(bound(15, n("-1")), Contains("too small"));
  CHECK(bound(kBoolean, Value::boolean(false)) == "false");
  CHECK(bound(kBoolean, n("1")) == "true");
  CHECK(bound(kBoolean, s("true")) == "true");
  CHECK_THAT(bound(kBoolean, s("yes")), Contains("neither true nor false"));
  CHECK(bound(kDate, s("2024-01-02")) == "text 2024-01-02");
  CHECK_THAT(bound(kDate, n("20000")), Contains("no text with a date"));
  CHECK(bound(kTimestamp, n("1700000000123")) == "text 2023-11-14 22:13:20.123");
  for (const char* zero : {"0000-00-00", "0000-00-00 00:00:00", "0000-00-00T00:00:00.000000"}) {
    INFO(zero);
    for (const int type : {kDate, 92, kTimestamp, 18, 19, 20}) CHECK(is_zero_date({type, -1}, s(zero)));
    CHECK(!is_zero_date({kVarChar, -1}, s(zero)));
  }
  for (const char* other : {"", "0000-00-01", "2020-00-00", "0000-00-00 00:00:01", "0000-00-00 00:00:00.001",
                            "0000-00-00 00:00:00x", "0000-00-00x"}) {
    INFO(other);
    CHECK(!is_zero_date({kDate, -1}, s(other)));
  }
  CHECK(bound(kTimestamp, n("0")) == "text 1970-01-01 00:00:00.000");
  CHECK(bound(kTimestamp, Value::integer(-1)) == "text 1969-12-31 23:59:59.999");
  CHECK(bound(kTimestamp, n("-62135596800000")) == "text 0001-01-01 00:00:00.000");
  CHECK(bound(kTimestamp, n("253402300799999")) == "text 9999-12-31 23:59:59.999");
  CHECK_THAT(bound(kTimestamp, n("253402300800000")), Contains("is outside the years 1 to 9999"));
  CHECK_THAT(bound(kTimestamp, n("-62135596800001")), Contains("is outside the years 1 to 9999"));
  CHECK_THAT(bound(kTimestamp, n("1.5")), Contains("neither a text nor milliseconds"));
  CHECK(bound(-3, s("abc")) == "bytes abc");
  CHECK_THAT(bound(3012, s("abc")), Contains("number 3012"));
}

TEST_CASE("types as users write them", "[phoenix][values]") {
  std::string problem;
  const auto sql = [&](const char* text) { return type_in_sql(text, &problem); };
  for (const auto& [text, type] : {std::pair("bigint", "BIGINT"), std::pair("DECIMAL(16, 2)", "DECIMAL(16,2)"),
                                   std::pair("varchar(10)", "VARCHAR(10)"), std::pair("unsigned_long", "UNSIGNED_LONG"),
                                   std::pair("char (3)", "CHAR(3)"), std::pair("text", "VARCHAR"),
                                   std::pair("REAL", "DOUBLE"), std::pair("Numeric(9,1)", "DECIMAL(9,1)")}) {
    CHECK(sql(text) == type);
    CHECK(problem.empty());
  }
  for (const char* bad : {"", "big int", "bigint)", "decimal(", "decimal()", "decimal(,2)", "decimal(1,2,3)",
                          "decimal(1)x", "x;drop", "_x", "varchar primary key", "a'b"}) {
    INFO(bad);
    CHECK(sql(bad).empty());
    CHECK_THAT(problem, Contains("is no type of Phoenix that the sink writes"));
  }
  for (const auto& [wrong, near] :
       {std::pair("BIGNIT", "BIGINT"), std::pair("varchr(10)", "VARCHAR"), std::pair("unsigned_lng", "UNSIGNED_LONG"),
        std::pair("int", "INTEGER"), std::pair("string", "VARCHAR"), std::pair("DateTime", "TIMESTAMP")}) {
    CHECK(sql(wrong).empty());
    CHECK(problem == "is no type of Phoenix that the sink writes; did you mean " + std::string(near) + "?");
  }
  CHECK(sql("varchar[]").empty());
  CHECK(sql("char").empty());
  CHECK(problem == "needs its length, such as CHAR(10)");
}
