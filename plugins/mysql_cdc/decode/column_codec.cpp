#include "column_codec.h"

#include <arpa/inet.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "byte_reader.h"
#include "date_time.h"
#include "decimal_text.h"
#include "geometry_text.h"
#include "json_text.h"
#include "mysql_json.h"
#include "type_code.h"

namespace sluice_mysql {
namespace {

namespace tc = type_code;
using Codec = TableCodec::ColumnCodec;

std::string_view text_of(const Cell& cell) { return {reinterpret_cast<const char*>(cell.data), cell.size}; }

// ---- from values to JSON: one place for the row image and the text field ----

void put_decimal(const Codec& c, const DecimalText& decimal, std::string* out) {
  switch (c.decimals) {
    case Decimals::kText:
      *out += '"';
      out->append(decimal.view());
      *out += '"';
      return;
    case Decimals::kNumber:
      out->append(decimal.view());
      return;
    case Decimals::kBase64: {
      uint8_t bytes[40];
      const size_t size = unscaled_bytes(decimal.view(), bytes);
      append_base64(bytes, size, out);
      return;
    }
  }
}

void put_date(const Codec& c, const DateTime& t, std::string* out) {
  if (c.format == Format::kMaxwell) {
    *out += '"';
    append_date(t, out);
    *out += '"';
  } else if (t.lacks_date()) {
    out->append(c.nullable ? "null" : "0");
  } else {
    append_integer(days_since_1970(t.year, t.month, t.day), out);
  }
}

void put_datetime(const Codec& c, const DateTime& t, std::string* out) {
  if (c.format == Format::kMaxwell) {
    *out += '"';
    append_datetime(t, c.fraction_digits, ' ', out);
    *out += '"';
  } else if (t.lacks_date()) {
    out->append(c.nullable ? "null" : "0");
  } else if (c.fraction_digits <= 3) {
    append_integer(seconds_since_1970(t) * 1000 + t.micros / 1000, out);
  } else {
    append_integer(seconds_since_1970(t) * 1000000 + t.micros, out);
  }
}

void put_timestamp(const Codec& c, const DateTime& t, std::string* out) {
  if (c.format == Format::kMaxwell) {
    DateTime local = t;
    c.zone.to_local(&local);
    *out += '"';
    append_datetime(local, c.fraction_digits, ' ', out);
    *out += '"';
  } else if (t.lacks_date()) {
    out->append(c.nullable ? "null" : "\"1970-01-01T00:00:00Z\"");
  } else {
    *out += '"';
    append_datetime(t, c.fraction_digits, 'T', out);
    out->append("Z\"");
  }
}

void put_time(const Codec& c, const TimeSpan& t, std::string* out) {
  if (c.format == Format::kMaxwell) {
    *out += '"';
    append_time(t, c.fraction_digits, out);
    *out += '"';
    return;
  }
  const int64_t micros = ((t.hour * 60LL + t.minute) * 60 + t.second) * 1000000 + t.micros;
  append_integer(t.negative ? -micros : micros, out);
}

void put_bits(const Codec& c, uint64_t bits, std::string* out) {
  if (c.format == Format::kMaxwell) {
    append_integer(bits, out);
  } else if (c.bits == 1) {
    out->append(bits != 0 ? "true" : "false");
  } else {
    uint8_t bytes[8];
    const size_t size = (c.bits + 7u) / 8;
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(bits >> (8 * i));
    append_base64(bytes, size, out);
  }
}

// `labels`: JSON without quotes, in order.
class SetWriter {
 public:
  SetWriter(const Codec& c, std::string* out) : array_(c.format == Format::kMaxwell), out_(out) {
    *out_ += array_ ? '[' : '"';
  }
  void add(std::string_view escaped) {
    if (!first_) *out_ += ',';
    first_ = false;
    if (array_) *out_ += '"';
    out_->append(escaped);
    if (array_) *out_ += '"';
  }
  void end() { *out_ += array_ ? ']' : '"'; }

