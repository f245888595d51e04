#pragma once
#include <rocksdb/status.h>

#include <string>

#include "base/status.h"

namespace sluice::state {

// No space: kRetry. Corruption and everything else: kFatal. `what`: "state of lane 0 in /dir".
base::Status to_status(const rocksdb::Status& status, const std::string& what);

}  // namespace sluice::state
