#include "file_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

namespace sluice::file {
namespace {

bool is_hidden(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name.empty() || name.front() == '.';
}

bool is_regular_file(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string working_directory() {
  const std::unique_ptr<char, void (*)(void*)> text(getcwd(nullptr, 0), std::free);
  return text != nullptr ? text.get() : "unknown";
}

Status list_folder(const std::string& path, std::vector<std::string>* files) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (folder == nullptr) return Status::fatal("cannot read the folder " + path + ": " + error_text(errno));
  const std::string prefix = path.back() == '/' ? path : path + "/";
  while (const dirent* entry = readdir(folder.get())) {
    std::string name = prefix + entry->d_name;
    if (!is_hidden(entry->d_name) && is_regular_file(name)) files->push_back(std::move(name));
  }
  return Status::ok();
}

Status list_pattern(const std::string& pattern, std::vector<std::string>* files) {
  glob_t found;
  const int result = glob(pattern.c_str(), GLOB_BRACE, nullptr, &found);
  const std::unique_ptr<glob_t, void (*)(glob_t*)> release(&found, globfree);
  if (result == GLOB_NOMATCH) return Status::ok();
  if (result != 0) return Status::retry("cannot look for files that match " + pattern);
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    std::string name = found.gl_pathv[i];
    if (!is_hidden(name) && is_regular_file(name)) files->push_back(std::move(name));
  }
  return Status::ok();
}

}  // namespace

bool FileSet::is_pattern() const {
  return path_.find_first_of("*?[{") != std::string::npos && !is_regular_file(path_) && !is_folder(path_);
}

bool FileSet::is_single_file() const { return !is_pattern() && !is_folder(path_); }

std::string one_spelling(const std::string& path) {
  std::string out = path.front() == '/' ? "/" : "";
  for (size_t begin = 0, end = 0; begin < path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    if (part.empty() || part == ".") continue;
    if (!out.empty() && out.back() != '/') out += '/';
    out += part;
  }
  return out;
}

Status FileSet::list(std::vector<std::string>* files) const {
  files->clear();
  if (is_folder(path_)) {
    SLUICE_CHECK_OK(list_folder(path_, files));
  } else if (is_pattern()) {
    SLUICE_CHECK_OK(list_pattern(path_, files));
  } else if (is_regular_file(path_)) {
    files->push_back(path_);
  } else if (access(path_.c_str(), F_OK) == 0) {
    return Status::fatal(path_ + " is neither a regular file nor a folder");
  }
  for (std::string& file : *files) file = one_spelling(file);
  std::sort(files->begin(), files->end());
  return Status::ok();
}

std::string FileSet::not_found_message() const {
  std::string what;
  if (is_pattern()) {
    what = "no file matches " + path_;
  } else if (is_folder(path_)) {
    what = "there are no files in the folder " + path_;
  } else {
    what = "no such file: " + path_;
  }
  if (path_.front() == '/') return what;
  return what + " (the working directory is " + working_directory() + ")";
}

std::string unwritable_folder(const std::string& folder) {
  std::string there = folder;
  while (access(there.c_str(), F_OK) != 0) {
    if (errno != ENOENT) return "cannot use the folder " + folder + ": " + error_text(errno);
    const size_t slash = there.find_last_not_of('/') == std::string::npos ? std::string::npos : there.find_last_of('/', there.find_last_not_of('/'));
    there = slash == std::string::npos ? "." : slash == 0 ? "/" : there.substr(0, slash);
  }
  if (!is_folder(there)) return there + " is not a folder";
  if (access(there.c_str(), W_OK | X_OK) == 0) return "";
  return there == folder ? "cannot write in the folder " + folder + ": " + error_text(errno)
                         : "cannot make the folder " + folder + " in " + there + ": " + error_text(errno);
}

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() noexcept {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void FileDescriptor::reset() noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace sluice::file
