// A time zone, with what was looked up last.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

namespace sluice::tumbling_window {

// Used by one thread. The zone itself lives as long as the process.
class LocalZone {
 public:
  // False: there is no such zone. Must be called first.
  bool set(const std::string& name);
  bool is_utc() const noexcept { return utc_; }

  // A span of time in which the offset of local time is the same. ms.
  struct Span {
    int64_t begin = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
    int64_t offset = 0;
  };
  const Span& span_at(int64_t time) {
    if (time < span_.begin || time >= span_.end) look_up(time);
    return span_;
  }
  int64_t local(int64_t time) { return time + span_at(time).offset; }
  // The first moment at which local time is `local` or later: of a local time that comes twice the first one, of one
  // that is left out the moment of the change.
  int64_t first_moment(int64_t local) const;

 private:
  void look_up(int64_t time);
  const void* zone_ = nullptr;  // date::time_zone
  bool utc_ = false;
  Span span_;
};

}  // namespace sluice::tumbling_window
