#include "cli/stop_signals.h"

#include <chrono>
#include <utility>

namespace sluice::cli {
namespace {

constexpr int kWakeUp = SIGUSR2;  // sent by the destructor to the thread alone
// timeout(1) and supervisors signal the process and then its group: the same signal twice at once is one request.
constexpr std::chrono::milliseconds kOneRequest{200};

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  ::sigemptyset(&signals_);
  ::sigaddset(&signals_, SIGTERM);
  ::sigaddset(&signals_, SIGINT);
  if (!is_ignored(SIGHUP)) ::sigaddset(&signals_, SIGHUP);
  ::sigaddset(&signals_, kWakeUp);
  ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

StopSignals::~StopSignals() {
  if (!thread_.joinable()) return;
  ending_ = true;
  ::pthread_kill(thread_.native_handle(), kWakeUp);
  thread_.join();
}

void StopSignals::listen(std::function<void(int, unsigned)> on_signal) {
  thread_ = std::thread([this, signals = signals_, on_signal = std::move(on_signal)] {
    int last = 0;
    std::chrono::steady_clock::time_point last_at;
    for (unsigned count = 1;;) {
      int signal = 0;
      if (::sigwait(&signals, &signal) != 0) continue;
      if (ending_) return;
      if (signal == kWakeUp) continue;
      const auto now = std::chrono::steady_clock::now();
      if (signal == last && now - last_at < kOneRequest) continue;
      last = signal;
      last_at = now;
      on_signal(signal, count++);
    }
  });
}

}  // namespace sluice::cli
