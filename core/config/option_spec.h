// Options as data: what a section of a file or an operator accepts, and what a user gave it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "config/diagnostic.h"
#include "config/source_tree.h"

namespace sluice::config {

enum class OptionType { kBool, kInt, kDouble, kString, kDuration, kSize, kEnum, kList, kMap };

// `whole number`, `duration`, …: the name of a type in messages and docs.
std::string type_name(OptionType type);

// A plain value; the host fills it from a plugin's descriptor or, for sections of its own, from a table.
struct OptionSpec {
  std::string name;
  OptionType type = OptionType::kString;
  bool required = false;
  bool secret = false;               // the value never appears in messages, logs or `describe`
  bool deprecated = false;           // still works, gives a warning
  bool advanced = false;             // shown last
  std::string default_yaml;          // as the user would write it: `10s`, `[a, b]`; empty = no default
  std::string unit;                  // of a plain number: "rows", "ms"
  std::string doc;                   // one sentence
  std::string example;               // as the user would write it
  std::string since;                 // version of the plugin that brought it
  std::vector<std::string> choices;  // of an enum
  std::optional<int64_t> min;        // of int, duration (ms) and size (bytes); 0 for the latter two when absent
  std::optional<int64_t> max;
};

using OptionList = std::vector<std::string>;
using OptionMap = std::vector<std::pair<std::string, std::string>>;  // in the order of the file

// A checked value. Durations are int64 milliseconds, sizes int64 bytes, enums strings.
struct OptionValue {
  OptionType type = OptionType::kString;
  std::variant<bool, int64_t, double, std::string, OptionList, OptionMap> value;
  bool secret = false;
  bool is_default = false;
  Location at;  // the value; of the section when it is a default

  bool as_bool() const { return std::get<bool>(value); }
  int64_t as_int() const { return std::get<int64_t>(value); }  // also milliseconds and bytes
  double as_double() const { return std::get<double>(value); }
  const std::string& as_string() const { return std::get<std::string>(value); }
  const OptionList& as_list() const { return std::get<OptionList>(value); }
  const OptionMap& as_map() const { return std::get<OptionMap>(value); }
};

// An option without default that was not given is not in the map.
using OptionValues = std::map<std::string, OptionValue>;

// The value as YAML text. Units are chosen to be exact: `90s`, `64MiB`.
std::string to_yaml(const OptionValue& value);
// The same with secrets replaced by `***`, also entries of a map whose key speaks of a password, secret, token or key.
std::string redacted(const OptionValue& value);
// `name: value` lines with secrets replaced, for logs and `describe`.
std::string redacted(const OptionValues& values);

// Where a section stands in the file, for messages that can say where a key belongs instead.
struct OptionScope {
  std::string owner;            // "kafka.source", "the pipeline", "checkpoint"
  std::string path;             // "operators[2].with"; empty at top level
  Location missing_at;          // shown for a missing required option: the key of the section, or its owner when absent
  std::string noun = "option";  // what a key is called in messages: "option", "setting"
  // Keys that are legal here and checked by somebody else, such as nested sections.
  std::vector<std::string> also_known;
  // What an unknown key is called here: words of other tools, `type` → `use`.
  std::map<std::string, std::string> synonyms;
  // Where else an unknown key is at home: returns `at the operator, beside "use"` or empty.
  std::function<std::string(const std::string& key)> home_of;
  // Required options that were found at a wrong place and reported there.
  std::set<std::string> reported_elsewhere;
};

// The legal key that `key` was probably meant to be, or empty.
std::string meant_key(const std::string& key, const std::vector<OptionSpec>& specs, const OptionScope& scope);

// Does the name of an option or property speak of a password, secret, token or private key?
bool is_secret_name(std::string_view name);

// Checks `node` (a map or nothing; nullptr when the section is absent) against `specs` and returns the values with
// defaults filled in. Every problem goes to `diagnostics`; the values are complete only when none was an error.
OptionValues check_options(const Node* node, const std::vector<OptionSpec>& specs, const OptionScope& scope,
                           Diagnostics& diagnostics);

// One value against one spec. `path` is that of the value. Nothing when there was an error or the value is empty.
std::optional<OptionValue> check_option(const Node& node, const OptionSpec& spec, const std::string& owner,
                                        const std::string& path, Diagnostics& diagnostics);

// The default as a value, or nothing when there is none. An error means that the author of the spec made a mistake.
base::Result<std::optional<OptionValue>> default_value(const OptionSpec& spec);
// Mistakes of the author of a table: names twice, an enum without choices, a default that cannot be read.
std::vector<std::string> check_option_specs(const std::vector<OptionSpec>& specs);

}  // namespace sluice::config
