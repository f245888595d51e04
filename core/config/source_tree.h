// A YAML file as a tree in which every part knows its place. The only way YAML enters the host: plugins and the other
// folders see this tree or what was checked out of it, never a YAML library.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/diagnostic.h"
#include "config/location.h"

namespace sluice::config {

struct Entry;

// A plain value; copies are deep. A null is what YAML calls null: nothing at all, `~` or `null`.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string scalar;       // text of a scalar, without quotes, variables replaced
  bool quoted = false;      // written in quotes or as a block: never a number or bool by itself
  bool replaced = false;    // a variable stood in it: characters do not correspond to columns of the file
  bool unresolved = false;  // a variable in it is not set; reported already, so nobody complains about the value again
  Location at;              // first character of the value; of its key when there is no value at all
  int last_line = 0;        // line on which the value ends
  std::vector<Entry> entries;              // of a map, in the order of the file
  std::vector<std::string> repeated_keys;  // of a map: given again and reported; the first one counts
  std::vector<Node> items;                 // of a list

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  // The entry with this key, or nullptr. Valid until the node changes.
  const Entry* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  Location key_location;
  Node node;
};

// `a list`, `a map (key: value)`, `text`, `nothing`: what the user wrote, in words.
std::string describe_kind(const Node& node);

// Bounds that keep a hostile or broken file from using up memory or stack.
struct SourceLimits {
  size_t file_bytes = 4u << 20;
  size_t nodes = 100'000;  // counted after aliases are expanded
  size_t depth = 64;
};

// Parses one YAML document. Reports syntax errors, duplicate keys, merge keys, unclosed quotes, values that silently
// run over several lines, and whatever exceeds the limits. Returns nothing when the text could not be read to its end.
// Gives `text` to `diagnostics` for quoting. Variables are not replaced yet.
std::optional<Node> parse_source(const std::string& file_name, std::string_view text, Diagnostics& diagnostics,
                                 const SourceLimits& limits = {});
// The same for a file; one that cannot be opened is reported with the reason.
std::optional<Node> parse_source_file(const std::string& path, Diagnostics& diagnostics,
                                      const SourceLimits& limits = {});

// Looks a variable up; nothing when it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;
// Looks into the process environment.
std::optional<std::string> environment_variable(const std::string& name);

// Replaces `${NAME}` and `${NAME:-default}` (default when unset or empty) in scalar values, never in keys or comments;
// `$${` becomes `${`. The value arrives as it is: it cannot change the structure. A plain scalar stays plain, so
// `port: ${PORT}` with PORT=3306 is the number 3306. A variable that is not set is reported at the scalar.
void replace_variables(Node& root, const VariableLookup& lookup, Diagnostics& diagnostics);

}  // namespace sluice::config
