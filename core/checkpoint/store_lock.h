#pragma once
#include <string>

#include "base/status.h"

namespace sluice::checkpoint {

// Exclusive lock on a store's directory, by flock() on its file LOCK, which names the holder's process. Held until it
// is destroyed or the process ends, however it ends.
class StoreLock {
 public:
  StoreLock() = default;
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;
  base::Status acquire(const std::string& dir);  // kFatal: another process has it; its pid is in the message

 private:
  int fd_ = -1;
};

}  // namespace sluice::checkpoint
