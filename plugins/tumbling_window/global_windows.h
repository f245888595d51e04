// The open windows of an instance without key.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/state.hpp"
#include "tumbling_window/accumulator.h"

namespace sluice::tumbling_window {

// Owned by one operator instance, used by its thread. Accumulators are kept in memory and written to operator state at
// the barrier: a row costs no state access.
//
// Names in the state are "<start>/<group>#<role><lane>". After a restore with other lanes one instance may get what
// several have written, of both phases too: role (`c` complete, `p` partial, `m` merge) and lane of origin keep their
// names apart, and what belongs together is merged when it is read.
class GlobalWindows {
 public:
  using Emit = std::function<void(std::string_view group, Accumulator&)>;

  // `aggregates` outlives this.
  GlobalWindows(OperatorState<std::string>* state, const std::vector<Aggregate>* aggregates)
      : state_(state), aggregates_(aggregates) {}

  Status load(uint32_t role, uint32_t lane, std::string_view options);
  // The accumulator of a window and group, made when it is not there, and marked as changed. Lives until the next
  // close.
  Accumulator& at(const Window& window, std::string_view group) {
    if (last_ == nullptr || last_->accumulator.window.start != window.start || last_group_ != group)
      find(window, group);
    last_->dirty = true;
    return last_->accumulator;
  }
  // Each window that ends at `time` or before, in the order of windows and groups:
  enum class Then {
    kClosed,    // what has changed is emitted, and it is gone
    kKeep,      // what has changed is emitted, and it stays open for rows that come after all
    kHandedOn,  // everything is emitted, also what has had its result already, and it is gone
  };
  void emit_until(int64_t time, Then then, const Emit& emit);
  // What has changed goes to the state. May be called again when it fails.
  Status save();

 private:
  struct Entry {
    Accumulator accumulator;
    bool dirty = false;               // differs from the state
    bool stored = false;              // under its own name
    std::vector<std::string> others;  // names of the entries that it was merged from
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  using Groups = std::unordered_map<std::string, Entry, TextHash, std::equal_to<>>;

  void find(const Window& window, std::string_view group);
  Status load_entry(std::string_view name, std::string_view text, uint32_t role, std::string_view options);
  std::string name_of(int64_t start, std::string_view group) const;
  void forget(const std::string& group, Entry* entry);
  static std::vector<Groups::value_type*> ordered(Groups* groups);

  OperatorState<std::string>* state_;
  const std::vector<Aggregate>* aggregates_;
  std::string suffix_, options_;
  std::map<int64_t, Groups> windows_;  // by start
  std::vector<std::string> erased_;    // names that are still in the state
  Entry* last_ = nullptr;              // the entry that was asked for last
  std::string last_group_;
};

}  // namespace sluice::tumbling_window
