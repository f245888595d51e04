// sluice/testing/options_text.hpp - options as a user writes them, checked against a descriptor as the host does.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/abi.h"
#include "sluice/status.hpp"

namespace sluice::testing {

// The options that a test gave do not fit the operator.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A node of YAML's flow style: JSON, or the same with bare words: {ttl: 1d, columns: [a, b]}.
struct TextNode {
  enum class Kind { kScalar, kList, kMap } kind = Kind::kScalar;
  std::string text;
  bool quoted = false;
  std::vector<TextNode> items;
  std::vector<std::pair<std::string, TextNode>> members;
};

// Reads flow style, and at the top also `name: value` lines. Throws OptionError.
class OptionsReader {
 public:
  explicit OptionsReader(std::string_view text) : text_(text) {}

  TextNode document() {
    space(true);
    TextNode n;
    n.kind = TextNode::Kind::kMap;
    if (at_ == text_.size()) return n;
    if (text_[at_] == '{') {
      n = node(0);
      space(true);
      if (at_ != text_.size()) fail("text after the end of the options");
      return n;
    }
    while (at_ < text_.size()) {
      std::string name = scalar(":").text;
      if (at_ >= text_.size() || text_[at_] != ':') fail("expected `name: value`");
      ++at_;
      space(false);
      n.members.emplace_back(std::move(name), at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '[') ? node(0) : scalar("\n"));
      space(true);
    }
    return n;
  }
  // A default: one value, which may be a bare text with any signs.
  TextNode single() {
    space(true);
    if (at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '[' || text_[at_] == '"' || text_[at_] == '\'')) {
      TextNode n = node(0);
      space(true);
      if (at_ == text_.size()) return n;
      fail("text after the end of the value");
    }
    TextNode n;
    n.text = std::string(trimmed(text_));
    return n;
  }

 private:
  static std::string_view trimmed(std::string_view s) {
    while (!s.empty() && (s.back() == ' ' || s.back() == '\n' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    while (!s.empty() && (s.front() == ' ' || s.front() == '\n' || s.front() == '\t' || s.front() == '\r')) s.remove_prefix(1);
    return s;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw OptionError("options: " + what + " at byte " + std::to_string(at_) + " of `" + std::string(text_) + "`");
  }
  void space(bool lines) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || (lines && (text_[at_] == '\n' || text_[at_] == '\r')))) ++at_;
  }
  TextNode node(int depth) {
    if (depth > 16) fail("nested too deep");
    space(true);
    if (at_ >= text_.size()) fail("a value is missing");
    if (text_[at_] != '{' && text_[at_] != '[') return scalar(",]}");
    const bool map = text_[at_] == '{';
    const char close = map ? '}' : ']';
    ++at_;
    TextNode n;
    n.kind = map ? TextNode::Kind::kMap : TextNode::Kind::kList;
    while (true) {
      space(true);
      if (at_ < text_.size() && text_[at_] == close) break;
      if (map) {
        std::string name = scalar(":").text;
        space(true);
        if (at_ >= text_.size() || text_[at_] != ':') fail("expected `:`");
        ++at_;
        n.members.emplace_back(std::move(name), node(depth + 1));
      } else {
        n.items.push_back(node(depth + 1));
      }
      space(true);
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ >= text_.size() || text_[at_] != close) fail(std::string("expected `,` or `") + close + "`");
      break;
    }
    ++at_;
    return n;
  }
  TextNode scalar(std::string_view stop) {
    TextNode n;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      n.quoted = true;
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote) {
        if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
          ++at_;
          static constexpr std::string_view kNames = "nrt0", kMeanings("\n\r\t\0", 4);
          const size_t i = kNames.find(text_[at_]);
          n.text.push_back(i == std::string_view::npos ? text_[at_] : kMeanings[i]);
        } else {
          n.text.push_back(text_[at_]);
        }
        ++at_;
      }
      if (at_ >= text_.size()) fail("a quoted text has no end");
      ++at_;
      return n;
    }
    const size_t start = at_;
    while (at_ < text_.size() && stop.find(text_[at_]) == std::string_view::npos) ++at_;
    n.text = std::string(trimmed(text_.substr(start, at_ - start)));
    return n;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Units as everywhere in Sluice: durations `250ms 10s 5m 2h 1d 0` in ms, sizes `512 64KiB 10MB 1GiB` in bytes.
inline bool parse_with_unit(std::string_view text, const std::vector<std::pair<std::string_view, int64_t>>& units, int64_t* out) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const auto& u : units)
    if (u.first == unit) {
      if (u.second != 0 && number > std::numeric_limits<int64_t>::max() / u.second) return false;
      *out = number * u.second;
      return u.second != 0 || number == 0;
    }
  return false;
}
inline bool parse_duration(std::string_view text, int64_t* ms) {
  return parse_with_unit(text, {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"", 0}}, ms);
}
inline bool parse_size(std::string_view text, int64_t* bytes) {
  return parse_with_unit(text, {{"", 1}, {"B", 1}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}, bytes);
}

