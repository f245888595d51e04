#include "data/json_reader.h"
#include "data/utf8.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::data {
namespace {

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

int hex_digit(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hex digits at p; -1 when they are not.
int32_t hex4(const char* p, const char* end) noexcept {
  if (end - p < 4) return -1;
  int32_t v = 0;
  for (int i = 0; i < 4; ++i) {
    const int d = hex_digit(p[i]);
    if (d < 0) return -1;
    v = v * 16 + d;
  }
  return v;
}

char* put_utf8(char* out, uint32_t c) noexcept {
  if (c < 0x80) {
    *out++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<char>(0xC0 | (c >> 6));
    *out++ = static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    *out++ = static_cast<char>(0xE0 | (c >> 12));
    *out++ = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    *out++ = static_cast<char>(0x80 | (c & 0x3F));
  } else {
    *out++ = static_cast<char>(0xF0 | (c >> 18));
    *out++ = static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    *out++ = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    *out++ = static_cast<char>(0x80 | (c & 0x3F));
  }
  return out;
}

// Unescapes [p, end) into `out` (room for end - p bytes). Null: a bad escape. `out` may be null: check only.
char* unescape(const char* p, const char* end, char* out) noexcept {
  char nothing[8];
  const bool keep = out != nullptr;
  if (!keep) out = nothing;
  while (p < end) {
    if (*p != '\\') {
      if (keep) *out++ = *p;
      ++p;
      continue;
    }
    if (++p == end) return nullptr;
    char c = *p++;
    switch (c) {
      case '"': case '\\': case '/': break;
      case 'b': c = '\b'; break;
      case 'f': c = '\f'; break;
      case 'n': c = '\n'; break;
      case 'r': c = '\r'; break;
      case 't': c = '\t'; break;
      case 'u': {
        int32_t code = hex4(p, end);
        if (code < 0) return nullptr;
        p += 4;
        if (code >= 0xDC00 && code <= 0xDFFF) return nullptr;  // second half of a pair alone
        if (code >= 0xD800 && code <= 0xDBFF) {
          if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return nullptr;
          const int32_t low = hex4(p + 2, end);
          if (low < 0xDC00 || low > 0xDFFF) return nullptr;
          p += 6;
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        char* after = put_utf8(out, static_cast<uint32_t>(code));
        if (keep) out = after;
        continue;
      }
      default: return nullptr;
    }
    if (keep) *out++ = c;
  }
  return out;
}

}  // namespace

bool is_utf8(std::string_view bytes) noexcept { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

bool is_json_number(std::string_view t) noexcept {
  const char* p = t.data();
  const char* const end = p + t.size();
  if (p < end && *p == '-') ++p;
  if (p == end) return false;
  if (*p == '0') {
    ++p;
  } else if (is_digit(*p)) {
    while (p < end && is_digit(*p)) ++p;
  } else {
    return false;
  }
  if (p < end && *p == '.') {
    if (++p == end || !is_digit(*p)) return false;
    while (p < end && is_digit(*p)) ++p;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    if (++p < end && (*p == '+' || *p == '-')) ++p;
    if (p == end || !is_digit(*p)) return false;
    while (p < end && is_digit(*p)) ++p;
  }
  return p == end;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> names(1);
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size() && (path[i + 1] == '.' || path[i + 1] == '\\')) {
      names.back() += path[++i];
    } else if (path[i] == '.') {
      names.emplace_back();
    } else {
      names.back() += path[i];
    }
  }
  return names;
}

size_t FieldSet::add(std::string_view path) {
  const auto known = std::find(paths_.begin(), paths_.end(), path);
  if (known != paths_.end()) return static_cast<size_t>(known - paths_.begin());
  paths_.emplace_back(path);
  names_.push_back(split_path(path));
  Node* node = &root_;
  for (const std::string& name : names_.back()) {
    auto child = std::find_if(node->children.begin(), node->children.end(), [&](const Node& n) { return n.name == name; });
    if (child == node->children.end()) {
      node->children.push_back({name, -1, {}});
      child = node->children.end() - 1;
    }
    node = &*child;
  }
  node->field = static_cast<int32_t>(paths_.size() - 1);
  return paths_.size() - 1;
}

struct JsonReader::Impl {
  simdjson::dom::parser parser;
  const char* text = nullptr;
  size_t length = 0;
  const uint32_t* index = nullptr;  // offsets of brackets, commas, colons and of the first byte of each scalar
  uint32_t count = 0;
  std::string error;
  std::vector<sluice_member> members;
  std::vector<sluice_value> items;

