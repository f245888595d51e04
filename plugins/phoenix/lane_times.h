// How far the times of rows reach that the lanes of one sink wrote before a restart.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace sluice::phoenix {

// Of one lane, or of all.
struct WrittenTimes {
  int64_t newest_ms = 0;       // the servers' clock
  int64_t longest_gap_ms = 0;  // between two checkpoints: so long may rows have been written after this one
};

// Each lane's state holds that lane's times only, and a lane that is new after a restart has none, although it may get
// rows whose keys another lane wrote. So the lanes, threads of one process, tell each other before they write. Lives as
// long as one of them does; any thread.
class LaneTimes {
 public:
  static std::shared_ptr<LaneTimes> of(const std::string& sink);
  // Once for each start of a lane, before it waits.
  void say(uint32_t lane, const WrittenTimes& own);
  // Until all `lanes` have spoken: then *all is the newest of them. False: not within `patience`, or `stopping`.
  bool hear(uint32_t lanes, std::chrono::milliseconds patience, const std::function<bool()>& stopping,
            WrittenTimes* all);

 private:
  std::mutex mutex_;
  std::condition_variable spoken_;
  std::set<uint32_t> lanes_;
  WrittenTimes newest_;
};

}  // namespace sluice::phoenix
