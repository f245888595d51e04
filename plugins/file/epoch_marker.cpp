#include "epoch_marker.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "file_paths.h"

namespace sluice::file {
namespace {

std::string quoted(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[(c >> 4) & 0xF];
      out += kHex[c & 0xF];
    } else {
      out += c;
    }
  }
  return out + '"';
}

Status failed(const char* what, const std::string& path) {
  const int error = errno;
  const std::string message = std::string("cannot ") + what + " " + path + ": " + error_text(error);
  return error == ENOSPC || error == EDQUOT ? Status::retry(message, 1000) : Status::fatal(message);
}

}  // namespace

std::string EpochMarker::to_json() const {
  return "{\"format\":1,\"pipeline\":" + quoted(pipeline) + ",\"lineage\":" + quoted(lineage) +
         ",\"epoch\":" + std::to_string(epoch) + ",\"file\":" + quoted(file) + "}\n";
}

Status write_file_atomically(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".tmp";
  FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return failed("create", temporary);
  for (size_t done = 0; done < content.size();) {
    const ssize_t n = write(file.get(), content.data() + done, content.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      return failed("write", temporary);
    }
  }
  if (fsync(file.get()) != 0) return failed("sync", temporary);
  file.reset();
  if (rename(temporary.c_str(), path.c_str()) != 0) return failed("rename to", path);
  const size_t slash = path.rfind('/');
  return sync_folder(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

Status sync_folder(const std::string& path) {
  const FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return failed("open the folder", path);
  // Some file systems cannot sync a folder and need not.
  if (fsync(folder.get()) != 0 && errno != EINVAL) return failed("sync the folder", path);
  return Status::ok();
}

}  // namespace sluice::file