  bool fail(std::string reason) {
    error = std::move(reason);
    return false;
  }
  bool fail_at(uint32_t i) {
    if (i >= count) return fail("the text ends too early, at byte " + std::to_string(length));
    const char c = text[index[i]];
    return fail("unexpected " + (static_cast<unsigned char>(c) < 0x80 ? std::string("\"") + c + "\"" : std::string("character")) +
                " at byte " + std::to_string(index[i]));
  }
  // 0 behind the last one: no case of any switch.
  char at(uint32_t i) const noexcept { return i < count ? text[index[i]] : '\0'; }
  // Text of the scalar at structural i, without what surrounds it.
  std::string_view token(uint32_t i) const noexcept {
    const char* begin = text + index[i];
    const char* end = text + (i + 1 < count ? index[i + 1] : length);
    while (end > begin && is_space(end[-1])) --end;
    return {begin, static_cast<size_t>(end - begin)};
  }

  bool load(std::string_view t) {
    text = t.data();
    length = t.size();
    count = 0;
    if (length > parser.capacity() || !parser.implementation) {
      const size_t wanted = std::max<size_t>(length, 16u << 10);
      if (parser.allocate(wanted, kMaxDepth) != simdjson::SUCCESS) return fail("out of memory");
    }
    if (length == 0) return fail("empty: no JSON text");
    const simdjson::error_code e =
        parser.implementation->stage1(reinterpret_cast<const uint8_t*>(text), length, simdjson::stage1_mode::regular);
    if (e != simdjson::SUCCESS) {
      switch (e) {
        case simdjson::UTF8_ERROR: return fail("invalid UTF-8" + bad_utf8_place());
        case simdjson::UNCLOSED_STRING: return fail("a string is not closed");
        case simdjson::UNESCAPED_CHARS: return fail("a control character inside a string");
        case simdjson::EMPTY: return fail("empty: no JSON text");
        default: return fail(simdjson::error_message(e));
      }
    }
    index = parser.implementation->structural_indexes.get();
    count = parser.implementation->n_structural_indexes;
    return count > 0 || fail("empty: no JSON text");
  }
  std::string bad_utf8_place() const {
    // Only for the message: the longest valid prefix.
    size_t low = 0, high = length;
    while (low < high) {
      const size_t middle = (low + high + 1) / 2;
      size_t cut = middle;  // do not cut a character
      while (cut > 0 && cut < length && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80 && middle - cut < 4) --cut;
      if (simdjson::validate_utf8(text, cut)) low = middle;
      else high = middle - 1;
    }
    return " near byte " + std::to_string(low);
  }

