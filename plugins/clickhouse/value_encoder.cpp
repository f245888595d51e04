#include "value_encoder.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "decimal_text.h"
#include "time_text.h"

namespace sluice::clickhouse {
namespace {

constexpr int64_t kDay = 86400;
constexpr int64_t kLastSecond = 4294967295;  // of DateTime: 2106-02-07 06:28:15 UTC
constexpr int64_t kLastDate = 65535;         // of Date: 2149-06-06
constexpr int64_t kFirstWideDay = -25567;    // of Date32 and DateTime64: 1900-01-01
constexpr int64_t kLastWideDay = 120529;     // 2299-12-31

// Floor, of a local time.
int64_t day_of(int64_t seconds) { return seconds / kDay - (seconds % kDay < 0 ? 1 : 0); }

// `zero`: the bytes are 0.
bool is_shown(const ColumnType& type, int64_t day, bool zero, const Value& value, std::string* problem) {
  if (type.last_day == 0) return true;
  if (zero) {
    *problem = shown(value) + " is shown as 0000-00-00 by this old server";
    return false;
  }
  if (day <= type.last_day) return true;
  int year = 0, month = 0, last = 0;
  date_of_days(type.last_day, &year, &month, &last);
  *problem = shown(value) + " is after " + std::to_string(year) + "-" + std::to_string(month) + "-" +
             std::to_string(last) + ", and this old server shows later days as others";
  return false;
}

bool is_date_or_time(const ColumnType& type) {
  return type.kind == TypeKind::kDate || type.kind == TypeKind::kDate32 || type.kind == TypeKind::kDateTime ||
         type.kind == TypeKind::kDateTime64;
}

constexpr int64_t kPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

void append_bytes(uint64_t value, size_t bytes, std::string* out) {
  char b[8];
  for (size_t i = 0; i < bytes; ++i) b[i] = static_cast<char>(value >> (8 * i));
  out->append(b, bytes);
}

using Room = char[64];  // for a number's text

// Exactly; empty for what is no number and no text of one.
std::string_view number_text(const Value& v, Room& room) {
  const auto written = [&](auto number) {
    return std::string_view(room, static_cast<size_t>(std::to_chars(room, room + sizeof room, number).ptr - room));
  };
  if (v.type() == SLUICE_INT64) return written(v.raw().as.i64);
  if (v.type() == SLUICE_DOUBLE) return written(v.raw().as.f64);
  return v.type() == SLUICE_NUMBER || v.is_string() ? v.text() : std::string_view();
}

bool outside(const ColumnType& type, const Value& value, std::string* problem) {
  *problem = shown(value) + " is outside the range of " + type.name;
  return false;
}

bool looks_like_number(std::string_view t) {
  if (!t.empty() && t[0] == '-') t.remove_prefix(1);
  if (t.empty()) return false;
  for (const char c : t)
    if ((c < '0' || c > '9') && c != '.') return false;
  return t[0] != '.' && t.back() != '.';
}

bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(a[i])) != b[i]) return false;
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void append_varint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

std::string shown(const Value& v) {
  constexpr size_t kMost = 80;
  switch (v.type()) {
    case SLUICE_NULL:
      return "null";
    case SLUICE_INT64:
      return std::to_string(v.raw().as.i64);
    case SLUICE_DOUBLE:
      return std::to_string(v.raw().as.f64);
    case SLUICE_LIST:
      return "[…]";
    case SLUICE_MAP:
      return "{…}";
    default:
      break;
  }
  std::string text(v.text());
  if (text.size() > kMost) {
    size_t n = kMost;
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
    text = text.substr(0, n) + "…";
  }
  return v.is_string() ? "\"" + text + "\"" : text;
}

bool ValueEncoder::misfit(const ColumnType& type, const Value& value, std::string* problem) {
  *problem = shown(value) + (value.is_null() ? " is not allowed in " : " is no ") + type.name;
  return false;
}

