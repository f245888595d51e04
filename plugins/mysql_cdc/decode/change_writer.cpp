#include "change_writer.h"

#include "json_text.h"

namespace sluice_mysql {
namespace {

void append_member(std::string_view name, std::string_view text, std::string* out) {
  out->append(name);
  append_json_string(text, out);
}

std::string_view maxwell_column_type(const Column& c) {
  // Maxwell's names for what the servers call otherwise.
  if (c.data_type == "geomcollection") return "geometrycollection";
  return c.data_type;
}

// {"type":"int","name":"id","signed":true}
void append_maxwell_column(const Column& c, std::string* out) {
  append_member("{\"type\":", maxwell_column_type(c), out);
  append_member(",\"name\":", c.name, out);
  switch (c.kind) {
    case ColumnKind::kInteger:
      out->append(c.is_unsigned ? ",\"signed\":false" : ",\"signed\":true");
      break;
    case ColumnKind::kText:
      append_member(",\"charset\":", c.charset, out);
      break;
    case ColumnKind::kTime:
    case ColumnKind::kDateTime:
    case ColumnKind::kTimestamp:
      out->append(",\"column-length\":");
      append_integer(static_cast<unsigned>(c.fraction_digits), out);
      break;
    case ColumnKind::kEnum:
    case ColumnKind::kSet: {
      out->append(",\"enum-values\":[");
      bool first = true;
      for (const std::string& label : c.labels) {
        if (!first) *out += ',';
        first = false;
        append_json_string(label, out);
      }
      *out += ']';
      break;
    }
    default:
      break;
  }
  *out += '}';
}

void append_maxwell_table(const Table& table, std::string* out) {
  append_member("{\"database\":", table.database, out);
  append_member(",\"table\":", table.name, out);
  out->append(",\"columns\":[");
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) *out += ',';
    append_maxwell_column(table.columns[i], out);
  }
  out->append("],\"primary-key\":[");
  for (size_t i = 0; i < table.primary_key.size(); ++i) {
    if (i > 0) *out += ',';
    append_json_string(table.columns[table.primary_key[i]].name, out);
  }
  out->append("]}");
}

}  // namespace

ChangeWriter::ChangeWriter(const ValueStyle& style, std::string_view name) : style_(style) {
  append_member("{\"connector\":\"mysql\",\"name\":", name, &source_head_);
  source_head_ += ",\"ts_ms\":";
}

Change* ChangeWriter::next(sluice_change type) {
  Change* change = &changes_[size_++];
  change->type = type;
  change->body.clear();
  change->key.clear();
  return change;
}

void ChangeWriter::source(std::string_view database, std::string_view table, const ChangePlace& place, bool snapshot,
                          std::string* out) const {
  out->append(source_head_);
  append_integer(place.event_ms, out);
  out->append(snapshot ? ",\"snapshot\":\"true\"" : ",\"snapshot\":\"false\"");
  append_member(",\"db\":", database, out);
  append_member(",\"table\":", table, out);
  out->append(",\"server_id\":");
  append_integer(place.server_id, out);
  out->append(",\"gtid\":");
  if (place.gtid.empty()) {
    out->append("null");
  } else {
    append_json_string(place.gtid, out);
  }
  append_member(",\"file\":", place.file, out);
  out->append(",\"pos\":");
  append_integer(place.position, out);
  out->append(",\"row\":");
  append_integer(place.row, out);
  *out += '}';
}

sluice::Status ChangeWriter::key(const TableCodec& codec, const Cell* cells, std::string* out) const {
  const std::vector<uint32_t>& columns = codec.primary_key();
  if (columns.empty()) return sluice::Status::ok();
  const bool maxwell = style_.format == Format::kMaxwell;
  *out += '{';
  if (maxwell) {
    append_member("\"database\":", codec.database(), out);
    append_member(",\"table\":", codec.table(), out);
    *out += ',';
  }
  bool first = true;
  for (const uint32_t i : columns) {
    if (!first) *out += ',';
    first = false;
    if (maxwell) {
      out->append("\"pk.");
      out->append(codec.member(i).substr(1));
    } else {
      out->append(codec.member(i));
    }
    SLUICE_CHECK_OK(codec.append_cell(i, cells[i], out, unreadable_));
  }
  *out += '}';
  return sluice::Status::ok();
}

