#include "tumbling_window/exact_number.h"

#include <algorithm>

namespace sluice::tumbling_window {
namespace {

constexpr int64_t kPowers[] = {1,
                               10,
                               100,
                               1000,
                               10000,
                               100000,
                               1000000,
                               10000000,
                               100000000,
                               1000000000,
                               10000000000,
                               100000000000,
                               1000000000000,
                               10000000000000,
                               100000000000000,
                               1000000000000000,
                               10000000000000000,
                               100000000000000000,
                               1000000000000000000};
constexpr int kMostSmallDigits = 18;

boost::multiprecision::cpp_int power_of_ten(int exponent) {
  return exponent <= kMostSmallDigits
             ? boost::multiprecision::cpp_int(kPowers[exponent])
             : boost::multiprecision::pow(boost::multiprecision::cpp_int(10), static_cast<unsigned>(exponent));
}

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

}  // namespace

bool ExactNumber::read(std::string_view text, int most_before_point) {
  size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  const size_t whole = digits_at(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  const std::string_view digits = text.substr(at, whole);
  at += whole;
  std::string_view fraction;
  if (at < text.size() && text[at] == '.') {
    const size_t n = digits_at(text, ++at);
    if (n == 0) return false;
    fraction = text.substr(at, n);
    at += n;
  }
  int exponent = 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const bool down = ++at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const size_t n = digits_at(text, at);
    if (n == 0) return false;
    for (size_t i = at; i < at + n; ++i) exponent = std::min(exponent * 10 + (text[i] - '0'), 100000);
    if (down) exponent = -exponent;
    at += n;
  }
  if (at != text.size()) return false;

  if (exponent != 0 || digits.size() + fraction.size() > kMostSmallDigits)
    return read_long(digits, fraction, exponent, negative, most_before_point);
  int64_t value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  for (const char c : fraction) value = value * 10 + (c - '0');
  small_ = negative ? -value : value;
  scale_ = static_cast<int>(fraction.size());
  big_.reset();
  return true;
}

bool ExactNumber::read_long(std::string_view digits, std::string_view fraction, int exponent, bool negative,
                            int most_before_point) {
  if (digits.size() > static_cast<size_t>(most_before_point) || fraction.size() > kMostDigits) return false;
  const int scale = static_cast<int>(fraction.size()) - exponent;
  if (scale > kMostDigits || static_cast<int>(digits.size()) + exponent > most_before_point) return false;
  std::string all;
  all.append(digits).append(fraction);
  if (scale < 0) all.append(static_cast<size_t>(-scale), '0');
  // A leading zero would make Boost read octal digits.
  const size_t first = std::min(all.find_first_not_of('0'), all.size());
  all.erase(0, first);
  scale_ = std::max(scale, 0);
  small_ = 0;
  big_.reset();
  if (all.size() <= kMostSmallDigits) {
    for (const char c : all) small_ = small_ * 10 + (c - '0');
    if (negative) small_ = -small_;
    return true;
  }
  big_.emplace(all);
  if (negative) *big_ = -*big_;
  return true;
}

void ExactNumber::widen_to(int scale) {
  if (scale <= scale_) return;
  const int more = scale - scale_;
  scale_ = scale;
  int64_t product = 0;
  if (!big_ && more <= kMostSmallDigits && !__builtin_mul_overflow(small_, kPowers[more], &product)) {
    small_ = product;
    return;
  }
  big_ = unscaled() * power_of_ten(more);
}

void ExactNumber::add(const ExactNumber& other) {
  if (!big_ && !other.big_ && scale_ == other.scale_) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(small_, other.small_, &sum)) {
      small_ = sum;
      return;
    }
  }
  if (scale_ < other.scale_) widen_to(other.scale_);
  ExactNumber aligned = other;
  aligned.widen_to(scale_);
  int64_t sum = 0;
  if (!big_ && !aligned.big_ && !__builtin_add_overflow(small_, aligned.small_, &sum)) {
    small_ = sum;
    return;
  }
  big_ = unscaled() + aligned.unscaled();
}

int ExactNumber::compare(const ExactNumber& other) const {
  if (!big_ && !other.big_ && scale_ == other.scale_) return small_ < other.small_ ? -1 : small_ > other.small_ ? 1 : 0;
  ExactNumber a = *this, b = other;
  a.widen_to(b.scale_);
  b.widen_to(a.scale_);
  return a.unscaled().compare(b.unscaled());
}

ExactNumber ExactNumber::divided_by(int64_t count, int more) const {
  const Big dividend = unscaled() * power_of_ten(more);
  Big quotient, remainder;
  boost::multiprecision::divide_qr(dividend, Big(count), quotient, remainder);
  if (boost::multiprecision::abs(remainder) * 2 >= count) quotient += dividend < 0 ? -1 : 1;
  ExactNumber out;
  out.scale_ = scale_ + more;
  out.big_ = quotient;
  return out;
}

std::string ExactNumber::text() const {
  std::string digits = big_ ? big_->str() : std::to_string(small_);
  if (scale_ == 0) return digits;
  const size_t sign = digits[0] == '-' ? 1 : 0;
  const auto scale = static_cast<size_t>(scale_);
  if (digits.size() - sign <= scale) digits.insert(sign, scale + 1 - (digits.size() - sign), '0');
  digits.insert(digits.size() - scale, 1, '.');
  return digits;
}

}  // namespace sluice::tumbling_window
