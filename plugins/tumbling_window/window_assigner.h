// Which window a moment belongs to.
#pragma once
#include <cstdint>
#include <string>

#include "tumbling_window/accumulator.h"
#include "tumbling_window/local_zone.h"

namespace sluice::tumbling_window {

// Windows cover all time without gaps. They are aligned to local midnight of the zone, moved by the offset.
//
// Where the clocks are changed: windows longer than an hour begin and end at their local times, so that a day has 23 or
// 25 hours; shorter ones keep their length, except that none reaches over the change.
//
// Owned by one operator instance, used by its thread; `zone` outlives it.
class WindowAssigner {
 public:
  WindowAssigner(int64_t size_ms, int64_t offset_ms, LocalZone* zone)
      : size_(size_ms), offset_(offset_ms), zone_(zone) {}
  Window at(int64_t time);

 private:
  int64_t aligned(int64_t local) const noexcept;
  int64_t size_, offset_;
  LocalZone* zone_;
};

}  // namespace sluice::tumbling_window