sluice::Status ChangeWriter::debezium(const TableCodec& codec, const Cell* before, const Cell* after, char op,
                                      sluice_change type, const ChangePlace& place) {
  Change* change = next(type);
  std::string* out = &change->body;
  out->append("{\"before\":");
  if (before == nullptr) {
    out->append("null");
  } else {
    SLUICE_CHECK_OK(codec.append_row(before, out, unreadable_));
  }
  out->append(",\"after\":");
  if (after == nullptr) {
    out->append("null");
  } else {
    SLUICE_CHECK_OK(codec.append_row(after, out, unreadable_));
  }
  out->append(",\"source\":");
  source(codec.database(), codec.table(), place, op == 'r', out);
  out->append(",\"op\":\"");
  *out += op;
  out->append("\",\"ts_ms\":");
  append_integer(place.now_ms, out);
  *out += '}';
  return key(codec, after != nullptr ? after : before, &change->key);
}

void ChangeWriter::maxwell_head(std::string_view database, std::string_view table, std::string_view type, int64_t ts_s,
                                std::string* out) const {
  append_member("{\"database\":", database, out);
  append_member(",\"table\":", table, out);
  out->append(",\"type\":\"");
  out->append(type);
  out->append("\",\"ts\":");
  append_integer(ts_s, out);
}

sluice::Status ChangeWriter::maxwell(const TableCodec& codec, const Cell* before, const Cell* after,
                                     std::string_view type, sluice_change change_type, const ChangePlace& place) {
  Change* change = next(change_type);
  std::string* out = &change->body;
  maxwell_head(codec.database(), codec.table(), type, place.event_ms / 1000, out);
  out->append(",\"data\":");
  SLUICE_CHECK_OK(codec.append_row(after != nullptr ? after : before, out, unreadable_));
  if (before != nullptr && after != nullptr) {
    out->append(",\"old\":");
    SLUICE_CHECK_OK(codec.append_changed(before, after, out, unreadable_));
  }
  return key(codec, after != nullptr ? after : before, &change->key);
}

sluice::Status ChangeWriter::snapshot_row(const TableCodec& codec, const Cell* cells, const ChangePlace& place) {
  size_ = 0;
  if (style_.format == Format::kDebezium) return debezium(codec, nullptr, cells, 'r', SLUICE_CHANGE_SNAPSHOT, place);
  SLUICE_CHECK_OK(maxwell(codec, nullptr, cells, "bootstrap-insert", SLUICE_CHANGE_SNAPSHOT, place));
  changes_[0].body += '}';
  return sluice::Status::ok();
}

sluice::Status ChangeWriter::insert(const TableCodec& codec, const Cell* after, const ChangePlace& place) {
  size_ = 0;
  if (style_.format == Format::kDebezium) return debezium(codec, nullptr, after, 'c', SLUICE_CHANGE_INSERT, place);
  return maxwell(codec, nullptr, after, "insert", SLUICE_CHANGE_INSERT, place);
}

sluice::Status ChangeWriter::update(const TableCodec& codec, const Cell* before, const Cell* after,
                                    const ChangePlace& place) {
  size_ = 0;
  if (style_.format == Format::kMaxwell) return maxwell(codec, before, after, "update", SLUICE_CHANGE_UPDATE, place);
  if (codec.same_key(before, after)) return debezium(codec, before, after, 'u', SLUICE_CHANGE_UPDATE, place);
  SLUICE_CHECK_OK(debezium(codec, before, nullptr, 'd', SLUICE_CHANGE_DELETE, place));
  return debezium(codec, nullptr, after, 'c', SLUICE_CHANGE_INSERT, place);
}

