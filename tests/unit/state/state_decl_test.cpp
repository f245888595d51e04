#include "state/state_decl.h"

#include <catch2/catch.hpp>
#include <string>

using namespace sluice::state;

// Vectors of the XXH64 specification and of the reference implementation: this is an on-disk format.
TEST_CASE("key hash is XXH64 with seed 0") {
  CHECK(key_hash("") == 0xEF46DB3751D8E999ull);
  CHECK(key_hash("a") == 0xD24EC4F1A98C6E5Bull);
  CHECK(key_hash("abc") == 0x44BC2CF5AD770999ull);
  CHECK(key_hash("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1ull);
  CHECK(key_hash("0123456789abcdef") == 0x5C5B90C34E376D0Bull);
}

TEST_CASE("lanes divide the key groups without gaps") {
  for (const uint32_t groups : {1u, 7u, 100u, 128u, 32768u}) {
    for (const uint32_t lanes : {1u, 2u, 3u, 4u, 7u}) {
      if (lanes > groups) continue;
      uint32_t next = 0;
      for (uint32_t lane = 0; lane < lanes; ++lane) {
        const KeyGroupRange range = key_groups_of_lane(lane, lanes, groups);
        REQUIRE(range.begin == next);
        REQUIRE(range.end > range.begin);
        REQUIRE(lane_of_key_group(range.begin, lanes, groups) == lane);
        REQUIRE(lane_of_key_group(range.end - 1, lanes, groups) == lane);
        next = range.end;
      }
      REQUIRE(next == groups);
    }
  }
}

TEST_CASE("stored formats are accepted or refused with the reason") {
  StoredState stored;
  stored.decl.format_version = 2;
  stored.oldest_format = 2;
  stored.max_compat = 2;
  StateDecl now;
  const auto with = [&](uint32_t format, uint32_t compat) {
    now.format_version = format;
    now.compat_version = compat;
    return incompatibility(stored, now);
  };
  CHECK(with(2, 2).empty());
  CHECK(with(2, 1).empty());
  CHECK(with(3, 2).empty());  // newer, still reads 2
  CHECK_THAT(with(3, 3), Catch::Contains("holds values of format 2") && Catch::Contains("reads only format 3"));
  CHECK_THAT(with(1, 1), Catch::Contains("stored in format 2") && Catch::Contains("only knows format 1"));
  stored.max_compat = 1;  // format 2 that readers of format 1 understand
  CHECK(with(1, 1).empty());
  now.kind = StateKind::kMap;
  CHECK_THAT(with(2, 2), Catch::Contains("value state") && Catch::Contains("map state"));
}
