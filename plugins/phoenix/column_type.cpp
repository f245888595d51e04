#include "phoenix/column_type.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::phoenix {
namespace {

// java.sql.Types, and Phoenix's unsigned types (PDataType).
enum TypeId {
  kTinyInt = -6,
  kBigInt = -5,
  kVarBinary = -3,
  kBinary = -2,
  kChar = 1,
  kDecimal = 3,
  kInteger = 4,
  kSmallInt = 5,
  kFloat = 6,
  kDouble = 8,
  kUnsignedInt = 9,
  kUnsignedLong = 10,
  kUnsignedTinyInt = 11,
  kVarChar = 12,
  kUnsignedSmallInt = 13,
  kUnsignedFloat = 14,
  kUnsignedDouble = 15,
  kBoolean = 16,
  kUnsignedTime = 18,
  kUnsignedDate = 19,
  kUnsignedTimestamp = 20,
  kDate = 91,
  kTime = 92,
  kTimestamp = 93,
};

constexpr std::string_view kTypeNames[] = {"BIGINT",
                                           "BINARY",
                                           "BOOLEAN",
                                           "CHAR",
                                           "DATE",
                                           "DECIMAL",
                                           "DOUBLE",
                                           "FLOAT",
                                           "INTEGER",
                                           "SMALLINT",
                                           "TIME",
                                           "TIMESTAMP",
                                           "TINYINT",
                                           "UNSIGNED_DATE",
                                           "UNSIGNED_DOUBLE",
                                           "UNSIGNED_FLOAT",
                                           "UNSIGNED_INT",
                                           "UNSIGNED_LONG",
                                           "UNSIGNED_TIME",
                                           "UNSIGNED_TIMESTAMP",
                                           "UNSIGNED_SMALLINT",
                                           "UNSIGNED_TINYINT",
                                           "VARBINARY",
                                           "VARCHAR"};
// Of sqlite.sink.
constexpr std::pair<std::string_view, const char*> kOtherWords[] = {
    {"TEXT", "VARCHAR"}, {"REAL", "DOUBLE"}, {"NUMERIC", "DECIMAL"}};
// Of other databases: too far from Phoenix's own to be found by their letters.
constexpr std::pair<std::string_view, const char*> kForeignWords[] = {
    {"INT", "INTEGER"}, {"LONG", "BIGINT"}, {"STRING", "VARCHAR"}, {"BOOL", "BOOLEAN"}, {"DATETIME", "TIMESTAMP"}};

struct WholeType {
  int id;
  avatica::Rep rep;
  int64_t min, max;
};
template <class T>
constexpr int64_t lowest() {
  return std::numeric_limits<T>::min();
}
template <class T>
constexpr int64_t highest() {
  return std::numeric_limits<T>::max();
}
constexpr WholeType kWholeTypes[] = {
    {kBigInt, avatica::LONG, lowest<int64_t>(), highest<int64_t>()},
    {kInteger, avatica::INTEGER, lowest<int32_t>(), highest<int32_t>()},
    {kSmallInt, avatica::SHORT, lowest<int16_t>(), highest<int16_t>()},
    {kTinyInt, avatica::BYTE, lowest<int8_t>(), highest<int8_t>()},
    {kUnsignedLong, avatica::LONG, 0, highest<int64_t>()},
    {kUnsignedInt, avatica::INTEGER, 0, highest<int32_t>()},
    {kUnsignedSmallInt, avatica::SHORT, 0, highest<int16_t>()},
    {kUnsignedTinyInt, avatica::BYTE, 0, highest<int8_t>()},
};

Status unfit(const Value& value, const char* what) {
  const std::string shown =
      value.text().empty() ? std::string(value.type_name()) : '"' + std::string(value.text().substr(0, 80)) + '"';
  return Status::bad_record(shown + " is " + what);
}

// A JSON number's text.
struct Digits {
  bool valid = false;
  std::string text;         // without an exponent's plus and leading zeros: what Java's BigDecimal reads
  std::string significant;  // without point and zeros at either end; empty: the number is 0
  long scale = 0;           // digits after the point that are not zeros
  bool operator==(const Digits& other) const { return significant == other.significant && scale == other.scale; }
};
Digits digits_of(std::string_view text) {
  Digits out;
  size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  long point = -1, count = 0, last_nonzero = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && point < 0) {
      point = count;
    } else if (text[i] >= '0' && text[i] <= '9') {
      ++count;
      if (text[i] != '0') last_nonzero = count;
      out.significant += text[i];
    } else {
      break;
    }
  }
  if (count == 0) return out;
  long exponent = 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::string_view rest = text.substr(i + 1);
    if (!rest.empty() && rest.front() == '+') rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (error != std::errc() || end != rest.data() + rest.size() || std::labs(exponent) > 100000) return out;
    i = text.size();
  }
  if (i != text.size()) return out;
  out.valid = true;
  out.text = std::string(text);
  out.scale = last_nonzero - (point < 0 ? count : point) - exponent;
  out.significant.resize(static_cast<size_t>(last_nonzero));
  out.significant.erase(0, std::min(out.significant.find_first_not_of('0'), out.significant.size()));
  return out;
}

