#include "table_codec.h"

#include <algorithm>

#include "column_codec.h"
#include "json_text.h"
#include "type_code.h"

namespace sluice_mysql {
namespace {

namespace tc = type_code;

bool starts_with(std::string_view s, std::string_view prefix) { return s.substr(0, prefix.size()) == prefix; }

// Columns that servers add for themselves: MySQL's for functional indexes, MariaDB's for long unique keys.
bool is_hidden_name(std::string_view name) { return starts_with(name, "!hidden!") || starts_with(name, "DB_ROW_HASH_"); }

// Whether a row image of `type` can be of a column that information_schema calls `kind`.
bool fits(ColumnKind kind, uint32_t integer_bytes, uint8_t type) {
  switch (type) {
    case tc::kTiny:
      return kind == ColumnKind::kInteger && integer_bytes == 1;
    case tc::kShort:
      return kind == ColumnKind::kInteger && integer_bytes == 2;
    case tc::kInt24:
      return kind == ColumnKind::kInteger && integer_bytes == 3;
    case tc::kLong:
      return kind == ColumnKind::kInteger && integer_bytes == 4;
    case tc::kLongLong:
      return kind == ColumnKind::kInteger && integer_bytes == 8;
    case tc::kNewDecimal:
      return kind == ColumnKind::kDecimal;
    case tc::kFloat:
      return kind == ColumnKind::kFloat;
    case tc::kDouble:
      return kind == ColumnKind::kDouble;
    case tc::kBit:
      return kind == ColumnKind::kBit;
    case tc::kYear:
      return kind == ColumnKind::kYear;
    case tc::kDate:
    case tc::kNewDate:
      return kind == ColumnKind::kDate;
    case tc::kTime:
    case tc::kTime2:
      return kind == ColumnKind::kTime;
    case tc::kDateTime:
    case tc::kDateTime2:
      return kind == ColumnKind::kDateTime;
    case tc::kTimestamp:
    case tc::kTimestamp2:
      return kind == ColumnKind::kTimestamp;
    case tc::kEnum:
      return kind == ColumnKind::kEnum;
    case tc::kSet:
      return kind == ColumnKind::kSet;
    case tc::kJson:
      return kind == ColumnKind::kJson;
    case tc::kGeometry:
      return kind == ColumnKind::kGeometry;
    default:
      return tc::is_character(type) && (kind == ColumnKind::kText || kind == ColumnKind::kBytes ||
                                        kind == ColumnKind::kUuid || kind == ColumnKind::kInet6 || kind == ColumnKind::kInet4);
  }
}

// What a map says of a column's size. 0: nothing that information_schema would say as well.
uint64_t said_size(const MapColumn& map) {
  switch (map.type) {
    case tc::kVarchar:
    case tc::kString:
    case tc::kBit:
    case tc::kNewDecimal:
    case tc::kTime2:
    case tc::kDateTime2:
    case tc::kTimestamp2:
    case tc::kBlob:
      return map.meta + uint64_t{1};
    default:
      return 0;
  }
}

uint64_t size_of(const Column& c, uint8_t type) {
  switch (type) {
    case tc::kVarchar:
    case tc::kString:
      return c.octets + 1;
    case tc::kBit:
      return c.length + uint64_t{1};
    case tc::kNewDecimal:
      return (uint64_t{c.precision} << 8 | c.scale) + 1;
    case tc::kBlob: {  // bytes of the length
      uint64_t bytes = 1;
      while (bytes < 4 && c.octets >> (8 * bytes) != 0) ++bytes;
      return bytes + 1;
    }
    default:
      return c.fraction_digits + uint64_t{1};
  }
}

// Whether the map's column can be this one, as far as both say something. Its type fits.
bool same_column(const MapColumn& map, const Column& known, const TableMap& table, const Collations& collations) {
  if (map.cell_bytes == 0 && map.prefix_bytes == 0) return true;  // it cannot be read at all: RowReader says so
  if (map.nullable != known.nullable) return false;
  const bool sized = known.octets > 0 || !tc::is_character(map.type);  // UUID and the like have no length
  if (const uint64_t said = said_size(map); said != 0 && sized && !known.compressed && said != size_of(known, map.type))
    return false;
  if (table.has_signedness && known.kind == ColumnKind::kInteger && map.is_unsigned != known.is_unsigned) return false;
  const std::string_view charset = map.collation != 0 ? collations.charset(map.collation) : std::string_view();
  return charset.empty() || known.charset.empty() || charset == known.charset;
}

std::string column_type_in(const MapColumn& map) {
  return "type " + std::to_string(map.type) + (map.meta != 0 ? ", size " + std::to_string(map.meta) : "") +
         (map.nullable ? "" : ", not null");
}

const char* never(const TableCodec::ColumnCodec& c, const Cell&, std::string*) { return c.why_not.c_str(); }

void append_hex(const Cell& cell, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  out->append("\"0x");
  for (uint32_t i = 0; i < cell.size; ++i) {
    out->push_back(kDigits[cell.data[i] >> 4]);
    out->push_back(kDigits[cell.data[i] & 15]);
  }
  out->push_back('"');
}

std::string escaped(std::string_view text) {
  std::string json;
  append_json_string(text, &json);
  return json.substr(1, json.size() - 2);
}

const char kSetFull[] = "; set binlog_row_metadata=FULL at the server";

// Decides one column of the stream. Returns why it cannot be read; empty: it can.
class StreamColumn {
 public:
  StreamColumn(const MapColumn& map, const TableMap& table, const Column* known, const Collations& collations)
      : map_(map), table_(table), known_(known), collations_(collations) {}

