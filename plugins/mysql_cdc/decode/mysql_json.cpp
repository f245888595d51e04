#include "mysql_json.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "byte_reader.h"
#include "date_time.h"
#include "decimal_text.h"
#include "json_text.h"
#include "type_code.h"

namespace sluice_mysql {
namespace {

enum Type : uint8_t {
  kSmallObject = 0,
  kLargeObject = 1,
  kSmallArray = 2,
  kLargeArray = 3,
  kLiteral = 4,
  kInt16 = 5,
  kUint16 = 6,
  kInt32 = 7,
  kUint32 = 8,
  kInt64 = 9,
  kUint64 = 10,
  kDouble = 11,
  kString = 12,
  kOpaque = 15,
};

constexpr int kMostLevels = 100;  // the server's limit

// The server's spelling of doubles: plain digits while they show no more than 15 places, else an exponent without sign
// or leading zeros; always recognizable as a double.
void append_json_double(double value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  // [-]d[.ddd]e±xx
  const char* p = text;
  if (*p == '-') {
    *out += '-';
    ++p;
  }
  char digits[32];
  int count = 0;
  for (; p != end && *p != 'e'; ++p) {
    if (*p != '.') digits[count++] = *p;
  }
  int exponent = 0;
  if (p != end) std::from_chars(p + (p[1] == '+' ? 2 : 1), end, exponent);
  const int point = value == 0 ? 1 : exponent + 1;  // digits before the point
  if (point > -15 && (point <= 15 || count > point)) {
    if (point <= 0) {
      out->append("0.");
      out->append(static_cast<size_t>(-point), '0');
      out->append(digits, static_cast<size_t>(count));
    } else if (point >= count) {
      out->append(digits, static_cast<size_t>(count));
      out->append(static_cast<size_t>(point - count), '0');
      out->append(".0");
    } else {
      out->append(digits, static_cast<size_t>(point));
      *out += '.';
      out->append(digits + point, static_cast<size_t>(count - point));
    }
    return;
  }
  *out += digits[0];
  if (count > 1) {
    *out += '.';
    out->append(digits + 1, static_cast<size_t>(count - 1));
  }
  *out += 'e';
  append_integer(exponent, out);
}

class JsonWriter {
 public:
  JsonWriter(size_t size, std::string* out) : budget_(size), out_(out) {}

  bool value(uint8_t type, std::string_view bytes, int level) {
    ByteReader r(bytes);
    switch (type) {
      case kSmallObject:
      case kLargeObject:
        return container(bytes, true, type == kLargeObject, level);
      case kSmallArray:
      case kLargeArray:
        return container(bytes, false, type == kLargeArray, level);
      case kLiteral: {
        const uint8_t v = r.byte();
        if (v > 2) return false;
        out_->append(v == 0 ? "null" : v == 1 ? "true" : "false");
        break;
      }
      case kInt16:
        append_integer(static_cast<int16_t>(r.little(2)), out_);
        break;
      case kUint16:
        append_integer(static_cast<uint16_t>(r.little(2)), out_);
        break;
      case kInt32:
        append_integer(static_cast<int32_t>(r.little(4)), out_);
        break;
      case kUint32:
        append_integer(static_cast<uint32_t>(r.little(4)), out_);
        break;
      case kInt64:
        append_integer(static_cast<int64_t>(r.little(8)), out_);
        break;
      case kUint64:
        append_integer(r.little(8), out_);
        break;
      case kDouble: {
        const uint64_t bits = r.little(8);
        double v = 0;
        std::memcpy(&v, &bits, sizeof v);
        append_json_double(v, out_);
        break;
      }
      case kString: {
        const std::string_view text = r.text(variable_length(&r));
        if (r.failed() || !spend(text.size())) return false;
        append_json_string(text, out_);
        break;
      }
      case kOpaque: {
        const uint8_t field_type = r.byte();
        const std::string_view data = r.text(variable_length(&r));
        if (r.failed() || !spend(data.size())) return false;
        return opaque(field_type, data);
      }
      default:
        return false;
    }
    return !r.failed();
  }

 private:
  // Values of a sound document do not overlap. Without this a broken one could be written in no end of time.
  bool spend(size_t bytes) {
    if (bytes > budget_) return false;
    budget_ -= bytes;
    return true;
  }

  static uint64_t variable_length(ByteReader* r) {
    uint64_t v = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const uint8_t b = r->byte();
      v |= static_cast<uint64_t>(b & 127) << shift;
      if ((b & 128) == 0) return v;
    }
    r->fail();
    return 0;
  }

