// How the cells of one table become JSON; decided column by column when the table is met, not for each row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "charset.h"
#include "column.h"
#include "row_image.h"
#include "zone_clock.h"

namespace sluice_mysql {

enum class Format : uint8_t { kDebezium, kMaxwell };

// How DECIMAL is written.
enum class Decimals : uint8_t {
  kText,    // "12.30": no digit is lost whoever reads it
  kBase64,  // the unscaled value's bytes, big endian (Debezium's `precise`)
  kNumber,  // 12.30
};

struct ValueStyle {
  Format format = Format::kDebezium;
  Decimals decimals = Decimals::kText;
  // Of TIMESTAMP where it is written as a wall clock shows it (kMaxwell); nullptr: UTC.
  const date::time_zone* zone = nullptr;
};

// What becomes of a value whose bytes cannot be read.
enum class Unreadable : uint8_t {
  kRefused,  // bad_record, with the column's name
  kHex,      // its bytes stand in the record, "0x1f00"
};

// Owned by one thread. The row images (of the stream) and the text fields (of a snapshot) of a value become the same
// text.
class TableCodec {
 public:
  TableCodec();
  ~TableCodec();
  TableCodec(TableCodec&&) noexcept;
  TableCodec& operator=(TableCodec&&) noexcept;

  // For RowReader's cells. `table`: what information_schema said, or nullptr. With binlog_row_metadata=FULL the map
  // itself has names, signs, character sets and labels, and these hold; `table` then says only what a map cannot
  // (UUID, INET6), column by name. A column that cannot be decoded (a character set, a type) is then refused row by row.
  // Without FULL the table must have as many columns as the map, and what a map says of a column (type, length,
  // precision, NOT NULL, sign, character set) must be true of the table's.
  // fatal: they do not fit, or without FULL a column cannot be decoded; the message names it.
  static sluice::Status for_stream(const TableMap& map, const Table* table, const Collations& collations,
                                   const ValueStyle& style, TableCodec* out);
  // For the fields of `SELECT select_list(table)` in a session with SET NAMES utf8mb4 and time_zone '+00:00'.
  static sluice::Status for_snapshot(const Table& table, const ValueStyle& style, TableCodec* out);

  const std::string& database() const noexcept { return database_; }
  const std::string& table() const noexcept { return table_; }
  const ValueStyle& style() const noexcept { return style_; }
  size_t columns() const noexcept { return names_.size(); }
  const std::string& column_name(size_t i) const noexcept { return names_[i]; }
  const std::vector<uint32_t>& primary_key() const noexcept { return primary_key_; }

  // Appends the JSON of one cell / of a whole row `{"a":1,..}`. bad_record, with the column's name: the bytes are no
  // such value; *out then ends in the middle.
  sluice::Status append_cell(size_t column, const Cell& cell, std::string* out,
                             Unreadable unreadable = Unreadable::kRefused) const;
  sluice::Status append_row(const Cell* cells, std::string* out, Unreadable unreadable = Unreadable::kRefused) const;
  // Only the columns that differ, with the values of `before`.
  sluice::Status append_changed(const Cell* before, const Cell* after, std::string* out,
                                Unreadable unreadable = Unreadable::kRefused) const;
  // Of a system-versioned table: the row is an old one that the server keeps.
  bool is_history(const Cell* cells) const noexcept;
  bool same_key(const Cell* before, const Cell* after) const noexcept;
  // `"a":`, for those who write objects themselves.
  std::string_view member(size_t column) const noexcept;

  struct ColumnCodec;

 private:
  void finish();
  sluice::Status bad_cell(size_t column, const char* why) const;
  void find_row_end(const TableMap& map, const Table* table);

  std::string database_, table_;
  ValueStyle style_;
  std::vector<std::string> names_, members_;  // members: with the comma before
  std::vector<uint32_t> primary_key_;
  std::vector<ColumnCodec> codecs_;
  size_t row_end_ = SIZE_MAX;  // a system-versioned table's column; SIZE_MAX: it is none
};

}  // namespace sluice_mysql
