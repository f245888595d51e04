// Numbers as text, taken exactly: no floating point between the digits and the bytes.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::clickhouse {

struct DecimalText {
  bool negative = false;
  std::string digits;  // without leading zeros; empty: zero
  int scale = 0;       // how many of them stand behind the point; may be negative
};

// `-12.50`, `1e3`: a JSON number. False: it is something else, or has more than 400 digits.
bool read_decimal(std::string_view text, DecimalText* out);

enum class Fit { kFits, kTooManyFractionDigits, kTooLarge };
// The number times 10^scale as a whole number, digits only. With `cut` digits further behind are left out.
Fit scaled_digits(const DecimalText& number, int scale, bool cut, std::string* digits);

// A whole number as `bytes` bytes, least significant first, two's complement. False: it does not fit.
bool append_integer(const std::string& digits, bool negative, size_t bytes, bool is_signed, std::string* out);

}  // namespace sluice::clickhouse