// A checked option: exactly one of the members is used, by `type` (SLUICE_T_*).
struct OptionValue {
  std::string name;
  uint32_t type = 0;
  int64_t integer = 0;  // also booleans, durations and sizes
  double real = 0;
  std::string text;
  std::vector<std::string> list;
  std::vector<std::pair<std::string, std::string>> map;
};

inline OptionValue option_value(const sluice_option& o, const TextNode& node) {
  OptionValue v;
  v.name = std::string(view(o.name));
  v.type = o.type;
  const auto wrong = [&](const std::string& wanted) {
    throw OptionError("option `" + v.name + "`: " + (node.kind == TextNode::Kind::kScalar ? "`" + node.text + "`" : "a list or map") + " is not " + wanted);
  };
  const bool scalar = node.kind == TextNode::Kind::kScalar;
  const std::string& t = node.text;
  switch (o.type) {
    case SLUICE_T_BOOL:
      if (!scalar || (t != "true" && t != "false")) wrong("true or false");
      v.integer = t == "true" ? 1 : 0;
      return v;
    case SLUICE_T_INT: {
      const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v.integer);
      const bool zero = t.size() > 1 && (t[0] == '0' || (t[0] == '-' && t[1] == '0'));
      if (!scalar || error != std::errc() || end != t.data() + t.size() || zero) wrong("a whole number");
      return v;
    }
    case SLUICE_T_DOUBLE: {
      const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v.real);
      if (!scalar || error != std::errc() || end != t.data() + t.size() || !std::isfinite(v.real)) wrong("a number");
      return v;
    }
    case SLUICE_T_DURATION:
      if (!scalar || !parse_duration(t, &v.integer)) wrong("a duration (250ms 10s 5m 2h 1d)");
      return v;
    case SLUICE_T_SIZE:
      if (!scalar || !parse_size(t, &v.integer)) wrong("a size (512 64KiB 10MB 1GiB)");
      return v;
    case SLUICE_T_STRING:
      if (!scalar) wrong("a text");
      v.text = t;
      return v;
    case SLUICE_T_ENUM: {
      std::string words;
      for (size_t i = 0; i < o.choice_count; ++i) {
        if (scalar && t == view(o.choices[i])) v.text = t;
        words += (i > 0 ? ", " : "") + std::string(view(o.choices[i]));
      }
      if (v.text.empty()) wrong("one of: " + words);
      return v;
    }
    case SLUICE_T_STRING_LIST:
      if (node.kind != TextNode::Kind::kList) wrong("a list of texts");
      for (const TextNode& i : node.items) {
        if (i.kind != TextNode::Kind::kScalar) wrong("a list of texts");
        v.list.push_back(i.text);
      }
      return v;
    case SLUICE_T_STRING_MAP:
      if (node.kind != TextNode::Kind::kMap) wrong("a map of texts");
      for (const auto& m : node.members) {
        if (m.second.kind != TextNode::Kind::kScalar) wrong("a map of texts");
        v.map.emplace_back(m.first, m.second.text);
      }
      return v;
    default: throw OptionError("option `" + v.name + "` has the unknown type " + std::to_string(o.type));
  }
}

// Every option that was given or has a default, in the order of the descriptor. Throws OptionError.
inline std::vector<OptionValue> read_options(const sluice_operator_desc& desc, std::string_view text) {
  const TextNode given = OptionsReader(text).document();
  if (given.kind != TextNode::Kind::kMap) throw OptionError("options: not a map");
  for (const auto& m : given.members) {
    size_t known = 0, times = 0;
    for (size_t i = 0; i < desc.option_count; ++i) known += view(desc.options[i]->name) == m.first ? 1 : 0;
    for (const auto& other : given.members) times += other.first == m.first ? 1 : 0;
    if (known == 0) throw OptionError("unknown option `" + m.first + "` of " + std::string(view(desc.type)));
    if (times > 1) throw OptionError("option `" + m.first + "` is given twice");
  }
  std::vector<OptionValue> values;
  for (size_t i = 0; i < desc.option_count; ++i) {
    const sluice_option& o = *desc.options[i];
    const TextNode* node = nullptr;
    for (const auto& m : given.members)
      if (m.first == view(o.name)) node = &m.second;
    if (node != nullptr) {
      values.push_back(option_value(o, *node));
    } else if ((o.flags & SLUICE_OPT_REQUIRED) != 0) {
      throw OptionError("option `" + std::string(view(o.name)) + "` of " + std::string(view(desc.type)) + " is required");
    } else if (o.default_yaml.data != nullptr) {
      values.push_back(option_value(o, OptionsReader(view(o.default_yaml)).single()));
    }
  }
  return values;
}

}  // namespace sluice::testing
