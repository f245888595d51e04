// Decimal numbers of any size, exact.
#pragma once
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::tumbling_window {

// An integer and how many of its digits stand behind the point: "20.00" is 2000 with scale 2. A plain value.
//
// Numbers of up to 18 digits are added in machine words; what does not fit goes over to Boost.Multiprecision, which is
// used because it is exact at any size, header-only, and needs no allocation below 128 bits.
class ExactNumber {
 public:
  // Numbers are refused when written out they would have more digits than this before the point, or behind it: a result
  // must not be longer than a number that another operator takes, 255 characters.
  static constexpr int kMostDigits = 100;
  // What a sum of as many of them as there can be rows may have before the point.
  static constexpr int kMostDigitsOfSum = kMostDigits + 20;

  ExactNumber() = default;
  explicit ExactNumber(int64_t value) : small_(value) {}

  // Reads a JSON number, exponents included. False: it is none, or it is too long.
  bool read(std::string_view text, int most_before_point = kMostDigits);
  // The scale of a sum is the larger one of the two.
  void add(const ExactNumber& other);
  // < 0, 0, > 0. 2.0 and 2.00 are equal.
  int compare(const ExactNumber& other) const;
  // Divided by `count` > 0, to `more` more digits behind the point than this has, halves away from zero.
  ExactNumber divided_by(int64_t count, int more) const;

  int scale() const noexcept { return scale_; }
  // All digits, without exponent: a JSON number with the value and the scale.
  std::string text() const;

 private:
  using Big = boost::multiprecision::cpp_int;
  bool read_long(std::string_view digits, std::string_view fraction, int exponent, bool negative, int most_before_point);
  Big unscaled() const { return big_ ? *big_ : Big(small_); }
  void widen_to(int scale);

  int64_t small_ = 0;  // when big_ is none
  int scale_ = 0;
  std::optional<Big> big_;
};

}  // namespace sluice::tumbling_window
