// The bytes of values, and the reasons of those that do not fit.
#include "value_encoder.h"

#include <catch2/catch.hpp>
#include <limits>

namespace sluice::clickhouse {
namespace {

struct Encoded {
  std::string bytes, problem;
};

Encoded encode(const std::string& type, const Value& value, EncodingRules rules = {}, const std::string& zone = "UTC") {
  ColumnType t = parse_column_type(type);
  std::string unknown;
  REQUIRE(resolve_zones(&t, zone, 0, &unknown));
  ValueEncoder encoder(
      rules, [](const Value&, Value*) { return Status::bad_record("no parser here"); },
      [](const Value&, std::string_view* out) {
        *out = "{}";
        return Status::ok();
      });
  Encoded out;
  if (!encoder.encode(t, value, &out.bytes, &out.problem)) out.bytes = "refused";
  return out;
}
std::string bytes(const std::string& type, const Value& value, EncodingRules rules = {},
                  const std::string& zone = "UTC") {
  const Encoded e = encode(type, value, rules, zone);
  INFO(type << ": " << e.problem);
  CHECK(e.problem.empty());
  return e.bytes;
}
std::string why(const std::string& type, const Value& value, EncodingRules rules = {},
                const std::string& zone = "UTC") {
  const Encoded e = encode(type, value, rules, zone);
  INFO(type);
  CHECK(e.bytes == "refused");
  return e.problem;
}
std::string little(uint64_t value, size_t width) {
  std::string out;
  for (size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
Value number(const char* text) { return Value::number(text); }
Value text(const char* t) { return Value::string(t); }

TEST_CASE("whole numbers: every edge") {
  CHECK(bytes("UInt8", number("255")) == little(255, 1));
  CHECK(why("UInt8", number("256")) == "256 is outside the range of UInt8");
  CHECK(why("UInt8", number("300")) == "300 is outside the range of UInt8");
  CHECK(why("UInt8", number("-1")) == "-1 is outside the range of UInt8");
  CHECK(bytes("UInt16", text("65535")) == little(65535, 2));
  CHECK(why("UInt16", text("65536")) == "\"65536\" is outside the range of UInt16");
  CHECK(bytes("UInt32", number("4294967295")) == little(4294967295, 4));
  CHECK(why("UInt32", number("4294967296")) == "4294967296 is outside the range of UInt32");
  CHECK(bytes("UInt64", number("18446744073709551615")) == std::string(8, '\xFF'));
  CHECK(bytes("UInt64", text("18446744073709551615")) == std::string(8, '\xFF'));
  CHECK(why("UInt64", number("18446744073709551616")) == "18446744073709551616 is outside the range of UInt64");
  CHECK(why("UInt64", Value::integer(-1)) == "-1 is outside the range of UInt64");
  CHECK(bytes("Int8", number("-128")) == little(0x80, 1));
  CHECK(why("Int8", number("-129")) == "-129 is outside the range of Int8");
  CHECK(why("Int8", number("128")) == "128 is outside the range of Int8");
  CHECK(bytes("Int16", number("-32768")) == little(0x8000, 2));
  CHECK(why("Int32", number("2147483648")) == "2147483648 is outside the range of Int32");
  CHECK(bytes("Int64", number("-9223372036854775808")) == little(uint64_t{1} << 63, 8));
  CHECK(why("Int64", number("9223372036854775808")) == "9223372036854775808 is outside the range of Int64");
  CHECK(bytes("UInt64", number("9007199254740993")) == little(9007199254740993u, 8));
  CHECK(bytes("UInt128", Value::integer(1)) == little(1, 8) + little(0, 8));
  CHECK(bytes("Int256", Value::integer(-1)) == std::string(32, '\xFF'));
  CHECK(why("UInt128", Value::integer(-1)) == "-1 is outside the range of UInt128");
}

TEST_CASE("whole numbers: other values") {
  CHECK(bytes("UInt64", number("20.00")) == little(20, 8));
  CHECK(bytes("UInt64", number("1e3")) == little(1000, 8));
  CHECK(why("UInt64", number("1.5")) == "1.5 is no whole number, as UInt64 needs");
  CHECK(why("UInt64", text("abc")) == "\"abc\" is no UInt64");
  CHECK(why("UInt64", text("")) == "\"\" is no UInt64");
  CHECK(why("UInt64", text(" 1")) == "\" 1\" is no UInt64");
  CHECK(why("UInt64", Value::json_array("[1]")) == "[1] is no UInt64");
  CHECK(bytes("UInt8", Value::boolean(true)) == little(1, 1));
  CHECK(why("UInt64", Value::null()) == "null is not allowed in UInt64");
  CHECK(bytes("Int32", Value::real(-3)) == little(0xFFFFFFFD, 4));
}

TEST_CASE("floating point") {
  const double d = 1.5;
  CHECK(bytes("Float64", number("1.5")) == std::string(reinterpret_cast<const char*>(&d), 8));
  CHECK(why("Float64", number("1e400")) == "1e400 is outside the range of Float64");
  CHECK(why("Float32", number("1e39")) == "1e39 is outside the range of Float32");
  CHECK(bytes("Float64", number("1e-400")) == std::string(8, '\0'));
  CHECK(bytes("Float32", text("-inf")) == little(0xFF800000, 4));
  CHECK(why("Float64", text("abc")) == "\"abc\" is no Float64");
  CHECK(why("Float64", text("")) == "\"\" is no Float64");
}

TEST_CASE("decimals") {
  CHECK(bytes("Decimal(9, 2)", number("-123.45")) == little(static_cast<uint32_t>(-12345), 4));
  CHECK(bytes("Decimal(9, 2)", text("9999999.99")) == little(999999999, 4));
  CHECK(why("Decimal(9, 2)", text("10000000.00")) == "\"10000000.00\" is outside the range of Decimal(9, 2)");
  CHECK(why("Decimal(9, 2)", number("1.234")) == "1.234 has more digits behind the point than Decimal(9, 2) keeps");
  CHECK(bytes("Decimal(9, 2)", number("1.239"), {0, true}) == little(123, 4));
  CHECK(bytes("Decimal(18, 4)", Value::integer(5)) == little(50000, 8));
  CHECK(bytes("Decimal(38, 0)", number("99999999999999999999999999999999999999")).size() == 16);
  CHECK(why("Decimal(38, 0)", number("100000000000000000000000000000000000000")) ==
        "100000000000000000000000000000000000000 is outside the range of Decimal(38, 0)");
}

TEST_CASE("text") {
  CHECK(bytes("String", text("né")) == "\x03né");
  CHECK(bytes("String", number("20.00")) ==
        "\x05"
        "20.00");
  CHECK(bytes("String", Value::integer(-7)) == "\x02-7");
  CHECK(bytes("String", Value::boolean(false)) ==
        "\x05"
        "false");
  CHECK(bytes("String", Value::json_array("[1, 2]")) == "\x06[1, 2]");
  CHECK(bytes("String", text(std::string(200, 'x').c_str())).substr(0, 2) == "\xC8\x01");
  CHECK(bytes("FixedString(4)", text("ab")) == std::string("ab\0\0", 4));
  CHECK(why("FixedString(4)", text("abcde")) == "\"abcde\" has 5 bytes, more than FixedString(4) holds");
}

TEST_CASE("DateTime is the wall clock of its zone") {
  CHECK(bytes("DateTime", text("2024-05-01 10:00:00"), {}, "UTC") == little(1714557600, 4));
  CHECK(bytes("DateTime", text("2024-05-01 10:00:00"), {}, "Asia/Shanghai") == little(1714557600 - 8 * 3600, 4));
  CHECK(bytes("DateTime('Asia/Shanghai')", text("2024-05-01 10:00:00"), {}, "UTC") == little(1714557600 - 8 * 3600, 4));
  CHECK(bytes("DateTime", text("2024-05-01T10:00:00Z"), {}, "Asia/Shanghai") == little(1714557600, 4));
  CHECK(bytes("DateTime", text("2024-05-01 10:00:00+08:00"), {}, "UTC") == little(1714557600 - 8 * 3600, 4));
  CHECK(bytes("DateTime", text("2024-05-01")) == little(1714521600, 4));
  CHECK(why("DateTime", text("2024-03-10 02:30:00"), {}, "America/New_York") ==
        "\"2024-03-10 02:30:00\" is left out in America/New_York, where clocks were put forward over it");
}

TEST_CASE("DateTime: what a server would wrap or clamp") {
  CHECK(bytes("DateTime", number("1709200800")) == little(1709200800, 4));
  CHECK(bytes("DateTime", text("1709200800")) == little(1709200800, 4));
  CHECK(why("DateTime", number("1709200800000")) ==
        "1709200800000 is outside the range of DateTime as a number of seconds (option `epoch_unit`)");
  CHECK(bytes("DateTime", number("1709200800000"), {3, false}) == little(1709200800, 4));
  CHECK(why("DateTime", number("1709200800123"), {3, false}) ==
        "1709200800123 has a finer fraction of a second than DateTime keeps");
  CHECK(bytes("DateTime", number("1709200800123"), {3, true}) == little(1709200800, 4));
  CHECK(bytes("DateTime", text("2106-02-07 06:28:15")) == little(4294967295, 4));
  CHECK(why("DateTime", text("2106-02-07 06:28:16")) == "\"2106-02-07 06:28:16\" is outside the range of DateTime");
  CHECK(why("DateTime", text("1969-12-31 23:59:59")) == "\"1969-12-31 23:59:59\" is outside the range of DateTime");
  CHECK(why("DateTime", text("1970-01-01 07:59:59"), {}, "Asia/Shanghai") ==
        "\"1970-01-01 07:59:59\" is outside the range of DateTime");
  EncodingRules null_rules;
  null_rules.zero_dates_are_null = true;
  for (const char* type : {"Date", "Date32", "DateTime", "DateTime64(3)"}) {
    const std::string nullable = "Nullable(" + std::string(type) + ")";
    for (const char* zero : {"0000-00-00", "0000-00-00 00:00:00", "0000-00-00 00:00:00.000000"}) {
      const std::string refused =
          "\"" + std::string(zero) +
          "\" is a zero date, which ClickHouse would turn into another one; `zero_dates: as_null` "
          "makes it NULL in a Nullable column, and in no other";
      CHECK(bytes(nullable, text(zero), null_rules) == "\x01");
      CHECK(why(nullable, text(zero)) == refused);
      CHECK(why(type, text(zero), null_rules) == refused);
    }
    CHECK(why(nullable, text("2020-00-00 00:00:00"), null_rules) == "\"2020-00-00 00:00:00\" is not in the calendar");
  }
  CHECK(bytes("Nullable(String)", text("0000-00-00"), null_rules) == std::string("\0\x0A", 2) + "0000-00-00");
  CHECK(why("DateTime", text("2024-05-01 10:00:00.5")) ==
        "\"2024-05-01 10:00:00.5\" has a finer fraction of a second than DateTime keeps");
  CHECK(bytes("DateTime", text("2024-05-01 10:00:00.5"), {0, true}) == little(1714557600, 4));
  CHECK(why("DateTime", text("yesterday")) == "\"yesterday\" is no date or time like 2024-05-01 10:00:00");
  CHECK(why("DateTime", number("-1")) ==
        "-1 is outside the range of DateTime as a number of seconds (option `epoch_unit`)");
  CHECK(why("DateTime", number("1e300")) ==
        "1e300 is outside the range of DateTime as a number of seconds (option `epoch_unit`)");
  CHECK(why("DateTime", Value::boolean(true)) == "true is no DateTime");
}

TEST_CASE("DateTime64") {
  CHECK(bytes("DateTime64(3)", text("2024-05-01 10:00:00.125")) == little(1714557600125, 8));
  CHECK(bytes("DateTime64(6, 'Asia/Shanghai')", text("2024-05-01 10:00:00")) ==
        little((1714557600 - 28800) * 1000000ull, 8));
  CHECK(bytes("DateTime64(3)", number("1709200800.5")) == little(1709200800500, 8));
  CHECK(bytes("DateTime64(9)", number("1709200800123"), {3, false}) == little(1709200800123000000, 8));
  CHECK(bytes("DateTime64(3)", text("1900-01-01 00:00:00")) == little(static_cast<uint64_t>(-2208988800000), 8));
  CHECK(why("DateTime64(3)", text("1899-12-31 23:59:59")) ==
        "\"1899-12-31 23:59:59\" is outside the range of DateTime64(3)");
  CHECK(why("DateTime64(9)", text("2299-12-31 23:59:59")) ==
        "\"2299-12-31 23:59:59\" is outside the range of DateTime64(9)");
  CHECK(why("DateTime64(3)", text("2024-05-01 10:00:00.1234")) ==
        "\"2024-05-01 10:00:00.1234\" has a finer fraction of a second than DateTime64(3) keeps");
  CHECK(bytes("DateTime64(0)", text("1969-12-31 23:59:59")) == std::string(8, '\xFF'));
}

TEST_CASE("Date and Date32") {
  CHECK(bytes("Date", text("2024-05-01")) == little(19844, 2));
  CHECK(bytes("Date", text("2149-06-06")) == little(65535, 2));
  CHECK(why("Date", text("2149-06-07")) == "\"2149-06-07\" is outside the range of Date");
  CHECK(why("Date", text("1969-12-31")) == "\"1969-12-31\" is outside the range of Date");
  CHECK(why("Date", number("19844")) == "19844 is no Date: dates are written as text, 2024-05-01");
  CHECK(bytes("Date", text("2024-05-01 00:00:00")) == little(19844, 2));
  CHECK(why("Date", text("2024-05-01 10:00:00")) ==
        "\"2024-05-01 10:00:00\" has a time of day, which Date does not keep");
  CHECK(bytes("Date", text("2024-05-01 10:00:00"), {0, true}) == little(19844, 2));
  CHECK(bytes("Date32", text("1900-01-01")) == little(static_cast<uint32_t>(-25567), 4));
  CHECK(why("Date32", text("2300-01-01")) == "\"2300-01-01\" is outside the range of Date32");
}

TEST_CASE("Enum, Bool, UUID, addresses") {
  const std::string e = "Enum8('x' = 1, 'y' = -2, '7' = 3)";
  CHECK(bytes(e, text("y")) == little(0xFE, 1));
  CHECK(bytes(e, number("1")) == little(1, 1));
  CHECK(bytes(e, text("7")) == little(3, 1));
  CHECK(bytes(e, text("-2")) == little(0xFE, 1));
  CHECK(why(e, text("z")) == "\"z\" is not among the values of " + e);
  CHECK(why(e, number("7")) == "7 is not among the values of " + e);
  CHECK(bytes("Bool", text("TRUE")) == "\x01");
  CHECK(bytes("Bool", number("0")) == std::string(1, '\0'));
  CHECK(why("Bool", number("2")) == "2 is no Bool");
  CHECK(bytes("UUID", text("00112233-4455-6677-8899-AABBccddeeff")) ==
        little(0x0011223344556677, 8) + little(0x8899aabbccddeeff, 8));
  CHECK(bytes("UUID", text("00112233445566778899aabbccddeeff")) ==
        little(0x0011223344556677, 8) + little(0x8899aabbccddeeff, 8));
  CHECK(why("UUID", text("00112233-4455-6677-8899-aabbccddeef")) ==
        "\"00112233-4455-6677-8899-aabbccddeef\" is no UUID");
  CHECK(why("UUID", text("0011223344556677-8899-aabbccddeeff-x")) ==
        "\"0011223344556677-8899-aabbccddeeff-x\" is no UUID");
  CHECK(bytes("IPv4", text("192.168.0.1")) == little(0xC0A80001, 4));
  CHECK(why("IPv4", text("192.168.0.256")) == "\"192.168.0.256\" is no IPv4");
  CHECK(bytes("IPv6", text("::1")) == std::string(15, '\0') + "\x01");
  CHECK(bytes("IPv6", text("1.2.3.4")) == std::string(10, '\0') + "\xFF\xFF\x01\x02\x03\x04");
}

TEST_CASE("null, and arrays that are taken apart") {
  CHECK(bytes("Nullable(UInt8)", Value::null()) == "\x01");
  CHECK(bytes("Nullable(UInt8)", number("7")) == std::string("\0\x07", 2));
  CHECK(bytes("LowCardinality(Nullable(String))", text("a")) == std::string("\0\x01"
                                                                            "a",
                                                                            3));
  const sluice_value items[] = {number("1").raw(), Value::null().raw(), number("300").raw()};
  sluice_value list;
  list.type = SLUICE_LIST;
  list.reserved = 0;
  list.as.list.items = items;
  list.as.list.size = 2;
  CHECK(bytes("Array(Nullable(UInt8))", Value(list)) == std::string("\x02\0\x01\x01", 4));
  CHECK(why("Array(UInt8)", Value(list)) == "element 2: null is not allowed in UInt8");
  list.as.list.size = 3;
  CHECK(why("Array(Nullable(UInt8))", Value(list)) == "element 3: 300 is outside the range of UInt8");
  CHECK(why("Array(UInt8)", text("[1]")) == "\"[1]\" is no Array(UInt8)");
  CHECK(why("JSON", text("{}")) == "values of the type JSON cannot be written by this sink");
}

TEST_CASE("long values are shown in part, at the edge of a letter") {
  std::string long_text(79, 'a');
  long_text += "é and more";
  CHECK(shown(text(long_text.c_str())) == "\"" + std::string(79, 'a') + "…\"");
}

}  // namespace
}  // namespace sluice::clickhouse
