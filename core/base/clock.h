// Wall-clock time, replaceable in tests. No monotonic time is ever stored on disk.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace sluice::base {

// Thread-safe. Outlives everything that is handed a pointer to it.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_ms() const = 0;  // milliseconds since 1970-01-01T00:00:00Z
};

class SystemClock final : public Clock {
 public:
  int64_t now_ms() const override {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t start_ms = 0) : now_ms_(start_ms) {}
  int64_t now_ms() const override { return now_ms_.load(std::memory_order_relaxed); }
  void set(int64_t ms) { now_ms_.store(ms, std::memory_order_relaxed); }
  void advance(int64_t ms) { now_ms_.fetch_add(ms, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> now_ms_;
};

}  // namespace sluice::base
