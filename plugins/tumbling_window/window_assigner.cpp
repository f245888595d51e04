#include "tumbling_window/window_assigner.h"

#include <algorithm>

namespace sluice::tumbling_window {

int64_t WindowAssigner::aligned(int64_t local) const noexcept {
  const int64_t past = (local - offset_) % size_;
  return local - (past < 0 ? past + size_ : past);
}

Window WindowAssigner::at(int64_t time) {
  constexpr int64_t kHour = 3600000;
  const LocalZone::Span span = zone_->span_at(time);
  int64_t local = aligned(time + span.offset);
  if (zone_->is_utc()) return {local, local + size_};
  if (size_ <= kHour)
    return {std::max(local - span.offset, span.begin), std::min(local - span.offset + size_, span.end)};
  // After clocks are set back, local time is before the end of a window that began before: it has begun all the same.
  Window window{zone_->first_moment(local), zone_->first_moment(local + size_)};
  while (time >= window.end) {
    local += size_;
    window = {window.end, zone_->first_moment(local + size_)};
  }
  return window;
}

}  // namespace sluice::tumbling_window
