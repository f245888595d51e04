#include "config/scalar_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "config/nearest_name.h"

namespace sluice::config {
namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr std::string_view kDigits = "0123456789";

std::string lower(std::string_view text) {
  std::string out;
  for (char c : text) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool all_digits(std::string_view text) { return !text.empty() && text.find_first_not_of(kDigits) == kNone; }

template <class T>
ScalarResult<T> wrong(std::string problem, std::string suggestion = {}) {
  return {T{}, std::move(problem), std::move(suggestion)};
}

// `0x10`, `0o10`, `010`, `0b1`: what another reader would take for a number in another base. Empty when it is none.
std::string other_base_problem(std::string_view digits, std::string* suggestion) {
  const std::string text = lower(digits);
  const auto prefixed = [&](std::string_view prefix, int base, const char* name) -> std::string {
    if (text.compare(0, prefix.size(), prefix) != 0) return {};
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    *suggestion = std::to_string(value);
    return quote(digits) + " looks like " + name + " number; only decimal numbers are accepted";
  };
  if (std::string out = prefixed("0x", 16, "a hexadecimal"); !out.empty()) return out;
  if (std::string out = prefixed("0o", 8, "an octal"); !out.empty()) return out;
  if (std::string out = prefixed("0b", 2, "a binary"); !out.empty()) return out;
  if (text.size() > 1 && text[0] == '0' && all_digits(text)) {
    const size_t first = text.find_first_not_of('0');
    *suggestion = first == std::string::npos ? "0" : text.substr(first);
    return quote(digits) + " has a leading zero, which some read as octal; write it without";
  }
  return {};
}

// Without the sign. Sets `overflow` when it does not fit.
std::optional<uint64_t> decimal(std::string_view digits, bool* overflow) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 10);
  *overflow = error == std::errc::result_out_of_range;
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != '_' && c != ',') out += c;
  }
  return out;
}

struct Unit {
  std::string_view name;
  int64_t factor;
};
constexpr std::array<Unit, 5> kDurationUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
// 100 years: added to a time of the clock it fits into 64 bits, in nanoseconds too.
constexpr int64_t kLongestDurationMs = INT64_C(36'500) * 86'400'000;
constexpr std::array<Unit, 9> kSizeUnits = {{{"TiB", int64_t{1} << 40},
                                             {"GiB", int64_t{1} << 30},
                                             {"MiB", int64_t{1} << 20},
                                             {"KiB", int64_t{1} << 10},
                                             {"TB", 1'000'000'000'000},
                                             {"GB", 1'000'000'000},
                                             {"MB", 1'000'000},
                                             {"KB", 1'000},
                                             {"B", 1}}};

// Number and unit of `10 sec`; the unit is empty when there is none.
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == kNone) return {text, {}};
  std::string_view unit = text.substr(end);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return {text.substr(0, end), unit};
}

std::string meant_duration_unit(std::string_view unit) {
  static const std::pair<std::string_view, std::string_view> kMeant[] = {
      {"msec", "ms"}, {"msecs", "ms"}, {"millis", "ms"}, {"millisecond", "ms"}, {"milliseconds", "ms"},
      {"sec", "s"},   {"secs", "s"},   {"second", "s"},  {"seconds", "s"},      {"min", "m"},
      {"mins", "m"},  {"minute", "m"}, {"minutes", "m"}, {"hr", "h"},           {"hrs", "h"},
      {"hour", "h"},  {"hours", "h"},  {"day", "d"},     {"days", "d"},
  };
  std::string small = lower(unit);
  for (const Unit& known : kDurationUnits) {
    if (small == known.name) return small;
  }
  for (const auto& [name, meant] : kMeant) {
    if (small == name) return std::string(meant);
  }
  return {};
}

std::string meant_size_unit(std::string_view unit) {
  const std::string small = lower(unit);
  for (const Unit& known : kSizeUnits) {
    if (small == lower(known.name)) return std::string(known.name);
  }
  // Whoever writes 64M or 64mb for memory nearly always means the power of two.
  for (std::string_view letter : {"K", "M", "G", "T"}) {
    if (small == lower(letter)) return std::string(letter) + "iB";
  }
  return {};
}

// `1.5` of `factor` in the next smaller unit that is exact, as text; empty when there is none.
template <size_t N>
std::string whole_units(std::string_view number, const Unit& unit, const std::array<Unit, N>& units) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return {};
  const double total = value * static_cast<double>(unit.factor);
  if (total > 9e15 || total != std::floor(total)) return {};
  for (const Unit& candidate : units) {
    if (static_cast<int64_t>(total) % candidate.factor == 0) {
      return std::to_string(static_cast<int64_t>(total) / candidate.factor) + std::string(candidate.name);
    }
  }
  return {};
}

