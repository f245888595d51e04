#include "phoenix/lane_times.h"

#include <algorithm>
#include <map>

namespace sluice::phoenix {
namespace {
constexpr std::chrono::milliseconds kStep{50};  // a stop is not told to those who wait
}

std::shared_ptr<LaneTimes> LaneTimes::of(const std::string& sink) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<LaneTimes>> all;
  const std::lock_guard lock(mutex);
  std::shared_ptr<LaneTimes> found = all[sink].lock();
  if (found == nullptr) all[sink] = found = std::make_shared<LaneTimes>();
  return found;
}

void LaneTimes::say(uint32_t lane, const WrittenTimes& own) {
  const std::lock_guard lock(mutex_);
  newest_.newest_ms = std::max(newest_.newest_ms, own.newest_ms);
  newest_.longest_gap_ms = std::max(newest_.longest_gap_ms, own.longest_gap_ms);
  lanes_.insert(lane);
  spoken_.notify_all();
}

bool LaneTimes::hear(uint32_t lanes, std::chrono::milliseconds patience, const std::function<bool()>& stopping,
                     WrittenTimes* all) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(mutex_);
  while (lanes_.size() < lanes) {
    if (stopping() || std::chrono::steady_clock::now() >= until) return false;
    spoken_.wait_for(lock, kStep);
  }
  *all = newest_;
  return true;
}

}  // namespace sluice::phoenix
