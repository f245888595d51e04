#include "checkpoint/store_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "checkpoint/durable_file.h"

namespace sluice::checkpoint {

StoreLock::~StoreLock() {
  if (fd_ >= 0) ::close(fd_);
}

base::Status StoreLock::acquire(const std::string& dir) {
  const std::string path = dir + "/LOCK";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) return file_error(errno, "cannot open " + path);
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    char text[32] = {};
    const ssize_t size = ::pread(fd_, text, sizeof text - 1, 0);
    ::close(fd_);
    fd_ = -1;
    if (error != EWOULDBLOCK) return file_error(error, "cannot lock " + path);
    const std::string holder(text, size > 0 ? static_cast<size_t>(size) : 0);
    return base::Status::fatal(fmt::format(
        "the checkpoints in {} are in use by {}; one process at a time can run on them", dir,
        holder.empty() ? std::string("another process") : "process " + holder.substr(0, holder.find('\n'))));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  // The number is for people: a disk that is full must not keep the lock from being taken.
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, pid.data(), pid.size(), 0);
  return base::Status::ok();
}

}  // namespace sluice::checkpoint