std::string number_text(const Value& value) {
  if (value.type() == SLUICE_INT64) return std::to_string(value.raw().as.i64);
  if (value.type() == SLUICE_DOUBLE) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value.raw().as.f64);
    return error == std::errc() ? std::string(text, end) : std::string();
  }
  return std::string(value.text());
}

Status bind_text(const Value& value, const std::function<Status(const Value&, std::string_view*)>& to_json,
                 avatica::TypedValue* out) {
  out->set_type(avatica::STRING);
  switch (value.type()) {
    case SLUICE_INT64:
    case SLUICE_DOUBLE:
      out->set_string_value(number_text(value));
      return Status::ok();
    case SLUICE_INVALID:
      return Status::bad_record(std::string(value.text()));
    case SLUICE_LIST:
    case SLUICE_MAP: {
      std::string_view json;
      SLUICE_CHECK_OK(to_json(value, &json));
      out->set_string_value(std::string(json));
      return Status::ok();
    }
    default:
      out->set_string_value(std::string(value.text()));
      return Status::ok();
  }
}

Status bind_whole(const WholeType& type, const Value& value, avatica::TypedValue* out) {
  std::optional<int64_t> number = value.int64();
  if (!number && (value.is_number() || value.is_string())) {
    // 20.00 is a whole number, too.
    const Digits d = digits_of(number_text(value));
    const size_t point = d.text.find('.');
    int64_t whole = 0;
    const auto parsed = std::from_chars(d.text.data(), d.text.data() + std::min(point, d.text.size()), whole);
    const bool plain = d.valid && d.scale <= 0 && d.text.find_first_of("eE") == std::string::npos &&
                       parsed.ec == std::errc() && point != std::string::npos;
    if (plain) number = whole;
  }
  if (value.is_bool()) number = value.boolean() ? 1 : 0;
  if (!number) return unfit(value, "no whole number of 64 bits");
  if (*number < type.min || *number > type.max) return unfit(value, "too large or too small for the column's type");
  out->set_type(type.rep);
  out->set_number_value(*number);
  return Status::ok();
}

Status bind_decimal(const ColumnType& type, const Value& value, avatica::TypedValue* out) {
  if (!value.is_number() && !value.is_string()) return unfit(value, "no number");
  const Digits d = digits_of(number_text(value));
  if (!d.valid) return unfit(value, "no number");
  // Phoenix would cut them off without a word.
  if (type.scale >= 0 && d.scale > type.scale)
    return unfit(value, "a number with more digits after the point than the column has");
  out->set_type(avatica::BIG_DECIMAL);
  out->set_string_value(d.text);
  return Status::ok();
}

