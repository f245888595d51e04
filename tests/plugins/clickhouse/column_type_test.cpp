// Type names as system.columns.type gives them: 18.16.1 and 26.9.
#include "column_type.h"

#include <catch2/catch.hpp>

namespace sluice::clickhouse {
namespace {

TEST_CASE("simple types") {
  CHECK(parse_column_type("UInt64").kind == TypeKind::kUInt);
  CHECK(parse_column_type("UInt64").bytes == 8);
  CHECK(parse_column_type("Int256").bytes == 32);
  CHECK(parse_column_type("String").kind == TypeKind::kString);
  CHECK(parse_column_type("Bool").kind == TypeKind::kBool);
  CHECK(parse_column_type("FixedString(16)").bytes == 16);
  CHECK(parse_column_type("IPv6").kind == TypeKind::kIpv6);
}

TEST_CASE("decimals have the width that their precision needs") {
  const ColumnType t = parse_column_type("Decimal(18, 4)");
  CHECK(t.kind == TypeKind::kDecimal);
  CHECK(t.precision == 18);
  CHECK(t.scale == 4);
  CHECK(t.bytes == 8);
  CHECK(parse_column_type("Decimal(9, 0)").bytes == 4);
  CHECK(parse_column_type("Decimal(38, 10)").bytes == 16);
  CHECK(parse_column_type("Decimal(76, 76)").bytes == 32);
  CHECK(parse_column_type("Decimal(77, 1)").kind == TypeKind::kUnsupported);
  CHECK(parse_column_type("Decimal(5, 6)").kind == TypeKind::kUnsupported);
}

TEST_CASE("times and their zones") {
  CHECK(parse_column_type("DateTime").zone.empty());
  CHECK(parse_column_type("DateTime('Asia/Shanghai')").zone == "Asia/Shanghai");
  const ColumnType t = parse_column_type("DateTime64(3, 'UTC')");
  CHECK(t.kind == TypeKind::kDateTime64);
  CHECK(t.scale == 3);
  CHECK(t.zone == "UTC");
  CHECK(parse_column_type("DateTime64(9)").scale == 9);
  CHECK(parse_column_type("DateTime64(10)").kind == TypeKind::kUnsupported);
}

TEST_CASE("times without a zone of their own") {
  CHECK(is_time_without_zone(parse_column_type("DateTime")));
  CHECK(is_time_without_zone(parse_column_type("Nullable(DateTime64(3))")));
  CHECK(is_time_without_zone(parse_column_type("Map(String, DateTime)")));
  CHECK_FALSE(is_time_without_zone(parse_column_type("DateTime('UTC')")));
  CHECK_FALSE(is_time_without_zone(parse_column_type("DateTime64(3, 'Asia/Shanghai')")));
  CHECK_FALSE(is_time_without_zone(parse_column_type("Date")));
}

TEST_CASE("enums with names that need escapes") {
  const ColumnType t = parse_column_type(R"(Enum8('a\'b' = 1, 'x, (y)' = -2))");
  CHECK(t.bytes == 1);
  CHECK(t.enum_values == std::vector<std::pair<std::string, int>>{{"a'b", 1}, {"x, (y)", -2}});
  CHECK(parse_column_type("Enum16('z' = 1000)").bytes == 2);
}

TEST_CASE("types in types") {
  const ColumnType a = parse_column_type("Array(Nullable(UInt8))");
  CHECK(a.kind == TypeKind::kArray);
  CHECK(a.inner[0].is_nullable());
  CHECK(a.inner[0].bare().bytes == 1);
  const ColumnType l = parse_column_type("LowCardinality(Nullable(String))");
  CHECK(l.is_nullable());
  CHECK(l.bare().kind == TypeKind::kString);
  CHECK(l.name == "LowCardinality(Nullable(String))");
  const ColumnType m = parse_column_type("Map(LowCardinality(String), Array(DateTime('UTC')))");
  CHECK(m.kind == TypeKind::kMap);
  CHECK(m.inner[1].inner[0].zone == "UTC");
  const ColumnType t = parse_column_type("Tuple(a UInt8, `b c` Tuple(String, Decimal(9, 2)), DateTime)");
  CHECK(t.inner_names == std::vector<std::string>{"a", "b c", ""});
  CHECK(t.inner[1].inner[1].scale == 2);
  CHECK(parse_column_type("SimpleAggregateFunction(sum, UInt64)").bytes == 8);
  CHECK(parse_column_type("SimpleAggregateFunction(groupArrayArray(10), Array(String))").kind == TypeKind::kArray);
}

TEST_CASE("what cannot be written is said, wherever it stands") {
  CHECK(unsupported_part(parse_column_type("JSON")) == "JSON");
  CHECK(unsupported_part(parse_column_type("AggregateFunction(sum, UInt64)")) == "AggregateFunction(sum, UInt64)");
  CHECK(unsupported_part(parse_column_type("Array(JSON(max_dynamic_paths=8, a.b UInt32))")) ==
        "JSON(max_dynamic_paths=8, a.b UInt32)");
  CHECK(unsupported_part(parse_column_type("Tuple(UInt8, Variant(String, UInt8))")) == "Variant(String, UInt8)");
  CHECK(unsupported_part(parse_column_type("Map(String, UInt64)")).empty());
  for (const char* broken :
       {"", "UInt64)", "Array(", "Decimal(9", "Enum8('a)", "Tuple()", "DateTime(", "FixedString(0)", "Enum8('a' = )"}) {
    INFO(broken);
    const ColumnType t = parse_column_type(broken);
    const bool refused = t.kind == TypeKind::kUnsupported || !unsupported_part(t).empty();
    CHECK(refused);
  }
}

TEST_CASE("each time gets its zone's clock") {
  ColumnType t = parse_column_type("Array(DateTime('America/New_York'))");
  std::string unknown;
  REQUIRE(resolve_zones(&t, "UTC", 0, &unknown));
  CHECK(t.inner[0].clock->name() == "America/New_York");
  ColumnType plain = parse_column_type("Nullable(DateTime)");
  REQUIRE(resolve_zones(&plain, "Asia/Shanghai", 0, &unknown));
  CHECK(plain.inner[0].clock->name() == "Asia/Shanghai");
  ColumnType bad = parse_column_type("DateTime('Nowhere/City')");
  CHECK_FALSE(resolve_zones(&bad, "UTC", 0, &unknown));
  CHECK(unknown == "Nowhere/City");
}

TEST_CASE("clocks that are put forward and back") {
  ZoneClock clock;
  REQUIRE(clock.set("America/New_York"));
  int64_t epoch = 0;
  // 2024-03-10 02:30:00 does not exist there.
  CHECK_FALSE(clock.to_epoch(1710037800, &epoch));
  // 2024-11-03 01:30:00 comes twice: 05:30 UTC and 06:30 UTC.
  REQUIRE(clock.to_epoch(1730597400, &epoch));
  CHECK(epoch == 1730611800);
  CHECK(clock.to_local(1730611800) == 1730597400);
  CHECK(clock.to_local(1730615400) == 1730597400);
  // Far from a change, in both directions from there.
  REQUIRE(clock.to_epoch(1720000000, &epoch));
  CHECK(epoch == 1720000000 + 4 * 3600);
  REQUIRE(clock.to_epoch(1704067200, &epoch));
  CHECK(epoch == 1704067200 + 5 * 3600);
  CHECK_FALSE(clock.set("Mars/Olympus"));
}

}  // namespace
}  // namespace sluice::clickhouse
