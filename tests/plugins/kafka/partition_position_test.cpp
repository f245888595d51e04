#include "kafka/partition_position.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace sluice::kafka;

namespace {

std::string encoded(const PartitionPosition& p) {
  char bytes[PartitionPosition::kMaxSize];
  return {bytes, p.encode(bytes)};
}

}  // namespace

TEST_CASE("a position's bytes are what the format says, and come back") {
  CHECK(encoded({0x0102030405060708, PartitionPosition::kComplete, true}) ==
        std::string("\x01\x08\x07\x06\x05\x04\x03\x02\x01", 9));
  for (const PartitionPosition p :
       {PartitionPosition{0, PartitionPosition::kComplete, false}, PartitionPosition{5, 10, true},
        PartitionPosition{5, 10, false},
        PartitionPosition{std::numeric_limits<int64_t>::max(), PartitionPosition::kComplete, true}}) {
    const auto back = PartitionPosition::decode(encoded(p));
    REQUIRE(back.has_value());
    CHECK(back->next == p.next);
    CHECK(back->snapshot_end == p.snapshot_end);
    CHECK(back->behind_row == p.behind_row);
  }
}

TEST_CASE("the row that reaches the snapshot's end needs no end any more") {
  CHECK(encoded({9, 10, true}).size() == 17);
  CHECK(encoded({10, 10, true}).size() == 9);
}

TEST_CASE("foreign bytes are refused") {
  CHECK_FALSE(PartitionPosition::decode("").has_value());
  CHECK_FALSE(PartitionPosition::decode("\x01").has_value());
  CHECK_FALSE(PartitionPosition::decode(std::string("\x05\0\0\0\0\0\0\0\0", 9)).has_value());
  CHECK_FALSE(PartitionPosition::decode(std::string("\x02\0\0\0\0\0\0\0\0", 9)).has_value());
  CHECK_FALSE(PartitionPosition::decode("\x01\xff\xff\xff\xff\xff\xff\xff\xff").has_value());
}

TEST_CASE("split ids and readable positions") {
  CHECK(split_id("topic_db", 3) == "topic_db-3");
  REQUIRE(parse_split_id("a-b-12").has_value());
  CHECK(parse_split_id("a-b-12")->topic == "a-b");
  CHECK(parse_split_id("a-b-12")->partition == 12);
  for (const char* bad : {"", "topic", "-1", "topic-", "topic-x", "topic-99999999999"})
    CHECK_FALSE(parse_split_id(bad).has_value());
  CHECK(describe("topic_db-0", encoded({18, PartitionPosition::kComplete, true})) == "topic_db[0] offset 17");
  CHECK(describe("topic_db-0", encoded({18, 20, false})) == "topic_db[0] before offset 18");
  CHECK(describe("topic_db-0", "??") == "topic_db[0] at a position that this version cannot read");
}
