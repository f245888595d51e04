// sluice/testing/json.hpp - reads and writes JSON for the fake host, the way the real one does: numbers keep their
// digits, strings must be UTF-8, the members of an object keep their order. Needs the standard library only.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/abi.h"
#include "sluice/status.hpp"

namespace sluice::testing::json {

// The limits of the real host: levels of nesting, characters of a number.
inline constexpr int kMaxDepth = 512;
inline constexpr size_t kMaxNumberLength = 255;

// Length of the well-formed UTF-8 sequence that `text` begins with; 0: there is none.
inline size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned second = byte(1);
    const bool range = first == 0xE0 ? second >= 0xA0 : first == 0xED ? second <= 0x9F : true;
    return tail(1) && tail(2) && range ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned second = byte(1);
    const bool range = first == 0xF0 ? second >= 0x90 : first == 0xF4 ? second <= 0x8F : true;
    return tail(1) && tail(2) && tail(3) && range ? 4 : 0;
  }
  return 0;
}

inline void append_utf8(uint32_t point, std::string* out) {
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (point >> 6)));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (point >> 12)));
    out->push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (point >> 18)));
    out->push_back(static_cast<char>(0x80 | ((point >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

// Walks over a text, checking it. Every function returns false with problem() set at the first fault. A plain value.
class Scanner {
 public:
  // Not strict: only UTF-8, brackets, commas, colons and quotes are checked, not what a scalar says.
  explicit Scanner(std::string_view text, bool strict = true) : text_(text), strict_(strict) {}

  const std::string& problem() const { return problem_; }
  size_t position() const { return at_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return fail(std::string("expected `") + c + "`");
    ++at_;
    return true;
  }
  bool end() {
    space();
    return at_ == text_.size() ? true : fail("text after the end of the value");
  }
  // A whole value, checked throughout.
  bool value(int depth = 0) {
    space();
    switch (peek()) {
      case '{': return members(depth, '}', true);
      case '[': return members(depth, ']', false);
      case '"': return string(nullptr);
      case 't': return strict_ ? word("true") : token();
      case 'f': return strict_ ? word("false") : token();
      case 'n': return strict_ ? word("null") : token();
      default: return strict_ ? number() : token();
    }
  }
  // A string in quotes; `out` may be null.
  bool string(std::string* out) {
    if (!take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20) return fail("control character in a string");
      if (c == '\\') {
        if (!escape(out)) return false;
        continue;
      }
      const size_t n = utf8_sequence(text_.substr(at_));
      if (n == 0) return fail("invalid UTF-8");
      if (out != nullptr) out->append(text_.substr(at_, n));
      at_ += n;
    }
    return at_ < text_.size() ? take('"') : fail("a string has no end");
  }
  // Steps over a value by its brackets and quotes alone: what is inside may be broken.
  bool skip() {
    space();
    const size_t start = at_;
    size_t depth = 0;
    bool compound = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
          if (text_[at_] == '\\') ++at_;
        if (at_ >= text_.size()) return fail("a string has no end");
        ++at_;
        if (depth == 0) return true;
        continue;
      }
      if (c == '{' || c == '[') {
        ++depth;
        compound = true;
      } else if (c == '}' || c == ']') {
        if (depth == 0) break;
        if (--depth == 0) {
          ++at_;
          return true;
        }
      } else if (depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
        break;
      }
      ++at_;
    }
    if (compound) return fail("a bracket is not closed");
    return at_ > start ? true : fail("a value is missing");
  }

 private:
  bool fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem) + " at byte " + std::to_string(at_);
    return false;
  }
  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return fail("not a JSON value");
    at_ += w.size();
    return true;
  }
  bool digits() {
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > start ? true : fail("not a JSON value");
  }
  bool token() {
    const size_t start = at_;
    while (at_ < text_.size() && std::string_view(",:{}[]\" \t\r\n").find(text_[at_]) == std::string_view::npos) {
      const size_t n = utf8_sequence(text_.substr(at_));
      if (n == 0) return fail("invalid UTF-8");
      at_ += n;
    }
    return at_ > start ? true : fail("not a JSON value");
  }
  bool number() {
    const size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
      if (peek() >= '0' && peek() <= '9') return fail("a number begins with 0");
    } else if (!digits()) {
      return false;
    }
    if (peek() == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    return at_ - start <= kMaxNumberLength ? true : fail("a number of more than " + std::to_string(kMaxNumberLength) + " characters");
  }
  bool members(int depth, char close, bool named) {
    if (depth >= kMaxDepth) return fail("nested too deep");
    ++at_;
    space();
    if (peek() == close) return take(close);
    while (true) {
      space();
      if (named) {
        if (!string(nullptr)) return false;
        space();
        if (!take(':')) return false;
      }
      if (!value(depth + 1)) return false;
      space();
      if (peek() != ',') return take(close);
      ++at_;
    }
  }
  bool hex4(uint32_t* out) {
    *out = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) return fail("broken \\u escape");
      *out = *out * 16 + static_cast<uint32_t>(digit);
      ++at_;
    }
    return true;
  }
  bool escape(std::string* out) {
    ++at_;
    if (!strict_) {
      if (at_ >= text_.size()) return fail("a string has no end");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return fail("control character in a string");
      const size_t n = utf8_sequence(text_.substr(at_));
      at_ += n > 0 ? n : 1;
      return n > 0 ? true : fail("invalid UTF-8");
    }
    const char c = peek();
    ++at_;
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t i = kNames.find(c); c != '\0' && i != std::string_view::npos) {
      if (out != nullptr) out->push_back(kMeanings[i]);
      return true;
    }
    if (c != 'u') return fail("unknown escape");
    uint32_t point = 0, low = 0;
    if (!hex4(&point)) return false;
    if (point >= 0xDC00 && point <= 0xDFFF) return fail("half of a surrogate pair");
    if (point >= 0xD800 && point <= 0xDBFF) {
      if (text_.substr(at_, 2) != "\\u") return fail("half of a surrogate pair");
      at_ += 2;
      if (!hex4(&low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return fail("half of a surrogate pair");
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    if (out != nullptr) append_utf8(point, out);
    return true;
  }

  std::string_view text_;
  bool strict_;
  size_t at_ = 0;
  std::string problem_;
};

// Empty when the whole text is one JSON value; else what is wrong.
inline std::string problem_of(std::string_view text) {
  Scanner s(text);
  return s.value() && s.end() ? std::string() : s.problem();
}

// What the host looks at in every record, whatever operators read of it: empty when it is an object of sound structure.
inline std::string record_problem(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return "empty: no JSON text";
  Scanner s(text, false);
  if (!s.value() || !s.end()) return s.problem();
  return text[start] == '{' ? std::string() : "not a JSON object";
}

// A member of an object (name unescaped) or an element of an array (name empty); the value as text.
struct Part {
  std::string name;
  std::string_view text;
};

// One level of an object or array. Only brackets, quotes and names are checked: values inside may be broken.
// False: `problem` says why.
inline bool take_apart(std::string_view text, std::vector<Part>* parts, std::string* problem) {
  parts->clear();
  Scanner s(text);
  s.space();
  const char open = s.peek();
  if (open != '{' && open != '[') {
    *problem = "not a JSON object";
    return false;
  }
  const char close = open == '{' ? '}' : ']';
  const auto failed = [&](const std::string& fallback) {
    *problem = s.problem().empty() ? fallback : s.problem();
    return false;
  };
  if (!s.take(open)) return failed("");
  s.space();
  if (s.peek() == close) {
    if (!s.take(close) || !s.end()) return failed("");
    return true;
  }
  while (true) {
    Part part;
    s.space();
    if (open == '{') {
      if (!s.string(&part.name)) return failed("");
      s.space();
      if (!s.take(':')) return failed("");
    }
    s.space();
    const size_t start = s.position();
    if (!s.skip()) return failed("");
    part.text = text.substr(start, s.position() - start);
    parts->push_back(std::move(part));
    s.space();
    if (s.peek() == ',') {
      if (!s.take(',')) return failed("");
      continue;
    }
    if (!s.take(close) || !s.end()) return failed("");
    return true;
  }
}

inline void quote(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (const char ch : text) {
    const unsigned char c = static_cast<unsigned char>(ch);
    switch (ch) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\b': out->append("\\b"); break;
      case '\f': out->append("\\f"); break;
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      default:
        if (c < 0x20) {
          out->append("\\u00");
          out->push_back(kHex[c >> 4]);
          out->push_back(kHex[c & 15]);
        } else {
          out->push_back(ch);
        }
    }
  }
  out->push_back('"');
}