 private:
  bool array_;
  std::string* out_;
  bool first_ = true;
};

void put_json(const Codec& c, std::string_view json, std::string* out) {
  if (c.format == Format::kMaxwell) {
    out->append(json);
  } else {
    append_json_string(json, out);
  }
}

const char* put_geometry(const Codec& c, const Cell& cell, std::string* out) {
  if (cell.size < 4) {
    if (cell.size > 0) return "no geometry";
    out->append("null");
    return nullptr;
  }
  const uint8_t* const wkb = cell.data + 4;
  const size_t size = cell.size - 4;
  if (c.format == Format::kMaxwell) {
    *out += '"';
    if (!append_wkt(wkb, size, out)) return "no geometry";
    *out += '"';
    return nullptr;
  }
  out->append("{\"wkb\":");
  append_base64(wkb, size, out);
  out->append(",\"srid\":");
  append_integer(static_cast<uint32_t>(ByteReader(cell.data, 4).little(4)), out);
  *out += '}';
  return nullptr;
}

void put_uuid(const uint8_t* p, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  char text[38];
  char* to = text;
  *to++ = '"';
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    *to++ = kHex[p[i] >> 4];
    *to++ = kHex[p[i] & 15];
  }
  *to++ = '"';
  out->append(text, static_cast<size_t>(to - text));
}

// ---- row images ----

template <unsigned kBytes, bool kUnsigned>
const char* integer_image(const Codec&, const Cell& cell, std::string* out) {
  uint64_t v = 0;
  for (unsigned i = 0; i < kBytes; ++i) v |= static_cast<uint64_t>(cell.data[i]) << (8 * i);
  if constexpr (kUnsigned) {
    append_integer(v, out);
  } else {
    constexpr unsigned kShift = 64 - 8 * kBytes;
    append_integer(static_cast<int64_t>(v << kShift) >> kShift, out);
  }
  return nullptr;
}

const char* decimal_image(const Codec& c, const Cell& cell, std::string* out) {
  DecimalText text;
  if (!unpack_decimal(cell.data, c.precision, c.scale, &text)) return "no decimal number";
  put_decimal(c, text, out);
  return nullptr;
}

const char* float_image(const Codec&, const Cell& cell, std::string* out) {
  float v = 0;
  static_assert(sizeof v == 4);
  const auto bits = static_cast<uint32_t>(ByteReader(cell.data, 4).little(4));
  std::memcpy(&v, &bits, sizeof v);
  append_float(v, out);
  return nullptr;
}

const char* double_image(const Codec&, const Cell& cell, std::string* out) {
  double v = 0;
  const uint64_t bits = ByteReader(cell.data, 8).little(8);
  std::memcpy(&v, &bits, sizeof v);
  append_double(v, out);
  return nullptr;
}

const char* bit_cell(const Codec& c, const Cell& cell, std::string* out) {
  if (cell.size > 8) return "no bits";
  put_bits(c, ByteReader(cell.data, cell.size).big(cell.size), out);
  return nullptr;
}

const char* year_image(const Codec&, const Cell& cell, std::string* out) {
  append_integer(cell.data[0] == 0 ? 0 : cell.data[0] + 1900, out);
  return nullptr;
}

const char* date_image(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!unpack_date(cell.data, &t)) return "no date";
  put_date(c, t, out);
  return nullptr;
}

const char* datetime_image(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!unpack_datetime(cell.data, c.fraction_digits, &t)) return "no date and time";
  put_datetime(c, t, out);
  return nullptr;
}

const char* old_datetime_image(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!unpack_old_datetime(cell.data, &t)) return "no date and time";
  put_datetime(c, t, out);
  return nullptr;
}

const char* timestamp_image(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!unpack_timestamp(cell.data, c.fraction_digits, &t)) return "no time stamp";
  put_timestamp(c, t, out);
  return nullptr;
}

const char* old_timestamp_image(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!unpack_old_timestamp(cell.data, &t)) return "no time stamp";
  put_timestamp(c, t, out);
  return nullptr;
}

const char* time_image(const Codec& c, const Cell& cell, std::string* out) {
  TimeSpan t;
  if (!unpack_time(cell.data, c.fraction_digits, &t)) return "no time";
  put_time(c, t, out);
  return nullptr;
}

const char* old_time_image(const Codec& c, const Cell& cell, std::string* out) {
  TimeSpan t;
  if (!unpack_old_time(cell.data, &t)) return "no time";
  put_time(c, t, out);
  return nullptr;
}

// MariaDB's compressed columns: one byte (method << 4 | raw << 3 | n), n bytes big endian of the original length, the
// packed bytes. Nothing at all is the empty text.
const char* unpack_column(const Codec& c, std::string_view* bytes) {
  constexpr uint8_t kStored = 0, kZlib = 8;
  if (bytes->empty()) return nullptr;
  ByteReader r(*bytes);
  const uint8_t head = r.byte();
  if (head >> 4 == kStored) {
    *bytes = r.rest();
    return nullptr;
  }
  const uint64_t length = r.big(head & 7);
  const std::string_view packed = r.rest();
  if (head >> 4 != kZlib || r.failed() || length / 1100 > packed.size()) return "not a compressed value";
  c.unpacked.resize(length);
  z_stream z{};
  if (inflateInit2(&z, (head & 8) != 0 ? -MAX_WBITS : MAX_WBITS) != Z_OK) return "not enough memory to unpack it";
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  z.next_out = reinterpret_cast<Bytef*>(c.unpacked.data());
  z.avail_out = static_cast<uInt>(length);
  const int result = inflate(&z, Z_FINISH);
  const bool whole = result == Z_STREAM_END && z.avail_out == 0;
  inflateEnd(&z);
  if (!whole) return "not a compressed value";
  *bytes = c.unpacked;
  return nullptr;
}

