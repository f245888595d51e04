#include "state/rocksdb/rocksdb_status.h"

#include <string_view>

namespace sluice::state {

base::Status to_status(const rocksdb::Status& status, const std::string& what) {
  if (status.ok()) return base::Status::ok();
  const std::string text = status.ToString();
  // A file size limit (EFBIG) has no subcode of its own; for the operator it is the same as a full disk.
  if (status.IsNoSpace() || text.find("File too large") != std::string::npos) {
    return base::Status::retry("no space on the disk of " + what + ": " + text, 1000);
  }
  if (status.IsCorruption()) return base::Status::fatal(what + " is damaged: " + text);
  if (status.IsIncomplete() || status.IsBusy() || status.IsTryAgain() || status.IsTimedOut()) {
    return base::Status::retry(what + ": " + text);
  }
  return base::Status::fatal(what + ": " + text);
}

}  // namespace sluice::state
