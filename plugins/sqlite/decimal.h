// Numbers as they are written: what tells whether a column can hold one without rounding it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::sqlite {

// A value: `digits` × 10^`exponent`, the same for all ways to write a number (20, 20.00, 2e1).
struct Decimal {
  bool negative = false;
  std::string digits;  // neither first nor last is 0; empty: zero
  int64_t exponent = 0;

  // What SQLite takes for a number where a text comes into a numeric column: blanks around it, a sign, digits with or
  // without a point, an exponent. Nothing: it is none.
  static std::optional<Decimal> read(std::string_view text);
  bool is_whole() const noexcept { return exponent >= 0; }
  // Nothing: it is not whole, or does not fit.
  std::optional<int64_t> int64() const;
  // The double whose shortest decimal form is this number. Nothing: each would round it, or be infinite.
  std::optional<double> real() const;
  bool operator==(const Decimal& other) const {
    return digits == other.digits && exponent == other.exponent && (negative == other.negative || digits.empty());
  }
};

}  // namespace sluice::sqlite
