#include "binlog_event.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>

#include "byte_reader.h"
#include "table_map.h"

namespace sluice_mysql {
namespace {

enum Type : uint8_t {
  kUnknownEvent = 0,
  kQueryEvent = 2,
  kStopEvent = 3,
  kRotateEvent = 4,
  kIntVarEvent = 5,
  kAppendBlock = 9,
  kDeleteFile = 11,
  kRandEvent = 13,
  kUserVarEvent = 14,
  kFormatDescription = 15,
  kXidEvent = 16,
  kBeginLoadQuery = 17,
  kExecuteLoadQuery = 18,
  kTableMapEvent = 19,
  kWriteRowsV1 = 23,
  kDeleteRowsV1 = 25,
  kIncidentEvent = 26,
  kHeartbeatEvent = 27,
  kIgnorableEvent = 28,
  kRowsQueryEvent = 29,
  kWriteRowsV2 = 30,
  kDeleteRowsV2 = 32,
  kGtidEvent = 33,
  kAnonymousGtid = 34,
  kPreviousGtids = 35,
  kTransactionContext = 36,
  kViewChange = 37,
  kXaPrepareEvent = 38,
  kPartialUpdateRows = 39,
  kTransactionPayload = 40,
  kHeartbeatV2 = 41,
  kGtidTagged = 42,
  kAnnotateRows = 160,
  kBinlogCheckpoint = 161,
  kMariaDbGtid = 162,
  kMariaDbGtidList = 163,
  kStartEncryption = 164,
  kQueryCompressed = 165,
  kWriteRowsCompressedV1 = 166,
  kDeleteRowsCompressedV1 = 168,
};

struct TypeName {
  uint8_t type;
  const char* name;
};

constexpr TypeName kTypeNames[] = {
    {kQueryEvent, "QUERY"},
    {kStopEvent, "STOP"},
    {kRotateEvent, "ROTATE"},
    {kIntVarEvent, "INTVAR"},
    {kAppendBlock, "APPEND_BLOCK"},
    {kDeleteFile, "DELETE_FILE"},
    {kRandEvent, "RAND"},
    {kUserVarEvent, "USER_VAR"},
    {kFormatDescription, "FORMAT_DESCRIPTION"},
    {kXidEvent, "XID"},
    {kBeginLoadQuery, "BEGIN_LOAD_QUERY"},
    {kExecuteLoadQuery, "EXECUTE_LOAD_QUERY"},
    {kTableMapEvent, "TABLE_MAP"},
    {23, "WRITE_ROWS_V1"},
    {24, "UPDATE_ROWS_V1"},
    {25, "DELETE_ROWS_V1"},
    {kIncidentEvent, "INCIDENT"},
    {kHeartbeatEvent, "HEARTBEAT"},
    {kIgnorableEvent, "IGNORABLE"},
    {kRowsQueryEvent, "ROWS_QUERY"},
    {30, "WRITE_ROWS"},
    {31, "UPDATE_ROWS"},
    {32, "DELETE_ROWS"},
    {kGtidEvent, "GTID"},
    {kAnonymousGtid, "ANONYMOUS_GTID"},
    {kPreviousGtids, "PREVIOUS_GTIDS"},
    {kTransactionContext, "TRANSACTION_CONTEXT"},
    {kViewChange, "VIEW_CHANGE"},
    {kXaPrepareEvent, "XA_PREPARE"},
    {kPartialUpdateRows, "PARTIAL_UPDATE_ROWS"},
    {kTransactionPayload, "TRANSACTION_PAYLOAD"},
    {kHeartbeatV2, "HEARTBEAT_V2"},
    {kGtidTagged, "GTID_TAGGED"},
    {kAnnotateRows, "ANNOTATE_ROWS"},
    {kBinlogCheckpoint, "BINLOG_CHECKPOINT"},
    {kMariaDbGtid, "GTID (MariaDB)"},
    {kMariaDbGtidList, "GTID_LIST"},
    {kStartEncryption, "START_ENCRYPTION"},
    {kQueryCompressed, "QUERY_COMPRESSED"},
    {166, "WRITE_ROWS_COMPRESSED_V1"},
    {167, "UPDATE_ROWS_COMPRESSED_V1"},
    {168, "DELETE_ROWS_COMPRESSED_V1"},
};

sluice::Status bad(std::string message) { return sluice::Status::fatal(std::move(message)); }

const char kTooShort[] = "it is shorter than its fields";

uint32_t little32(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
}

// MySQL 8.0.0 to 8.0.15.
bool is_before_8_0_16(std::string_view version) {
  if (version.substr(0, 4) != "8.0.") return false;
  unsigned patch = 0;
  std::from_chars(version.data() + 4, version.data() + version.size(), patch);
  return patch < 16;
}

// Of a whole event but its checksum. The bit that says "this file is open" is written later than the checksum of the
// FORMAT_DESCRIPTION that has it.
uint32_t checksum_of(const uint8_t* event, size_t size) {
  constexpr size_t kTypeAt = 4, kFlagsAt = 17;
  constexpr uint8_t kInUse = 0x01;
  if (event[kTypeAt] != kFormatDescription || (event[kFlagsAt] & kInUse) == 0) {
    return static_cast<uint32_t>(crc32(0, event, static_cast<uInt>(size)));
  }
  const uint8_t flags = event[kFlagsAt] & ~kInUse;
  uLong sum = crc32(0, event, kFlagsAt);
  sum = crc32(sum, &flags, 1);
  return static_cast<uint32_t>(crc32(sum, event + kFlagsAt + 1, static_cast<uInt>(size - kFlagsAt - 1)));
}

bool is_made_up_type(uint8_t type) { return type == kHeartbeatEvent || type == kHeartbeatV2; }

// Of a QUERY's status variables, where flags (0) and the sql_mode (1) come first.
SqlMode read_sql_mode(std::string_view variables) {
  constexpr uint64_t kAnsiQuotes = 1 << 2, kNoBackslashEscapes = 1 << 20;
  ByteReader r(variables);
  uint8_t variable = r.byte();
  if (variable == 0 && !r.failed()) {
    r.skip(4);
    variable = r.byte();
  }
  const uint64_t mode = variable == 1 ? r.little(8) : 0;
  return {(mode & kAnsiQuotes) != 0, (mode & kNoBackslashEscapes) == 0};
}

}  // namespace

std::string event_name(uint8_t type) {
  for (const TypeName& t : kTypeNames) {
    if (t.type == type) return t.name;
  }
  return "type " + std::to_string(type);
}

void EventParser::set_position(std::string_view file, uint64_t position) {
  file_ = file;
  position_ = position;
  tables_.clear();
}

sluice::Status EventParser::failure(const EventHeader& header, const std::string& what) const {
  return bad("binlog event " + event_name(header.type) + " at " + (file_.empty() ? "?" : file_) + ":" +
             std::to_string(position_) + ": " + what);
}

sluice::Status EventParser::parse(const uint8_t* data, size_t size, Event* e) {
  EventHeader& h = e->header;
  h = EventHeader();
  e->kind = EventKind::kIgnored;
  e->text = e->database = {};
  e->position = e->xid = 0;
  e->standalone = e->one_phase = false;
  e->table = nullptr;
  e->rows.table = nullptr;
  if (size < EventHeader::kBytes) return failure(h, "only " + std::to_string(size) + " bytes came");

  ByteReader r(data, size);
  h.timestamp = static_cast<uint32_t>(r.little(4));
  h.type = r.byte();
  h.server_id = static_cast<uint32_t>(r.little(4));
  h.size = static_cast<uint32_t>(r.little(4));
  h.next_position = static_cast<uint32_t>(r.little(4));
  h.flags = static_cast<uint16_t>(r.little(2));
  if (h.size != size) {
    return failure(h, "it says that it has " + std::to_string(h.size) + " bytes, and " + std::to_string(size) + " came");
  }
  // The event that says whether there are checksums: the byte before its own checksum, which is always there.
  if (h.type == kFormatDescription) {
    if (size < EventHeader::kBytes + 57 + 5) return failure(h, kTooShort);
    const uint8_t algorithm = data[size - 5];
    if (algorithm > 1) return failure(h, "unknown checksum algorithm " + std::to_string(algorithm));
    checksum_ = algorithm == 1;
    formatted_ = true;
  }
  if (checksum_ || !formatted_) {
    if (r.left() < 4) return failure(h, kTooShort);
    const uint32_t stored = little32(data + size - 4);
    const uint32_t computed = checksum_of(data, size - 4);
    if (stored == computed) {
      r.drop_last(4);
    } else if (checksum_) {
      return failure(h, "its checksum is wrong; the event was damaged on the way or on the disk");
    }
  } else if (h.type == kFormatDescription) {
    r.drop_last(4);
  }

  e->made_up = h.next_position == 0 || (h.flags & EventHeader::kArtificial) != 0 || is_made_up_type(h.type);
  e->begin = e->end = position_;
  if (!e->made_up) {
    // The header has 32 bits of the position; files may be larger.
    uint64_t end = (position_ & ~uint64_t{0xFFFFFFFF}) | h.next_position;
    if (end < position_ && position_ - end > uint64_t{1} << 31) end += uint64_t{1} << 32;
    e->end = end;
    e->begin = end >= size ? end - size : 0;
  }
  const sluice::Status status = parse_body(&r, e);
  if (!status.is_ok()) return failure(h, status.message());
  if (r.failed()) return failure(h, kTooShort);
  if (!e->made_up && e->kind != EventKind::kRotate) position_ = e->end;
  return sluice::Status::ok();
}

sluice::Status EventParser::parse_body(ByteReader* r, Event* e) {
  switch (e->header.type) {
    case kFormatDescription:
      return format(r, e);
    case kRotateEvent:
      return rotate(r, e);
    case kQueryEvent:
    case kExecuteLoadQuery:
      return query(r, e, false);
    case kQueryCompressed:
      return query(r, e, true);
    case kXidEvent:
      e->kind = EventKind::kXid;
      e->xid = r->little(8);
      return sluice::Status::ok();
    case kGtidEvent:
      return mysql_gtid(r, e);
    case kAnonymousGtid:
      e->kind = EventKind::kGtid;
      return sluice::Status::ok();
    case kMariaDbGtid:
      return mariadb_gtid(r, e);
    case kMariaDbGtidList:
      return gtid_list(r, e);
    case kXaPrepareEvent:
      return xa_prepare(r, e);
    case kHeartbeatEvent:
      e->kind = EventKind::kHeartbeat;
      e->text = r->rest();
      e->position = e->header.next_position;
      return sluice::Status::ok();
    case kHeartbeatV2:
      return heartbeat_v2(r, e);
    case kTableMapEvent:
      return table_map(r, e);
    case kStopEvent:
      e->kind = EventKind::kStop;
      return sluice::Status::ok();
    case kIncidentEvent:
      return bad("the server says that its binlog has a gap: changes are lost. Take a new snapshot");
    case kPartialUpdateRows:
      return bad("partial JSON updates cannot be read; set binlog_row_value_options='' at the server");
    case kTransactionPayload:
      return bad("compressed transactions cannot be read; set binlog_transaction_compression=OFF at the server");
    case kStartEncryption:
    case kRowsQueryEvent:
    case kPreviousGtids:
    case kTransactionContext:
    case kViewChange:
    case kIgnorableEvent:
    case kAnnotateRows:
    case kBinlogCheckpoint:
    case kIntVarEvent:   // before statements: of no use without them
    case kRandEvent:
    case kUserVarEvent:
    case kBeginLoadQuery:  // the file of a LOAD DATA that is logged as a statement
    case kAppendBlock:
    case kDeleteFile:
      return sluice::Status::ok();
    default:
      break;
  }
  const uint8_t type = e->header.type;
  if ((type >= kWriteRowsV1 && type <= kDeleteRowsV1) || (type >= kWriteRowsV2 && type <= kDeleteRowsV2) ||
      (type >= kWriteRowsCompressedV1 && type <= kDeleteRowsCompressedV1)) {
    return rows(r, e);
  }
  if ((e->header.flags & EventHeader::kIgnorable) != 0) return sluice::Status::ok();
  return bad("this kind of event is not known, and its flags say that it must not be passed over");
}

sluice::Status EventParser::format(ByteReader* r, Event* e) {
  e->kind = EventKind::kFormat;
  const uint64_t version = r->little(2);
  std::string_view server = r->text(50);
  if (version != 4) return bad("binlog format " + std::to_string(version) + " is too old; servers from 5.1 on write 4");
  server = server.substr(0, server.find('\0'));
  text_ = server;
  e->text = text_;
  is_mariadb_ = server.find("MariaDB") != std::string_view::npos;
  years_have_signs_ = is_mariadb_ || !is_before_8_0_16(server);
  r->little(4);
  if (r->byte() != EventHeader::kBytes) return bad("its headers have an unknown size");
  return sluice::Status::ok();
}

sluice::Status EventParser::rotate(ByteReader* r, Event* e) {
  e->kind = EventKind::kRotate;
  e->position = r->little(8);
  const std::string_view name = r->rest();
  if (r->failed() || name.empty() || name.size() > 512 || name.find('\0') != std::string_view::npos) {
    return bad("it names no file");
  }
  file_ = name;
  position_ = e->position;
  e->text = file_;
  tables_.clear();  // their ids may come back with another meaning
  return sluice::Status::ok();
}

sluice::Status EventParser::query(ByteReader* r, Event* e, bool compressed) {
  e->kind = EventKind::kQuery;
  r->skip(8);  // thread, seconds it took
  const uint8_t database_bytes = r->byte();
  r->skip(2);  // error code
  const uint64_t status_bytes = r->little(2);
  // The file's id, where its name is in the text, and what is done to duplicates.
  if (e->header.type == kExecuteLoadQuery) r->skip(13);
  e->sql_mode = read_sql_mode(r->text(status_bytes));
  e->database = r->text(database_bytes);
  if (r->byte() != 0) return bad("its database name has no end");
  if (r->failed()) return sluice::Status::ok();
  if (!compressed) {
    e->text = r->rest();
    return sluice::Status::ok();
  }
  SLUICE_CHECK_OK(inflate(r, &inflated_));
  e->text = inflated_;
  return sluice::Status::ok();
}

sluice::Status EventParser::mysql_gtid(ByteReader* r, Event* e) {
  e->kind = EventKind::kGtid;
  r->skip(1);  // flags: may have statements
  const std::string_view uuid = r->text(16);
  const uint64_t number = r->little(8);
  text_.clear();
  for (size_t i = 0; i < uuid.size(); ++i) {
    static constexpr char kHex[] = "0123456789abcdef";
    if (i == 4 || i == 6 || i == 8 || i == 10) text_ += '-';
    text_ += kHex[static_cast<uint8_t>(uuid[i]) >> 4];
    text_ += kHex[static_cast<uint8_t>(uuid[i]) & 15];
  }
  text_ += ':' + std::to_string(number);
  e->text = text_;
  return sluice::Status::ok();
}

sluice::Status EventParser::mariadb_gtid(ByteReader* r, Event* e) {
  constexpr uint8_t kStandalone = 0x01;
  e->kind = EventKind::kGtid;
  const uint64_t number = r->little(8);
  const uint64_t domain = r->little(4);
  e->standalone = (r->byte() & kStandalone) != 0;
  text_ = std::to_string(domain) + '-' + std::to_string(e->header.server_id) + '-' + std::to_string(number);
  e->text = text_;
  return sluice::Status::ok();
}

sluice::Status EventParser::gtid_list(ByteReader* r, Event* e) {
  e->kind = EventKind::kGtidList;
  const uint64_t count = r->little(4) & 0x0FFFFFFF;
  if (count * 16 > r->left()) return bad(kTooShort);
  text_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t domain = r->little(4), server = r->little(4), number = r->little(8);
    if (i > 0) text_ += ',';
    text_ += std::to_string(domain) + '-' + std::to_string(server) + '-' + std::to_string(number);
  }
  e->text = text_;
  return sluice::Status::ok();
}