  std::string decide(TableCodec::ColumnCodec* codec) {
    codec->nullable = map_.nullable;
    std::string why = details(codec);
    if (!why.empty()) return why;
    bool is_unsigned = map_.is_unsigned;
    if (tc::is_numeric(map_.type) && !table_.has_signedness) {
      if (known_ == nullptr) return std::string("whether it is unsigned is not known") + kSetFull;
      is_unsigned = known_->is_unsigned;
    }
    codec->render = image_renderer(kind_, map_.type, is_unsigned);
    return codec->render != nullptr ? "" : "type " + std::to_string(map_.type) + " is not supported";
  }

 private:
  std::string details(TableCodec::ColumnCodec* codec) {
    switch (map_.type) {
      case tc::kNewDecimal:
        codec->precision = static_cast<uint8_t>(map_.meta >> 8);
        codec->scale = static_cast<uint8_t>(map_.meta & 255);
        return "";
      case tc::kBit:
        codec->bits = map_.meta;
        return "";
      case tc::kTime2:
      case tc::kDateTime2:
      case tc::kTimestamp2:
        codec->fraction_digits = static_cast<uint8_t>(map_.meta);
        return "";
      case tc::kTime:
      case tc::kDateTime:
      case tc::kTimestamp:
        // MariaDB writes these with fractions of no said size, if mysql56_temporal_format was off.
        if (known_ == nullptr || known_->fraction_digits != 0) {
          return "it is stored in the old format, whose fraction is not said; rebuild the table with ALTER TABLE .. FORCE";
        }
        return "";
      case tc::kEnum:
      case tc::kSet:
        return labels(codec);
      default:
        return tc::is_character(map_.type) ? characters(codec) : "";
    }
  }

  // Empty: not known.
  std::string_view charset(std::string* why) const {
    if (map_.collation != 0) {
      const std::string_view name = collations_.charset(map_.collation);
      if (name.empty()) *why = "collation " + std::to_string(map_.collation) + " is not known";
      return name;
    }
    return known_ != nullptr ? std::string_view(known_->charset) : std::string_view();
  }

  std::string labels(TableCodec::ColumnCodec* codec) {
    if (map_.labels.empty()) {
      if (known_ == nullptr || known_->labels.empty()) return std::string("its labels are not known") + kSetFull;
      for (const std::string& label : known_->labels) codec->labels.push_back(escaped(label));
      return "";
    }
    std::string why;
    std::string_view name = charset(&why);
    if (!why.empty()) return why;
    CharsetConverter converter;
    if (!name.empty() && name != "binary") {
      const sluice::Status opened = CharsetConverter::open(name, &converter);
      if (!opened.is_ok()) return opened.message();
    }
    for (const std::string& label : map_.labels) {
      std::string utf8;
      converter.convert(label, &utf8);
      codec->labels.push_back(escaped(utf8));
    }
    return "";
  }

  std::string characters(TableCodec::ColumnCodec* codec) {
    codec->compressed = map_.type == tc::kBlobCompressed || map_.type == tc::kVarcharCompressed;
    const bool special = known_ != nullptr && (known_->kind == ColumnKind::kUuid || known_->kind == ColumnKind::kInet6 ||
                                               known_->kind == ColumnKind::kInet4);
    if (special && map_.type == tc::kString) {
      kind_ = known_->kind;
      return "";
    }
    std::string why;
    const std::string_view name = charset(&why);
    if (!why.empty()) return why;
    if (name == "binary" || (name.empty() && known_ != nullptr && known_->kind == ColumnKind::kBytes)) {
      kind_ = ColumnKind::kBytes;
      codec->pad_to = map_.type == tc::kString ? map_.meta : 0;
      return "";
    }
    if (name.empty()) return std::string("its character set is not known") + kSetFull;
    const sluice::Status opened = CharsetConverter::open(name, &codec->charset);
    return opened.is_ok() ? "" : opened.message();
  }

