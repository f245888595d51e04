#include "table_map.h"

#include "type_code.h"

namespace sluice_mysql {
namespace {

namespace tc = type_code;

// The kinds of optional metadata (MySQL 8.0, MariaDB 10.5 with binlog_row_metadata).
enum Optional : uint8_t {
  kSignedness = 1,
  kDefaultCharset = 2,
  kColumnCharset = 3,
  kColumnName = 4,
  kSetLabels = 5,
  kEnumLabels = 6,
  kGeometryType = 7,
  kSimplePrimaryKey = 8,
  kPrimaryKeyWithPrefix = 9,
  kEnumSetDefaultCharset = 10,
  kEnumSetColumnCharset = 11,
  kVisibility = 12,
};

void read_type_meta(ByteReader* meta, MapColumn* c) {
  switch (c->type) {
    case tc::kFloat:
    case tc::kDouble:
    case tc::kBlob:
    case tc::kTinyBlob:
    case tc::kMediumBlob:
    case tc::kLongBlob:
    case tc::kJson:
    case tc::kGeometry:
    case tc::kTime2:
    case tc::kDateTime2:
    case tc::kTimestamp2:
    case tc::kBlobCompressed:
    case tc::kVector:
      c->meta = meta->byte();
      return;
    case tc::kVarchar:
    case tc::kVarString:
    case tc::kVarcharCompressed:
      c->meta = static_cast<uint16_t>(meta->little(2));
      return;
    case tc::kBit: {
      const unsigned rest = meta->byte(), whole_bytes = meta->byte();
      c->meta = static_cast<uint16_t>(whole_bytes * 8 + rest);
      return;
    }
    case tc::kNewDecimal:
      c->meta = static_cast<uint16_t>(meta->big(2));
      return;
    case tc::kString:
    case tc::kEnum:
    case tc::kSet: {
      // Two bits of a CHAR's length above 255 are hidden, inverted, in the type.
      unsigned type = meta->byte(), length = meta->byte();
      if ((type & 0x30) != 0x30) {
        length |= ((type & 0x30) ^ 0x30) << 4;
        type |= 0x30;
      }
      c->type = static_cast<uint8_t>(type);
      c->meta = static_cast<uint16_t>(length);
      return;
    }
    default:
      return;
  }
}

constexpr uint8_t kDigitBytes[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};

// 0: the metadata cannot be.
uint8_t decimal_bytes(unsigned precision, unsigned scale) {
  if (precision == 0 || precision > 65 || scale > 38 || scale > precision) return 0;
  const unsigned whole = precision - scale;
  return static_cast<uint8_t>(whole / 9 * 4 + kDigitBytes[whole % 9] + scale / 9 * 4 + kDigitBytes[scale % 9]);
}

void set_sizes(MapColumn* c) {
  const auto fixed = [&](unsigned bytes) { c->cell_bytes = static_cast<uint8_t>(bytes); };
  const auto with_fraction = [&](unsigned bytes) {
    if (c->meta <= 6) fixed(bytes + (c->meta + 1) / 2);
  };
  const auto prefix = [&](unsigned bytes) { c->prefix_bytes = static_cast<uint8_t>(bytes); };
  switch (c->type) {
    case tc::kTiny:
    case tc::kYear:
      return fixed(1);
    case tc::kShort:
      return fixed(2);
    case tc::kInt24:
    case tc::kDate:
    case tc::kNewDate:
    case tc::kTime:
      return fixed(3);
    case tc::kLong:
    case tc::kFloat:
    case tc::kTimestamp:
      return fixed(4);
    case tc::kLongLong:
    case tc::kDouble:
    case tc::kDateTime:
      return fixed(8);
    case tc::kTimestamp2:
      return with_fraction(4);
    case tc::kDateTime2:
      return with_fraction(5);
    case tc::kTime2:
      return with_fraction(3);
    case tc::kNewDecimal:
      return fixed(decimal_bytes(c->meta >> 8, c->meta & 255));
    case tc::kBit:
      if (c->meta >= 1 && c->meta <= 64) fixed((c->meta + 7) / 8);
      return;
    case tc::kEnum:
      if (c->meta >= 1 && c->meta <= 2) fixed(c->meta);
      return;
    case tc::kSet:
      if (c->meta >= 1 && c->meta <= 8) fixed(c->meta);
      return;
    case tc::kVarchar:
    case tc::kVarString:
    case tc::kVarcharCompressed:
    case tc::kString:
      return prefix(c->meta > 255 ? 2 : 1);
    case tc::kBlob:
    case tc::kTinyBlob:
    case tc::kMediumBlob:
    case tc::kLongBlob:
    case tc::kBlobCompressed:
    case tc::kJson:
    case tc::kGeometry:
    case tc::kVector:
      if (c->meta >= 1 && c->meta <= 4) prefix(c->meta);
      return;
    default:
      return;
  }
}

bool is_labelled(const MapColumn& c) { return c.type == tc::kEnum || c.type == tc::kSet; }
bool has_charset(const MapColumn& c) { return tc::is_character(c.type); }
bool has_charset_or_is_geometry(const MapColumn& c) { return has_charset(c) || c.type == tc::kGeometry; }

void read_default_charset(ByteReader* r, TableMap* map, bool (*applies)(const MapColumn&)) {
  std::vector<MapColumn*> columns;
  for (MapColumn& c : map->columns) {
    if (applies(c)) columns.push_back(&c);
  }
  const auto otherwise = static_cast<uint32_t>(r->packed());
  for (MapColumn* c : columns) c->collation = otherwise;
  while (!r->at_end()) {
    const uint64_t index = r->packed();
    const auto collation = static_cast<uint32_t>(r->packed());
    if (index >= columns.size()) return r->fail();
    columns[index]->collation = collation;
  }
}

void read_column_charsets(ByteReader* r, TableMap* map, bool (*applies)(const MapColumn&)) {
  for (MapColumn& c : map->columns) {
    if (applies(c)) c.collation = static_cast<uint32_t>(r->packed());
  }
}

void read_labels(ByteReader* r, TableMap* map, uint8_t type) {
  for (MapColumn& c : map->columns) {
    if (c.type != type) continue;
    const uint64_t count = r->packed();
    if (count > r->left()) return r->fail();
    c.labels.reserve(count);
    for (uint64_t i = 0; i < count; ++i) c.labels.emplace_back(r->text(r->packed()));
  }
}

// One bit for each column that `counts`, the first in the highest bit.
template <class Counts>
void read_bits(ByteReader* r, TableMap* map, bool MapColumn::*bit, Counts counts) {
  unsigned at = 0;
  uint8_t bits = 0;
  for (MapColumn& c : map->columns) {
    if (!counts(c)) continue;
    if (at % 8 == 0) bits = r->byte();
    c.*bit = (bits >> (7 - at % 8) & 1) != 0;
    ++at;
  }
}

void read_signs(ByteReader* r, TableMap* map, bool years_have_signs) {
  size_t numbers = 0, years = 0;
  for (const MapColumn& c : map->columns) {
    numbers += tc::is_numeric(c.type);
    years += c.type == tc::kYear;
  }
  const size_t with_years = (numbers + years + 7) / 8, without = (numbers + 7) / 8;
  if (with_years != without) years_have_signs = r->left() == with_years;  // the size tells
  read_bits(r, map, &MapColumn::is_unsigned, [&](const MapColumn& c) {
    return tc::is_numeric(c.type) || (years_have_signs && c.type == tc::kYear);
  });
  map->has_signedness = true;
}

void read_optional(uint8_t kind, ByteReader* r, const TableMapRules& rules, TableMap* map) {
  const auto counts = rules.geometries_have_charsets ? has_charset_or_is_geometry : has_charset;
  switch (kind) {
    case kSignedness:
      return read_signs(r, map, rules.years_have_signs);
    case kDefaultCharset:
      return read_default_charset(r, map, counts);
    case kColumnCharset:
      return read_column_charsets(r, map, counts);
    case kColumnName:
      for (MapColumn& c : map->columns) c.name = r->text(r->packed());
      map->has_names = true;
      return;
    case kSetLabels:
      return read_labels(r, map, tc::kSet);
    case kEnumLabels:
      return read_labels(r, map, tc::kEnum);
    case kSimplePrimaryKey:
    case kPrimaryKeyWithPrefix:
      while (!r->at_end()) {
        const uint64_t column = r->packed();
        if (kind == kPrimaryKeyWithPrefix) r->packed();
        if (column >= map->columns.size()) return r->fail();
        map->primary_key.push_back(static_cast<uint32_t>(column));
      }
      return;
    case kEnumSetDefaultCharset:
      return read_default_charset(r, map, is_labelled);
    case kEnumSetColumnCharset:
      return read_column_charsets(r, map, is_labelled);
    case kVisibility:
      return read_bits(r, map, &MapColumn::visible, [](const MapColumn&) { return true; });
    case kGeometryType:
    default:
      return;
  }
}

}  // namespace

sluice::Status read_table_map(ByteReader* r, const TableMapRules& rules, TableMap* map) {
  map->database = r->text(r->byte());
  r->skip(1);
  map->table = r->text(r->byte());
  r->skip(1);
  const uint64_t count = r->packed();
  const std::string_view types = r->text(count);
  const std::string_view type_meta = r->text(r->packed());
  const std::string_view nullable = r->text((types.size() + 7) / 8);
  if (r->failed()) return sluice::Status::fatal("it is shorter than its fields");
  if (count == 0 || count > 4096) return sluice::Status::fatal("it has " + std::to_string(count) + " columns, which cannot be");

  map->columns.resize(count);
  ByteReader meta(type_meta);
  for (size_t i = 0; i < count; ++i) {
    MapColumn& c = map->columns[i];
    c.type = static_cast<uint8_t>(types[i]);
    read_type_meta(&meta, &c);
    set_sizes(&c);
    c.nullable = (static_cast<uint8_t>(nullable[i / 8]) >> (i % 8) & 1) != 0;
  }
  if (meta.failed()) return sluice::Status::fatal("its column types are shorter than they say");

  while (!r->at_end()) {
    const uint8_t kind = r->byte();
    ByteReader value(r->text(r->packed()));
    if (r->failed()) return sluice::Status::fatal("its optional metadata is cut off");
    read_optional(kind, &value, rules, map);
    if (value.failed()) return sluice::Status::fatal("its optional metadata of kind " + std::to_string(kind) + " is broken");
  }
  if (map->has_names) {
    for (const MapColumn& c : map->columns) {
      if (c.name.empty()) return sluice::Status::fatal("one of its columns has no name");
    }
  }
  return sluice::Status::ok();
}

}  // namespace sluice_mysql
