// File operations that are on disk when they return.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::checkpoint {

// kRetry: no space left (quota and file size limits too); else kFatal.
base::Status file_error(int error, const std::string& what);

base::Status sync_directory(const std::string& dir);
base::Status sync_file(const std::string& path);
base::Status create_directory(const std::string& dir);  // exists already: OK; parents are made too; all of them synced
// Could create_directory(dir) do its work, and files be made in it? Changes nothing.
base::Status check_writable(const std::string& dir);
// Writes a new file and syncs it; not the directory.
base::Status write_file(const std::string& path, std::string_view content);
// Replaces `path` as a whole: temporary name, sync, rename, sync of the directory.
base::Status replace_file(const std::string& path, std::string_view content);
base::Status read_file(const std::string& path,
                       std::string* content);  // a missing file: kFatal, "No such file or directory"
base::Status copy_file(const std::string& from,
                       const std::string& to);  // synced; not the directory. `to` must not exist
base::Status link_or_copy(const std::string& from, const std::string& to);
base::Status rename_path(const std::string& from, const std::string& to);  // not synced
base::Status remove_tree(const std::string& path);

}  // namespace sluice::checkpoint
