// SIGTERM, SIGINT and SIGHUP as calls on a thread of their own, where anything may be done, unlike in a signal handler.
#pragma once
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace sluice::cli {

// Made before the process has any thread, so that all of them, those of plugins included, leave these signals to it.
// Owned by the command; there is at most one.
class StopSignals {
 public:
  // Blocks the signals; they wait until listen(). SIGHUP only unless it is ignored (nohup). SIGPIPE is ignored from now
  // on: a reader that went away is an error of the write.
  StopSignals();
  // Ends the thread. The signals stay blocked: the process is about to end.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Calls `on_signal` for each signal, with how many there were up to now (from 1); the same one twice within 0.2 s is one.
  // Called once.
  void listen(std::function<void(int signal, unsigned count)> on_signal);

 private:
  sigset_t signals_;
  std::atomic<bool> ending_{false};  // the thread was woken up by the destructor, not by anybody else's signal
  std::thread thread_;
};

}  // namespace sluice::cli