// Written as in the statements: X'<gtrid>',X'<bqual>',<format>.
sluice::Status EventParser::xa_prepare(ByteReader* r, Event* e) {
  e->kind = EventKind::kXaPrepare;
  e->one_phase = r->byte() != 0;
  const uint64_t format_id = r->little(4), gtrid_bytes = r->little(4), bqual_bytes = r->little(4);
  if (r->failed() || gtrid_bytes > 64 || bqual_bytes > 64) return bad("its XA id is too long");
  text_.clear();
  for (const uint64_t bytes : {gtrid_bytes, bqual_bytes}) {
    text_ += "X'";
    for (const char c : r->text(bytes)) {
      static constexpr char kHex[] = "0123456789abcdef";
      text_ += kHex[static_cast<uint8_t>(c) >> 4];
      text_ += kHex[static_cast<uint8_t>(c) & 15];
    }
    text_ += "',";
  }
  text_ += std::to_string(format_id);
  e->text = text_;
  return sluice::Status::ok();
}

// Fields of type, length, value (MySQL from 8.0.26 on).
sluice::Status EventParser::heartbeat_v2(ByteReader* r, Event* e) {
  e->kind = EventKind::kHeartbeat;
  while (!r->at_end()) {
    const uint64_t type = r->packed();
    if (type == 0) break;
    ByteReader value(r->text(r->packed()));
    if (type == 1) {
      e->text = value.rest();
    } else if (type == 2) {
      e->position = value.packed();
    }
    if (value.failed()) return bad(kTooShort);
  }
  return sluice::Status::ok();
}

