#include "decimal_text.h"

#include <cstring>

namespace sluice_mysql {
namespace {

constexpr unsigned kDigitBytes[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
constexpr uint32_t kPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

class Digits {
 public:
  Digits(const uint8_t* at, bool negative) : at_(at), mask_(negative ? 0xFF : 0) {}

  // `count` digits, with leading zeros; false: there are more.
  bool append(unsigned count, char* to) {
    uint32_t v = 0;
    for (unsigned i = 0; i < kDigitBytes[count]; ++i) {
      uint8_t b = *at_++ ^ mask_;
      if (first_) b ^= 0x80;
      first_ = false;
      v = v << 8 | b;
    }
    if (v >= kPowers[count]) return false;
    for (unsigned i = count; i-- > 0; v /= 10) to[i] = static_cast<char>('0' + v % 10);
    return true;
  }

 private:
  const uint8_t* at_;
  uint8_t mask_;
  bool first_ = true;
};

}  // namespace

bool unpack_decimal(const uint8_t* data, unsigned precision, unsigned scale, DecimalText* out) {
  const bool negative = (data[0] & 0x80) == 0;
  const unsigned whole = precision - scale;
  char digits[72];
  Digits from(data, negative);
  unsigned n = 0;
  const auto take = [&](unsigned count) {
    if (count == 0) return true;
    if (!from.append(count, digits + n)) return false;
    n += count;
    return true;
  };
  if (!take(whole % 9)) return false;
  for (unsigned i = 0; i < whole / 9; ++i) {
    if (!take(9)) return false;
  }
  for (unsigned i = 0; i < scale / 9; ++i) {
    if (!take(9)) return false;
  }
  if (!take(scale % 9)) return false;

  char* to = out->text;
  if (negative) *to++ = '-';
  unsigned first = 0;
  while (first < whole && digits[first] == '0') ++first;
  if (first == whole) {
    *to++ = '0';
  } else {
    std::memcpy(to, digits + first, whole - first);
    to += whole - first;
  }
  if (scale > 0) {
    *to++ = '.';
    std::memcpy(to, digits + whole, scale);
    to += scale;
  }
  out->size = static_cast<size_t>(to - out->text);
  return true;
}

bool read_decimal(std::string_view text, DecimalText* out) {
  if (text.empty() || text.size() > 70) return false;
  char* to = out->text;
  size_t i = 0;
  if (text[0] == '-') {
    *to++ = '-';
    i = 1;
  }
  const size_t point = text.find('.') == std::string_view::npos ? text.size() : text.find('.');
  while (i + 1 < point && text[i] == '0') ++i;
  if (i == point) *to++ = '0';
  size_t digits = 0;
  for (; i < text.size(); ++i) {
    if (i != point && (text[i] < '0' || text[i] > '9')) return false;
    digits += i != point;
    *to++ = text[i];
  }
  out->size = static_cast<size_t>(to - out->text);
  return digits > 0 && text.back() != '.';
}

size_t unscaled_bytes(std::string_view decimal, uint8_t (&out)[40]) {
  // 65 digits need 27 bytes and one for the sign.
  uint8_t value[32] = {};
  const bool negative = !decimal.empty() && decimal[0] == '-';
  for (const char c : decimal) {
    if (c < '0' || c > '9') continue;
    unsigned carry = static_cast<unsigned>(c - '0');
    for (int i = 31; i >= 0; --i) {
      carry += value[i] * 10u;
      value[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
  }
  if (negative) {
    unsigned carry = 1;
    for (int i = 31; i >= 0; --i) {
      carry += static_cast<uint8_t>(~value[i]);
      value[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
  }
  size_t first = 0;
  const uint8_t fill = (value[0] & 0x80) != 0 ? 0xFF : 0;
  while (first < 31 && value[first] == fill && ((value[first + 1] ^ fill) & 0x80) == 0) ++first;
  std::memcpy(out, value + first, 32 - first);
  return 32 - first;
}

}  // namespace sluice_mysql
