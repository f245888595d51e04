#include "broadcast_filter/identifier.h"

#include <locale.h>
#include <wctype.h>

#include <cstdint>

namespace sluice::broadcast_filter {
namespace {

constexpr uint32_t kInvalidUtf8 = UINT32_MAX;

// Decodes the code point at *at and moves past it; kInvalidUtf8 for bytes that are none (overlong forms and surrogates
// included).
uint32_t next_code_point(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(*at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || *at + length > text.size()) return kInvalidUtf8;
  uint32_t code = length == 1 ? first : first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(*at + i) & 0xC0) != 0x80) return kInvalidUtf8;
    code = code << 6 | (byte(*at + i) & 0x3F);
  }
  if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10FFFF))) return kInvalidUtf8;
  if (code >= 0xD800 && code <= 0xDFFF) return kInvalidUtf8;
  *at += length;
  return code;
}

// Letters and digits of all scripts, whatever the process's locale is.
bool is_letter_or_digit(uint32_t code) {
  if (code < 0x80) return (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z');
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
  return unicode != static_cast<locale_t>(nullptr) && iswalnum_l(static_cast<wint_t>(code), unicode) != 0;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr size_t kMaxShown = 80;
  const bool cut = text.size() > kMaxShown;
  if (cut) {
    size_t n = kMaxShown;
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
    text = text.substr(0, n);
  }
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) {
      out.push_back(c);
      continue;
    }
    static constexpr char kHex[] = "0123456789abcdef";
    out += "\\x";
    out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kHex[static_cast<unsigned char>(c) & 15]);
  }
  if (cut) out += "…";
  return out;
}

std::string unsafe_identifier(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxIdentifierBytes) return "is longer than 128 bytes";
  for (size_t at = 0; at < name.size();) {
    const size_t start = at;
    const uint32_t code = next_code_point(name, &at);
    if (code == kInvalidUtf8) return "is not valid UTF-8";
    if (code != '_' && code != '$' && !is_letter_or_digit(code))
      return "contains `" + printable(name.substr(start, at - start)) + "`; letters, digits, `_` and `$` are allowed";
  }
  return {};
}

std::string unsafe_table_name(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return unsafe_identifier(name);
  for (const std::string_view part : {name.substr(0, dot), name.substr(dot + 1)})
    if (std::string problem = unsafe_identifier(part); !problem.empty())
      return part.empty() ? "has nothing on one side of its dot" : problem;
  return {};
}

std::string unsafe_table_options(std::string_view text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "contains a control character";
    if (c == '\'') quoted = !quoted;
    if (c == '\\' || c == ';') return std::string("contains `") + c + "`";
    if (!quoted && (text.substr(i, 2) == "--" || text.substr(i, 2) == "/*")) return "contains the start of a comment";
  }
  if (quoted) return "has a quote that is not closed";
  return {};
}

}  // namespace sluice::broadcast_filter
