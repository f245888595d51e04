// Values of every type, written by the sink and read back from real servers: 18.16 in two zones, 26.9.
#include <catch2/catch.hpp>

#include "test_server.h"

namespace sluice::clickhouse::testing {
namespace {

std::vector<TestServer> all() { return {TestServer::utc(), TestServer::shanghai(), TestServer::engine()}; }
std::vector<TestServer> old_ones() { return {TestServer::utc(), TestServer::shanghai()}; }

// Writes `rows` into a new table of one column besides the key, reads the column back in the order of the key.
Lines through(const TestServer& server, const std::string& type, const Lines& values, Lines* refused = nullptr,
              const std::string& more = "", const Parameters& settings = {}) {
  const std::string table = server.table("n UInt32, v " + type, "MergeTree order by n", settings);
  SinkHarness h(server.options(table, "delivery: at_least_once" + (more.empty() ? "" : ", " + more)));
  h.open();
  for (size_t i = 0; i < values.size(); ++i) h.push("{\"n\":" + std::to_string(i) + ",\"v\":" + values[i] + "}");
  h.checkpoint();
  h.close();
  if (refused != nullptr) *refused = reasons(h);
  return server.rows("select v from " + table + " order by n");
}

TEST_CASE("numbers keep every digit") {
  for (const TestServer& s : all()) {
    CHECK(
        through(s, "UInt64", {"0", "18446744073709551615", "\"18446744073709551614\"", "20.00", "9007199254740993"}) ==
        Lines{"0", "18446744073709551615", "18446744073709551614", "20", "9007199254740993"});
    CHECK(through(s, "Int8", {"-128", "127"}) == Lines{"-128", "127"});
    CHECK(through(s, "Int64", {"-9223372036854775808", "9223372036854775807"}) ==
          Lines{"-9223372036854775808", "9223372036854775807"});
    CHECK(through(s, "Float64", {"1.5", "-1e300", "\"inf\""}) == Lines{"1.5", "-1e300", "inf"});
    CHECK(through(s, "Decimal(9, 2)", {"-123.45", "\"9999999.99\"", "0.1"}) ==
          (s.url() == TestServer::engine().url() ? Lines{"-123.45", "9999999.99", "0.1"}
                                                 : Lines{"-123.45", "9999999.99", "0.10"}));
    CHECK(through(s, "Decimal(18, 4)", {"12345678901234.5678"}) == Lines{"12345678901234.5678"});
    CHECK(through(s, "Decimal(38, 0)", {"-99999999999999999999999999999999999999"}) ==
          Lines{"-99999999999999999999999999999999999999"});
  }
}

TEST_CASE("what a server would wrap is refused, row by row") {
  for (const TestServer& s : all()) {
    Lines why;
    CHECK(through(s, "UInt8", {"1", "300", "2", "-1", "true", "1.5"}, &why) == Lines{"1", "2", "1"});
    CHECK(why == Lines{"column \"v\": 300 is outside the range of UInt8",
                       "column \"v\": -1 is outside the range of UInt8",
                       "column \"v\": 1.5 is no whole number, as UInt8 needs"});
    CHECK(through(s, "UInt64", {"18446744073709551616", "7"}, &why) == Lines{"7"});
    CHECK(why == Lines{"column \"v\": 18446744073709551616 is outside the range of UInt64"});
    CHECK(through(s, "DateTime",
                  {"1709200800000", "\"0000-00-00 00:00:00\"", "\"yesterday\"", "\"1970-01-01 00:00:01Z\""}, &why)
              .size() == 1);
    CHECK(
        why ==
        Lines{
            "column \"v\": 1709200800000 is outside the range of DateTime as a number of seconds (option `epoch_unit`)",
            "column \"v\": \"0000-00-00 00:00:00\" is a zero date, which ClickHouse would turn into another one; "
            "`zero_dates: as_null` makes it NULL in a Nullable column, and in no other",
            "column \"v\": \"yesterday\" is no date or time like 2024-05-01 10:00:00"});
  }
}

TEST_CASE("zero dates are NULL where there is one, or refused; never another date") {
  for (const TestServer& s : all()) {
    const std::string table = s.table("id UInt32, d Nullable(Date), t Nullable(DateTime), k DateTime, ts UInt64",
                                      "ReplacingMergeTree(ts) order by (id, k)");
    const std::string row = R"({"id":1,"d":"0000-00-00","t":"0000-00-00 00:00:00","k":"2024-05-01 10:00:00","ts":1})";
    const std::string in_key = R"({"id":2,"d":null,"t":null,"k":"0000-00-00 00:00:00","ts":1})";
    const std::string advice =
        " is a zero date, which ClickHouse would turn into another one; `zero_dates: as_null` makes it NULL in a "
        "Nullable "
        "column, and in no other";
    SinkHarness h(s.options(table));
    h.open();
    h.push(row);
    h.push(in_key);
    h.checkpoint();
    CHECK(s.rows("select * from " + table) == Lines{"1\t\\N\t\\N\t2024-05-01 10:00:00\t1"});
    CHECK(reasons(h) == Lines{"column \"k\": \"0000-00-00 00:00:00\"" + advice});
    CHECK(h.counter("zero_dates") == 2);
    SinkHarness strict(s.options(table, "zero_dates: reject"));
    strict.open();
    strict.push(row);
    strict.checkpoint();
    CHECK(reasons(strict) == Lines{"column \"d\": \"0000-00-00\"" + advice});
    CHECK(strict.counter("zero_dates") == 0);
  }
  // Two rows without a key of their own would replace each other.
  const TestServer s = TestServer::engine();
  const std::string table =
      s.table("k Nullable(Date), ts UInt64", "ReplacingMergeTree(ts) order by k settings allow_nullable_key = 1");
  SinkHarness h(s.options(table));
  h.open();
  h.push(R"({"k":"0000-00-00","ts":1})");
  h.checkpoint();
  CHECK(reasons(h) ==
        Lines{"column \"k\": \"0000-00-00\" is a zero date, which is no NULL (`zero_dates: as_null`) where "
              "rows replace each other by it"});
  CHECK(s.rows("select count() from " + table) == Lines{"0"});
}

TEST_CASE("text, blank lines and zero bytes") {
  for (const TestServer& s : all()) {
    CHECK(through(s, "String", {R"("a\n\nb")", R"("\u0000é\t")", "12.50", "[1, {\"a\":2}]", "\"\""}) ==
          Lines{"a\\n\\nb", "\\0é\\t", "12.50", "[1, {\"a\":2}]", ""});
    CHECK(through(s, "FixedString(3)", {"\"ab\"", "\"abc\""}) == Lines{"ab\\0", "abc"});
  }
}

TEST_CASE("the bytes of two line ends, which a reader of text would take for the end of the data") {
  for (const TestServer& s : all()) CHECK(through(s, "UInt16", {"2570", "1"}) == Lines{"2570", "1"});  // 0x0A0A
}

TEST_CASE("null, enums, UUIDs, arrays, low cardinality") {
  const Parameters low{{"allow_experimental_low_cardinality_type", "1"}};
  for (const TestServer& s : all()) {
    const bool old = s.url() != TestServer::engine().url();
    CHECK(through(s, "Nullable(UInt8)", {"null", "3"}) == Lines{"\\N", "3"});
    CHECK(through(s, "Enum8('x' = 1, 'it\\'s' = -2)", {"\"it's\"", "1"}) == Lines{"it\\'s", "x"});
    CHECK(through(s, "Enum16('far' = 30000)", {"\"far\""}) == Lines{"far"});
    CHECK(through(s, "UUID", {"\"00112233-4455-6677-8899-aabbccddeeff\""}) ==
          Lines{"00112233-4455-6677-8899-aabbccddeeff"});
    CHECK(through(s, "Array(String)", {"[\"x\", \"it's\"]", "[]"}) == Lines{"['x','it\\'s']", "[]"});
    CHECK(through(s, "Array(Array(Nullable(UInt8)))", {"[[1, null], [], [3]]"}) == Lines{"[[1,NULL],[],[3]]"});
    CHECK(through(s, "LowCardinality(String)", {"\"a\"", "\"b\"", "\"a\""}, nullptr, "", old ? low : Parameters()) ==
          Lines{"a", "b", "a"});
    CHECK(through(s, "LowCardinality(Nullable(String))", {"null", "\"b\""}, nullptr, "", old ? low : Parameters()) ==
          Lines{"\\N", "b"});
    CHECK(through(s, "Date", {"\"2024-05-01\"", "\"1970-01-02\""}) == Lines{"2024-05-01", "1970-01-02"});
  }
}

TEST_CASE("types of a modern server") {
  const TestServer s = TestServer::engine();
  CHECK(through(s, "Bool", {"true", "0"}) == Lines{"true", "false"});
  CHECK(through(s, "Date32", {"\"1900-01-01\"", "\"2299-12-31\""}) == Lines{"1900-01-01", "2299-12-31"});
  CHECK(through(s, "DateTime64(3)", {"\"2024-05-01 10:00:00.125\"", "\"1900-01-02 00:00:00\""}) ==
        Lines{"2024-05-01 10:00:00.125", "1900-01-02 00:00:00.000"});
  CHECK(through(s, "DateTime64(6, 'UTC')", {"1714557600.5"}) == Lines{"2024-05-01 10:00:00.500000"});
  CHECK(through(s, "Int128", {"-170141183460469231731687303715884105728"}) ==
        Lines{"-170141183460469231731687303715884105728"});
  CHECK(through(s, "UInt256", {"115792089237316195423570985008687907853269984665640564039457584007913129639935"}) ==
        Lines{"115792089237316195423570985008687907853269984665640564039457584007913129639935"});
  CHECK(through(s, "Decimal(76, 2)", {"-12345678901234567890123456789012345678901234567890.12"}) ==
        Lines{"-12345678901234567890123456789012345678901234567890.12"});
  CHECK(through(s, "IPv4", {"\"192.168.0.1\""}) == Lines{"192.168.0.1"});
  CHECK(through(s, "IPv6", {"\"2001:db8::1\"", "\"1.2.3.4\""}) == Lines{"2001:db8::1", "::ffff:1.2.3.4"});
  CHECK(through(s, "Map(String, Array(UInt8))", {"{\"a\":[1,2],\"b\":[]}"}) == Lines{"{'a':[1,2],'b':[]}"});
  CHECK(through(s, "Tuple(a UInt8, b String)", {"{\"b\":\"x\",\"a\":1}", "[2, \"y\"]"}) == Lines{"(1,'x')", "(2,'y')"});
}

TEST_CASE("a column of a type that cannot be written is left to the server") {
  const TestServer s = TestServer::engine();
  const std::string table = s.table("n UInt32, j JSON", "MergeTree order by n");
  SinkHarness h(s.options(table, "delivery: at_least_once"));
  h.open();
  h.push(R"({"n":1})");
  h.push(R"({"n":2,"j":{"a":1}})");
  h.checkpoint();
  CHECK(reasons(h) == Lines{"column \"j\": values of the type JSON cannot be written by this sink"});
  CHECK(s.rows("select n, j from " + table) == Lines{"1\t{}"});
}

TEST_CASE("the wall clock of a window is the same text, in whatever zone the server is") {
  const Lines text{"\"2024-05-01 10:00:00\"", "\"2024-05-01 00:00:00\"", "\"2024-05-01T23:59:50\"",
                   "\"1986-05-04 01:00:00\""};
  const Lines same{"2024-05-01 10:00:00", "2024-05-01 00:00:00", "2024-05-01 23:59:50", "1986-05-04 01:00:00"};
  for (const TestServer& s : all()) {
    CHECK(through(s, "DateTime", text) == same);
    CHECK(through(s, "DateTime('UTC')", text) == same);
    CHECK(through(s, "DateTime('Asia/Shanghai')", text) == same);
    CHECK(through(s, "DateTime('America/New_York')", text) == same);
  }
}

TEST_CASE("a moment is shown in the column's zone") {
  const Lines moments{"\"2024-05-01T10:00:00Z\"", "\"2024-05-01 10:00:00+08:00\"", "1714557600", "\"1714557600\""};
  const Lines in_utc{"2024-05-01 10:00:00", "2024-05-01 02:00:00", "2024-05-01 10:00:00", "2024-05-01 10:00:00"};
  const Lines in_shanghai{"2024-05-01 18:00:00", "2024-05-01 10:00:00", "2024-05-01 18:00:00", "2024-05-01 18:00:00"};
  CHECK(through(TestServer::utc(), "DateTime", moments) == in_utc);
  CHECK(through(TestServer::shanghai(), "DateTime", moments) == in_shanghai);
  CHECK(through(TestServer::engine(), "DateTime", moments) == in_shanghai);
  for (const TestServer& s : all()) {
    CHECK(through(s, "DateTime('UTC')", moments) == in_utc);
    CHECK(through(s, "DateTime('Asia/Shanghai')", moments) == in_shanghai);
  }
}

TEST_CASE("numbers of times count what epoch_unit says, and fractions are refused or cut") {
  for (const TestServer& s : old_ones()) {
    Lines why;
    CHECK(through(s, "DateTime('UTC')", {"1714557600000", "1714557600123"}, &why, "epoch_unit: milliseconds") ==
          Lines{"2024-05-01 10:00:00"});
    CHECK(why == Lines{"column \"v\": 1714557600123 has a finer fraction of a second than DateTime('UTC') keeps"});
    CHECK(through(s, "DateTime('UTC')", {"1714557600123"}, &why, "epoch_unit: milliseconds, excess_fraction: cut") ==
          Lines{"2024-05-01 10:00:00"});
    CHECK(through(s, "DateTime('UTC')", {"1714557600000000"}, &why, "epoch_unit: microseconds") ==
          Lines{"2024-05-01 10:00:00"});
    CHECK(through(s, "Decimal(9, 2)", {"1.239"}, &why, "excess_fraction: cut") == Lines{"1.23"});
    CHECK(through(s, "Decimal(9, 2)", {"1.239"}, &why).empty());
    CHECK(why == Lines{"column \"v\": 1.239 has more digits behind the point than Decimal(9, 2) keeps"});
  }
  CHECK(through(TestServer::engine(), "DateTime64(9, 'UTC')", {"1714557600123456789"}, nullptr,
                "epoch_unit: nanoseconds") == Lines{"2024-05-01 10:00:00.123456789"});
}

TEST_CASE("dates at both ends of what each server shows") {
  CHECK(through(TestServer::engine(), "Date", {"\"1970-01-01\""}) == Lines{"1970-01-01"});
  CHECK(through(TestServer::engine(), "Date", {"\"2149-06-06\""}) == Lines{"2149-06-06"});
  Lines why;
  CHECK(through(TestServer::utc(), "Date", {"\"1970-01-01\""}, &why).empty());
  CHECK(why == Lines{"column \"v\": \"1970-01-01\" is shown as 0000-00-00 by this old server"});
  // Measured: 18.16 shows 2149-06-06 as 1970-01-01.
  CHECK(through(TestServer::utc(), "Date", {"\"2105-12-31\"", "\"2149-06-06\""}, &why) == Lines{"2105-12-31"});
  CHECK(why ==
        Lines{"column \"v\": \"2149-06-06\" is after 2105-12-31, and this old server shows later days as others"});
  CHECK(through(TestServer::utc(), "DateTime", {"\"2105-12-31 23:59:59\"", "\"2106-01-01 00:00:00\""}, &why) ==
        Lines{"2105-12-31 23:59:59"});
  CHECK(
      why ==
      Lines{
          "column \"v\": \"2106-01-01 00:00:00\" is after 2105-12-31, and this old server shows later days as others"});
  CHECK(through(TestServer::shanghai(), "DateTime", {"\"2105-12-31 23:59:59\""}) == Lines{"2105-12-31 23:59:59"});
}

}  // namespace
}  // namespace sluice::clickhouse::testing