  const MapColumn& map_;
  const TableMap& table_;
  const Column* known_;
  const Collations& collations_;
  ColumnKind kind_ = ColumnKind::kText;
};

const Column* find_column(const Table* table, std::string_view name) {
  if (table == nullptr) return nullptr;
  for (const Column& c : table->columns) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

}  // namespace

TableCodec::TableCodec() = default;
TableCodec::~TableCodec() = default;
TableCodec::TableCodec(TableCodec&&) noexcept = default;
TableCodec& TableCodec::operator=(TableCodec&&) noexcept = default;

sluice::Status TableCodec::for_stream(const TableMap& map, const Table* table, const Collations& collations,
                                      const ValueStyle& style, TableCodec* out) {
  TableCodec codec;
  codec.database_ = map.database;
  codec.table_ = map.table;
  codec.style_ = style;
  const std::string name = map.database + "." + map.table;
  if (!map.has_names) {
    if (table == nullptr) {
      return sluice::Status::fatal("the column names of " + name + " are not known" + kSetFull);
    }
    const size_t hidden = table->versioned && table->row_end.empty() ? 2 : 0;
    if (table->columns.size() + hidden != map.columns.size()) {
      return sluice::Status::fatal("the binlog's rows of " + name + " have " + std::to_string(map.columns.size()) +
                                   " columns, and information_schema has " + std::to_string(table->columns.size()) +
                                   ": the table has been altered since" + kSetFull +
                                   ", so that the binlog itself has the names, and take a new snapshot");
    }
  }
  const bool by_place = !map.has_names;
  codec.find_row_end(map, table);
  for (size_t i = 0; i < map.columns.size(); ++i) {
    const MapColumn& column = map.columns[i];
    if (by_place && i >= table->columns.size()) {  // the two of a system-versioned table
      codec.names_.emplace_back();
      codec.codecs_.emplace_back().shown = false;
      continue;
    }
    const Column* known = by_place ? &table->columns[i] : find_column(table, column.name);
    const std::string& column_name = by_place ? known->name : column.name;
    const auto refuse = [&](const std::string& why) {
      return sluice::Status::fatal("column '" + column_name + "' of " + name + ": " + why);
    };
    // By name, the table of today may be another one than when the row was written.
    if (!by_place && known != nullptr && !fits(known->kind, known->integer_bytes, column.type)) known = nullptr;
    const bool other_type = by_place && !fits(known->kind, known->integer_bytes, column.type);
    if (other_type || (by_place && !same_column(column, *known, map, collations))) {
      return refuse("it is " + known->column_type + (known->nullable ? "" : " NOT NULL") + " now, and another " +
                    (other_type ? "type in the binlog" : "one in the binlog (" + column_type_in(column) + ")") +
                    ": the table has been altered since" + kSetFull + ", and take a new snapshot");
    }
    ColumnCodec& c = codec.codecs_.emplace_back();
    c.format = style.format;
    c.decimals = style.decimals;
    c.zone = ZoneClock(style.zone);
    const bool hidden_twin = codec.row_end_ != SIZE_MAX && i + 2 >= map.columns.size() && known == nullptr;
    c.shown = !hidden_twin && !is_hidden_name(column_name) && !(table != nullptr && find_column(table, column_name) == nullptr && is_index_column_name(column_name));
    codec.names_.push_back(column_name);
    if (!c.shown) continue;
    const std::string why = StreamColumn(column, map, known, collations).decide(&c);
    if (why.empty()) continue;
    if (by_place) return refuse(why);
    c.why_not = why;
    c.render = never;
  }
  codec.primary_key_ = map.has_names ? map.primary_key : table->primary_key;
  // The server itself adds this column to the key of a system-versioned table.
  codec.primary_key_.erase(std::remove(codec.primary_key_.begin(), codec.primary_key_.end(), codec.row_end_), codec.primary_key_.end());
  codec.finish();
  *out = std::move(codec);
  return sluice::Status::ok();
}

sluice::Status TableCodec::for_snapshot(const Table& table, const ValueStyle& style, TableCodec* out) {
  TableCodec codec;
  codec.database_ = table.database;
  codec.table_ = table.name;
  codec.style_ = style;
  for (const Column& column : table.columns) {
    ColumnCodec& c = codec.codecs_.emplace_back();
    codec.names_.push_back(column.name);
    c.format = style.format;
    c.decimals = style.decimals;
    c.zone = ZoneClock(style.zone);
    c.nullable = column.nullable;
    c.fraction_digits = column.fraction_digits;
    c.bits = static_cast<uint16_t>(column.length);
    c.render = text_renderer(column.kind);
  }
  codec.primary_key_ = table.primary_key;
  codec.finish();
  *out = std::move(codec);
  return sluice::Status::ok();
}

void TableCodec::find_row_end(const TableMap& map, const Table* table) {
  const auto fits_row_end = [](const MapColumn& c) { return c.type == tc::kTimestamp2 && c.meta == 6; };
  const size_t n = map.columns.size();
  if (table != nullptr && table->versioned && !table->row_end.empty()) {
    for (size_t i = 0; i < n; ++i) {
      const std::string& name = map.has_names ? map.columns[i].name : table->columns[i].name;
      if (name == table->row_end && fits_row_end(map.columns[i])) row_end_ = i;
    }
    return;
  }
  if (n < 3 || !fits_row_end(map.columns[n - 1])) return;
  if (!map.has_names) {
    if (table->versioned) row_end_ = n - 1;
    return;
  }
  // Hidden ones, which information_schema does not have, whatever the table is today.
  const bool named = map.columns[n - 2].name == "row_start" && map.columns[n - 1].name == "row_end";
  if (named && find_column(table, "row_end") == nullptr) row_end_ = n - 1;
}

// Of a row that holds, row_end is the greatest of its type: 2038-01-19 03:14:07.999999, from MariaDB 11.5 on 2106-02-07
// 06:28:15.999999.
bool TableCodec::is_history(const Cell* cells) const noexcept {
  if (row_end_ == SIZE_MAX) return false;
  const Cell& end = cells[row_end_];
  if (end.is_null() || end.size != 7) return false;
  const bool rest_set = end.data[1] == 0xFF && end.data[2] == 0xFF && end.data[3] == 0xFF;
  return !rest_set || (end.data[0] != 0x7F && end.data[0] != 0xFF);
}

void TableCodec::finish() {
  bool first = true;
  for (size_t i = 0; i < names_.size(); ++i) {
    std::string& member = members_.emplace_back();
    if (!codecs_[i].shown) continue;
    if (!first) member += ',';
    first = false;
    append_json_string(names_[i], &member);
    member += ':';
  }
}

std::string_view TableCodec::member(size_t column) const noexcept {
  const std::string_view m = members_[column];
  return !m.empty() && m[0] == ',' ? m.substr(1) : m;
}

sluice::Status TableCodec::bad_cell(size_t column, const char* why) const {
  if (!codecs_[column].why_not.empty())
    return sluice::Status::bad_record("column '" + names_[column] + "' of " + database_ + "." + table_ + ": " + why);
  return sluice::Status::bad_record("column '" + names_[column] + "' of " + database_ + "." + table_ + ": its bytes are " + why);
}

sluice::Status TableCodec::append_cell(size_t i, const Cell& cell, std::string* out, Unreadable unreadable) const {
  if (cell.is_null()) {
    out->append("null");
    return sluice::Status::ok();
  }
  const ColumnCodec& c = codecs_[i];
  const size_t begin = out->size();
  const char* const why = c.render != nullptr ? c.render(c, cell, out) : "the server's own";
  if (why == nullptr) return sluice::Status::ok();
  if (unreadable == Unreadable::kRefused) return bad_cell(i, why);
  out->resize(begin);
  append_hex(cell, out);
  return sluice::Status::ok();
}

sluice::Status TableCodec::append_row(const Cell* cells, std::string* out, Unreadable unreadable) const {
  *out += '{';
  for (size_t i = 0; i < codecs_.size(); ++i) {
    const ColumnCodec& c = codecs_[i];
    if (!c.shown) continue;
    out->append(members_[i]);
    if (cells[i].is_null()) {
      out->append("null");
    } else if (unreadable == Unreadable::kHex) {
      SLUICE_CHECK_OK(append_cell(i, cells[i], out, unreadable));
    } else if (const char* why = c.render(c, cells[i], out)) {
      return bad_cell(i, why);
    }
  }
  *out += '}';
  return sluice::Status::ok();
}

sluice::Status TableCodec::append_changed(const Cell* before, const Cell* after, std::string* out, Unreadable unreadable) const {
  *out += '{';
  bool first = true;
  for (size_t i = 0; i < codecs_.size(); ++i) {
    if (!codecs_[i].shown || before[i] == after[i]) continue;
    if (!first) *out += ',';
    first = false;
    out->append(member(i));
    SLUICE_CHECK_OK(append_cell(i, before[i], out, unreadable));
  }
  *out += '}';
  return sluice::Status::ok();
}

bool TableCodec::same_key(const Cell* before, const Cell* after) const noexcept {
  return std::all_of(primary_key_.begin(), primary_key_.end(), [&](uint32_t i) { return before[i] == after[i]; });
}

}  // namespace sluice_mysql
