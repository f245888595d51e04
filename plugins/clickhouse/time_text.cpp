#include "time_text.h"

#include <date/date.h>

#include <algorithm>

namespace sluice::clickhouse {
namespace {

constexpr const char* kNoTime = "is no date or time like 2024-05-01 10:00:00";
constexpr const char* kNotInCalendar = "is not in the calendar";
constexpr std::string_view kZeroDate = "0000-00-00";

// `n` digits at `at`; -1: there are others.
int digits(std::string_view t, size_t at, size_t n) {
  if (at + n > t.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + n; ++i) {
    if (t[i] < '0' || t[i] > '9') return -1;
    value = value * 10 + (t[i] - '0');
  }
  return value;
}

bool read_offset(std::string_view t, TimeText* out) {
  out->has_offset = true;
  if (t == "Z" || t == "z") return true;
  if (t.size() < 3 || (t[0] != '+' && t[0] != '-')) return false;
  const int hours = digits(t, 1, 2);
  int minutes = 0;
  if (t.size() == 6 && t[3] == ':') {
    minutes = digits(t, 4, 2);
  } else if (t.size() == 5) {
    minutes = digits(t, 3, 2);
  } else if (t.size() != 3) {
    return false;
  }
  if (hours < 0 || hours > 18 || minutes < 0 || minutes > 59) return false;
  out->offset = (hours * 3600 + minutes * 60) * (t[0] == '-' ? -1 : 1);
  return true;
}

}  // namespace

int64_t days_of_date(int year, int month, int day) {
  return date::sys_days(date::year(year) / month / day).time_since_epoch().count();
}

void date_of_days(int64_t days, int* year, int* month, int* day) {
  const date::year_month_day d(date::sys_days(date::days(static_cast<int>(days))));
  *year = static_cast<int>(d.year());
  *month = static_cast<int>(static_cast<unsigned>(d.month()));
  *day = static_cast<int>(static_cast<unsigned>(d.day()));
}

const char* read_time_text(std::string_view t, TimeText* out) {
  *out = TimeText();
  const int year = digits(t, 0, 4), month = digits(t, 5, 2), day = digits(t, 8, 2);
  if (year < 0 || month < 0 || day < 0 || t[4] != '-' || t[7] != '-') return kNoTime;
  if (t.substr(0, kZeroDate.size()) == kZeroDate)
    return "is a zero date, which ClickHouse would turn into another one; `zero_dates: as_null` makes it NULL in a "
           "Nullable "
           "column, and in no other";
  const date::year_month_day date = date::year(year) / month / day;
  if (!date.ok()) return kNotInCalendar;
  out->seconds = static_cast<int64_t>(date::sys_days(date).time_since_epoch().count()) * 86400;
  if (t.size() == 10) return nullptr;

  const int hour = digits(t, 11, 2), minute = digits(t, 14, 2), second = digits(t, 17, 2);
  if (hour < 0 || minute < 0 || second < 0 || (t[10] != ' ' && t[10] != 'T') || t[13] != ':' || t[16] != ':')
    return kNoTime;
  if (hour > 23 || minute > 59 || second > 59) return kNotInCalendar;
  out->has_time = true;
  out->seconds += hour * 3600 + minute * 60 + second;
  size_t at = 19;
  if (at < t.size() && t[at] == '.') {
    const size_t begin = ++at;
    uint32_t scale = 100000000;
    for (; at < t.size() && t[at] >= '0' && t[at] <= '9'; ++at) {
      if (at - begin >= 9 && t[at] != '0') return "has more than nine digits of a second";
      out->nanos += static_cast<uint32_t>(t[at] - '0') * scale;
      scale /= 10;
    }
    if (at == begin) return kNoTime;
  }
  if (at == t.size()) return nullptr;
  if (t[at] == ' ') ++at;
  return read_offset(t.substr(at), out) ? nullptr : kNoTime;
}

bool is_zero_date(std::string_view t) {
  if (t.substr(0, kZeroDate.size()) != kZeroDate) return false;
  t.remove_prefix(kZeroDate.size());
  if (t.empty()) return true;
  if (t.substr(1, 8) != "00:00:00" || (t[0] != ' ' && t[0] != 'T')) return false;
  t.remove_prefix(9);
  if (!t.empty() && t[0] == '.') t.remove_prefix(std::min(t.find_first_not_of('0', 1), t.size()));
  TimeText ignored;
  return t.empty() || read_offset(t, &ignored);
}

}  // namespace sluice::clickhouse