bool ValueEncoder::encode(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  if (type.is_nullable()) {
    const bool zero =
        rules_.zero_dates_are_null && is_date_or_time(type.inner[0]) && value.is_string() && is_zero_date(value.text());
    if (zero) ++zero_dates_;
    const bool null = zero || value.is_null();
    out->push_back(null ? 1 : 0);
    return null || encode(type.inner[0], value, out, problem);
  }
  if (value.type() == SLUICE_INVALID) {
    *problem = std::string(value.text());
    return false;
  }
  if (value.is_missing()) return misfit(type, Value::null(), problem);
  switch (type.kind) {
    case TypeKind::kUInt:
    case TypeKind::kInt:
      return integer(type, value, out, problem);
    case TypeKind::kFloat32:
    case TypeKind::kFloat64:
      return real(type, value, out, problem);
    case TypeKind::kDecimal:
      return decimal(type, value, out, problem);
    case TypeKind::kBool:
      return boolean(value, out, problem);
    case TypeKind::kString:
    case TypeKind::kFixedString:
      return text(type, value, out, problem);
    case TypeKind::kDate:
    case TypeKind::kDate32:
      return date(type, value, out, problem);
    case TypeKind::kDateTime:
    case TypeKind::kDateTime64:
      return date_time(type, value, out, problem);
    case TypeKind::kEnum:
      return enumeration(type, value, out, problem);
    case TypeKind::kUuid:
      return uuid(value, out, problem);
    case TypeKind::kIpv4:
    case TypeKind::kIpv6:
      return address(type, value, out, problem);
    case TypeKind::kArray:
      return array(type, value, out, problem);
    case TypeKind::kTuple:
      return tuple(type, value, out, problem);
    case TypeKind::kMap:
      return map(type, value, out, problem);
    default:
      break;
  }
  *problem = "values of the type " + type.name + " cannot be written by this sink";
  return false;
}

bool ValueEncoder::integer(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  const bool is_signed = type.kind == TypeKind::kInt;
  int64_t small = 0;
  if (value.type() == SLUICE_INT64 || value.is_bool()) {
    small = value.raw().as.i64;
  } else {
    Room room;
    const std::string_view t = number_text(value, room);
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), small);
    if (t.empty() || error != std::errc() || end != t.data() + t.size()) {
      DecimalText number;
      if (!read_decimal(t, &number)) return misfit(type, value, problem);
      const Fit fit = scaled_digits(number, 0, false, &digits_);
      if (fit == Fit::kTooManyFractionDigits) {
        *problem = shown(value) + " is no whole number, as " + type.name + " needs";
        return false;
      }
      if (fit != Fit::kFits || !append_integer(digits_, number.negative, type.bytes, is_signed, out))
        return outside(type, value, problem);
      return true;
    }
  }
  if (type.bytes > 8) {
    if (small < 0 && !is_signed) return outside(type, value, problem);
    append_bytes(static_cast<uint64_t>(small), 8, out);
    out->append(type.bytes - 8, small < 0 ? '\xFF' : '\0');
    return true;
  }
  if (is_signed) {
    const int64_t most =
        type.bytes == 8 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (8 * type.bytes - 1)) - 1;
    if (small > most || small < -most - 1) return outside(type, value, problem);
  } else if (small < 0 || (type.bytes < 8 && small >> (8 * type.bytes) != 0)) {
    return outside(type, value, problem);
  }
  append_bytes(static_cast<uint64_t>(small), type.bytes, out);
  return true;
}

