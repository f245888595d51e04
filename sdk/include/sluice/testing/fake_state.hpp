// sluice/testing/fake_state.hpp - declared state and timers in memory, with the semantics of the real ones.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "sluice/abi.h"

namespace sluice::testing {

// One declared state. A plain value: a copy is a snapshot. Keys are (key, subkey); kinds without subkey leave it empty.
class FakeState {
 public:
  using Key = std::pair<std::string, std::string>;
  struct Entry {
    std::string value;
    int64_t expiry = 0;  // ms on the state's clock; 0: never
  };
  using Entries = std::map<Key, Entry>;

  FakeState() = default;
  FakeState(std::string name, uint32_t kind, int64_t ttl_ms, bool event_time)
      : name_(std::move(name)), kind_(kind), ttl_ms_(ttl_ms), event_time_(event_time) {}

  const std::string& name() const { return name_; }
  uint32_t kind() const { return kind_; }
  bool event_time() const { return event_time_; }

  // Null: absent, or expired at `now`, which is on this state's clock.
  const std::string* get(const Key& key, int64_t now) const {
    const auto it = entries_.find(key);
    return it == entries_.end() || expired(it->second, now) ? nullptr : &it->second.value;
  }
  void put(const Key& key, std::string_view value, int64_t now) {
    target()[key] = {std::string(value), ttl_ms_ > 0 && now != SLUICE_NO_TIME ? now + ttl_ms_ : 0};
  }
  void erase(const Key& key) { target().erase(key); }
  // What a scan of `key` (MAP) or of everything (the other kinds) visits at `now`, in the order of the keys' bytes.
  Entries visible(const std::string* key, int64_t now) const {
    Entries out;
    for (const auto& e : entries_)
      if ((key == nullptr || e.first.first == *key) && !expired(e.second, now)) out.insert(e);
    return out;
  }

  // Between begin and end writes go to a new map and reads still see the old one.
  void begin_load() {
    loading_ = true;
    shadow_.clear();
  }
  void end_load() {
    if (!loading_) return;
    entries_ = std::move(shadow_);
    forget_load();
  }
  void forget_load() {
    loading_ = false;
    shadow_.clear();
  }
  bool loading() const { return loading_; }

 private:
  static bool expired(const Entry& e, int64_t now) { return e.expiry != 0 && now != SLUICE_NO_TIME && e.expiry <= now; }
  Entries& target() { return loading_ ? shadow_ : entries_; }

  std::string name_;
  uint32_t kind_ = 0;
  int64_t ttl_ms_ = 0;
  bool event_time_ = false;
  bool loading_ = false;
  Entries entries_, shadow_;
};

// Timers of both clocks; a timer is its clock, time, key and tag, and setting one twice is one timer. A plain value.
class FakeTimers {
 public:
  struct Timer {
    int64_t at = 0;
    std::string key;
    uint64_t tag = 0;
    bool operator<(const Timer& o) const { return std::tie(at, key, tag) < std::tie(o.at, o.key, o.tag); }
  };
  void set(uint32_t clock, Timer t) { of(clock).insert(std::move(t)); }
  void erase(uint32_t clock, const Timer& t) { of(clock).erase(t); }
  // Takes out the earliest timer that is due at `now`.
  bool pop_due(uint32_t clock, int64_t now, Timer* out) {
    auto& timers = of(clock);
    if (timers.empty() || timers.begin()->at > now) return false;
    *out = *timers.begin();
    timers.erase(timers.begin());
    return true;
  }
  size_t size() const { return event_.size() + processing_.size(); }
  const std::set<Timer>& of(uint32_t clock) const { return clock == SLUICE_CLOCK_EVENT ? event_ : processing_; }

 private:
  std::set<Timer>& of(uint32_t clock) { return clock == SLUICE_CLOCK_EVENT ? event_ : processing_; }
  std::set<Timer> event_, processing_;
};

}  // namespace sluice::testing
