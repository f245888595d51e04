// The one place where JSON is read on the hot path. simdjson finds the structure (and refuses broken UTF-8, control
// characters in strings and unclosed strings); the walk over it and the lexemes are ours, so that numbers keep their
// digits, only what was asked for is looked at, and what counts as broken does not depend on the plan:
//   - every message: UTF-8, brackets, commas and colons are right, no nesting beyond the limit
//   - fields that an operator declared: their text is a valid JSON value, else they are SLUICE_INVALID
//   - check(): the whole text is valid JSON (RFC 8259)
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/arena.h"
#include "sluice/abi.h"

namespace sluice::data {

inline constexpr size_t kMaxDepth = 512;          // levels of nesting
inline constexpr size_t kMaxNumberLength = 255;   // characters of a number

// Fields that are extracted in one pass. A path is a top-level name or names joined by dots; `\.` is a dot in a name.
class FieldSet {
 public:
  // Returns the index of the path; the same path twice is one field.
  size_t add(std::string_view path);
  size_t size() const noexcept { return paths_.size(); }
  const std::string& path(size_t i) const { return paths_[i]; }
  const std::vector<std::string>& names(size_t i) const { return names_[i]; }

 private:
  friend class JsonReader;
  struct Node {
    std::string name;
    int32_t field = -1;  // index of the field that ends here
    std::vector<Node> children;
  };
  std::vector<std::string> paths_;
  std::vector<std::vector<std::string>> names_;
  Node root_;
};
// "a.b\.c" → {"a", "b.c"}
std::vector<std::string> split_path(std::string_view path);

// Not thread-safe: one for each task. Returned views point into the text (which must have kPadding readable bytes
// behind it) or into the arena. Errors are sentences such as `unexpected ":" at byte 62`.
class JsonReader {
 public:
  JsonReader();
  ~JsonReader();
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  // The text must be one JSON object. columns[i][row] gets field i; those that are not there are SLUICE_ABSENT.
  // False: *error says why, the columns of that row are all absent.
  bool read(std::string_view text, const FieldSet& fields, sluice_value* const* columns, size_t row, Arena& arena, std::string* error);
  // Takes an object or array apart, one level; values inside are valid JSON throughout.
  bool parse(std::string_view text, sluice_value* out, Arena& arena, std::string* error);
  // The whole text is one valid JSON value.
  bool check(std::string_view text, std::string* error);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One scalar or container text that is known to be a JSON value: the reverse of append_json. For small texts.
bool is_json_number(std::string_view text) noexcept;

}  // namespace sluice::data
