// The wall clock of a time zone.
#pragma once
#include <cstdint>
#include <string>

#include "date_time.h"

namespace date {
class time_zone;
}

namespace sluice_mysql {

// The zone of an IANA name ("Asia/Shanghai"), which lives as long as the process; nullptr: there is none. Thread-safe.
const date::time_zone* find_zone(const std::string& name);

// A plain value; one thread. The offset is kept for the span of time in which it holds.
class ZoneClock {
 public:
  ZoneClock() = default;  // UTC
  explicit ZoneClock(const date::time_zone* zone) : zone_(zone) {}

  // From UTC to the zone. A date of zeros stays what it is.
  void to_local(DateTime* t) {
    if (zone_ != nullptr && !t->lacks_date()) shift(t);
  }

 private:
  void shift(DateTime* t);

  const date::time_zone* zone_ = nullptr;
  int64_t from_s_ = 0, until_s_ = 0, offset_s_ = 0;  // seconds since 1970, UTC: offset_s_ holds in [from, until)
};

}  // namespace sluice_mysql
