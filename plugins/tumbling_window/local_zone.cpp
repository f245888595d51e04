#include "tumbling_window/local_zone.h"

#include <date/tz.h>

#include <exception>

namespace sluice::tumbling_window {
namespace {

using std::chrono::milliseconds;

const date::time_zone& zone_of(const void* zone) { return *static_cast<const date::time_zone*>(zone); }

}  // namespace

bool LocalZone::set(const std::string& name) {
  try {
    zone_ = date::locate_zone(name);
  } catch (const std::exception&) {
    return false;
  }
  utc_ = name == "UTC" || name == "Etc/UTC";
  span_ = Span();
  if (utc_) span_ = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 0};
  return true;
}

void LocalZone::look_up(int64_t time) {
  const date::sys_info info = zone_of(zone_).get_info(date::sys_time<milliseconds>(milliseconds(time)));
  span_ = {milliseconds(info.begin.time_since_epoch()).count(), milliseconds(info.end.time_since_epoch()).count(),
           milliseconds(info.offset).count()};
}

int64_t LocalZone::first_moment(int64_t local) const {
  if (utc_) return local;
  const date::local_info info = zone_of(zone_).get_info(date::local_time<milliseconds>(milliseconds(local)));
  if (info.result == date::local_info::nonexistent) return milliseconds(info.first.end.time_since_epoch()).count();
  return local - milliseconds(info.first.offset).count();
}

}  // namespace sluice::tumbling_window
