#include "partition_key.h"

#include <catch2/catch.hpp>

namespace sluice::clickhouse {
namespace {

// A table of three columns: day DateTime('Asia/Shanghai'), n UInt8, d Nullable(Date).
struct Table {
  std::vector<std::string> names{"day", "n", "d"};
  std::vector<ColumnType> types{parse_column_type("DateTime('Asia/Shanghai')"), parse_column_type("UInt8"),
                                parse_column_type("Nullable(Date)")};
  Table() {
    std::string unknown;
    for (ColumnType& t : types) REQUIRE(resolve_zones(&t, "UTC", 0, &unknown));
  }
  PartitionKey key(const std::string& expression) const {
    std::vector<const ColumnType*> pointers;
    for (const ColumnType& t : types) pointers.push_back(&t);
    return PartitionKey::read(expression, names, pointers);
  }
};

std::string time(uint32_t epoch) { return std::string(reinterpret_cast<const char*>(&epoch), 4); }
std::string partition(const PartitionKey& key, const std::vector<std::string>& values) {
  std::string out;
  key.append_partition({values.begin(), values.end()}, &out);
  return out;
}

TEST_CASE("a day begins at the column's midnight") {
  const Table t;
  const PartitionKey key = t.key("toYYYYMMDD(day)");
  REQUIRE(key.is_known());
  REQUIRE(key.columns() == std::vector<size_t>{0});
  // 2024-05-01 15:59:59 UTC is 23:59:59 in Shanghai.
  CHECK(partition(key, {time(1714579199)}) != partition(key, {time(1714579200)}));
  CHECK(partition(key, {time(1714579200)}) == partition(key, {time(1714579200 + 86399)}));
}

TEST_CASE("months, weeks, quarters, years, hours") {
  const Table t;
  const auto same = [&](const std::string& f, uint32_t a, uint32_t b) {
    return partition(t.key(f + "(day)"), {time(a)}) == partition(t.key(f + "(day)"), {time(b)});
  };
  const uint32_t may1 = 1714492800, may31 = 1717084800, june1 = 1717171200, july1 = 1719763200;  // 00:00 in Shanghai
  CHECK(same("toYYYYMM", may1, may31));
  CHECK_FALSE(same("toYYYYMM", may31, june1));
  CHECK(same("toStartOfQuarter", may1, june1));
  CHECK_FALSE(same("toStartOfQuarter", june1, july1));
  CHECK(same("toYear", may1, july1));
  CHECK_FALSE(same("toYear", may1, 1735660800));    // 2025-01-01 00:00
  CHECK(same("toMonday", 1714320000, 1714924799));  // Monday 2024-04-29 00:00:00 to Sunday 23:59:59
  CHECK_FALSE(same("toMonday", 1714319999, 1714320000));
  CHECK(same("toStartOfHour", may1, may1 + 3599));
  CHECK_FALSE(same("toStartOfHour", may1, may1 + 3600));
}

TEST_CASE("tuples, columns, null") {
  const Table t;
  const PartitionKey key = t.key("(toYYYYMM(day), n)");
  REQUIRE(key.columns() == std::vector<size_t>{0, 1});
  CHECK(partition(key, {time(1714579199), "\x01"}) != partition(key, {time(1714579199), "\x02"}));
  const PartitionKey nullable = t.key("toYYYYMM(d)");
  REQUIRE(nullable.is_known());
  CHECK(partition(nullable, {"\x01"}) != partition(nullable, {std::string("\0\x84\x4D", 3)}));
  CHECK(t.key("").is_known());
  CHECK(t.key("tuple()").is_known());
  CHECK(t.key("tuple()").columns().empty());
  CHECK(t.key("tuple(n, `day`)").columns() == std::vector<size_t>{1, 0});
}

TEST_CASE("what is not evaluated") {
  const Table t;
  CHECK_FALSE(t.key("intHash32(n) % 8").is_known());
  CHECK_FALSE(t.key("toYYYYMM(day, 'UTC')").is_known());
  CHECK_FALSE(t.key("toYYYYMM(n)").is_known());
  CHECK_FALSE(t.key("other").is_known());
  CHECK_FALSE(t.key("(n, modulo(n, 3))").is_known());
}

}  // namespace
}  // namespace sluice::clickhouse
