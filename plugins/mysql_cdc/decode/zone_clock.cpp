#include "zone_clock.h"

#include <date/tz.h>

namespace sluice_mysql {

const date::time_zone* find_zone(const std::string& name) {
  try {
    return date::locate_zone(name);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void ZoneClock::shift(DateTime* t) {
  const int64_t utc_s = seconds_since_1970(*t);
  if (utc_s < from_s_ || utc_s >= until_s_) {
    const date::sys_info info = zone_->get_info(date::sys_seconds(std::chrono::seconds(utc_s)));
    from_s_ = info.begin.time_since_epoch().count();
    until_s_ = info.end.time_since_epoch().count();
    offset_s_ = info.offset.count();
  }
  const int64_t local_s = utc_s + offset_s_;
  const int64_t days = local_s >= 0 ? local_s / 86400 : (local_s - 86399) / 86400;
  const auto of_day = static_cast<uint32_t>(local_s - days * 86400);
  date_of_days(days, t);
  t->hour = of_day / 3600;
  t->minute = of_day % 3600 / 60;
  t->second = of_day % 60;
}

}  // namespace sluice_mysql
