// The open windows of an instance with key.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/state.hpp"
#include "tumbling_window/accumulator.h"

namespace sluice::tumbling_window {

// Owned by one operator instance, used by its thread. What rows touched lately is kept in memory and written to map
// state (key, then start and group) at the barrier, or when it has become too much; event timers of each key, at the
// ends of its windows, say when to emit.
class KeyedWindows {
 public:
  struct Slot {
    std::string group;
    Accumulator accumulator;
    bool dirty = false;   // differs from the state
    bool stored = false;  // is in the state
  };
  using SetTimer = std::function<Status(std::string_view key, const Accumulator&, bool created)>;

  // `aggregates` outlives this.
  KeyedWindows(MapState<std::string>* state, const std::vector<Aggregate>* aggregates)
      : state_(state), aggregates_(aggregates) {}
  // `most_in_memory`: windows (of all keys) above which they go to the state between barriers.
  void reset(std::string_view options, bool grouped, size_t most_in_memory);

  // Before the rows of a batch are added: each row's window is asked for, then all are read together. Changes nothing
  // that could not be repeated. `set_timer` is called for each.
  void want(std::string_view key, const Window& window, std::string_view group);
  Status load_wanted(const SetTimer& set_timer);
  // One that was loaded for this batch; marked as changed. Lives until the next call that is not at().
  Accumulator& at(std::string_view key, int64_t start, std::string_view group);

  // The windows of a key that end at `end` or before (`only_due`), or all: in the order of windows and groups. Valid
  // until the next call.
  Status of_key(std::string_view key, bool only_due, int64_t end, std::vector<Slot*>* out);
  // Takes windows out of memory and state.
  Status forget(std::string_view key, const std::vector<Slot*>& slots);

  // What has changed goes to the state. May be called again when it fails.
  Status save();
  // Between batches: too much in memory goes to the state, as far as it takes it.
  void shrink();

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  struct Wanted {
    std::string_view key;
    Window window;
    std::string group;
  };
  Slot* find(std::string_view key, int64_t start, std::string_view group);
  void add(std::string_view key, Slot slot);
  Status decode(std::string_view text, Accumulator* out) const;
  static std::string subkey_of(int64_t start, std::string_view group);

  MapState<std::string>* state_;
  const std::vector<Aggregate>* aggregates_;
  std::string options_;
  bool grouped_ = false;
  size_t most_in_memory_ = 0;
  std::unordered_map<std::string, std::vector<Slot>, TextHash, std::equal_to<>> slots_;  // by key
  size_t count_ = 0;
  std::deque<Wanted> wanted_;
};

}  // namespace sluice::tumbling_window
