// Shows a running job: a live picture on a terminal, or a line in the log every ten seconds.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "observe/graph.h"
#include "observe/progress.h"
#include "observe/status_area.h"

namespace sluice::observe {

enum class ProgressStyle { kLive, kPlain };

// Owned by whoever runs the job; has one thread, which ends with stop() or the destructor. `progress` is called from
// that thread until then.
class ProgressReporter {
 public:
  struct Options {
    ProgressStyle style = ProgressStyle::kPlain;
    std::function<Progress()> progress;
    Graph graph;
    StatusArea* area = nullptr;                        // for kLive; outlives the reporter
    std::function<void(const std::string&)> log_line;  // for kPlain
  };

  explicit ProgressReporter(Options options);
  ~ProgressReporter();
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  // Takes the picture away. Called once or never.
  void stop();

 private:
  void run();
  void show();

  const Options options_;
  std::deque<Progress> samples_;  // the newest last; rates are taken from the oldest to the newest
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sluice::observe