  // A scalar, checked. False with `error` set when it is no JSON value.
  bool scalar(uint32_t i, sluice_value* out, Arena* arena) {
    const std::string_view t = token(i);
    out->reserved = 0;
    switch (t.empty() ? '\0' : t.front()) {
      case '"': {
        if (t.size() < 2 || t.back() != '"') return fail_at(i);
        const char* begin = t.data() + 1;
        const char* end = t.data() + t.size() - 1;
        out->type = SLUICE_STRING;
        if (std::memchr(begin, '\\', static_cast<size_t>(end - begin)) == nullptr) {
          out->as.str = {begin, static_cast<size_t>(end - begin)};
          return true;
        }
        char* room = arena != nullptr ? arena->allocate(static_cast<size_t>(end - begin)) : nullptr;
        char* const done = unescape(begin, end, room);
        if (done == nullptr) return fail("a wrong escape in the string at byte " + std::to_string(index[i]));
        if (arena != nullptr) out->as.str = {room, static_cast<size_t>(done - room)};
        return true;
      }
      case 't':
        if (t != "true") break;
        out->type = SLUICE_BOOL;
        out->as.i64 = 1;
        return true;
      case 'f':
        if (t != "false") break;
        out->type = SLUICE_BOOL;
        out->as.i64 = 0;
        return true;
      case 'n':
        if (t != "null") break;
        out->type = SLUICE_NULL;
        out->as.str = {nullptr, 0};
        return true;
      default:
        if (!is_json_number(t)) break;
        if (t.size() > kMaxNumberLength)
          return fail("a number of " + std::to_string(t.size()) + " characters at byte " + std::to_string(index[i]) + "; at most " +
                      std::to_string(kMaxNumberLength) + " are allowed");
        out->type = SLUICE_NUMBER;
        out->as.str = {t.data(), t.size()};
        return true;
    }
    return fail("\"" + std::string(t.substr(0, 20)) + "\" at byte " + std::to_string(index[i]) + " is no JSON value");
  }

  // Walks over the value at structural *i and puts *i behind it. With `Strict` scalars and strings are checked too;
  // else only the structure is. `outside`: levels of nesting that are open around the value.
  template <bool Strict>
  bool skip(uint32_t* i, size_t outside) {
    std::array<bool, kMaxDepth> in_object;
    size_t depth = 0;
    uint32_t p = *i;
    sluice_value ignored;
  value:
    switch (at(p)) {
      case '{':
        if (depth + outside == kMaxDepth) return too_deep(p);
        in_object[depth++] = true;
        if (at(++p) == '}') goto close;
        goto key;
      case '[':
        if (depth + outside == kMaxDepth) return too_deep(p);
        in_object[depth++] = false;
        if (at(++p) == ']') goto close;
        goto value;
      case '}': case ']': case ',': case ':': case '\0':
        return fail_at(p);
      default:
        if constexpr (Strict) {
          if (!scalar(p, &ignored, nullptr)) return false;
        }
        ++p;
        goto after_value;
    }
  key:
    if (at(p) != '"') return fail_at(p);
    if constexpr (Strict) {
      if (!scalar(p, &ignored, nullptr)) return false;
    }
    if (at(++p) != ':') return fail_at(p);
    ++p;
    goto value;
  after_value:
    if (depth == 0) {
      *i = p;
      return true;
    }
    switch (at(p)) {
      case ',':
        ++p;
        if (in_object[depth - 1]) goto key;
        goto value;
      case '}':
        if (!in_object[depth - 1]) return fail_at(p);
        goto close;
      case ']':
        if (in_object[depth - 1]) return fail_at(p);
        goto close;
      default: return fail_at(p);
    }
  close:
    --depth;
    ++p;
    goto after_value;
  }
  bool too_deep(uint32_t i) {
    return fail("nested deeper than " + std::to_string(kMaxDepth) + " levels, at byte " + std::to_string(index[i]));
  }

  // The key whose token is at structural i is `name`. A key may spell its characters as escapes.
  bool key_is(uint32_t i, const std::string& name, Arena& arena) {
    const char* p = text + index[i] + 1;
    const size_t n = name.size();
    // Ends at the closing quote at the latest, and at the first escape.
    size_t same = 0;
    while (same < n && p[same] == name[same] && p[same] != '"' && p[same] != '\\') ++same;
    if (same == n && p[same] == '"') return true;
    if (p[same] != '\\') return false;
    sluice_value key;
    if (!scalar(i, &key, &arena)) {
      error.clear();
      return false;
    }
    return std::string_view(key.as.str.data, key.as.str.size) == name;
  }