const char* utf8_image(const Codec&, const Cell& cell, std::string* out) {
  append_json_string(text_of(cell), out);
  return nullptr;
}

const char* text_image(const Codec& c, const Cell& cell, std::string* out) {
  std::string_view bytes = text_of(cell);
  if (c.compressed) {
    if (const char* why = unpack_column(c, &bytes)) return why;
  }
  if (!c.charset.is_identity()) {
    c.scratch.clear();
    c.charset.convert(bytes, &c.scratch);
    bytes = c.scratch;
  }
  append_json_string(bytes, out);
  return nullptr;
}

const char* bytes_image(const Codec& c, const Cell& cell, std::string* out) {
  std::string_view bytes = text_of(cell);
  if (c.compressed) {
    if (const char* why = unpack_column(c, &bytes)) return why;
  }
  if (bytes.size() < c.pad_to) {
    c.scratch.assign(bytes);
    c.scratch.resize(c.pad_to, '\0');
    bytes = c.scratch;
  }
  append_base64(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), out);
  return nullptr;
}

const char* enum_image(const Codec& c, const Cell& cell, std::string* out) {
  const uint64_t index = ByteReader(cell.data, cell.size).little(cell.size);
  if (index > c.labels.size()) return "an index beyond the labels";
  *out += '"';
  if (index > 0) out->append(c.labels[index - 1]);  // 0: the value that was none of the labels
  *out += '"';
  return nullptr;
}

const char* set_image(const Codec& c, const Cell& cell, std::string* out) {
  const uint64_t bits = ByteReader(cell.data, cell.size).little(cell.size);
  const size_t count = c.labels.size();
  if (count < 64 && bits >> count != 0) return "a bit beyond the labels";
  SetWriter set(c, out);
  for (size_t i = 0; i < count; ++i) {
    if ((bits >> i & 1) != 0) set.add(c.labels[i]);
  }
  set.end();
  return nullptr;
}

const char* json_image(const Codec& c, const Cell& cell, std::string* out) {
  if (c.format == Format::kMaxwell) return append_mysql_json(cell.data, cell.size, out) ? nullptr : "no JSON";
  c.scratch.clear();
  if (!append_mysql_json(cell.data, cell.size, &c.scratch)) return "no JSON";
  put_json(c, c.scratch, out);
  return nullptr;
}

const char* geometry_cell(const Codec& c, const Cell& cell, std::string* out) { return put_geometry(c, cell, out); }

// BINARY(16) and BINARY(4) images lack zeros at their end.
template <size_t kBytes>
bool padded(const Cell& cell, uint8_t (&bytes)[kBytes]) {
  if (cell.size > kBytes) return false;
  std::memset(bytes, 0, kBytes);
  std::memcpy(bytes, cell.data, cell.size);
  return true;
}

const char* uuid_image(const Codec&, const Cell& cell, std::string* out) {
  uint8_t bytes[16];
  if (!padded(cell, bytes)) return "no UUID";
  put_uuid(bytes, out);
  return nullptr;
}

template <int kFamily, size_t kBytes>
const char* inet_image(const Codec&, const Cell& cell, std::string* out) {
  uint8_t bytes[kBytes];
  char text[INET6_ADDRSTRLEN];
  if (!padded(cell, bytes) || inet_ntop(kFamily, bytes, text, sizeof text) == nullptr) return "no address";
  *out += '"';
  out->append(text);
  *out += '"';
  return nullptr;
}

// ---- text fields ----

const char* integer_text(const Codec&, const Cell& cell, std::string* out) {
  std::string_view s = text_of(cell);
  const bool negative = !s.empty() && s[0] == '-';
  if (negative) s.remove_prefix(1);
  while (s.size() > 1 && s[0] == '0') s.remove_prefix(1);  // ZEROFILL
  if (s.empty() || s.size() > 20 || s.find_first_not_of("0123456789") != std::string_view::npos) return "no number";
  if (negative) *out += '-';
  out->append(s);
  return nullptr;
}

const char* decimal_field(const Codec& c, const Cell& cell, std::string* out) {
  DecimalText text;
  if (!read_decimal(text_of(cell), &text)) return "no decimal number";
  put_decimal(c, text, out);
  return nullptr;
}

bool read_double(std::string_view s, double* v) {
  const auto read = std::from_chars(s.data(), s.data() + s.size(), *v);
  return read.ec == std::errc() && read.ptr == s.data() + s.size();
}

// The double that the FLOAT is, with all its digits (select_list).
const char* float_text(const Codec&, const Cell& cell, std::string* out) {
  double v = 0;
  if (!read_double(text_of(cell), &v)) return "no number";
  append_float(static_cast<float>(v), out);
  return nullptr;
}