// The shortest digits that read back as the same number, written as the host does: 1.0, 0.001, 1e30.
inline std::string number_text(double d) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  std::string text(buffer, end), sign, digits;
  if (text[0] == '-') sign = "-", text.erase(0, 1);
  const size_t e = text.find('e');
  for (const char c : text.substr(0, e))
    if (c != '.') digits.push_back(c);
  if (digits == "0") return sign + "0.0";
  const int point = std::stoi(text.substr(e + 1)) + 1;  // digits before the point
  const int length = static_cast<int>(digits.size());
  if (length <= point && point <= 21) return sign + digits + std::string(static_cast<size_t>(point - length), '0') + ".0";
  if (0 < point && point <= 21) return sign + digits.insert(static_cast<size_t>(point), ".");
  if (-6 < point && point <= 0) return sign + "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (length > 1) digits.insert(1, ".");
  return sign + digits + "e" + std::to_string(point - 1);
}

// Appends a value that a plugin made. Empty: done; else what is wrong with it.
inline std::string write(const sluice_value& v, std::string* out, int depth = 0) {
  if (depth > kMaxDepth) return "nested too deep";
  switch (v.type) {
    case SLUICE_ABSENT: case SLUICE_NULL: out->append("null"); return {};
    case SLUICE_BOOL: out->append(v.as.i64 != 0 ? "true" : "false"); return {};
    case SLUICE_INT64: out->append(std::to_string(v.as.i64)); return {};
    case SLUICE_DOUBLE: {
      if (!std::isfinite(v.as.f64)) return "a number that is not finite";
      out->append(number_text(v.as.f64));
      return {};
    }
    case SLUICE_NUMBER: {
      const std::string_view lexeme = view(v.as.str);
      if (lexeme.empty() || !(lexeme[0] == '-' || (lexeme[0] >= '0' && lexeme[0] <= '9')) || !problem_of(lexeme).empty() ||
          lexeme.back() < '0' || lexeme.back() > '9')
        return "`" + std::string(lexeme) + "` is not a JSON number";
      out->append(lexeme);
      return {};
    }
    case SLUICE_STRING: {
      const std::string_view text = view(v.as.str);
      for (size_t i = 0; i < text.size();) {
        const size_t n = utf8_sequence(text.substr(i));
        if (n == 0) return "a string that is not UTF-8";
        i += n;
      }
      quote(text, out);
      return {};
    }
    case SLUICE_ARRAY:
    case SLUICE_OBJECT: {
      const std::string_view text = view(v.as.str);
      if (std::string problem = problem_of(text); !problem.empty()) return "JSON text that is broken: " + problem;
      Scanner s(text);
      s.space();
      if (s.peek() != (v.type == SLUICE_ARRAY ? '[' : '{')) return "JSON text of another type than was said";
      out->append(text);
      return {};
    }
    case SLUICE_LIST: {
      out->push_back('[');
      for (size_t i = 0; i < v.as.list.size; ++i) {
        if (i > 0) out->push_back(',');
        if (std::string problem = write(v.as.list.items[i], out, depth + 1); !problem.empty()) return problem;
      }
      out->push_back(']');
      return {};
    }
    case SLUICE_MAP: {
      out->push_back('{');
      for (size_t i = 0; i < v.as.map.size; ++i) {
        const sluice_member& m = v.as.map.members[i];
        if (i > 0) out->push_back(',');
        quote(view(m.name), out);
        out->push_back(':');
        if (std::string problem = write(m.value, out, depth + 1); !problem.empty())
          return problem + " in `" + std::string(view(m.name)) + "`";
      }
      out->push_back('}');
      return {};
    }
    default: return "a value of type " + std::to_string(v.type) + ", which cannot be written";
  }
}

// The text of a valid object with members added behind the others, written anew as the host does. A member of the same
// name is replaced; an added text that is empty only takes it away.
inline std::string with_members(std::string_view object, const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<Part> parts;
  std::string problem;
  if (added.empty() || !take_apart(object, &parts, &problem)) return std::string(object);
  std::string out = "{";
  const auto add = [&](std::string_view name, std::string_view text) {
    if (out.size() > 1) out.push_back(',');
    quote(name, &out);
    out.push_back(':');
    if (text[0] != '"') {
      out.append(text);
      return;
    }
    std::string value;
    Scanner s(text);
    static_cast<void>(s.string(&value));
    quote(value, &out);
  };
  for (const Part& p : parts) {
    bool replaced = false;
    for (const auto& a : added) replaced = replaced || a.first == p.name;
    if (!replaced) add(p.name, p.text);
  }
  for (const auto& a : added)
    if (!a.second.empty()) add(a.first, a.second);
  return out + "}";
}

}  // namespace sluice::testing::json
