// How much memory the hot caches of all lanes may use together.
#pragma once
#include <atomic>
#include <cstdint>

namespace sluice::state {

// Owned by StateResources. Thread-safe.
struct HotCacheBudget {
  std::atomic<uint64_t> used{0};
  std::atomic<uint32_t> tables{0};
  uint64_t limit = 0;

  // A table is asked to evict when all together are over the limit and it has more than its share.
  bool must_evict(uint64_t own) const noexcept { return used.load(std::memory_order_relaxed) > limit && own > share(); }
  uint64_t share() const noexcept { return limit / (tables.load(std::memory_order_relaxed) + 1); }
};

}  // namespace sluice::state