bool ValueEncoder::real(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  double number = 0;
  if (value.type() == SLUICE_INT64) {
    number = static_cast<double>(value.raw().as.i64);
  } else if (value.type() == SLUICE_DOUBLE) {
    number = value.raw().as.f64;
  } else {
    Room room;
    const std::string_view t = number_text(value, room);
    if (same_word(t, "nan")) {
      number = std::numeric_limits<double>::quiet_NaN();
    } else if (same_word(t, "inf") || same_word(t, "infinity")) {
      number = std::numeric_limits<double>::infinity();
    } else if (same_word(t, "-inf") || same_word(t, "-infinity")) {
      number = -std::numeric_limits<double>::infinity();
    } else {
      const bool plain = !t.empty() && (t[0] == '-' || (t[0] >= '0' && t[0] <= '9'));
      const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), number);
      if (plain && error == std::errc::result_out_of_range) {
        DecimalText exact;
        // Too small to tell from zero is zero.
        if (!read_decimal(t, &exact) || exact.scale <= static_cast<int>(exact.digits.size()))
          return outside(type, value, problem);
        number = 0;
      } else if (!plain || error != std::errc() || end != t.data() + t.size()) {
        return misfit(type, value, problem);
      }
    }
  }
  if (type.kind == TypeKind::kFloat64) {
    out->append(reinterpret_cast<const char*>(&number), sizeof number);
    return true;
  }
  const auto narrow = static_cast<float>(number);
  if (std::isinf(narrow) && !std::isinf(number)) return outside(type, value, problem);
  out->append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  return true;
}

bool ValueEncoder::decimal(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  Room room;
  DecimalText number;
  if (!read_decimal(number_text(value, room), &number)) return misfit(type, value, problem);
  const Fit fit = scaled_digits(number, type.scale, rules_.cut_fractions, &digits_);
  if (fit == Fit::kTooManyFractionDigits) {
    *problem = shown(value) + " has more digits behind the point than " + type.name + " keeps";
    return false;
  }
  if (fit == Fit::kTooLarge || digits_.size() > static_cast<size_t>(type.precision) ||
      !append_integer(digits_, number.negative, type.bytes, true, out))
    return outside(type, value, problem);
  return true;
}

bool ValueEncoder::boolean(const Value& value, std::string* out, std::string* problem) {
  int is = -1;
  if (value.is_bool()) {
    is = value.boolean() ? 1 : 0;
  } else if (const auto number = value.int64(); number && (*number == 0 || *number == 1)) {
    is = static_cast<int>(*number);
  } else if (value.is_string()) {
    is = same_word(value.text(), "true") ? 1 : same_word(value.text(), "false") ? 0 : -1;
  }
  if (is < 0) {
    *problem = shown(value) + " is no Bool";
    return false;
  }
  out->push_back(static_cast<char>(is));
  return true;
}

bool ValueEncoder::text(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  std::string_view t = value.text();
  std::string made;
  if (value.type() == SLUICE_INT64) {
    made = std::to_string(value.raw().as.i64);
    t = made;
  } else if (value.type() == SLUICE_DOUBLE || value.type() == SLUICE_LIST || value.type() == SLUICE_MAP) {
    if (Status s = to_json_(value, &t); !s.is_ok()) {
      *problem = s.message();
      return false;
    }
  }
  if (type.kind == TypeKind::kString) {
    append_varint(t.size(), out);
    out->append(t);
    return true;
  }
  if (t.size() > type.bytes) {
    *problem = shown(value) + " has " + std::to_string(t.size()) + " bytes, more than " + type.name + " holds";
    return false;
  }
  out->append(t);
  out->append(type.bytes - t.size(), '\0');
  return true;
}

bool ValueEncoder::date(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  TimeText t;
  const bool narrow = type.kind == TypeKind::kDate;
  if (!value.is_string()) {
    *problem = shown(value) + " is no " + type.name + ": dates are written as text, 2024-05-01";
    return false;
  }
  if (const char* wrong = read_time_text(value.text(), &t)) {
    *problem = shown(value) + " " + wrong;
    return false;
  }
  if (t.has_offset) t.seconds = type.clock->to_local(t.seconds - t.offset);
  const int64_t days = day_of(t.seconds), rest = t.seconds - days * kDay;
  if ((rest != 0 || t.nanos != 0) && !rules_.cut_fractions) {
    *problem = shown(value) + " has a time of day, which " + type.name + " does not keep";
    return false;
  }
  if (narrow ? days < 0 || days > kLastDate : days < kFirstWideDay || days > kLastWideDay)
    return outside(type, value, problem);
  if (!is_shown(type, days, days == 0, value, problem)) return false;
  append_bytes(static_cast<uint64_t>(days), narrow ? 2 : 4, out);
  return true;
}

