// Change records in the shape of Debezium or of Maxwell.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "table_codec.h"

namespace sluice_mysql {

// Where and when a change was made. Views are read during the call only.
struct ChangePlace {
  std::string_view file;
  uint64_t position = 0;  // of the event that holds the row; of the snapshot
  uint32_t row = 0;       // in the event
  std::string_view gtid;  // empty: none
  uint32_t server_id = 0;
  int64_t event_ms = 0;  // when the server made the change, ms since 1970; a snapshot row: when it was read
  int64_t now_ms = 0;    // when it is written here
};

// One record. Owned by the ChangeWriter.
struct Change {
  sluice_change type = SLUICE_CHANGE_NONE;
  std::string body;
  std::string key;  // empty: the table has no primary key
};

// Owned by one thread. Each call makes the records that changes() has until the next call; nothing is allocated once
// the texts have grown.
//
// Debezium: {"before":..,"after":..,"source":{..},"op":"c","ts_ms":..}, key {"id":1}. An update that changes the key
// becomes a delete and a create.
// Maxwell: {"database":..,"table":..,"type":"insert","ts":..,"data":{..}, key {"database":..,"table":..,"pk.id":1}. The
// transaction's id is known only at its end, so a body of insert(), update() and remove() ends in the middle; a call of
// end_maxwell() closes it. Bodies of all others are complete.
class ChangeWriter {
 public:
  // `name`: Debezium's logical server name, source.name.
  ChangeWriter(const ValueStyle& style, std::string_view name);

  sluice::Status snapshot_row(const TableCodec& codec, const Cell* cells, const ChangePlace& place);
  sluice::Status insert(const TableCodec& codec, const Cell* after, const ChangePlace& place);
  sluice::Status update(const TableCodec& codec, const Cell* before, const Cell* after, const ChangePlace& place);
  sluice::Status remove(const TableCodec& codec, const Cell* before, const ChangePlace& place);
  // Whichever of the three the reader's row is. Old rows of a system-versioned table are none: one that becomes old is a
  // delete; *kind says what was made, if size() is not 0.
  sluice::Status row(const TableCodec& codec, const RowReader& reader, const ChangePlace& place,
                     RowsKind* kind = nullptr);
  // From now on values that cannot be read stand in the records as their bytes, or are refused again (the default).
  void set_unreadable(Unreadable unreadable) { unreadable_ = unreadable; }

  // Debezium: op t. Maxwell has no such record: none is made.
  void truncate(std::string_view database, std::string_view table, const ChangePlace& place);
  // Maxwell: bootstrap-start, bootstrap-complete. Debezium has no such records: none is made.
  void bootstrap_start(std::string_view database, std::string_view table, const ChangePlace& place);
  void bootstrap_complete(std::string_view database, std::string_view table, const ChangePlace& place);
  // Debezium: none is made.
  // Maxwell: {"type":"table-alter","database":..,"table":..,"old":{..},"def":{..},"ts":ms,"sql":..,"position":..,
  // "gtid":..}. `type` as maxwell_type(); `table` empty for database-*; `before` and `after`: the table's old and new
  // definition, each written if it is known.
  void maxwell_ddl(std::string_view type, std::string_view database, std::string_view table, std::string_view sql,
                   const Table* before, const Table* after, const ChangePlace& place);

  size_t size() const noexcept { return size_; }
  Change& operator[](size_t i) noexcept { return changes_[i]; }

  // Closes a body of Maxwell's: `,"xid":7,"commit":true}` for the last row of a transaction, else
  // `,"xid":7,"xoffset":3}`. For Debezium it does nothing.
  void end_maxwell(std::string* body, uint64_t xid, uint64_t xoffset, bool commit) const;

 private:
  Change* next(sluice_change type);
  void source(std::string_view database, std::string_view table, const ChangePlace& place, bool snapshot,
              std::string* out) const;
  void maxwell_head(std::string_view database, std::string_view table, std::string_view type, int64_t ts_s,
                    std::string* out) const;
  sluice::Status key(const TableCodec& codec, const Cell* cells, std::string* out) const;
  sluice::Status debezium(const TableCodec& codec, const Cell* before, const Cell* after, char op,
                          sluice_change type, const ChangePlace& place);
  sluice::Status maxwell(const TableCodec& codec, const Cell* before, const Cell* after, std::string_view type,
                         sluice_change change, const ChangePlace& place);

  ValueStyle style_;
  Unreadable unreadable_ = Unreadable::kRefused;
  std::string source_head_;
  Change changes_[2];
  size_t size_ = 0;
};

}  // namespace sluice_mysql
