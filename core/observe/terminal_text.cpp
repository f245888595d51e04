#include "observe/terminal_text.h"

#include <cstdint>

namespace sluice::observe {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

struct Decoded {
  uint32_t code_point = kReplacement;
  size_t size = 1;  // bytes taken; 1 for an invalid byte
  bool valid = false;
};

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
Decoded decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  uint32_t code_point = lead & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = (code_point << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = (size == 3 && code_point < 0x800) || (size == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (overlong || surrogate || code_point > 0x10FFFF) return {};
  return {code_point, size, true};
}

bool is_control(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);  // direction overrides can hide text
}

bool takes_no_cell(uint32_t c) {
  return (c >= 0x0300 && c <= 0x036F) || (c >= 0x0483 && c <= 0x0489) || (c >= 0x0591 && c <= 0x05BD) ||
         (c >= 0x064B && c <= 0x065F) || (c >= 0x1AB0 && c <= 0x1AFF) || (c >= 0x1DC0 && c <= 0x1DFF) ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x20D0 && c <= 0x20FF) || (c >= 0xFE00 && c <= 0xFE0F) ||
         (c >= 0xFE20 && c <= 0xFE2F) || c == 0xFEFF;
}

// East Asian Wide and Fullwidth (Unicode UAX #11), and emoji; by block, which is exact enough for columns.
bool takes_two_cells(uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0x303E) || (c >= 0x3041 && c <= 0xA4CF) ||
         (c >= 0xA960 && c <= 0xA97F) || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE10 && c <= 0xFE19) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF01 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1F64F) || (c >= 0x1F680 && c <= 0x1F6FF) ||
         (c >= 0x1F900 && c <= 0x1F9FF) || (c >= 0x20000 && c <= 0x3FFFD);
}

size_t cells(uint32_t c) { return takes_no_cell(c) ? 0 : takes_two_cells(c) ? 2 : 1; }

std::string cleaned(std::string_view text, bool replace_controls) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (!d.valid) {
      out += kReplacementBytes;
    } else if (replace_controls && is_control(d.code_point)) {
      out += ' ';
    } else {
      out.append(text.substr(0, d.size));
    }
    text.remove_prefix(d.size);
  }
  return out;
}

}  // namespace

std::string valid_utf8(std::string_view text) { return cleaned(text, false); }

std::string printable(std::string_view text) { return cleaned(text, true); }

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Decoded d = decode(text);
    width += cells(d.code_point);
    text.remove_prefix(d.size);
  }
  return width;
}

std::string cut_to_width(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string out;
  size_t used = 0;
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (used + cells(d.code_point) > width - 1) break;
    used += cells(d.code_point);
    out.append(text.substr(0, d.size));
    text.remove_prefix(d.size);
  }
  return out + "…";
}

std::string pad_right(std::string_view text, size_t width) {
  std::string out = cut_to_width(text, width);
  return out.append(width - display_width(out), ' ');
}

std::string pad_left(std::string_view text, size_t width) {
  const std::string cut = cut_to_width(text, width);
  return std::string(width - display_width(cut), ' ') + cut;
}

}  // namespace sluice::observe
