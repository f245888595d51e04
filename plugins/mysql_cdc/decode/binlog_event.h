// The events of a MariaDB or MySQL binary log: from bytes to structures. Nothing here trusts a length: any byte
// sequence gives events or an error, never a read out of bounds.
//
// Sources: MySQL internals manual, "Binary Log"; MariaDB knowledge base, "Replication protocol"; seen bytes of
// MariaDB 10.11, MySQL 8.0.15 and 8.0.31 (tests/plugins/mysql_cdc/data).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/status.hpp"
#include "sql_tokens.h"

namespace sluice_mysql {

class ByteReader;

// The first 19 bytes of each event.
struct EventHeader {
  uint32_t timestamp = 0;  // seconds since 1970; 0 in events that the server makes up for the connection
  uint8_t type = 0;
  uint32_t server_id = 0;
  uint32_t size = 0;           // bytes, header and checksum included
  uint32_t next_position = 0;  // low 32 bits; 0 in made-up events
  uint16_t flags = 0;

  static constexpr size_t kBytes = 19;
  static constexpr uint16_t kArtificial = 0x20, kIgnorable = 0x80;
};

// "WRITE_ROWS_V1", or "type 77".
std::string event_name(uint8_t type);

// A column as a TABLE_MAP describes it.
struct MapColumn {
  uint8_t type = 0;   // the real one: what is inside 254 (STRING) is unpacked
  uint16_t meta = 0;  // by type: prefix bytes, greatest length in bytes, fraction digits, bits, precision << 8 | scale
  uint8_t cell_bytes = 0;    // of a value with a fixed size; else 0
  uint8_t prefix_bytes = 0;  // of the length before other values; both 0: values of this type cannot be read
  bool nullable = true;
  bool is_unsigned = false;  // valid if TableMap::has_signedness
  bool visible = true;
  uint32_t collation = 0;  // 0: not said
  std::string name;        // empty: not said (binlog_row_metadata is not FULL)
  std::vector<std::string> labels;  // ENUM, SET; in the column's character set
};

// Made by EventParser, and not changed afterwards. Lives while anyone holds it.
struct TableMap {
  uint64_t id = 0;      // the server's; it changes when the table does
  uint64_t serial = 0;  // ours: equal serials are the same content. Cache what you make of a map by this
  std::string database, table;
  std::vector<MapColumn> columns;
  bool has_signedness = false, has_names = false;
  std::vector<uint32_t> primary_key;  // indexes into columns; empty also if not said
};

enum class RowsKind : uint8_t { kInsert, kUpdate, kDelete };

// The rows of one event; read them with RowReader. Valid until the parser's next call.
struct RowsEvent {
  RowsKind kind = RowsKind::kInsert;
  std::shared_ptr<const TableMap> table;
  std::string_view before_columns, after_columns;  // bitmaps; equal views but for updates
  std::string_view images;
  bool ends_statement = false;
};

enum class EventKind : uint8_t {
  kIgnored,      // nothing to do: annotations, previous GTIDs, events that may be skipped
  kFormat,       // FORMAT_DESCRIPTION: text = server version
  kRotate,       // text = file, position; made_up
  kGtid,         // text = "0-101-7" or "uuid:7"; the transaction begins. standalone
  kGtidList,     // text = "0-101-7,1-102-3" (MariaDB, at the start of a file)
  kQuery,        // text = statement, database, sql_mode
  kXid,          // xid; the transaction ends
  kXaPrepare,    // text = the XA id as the server writes it; the transaction's events end here. one_phase
  kTableMap,     // table
  kRows,         // rows
  kHeartbeat,    // text = file, position
  kStop,         // the server was shut down in an orderly way
};

// One event. Views live until the next call of the parser that filled it, or until the bytes die.
struct Event {
  EventHeader header;
  EventKind kind = EventKind::kIgnored;
  // Where the event begins and ends in the parser's file, 64 bits. Both are the parser's position if it is made up.
  uint64_t begin = 0, end = 0;
  bool made_up = false;  // by the server for this connection: not in the file
  std::string_view text, database;
  SqlMode sql_mode;
  uint64_t position = 0;
  uint64_t xid = 0;
  bool standalone = false;  // kGtid, MariaDB: one statement (DDL) follows, and no COMMIT
  bool one_phase = false;
  std::shared_ptr<const TableMap> table;
  RowsEvent rows;
};

// Owned by one connection and used by one thread. Holds what later events need: the checksum, the table maps, the
// position.
class EventParser {
 public:
  // `checksum`: events must have one also before a FORMAT_DESCRIPTION says so (the made-up ROTATE of a connection).
  // Without it, one that is right is taken as such there.
  explicit EventParser(bool checksum = false) : checksum_(checksum) {}

  // Where the stream starts, for positions and messages; a ROTATE sets it, too.
  void set_position(std::string_view file, uint64_t position);
  const std::string& file() const noexcept { return file_; }
  uint64_t position() const noexcept { return position_; }

  // One event, without the byte that precedes it in a packet. fatal, with file and position: it is broken, its checksum
  // is wrong, or it is one that must not be passed over (events lost at the server, compressed transactions, partial
  // JSON updates, unknown ones). After an error the parser may be used for a new connection only.
  sluice::Status parse(const uint8_t* data, size_t size, Event* out);

  // Largest event that is accepted after decompression. Default: 1 GiB, the server's limit.
  void set_max_event_bytes(uint64_t bytes) { max_event_bytes_ = bytes; }

 private:
  sluice::Status parse_body(ByteReader* r, Event* e);
  sluice::Status format(ByteReader* r, Event* e);
  sluice::Status rotate(ByteReader* r, Event* e);
  sluice::Status query(ByteReader* r, Event* e, bool compressed);
  sluice::Status mysql_gtid(ByteReader* r, Event* e);
  sluice::Status mariadb_gtid(ByteReader* r, Event* e);
  sluice::Status gtid_list(ByteReader* r, Event* e);
  sluice::Status xa_prepare(ByteReader* r, Event* e);
  sluice::Status heartbeat_v2(ByteReader* r, Event* e);
  sluice::Status table_map(ByteReader* r, Event* e);
  sluice::Status rows(ByteReader* r, Event* e);
  sluice::Status inflate(ByteReader* r, std::string* out);
  sluice::Status failure(const EventHeader& header, const std::string& what) const;

  struct KnownTable {
    std::string bytes;  // of the event: equal ones are not parsed again
    std::shared_ptr<const TableMap> map;
  };

  bool checksum_;
  bool formatted_ = false;  // a FORMAT_DESCRIPTION has come
  bool is_mariadb_ = false, years_have_signs_ = true;  // of the server that wrote the file
  std::string file_;
  uint64_t position_ = 0;
  uint64_t max_event_bytes_ = uint64_t{1} << 30;
  uint64_t next_serial_ = 1;
  std::map<uint64_t, KnownTable> tables_;
  std::string text_;      // what Event::text views when it is no part of the event
  std::string inflated_;  // of a compressed event
};

// For fuzzing: parses `data` as a binlog file and renders all of its rows in both formats. Always 0.
int decode_any_bytes(const uint8_t* data, size_t size);

}  // namespace sluice_mysql
