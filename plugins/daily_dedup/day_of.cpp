#include "daily_dedup/day_of.h"

#include <date/tz.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace sluice::daily_dedup {

bool DayOfText::read_new(std::string_view text, Day* day) noexcept {
  const auto number = [&](size_t at, size_t digits) {
    int n = 0;
    for (size_t i = at; i < at + digits; ++i) {
      if (text[i] < '0' || text[i] > '9') return -1;
      n = n * 10 + (text[i] - '0');
    }
    return n;
  };
  const int y = number(0, 4), m = number(5, 2), d = number(8, 2);
  if (y < 0 || m < 0 || d < 0 || text[4] != '-' || text[7] != '-') return false;
  const date::year_month_day ymd{date::year(y), date::month(static_cast<unsigned>(m)),
                                 date::day(static_cast<unsigned>(d))};
  if (!ymd.ok()) return false;
  *day = static_cast<Day>(date::sys_days(ymd).time_since_epoch().count());
  std::memcpy(last_.data(), text.data(), kLength);
  last_day_ = *day;
  known_ = true;
  return true;
}

bool DayOfTime::set_zone(const std::string& name) {
  try {
    zone_ = date::locate_zone(name);
  } catch (const std::exception&) {
    return false;
  }
  begin_ = std::numeric_limits<int64_t>::max();
  end_ = std::numeric_limits<int64_t>::min();
  return true;
}

void DayOfTime::look_up(int64_t ms) {
  using std::chrono::milliseconds;
  const auto* zone = static_cast<const date::time_zone*>(zone_);
  const date::sys_time<milliseconds> time{milliseconds(ms)};
  const date::sys_info info = zone->get_info(time);
  const auto local = time.time_since_epoch() + info.offset;
  const auto day = date::floor<date::days>(local);
  day_ = static_cast<Day>(day.count());
  // As far as this offset holds; the rest of a day on which the clock changes is looked up on its own.
  begin_ =
      std::max<int64_t>(milliseconds(day - info.offset).count(), milliseconds(info.begin.time_since_epoch()).count());
  end_ = std::min<int64_t>(milliseconds(day + date::days(1) - info.offset).count(),
                           milliseconds(info.end.time_since_epoch()).count());
}

}  // namespace sluice::daily_dedup