  // Takes back what an earlier member of the same name gave for the fields inside it.
  static void forget(const FieldSet::Node& node, sluice_value* const* columns, size_t row) {
    for (const FieldSet::Node& child : node.children) {
      if (child.field >= 0) columns[child.field][row] = {SLUICE_ABSENT, 0, {}};
      forget(child, columns, row);
    }
  }

  // Fields of the object at structural *i, which is at `depth` levels of nesting (the outermost at 1).
  bool read_object(uint32_t* i, const FieldSet::Node& node, sluice_value* const* columns, size_t row, size_t depth, Arena& arena) {
    if (depth > kMaxDepth) return too_deep(*i);
    uint32_t p = *i + 1;
    if (at(p) == '}') {
      *i = p + 1;
      return true;
    }
    for (;;) {
      if (at(p) != '"') return fail_at(p);
      const FieldSet::Node* wanted = nullptr;
      for (const FieldSet::Node& child : node.children) {
        if (key_is(p, child.name, arena)) {
          wanted = &child;
          break;
        }
      }
      if (at(++p) != ':') return fail_at(p);
      ++p;
      const char c = at(p);
      if (wanted != nullptr && !wanted->children.empty()) forget(*wanted, columns, row);
      if (wanted == nullptr) {
        if (c != '{' && c != '[' && c != ',' && c != ':' && c != '}' && c != ']' && c != '\0') ++p;
        else if (!skip<false>(&p, depth)) return false;
      } else if (c == '{' || c == '[') {
        const uint32_t begin = p;
        if (c == '{' && !wanted->children.empty()) {
          if (!read_object(&p, *wanted, columns, row, depth + 1, arena)) return false;
        } else if (!skip<false>(&p, depth)) {
          return false;
        }
        if (wanted->field >= 0) {
          sluice_value& out = columns[wanted->field][row];
          const char* end = text + index[p - 1] + 1;
          out.type = c == '{' ? SLUICE_OBJECT : SLUICE_ARRAY;
          out.as.str = {text + index[begin], static_cast<size_t>(end - (text + index[begin]))};
        }
      } else if (c == ',' || c == ':' || c == '}' || c == ']' || c == '\0') {
        return fail_at(p);
      } else {
        if (wanted->field >= 0) {
          sluice_value& out = columns[wanted->field][row];
          if (!scalar(p, &out, &arena)) {
            out.type = SLUICE_INVALID;
            out.as.str = arena.copy(std::string_view(error));
            error.clear();
          }
        }
        ++p;
      }
      if (at(p) == ',') {
        ++p;
        continue;
      }
      if (at(p) != '}') return fail_at(p);
      *i = p + 1;
      return true;
    }
  }
};

namespace {

// In quotes, or by name when nothing could be seen between them.
std::string shown(std::string_view beginning) {
  if (beginning.substr(0, 3) == "\xEF\xBB\xBF") return "a byte order mark (U+FEFF)";
  const auto first = static_cast<unsigned char>(beginning.empty() ? ' ' : beginning.front());
  if (first >= 0x20 && first != 0x7F) return "\"" + std::string(beginning) + "\"";
  constexpr char kDigits[] = "0123456789abcdef";
  return std::string("the byte 0x") + kDigits[first >> 4] + kDigits[first & 15];
}

}  // namespace

JsonReader::JsonReader() : impl_(std::make_unique<Impl>()) {}
JsonReader::~JsonReader() = default;

bool JsonReader::read(std::string_view text, const FieldSet& fields, sluice_value* const* columns, size_t row, Arena& arena,
                      std::string* error) {
  Impl& m = *impl_;
  for (size_t f = 0; f < fields.size(); ++f) columns[f][row] = {SLUICE_ABSENT, 0, {}};
  uint32_t i = 0;
  bool ok = m.load(text);
  if (ok && m.at(0) != '{') ok = m.fail(m.at(0) == '[' ? "an array; a record must be a JSON object" : "not a JSON object: it begins with " + shown(m.token(0).substr(0, 20)));
  ok = ok && m.read_object(&i, fields.root_, columns, row, 1, arena);
  if (ok && i != m.count) ok = m.fail("text behind the end of the object, at byte " + std::to_string(m.index[i]));
  if (ok) return true;
  for (size_t f = 0; f < fields.size(); ++f) columns[f][row] = {SLUICE_ABSENT, 0, {}};
  *error = std::move(m.error);
  m.error.clear();
  return false;
}

bool JsonReader::check(std::string_view text, std::string* error) {
  Impl& m = *impl_;
  uint32_t i = 0;
  if (m.load(text) && m.skip<true>(&i, 0)) {
    if (i == m.count) return true;
    m.fail("text behind the end of the value, at byte " + std::to_string(m.index[i]));
  }
  *error = std::move(m.error);
  m.error.clear();
  return false;
}

bool JsonReader::parse(std::string_view text, sluice_value* out, Arena& arena, std::string* error) {
  Impl& m = *impl_;
  m.members.clear();
  m.items.clear();
  uint32_t p = 1;
  bool ok = m.load(text);
  const bool object = ok && m.at(0) == '{';
  if (ok && !object && m.at(0) != '[') ok = m.fail("neither an object nor an array");
  const char close = object ? '}' : ']';
  while (ok) {
    if (m.at(p) == close && m.members.empty() && m.items.empty()) {
      ++p;
      break;
    }
    sluice_member member{{nullptr, 0}, {SLUICE_ABSENT, 0, {}}};
    if (object) {
      sluice_value key;
      ok = m.at(p) == '"' ? m.scalar(p, &key, &arena) : m.fail_at(p);
      if (!ok) break;
      member.name = key.as.str;
      if (m.at(++p) != ':') ok = m.fail_at(p);
      if (!ok) break;
      ++p;
    }
    const char c = m.at(p);
    if (c == '{' || c == '[') {
      const uint32_t begin = p;
      ok = m.skip<true>(&p, 1);
      if (!ok) break;
      const char* from = m.text + m.index[begin];
      member.value.type = c == '{' ? SLUICE_OBJECT : SLUICE_ARRAY;
      member.value.as.str = {from, static_cast<size_t>(m.text + m.index[p - 1] + 1 - from)};
    } else if (c == ',' || c == ':' || c == '}' || c == ']' || c == '\0') {
      ok = m.fail_at(p);
    } else {
      ok = m.scalar(p, &member.value, &arena);
      ++p;
    }
    if (!ok) break;
    if (object) m.members.push_back(member);
    else m.items.push_back(member.value);
    if (m.at(p) == ',') {
      ++p;
      if (m.at(p) == close) ok = m.fail_at(p);
      continue;
    }
    if (m.at(p) != close) ok = m.fail_at(p);
    ++p;
    break;
  }
  if (ok && p != m.count) ok = m.fail("text behind the end of the value, at byte " + std::to_string(m.index[p]));
  if (!ok) {
    *error = std::move(m.error);
    m.error.clear();
    return false;
  }
  out->reserved = 0;
  if (object) {
    auto* copy = arena.array<sluice_member>(m.members.size());
    std::copy(m.members.begin(), m.members.end(), copy);
    out->type = SLUICE_MAP;
    out->as.map.members = copy;
    out->as.map.size = m.members.size();
  } else {
    auto* copy = arena.array<sluice_value>(m.items.size());
    std::copy(m.items.begin(), m.items.end(), copy);
    out->type = SLUICE_LIST;
    out->as.list.items = copy;
    out->as.list.size = m.items.size();
  }
  return true;
}

}  // namespace sluice::data
