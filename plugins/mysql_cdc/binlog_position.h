// Where to go on in a server's changes: what the checkpoints hold.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice_mysql {

// Text, fields apart by tabs:
//   "3" "snapshot" TABLE ROWS SERVER FILE BEGIN GTID
//                                            a snapshot under way: it cannot be gone on with, it starts anew. The
//                                            first attempt was of this place or a later one
//   "1" "snapshot" TABLE ROWS                as earlier versions wrote it
//   "5" "stream" SERVER FILE CREATED BEGIN GTID OPEN EVENT ROW ROWS
//   "2" "stream" SERVER FILE BEGIN GTID OPEN EVENT ROW ROWS  likewise; CREATED is not known
//   "4" "stream" likewise                    where the options say: nothing has been read from there yet
//   "1" "stream" SERVER FILE BEGIN GTID EVENT ROW ROWS       as earlier versions wrote it: OPEN is not known
// SERVER   who wrote FILE: @@server_uuid (MySQL), @@server_id (MariaDB)
// CREATED  when FILE was begun, in seconds since 1970: another file of the same name is told by it
// BEGIN    offset in FILE where a transaction begins; all before it is done
// GTID     the transactions before BEGIN; empty: not known
// OPEN     GTID of the transaction at BEGIN; empty: none is under way, or it has none
// EVENT    offset of the rows event with the last row that was emitted of the transaction at BEGIN; 0: none was
// ROW      that row's number in the event, from 0
// ROWS     how many rows of captured tables were emitted of the transaction
// Fields are never added: another form gets another number.
struct BinlogPosition {
  enum class Phase : uint8_t { kSnapshot, kStream };

  Phase phase = Phase::kSnapshot;
  std::string table;  // kSnapshot
  // kSnapshot: a place that is not behind that of the first attempt; no file: there was none
  std::string server, file, gtid, open_gtid;
  uint32_t created = 0;  // kStream; 0: not known
  uint64_t begin = 0;
  uint64_t event = 0;
  uint32_t row = 0;
  uint64_t rows = 0;  // kSnapshot: of the table
  bool chosen = false;  // kStream: by `start_position` or `start_gtid`, and nothing has been read from there yet

  bool inside_transaction() const noexcept { return event != 0; }

  std::string encode() const;
  // The part that rows of one transaction share, and the rest. Together they are encode().
  void append_head(std::string* out) const;
  static void append_row(uint64_t event, uint32_t row, uint64_t rows, std::string* out);
  // None: not text of this plugin, or of a newer version of it.
  static std::optional<BinlogPosition> decode(std::string_view text);
  // "binlog.000003:4567", "row 2 at binlog.000003:5000 of the transaction at 4567 (0-101-7)".
  std::string describe() const;
};

// "binlog.000003:4567". None: it is no such text.
struct FilePosition {
  std::string file;
  uint64_t position = 0;
  std::string text() const { return file + ":" + std::to_string(position); }
};
std::optional<FilePosition> parse_file_position(std::string_view text);

// Whether binlog file `a` comes before `b`: by number, since names grow past six digits.
bool file_before(std::string_view a, std::string_view b) noexcept;
// Of one server.
bool operator<(const FilePosition& a, const FilePosition& b) noexcept;

}  // namespace sluice_mysql
