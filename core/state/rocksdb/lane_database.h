// One lane's RocksDB. RocksDB's own types do not leave this folder.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "state/disk_format.h"
#include "state/hot_cache_budget.h"
#include "state/lane_store.h"
#include "state/ttl.h"

namespace sluice::state {

// Owned by its LaneStore; one thread at a time. A table's id is the index of its declaration in LaneOptions::states;
// timers have a table of their own behind those.
class LaneDatabase {
 public:
  using TableId = uint32_t;
  using EntryVisitor = std::function<bool(std::string_view key, std::string_view value)>;  // false ends

  static base::Result<std::unique_ptr<LaneDatabase>> open(const std::string& dir, StateResources& resources,
                                                          const LaneOptions& options, std::shared_ptr<LaneTime> time);
  ~LaneDatabase();
  LaneDatabase(const LaneDatabase&) = delete;
  LaneDatabase& operator=(const LaneDatabase&) = delete;

  TableId timers_table() const noexcept;

  // visit(i, value): only for keys that are there.
  base::Status get_many(TableId table, std::span<const std::string> keys,
                        const std::function<void(size_t, std::string_view)>& visit);
  base::Status scan(TableId table, std::string_view prefix, const EntryVisitor& visit);
  base::Status clear(TableId table);
  uint64_t estimated_entries(TableId table) const;
  uint64_t disk_bytes(TableId table) const;

  // Collects writes and passes them on in batches of about a MiB. After an error everything since the last commit() may
  // or may not have been written: write it again.
  class Writer {
   public:
    explicit Writer(LaneDatabase& db);
    ~Writer();
    base::Status put(TableId table, std::string_view key, const Envelope& envelope, std::string_view value);
    base::Status put_raw(TableId table, std::string_view key, std::string_view bytes);
    base::Status erase(TableId table, std::string_view key);
    base::Status commit();

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

  // Copies what belongs to this lane out of another lane's files.
  base::Status import(const LaneSource& source, bool take_broadcast, bool take_operator_state, RestoreReport* report);

  base::Status snapshot(const std::string& dir, std::vector<SnapshotFile>* files);
  base::Status compact();
  std::vector<StoredState> stored_states() const;

  struct Impl;

 private:
  explicit LaneDatabase(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

HotCacheBudget& hot_cache_budget(StateResources& resources) noexcept;
// Links SST files, copies the others; `to` must not exist.
base::Status take_over_files(const std::string& from, const std::string& to);

}  // namespace sluice::state