template <size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// Durations and sizes have the same shape: a whole number directly followed by a unit.
template <size_t N>
ScalarResult<int64_t> parse_with_unit(std::string_view text, const std::array<Unit, N>& units, std::string_view what,
                                      std::string_view examples, std::string (*meant_unit)(std::string_view),
                                      int64_t largest, std::string_view limit) {
  const std::string expected = std::string(what) + " (" + std::string(examples) + ")";
  if (text.empty()) return wrong<int64_t>("is empty; expected a " + expected);
  if (text[0] == '-') return wrong<int64_t>(quote(text) + " is negative; expected a " + expected);
  const auto [number, unit_text] = split_unit(text);
  const Unit* unit = find_unit(units, unit_text);
  if (unit == nullptr || unit_text.empty() || number.size() + unit_text.size() != text.size()) {
    std::string suggestion;
    if (const std::string meant = meant_unit(unit_text); !meant.empty() && !number.empty()) {
      suggestion = std::string(number) + meant;
    }
    return wrong<int64_t>(quote(text) + " is not a " + expected, suggestion);
  }
  if (number.find('.') != kNone) {
    return wrong<int64_t>(quote(text) + " is not a whole number of its unit", whole_units(number, *unit, units));
  }
  std::string suggestion;
  if (std::string problem = other_base_problem(number, &suggestion); !problem.empty()) {
    return wrong<int64_t>(problem, suggestion + std::string(unit_text));
  }
  bool overflow = false;
  const std::optional<uint64_t> value = decimal(number, &overflow);
  if (overflow || (value && *value > static_cast<uint64_t>(largest / unit->factor))) {
    return wrong<int64_t>(quote(text) + " is too large" + std::string(limit));
  }
  if (!value) return wrong<int64_t>(quote(text) + " is not a " + expected);
  return {static_cast<int64_t>(*value) * unit->factor, {}, {}};
}

template <size_t N>
std::string format_with_unit(int64_t value, const std::array<Unit, N>& units, std::string_view smallest) {
  if (value == 0) return "0";
  for (const Unit& unit : units) {
    if (value % unit.factor == 0 && unit.factor > 1)
      return std::to_string(value / unit.factor) + std::string(unit.name);
  }
  return std::to_string(value) + std::string(smallest);
}

}  // namespace

ScalarResult<bool> parse_bool(std::string_view text) {
  if (text == "true") return {true, {}, {}};
  if (text == "false") return {false, {}, {}};
  const std::string small = lower(text);
  std::string suggestion;
  if (small == "yes" || small == "on" || small == "y" || small == "1" || small == "true") suggestion = "true";
  if (small == "no" || small == "off" || small == "n" || small == "0" || small == "false") suggestion = "false";
  return wrong<bool>(quote(text) + " is not true or false", suggestion);
}

ScalarResult<int64_t> parse_int(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  std::string suggestion;
  if (std::string problem = other_base_problem(digits, &suggestion); !problem.empty()) {
    return wrong<int64_t>(problem, (negative ? "-" : "") + suggestion);
  }
  if (!all_digits(digits)) {
    const std::string plain = without_underscores(digits);
    if (plain.size() != digits.size() && all_digits(plain)) suggestion = (negative ? "-" : "") + plain;
    return wrong<int64_t>(quote(text) + " is not a whole number", suggestion);
  }
  bool overflow = false;
  const std::optional<uint64_t> magnitude = decimal(digits, &overflow);
  constexpr uint64_t kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!magnitude || *magnitude > kMax + (negative ? 1 : 0)) {
    return wrong<int64_t>(quote(text) + " does not fit into 64 bits");
  }
  return {static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude), {}, {}};
}

ScalarResult<double> parse_double(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  std::string suggestion;
  if (std::string problem = other_base_problem(digits.substr(0, digits.find_first_of(".eE")), &suggestion);
      !problem.empty()) {
    return wrong<double>(problem);
  }
  const bool plausible = !digits.empty() && kDigits.find(digits[0]) != kNone;  // no inf, nan or .5
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (plausible && error == std::errc::result_out_of_range) return wrong<double>(quote(text) + " is out of range");
  if (!plausible || error != std::errc() || end != digits.data() + digits.size()) {
    return wrong<double>(quote(text) + " is not a number");
  }
  return {text[0] == '-' ? -value : value, {}, {}};
}

ScalarResult<int64_t> parse_duration(std::string_view text) {
  if (text == "0") return {0, {}, {}};
  if (all_digits(text)) {
    return wrong<int64_t>(quote(text) + " has no unit; durations are written like 250ms, 10s, 5m, 2h or 1d");
  }
  return parse_with_unit(text, kDurationUnits, "duration", "such as 250ms, 10s, 5m, 2h or 1d", meant_duration_unit,
                         kLongestDurationMs, "; durations go up to 36500d");
}

ScalarResult<int64_t> parse_size(std::string_view text) {
  if (!all_digits(text)) {
    return parse_with_unit(text, kSizeUnits, "size", "such as 512KiB, 64MiB, 1GiB or 10MB", meant_size_unit,
                           std::numeric_limits<int64_t>::max(), "");
  }
  return parse_int(text);  // plain bytes
}

std::string format_duration(int64_t ms) { return format_with_unit(ms, kDurationUnits, "ms"); }
std::string format_size(int64_t bytes) { return format_with_unit(bytes, kSizeUnits, ""); }

}  // namespace sluice::config
