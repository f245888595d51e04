#include "split_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace sluice::file {
namespace {

Status failed(const char* what, const std::string& path, int error) {
  const std::string message = std::string("cannot ") + what + " " + path + ": " + error_text(error);
  // A network file system that is away comes back.
  if (error == EIO || error == ESTALE || error == ETIMEDOUT) return Status::retry(message, 1000);
  if (error == EMFILE || error == ENFILE)
    return Status::fatal(message + "; raise the limit (ulimit -n) or read fewer files");
  return Status::fatal(message);
}

Status read_fully(int fd, const std::string& path, uint64_t offset, char* out, size_t size, size_t* got) {
  *got = 0;
  while (*got < size) {
    const ssize_t n = pread(fd, out + *got, size - *got, static_cast<off_t>(offset + *got));
    if (n == 0) break;
    if (n > 0) {
      *got += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      return failed("read", path, errno);
    }
  }
  return Status::ok();
}

std::string bytes_text(uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

}  // namespace

Status SplitFile::open(bool look_for_renamed, std::string* gap) {
  gap->clear();
  FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() && errno != ENOENT) return failed("open", path_, errno);
  if (!restored_) {
    if (!file.is_open()) return Status::ok();
    return use(std::move(file), FilePosition());
  }

  std::string reason = "there is no such file any more";
  struct stat info = {};
  if (file.is_open()) {
    if (fstat(file.get(), &info) != 0) return failed("look at", path_, errno);
    SLUICE_CHECK_OK(mismatch(file.get(), info, *restored_, &reason));
    if (reason.empty() && info.st_ino == restored_->identity.inode) return use(std::move(file), *restored_);
  }
  if (look_for_renamed) {
    FileDescriptor renamed;
    SLUICE_CHECK_OK(find_renamed(&renamed));
    if (renamed.is_open()) return use(std::move(renamed), *restored_);
  }
  // Another inode with the same content: the file was copied to where it is now.
  if (reason.empty()) return use(std::move(file), *restored_);
  if (!restored_->gone) {
    *gap = reason;
    return Status::ok();
  }
  restored_.reset();
  return file.is_open() ? use(std::move(file), FilePosition()) : Status::ok();
}

Status SplitFile::start_rotated(FileDescriptor file) {
  std::vector<std::string> told = std::move(progress.unclear_told);
  start_anew();
  progress.unclear_told = std::move(told);
  return use(std::move(file), FilePosition());
}

void SplitFile::start_anew() {
  file_.reset();
  restored_.reset();
  position_ = FilePosition();
  const uint32_t reported = progress.reported_status;
  progress = Progress();
  progress.reported_status = reported;
}

Status SplitFile::use(FileDescriptor file, const FilePosition& position) {
  struct stat info;
  if (fstat(file.get(), &info) != 0) return failed("look at", path_, errno);
  if (!S_ISREG(info.st_mode)) return Status::fatal(path_ + " is not a regular file");
  position_ = position;
  position_.gone = false;
  size_ = static_cast<uint64_t>(info.st_size);
  SLUICE_CHECK_OK(identify(file.get(), info, FileIdentity::kMaxHeadSize, &position_.identity));
  if (position_.unterminated && size_ > position_.offset) {
    // Only its newline came afterwards: mismatch() has seen to that.
    ++position_.offset;
    position_.unterminated = false;
  }
  if (!was_opened_) first_size_ = size_;
  was_opened_ = true;
  file_ = std::move(file);
  restored_.reset();
  posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return Status::ok();
}

Status SplitFile::identify(int fd, const struct stat& info, uint16_t head_size, FileIdentity* out) const {
  char head[FileIdentity::kMaxHeadSize];
  size_t got = 0;
  SLUICE_CHECK_OK(read_fully(fd, path_, 0, head, head_size, &got));
  out->inode = info.st_ino;
  out->head_size = static_cast<uint16_t>(got);
  out->head_hash = stable_hash({head, got});
  return Status::ok();
}

