#include "zone_clock.h"

#include <date/tz.h>

#include <exception>

namespace sluice::clickhouse {
namespace {
constexpr int64_t kDay = 86400;
const date::time_zone* zone_of(const void* p) { return static_cast<const date::time_zone*>(p); }
}  // namespace

bool ZoneClock::set(const std::string& name) {
  try {
    zone_ = date::locate_zone(name);
  } catch (const std::exception&) {
    return false;
  }
  name_ = name;
  return true;
}

void ZoneClock::look_up(int64_t epoch) {
  const date::sys_info info = zone_of(zone_)->get_info(date::sys_seconds(std::chrono::seconds(epoch)));
  begin_ = info.begin.time_since_epoch().count();
  end_ = info.end.time_since_epoch().count();
  offset_ = info.offset.count();
}

int64_t ZoneClock::to_local(int64_t epoch) {
  if (epoch < begin_ || epoch >= end_) look_up(epoch);
  return epoch + offset_;
}

bool ZoneClock::to_epoch(int64_t local, int64_t* epoch) {
  // Far from any change of the offset there is one answer.
  *epoch = local - offset_;
  if (end_ > begin_ && *epoch - kDay >= begin_ && *epoch + kDay < end_) return true;
  const date::local_info info = zone_of(zone_)->get_info(date::local_seconds(std::chrono::seconds(local)));
  if (info.result == date::local_info::nonexistent) return false;
  *epoch = local - info.first.offset.count();
  look_up(*epoch);
  return true;
}

}  // namespace sluice::clickhouse