// Whether it is `written`, in all of its digits or in the few that tell it from its neighbours.
template <class T>
bool comes_back(const Digits& written, T number) {
  char text[400];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  if (error == std::errc() && digits_of({text, static_cast<size_t>(end - text)}) == written) return true;
  const int length = std::snprintf(text, sizeof text, "%.0f", static_cast<double>(number));
  return digits_of({text, static_cast<size_t>(length)}) == written;
}

template <class T>
Status bind_double(const Value& value, bool is_unsigned, avatica::TypedValue* out) {
  if (!value.is_number() && !value.is_string()) return unfit(value, "no number");
  const std::string text = number_text(value);
  const Digits d = digits_of(text);
  if (!d.valid) return unfit(value, "no number");
  const double number = std::strtod(text.c_str(), nullptr);
  if (std::abs(number) > static_cast<double>(std::numeric_limits<T>::max()))
    return unfit(value, "too large for the column's type");
  if (is_unsigned && number < 0) return unfit(value, "too small for the column's type");
  const bool whole = d.scale <= 0 && !d.significant.empty();
  if (whole && !comes_back(d, static_cast<T>(number)))
    return unfit(value, "a whole number that the column's type would round");
  out->set_type(avatica::DOUBLE);
  out->set_double_value(number);
  return Status::ok();
}

Status bind_boolean(const Value& value, avatica::TypedValue* out) {
  const std::string_view text = value.text();
  const bool yes = text == "true" || text == "1" || (value.type() == SLUICE_INT64 && value.raw().as.i64 == 1);
  const bool no = text == "false" || text == "0" || (value.type() == SLUICE_INT64 && value.raw().as.i64 == 0);
  if (!yes && !no) return unfit(value, "neither true nor false");
  out->set_type(avatica::BOOLEAN);
  out->set_bool_value(yes);
  return Status::ok();
}

// Milliseconds since 1970, in UTC; empty: not within the years that have four digits.
std::string time_text(int64_t ms) {
  constexpr int64_t kFirst = -62135596800, kLast = 253402300799;  // 0001-01-01 00:00:00, 9999-12-31 23:59:59
  const int64_t seconds = ms / 1000 - (ms % 1000 < 0 ? 1 : 0);
  if (seconds < kFirst || seconds > kLast) return {};
  const auto time = static_cast<time_t>(seconds);
  std::tm t{};
  gmtime_r(&time, &t);
  char rest[32];
  std::strftime(rest, sizeof rest, "-%m-%d %H:%M:%S.", &t);
  const auto digits = [](int64_t value, size_t width) {
    const std::string text = std::to_string(value);
    return std::string(width - text.size(), '0') + text;
  };
  return digits(t.tm_year + 1900, 4) + rest + digits(ms - seconds * 1000, 3);
}

// Phoenix reads dates and times from text by itself. A number is milliseconds since 1970, which only a TIMESTAMP can
// be; it goes as text as well, since the Query Server would shift it by its own zone.
Status bind_time(int id, const Value& value, avatica::TypedValue* out) {
  if (value.is_string()) {
    out->set_type(avatica::STRING);
    out->set_string_value(std::string(value.text()));
    return Status::ok();
  }
  const bool timestamp = id == kTimestamp || id == kUnsignedTimestamp;
  if (!timestamp || !value.int64())
    return unfit(value, timestamp ? "neither a text nor milliseconds since 1970" : "no text with a date or a time");
  std::string text = time_text(*value.int64());
  if (text.empty()) return unfit(value, "outside the years 1 to 9999, as milliseconds since 1970");
  out->set_type(avatica::STRING);
  out->set_string_value(std::move(text));
  return Status::ok();
}

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Empty: none is like it.
std::string nearest_type(std::string_view word) {
  for (const auto& [other, own] : kForeignWords)
    if (word == other) return own;
  std::string best;
  size_t least = 3;
  for (const std::string_view name : kTypeNames)
    if (const size_t d = distance(word, name); d < least) {
      least = d;
      best = name;
    }
  return best;
}

}  // namespace

