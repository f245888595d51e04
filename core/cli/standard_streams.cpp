#include "cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "cli/exit_code.h"

namespace sluice::cli {

bool open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest number that is free, which is this one.
    if (::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) == stream) continue;
    std::fprintf(stderr, "sluice: standard input, output or error is closed, and /dev/null cannot be opened instead: %s\n",
                 std::strerror(errno));
    return false;
  }
  return true;
}

int end_output(int exit_status) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::ferror(stdout) == 0) return exit_status;
  const bool is_open = (::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) != O_RDONLY;
  // Of output that was too long to be kept until now the reason is not known any more.
  const char* const reason = !is_open ? "it is closed" : error != 0 ? std::strerror(error) : "an earlier write failed";
  std::fprintf(stderr, "sluice: not all of the output could be written to standard output: %s\n", reason);
  return exit_status == kExitOk ? kExitFailed : exit_status;
}

}  // namespace sluice::cli
