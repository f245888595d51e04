#include "state/timer_table.h"

namespace sluice::state {

void TimerTable::mark(TimerClock clock, const Timer& timer, bool present) {
  changed_[static_cast<size_t>(clock)].insert_or_assign(timer, present);
}

void TimerTable::set(TimerClock clock, std::string_view key, int64_t at_ms, uint64_t tag) {
  const auto [it, is_new] = pending_[static_cast<size_t>(clock)].insert(Timer{at_ms, std::string(key), tag});
  if (is_new) mark(clock, *it, true);
}

bool TimerTable::erase(TimerClock clock, std::string_view key, int64_t at_ms, uint64_t tag) {
  const Timer timer{at_ms, std::string(key), tag};
  if (pending_[static_cast<size_t>(clock)].erase(timer) == 0) return false;
  mark(clock, timer, false);
  return true;
}

std::optional<Timer> TimerTable::pop_due(TimerClock clock, int64_t now_ms) {
  std::set<Timer>& timers = pending_[static_cast<size_t>(clock)];
  if (timers.empty() || timers.begin()->at_ms > now_ms) return std::nullopt;
  Timer timer = std::move(timers.extract(timers.begin()).value());
  mark(clock, timer, false);
  return timer;
}

}  // namespace sluice::state