sluice::Status EventParser::table_map(ByteReader* r, Event* e) {
  e->kind = EventKind::kTableMap;
  const std::string_view bytes = r->rest();
  ByteReader body(bytes);
  const uint64_t id = body.little(6);
  if (body.failed()) return bad(kTooShort);
  KnownTable& known = tables_[id];
  if (known.map == nullptr || known.bytes != bytes) {
    known.map = nullptr;
    auto map = std::make_shared<TableMap>();
    map->id = id;
    map->serial = next_serial_++;
    body.skip(2);  // flags
    SLUICE_CHECK_OK(read_table_map(&body, {years_have_signs_, is_mariadb_}, map.get()));
    known.bytes = bytes;
    known.map = std::move(map);
  }
  e->table = known.map;
  return sluice::Status::ok();
}

sluice::Status EventParser::rows(ByteReader* r, Event* e) {
  constexpr uint64_t kStatementEnd = 1;
  const uint8_t type = e->header.type;
  const bool v2 = type >= kWriteRowsV2 && type <= kDeleteRowsV2;
  const bool compressed = type >= kWriteRowsCompressedV1 && type <= kDeleteRowsCompressedV1;
  e->kind = EventKind::kRows;
  RowsEvent& rows = e->rows;
  rows.kind = static_cast<RowsKind>(type - (v2 ? kWriteRowsV2 : compressed ? kWriteRowsCompressedV1 : kWriteRowsV1));
  const uint64_t id = r->little(6);
  rows.ends_statement = (r->little(2) & kStatementEnd) != 0;
  if (v2) {
    const uint64_t extra = r->little(2);  // its own two bytes included
    if (r->failed() || extra < 2) return bad("the length of its extra data is wrong");
    r->skip(extra - 2);
  }
  const auto found = tables_.find(id);
  const uint64_t columns = r->packed();
  if (r->failed()) return bad(kTooShort);
  if (found == tables_.end() || found->second.map == nullptr) {
    return bad("its table (id " + std::to_string(id) +
               ") has not been described: reading began inside a transaction, or the binlog is damaged");
  }
  rows.table = e->table = found->second.map;
  if (columns != rows.table->columns.size()) {
    return bad("it has " + std::to_string(columns) + " columns, and its table " + rows.table->database + "." +
               rows.table->table + " has " + std::to_string(rows.table->columns.size()));
  }
  rows.before_columns = rows.after_columns = r->text((columns + 7) / 8);
  if (rows.kind == RowsKind::kUpdate) rows.after_columns = r->text((columns + 7) / 8);
  if (r->failed()) return bad(kTooShort);
  if (!compressed) {
    rows.images = r->rest();
    return sluice::Status::ok();
  }
  SLUICE_CHECK_OK(inflate(r, &inflated_));
  rows.images = inflated_;
  return sluice::Status::ok();
}

// MariaDB's compressed record: one byte (0x80 | algorithm << 4 | n), n bytes big endian of the original length, zlib.
sluice::Status EventParser::inflate(ByteReader* r, std::string* out) {
  const uint8_t head = r->byte();
  const uint64_t length = r->big(head & 7);
  if (r->failed()) return bad(kTooShort);
  if ((head & 0x80) == 0 || (head & 0x70) != 0) return bad("its compression is not known");
  if (length > max_event_bytes_ || length / 1100 > r->left()) {  // zlib makes at most 1032 bytes out of one
    return bad("it says that it unpacks to " + std::to_string(length) + " bytes, which cannot be");
  }
  out->resize(length);
  uLongf got = length;
  const std::string_view packed = r->rest();
  const int result = uncompress(reinterpret_cast<Bytef*>(out->data()), &got,
                                reinterpret_cast<const Bytef*>(packed.data()), static_cast<uLong>(packed.size()));
  if (result != Z_OK || got != length) return bad("it cannot be unpacked");
  return sluice::Status::ok();
}

}  // namespace sluice_mysql
