// All state of one lane (one parallel instance of a pipeline) and the resources that lanes share.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "state/state_decl.h"
#include "state/state_table.h"
#include "state/timer_table.h"

namespace sluice::state {

struct StateResourcesOptions {
  uint64_t memory_bytes =
      64ull << 20;  // for all lanes together. Default: 64 MiB; three quarters for hot caches, the rest for RocksDB
  const base::Clock* clock = nullptr;  // null: the system's. Outlives the resources
};

// Broadcast and operator state and timers are in memory as a whole and not part of the budget.
//
// Memory and clock shared by all lane stores of a process. Thread-safe; outlives every LaneStore opened with it.
class StateResources {
 public:
  explicit StateResources(StateResourcesOptions options = {});
  ~StateResources();
  StateResources(const StateResources&) = delete;
  StateResources& operator=(const StateResources&) = delete;

  const base::Clock& clock() const noexcept;
  uint64_t hot_cache_bytes() const noexcept;  // in use now, all lanes
  struct Impl;
  Impl& impl() noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct LaneOptions {
  uint32_t lane = 0;
  uint32_t lanes = 1;
  uint32_t key_groups = kDefaultKeyGroups;
  KeyGroupRange range{0, kDefaultKeyGroups};
  std::vector<StateDecl> states;
  std::vector<std::string> timer_operators;  // ids of operators that may use timers
  // "operator" or "operator/state": stored state (and, for a whole operator, its timers) that is dropped. Anything else
  // that is stored and not declared is refused.
  std::vector<std::string> drop_states;
};

// A snapshot's files: immutable, hard-linked, in `dir`.
struct SnapshotFile {
  std::string name;  // relative to dir
  uint64_t size = 0;
};
struct SnapshotFiles {
  std::string dir;
  uint32_t lane = 0;
  KeyGroupRange range;
  // Within one incarnation of a store a file name always means the same bytes; across incarnations it does not.
  std::string incarnation;
  std::vector<SnapshotFile> files;
};

// An old lane's snapshot to restore from. The directory is only read.
struct LaneSource {
  std::string dir;
  uint32_t lane = 0;
  KeyGroupRange range;
};

struct RestoreReport {
  bool linked = false;  // files were taken over as they are; else entries were copied one by one
  uint64_t entries_copied = 0;
  uint64_t timers_restored = 0;
};

// Used by one thread at a time. Errors as in StateTable. A working directory belongs to one run: after a crash it is
// worthless (there is no WAL; checkpoints are the durability), and the next run restores or starts empty.
class LaneStore {
 public:
  // Opens the store in `dir`, empty when there is none (the directory's parent exists). Refuses stored states that
  // options.states cannot read, with operator, state and versions in the message.
  static base::Result<std::unique_ptr<LaneStore>> open(const std::string& dir, StateResources& resources,
                                                       LaneOptions options);
  // Fills `dir` (emptied first, if it was a lane's directory) from old lanes' snapshots and opens it. Give every lane
  // of the checkpoint in lane order, or at least those whose range overlaps and, for kOperator, old lanes i with i %
  // options.lanes == options.lane, and lane 0 for kBroadcast. One source with the same range, with options.lanes equal
  // to `old_lanes`: files are linked. Otherwise entries of the range are copied; kBroadcast comes from the first
  // source; kOperator entries of old lane i go to lane i % lanes, and two that meet there under one name with different
  // values are an error: neither may be lost.
  static base::Result<std::unique_ptr<LaneStore>> restore(const std::string& dir, StateResources& resources,
                                                          LaneOptions options, const std::vector<LaneSource>& sources,
                                                          uint32_t old_lanes, RestoreReport* report = nullptr);
  // Removes a lane's working directory of an earlier run; refuses directories that hold anything else.
  static base::Status remove_working_dir(const std::string& dir);
  ~LaneStore();  // what was not flushed is lost
  LaneStore(const LaneStore&) = delete;
  LaneStore& operator=(const LaneStore&) = delete;

  // Null when it was not declared (timers: not listed in timer_operators).
  StateTable* table(std::string_view operator_id, std::string_view name) noexcept;
  TimerTable* timers(std::string_view operator_id) noexcept;

  void set_event_time(int64_t ms) noexcept;  // for TtlClock::kEvent: the watermark. Never goes back
  void end_call() noexcept;                  // StateTable::end_call() of every table

  base::Status flush();  // caches and timers to RocksDB (not to disk)
  // flush() and a consistent set of files in `dir` (created; must not exist; on the same file system it costs no copy).
  base::Result<SnapshotFiles> snapshot(const std::string& dir);
  base::Status compact();  // everything; reclaims expired entries at once

  std::vector<TableStats> stats() const;
  std::vector<StoredState> stored_states() const;  // for the manifest
  const LaneOptions& options() const noexcept;
  const std::string& incarnation() const noexcept;

  struct Impl;

 private:
  explicit LaneStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::state