  // count, bytes, [key offset, key length].., [type, value or offset]..; offsets count from the container's begin.
  bool container(std::string_view bytes, bool object, bool large, int level) {
    if (level >= kMostLevels) return false;
    const size_t w = large ? 4 : 2;
    ByteReader head(bytes);
    const uint64_t count = head.little(w), size = head.little(w);
    if (head.failed() || size > bytes.size()) return false;
    bytes = bytes.substr(0, size);
    const size_t key_entry = object ? w + 2 : 0, value_entry = 1 + w;
    if (2 * w + count * (key_entry + value_entry) > bytes.size()) return false;
    const size_t values = 2 * w + count * key_entry;
    *out_ += object ? '{' : '[';
    for (uint64_t i = 0; i < count; ++i) {
      if (!spend(1)) return false;
      if (i > 0) out_->append(", ");
      if (object) {
        ByteReader key(bytes.substr(2 * w + i * key_entry, key_entry));
        const uint64_t offset = key.little(w), length = key.little(2);
        if (offset > bytes.size() || length > bytes.size() - offset || !spend(length)) return false;
        append_json_string(bytes.substr(offset, length), out_);
        out_->append(": ");
      }
      const std::string_view entry = bytes.substr(values + i * value_entry, value_entry);
      const auto type = static_cast<uint8_t>(entry[0]);
      const bool is_inline = type == kLiteral || type == kInt16 || type == kUint16 || (large && (type == kInt32 || type == kUint32));
      if (is_inline) {
        if (!value(type, entry.substr(1), level + 1)) return false;
        continue;
      }
      const uint64_t offset = ByteReader(entry.substr(1)).little(w);
      if (offset > bytes.size() || !value(type, bytes.substr(offset), level + 1)) return false;
    }
    *out_ += object ? '}' : ']';
    return true;
  }

  // A value of a column type that JSON has no word for.
  bool opaque(uint8_t type, std::string_view data) {
    ByteReader r(data);
    if (type == type_code::kNewDecimal) {
      const unsigned precision = r.byte(), scale = r.byte();
      if (precision == 0 || precision > 65 || scale > 38 || scale > precision) return false;
      static constexpr unsigned kBytes[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
      const unsigned whole = precision - scale;
      const size_t bytes = whole / 9 * 4 + kBytes[whole % 9] + scale / 9 * 4 + kBytes[scale % 9];
      const std::string_view packed = r.text(bytes);
      DecimalText text;
      if (r.failed() || !unpack_decimal(reinterpret_cast<const uint8_t*>(packed.data()), precision, scale, &text)) return false;
      out_->append(text.view());
      return true;
    }
    const bool date = type == type_code::kDate, time = type == type_code::kTime;
    if (date || time || type == type_code::kDateTime || type == type_code::kTimestamp) {
      const uint64_t bits = r.little(8);
      if (r.failed()) return false;
      *out_ += '"';
      if (time) {
        const auto v = static_cast<int64_t>(bits);
        const uint64_t size = v < 0 ? 0 - bits : bits;
        TimeSpan t;
        t.negative = v < 0;
        t.micros = static_cast<uint32_t>(size & 0xFFFFFF);
        t.hour = static_cast<uint32_t>(size >> 36 & 1023);
        t.minute = size >> 30 & 63;
        t.second = size >> 24 & 63;
        if (t.micros > 999999) return false;
        append_time(t, 6, out_);
      } else {
        DateTime t;
        if (!unpack_bits(bits, &t)) return false;
        if (date) {
          append_date(t, out_);
        } else {
          append_datetime(t, 6, ' ', out_);
        }
      }
      *out_ += '"';
      return true;
    }
    out_->append("\"base64:type");
    append_integer(static_cast<unsigned>(type), out_);
    *out_ += ':';
    std::string base64;
    append_base64(reinterpret_cast<const uint8_t*>(data.data()), data.size(), &base64);
    const std::string_view digits = std::string_view(base64).substr(1, base64.size() - 2);
    for (size_t i = 0; i < digits.size(); i += 76) {  // the server breaks it into lines
      if (i > 0) out_->append("\\n");
      out_->append(digits.substr(i, 76));
    }
    *out_ += '"';
    return true;
  }

  size_t budget_;
  std::string* out_;
};

}  // namespace

bool append_mysql_json(const uint8_t* data, size_t size, std::string* out) {
  if (size == 0) {
    out->append("null");
    return true;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  return JsonWriter(size, out).value(data[0], bytes.substr(1), 0);
}

}  // namespace sluice_mysql