std::string type_in_sql(std::string_view text, std::string* problem) {
  problem->clear();
  const auto no_type = [&](const std::string& advice) {
    *problem = "is no type of Phoenix that the sink writes" + advice;
    return std::string();
  };
  const size_t end = std::min(text.find('('), text.size());
  std::string word;
  for (const char c : text.substr(0, end)) word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  while (!word.empty() && word.back() == ' ') word.pop_back();
  for (const auto& [other, own] : kOtherWords)
    if (word == other) word = own;
  if (std::find(std::begin(kTypeNames), std::end(kTypeNames), word) == std::end(kTypeNames)) {
    const std::string near = nearest_type(word);
    return no_type(near.empty() ? ", such as BIGINT or DECIMAL(16,2)" : "; did you mean " + near + "?");
  }
  if (end == text.size()) {
    if (word != "CHAR" && word != "BINARY") return word;
    *problem = "needs its length, such as " + word + "(10)";
    return {};
  }
  // (10) or (16,2)
  std::string lengths;
  bool digit_before = false;
  int commas = 0;
  size_t i = end + 1;
  for (; i < text.size() && text[i] != ')'; ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == ',' ? !digit_before || ++commas > 1 : text[i] < '0' || text[i] > '9') break;
    digit_before = text[i] != ',';
    lengths += text[i];
  }
  if (digit_before && i + 1 == text.size() && text[i] == ')') return word + '(' + lengths + ')';
  return no_type(": in brackets stand one or two numbers, as in DECIMAL(16,2)");
}

bool is_zero_date(const ColumnType& type, const Value& value) {
  switch (type.id) {
    case kDate:
    case kTime:
    case kTimestamp:
    case kUnsignedDate:
    case kUnsignedTime:
    case kUnsignedTimestamp:
      break;
    default:
      return false;
  }
  constexpr std::string_view kDay = "0000-00-00", kClock = "00:00:00";
  std::string_view t = value.is_string() ? value.text() : std::string_view();
  if (t.substr(0, kDay.size()) != kDay) return false;
  t.remove_prefix(kDay.size());
  if (t.empty()) return true;
  if ((t[0] != ' ' && t[0] != 'T') || t.substr(1, kClock.size()) != kClock) return false;
  t.remove_prefix(1 + kClock.size());
  return t.find_first_not_of('0', !t.empty() && t[0] == '.' ? 1 : 0) == std::string_view::npos;
}

Status bind_value(const ColumnType& type, const Value& value,
                  const std::function<Status(const Value&, std::string_view*)>& to_json, avatica::TypedValue* out) {
  if (value.is_missing()) {
    out->set_type(avatica::NULL_VALUE);
    out->set_null(true);
    return Status::ok();
  }
  for (const WholeType& whole : kWholeTypes)
    if (whole.id == type.id) return bind_whole(whole, value, out);
  switch (type.id) {
    case kVarChar:
    case kChar:
      return bind_text(value, to_json, out);
    case kDecimal:
      return bind_decimal(type, value, out);
    case kFloat:
      return bind_double<float>(value, false, out);
    case kDouble:
      return bind_double<double>(value, false, out);
    case kUnsignedFloat:
      return bind_double<float>(value, true, out);
    case kUnsignedDouble:
      return bind_double<double>(value, true, out);
    case kBoolean:
      return bind_boolean(value, out);
    case kDate:
    case kTime:
    case kTimestamp:
    case kUnsignedDate:
    case kUnsignedTime:
    case kUnsignedTimestamp:
      return bind_time(type.id, value, out);
    case kBinary:
    case kVarBinary:
      if (!value.is_string()) return unfit(value, "no text");
      out->set_type(avatica::BYTE_STRING);
      out->set_bytes_value(std::string(value.text()));
      return Status::ok();
    default:
      return Status::bad_record("the sink does not write columns of this type (number " + std::to_string(type.id) +
                                ")");
  }
}

}  // namespace sluice::phoenix
