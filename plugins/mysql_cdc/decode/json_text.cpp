#include "json_text.h"

#include <array>
#include <cmath>

namespace sluice_mysql {
namespace {

enum : uint8_t { kPlain, kEscape, kHigh };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int i = 0; i < 256; ++i) classes[i] = i >= 0x80 ? kHigh : i < 0x20 || i == '"' || i == '\\' ? kEscape : kPlain;
  return classes;
}

constexpr std::array<uint8_t, 256> kClass = make_classes();

void append_escaped(uint8_t c, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\b':
      out->append("\\b");
      return;
    case '\t':
      out->append("\\t");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\f':
      out->append("\\f");
      return;
    case '\r':
      out->append("\\r");
      return;
    default:
      out->append("\\u00");
      *out += kHex[c >> 4];
      *out += kHex[c & 15];
      return;
  }
}

// Bytes of the UTF-8 character at p, 0: none begins there.
size_t utf8_length(const uint8_t* p, const uint8_t* end) {
  const auto follows = [&](int i, uint8_t low = 0x80, uint8_t high = 0xBF) { return p[i] >= low && p[i] <= high; };
  const auto left = static_cast<size_t>(end - p);
  if (p[0] >= 0xC2 && p[0] <= 0xDF) return left >= 2 && follows(1) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    if (left < 3) return 0;
    const uint8_t low = p[0] == 0xE0 ? 0xA0 : 0x80, high = p[0] == 0xED ? 0x9F : 0xBF;  // no surrogates
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    if (left < 4) return 0;
    const uint8_t low = p[0] == 0xF0 ? 0x90 : 0x80, high = p[0] == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void append_json_string(std::string_view text, std::string* out) {
  *out += '"';
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* const end = p + text.size();
  const uint8_t* run = p;
  const auto flush = [&] { out->append(reinterpret_cast<const char*>(run), static_cast<size_t>(p - run)); };
  while (p != end) {
    const uint8_t kind = kClass[*p];
    if (kind == kPlain) {
      ++p;
    } else if (kind == kEscape) {
      flush();
      append_escaped(*p, out);
      run = ++p;
    } else if (const size_t length = utf8_length(p, end); length != 0) {
      p += length;
    } else {
      flush();
      *out += '?';
      run = ++p;
    }
  }
  flush();
  *out += '"';
}

void append_base64(const uint8_t* p, size_t size, std::string* out) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t at = out->size();
  out->resize(at + (size + 2) / 3 * 4 + 2);
  char* to = out->data() + at;
  *to++ = '"';
  size_t i = 0;
  for (; i + 3 <= size; i += 3) {
    const uint32_t v = static_cast<uint32_t>(p[i]) << 16 | static_cast<uint32_t>(p[i + 1]) << 8 | p[i + 2];
    *to++ = kDigits[v >> 18];
    *to++ = kDigits[v >> 12 & 63];
    *to++ = kDigits[v >> 6 & 63];
    *to++ = kDigits[v & 63];
  }
  if (i < size) {
    const uint32_t v = static_cast<uint32_t>(p[i]) << 16 | (i + 1 < size ? static_cast<uint32_t>(p[i + 1]) << 8 : 0);
    *to++ = kDigits[v >> 18];
    *to++ = kDigits[v >> 12 & 63];
    *to++ = i + 1 < size ? kDigits[v >> 6 & 63] : '=';
    *to++ = '=';
  }
  *to = '"';
}

namespace {

template <class Number>
void append_shortest(Number value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out->append(text, static_cast<size_t>(end - text));
}

}  // namespace

void append_double(double value, std::string* out) { append_shortest(value, out); }
void append_float(float value, std::string* out) { append_shortest(value, out); }

}  // namespace sluice_mysql
