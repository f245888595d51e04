#pragma once
#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "state/rocksdb/lane_database.h"
#include "state/rocksdb/resources.h"

namespace sluice::state {

// What goes wrong in RocksDB's own threads. RocksDB would look every few seconds whether there is space again, and
// refuse Resume() meanwhile: that is left to the next checkpoint (LaneDatabase::Impl::resume). Shared by a database and
// its owner; thread-safe.
class BackgroundErrors final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* recover) override {
    *recover = false;
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status* error) override {
    const std::lock_guard guard(mutex_);
    last_ = *error;
  }
  rocksdb::Status last() const {
    const std::lock_guard guard(mutex_);
    return last_;
  }
  void forget() {
    const std::lock_guard guard(mutex_);
    last_ = rocksdb::Status::OK();
  }

 private:
  mutable std::mutex mutex_;
  rocksdb::Status last_;
};

rocksdb::DBOptions database_options(StateResources::Impl& resources);
rocksdb::ColumnFamilyOptions family_options(StateResources::Impl& resources, const StateDecl* decl,
                                            const std::shared_ptr<LaneTime>& time);
rocksdb::WriteOptions write_options();

// An open database with its column families by name.
struct Families {
  std::shared_ptr<BackgroundErrors> errors;
  std::unique_ptr<rocksdb::DB> db;
  std::map<std::string, rocksdb::ColumnFamilyHandle*> handles;

  Families() = default;
  Families(Families&&) = default;
  Families& operator=(Families&&) = default;
  ~Families();
  rocksdb::ColumnFamilyHandle* default_family() const { return handles.at(rocksdb::kDefaultColumnFamilyName); }
};
// Opens all column families there are.
base::Status open_families(const std::string& dir, bool read_only, StateResources::Impl& resources,
                           const LaneOptions& options, const std::shared_ptr<LaneTime>& time, Families* families);
// Records of the states in it; checks the lane's own.
base::Status read_records(const Families& families, const std::string& dir, uint32_t key_groups,
                          std::map<std::string, StoredState>* states);

struct LaneDatabase::Impl {
  std::string dir;
  std::string what;  // for messages
  StateResources::Impl* resources = nullptr;
  LaneOptions options;
  std::shared_ptr<LaneTime> time;
  Families families;
  std::vector<rocksdb::ColumnFamilyHandle*> tables;  // by TableId; the last one: timers
  std::vector<StoredState> stored;                   // by TableId
  bool must_resume = false;                          // RocksDB refuses writes since it met a full disk

  rocksdb::DB& db() const { return *families.db; }
  base::Status fail(const rocksdb::Status& status);
  base::Status resume();
  base::Status flush_memtables();  // then SST files have everything
  base::Status write_records();
};

}  // namespace sluice::state
