// What LaneStore needs of a table beyond the operators' view.
#pragma once
#include <memory>

#include "state/rocksdb/lane_database.h"
#include "state/state_table.h"

namespace sluice::state {

class PersistentTable : public StateTable {
 public:
  virtual base::Status load() = 0;  // once, before anything else
  // Writes what the disk does not have yet. On an error everything that is not known to be written stays marked.
  virtual base::Status flush() = 0;

 protected:
  PersistentTable(StateDecl decl, LaneDatabase& db, LaneDatabase::TableId id, const LaneTime& time)
      : StateTable(std::move(decl)), db_(db), id_(id), clock_(time, decl_) {}

  Envelope envelope_for(std::string_view value, int64_t expiry_ms) const noexcept;
  // Takes an entry read from disk apart; kFatal: damaged, or of a format that this operator does not read.
  base::Status open_envelope(std::string_view bytes, int64_t* expiry_ms, std::string_view* value) const;
  std::string name_for_messages() const;

  LaneDatabase& db_;
  const LaneDatabase::TableId id_;
  TableClock clock_;
};

struct TableContext {
  LaneDatabase& db;
  LaneDatabase::TableId id;
  const LaneTime& time;
  HotCacheBudget& budget;
  uint32_t key_groups;
  size_t filter_bytes;  // KeyFilter may use so much
};
// kValue, kMap.
std::unique_ptr<PersistentTable> make_keyed_table(StateDecl decl, const TableContext& context);
// kBroadcast, kOperator.
std::unique_ptr<PersistentTable> make_memory_table(StateDecl decl, const TableContext& context);

}  // namespace sluice::state
