// The ways to end this process, for everybody in it: defined in the program, these come before those of the C library, also
// for plugins. One that ends the process in the middle of a job, with status 0 above all, would look like a job that has ended.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/exit_code.h"
#include "runtime/crash_report.h"

namespace {

// Without exit handlers: other threads are at work.
[[noreturn]] void end_now(int status) {
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

[[noreturn]] void leave(const char* function, int status) {
  if (sluice::runtime::report_exit(function, status)) end_now(sluice::cli::kExitFailed);
  if (function[0] == '_') end_now(status);
  reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, function))(status);
  __builtin_unreachable();
}

}  // namespace

#define SLUICE_SEEN_BY_PLUGINS __attribute__((visibility("default")))

extern "C" {
SLUICE_SEEN_BY_PLUGINS void exit(int status) noexcept { leave("exit", status); }
SLUICE_SEEN_BY_PLUGINS void quick_exit(int status) noexcept { leave("quick_exit", status); }
SLUICE_SEEN_BY_PLUGINS void _exit(int status) { leave("_exit", status); }
SLUICE_SEEN_BY_PLUGINS void _Exit(int status) noexcept { leave("_Exit", status); }
}
