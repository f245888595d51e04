#include "console_sink.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <mutex>
#include <system_error>

namespace sluice::console {
namespace {

constexpr int kTerminalWaitMs = 100;
constexpr uint32_t kRetryMs = 50;

// Held while lines are printed.
std::mutex& output_mutex() {
  static std::mutex mutex;
  return mutex;
}

// A write to a pipe without reader must fail, not end the process: keeps SIGPIPE from this thread, and takes one that
// came meanwhile.
class SigpipeBlocked {
 public:
  SigpipeBlocked() noexcept {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~SigpipeBlocked() {
    const timespec at_once = {};
    if (!was_pending_)
      while (sigtimedwait(&sigpipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t sigpipe_, before_;
  bool was_pending_ = false;
};

}  // namespace

Options<ConsoleSinkConfig> ConsoleSink::options() {
  return {opt("prefix", &ConsoleSinkConfig::prefix).def("\"\"").doc("Printed before each row.").example("\"cart: \""),
          opt("limit", &ConsoleSinkConfig::limit)
              .def("0")
              .unit("rows")
              .doc("Print no more rows than this for each lane; 0: all."),
          opt("on_delete", &ConsoleSinkConfig::on_delete,
              {{"warn", OnDelete::kWarn},
               {"write", OnDelete::kWrite},
               {"ignore", OnDelete::kIgnore},
               {"reject", OnDelete::kReject}})
              .def("warn")
              .doc("Rows that are marked as deleted: printed like others with a warning (once for each lane), printed, "
                   "left out, or bad records.")};
}

Status ConsoleSink::configure(Needs& needs) {
  if (config().limit < 0) return Status::fatal("`limit` must not be negative");
  needs.body();
  return Status::ok();
}

Status ConsoleSink::write(const Batch& in, uint32_t* consumed) {
  *consumed = 0;
  // Lines that an earlier call could not print come first.
  SLUICE_CHECK_OK(flush());
  int64_t not_printed = 0;
  for (uint32_t row = 0; row < in.size(); ++row) {
    const bool is_deleted = in.change(row) == SLUICE_CHANGE_DELETE;
    if (is_deleted && config().on_delete == OnDelete::kIgnore) {
      count("deletes_ignored");
      continue;
    }
    if (is_deleted && config().on_delete == OnDelete::kReject) {
      SLUICE_CHECK_OK(reject(row, "a deleted row cannot be printed; see `on_delete`"));
      continue;
    }
    if (config().limit > 0 && printed_ >= config().limit) {
      ++not_printed;
      continue;
    }
    std::string_view json;
    const Status s = in.json(row, &json);
    if (s.code() == SLUICE_BAD_RECORD) {
      SLUICE_CHECK_OK(reject(row, s.message()));
      continue;
    }
    SLUICE_CHECK_OK(s);
    pending_ += config().prefix;
    const size_t begin = pending_.size();
    pending_ += json;
    // A line break can only stand between two tokens.
    for (const char line_break : {'\n', '\r'})
      for (size_t at = pending_.find(line_break, begin); at != std::string::npos; at = pending_.find(line_break, at))
        pending_[at] = ' ';
    pending_ += '\n';
    ++printed_;
    if (is_deleted) deleted_row_printed();
  }
  if (not_printed > 0) count("rows_not_printed", not_printed);
  const Status s = flush();
  // The rows are taken; what is not printed yet is kept for the next call.
  return s.code() == SLUICE_RETRY ? Status::ok() : s;
}

// Nothing in its line says that the row is gone, unless the row itself does, as change data does.
void ConsoleSink::deleted_row_printed() {
  count("deletes_written");
  if (config().on_delete != OnDelete::kWarn || was_warned_) return;
  was_warned_ = true;
  warn(
      "rows that are marked as deleted are printed like others: set `on_delete: write` if their lines say that "
      "themselves, else `ignore` or `reject`");
}

Status ConsoleSink::flush() {
  if (pending_.empty()) return Status::ok();
  const std::lock_guard<std::mutex> lock(output_mutex());
  const SigpipeBlocked blocked;
  while (done_ < pending_.size()) {
    const ssize_t n = ::write(STDOUT_FILENO, pending_.data() + done_, pending_.size() - done_);
    if (n >= 0) {
      done_ += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) return Status::fatal("standard output was closed by its reader");
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return Status::fatal("cannot write to standard output: " + std::generic_category().message(errno));
    pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    const bool between_lines = done_ == 0 || pending_[done_ - 1] == '\n';
    if (::poll(&out, 1, kTerminalWaitMs) == 0 && (between_lines || stopping()))
      return Status::retry("standard output takes no more text", kRetryMs);
  }
  pending_.clear();
  done_ = 0;
  return Status::ok();
}

Status ConsoleSink::prepare(uint64_t) { return flush(); }
Status ConsoleSink::close() { return flush(); }

}  // namespace sluice::console
