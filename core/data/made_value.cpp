#include "data/made_value.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "data/text_view.h"
#include "data/utf8.h"

namespace sluice::data {
namespace {

bool is_ascii(std::string_view text) noexcept {
  uint64_t all = 0, word = 0;
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= sizeof word; p += sizeof word, left -= sizeof word) {
    std::memcpy(&word, p, sizeof word);
    all |= word;
  }
  for (; left > 0; ++p, --left) all |= static_cast<unsigned char>(*p);
  return (all & 0x8080808080808080) == 0;
}
bool is_text(std::string_view text) noexcept { return is_ascii(text) || is_utf8(text); }

std::string shown(std::string_view text) { return "\"" + std::string(text.substr(0, 60)) + (text.size() > 60 ? "…" : "") + "\""; }

// `path` is built on the way back: only those of bad values are needed.
bool check(const sluice_value& v, JsonReader& reader, std::string* path, std::string* why) {
  switch (v.type) {
    case SLUICE_NUMBER:
      if (!is_json_number(view(v.as.str))) {
        *why = shown(view(v.as.str)) + " is not a number";
        return false;
      }
      if (v.as.str.size <= kMaxNumberLength) return true;
      *why = "a number of more than " + std::to_string(kMaxNumberLength) + " characters";
      return false;
    case SLUICE_DOUBLE:
      if (std::isfinite(v.as.f64)) return true;
      *why = std::isnan(v.as.f64) ? "NaN is not a number in JSON" : "an infinite number is none in JSON";
      return false;
    case SLUICE_STRING:
      if (is_text(view(v.as.str))) return true;
      *why = "its text is not UTF-8";
      return false;
    case SLUICE_ARRAY: case SLUICE_OBJECT: {
      const std::string_view text = view(v.as.str);
      const size_t begin = text.find_first_not_of(" \t\r\n");
      const bool is_array = v.type == SLUICE_ARRAY;
      if (begin == std::string_view::npos || text[begin] != (is_array ? '[' : '{')) {
        *why = shown(text) + " is not the text of an " + (is_array ? "array" : "object");
        return false;
      }
      return reader.check(text, why);
    }
    case SLUICE_LIST:
      for (size_t i = 0; i < v.as.list.size; ++i) {
        if (check(v.as.list.items[i], reader, path, why)) continue;
        path->insert(0, "[" + std::to_string(i) + "]");
        return false;
      }
      return true;
    case SLUICE_MAP:
      for (size_t i = 0; i < v.as.map.size; ++i) {
        const std::string_view name = view(v.as.map.members[i].name);
        if (!is_text(name)) {
          *why = "the name of a field is not UTF-8";
          return false;
        }
        if (check(v.as.map.members[i].value, reader, path, why)) continue;
        path->insert(0, (path->empty() || path->front() == '[' ? "" : ".")).insert(0, name);
        return false;
      }
      return true;
    case SLUICE_INVALID:
      *why = "it was made of a field that is no valid JSON: " + std::string(view(v.as.str));
      return false;
    default: return true;
  }
}

}  // namespace

bool check_made_value(const sluice_value& value, JsonReader& reader, std::string* why) {
  std::string path;
  if (check(value, reader, &path, why)) return true;
  if (!path.empty()) why->insert(0, "field \"" + path + "\": ");
  return false;
}

}  // namespace sluice::data