const char* double_text(const Codec&, const Cell& cell, std::string* out) {
  double v = 0;
  if (!read_double(text_of(cell), &v)) return "no number";
  append_double(v, out);
  return nullptr;
}

const char* date_text(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!read_date(text_of(cell), &t)) return "no date";
  put_date(c, t, out);
  return nullptr;
}

const char* datetime_text(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!read_datetime(text_of(cell), &t)) return "no date and time";
  put_datetime(c, t, out);
  return nullptr;
}

const char* timestamp_text(const Codec& c, const Cell& cell, std::string* out) {
  DateTime t;
  if (!read_datetime(text_of(cell), &t)) return "no time stamp";
  put_timestamp(c, t, out);
  return nullptr;
}

const char* time_text(const Codec& c, const Cell& cell, std::string* out) {
  TimeSpan t;
  if (!read_time(text_of(cell), &t)) return "no time";
  put_time(c, t, out);
  return nullptr;
}

const char* set_text(const Codec& c, const Cell& cell, std::string* out) {
  std::string_view s = text_of(cell);
  SetWriter set(c, out);
  while (!s.empty()) {
    const size_t end = std::min(s.find(','), s.size());
    c.scratch.clear();
    append_json_string(s.substr(0, end), &c.scratch);
    set.add(std::string_view(c.scratch).substr(1, c.scratch.size() - 2));
    s.remove_prefix(std::min(end + 1, s.size()));
  }
  set.end();
  return nullptr;
}

const char* json_text(const Codec& c, const Cell& cell, std::string* out) {
  put_json(c, text_of(cell), out);
  return nullptr;
}

}  // namespace

RenderCell image_renderer(ColumnKind kind, uint8_t type, bool is_unsigned) {
  switch (type) {
    case tc::kTiny:
      return is_unsigned ? integer_image<1, true> : integer_image<1, false>;
    case tc::kShort:
      return is_unsigned ? integer_image<2, true> : integer_image<2, false>;
    case tc::kInt24:
      return is_unsigned ? integer_image<3, true> : integer_image<3, false>;
    case tc::kLong:
      return is_unsigned ? integer_image<4, true> : integer_image<4, false>;
    case tc::kLongLong:
      return is_unsigned ? integer_image<8, true> : integer_image<8, false>;
    case tc::kNewDecimal:
      return decimal_image;
    case tc::kFloat:
      return float_image;
    case tc::kDouble:
      return double_image;
    case tc::kBit:
      return bit_cell;
    case tc::kYear:
      return year_image;
    case tc::kDate:
    case tc::kNewDate:
      return date_image;
    case tc::kDateTime2:
      return datetime_image;
    case tc::kDateTime:
      return old_datetime_image;
    case tc::kTimestamp2:
      return timestamp_image;
    case tc::kTimestamp:
      return old_timestamp_image;
    case tc::kTime2:
      return time_image;
    case tc::kTime:
      return old_time_image;
    case tc::kEnum:
      return enum_image;
    case tc::kSet:
      return set_image;
    case tc::kJson:
      return json_image;
    case tc::kGeometry:
      return geometry_cell;
    default:
      break;
  }
  if (!tc::is_character(type)) return nullptr;
  switch (kind) {
    case ColumnKind::kText:
      return text_image;
    case ColumnKind::kBytes:
      return bytes_image;
    case ColumnKind::kUuid:
      return uuid_image;
    case ColumnKind::kInet6:
      return inet_image<AF_INET6, 16>;
    case ColumnKind::kInet4:
      return inet_image<AF_INET, 4>;
    default:
      return nullptr;
  }
}

RenderCell text_renderer(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kInteger:
    case ColumnKind::kYear:
      return integer_text;
    case ColumnKind::kDecimal:
      return decimal_field;
    case ColumnKind::kFloat:
      return float_text;
    case ColumnKind::kDouble:
      return double_text;
    case ColumnKind::kBit:
      return bit_cell;
    case ColumnKind::kDate:
      return date_text;
    case ColumnKind::kTime:
      return time_text;
    case ColumnKind::kDateTime:
      return datetime_text;
    case ColumnKind::kTimestamp:
      return timestamp_text;
    case ColumnKind::kText:
    case ColumnKind::kEnum:
    case ColumnKind::kUuid:
    case ColumnKind::kInet6:
    case ColumnKind::kInet4:
      return utf8_image;
    case ColumnKind::kBytes:
      return bytes_image;
    case ColumnKind::kSet:
      return set_text;
    case ColumnKind::kJson:
      return json_text;
    case ColumnKind::kGeometry:
      return geometry_cell;
  }
  return nullptr;
}

}  // namespace sluice_mysql
