#include "runtime/crash_report.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <string>

#include "runtime/operator.h"

namespace sluice::runtime {
namespace {

constexpr size_t kStackSize = 64 << 10;
constexpr std::array kDeadly = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

pid_t process = 0;  // that reports; 0: none
std::array<struct sigaction, kDeadly.size()> before;
std::atomic<int> jobs{0};

// One line, in one write where the system allows it. Everything here may be called in a signal handler.
void tell(std::initializer_list<const char*> parts) {
  char line[1024];
  size_t size = 0;
  for (const char* part : parts) {
    const size_t room = sizeof line - 1 - size, n = std::min(std::strlen(part), room);
    std::memcpy(line + size, part, n);
    size += n;
  }
  line[size++] = '\n';
  for (size_t written = 0; written < size;) {
    const ssize_t n = ::write(STDERR_FILENO, line + written, size - written);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) written += static_cast<size_t>(n);
  }
}

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGFPE: return "SIGFPE";
    default: return "SIGABRT";
  }
}

const char* who() {
  const char* op = running_operator();
  return op != nullptr ? op : "a thread that was in no operator's call";
}

void on_deadly_signal(int signal, siginfo_t* info, void*) {
  if (::getpid() == process) tell({"sluice: ", who(), " crashed with ", name_of(signal)});
  for (size_t i = 0; i < kDeadly.size(); ++i)
    if (kDeadly[i] == signal) ::sigaction(signal, &before[i], nullptr);
  // What the processor found comes again when the instruction does; what somebody has sent has to be sent again.
  if (info->si_code <= 0) ::raise(signal);
}

}  // namespace

void report_crashes() {
  static const AlternateStack of_main_thread;
  process = ::getpid();
  struct sigaction action {};
  action.sa_sigaction = &on_deadly_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kDeadly.size(); ++i) ::sigaction(kDeadly[i], &action, &before[i]);
}

bool report_exit(const char* function, int status) {
  const bool is_plugin = running_operator() != nullptr || (jobs > 0 && status == 0);
  if (!is_plugin || ::getpid() != process) return false;
  tell({"sluice: ", who(), " ended the process with ", function, "(", std::to_string(status).c_str(), ")"});
  return true;
}

AlternateStack::AlternateStack() {
  stack_t present{};
  if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  memory_ = std::make_unique<char[]>(kStackSize);
  stack_t own{};
  own.ss_sp = memory_.get();
  own.ss_size = kStackSize;
  ::sigaltstack(&own, nullptr);
}
AlternateStack::~AlternateStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

JobRuns::JobRuns() { ++jobs; }
JobRuns::~JobRuns() { --jobs; }

}  // namespace sluice::runtime
