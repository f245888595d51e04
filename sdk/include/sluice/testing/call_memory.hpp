// sluice/testing/call_memory.hpp - memory that a plugin may look at during one call and never after.
#pragma once
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sluice/abi.h"

namespace sluice::testing {

// What is handed to a plugin in one call lives here. end_call() overwrites all of it with poison, and remembers it for
// some calls more, so that text that comes back out of it is recognised. One thread, the one that makes the calls.
class CallMemory {
 public:
  static constexpr unsigned char kPoison = 0xDB;

  CallMemory() = default;
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;

  template <class T>
  T* array(size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));
    T* p = static_cast<T*>(static_cast<void*>(bytes(sizeof(T) * (count > 0 ? count : 1))));
    for (size_t i = 0; i < count; ++i) new (p + i) T();
    return p;
  }
  sluice_str text(std::string_view s) {
    char* p = bytes(s.size() + 1);  // an empty text still has data
    if (!s.empty()) std::memcpy(p, s.data(), s.size());
    p[s.size()] = '\0';
    return {p, s.size()};
  }
  void end_call() {
    for (Block& b : live_) {
      std::memset(b.data.get(), kPoison, b.size);
      dead_.push_back(std::move(b));
    }
    live_.clear();
    while (dead_.size() > kRemembered) dead_.pop_front();
  }
  // Does `p` point into what an earlier call was given?
  bool is_dead(const void* p) const {
    for (const Block& b : dead_)
      if (p >= static_cast<const void*>(b.data.get()) && p < static_cast<const void*>(b.data.get() + b.size)) return true;
    return false;
  }

 private:
  struct Block {
    std::unique_ptr<char[]> data;
    size_t size = 0, used = 0;
  };
  static constexpr size_t kBlock = 16 << 10;
  static constexpr size_t kRemembered = 64;

  char* bytes(size_t size) {
    constexpr size_t kAlign = alignof(std::max_align_t);
    size = (size + kAlign - 1) / kAlign * kAlign;
    if (live_.empty() || live_.back().size - live_.back().used < size) {
      const size_t block = size > kBlock ? size : kBlock;
      live_.push_back({std::make_unique<char[]>(block), block, 0});
    }
    Block& b = live_.back();
    b.used += size;
    return b.data.get() + b.used - size;
  }

  std::vector<Block> live_;
  std::deque<Block> dead_;
};

}  // namespace sluice::testing