sluice::Status ChangeWriter::remove(const TableCodec& codec, const Cell* before, const ChangePlace& place) {
  size_ = 0;
  if (style_.format == Format::kDebezium) return debezium(codec, before, nullptr, 'd', SLUICE_CHANGE_DELETE, place);
  return maxwell(codec, before, nullptr, "delete", SLUICE_CHANGE_DELETE, place);
}

sluice::Status ChangeWriter::row(const TableCodec& codec, const RowReader& reader, const ChangePlace& place,
                                 RowsKind* kind) {
  const Cell* before = reader.kind() != RowsKind::kInsert ? reader.before() : nullptr;
  const Cell* after = reader.kind() != RowsKind::kDelete ? reader.after() : nullptr;
  if (before != nullptr && codec.is_history(before)) before = nullptr;
  if (after != nullptr && codec.is_history(after)) after = nullptr;
  if (kind != nullptr) *kind = before == nullptr ? RowsKind::kInsert : after == nullptr ? RowsKind::kDelete : RowsKind::kUpdate;
  if (before != nullptr && after != nullptr) return update(codec, before, after, place);
  if (after != nullptr) return insert(codec, after, place);
  if (before != nullptr) return remove(codec, before, place);
  size_ = 0;
  return sluice::Status::ok();
}

void ChangeWriter::truncate(std::string_view database, std::string_view table, const ChangePlace& place) {
  size_ = 0;
  if (style_.format != Format::kDebezium) return;
  std::string* out = &next(SLUICE_CHANGE_NONE)->body;
  out->append("{\"before\":null,\"after\":null,\"source\":");
  source(database, table, place, false, out);
  out->append(",\"op\":\"t\",\"ts_ms\":");
  append_integer(place.now_ms, out);
  *out += '}';
}

void ChangeWriter::bootstrap_start(std::string_view database, std::string_view table, const ChangePlace& place) {
  size_ = 0;
  if (style_.format != Format::kMaxwell) return;
  std::string* out = &next(SLUICE_CHANGE_NONE)->body;
  maxwell_head(database, table, "bootstrap-start", place.event_ms / 1000, out);
  out->append(",\"data\":{}}");
}

void ChangeWriter::bootstrap_complete(std::string_view database, std::string_view table, const ChangePlace& place) {
  size_ = 0;
  if (style_.format != Format::kMaxwell) return;
  std::string* out = &next(SLUICE_CHANGE_NONE)->body;
  maxwell_head(database, table, "bootstrap-complete", place.event_ms / 1000, out);
  out->append(",\"data\":{}}");
}

void ChangeWriter::maxwell_ddl(std::string_view type, std::string_view database, std::string_view table,
                               std::string_view sql, const Table* before, const Table* after,
                               const ChangePlace& place) {
  size_ = 0;
  if (style_.format != Format::kMaxwell) return;
  std::string* out = &next(SLUICE_CHANGE_NONE)->body;
  append_member("{\"type\":", type, out);
  append_member(",\"database\":", database, out);
  if (!table.empty()) append_member(",\"table\":", table, out);
  if (before != nullptr) {
    out->append(",\"old\":");
    append_maxwell_table(*before, out);
  }
  if (after != nullptr) {
    out->append(",\"def\":");
    append_maxwell_table(*after, out);
  }
  out->append(",\"ts\":");
  append_integer(place.event_ms, out);
  append_member(",\"sql\":", sql, out);
  out->append(",\"position\":");
  std::string position(place.file);
  position += ':';
  position += std::to_string(place.position);
  append_json_string(position, out);
  if (!place.gtid.empty()) append_member(",\"gtid\":", place.gtid, out);
  *out += '}';
}

void ChangeWriter::end_maxwell(std::string* body, uint64_t xid, uint64_t xoffset, bool commit) const {
  if (style_.format != Format::kMaxwell) return;
  body->append(",\"xid\":");
  append_integer(xid, body);
  if (commit) {
    body->append(",\"commit\":true}");
  } else {
    body->append(",\"xoffset\":");
    append_integer(xoffset, body);
    *body += '}';
  }
}

}  // namespace sluice_mysql
