// A lane's timers on disk: docs/on-disk-formats.md.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "state/rocksdb/lane_database.h"
#include "state/timer_table.h"

namespace sluice::state {

using TimerTables = std::map<std::string, std::unique_ptr<TimerTable>, std::less<>>;

struct TimerPersistence {
  // Fills `tables` with what is stored. Timers of operators in options.drop_states are deleted; of any other operator
  // that has no table: kFatal.
  static base::Status load(LaneDatabase& db, const LaneOptions& options, TimerTables& tables, uint64_t* loaded);
  static base::Status flush(LaneDatabase& db, TimerTables& tables);
};

}  // namespace sluice::state
