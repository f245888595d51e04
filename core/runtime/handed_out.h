// For `sluice run --debug-plugins`: what a plugin is handed is a copy that is overwritten when the call returns, so that a
// plugin that keeps a view of it is found out instead of reading something else one day.
#pragma once
#include <string_view>

#include "sluice/abi.h"
#include "sluice/testing/call_memory.hpp"

namespace sluice::runtime {

// For the operators that are made from now on. Also on with SLUICE_DEBUG_PLUGINS in the environment, unless it is 0.
void debug_plugins(bool on);
bool debug_plugins();

// The copies of one instance; used by the thread that calls it.
class HandedOut {
 public:
  sluice_str text(sluice_str s) { return s.data == nullptr ? s : memory_.text({s.data, s.size}); }
  sluice_value value(const sluice_value& v);
  template <class T>
  const T* column(const T* column, uint32_t size) {
    if (column == nullptr) return nullptr;
    T* copy = memory_.array<T>(size);
    for (uint32_t i = 0; i < size; ++i) copy[i] = copied(column[i]);
    return copy;
  }
  void end_call() { memory_.end_call(); }

  // The plugin gives back memory of an earlier call.
  bool is_dead(sluice_str s) const { return s.data != nullptr && memory_.is_dead(s.data); }
  bool is_dead(const sluice_value& v) const;

 private:
  sluice_str copied(sluice_str s) { return text(s); }
  sluice_value copied(const sluice_value& v) { return value(v); }
  template <class T>
  T copied(T plain) { return plain; }

  testing::CallMemory memory_;
};

}  // namespace sluice::runtime
