// Watermarks of the splits of one source lane: per split the largest event time less the bound, over splits the minimum.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/abi.h"

namespace sluice::runtime {

// Used by its task's thread only. Splits are addressed by their position in this lane (slot).
class SplitClock {
 public:
  struct Slot {
    std::string id;
    uint32_t index = 0;              // within the source
    int64_t max_event_time = SLUICE_NO_TIME;
    int64_t last_row_ms = 0;         // wall clock; when a row was last seen (or the split was assigned)
    uint32_t flags = 0;              // SLUICE_SPLIT_*
    int64_t lag = -1;
    bool assigned = true;            // false: the source could not take it yet
    bool idle = false;
    bool gated = false;
    std::string position;            // behind the last emitted row
    bool has_position = false;
  };

  explicit SplitClock(int64_t out_of_order_ms) : bound_(out_of_order_ms) {}
  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }
  int64_t watermark() const { return watermark_; }
  // The same before the end: how far the rows came of splits that have all ended.
  int64_t reached() const {
    if (watermark_ != SLUICE_END_OF_TIME) return watermark_;
    int64_t most = restored_;
    for (const Slot& s : slots_)
      if (s.max_event_time != SLUICE_NO_TIME) most = std::max(most, s.max_event_time - bound_);
    return most;
  }
  void restore(int64_t watermark) { watermark_ = restored_ = std::max(watermark_, watermark); }

  // A row of a split. The watermark may grow.
  void observe(Slot& slot, int64_t event_time) {
    if (event_time == SLUICE_NO_TIME || event_time <= slot.max_event_time) return;
    const bool was_holder = split_watermark(slot) <= watermark_;
    slot.max_event_time = event_time;
    if (was_holder || watermark_ == SLUICE_NO_TIME) recompute();
  }
  // After splits came, ended, or became idle or active.
  void recompute() {
    int64_t lowest = SLUICE_END_OF_TIME;
    bool active = false, may_return = false;
    for (const Slot& s : slots_) {
      if (has_ended(s)) continue;
      if (s.idle) {
        may_return = true;
        continue;
      }
      active = true;
      lowest = std::min(lowest, split_watermark(s));
    }
    // Splits that have ended say nothing about the time of one that is idle and may return.
    if (active || (!may_return && !slots_.empty())) watermark_ = std::max(watermark_, lowest);  // never back
  }
  int64_t split_watermark(const Slot& s) const {
    if (has_ended(s)) return SLUICE_END_OF_TIME;
    return s.max_event_time == SLUICE_NO_TIME ? SLUICE_NO_TIME : s.max_event_time - bound_;
  }
  // True when no split can move the watermark for now.
  bool all_idle() const {
    return std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.idle || has_ended(s); });
  }

 private:
  static bool has_ended(const Slot& s) { return (s.flags & SLUICE_SPLIT_END) != 0; }
  const int64_t bound_;
  std::vector<Slot> slots_;
  int64_t watermark_ = SLUICE_NO_TIME, restored_ = SLUICE_NO_TIME;
};

}  // namespace sluice::runtime
