#include "decimal.h"

#include <algorithm>
#include <charconv>

namespace sluice::sqlite {
namespace {

// Farther from 0 no double is left; large enough for what a text's own zeros can add.
constexpr int64_t kFarExponent = 1'000'000'000;
constexpr size_t kMaxInt64Digits = 19;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view take_digits(std::string_view* text) {
  const auto end = std::find_if_not(text->begin(), text->end(), is_digit);
  const std::string_view digits = text->substr(0, static_cast<size_t>(end - text->begin()));
  text->remove_prefix(digits.size());
  return digits;
}

// True for a minus.
bool take_sign(std::string_view* text) {
  if (text->empty() || (text->front() != '-' && text->front() != '+')) return false;
  const bool minus = text->front() == '-';
  text->remove_prefix(1);
  return minus;
}

}  // namespace

std::optional<Decimal> Decimal::read(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  Decimal out;
  out.negative = take_sign(&text);
  const std::string_view whole = take_digits(&text);
  std::string_view fraction;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = take_digits(&text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (!text.empty()) {
    if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
    text.remove_prefix(1);
    const bool minus = take_sign(&text);
    const std::string_view exponent = take_digits(&text);
    if (exponent.empty() || !text.empty()) return std::nullopt;
    int64_t size = kFarExponent;
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), size);
    size = std::min(size, kFarExponent);
    out.exponent = minus ? -size : size;
  }
  out.digits.append(whole).append(fraction);
  out.exponent -= static_cast<int64_t>(fraction.size());
  const size_t last = out.digits.find_last_not_of('0');
  out.exponent = last == std::string::npos ? 0 : out.exponent + static_cast<int64_t>(out.digits.size() - 1 - last);
  out.digits.erase(last == std::string::npos ? 0 : last + 1);
  out.digits.erase(0, out.digits.find_first_not_of('0'));
  return out;
}

std::optional<int64_t> Decimal::int64() const {
  if (digits.empty()) return 0;
  if (exponent < 0 || exponent > static_cast<int64_t>(kMaxInt64Digits)) return std::nullopt;
  const std::string text = (negative ? "-" : "") + digits + std::string(static_cast<size_t>(exponent), '0');
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() ? std::optional<int64_t>(out) : std::nullopt;
}

std::optional<double> Decimal::real() const {
  const std::string text = (negative ? "-0" : "0") + digits + "e" + std::to_string(exponent);
  double out = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc()) return std::nullopt;
  char shortest[64];
  const auto written = std::to_chars(shortest, shortest + sizeof shortest, out);
  const auto back = read({shortest, static_cast<size_t>(written.ptr - shortest)});
  return back == *this ? std::optional<double>(out) : std::nullopt;
}

}  // namespace sluice::sqlite