Status SplitFile::newline_at(int fd, uint64_t offset, bool* yes) const {
  char c = 0;
  size_t got = 0;
  SLUICE_CHECK_OK(read_fully(fd, path_, offset, &c, 1, &got));
  *yes = got == 1 && c == '\n';
  return Status::ok();
}

// *reason stays empty when `position` can be gone on from in the file.
Status SplitFile::mismatch(int fd, const struct stat& info, const FilePosition& position, std::string* reason) const {
  reason->clear();
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  const bool same_inode = info.st_ino == position.identity.inode;
  FileIdentity now;
  SLUICE_CHECK_OK(identify(fd, info, position.identity.head_size, &now));
  const bool same_head = now.head_size == position.identity.head_size && now.head_hash == position.identity.head_hash;
  if (!same_inode && !same_head) {
    *reason = "another file has this name now";
    return Status::ok();
  }
  if (size < position.offset) {
    *reason =
        "it was truncated: it has " + bytes_text(size) + ", but " + bytes_text(position.offset) + " had been read";
    return Status::ok();
  }
  if (!same_head) {
    *reason = "it was written anew: its first bytes are not those that had been read";
    return Status::ok();
  }
  bool newline = true;
  if (!position.unterminated) {
    if (position.offset > 0) SLUICE_CHECK_OK(newline_at(fd, position.offset - 1, &newline));
    if (!newline) *reason = "it was written anew: no line ends at the place up to which it had been read";
  } else if (size > position.offset) {
    SLUICE_CHECK_OK(newline_at(fd, position.offset, &newline));
    if (!newline) *reason = "its last line had been read as a whole row and has become longer since";
  }
  return Status::ok();
}

Status SplitFile::find_renamed(FileDescriptor* found) {
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path_.substr(0, slash + 1);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.empty() ? "." : folder.c_str()), closedir);
  if (listing == nullptr) return Status::ok();
  while (const dirent* entry = readdir(listing.get())) {
    const std::string name = folder + entry->d_name;
    struct stat info;
    if (name == path_ || stat(name.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_ino != restored_->identity.inode) continue;
    FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string reason;
    if (!file.is_open() || fstat(file.get(), &info) != 0) continue;
    SLUICE_CHECK_OK(mismatch(file.get(), info, *restored_, &reason));
    if (reason.empty()) *found = std::move(file);
  }
  return Status::ok();
}

Status SplitFile::read(uint64_t offset, char* out, size_t size, size_t* got) const {
  return read_fully(file_.get(), path_, offset, out, size, got);
}

Status SplitFile::refresh() {
  struct stat info;
  if (fstat(file_.get(), &info) != 0) return failed("look at", path_, errno);
  size_ = static_cast<uint64_t>(info.st_size);
  const FileIdentity& known = position_.identity;
  if (known.head_size < FileIdentity::kMaxHeadSize && size_ > known.head_size)
    return identify(file_.get(), info, FileIdentity::kMaxHeadSize, &position_.identity);
  return Status::ok();
}

Status SplitFile::check(uint64_t seen_size, News* news) {
  *news = News::kNone;
  struct stat info;
  if (fstat(file_.get(), &info) != 0) return failed("look at", path_, errno);
  size_ = static_cast<uint64_t>(info.st_size);
  if (size_ < seen_size) {
    *news = News::kTruncated;
    return Status::ok();
  }
  FileIdentity now;
  SLUICE_CHECK_OK(identify(file_.get(), info, position_.identity.head_size, &now));
  if (now.head_hash != position_.identity.head_hash) {
    *news = News::kRewritten;
    return Status::ok();
  }
  if (size_ > seen_size) {
    *news = News::kMore;
    return Status::ok();
  }
  struct stat named;
  if (stat(path_.c_str(), &named) != 0) {
    if (errno != ENOENT) return failed("look at", path_, errno);
    *news = News::kMissing;
  } else if (named.st_ino != info.st_ino || named.st_dev != info.st_dev) {
    *news = News::kReplaced;
  }
  return Status::ok();
}

}  // namespace sluice::file