bool ValueEncoder::instant(const ColumnType& type, const Value& value, int scale, Ticks* ticks, std::string* problem) {
  const auto too_fine = [&] {
    *problem = shown(value) + " has a finer fraction of a second than " + type.name + " keeps";
    return false;
  };
  const bool number = value.is_number() || (value.is_string() && looks_like_number(value.text()));
  if (number) {
    Room room;
    DecimalText exact;
    if (!read_decimal(number_text(value, room), &exact)) return misfit(type, value, problem);
    exact.scale += rules_.epoch_scale;
    const Fit fit = scaled_digits(exact, scale, rules_.cut_fractions, &digits_);
    if (fit == Fit::kTooManyFractionDigits) return too_fine();
    if (fit == Fit::kTooLarge || digits_.size() > 30) {
      *ticks = std::numeric_limits<int64_t>::max();  // outside of every range
      *ticks *= 1000;
      return true;
    }
    *ticks = 0;
    for (const char c : digits_) *ticks = *ticks * 10 + (c - '0');
    if (exact.negative) *ticks = -*ticks;
    return true;
  }
  if (!value.is_string()) return misfit(type, value, problem);
  TimeText t;
  if (const char* wrong = read_time_text(value.text(), &t)) {
    *problem = shown(value) + " " + wrong;
    return false;
  }
  int64_t seconds = 0;
  if (t.has_offset) {
    seconds = t.seconds - t.offset;
  } else if (!type.clock->to_epoch(t.seconds, &seconds)) {
    *problem = shown(value) + " is left out in " + type.clock->name() + ", where clocks were put forward over it";
    return false;
  }
  const int64_t step = kPowers[9 - scale];
  if (t.nanos % step != 0 && !rules_.cut_fractions) return too_fine();
  *ticks = static_cast<Ticks>(seconds) * kPowers[scale] + t.nanos / step;
  return true;
}

bool ValueEncoder::date_time(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  const bool narrow = type.kind == TypeKind::kDateTime;
  const int scale = narrow ? 0 : type.scale;
  Ticks ticks = 0;
  if (!instant(type, value, scale, &ticks, problem)) return false;
  bool inside = false;
  if (narrow) {
    inside = ticks >= 0 && ticks <= kLastSecond;
  } else {
    const Ticks one = kPowers[scale];
    inside = ticks >= kFirstWideDay * kDay * one && ticks < (kLastWideDay + 1) * kDay * one &&
             ticks >= std::numeric_limits<int64_t>::min() && ticks <= std::numeric_limits<int64_t>::max();
  }
  if (!inside) {
    outside(type, value, problem);
    if (value.is_number() || looks_like_number(value.text()))
      *problem += " as a number of " +
                  std::string(rules_.epoch_scale == 0   ? "seconds"
                              : rules_.epoch_scale == 3 ? "milliseconds"
                              : rules_.epoch_scale == 6 ? "microseconds"
                                                        : "nanoseconds") +
                  " (option `epoch_unit`)";
    return false;
  }
  if (narrow && !is_shown(type, day_of(type.clock->to_local(static_cast<int64_t>(ticks))), ticks == 0, value, problem))
    return false;
  append_bytes(static_cast<uint64_t>(static_cast<int64_t>(ticks)), narrow ? 4 : 8, out);
  return true;
}

bool ValueEncoder::enumeration(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  const auto find = [&](const auto& is_meant) {
    return std::find_if(type.enum_values.begin(), type.enum_values.end(), is_meant);
  };
  auto at = type.enum_values.end();
  if (value.is_string()) at = find([&](const auto& e) { return e.first == value.text(); });
  if (const auto number = value.int64(); number && at == type.enum_values.end())
    at = find([&](const auto& e) { return e.second == *number; });
  if (at == type.enum_values.end()) {
    *problem = shown(value) + " is not among the values of " + type.name.substr(0, 200);
    return false;
  }
  append_bytes(static_cast<uint64_t>(at->second), type.bytes, out);
  return true;
}

