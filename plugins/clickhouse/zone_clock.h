// Wall-clock time of a zone and the seconds since 1970 that it stands for.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

namespace sluice::clickhouse {

// Used by one thread. Remembers the span of equal offset that was looked up last.
class ZoneClock {
 public:
  // False: this machine's time zone database has no such zone. Must be called first.
  bool set(const std::string& name);
  const std::string& name() const noexcept { return name_; }
  // Seconds since 1970-01-01T00:00:00 as the zone's clocks show them → seconds since then. Of a time that comes twice
  // the first one. False: clocks there were put forward over it.
  bool to_epoch(int64_t local, int64_t* epoch);
  int64_t to_local(int64_t epoch);

 private:
  void look_up(int64_t epoch);

  std::string name_;
  const void* zone_ = nullptr;  // date::time_zone; lives as long as the process
  int64_t begin_ = std::numeric_limits<int64_t>::max(), end_ = std::numeric_limits<int64_t>::min();
  int64_t offset_ = 0;
};

}  // namespace sluice::clickhouse
