#include "state/timer_table.h"

namespace sluice::state {

void TimerTable::mark_gone(TimerClock clock, Timer timer) {
  std::map<Timer, Change>& changed = changed_[static_cast<size_t>(clock)];
  const auto [it, first] = changed.try_emplace(std::move(timer), Change::kGone);
  if (it->second == Change::kNew) {
    changed.erase(it);
  } else {
    it->second = Change::kGone;
  }
}

void TimerTable::set(TimerClock clock, std::string_view key, int64_t at_ms, uint64_t tag) {
  const auto [it, is_new] = pending_[static_cast<size_t>(clock)].insert(Timer{at_ms, std::string(key), tag});
  if (!is_new) return;
  const auto [change, first] = changed_[static_cast<size_t>(clock)].try_emplace(*it, Change::kNew);
  if (!first) change->second = Change::kSet;
}

bool TimerTable::erase(TimerClock clock, std::string_view key, int64_t at_ms, uint64_t tag) {
  Timer timer{at_ms, std::string(key), tag};
  if (pending_[static_cast<size_t>(clock)].erase(timer) == 0) return false;
  mark_gone(clock, std::move(timer));
  return true;
}

std::optional<Timer> TimerTable::pop_due(TimerClock clock, int64_t now_ms) {
  std::set<Timer>& timers = pending_[static_cast<size_t>(clock)];
  if (timers.empty() || timers.begin()->at_ms > now_ms) return std::nullopt;
  Timer timer = std::move(timers.extract(timers.begin()).value());
  mark_gone(clock, timer);
  return timer;
}

}  // namespace sluice::state
