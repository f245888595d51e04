#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/store_directory.h"
#include "checkpoint/store_lock.h"

namespace sluice::checkpoint {

struct CheckpointStore::Impl {
  explicit Impl(std::string path) : dir(std::move(path)) {}

  const StoreDirectory dir;
  StoreOptions options;
  bool read_only = false;
  StoreLock lock;
  base::SystemClock system_clock;
  const base::Clock* clock = nullptr;

  mutable std::mutex mutex;  // over all below
  StoreRecord record;
  bool run_began = false;
  bool has_pending = false;
  std::map<uint64_t, std::set<std::string>> shared_of;  // by checkpoint with a manifest that can be read
  std::set<std::string> shared_of_pending;
  // Files that were in shared/ when the store was opened beside a manifest that cannot be read: it may refer to them.
  std::set<std::string> shared_of_unreadable;
  // SHA-256 by incarnation of a lane's store, then by file name: names mean the same bytes within one only.
  struct Known {
    uint64_t size;
    std::string sha256;
  };
  std::unordered_map<std::string, std::map<std::string, Known>> checksums;
  base::Status retention_status;

  base::Status writable() const;
  base::Status clean_up();                          // what crashed processes left
  enum class Pinned { kStays, kGoes };
  base::Status remove_checkpoint(uint64_t number, Pinned pinned);  // the folder; mutex held
  base::Status remove_unreferenced();               // shared files; mutex held
  base::Status retain();                            // mutex held
  bool is_pinned(uint64_t number) const;
  base::Result<Manifest> newest(bool skip_damaged, std::vector<std::string>* skipped,
                                std::vector<uint64_t>* abandoned) const;
  // The checkpoint is of a lineage that the last run had left, and newer than the one that run started from.
  bool is_abandoned(uint64_t number, const StoreRecord& now) const;
  std::string parent_is_gone(const StoreRecord& now, uint64_t newest) const;
};

}  // namespace sluice::checkpoint
