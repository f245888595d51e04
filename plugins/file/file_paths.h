// From what the user wrote as `path` to the files that it means, and texts about paths.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sluice/status.hpp"

namespace sluice::file {

// A `path` option: one file, a folder (its files, not those of its sub-folders) or a glob pattern. A value; asks the
// file system anew with each call.
class FileSet {
 public:
  explicit FileSet(std::string path) : path_(std::move(path)) {}

  // What is there now, in one spelling, sorted. Hidden files (a name that begins with a dot) and what is no regular file are left out.
  Status list(std::vector<std::string>* files) const;
  // The path cannot mean more than one file: it is no pattern and no folder.
  bool is_single_file() const;
  // "no such file: data/x.jsonl (the working directory is /srv)"; says what was looked for.
  std::string not_found_message() const;

 private:
  bool is_pattern() const;
  std::string path_;
};

// `./in/a` and `in//a` are `in/a`. `..` and links are left as they are, they may lead anywhere; and so is whether the path is
// absolute: where a job is started from must not change which file is which. `path` is not empty.
std::string one_spelling(const std::string& path);

// Why files cannot be made in a folder, which is itself made where it is missing. Empty: they can be.
std::string unwritable_folder(const std::string& folder);

// "Permission denied" for an errno value.
std::string error_text(int error_number);

// A file descriptor that is closed with its owner.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }
  int release() noexcept;
  void reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace sluice::file
