#include "decimal_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace sluice::clickhouse {
namespace {
constexpr size_t kMaxDigits = 400;
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

bool read_decimal(std::string_view t, DecimalText* out) {
  *out = DecimalText();
  size_t at = 0;
  if (at < t.size() && t[at] == '-') {
    out->negative = true;
    ++at;
  }
  size_t digits = 0;
  const auto take = [&](bool fraction) {
    for (; at < t.size() && is_digit(t[at]); ++at, ++digits) {
      if (!out->digits.empty() || t[at] != '0') out->digits.push_back(t[at]);
      if (fraction) ++out->scale;
    }
  };
  take(false);
  if (digits == 0) return false;
  if (at < t.size() && t[at] == '.') {
    const size_t whole = digits;
    ++at;
    take(true);
    if (digits == whole) return false;
  }
  if (at < t.size() && (t[at] == 'e' || t[at] == 'E')) {
    ++at;
    if (at < t.size() && t[at] == '+') ++at;
    int exponent = 0;
    const auto [end, error] = std::from_chars(t.data() + at, t.data() + t.size(), exponent);
    if (error != std::errc() || end == t.data() + at) return false;
    at = static_cast<size_t>(end - t.data());
    out->scale -= std::clamp(exponent, -100000, 100000);
  }
  return at == t.size() && digits <= kMaxDigits;
}

Fit scaled_digits(const DecimalText& n, int scale, bool cut, std::string* digits) {
  *digits = n.digits;
  if (digits->empty()) return Fit::kFits;
  if (n.scale <= scale) {
    const auto zeros = static_cast<size_t>(scale - n.scale);
    if (zeros > kMaxDigits) return Fit::kTooLarge;
    digits->append(zeros, '0');
    return Fit::kFits;
  }
  const auto surplus = static_cast<size_t>(n.scale - scale);
  const size_t kept = digits->size() > surplus ? digits->size() - surplus : 0;
  if (!cut && digits->find_first_not_of('0', kept) != std::string::npos) return Fit::kTooManyFractionDigits;
  digits->resize(kept);
  return Fit::kFits;
}

bool append_integer(const std::string& digits, bool negative, size_t bytes, bool is_signed, std::string* out) {
  std::array<uint8_t, 32> value{};
  for (const char c : digits) {
    unsigned carry = static_cast<unsigned>(c - '0');
    for (size_t i = 0; i < bytes; ++i) {
      carry += value[i] * 10u;
      value[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
    if (carry != 0) return false;
  }
  if (negative && !digits.empty()) {
    if (!is_signed) return false;
    unsigned carry = 1;
    for (size_t i = 0; i < bytes; ++i) {
      carry += static_cast<uint8_t>(~value[i]);
      value[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
    if ((value[bytes - 1] & 0x80) == 0) return false;
  } else if (is_signed && (value[bytes - 1] & 0x80) != 0) {
    return false;
  }
  out->append(reinterpret_cast<const char*>(value.data()), bytes);
  return true;
}

}  // namespace sluice::clickhouse
