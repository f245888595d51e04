// Log rotation: which files of a folder came after one that was read and before the one that has its name now.
#pragma once
#include <string>
#include <vector>

#include "file_paths.h"
#include "sluice/status.hpp"

namespace sluice::file {

struct RotatedFiles {
  FileDescriptor next;  // the oldest of them that surely belongs to the rotation; not open: there is none
  std::string next_path;
  // Names like that of the file that is followed, and younger than what was read: perhaps of its rotation, perhaps not.
  std::vector<std::string> unclear;
};

// `read`: descriptor of the file that was read to its end and has another name than `path` now, or none. A file surely
// belongs to the rotation when its name and that of `read` differ from that of `path` by a number or a date at the same
// place. Left out are empty files and those in `splits` (sorted), which are read by themselves.
Status find_rotated(const std::string& path, int read, const std::vector<std::string>& splits, RotatedFiles* out);

}  // namespace sluice::file
