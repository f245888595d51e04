#include "kafka/start_options.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::kafka;

TEST_CASE("instants") {
  CHECK(parse_instant("0") == std::optional<int64_t>(0));
  CHECK(parse_instant("1699286400000") == std::optional<int64_t>(1699286400000));
  CHECK(parse_instant("2023-11-06T16:00:00Z") == std::optional<int64_t>(1699286400000));
  CHECK(parse_instant("2023-11-07T00:00:00+08:00") == std::optional<int64_t>(1699286400000));
  CHECK(parse_instant("2023-11-06 10:30:00.25-0530") == std::optional<int64_t>(1699286400250));
  CHECK(parse_instant("2024-02-29T00:00Z") == std::optional<int64_t>(1709164800000));
  CHECK(parse_instant("1970-01-01T08:00:00+08") == std::optional<int64_t>(0));
  for (const char* bad : {"", "yesterday", "2023-11-06", "2023-11-06T16:00:00", "2023-02-29T00:00:00Z",
                          "2023-13-01T00:00:00Z", "2023-11-06T24:00:00Z", "2023-11-06T16:00:00Zx",
                          "2023-11-06T16:00:00.Z", "1969-12-31T23:59:59Z", "99999999999999999999"})
    CHECK_FALSE(parse_instant(bad).has_value());
}

TEST_CASE("start offsets") {
  std::map<std::string, int64_t> out;
  REQUIRE(parse_start_offsets({{"0", "5"}, {"t-1", "7"}}, {"t"}, &out).is_ok());
  CHECK(out == std::map<std::string, int64_t>{{"t-0", 5}, {"t-1", 7}});
  const auto refused = [](const StringMap& given, const std::vector<std::string>& topics) {
    std::map<std::string, int64_t> ignored;
    return parse_start_offsets(given, topics, &ignored).message();
  };
  CHECK(refused({{"0", "5"}}, {"a", "b"}).find("topic-partition") != std::string::npos);
  CHECK(refused({{"c-0", "5"}}, {"a", "b"}).find("c-0 is no partition") != std::string::npos);
  CHECK(refused({{"0", "-5"}}, {"a"}).find("`-5`") != std::string::npos);
  CHECK(refused({{"0", "5"}, {"a-0", "6"}}, {"a"}).find("twice") != std::string::npos);
}
