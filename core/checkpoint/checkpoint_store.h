// The directory that holds a pipeline's checkpoints. Layout: docs/on-disk-formats.md.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "state/lane_store.h"

namespace sluice::checkpoint {

struct StoreOptions {
  uint32_t keep = 3;                   // restorable checkpoints that retention leaves; at least 1
  const base::Clock* clock = nullptr;  // null: the system's
  std::string sluice_version;          // written into manifests
};

enum class CheckpointHealth {
  kComplete,    // manifest readable, every file there with its size (contents: verify())
  kDamaged,     // manifest or a file is missing or wrong
  kIncomplete,  // was being written when its process ended, or is being written now
  kForeign,     // written by a newer version that this one cannot read
};
const char* to_string(CheckpointHealth health);

struct CheckpointInfo {
  uint64_t number = 0;
  CheckpointHealth health = CheckpointHealth::kIncomplete;
  std::string problem;  // unless complete
  std::string lineage;
  int64_t created_ms = 0;
  uint64_t bytes = 0;  // of all files it refers to
  bool pinned = false;
};

struct Damage {
  std::string file;  // relative to the store's directory
  std::string expected;
  std::string found;
};
struct VerifyReport {
  uint64_t number = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  std::vector<Damage> damages;
  bool is_ok() const noexcept { return damages.empty(); }
  std::string text() const;  // one line for each damage
};

class CheckpointStore;

// A checkpoint that is being written. Movable; ends with complete(), or is abandoned and its files are removed when it
// is destroyed. add_* may be called from several threads; complete() after all of them. The store outlives it.
class PendingCheckpoint {
 public:
  PendingCheckpoint(PendingCheckpoint&&) noexcept;
  PendingCheckpoint& operator=(PendingCheckpoint&&) noexcept;
  ~PendingCheckpoint();

  uint64_t number() const noexcept;
  // Takes over a lane's snapshot: SST files that the store does not have yet are linked (or copied) into shared/; the
  // rest into the checkpoint's folder. The snapshot's directory may be removed afterwards.
  base::Status add_lane_state(const state::SnapshotFiles& snapshot);
  // Rows of the epoch for a sink that writes after the checkpoint. The file is linked or copied: do not
  // write to it any more.
  base::Status add_spool(const std::string& operator_id, uint32_t lane, uint64_t checkpoint, uint64_t rows, const std::string& path);
  // Anything else that belongs to the checkpoint; `name` is unique within its kind, without '/'.
  base::Status add_file(const std::string& kind, const std::string& name, const std::string& path);
  // Writes the manifest and makes the checkpoint durable; then retention runs. number, lineage, parent, created_ms,
  // sluice_version, lanes, spools and files are filled in here. An error (kRetry: no space) leaves no checkpoint; a
  // failed retention does not fail the checkpoint (CheckpointStore::retention_status()).
  base::Result<Manifest> complete(Manifest manifest);

 private:
  friend class CheckpointStore;
  struct Impl;
  explicit PendingCheckpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One process holds the store for writing, by an exclusive lock. Thread-safe, but only one pending checkpoint at a
// time.
class CheckpointStore {
 public:
  // Creates the directory when needed, takes the lock (kFatal with the holder's pid when another process has it),
  // removes what crashed processes left behind.
  static base::Result<std::unique_ptr<CheckpointStore>> open(const std::string& dir, StoreOptions options = {});
  // For list, load, verify, latest, pin and unpin beside a running process: takes no lock, and but for pins changes nothing.
  static base::Result<std::unique_ptr<CheckpointStore>> open_read_only(const std::string& dir);
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  const std::string& dir() const noexcept;

  std::vector<CheckpointInfo> list() const;                     // ascending
  base::Result<Manifest> load(uint64_t number) const;           // the manifest alone
  base::Result<VerifyReport> verify(uint64_t number) const;     // reads every byte
  base::Result<Manifest> load_verified(uint64_t number) const;  // kFatal: names number and damage
  // The newest checkpoint, verified. number 0 and an empty lineage: the store has none. When the newest one is damaged
  // or foreign: kFatal with its number, file, expected and found, and the newest usable one before it.
  // A run that began a lineage and ended before its first checkpoint left newer ones of another lineage: they are
  // passed over (*abandoned gets their numbers, the newest first) for the one that it had started from.
  base::Result<Manifest> latest(std::vector<uint64_t>* abandoned = nullptr) const;
  // As latest(), but takes the newest usable one; *skipped gets a line for each that is not. None usable: kFatal.
  base::Result<Manifest> latest_usable(std::vector<std::string>* skipped) const;

  // Says what this run starts from; before the first reserve_number(). The lineage is kept when `restored` is the
  // newest checkpoint in the store and of the store's lineage, else a new one begins. Null: from scratch.
  base::Status begin_run(const Manifest* restored);
  // Makes that durable: from now on the next run starts from there too, unless this one completes a checkpoint. For the
  // moment when nothing can refuse the start any more.
  base::Status confirm_run();
  std::string lineage() const;

  // The next number, durably counted: never given again, whatever happens to the checkpoint.
  base::Result<uint64_t> reserve_number();
  // number: from reserve_number().
  base::Result<PendingCheckpoint> begin(uint64_t number);

  // Puts an old lane's files into `target` (created; must not exist) under their own names, ready for
  // state::LaneStore::restore(). SST files are links where possible.
  base::Status materialize_lane(const Manifest& manifest, uint32_t lane, const std::string& target) const;
  // Path of a spool or extra file.
  std::string path_of(const Manifest& manifest, std::string_view file) const;

  base::Status pin(uint64_t number) const;  // retention leaves it alone, that of another process included
  base::Status unpin(uint64_t number) const;
  base::Status remove(uint64_t number);   // also a damaged or foreign one
  base::Status retention_status() const;  // of the last retention
  uint64_t shared_bytes() const;

 private:
  friend class PendingCheckpoint;
  struct Impl;
  explicit CheckpointStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::checkpoint
