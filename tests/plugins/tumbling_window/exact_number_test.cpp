#include "tumbling_window/exact_number.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace {

using sluice::tumbling_window::ExactNumber;
__extension__ typedef __int128 Wide;

std::string sum(std::initializer_list<const char*> numbers) {
  ExactNumber total;
  for (const char* text : numbers) {
    ExactNumber number;
    REQUIRE(number.read(text));
    total.add(number);
  }
  return total.text();
}
std::string same(const std::string& text) {
  ExactNumber number;
  return number.read(text) ? number.text() : "refused";
}
std::string average(const char* text, int64_t count) {
  ExactNumber number;
  REQUIRE(number.read(text));
  return number.divided_by(count, 6).text();
}

}  // namespace

TEST_CASE("numbers keep their digits") {
  for (const char* text : {"0", "1", "-1", "20.00", "0.10", "-0.05", "9007199254740993", "18446744073709551615",
                           "123456789012345678901234567890.123456789012345678901"})
    CHECK(same(text) == text);
  CHECK(same("-0") == "0");
  CHECK(same("1e3") == "1000");
  CHECK(same("1.50E2") == "150");
  CHECK(same("1.505e2") == "150.5");
  CHECK(same("15e-3") == "0.015");
  CHECK(same("1.0e-20") == "0.000000000000000000010");
  CHECK(same("0e-3") == "0.000");
}

TEST_CASE("what is no JSON number is refused") {
  for (const char* text : {"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x10", " 1", "1 ", "1,5", "NaN", "Infinity",
                           "1.2.3", "--1", "１"})
    CHECK(same(text) == "refused");
}

TEST_CASE("the size is bounded") {
  CHECK(same(std::string(100, '7')) == std::string(100, '7'));
  CHECK(same(std::string(101, '7')) == "refused");
  CHECK(same("1e99") == "1" + std::string(99, '0'));
  CHECK(same("1e100") == "refused");
  CHECK(same("1e-100") != "refused");
  CHECK(same("1e-101") == "refused");
  CHECK(same("1e999999999999999999999") == "refused");
}

TEST_CASE("sums are exact and have the larger scale") {
  CHECK(sum({"20.00", "0.1"}) == "20.10");
  CHECK(sum({"0.1", "0.2"}) == "0.3");
  CHECK(sum({"1", "2", "3"}) == "6");
  CHECK(sum({"9223372036854775807", "1"}) == "9223372036854775808");
  CHECK(sum({"9223372036854775807", "9223372036854775807", "-9223372036854775807", "-9223372036854775807"}) == "0");
  CHECK(sum({"999999999999999999", "0.000000000000000001"}) == "999999999999999999.000000000000000001");
  CHECK(sum({"1e90", "1e-90", "-1e90"}) == "0." + std::string(89, '0') + "1");
  CHECK(sum({"1.5", "-1.5"}) == "0.0");
  CHECK(sum({"-0.01", "-0.02"}) == "-0.03");
}

TEST_CASE("comparison") {
  const auto compare = [](const char* a, const char* b) {
    ExactNumber x, y;
    REQUIRE((x.read(a) && y.read(b)));
    return x.compare(y) < 0 ? -1 : x.compare(y) > 0 ? 1 : 0;
  };
  CHECK(compare("2", "10") == -1);
  CHECK(compare("2.0", "2.00") == 0);
  CHECK(compare("-3", "-2.99") == -1);
  CHECK(compare("18446744073709551616", "18446744073709551615") == 1);
  CHECK(compare("1e30", "1") == 1);
}

TEST_CASE("division, halves away from zero") {
  CHECK(average("10", 4) == "2.500000");
  CHECK(average("1", 3) == "0.333333");
  CHECK(average("2", 3) == "0.666667");
  CHECK(average("-2", 3) == "-0.666667");
  CHECK(average("0.000001", 2) == "0.000000500000");
  CHECK(average("1", 2000000) == "0.000001");  // 0.0000005
  CHECK(average("-1", 2000000) == "-0.000001");
  CHECK(average("0", 7) == "0.000000");
}

TEST_CASE("sums against 128-bit arithmetic") {
  const unsigned seed = 7;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    ExactNumber total;
    Wide expected = 0;  // with scale 4
    for (int i = 0; i < 200; ++i) {
      const auto scale = static_cast<int>(random() % 5);
      auto value = static_cast<int64_t>(random() >> (1 + random() % 60));
      if (random() % 2 == 0) value = -value;
      std::string digits = std::to_string(value < 0 ? -value : value);
      if (digits.size() <= static_cast<size_t>(scale))
        digits.insert(0, static_cast<size_t>(scale) + 1 - digits.size(), '0');
      if (scale > 0) digits.insert(digits.size() - static_cast<size_t>(scale), 1, '.');
      ExactNumber number;
      REQUIRE(number.read((value < 0 ? "-" : "") + digits));
      total.add(number);
      Wide scaled = value;
      for (int k = scale; k < 4; ++k) scaled *= 10;
      expected += scaled;
    }
    std::string text = total.text();
    const size_t point = text.find('.');
    int scale = 0;
    if (point != std::string::npos) {
      scale = static_cast<int>(text.size() - point - 1);
      text.erase(point, 1);
    }
    Wide got = 0;
    for (const char c : text)
      if (c != '-') got = got * 10 + (c - '0');
    for (; scale < 4; ++scale) got *= 10;
    CHECK((text[0] == '-' ? -got : got) == expected);
  }
}