bool ValueEncoder::uuid(const Value& value, std::string* out, std::string* problem) {
  const std::string_view t = value.is_string() ? value.text() : std::string_view();
  uint64_t halves[2] = {0, 0};
  size_t digits = 0;
  bool good = t.size() == 32 || t.size() == 36;
  for (size_t i = 0; i < t.size() && good; ++i) {
    if (t.size() == 36 && (i == 8 || i == 13 || i == 18 || i == 23)) {
      good = t[i] == '-';
      continue;
    }
    const int d = hex_digit(t[i]);
    good = d >= 0 && digits < 32;
    if (good) halves[digits / 16] = halves[digits / 16] << 4 | static_cast<uint64_t>(d);
    ++digits;
  }
  if (!good) {
    *problem = shown(value) + " is no UUID";
    return false;
  }
  append_bytes(halves[0], 8, out);
  append_bytes(halves[1], 8, out);
  return true;
}

bool ValueEncoder::address(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  const std::string t(value.is_string() ? value.text() : std::string_view());
  unsigned char raw[16] = {};
  if (type.kind == TypeKind::kIpv4) {
    if (inet_pton(AF_INET, t.c_str(), raw) != 1) return misfit(type, value, problem);
    for (int i = 3; i >= 0; --i) out->push_back(static_cast<char>(raw[i]));
    return true;
  }
  if (inet_pton(AF_INET6, t.c_str(), raw) != 1) {
    raw[10] = raw[11] = 0xFF;
    if (inet_pton(AF_INET, t.c_str(), raw + 12) != 1) return misfit(type, value, problem);
  }
  out->append(reinterpret_cast<const char*>(raw), 16);
  return true;
}

bool ValueEncoder::take_apart(const ColumnType& type, const Value& value, Value* out, std::string* problem) {
  if (value.type() == SLUICE_LIST || value.type() == SLUICE_MAP) {
    *out = value;
    return true;
  }
  if (Status s = parse_(value, out); !s.is_ok()) {
    *problem = shown(value) + " is no " + type.name + ": " + s.message();
    return false;
  }
  return true;
}

bool ValueEncoder::array(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  if (!value.is_array()) return misfit(type, value, problem);
  Value list;
  if (!take_apart(type, value, &list, problem)) return false;
  append_varint(list.size(), out);
  for (size_t i = 0; i < list.size(); ++i)
    if (!encode(type.inner[0], list.item(i), out, problem)) {
      *problem = "element " + std::to_string(i + 1) + ": " + *problem;
      return false;
    }
  return true;
}

bool ValueEncoder::tuple(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  Value parts;
  if (!value.is_array() && !value.is_object()) return misfit(type, value, problem);
  if (!take_apart(type, value, &parts, problem)) return false;
  if (parts.size() != type.inner.size()) {
    *problem = shown(value) + " has " + std::to_string(parts.size()) + " elements, " + type.name + " has " +
               std::to_string(type.inner.size());
    return false;
  }
  for (size_t i = 0; i < type.inner.size(); ++i) {
    const Value part = value.is_array() ? parts.item(i) : parts.find(type.inner_names[i]);
    if (part.is_absent()) {
      *problem = shown(value) + " has no element \"" + type.inner_names[i] + "\" of " + type.name;
      return false;
    }
    if (!encode(type.inner[i], part, out, problem)) {
      *problem = "element " + std::to_string(i + 1) + ": " + *problem;
      return false;
    }
  }
  return true;
}

bool ValueEncoder::map(const ColumnType& type, const Value& value, std::string* out, std::string* problem) {
  if (!value.is_object()) return misfit(type, value, problem);
  Value parts;
  if (!take_apart(type, value, &parts, problem)) return false;
  append_varint(parts.size(), out);
  for (size_t i = 0; i < parts.size(); ++i)
    if (!encode(type.inner[0], Value::string(parts.name(i)), out, problem) ||
        !encode(type.inner[1], parts.member(i), out, problem)) {
      *problem = "entry \"" + std::string(parts.name(i)) + "\": " + *problem;
      return false;
    }
  return true;
}

}  // namespace sluice::clickhouse
