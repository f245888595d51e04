#include "config/option_spec.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/nearest_name.h"
#include "config/scalar_values.h"

namespace sluice::config {
namespace {

std::string join_path(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

std::vector<std::string> names_of(const std::vector<OptionSpec>& specs, const std::vector<std::string>& also_known) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) {
    if (!spec.deprecated) names.push_back(spec.name);
  }
  names.insert(names.end(), also_known.begin(), also_known.end());
  return names;
}

const OptionSpec* find_spec(const std::vector<OptionSpec>& specs, std::string_view name) {
  for (const OptionSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

bool is_empty(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return true;
    case Node::Kind::kScalar:
      return node.scalar.empty();
    case Node::Kind::kList:
      return node.items.empty();
    case Node::Kind::kMap:
      return node.entries.empty();
  }
  return false;
}

// Reads one value; everything it reports carries the option's name.
class ValueReader {
 public:
  ValueReader(const OptionSpec& spec, const std::string& owner, const std::string& path, Diagnostics& diagnostics)
      : spec_(spec),
        name_(quote(spec.name) + (owner.empty() ? "" : " of " + owner)),
        path_(path),
        diagnostics_(diagnostics) {}

  std::optional<OptionValue> read(const Node& node) {
    OptionValue out;
    out.type = spec_.type;
    out.secret = spec_.secret;
    out.at = node.at;
    switch (spec_.type) {
      case OptionType::kList:
        return read_list(node, std::move(out));
      case OptionType::kMap:
        return read_map(node, std::move(out));
      default:
        return read_scalar(node, std::move(out));
    }
  }

 private:
  void wrong(const Location& at, std::string code, std::string message, std::string suggestion = {},
             std::string hint = {}) {
    diagnostics_.error(at, std::move(code), path_, std::move(message), std::move(suggestion), std::move(hint));
  }

  // `problem` quotes the value, which must not happen to a secret.
  void wrong_value(const Location& at, const std::string& problem, const std::string& suggestion) {
    if (spec_.secret) {
      wrong(at, "bad-value", name_ + ": the value is not a " + type_name(spec_.type));
    } else {
      wrong(at, "bad-value", name_ + ": " + problem, suggestion);
    }
  }

  std::optional<OptionValue> read_scalar(const Node& node, OptionValue out) {
    if (!node.is_scalar()) {
      wrong(node.at, "wrong-type",
            name_ + " must be a single value (" + type_name(spec_.type) + "), not " + describe_kind(node));
      return std::nullopt;
    }
    const std::string& text = node.scalar;
    switch (spec_.type) {
      case OptionType::kBool:
        return take(parse_bool(text), node, std::move(out));
      case OptionType::kDouble:
        return take(parse_double(text), node, std::move(out));
      case OptionType::kInt:
        return take_number(parse_int(text), node, std::move(out));
      case OptionType::kDuration:
        return take_number(parse_duration(text), node, std::move(out));
      case OptionType::kSize:
        return take_number(parse_size(text), node, std::move(out));
      case OptionType::kEnum:
        return read_enum(node, std::move(out));
      default:
        out.value = text;
        return out;
    }
  }

  template <class T>
  std::optional<OptionValue> take(const ScalarResult<T>& result, const Node& node, OptionValue out) {
    if (!result.ok()) {
      wrong_value(node.at, result.problem, result.suggestion);
      return std::nullopt;
    }
    out.value = result.value;
    return out;
  }

  std::string show(int64_t number) const {
    if (spec_.type == OptionType::kDuration) return format_duration(number);
    if (spec_.type == OptionType::kSize) return format_size(number);
    return std::to_string(number);
  }

  std::optional<OptionValue> take_number(const ScalarResult<int64_t>& result, const Node& node, OptionValue out) {
    std::optional<OptionValue> value = take(result, node, std::move(out));
    if (!value) return value;
    std::string bound;
    if (spec_.min && result.value < *spec_.min) bound = "at least " + show(*spec_.min);
    if (spec_.max && result.value > *spec_.max) bound = "at most " + show(*spec_.max);
    if (bound.empty()) return value;
    wrong(node.at, "out-of-range", name_ + " must be " + bound + (spec_.secret ? "" : ", not " + node.scalar));
    return std::nullopt;
  }

  std::optional<OptionValue> read_enum(const Node& node, OptionValue out) {
    if (std::find(spec_.choices.begin(), spec_.choices.end(), node.scalar) == spec_.choices.end()) {
      wrong(node.at, "bad-choice",
            name_ + " must be " + list_names(spec_.choices) + (spec_.secret ? "" : ", not " + quote(node.scalar)),
            spec_.secret ? "" : nearest_name(node.scalar, spec_.choices));
      return std::nullopt;
    }
    out.value = node.scalar;
    return out;
  }

  std::optional<OptionValue> read_list(const Node& node, OptionValue out) {
    OptionList list;
    if (node.is_scalar()) {
      list.push_back(node.scalar);
    } else if (!node.is_list()) {
      wrong(node.at, "wrong-type", name_ + " must be a list, not " + describe_kind(node), {},
            "write [a, b], or one line \"- a\" for each");
      return std::nullopt;
    }
    bool good = true;
    for (const Node& item : node.items) {
      if (item.is_scalar()) {
        good = good && !item.unresolved;
        list.push_back(item.scalar);
        continue;
      }
      good = false;
      wrong(item.at, "wrong-type", name_ + " must be a list of single values; this item is " + describe_kind(item));
    }
    if (!good) return std::nullopt;
    out.value = std::move(list);
    return out;
  }

  std::optional<OptionValue> read_map(const Node& node, OptionValue out) {
    if (!node.is_map()) {
      wrong(node.at, "wrong-type", name_ + " must be \"key: value\" lines, not " + describe_kind(node));
      return std::nullopt;
    }
    OptionMap map;
    bool good = true;
    for (const Entry& entry : node.entries) {
      if (entry.node.is_scalar()) {
        good = good && !entry.node.unresolved;
        map.emplace_back(entry.key, entry.node.scalar);
        continue;
      }
      good = false;
      wrong(entry.node.at, "wrong-type",
            quote(entry.key) + " in " + name_ + " must be a single value, not " + describe_kind(entry.node));
    }
    if (!good) return std::nullopt;
    out.value = std::move(map);
    return out;
  }

  const OptionSpec& spec_;
  const std::string name_;
  const std::string path_;
  Diagnostics& diagnostics_;
};

// Texts that would be read back as something else need quotes.
std::string yaml_text(const std::string& text) {
  const bool plain = !text.empty() &&
                     text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_-./") == std::string::npos &&
                     text[0] != '-' && text != "null" && text != "true" && text != "false";
  if (plain) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string print(const OptionValue& value, bool redact) {
  if (redact && value.secret) return "***";
  struct Printer {
    OptionType type;
    bool redact;
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const {
      if (type == OptionType::kDuration) return format_duration(v);
      if (type == OptionType::kSize) return format_size(v);
      return std::to_string(v);
    }
    std::string operator()(double v) const {
      char buffer[40];
      const auto result = std::to_chars(buffer, buffer + sizeof buffer, v);
      return std::string(buffer, result.ptr);
    }
    std::string operator()(const std::string& v) const { return yaml_text(v); }
    std::string operator()(const OptionList& v) const {
      std::string out = "[";
      for (const std::string& item : v) out += (out.size() > 1 ? ", " : "") + yaml_text(item);
      return out + "]";
    }
    std::string operator()(const OptionMap& v) const {
      std::string out = "{";
      for (const auto& [key, item] : v) {
        out += (out.size() > 1 ? ", " : " ") + yaml_text(key) + ": " +
               (redact && is_secret_name(key) ? "***" : yaml_text(item));
      }
      return out.size() > 1 ? out + " }" : "{}";
    }
  };
  return std::visit(Printer{value.type, redact}, value.value);
}

// Quoting the file must not show a secret, whatever else is wrong on its line.
void hide_secrets(const Node& node, const OptionSpec& spec, Diagnostics& diagnostics) {
  if (spec.secret) {
    diagnostics.hide_lines(node.at.file, node.at.line, node.last_line);
    return;
  }
  for (const Entry& entry : node.entries) {
    if (is_secret_name(entry.key)) diagnostics.hide_lines(entry.node.at.file, entry.node.at.line, entry.node.last_line);
  }
}

class SectionCheck {
 public:
  SectionCheck(const std::vector<OptionSpec>& specs, const OptionScope& scope, Diagnostics& diagnostics)
      : specs_(specs), scope_(scope), diagnostics_(diagnostics), names_(names_of(specs, scope.also_known)) {}

  OptionValues run(const Node* node) {
    excused_ = scope_.reported_elsewhere;
    if (node != nullptr && !node->is_null() && !node->is_map()) {
      if (!node->unresolved) {
        diagnostics_.error(node->at, "wrong-type", scope_.path,
                           quote(last_name(scope_.path)) + (scope_.path.empty() ? "" : " of " + scope_.owner) +
                               " must be a block of \"key: value\" lines, not " + describe_kind(*node));
      }
      return {};
    }
    // Secrets first, so that no message about another option quotes their line.
    if (node != nullptr) {
      for (const Entry& entry : node->entries) {
        if (const OptionSpec* spec = find_spec(specs_, entry.key)) hide_secrets(entry.node, *spec, diagnostics_);
      }
      for (const Entry& entry : node->entries) take_entry(entry);
    }
    for (const OptionSpec& spec : specs_) fill_in(spec, node);
    return std::move(values_);
  }

 private:
  static std::string last_name(const std::string& path) {
    const size_t dot = path.rfind('.');
    return dot == std::string::npos ? path : path.substr(dot + 1);
  }

  void take_entry(const Entry& entry) {
    const OptionSpec* spec = find_spec(specs_, entry.key);
    if (spec == nullptr) {
      const auto& other = scope_.also_known;
      if (std::find(other.begin(), other.end(), entry.key) == other.end()) unknown(entry);
      return;
    }
    const std::string path = join_path(scope_.path, entry.key);
    if (spec->deprecated) {
      diagnostics_.warning(entry.key_location, "deprecated-option", path,
                           scope_.noun + " " + quote(spec->name) + " of " + scope_.owner + " is deprecated", {},
                           spec->doc);
    }
    if (entry.node.unresolved) {
      excused_.insert(spec->name);
      return;
    }
    if (is_empty(entry.node) && spec->required) {
      excused_.insert(spec->name);
      diagnostics_.error(entry.node.at, "empty-value", path,
                         scope_.noun + " " + quote(spec->name) + " of " + scope_.owner + " has no value");
      return;
    }
    if (entry.node.is_null()) {
      const std::string instead =
          spec->default_yaml.empty() ? "it counts as not given" : "the default " + spec->default_yaml + " is used";
      diagnostics_.warning(entry.key_location, "empty-value", path,
                           scope_.noun + " " + quote(spec->name) + " of " + scope_.owner + " has no value; " + instead);
      return;
    }
    excused_.insert(spec->name);
    std::optional<OptionValue> value = ValueReader(*spec, scope_.owner, path, diagnostics_).read(entry.node);
    if (value) values_[spec->name] = std::move(*value);
  }

  void unknown(const Entry& entry) {
    const std::string path = join_path(scope_.path, entry.key);
    const std::string what = "unknown " + scope_.noun + " " + quote(entry.key) + " of " + scope_.owner;
    const std::string nearest = meant_key(entry.key, specs_, scope_);
    const std::string home = scope_.home_of ? scope_.home_of(entry.key) : std::string();
    // Whatever is wrong with a misspelt option, it is not missing as well.
    if (!nearest.empty()) excused_.insert(nearest);
    if (const OptionSpec* meant = find_spec(specs_, nearest)) hide_secrets(entry.node, *meant, diagnostics_);
    if (is_secret_name(entry.key))
      diagnostics_.hide_lines(entry.node.at.file, entry.node.at.line, entry.node.last_line);
    if (!home.empty()) {
      diagnostics_.error(entry.key_location, "misplaced-option", path, what + "; it belongs " + home, {},
                         "the indentation is probably wrong");
      return;
    }
    std::string hint;
    if (nearest.empty() && names_.empty()) hint = scope_.owner + " has no options";
    if (nearest.empty() && !names_.empty()) hint = "known here: " + list_names(names_, "and", false);
    diagnostics_.error(entry.key_location, "unknown-option", path, what, nearest, hint);
  }

  void fill_in(const OptionSpec& spec, const Node* node) {
    if (excused_.count(spec.name)) return;
    if (spec.required) {
      const Location at = scope_.missing_at.known() || node == nullptr ? scope_.missing_at : node->at;
      diagnostics_.error(at, "missing-option", join_path(scope_.path, spec.name),
                         scope_.noun + " " + quote(spec.name) + " of " + scope_.owner + " is missing", {},
                         spec.example.empty() ? "" : "for example " + spec.name + ": " + spec.example);
      return;
    }
    base::Result<std::optional<OptionValue>> fallback = default_value(spec);
    if (!fallback.is_ok()) {
      diagnostics_.error(scope_.missing_at, "bad-default", join_path(scope_.path, spec.name),
                         fallback.status().message());
      return;
    }
    if (!fallback.value()) return;
    OptionValue value = std::move(*fallback.value());
    value.at = scope_.missing_at;
    values_[spec.name] = std::move(value);
  }

  const std::vector<OptionSpec>& specs_;
  const OptionScope& scope_;
  Diagnostics& diagnostics_;
  const std::vector<std::string> names_;
  std::set<std::string> excused_;  // given, or misspelt, or reported already: not missing
  OptionValues values_;
};

}  // namespace

std::string type_name(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return "true or false";
    case OptionType::kInt:
      return "whole number";
    case OptionType::kDouble:
      return "number";
    case OptionType::kString:
      return "text";
    case OptionType::kDuration:
      return "duration";
    case OptionType::kSize:
      return "size";
    case OptionType::kEnum:
      return "choice";
    case OptionType::kList:
      return "list";
    case OptionType::kMap:
      return "map";
  }
  return {};
}

std::string to_yaml(const OptionValue& value) { return print(value, false); }
std::string redacted(const OptionValue& value) { return print(value, true); }

std::string redacted(const OptionValues& values) {
  std::string out;
  for (const auto& [name, value] : values) out += name + ": " + redacted(value) + "\n";
  return out;
}

bool is_secret_name(std::string_view name) {
  std::string small;
  for (char c : name) small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::string_view word : {"password", "passwd", "secret", "token", "credential", "key.pem", "jaas", "private"}) {
    if (small.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string meant_key(const std::string& key, const std::vector<OptionSpec>& specs, const OptionScope& scope) {
  if (const auto synonym = scope.synonyms.find(key); synonym != scope.synonyms.end()) return synonym->second;
  return nearest_name(key, names_of(specs, scope.also_known));
}

OptionValues check_options(const Node* node, const std::vector<OptionSpec>& specs, const OptionScope& scope,
                           Diagnostics& diagnostics) {
  return SectionCheck(specs, scope, diagnostics).run(node);
}

std::optional<OptionValue> check_option(const Node& node, const OptionSpec& spec, const std::string& owner,
                                        const std::string& path, Diagnostics& diagnostics) {
  hide_secrets(node, spec, diagnostics);
  if (node.unresolved) return std::nullopt;
  return ValueReader(spec, owner, path, diagnostics).read(node);
}

base::Result<std::optional<OptionValue>> default_value(const OptionSpec& spec) {
  if (spec.default_yaml.empty()) return std::optional<OptionValue>();
  Diagnostics problems;
  const std::optional<Node> node = parse_source("default", spec.default_yaml, problems);
  std::optional<OptionValue> value;
  if (node) value = ValueReader(spec, {}, {}, problems).read(*node);
  if (!value || problems.has_errors()) {
    std::string message = "the default of option " + quote(spec.name) + " cannot be read: " + spec.default_yaml;
    for (const Diagnostic& problem : problems.sorted()) message += " (" + problem.message + ")";
    return base::Status::fatal(std::move(message));
  }
  value->is_default = true;
  value->at = {};
  return value;
}

std::vector<std::string> check_option_specs(const std::vector<OptionSpec>& specs) {
  std::vector<std::string> problems;
  std::set<std::string> names;
  for (const OptionSpec& spec : specs) {
    if (spec.name.empty()) problems.push_back("an option has no name");
    if (!names.insert(spec.name).second) problems.push_back("option " + quote(spec.name) + " is declared twice");
    if (spec.type == OptionType::kEnum && spec.choices.empty()) {
      problems.push_back("option " + quote(spec.name) + " has no choices");
    }
    if (spec.required && !spec.default_yaml.empty()) {
      problems.push_back("option " + quote(spec.name) + " is required and has a default");
    }
    if (const auto value = default_value(spec); !value.is_ok()) problems.push_back(value.status().message());
  }
  return problems;
}

}  // namespace sluice::config
