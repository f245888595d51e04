// Keeps a library that repeats itself from flooding the host's log.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>

namespace sluice::kafka {

// Lets kBurst lines through in each window of kWindow; the rest is counted. Thread-safe; a plain value of its owner.
class LogLimit {
 public:
  static constexpr uint32_t kBurst = 10;
  static constexpr std::chrono::seconds kWindow{10};
  using Clock = std::chrono::steady_clock;

  // True: write the line. *held_back: how many lines the window before has swallowed, to be said once; else 0.
  bool allows(Clock::time_point now, uint64_t* held_back);

 private:
  std::mutex mutex_;
  Clock::time_point window_start_{};
  uint32_t lines_ = 0;
  uint64_t held_back_ = 0;
};

}  // namespace sluice::kafka
