// The timers of one operator instance.
#pragma once
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "state/state_decl.h"

namespace sluice::state {

enum class TimerClock : uint8_t { kEvent = 0, kProcessing = 1 };

struct Timer {
  int64_t at_ms = 0;
  std::string key;
  uint64_t tag = 0;
  auto operator<=>(const Timer&) const = default;
};

// Owned by its LaneStore and valid as long as that. Used by one thread at a time, the lane's. Kept in memory; what has
// changed is written to disk by LaneStore::flush(). A timer's identity is (clock, key, at, tag): setting the same one
// twice is one timer, and one key can have many. Timers belong to key groups like keyed state.
class TimerTable {
 public:
  TimerTable(std::string operator_id, uint32_t key_groups)
      : operator_id_(std::move(operator_id)), key_groups_(key_groups) {}
  TimerTable(const TimerTable&) = delete;
  TimerTable& operator=(const TimerTable&) = delete;

  const std::string& operator_id() const noexcept { return operator_id_; }
  void set(TimerClock clock, std::string_view key, int64_t at_ms, uint64_t tag);
  bool erase(TimerClock clock, std::string_view key, int64_t at_ms, uint64_t tag);  // false: there was none
  // The earliest timer with at_ms <= now_ms is removed and returned; timers of one time in the order of key, then tag.
  std::optional<Timer> pop_due(TimerClock clock, int64_t now_ms);
  // When the earliest timer is due; INT64_MAX: there is none.
  int64_t next_due(TimerClock clock) const noexcept {
    const auto& timers = pending_[static_cast<size_t>(clock)];
    return timers.empty() ? std::numeric_limits<int64_t>::max() : timers.begin()->at_ms;
  }
  size_t size() const noexcept { return pending_[0].size() + pending_[1].size(); }

 private:
  friend struct TimerPersistence;
  enum class Change : uint8_t {
    kNew,   // present; the disk has nothing of it
    kSet,   // present; the disk may have it
    kGone,  // the disk may have it still
  };
  void mark_gone(TimerClock clock, Timer timer);

  const std::string operator_id_;
  const uint32_t key_groups_;
  std::set<Timer> pending_[2];          // by TimerClock
  std::map<Timer, Change> changed_[2];  // since the last flush; never more than are pending or may be on disk
};

}  // namespace sluice::state
