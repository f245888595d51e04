// When an entry expires: the clock of a state's TTL, and the times that compactions share with it.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.h"
#include "state/state_decl.h"

namespace sluice::state {

// Shared by a lane's tables (the lane's thread) and RocksDB's compaction threads.
struct LaneTime {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();
  const base::Clock* clock;
  std::atomic<int64_t> event_time_ms{kUnknown};

  int64_t now_ms(TtlClock which) const noexcept {
    return which == TtlClock::kEvent ? event_time_ms.load(std::memory_order_relaxed) : clock->now_ms();
  }
};

// Expiry of something written now; 0 (never) without a TTL or before the event time is known.
inline int64_t expiry_from(int64_t now_ms, int64_t ttl_ms) noexcept {
  if (ttl_ms <= 0 || now_ms == LaneTime::kUnknown) return 0;
  if (now_ms > std::numeric_limits<int64_t>::max() - ttl_ms) return std::numeric_limits<int64_t>::max();
  const int64_t expiry = now_ms + ttl_ms;
  return expiry == 0 ? 1 : expiry;
}
inline bool is_expired(int64_t expiry_ms, int64_t now_ms) noexcept { return expiry_ms != 0 && expiry_ms <= now_ms; }

// One table's view of the time; the clock is read once a call. Used by the lane's thread.
class TableClock {
 public:
  TableClock(const LaneTime& time, const StateDecl& decl) : time_(time), ttl_ms_(decl.ttl_ms), which_(decl.ttl_clock) {}
  bool has_ttl() const noexcept { return ttl_ms_ > 0; }
  TtlClock which() const noexcept { return which_; }
  int64_t now_ms() noexcept {
    if (!known_) {
      now_ms_ = time_.now_ms(which_);
      known_ = true;
    }
    return now_ms_;
  }
  int64_t expiry_of_write() noexcept { return has_ttl() ? expiry_from(now_ms(), ttl_ms_) : 0; }
  bool expired(int64_t expiry_ms) noexcept { return expiry_ms != 0 && expiry_ms <= now_ms(); }
  void end_call() noexcept { known_ = false; }

 private:
  const LaneTime& time_;
  const int64_t ttl_ms_;
  const TtlClock which_;
  int64_t now_ms_ = 0;
  bool known_ = false;
};

}  // namespace sluice::state
