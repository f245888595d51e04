#include "checkpoint/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

namespace sluice::checkpoint {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

base::Status write_all(int fd, const char* data, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return file_error(errno, "cannot write " + path);
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return base::Status::ok();
}

base::Status sync(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file.is_open()) return file_error(errno, "cannot open " + path);
  if (::fsync(file.get()) != 0) return file_error(errno, "cannot sync " + path);
  return base::Status::ok();
}

}  // namespace

base::Status file_error(int error, const std::string& what) {
  const std::string reason = std::generic_category().message(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return base::Status::retry("no space: " + what + ": " + reason, 1000);
  }
  return base::Status::fatal(what + ": " + reason);
}

base::Status sync_directory(const std::string& dir) { return sync(dir, O_RDONLY | O_DIRECTORY); }
base::Status sync_file(const std::string& path) { return sync(path, O_RDONLY); }

base::Status create_directory(const std::string& dir) {
  std::error_code ec;
  std::vector<fs::path> made;
  for (fs::path p = dir; !p.empty() && !fs::exists(p, ec); p = p.parent_path()) made.push_back(p);
  fs::create_directories(dir, ec);
  if (ec) return file_error(ec.value(), "cannot create " + dir);
  for (const fs::path& p : made) SLUICE_TRY(sync_directory(p.has_parent_path() ? p.parent_path() : "."));
  return base::Status::ok();
}

base::Status check_writable(const std::string& dir) {
  fs::path there = dir;
  while (::access(there.c_str(), F_OK) != 0) {
    if (errno != ENOENT) return file_error(errno, "cannot use " + dir);
    there = there.has_parent_path() ? there.parent_path() : ".";
  }
  std::error_code ignored;
  if (!fs::is_directory(there, ignored)) return base::Status::fatal(there.string() + " is not a folder");
  if (::access(there.c_str(), W_OK | X_OK) == 0) return base::Status::ok();
  return file_error(errno, there == fs::path(dir) ? "cannot write in " + dir : "cannot create " + dir + " in " + there.string());
}

base::Status write_file(const std::string& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return file_error(errno, "cannot create " + path);
  SLUICE_TRY(write_all(file.get(), content.data(), content.size(), path));
  if (::fsync(file.get()) != 0) return file_error(errno, "cannot sync " + path);
  return base::Status::ok();
}

base::Status replace_file(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  base::Status status = write_file(temporary, content);
  if (status.is_ok()) status = rename_path(temporary, path);
  if (!status.is_ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return sync_directory(fs::path(path).parent_path());
}

base::Status read_file(const std::string& path, std::string* content) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return file_error(errno, "cannot open " + path);
  content->clear();
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, "cannot read " + path);
    if (got == 0) return base::Status::ok();
    content->append(buffer, static_cast<size_t>(got));
  }
}

base::Status copy_file(const std::string& from, const std::string& to) {
  const Descriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.is_open()) return file_error(errno, "cannot open " + from);
  const Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!out.is_open()) return file_error(errno, "cannot create " + to);
  constexpr size_t kBufferBytes = 256 << 10;
  const auto buffer = std::make_unique<char[]>(kBufferBytes);
  for (;;) {
    const ssize_t got = ::read(in.get(), buffer.get(), kBufferBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, "cannot read " + from);
    if (got == 0) break;
    SLUICE_TRY(write_all(out.get(), buffer.get(), static_cast<size_t>(got), to));
  }
  if (::fsync(out.get()) != 0) return file_error(errno, "cannot sync " + to);
  return base::Status::ok();
}

base::Status link_or_copy(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return sync_file(to);
  if (errno == ENOSPC || errno == EDQUOT || errno == ENOENT || errno == EEXIST) {
    return file_error(errno, "cannot link " + from + " to " + to);
  }
  return copy_file(from, to);  // another file system, or one without links
}

base::Status rename_path(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return file_error(errno, "cannot rename " + from + " to " + to);
  return base::Status::ok();
}

base::Status remove_tree(const std::string& path) {
  std::error_code ec;
  fs::remove_all(path, ec);
  return ec ? file_error(ec.value(), "cannot remove " + path) : base::Status::ok();
}

}  // namespace sluice::checkpoint
