#include "kafka/log_limit.h"

namespace sluice::kafka {

bool LogLimit::allows(Clock::time_point now, uint64_t* held_back) {
  const std::lock_guard<std::mutex> lock(mutex_);
  *held_back = 0;
  if (lines_ == 0 || now - window_start_ >= kWindow) {
    window_start_ = now;
    lines_ = 0;
    *held_back = held_back_;
    held_back_ = 0;
  }
  if (lines_ >= kBurst) {
    ++held_back_;
    return false;
  }
  ++lines_;
  return true;
}

}  // namespace sluice::kafka
