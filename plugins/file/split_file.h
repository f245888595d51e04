// The file behind one split of file.source: open descriptor, position, and what became of the file meanwhile.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "file_paths.h"
#include "file_position.h"
#include "rotation.h"
#include "sluice/status.hpp"

namespace sluice::file {

// Owned by one FileSource, used by its lane only. The descriptor stays open over a rename of the file, so that the rest
// of a rotated file can be read.
class SplitFile {
 public:
  // What check() found at the end of the file.
  enum class News {
    kNone,
    kMore,       // bytes were added
    kMissing,    // no file has the path now
    kReplaced,   // another file has the path now
    kTruncated,  // shorter than what has been read
    kRewritten,  // the first bytes are not those that were read
  };

  SplitFile(uint32_t index, std::string path, std::optional<FilePosition> restored)
      : index_(index), path_(std::move(path)), restored_(restored) {}

  uint32_t index() const noexcept { return index_; }
  const std::string& path() const noexcept { return path_; }
  bool is_open() const noexcept { return file_.is_open(); }
  const FilePosition& position() const noexcept { return position_; }
  void set_position(const FilePosition& position) noexcept { position_ = position; }
  // Size when the file was first opened: rows before it are the snapshot.
  uint64_t first_size() const noexcept { return first_size_; }
  uint64_t size() const noexcept { return size_; }

  // Opens the file that has the path and goes on where the restored position says. Afterwards is_open() is false when
  // there is no such file, or when it is not the one that the position belongs to; *gap then says why.
  // `look_for_renamed`: when another file has the path, look in its folder for the one that was read.
  Status open(bool look_for_renamed, std::string* gap);
  // The next open() begins at the first byte of whatever file has the path then.
  void start_anew();
  // Which files came after the open one and before the one that has the path now.
  Status find_rotated(const std::vector<std::string>& splits, RotatedFiles* out) const {
    return file::find_rotated(path_, file_.get(), splits, out);
  }
  // Begins at the first byte of one of those.
  Status start_rotated(FileDescriptor file);
  // Reads until `size` bytes are there or the file ends.
  Status read(uint64_t offset, char* out, size_t size, size_t* got) const;
  // Before bytes at the position are read: looks at the size, and takes into the identity what it could not hold yet.
  Status refresh();
  // Compares the open file and its path with what has been read. `seen_size`: up to where it was read.
  Status check(uint64_t seen_size, News* news);

  // How the source is getting on with the file; kept here because it is per split.
  struct Progress {
    bool at_end = false;  // read to `seen_size`, where the file ended then
    uint64_t seen_size = 0;
    int64_t last_check_ms = 0;       // of check(), wall clock
    bool replaced_seen = false;      // the last check found another file under the path
    bool draining = false;           // reading the rest of a file that was replaced
    bool waiting = false;            // there is no file
    bool ended = false;              // nothing comes any more
    uint64_t long_line_scanned = 0;  // > 0: the next line is too long, and has no newline before this byte
    uint32_t reported_status = UINT32_MAX;
    std::vector<std::string> unclear_told;  // files that are perhaps of its rotation, and were said to be skipped
  };
  Progress progress;

 private:
  Status identify(int fd, const struct stat& info, uint16_t head_size, FileIdentity* out) const;
  Status mismatch(int fd, const struct stat& info, const FilePosition& position, std::string* reason) const;
  Status find_renamed(FileDescriptor* found);
  Status use(FileDescriptor file, const FilePosition& position);
  Status newline_at(int fd, uint64_t offset, bool* yes) const;

  uint32_t index_;
  std::string path_;
  std::optional<FilePosition> restored_;
  FileDescriptor file_;
  FilePosition position_;
  uint64_t size_ = 0, first_size_ = 0;
  bool was_opened_ = false;
};

}  // namespace sluice::file
