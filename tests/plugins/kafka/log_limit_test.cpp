#include "kafka/log_limit.h"

#include <catch2/catch.hpp>

using namespace sluice::kafka;

TEST_CASE("a burst goes through, the rest is counted and told once") {
  LogLimit limit;
  LogLimit::Clock::time_point now{std::chrono::hours(1)};
  uint64_t held_back = 0;
  for (uint32_t i = 0; i < LogLimit::kBurst; ++i) CHECK(limit.allows(now, &held_back));
  for (int i = 0; i < 7; ++i) CHECK_FALSE(limit.allows(now, &held_back));
  CHECK(limit.allows(now + LogLimit::kWindow, &held_back));
  CHECK(held_back == 7);
  CHECK(limit.allows(now + LogLimit::kWindow, &held_back));
  CHECK(held_back == 0);
}
