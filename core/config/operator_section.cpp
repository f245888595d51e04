#include "config/operator_section.h"

#include <algorithm>
#include <utility>

#include "config/nearest_name.h"
#include "config/pipeline_options.h"

namespace sluice::config {
namespace {

void take_bounds(const OptionValues& values, EventTimeSection* event_time) {
  event_time->out_of_order_ms = values.at("out_of_order").as_int();
  event_time->idle_timeout_ms = values.at("idle_timeout").as_int();
  event_time->max_ahead_ms = values.at("max_ahead").as_int();
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Files are called after it, with something added.
constexpr size_t kMaxIdSize = 100;

class OperatorReader {
 public:
  OperatorReader(const Node& node, std::string path, const OperatorCatalog& catalog, const Environment& environment,
                 Diagnostics& diagnostics)
      : node_(node), catalog_(catalog), environment_(environment), diagnostics_(diagnostics) {
    out_.path = std::move(path);
    out_.at = node.at;
  }

  OperatorSection read_sink() {
    out_.id = out_.path;
    find_type();
    take_type();
    if (out_.spec && out_.spec->kind != OperatorSpec::Kind::kSink) {
      const bool source = out_.spec->kind == OperatorSpec::Kind::kSource;
      diagnostics_.error(out_.use_at, "not-a-sink", out_.path + ".use",
                         quote(out_.use) + " is a " + (source ? "source" : "transform") + "; \"" + out_.path +
                             "\" needs a sink");
    }
    read_with();
    return std::move(out_);
  }

  OperatorSection read() {
    if (!node_.is_map()) {
      if (!node_.unresolved) {
        diagnostics_.error(node_.at, "wrong-type", out_.path,
                           "an operator must be a block of \"key: value\" lines, not " + describe_kind(node_), {},
                           "it begins with \"- id: NAME\" and \"use: OPERATOR\" below");
      }
      out_.reported = {"input", "broadcast", "key", "use", "id"};
      return std::move(out_);
    }
    scope_ = operator_scope();
    find_type();
    find_misplaced();
    read_keys();
    read_event_time();
    read_with();
    return std::move(out_);
  }

 private:
  static bool is_operator_key(const std::string& key) {
    const auto is_it = [&](const auto& spec) { return spec.name == key; };
    return std::any_of(operator_blocks().begin(), operator_blocks().end(), is_it) ||
           std::any_of(operator_options().begin(), operator_options().end(), is_it);
  }
  bool is_type_option(const std::string& key) const {
    return out_.spec && std::any_of(out_.spec->options.begin(), out_.spec->options.end(),
                                    [&](const OptionSpec& spec) { return spec.name == key; });
  }
  const std::vector<OptionSpec>* type_options() const { return out_.spec ? &out_.spec->options : nullptr; }

  std::string owner() const {
    const Entry* id = node_.find("id");
    return id && id->node.is_scalar() && !id->node.scalar.empty() ? "operator " + quote(id->node.scalar)
                                                                  : "operator " + out_.path.substr(9);
  }

  // The entry of a key, also when it is misspelt or stands under "with" by mistake: that is reported where keys are
  // checked, and must not make everything that depends on it wrong as well.
  const Entry* entry_of(const std::string& key) const {
    if (const Entry* exact = node_.find(key)) return exact;
    for (const Entry& entry : node_.entries) {
      if (is_operator_key(entry.key) || is_type_option(entry.key)) continue;
      if (meant_key(entry.key, operator_options(), scope_) == key) return &entry;
    }
    const Entry* with = key == "with" ? nullptr : node_.find("with");
    return with && !is_type_option(key) ? with->node.find(key) : nullptr;
  }

  void find_type() {
    const Entry* use = entry_of("use");
    if (use && use->node.is_scalar() && !use->node.unresolved) out_.spec = catalog_.find(use->node.scalar);
  }

  // Keys that stand one level too deep or too high are reported where they stand, and are not missing as well.
  void find_misplaced() {
    const Entry* with = node_.find("with");
    if (with) {
      for (const Entry& entry : with->node.entries) {
        if (is_operator_key(entry.key) && !is_type_option(entry.key)) out_.reported.insert(entry.key);
      }
    }
    for (const Entry& entry : node_.entries) {
      if (!is_operator_key(entry.key) && is_type_option(entry.key)) misplaced_options_.insert(entry.key);
    }
  }

  OptionScope operator_scope() const {
    OptionScope scope;
    scope.owner = owner();
    scope.path = out_.path;
    scope.missing_at = node_.at;
    scope.noun = "key";
    scope.also_known = names_of(operator_blocks());
    scope.synonyms = {{"type", "use"},     {"operator", "use"},  {"name", "id"},       {"options", "with"},
                      {"config", "with"},  {"params", "with"},   {"settings", "with"}, {"properties", "with"},
                      {"inputs", "input"}, {"from", "input"},    {"source", "input"},  {"keys", "key"},
                      {"key_by", "key"},   {"upstream", "input"}};
    scope.home_of = [this](const std::string& key) { return home_of_key(key, KeyLevel::kOperator, type_options()); };
    return scope;
  }

  void read_keys() {
    scope_.reported_elsewhere = out_.reported;
    const OptionValues values = check_options(&node_, operator_options(), scope_, diagnostics_);
    for (const Entry& entry : node_.entries) {
      if (is_operator_key(entry.key)) {
        if (!values.count(entry.key)) out_.reported.insert(entry.key);  // given, but wrong
        continue;
      }
      const std::string meant = meant_key(entry.key, operator_options(), scope_);
      if (!meant.empty()) out_.reported.insert(meant);
    }
    take_id();
    take_type();
    take_inputs();
    if (const auto value = values.find("parallelism"); value != values.end()) {
      out_.parallelism = value->second.as_int();
      out_.parallelism_at = value->second.at;
    }
    if (const auto value = values.find("on_error"); value != values.end()) out_.on_error = on_error_of(value->second);
    take_key(values);
  }

  void take_id() {
    const Entry* id = entry_of("id");
    if (id == nullptr || !id->node.is_scalar() || id->node.scalar.empty() || id->node.unresolved) return;
    out_.id = id->node.scalar;
    out_.id_at = id->node.at;
    if (out_.id.size() > kMaxIdSize) {
      diagnostics_.error(out_.id_at, "bad-id", out_.path + ".id",
                         "the id has " + std::to_string(out_.id.size()) + " characters; it can have " +
                             std::to_string(kMaxIdSize));
      return;
    }
    if (is_operator_id(out_.id)) return;
    diagnostics_.error(out_.id_at, "bad-id", out_.path + ".id",
                       quote(out_.id) +
                           " cannot be an id: it must begin with a letter or _, followed by letters, "
                           "digits, _ or -");
  }

  void take_type() {
    const Entry* use = entry_of("use");
    if (use == nullptr || !use->node.is_scalar() || use->node.scalar.empty() || use->node.unresolved) return;
    out_.use = use->node.scalar;
    out_.use_at = use->node.at;
    if (out_.spec == nullptr) unknown_type();
  }

  void unknown_type() {
    const std::vector<std::string> types = catalog_.types();
    const std::string nearest = nearest_name(out_.use, types);
    const std::string prefix = out_.use.substr(0, out_.use.find('.'));
    std::string message = "unknown operator " + quote(out_.use);
    std::string hint;
    for (const FailedModule& module : catalog_.failed_modules()) {
      const bool likely = !prefix.empty() && module.file.find(prefix) != std::string::npos;
      if (likely && nearest.empty())
        message += "; its plugin " + module.file + " could not be loaded: " + module.reason;
      if (!likely) hint += (hint.empty() ? "" : "; ") + module.file + " could not be loaded: " + module.reason;
    }
    const bool prefix_known = std::any_of(types.begin(), types.end(), [&](const std::string& type) {
      return type == prefix || type.compare(0, prefix.size() + 1, prefix + ".") == 0;
    });
    if (nearest.empty() && !prefix_known && message.find("; its plugin") == std::string::npos) {
      const std::vector<std::string> folders = catalog_.searched_folders();
      message += "; no plugin provides it";
      if (!folders.empty()) message += ", searched in " + list_names(folders, "and");
    }
    if (nearest.empty()) {
      hint += (hint.empty() ? "" : "; ") + (types.empty() ? std::string("no operators are installed")
                                                          : "known operators: " + list_names(types, "and"));
    }
    diagnostics_.error(out_.use_at, "unknown-operator", out_.path + ".use", message, nearest, hint);
  }

  std::optional<InputReference> reference(const Node& node, const std::string& path) {
    const size_t dot = node.scalar.find('.');
    InputReference out{node.scalar.substr(0, dot), dot == std::string::npos ? "" : node.scalar.substr(dot + 1),
                       node.at};
    if (is_operator_id(out.id) && (dot == std::string::npos || !out.port.empty())) return out;
    diagnostics_.error(node.at, "bad-input", path, quote(node.scalar) + " is not an input", {},
                       "write the id of an operator, or ID.PORT");
    return std::nullopt;
  }

  void take_inputs() {
    if (const Entry* input = entry_of("input")) {
      out_.input_at = input->key_location;
      add_input(input->node, out_.path + ".input");
      for (size_t i = 0; i < input->node.items.size(); ++i) {
        add_input(input->node.items[i], out_.path + ".input[" + std::to_string(i) + "]");
      }
    }
    const Entry* broadcast = entry_of("broadcast");
    if (broadcast == nullptr || !is_reference(broadcast->node)) return;
    out_.broadcast = reference(broadcast->node, out_.path + ".broadcast");
    if (!out_.broadcast) out_.reported.insert("broadcast");
  }

  // Anything else was reported as a value of the wrong type.
  static bool is_reference(const Node& node) { return node.is_scalar() && !node.unresolved && !node.scalar.empty(); }

  void add_input(const Node& node, const std::string& path) {
    if (!is_reference(node)) return;
    std::optional<InputReference> input = reference(node, path);
    if (!input) {
      out_.reported.insert("input");
      return;
    }
    for (const InputReference& other : out_.inputs) {
      if (other.id != input->id || other.port != input->port) continue;
      diagnostics_.error(node.at, "input-twice", path, owner() + " reads " + quote(node.scalar) + " twice");
      return;
    }
    out_.inputs.push_back(std::move(*input));
  }

  void take_key(const OptionValues& values) {
    const Entry* key = node_.find("key");
    if (key == nullptr) return;
    out_.key_at = key->key_location;
    const auto value = values.find("key");
    if (value == values.end()) return;
    out_.key = value->second.as_list();
    if (out_.key.empty()) out_.key_at.reset();
    for (const std::string& field : out_.key) {
      const bool empty_part =
          field.empty() || field.front() == '.' || field.back() == '.' || field.find("..") != std::string::npos;
      if (!empty_part) continue;
      diagnostics_.error(key->node.at, "bad-key", out_.path + ".key",
                         quote(field) + " is not the name of a field or a dotted path");
    }
  }

  void read_event_time() {
    const Entry* section = entry_of("event_time");
    if (section == nullptr) return;
    if (out_.spec && out_.spec->kind != OperatorSpec::Kind::kSource) {
      diagnostics_.error(section->key_location, "event-time-not-on-source", out_.path + ".event_time",
                         "\"event_time\" is possible only on sources; " + owner() + " is a " + out_.use);
      return;
    }
    OptionScope scope;
    scope.owner = "event_time";
    scope.path = out_.path + ".event_time";
    scope.missing_at = section->key_location;
    scope.synonyms = {{"fields", "field"},
                      {"column", "field"},
                      {"timezone", "zone"},
                      {"time_zone", "zone"},
                      {"tz", "zone"},
                      {"pattern", "format"},
                      {"out_of_orderness", "out_of_order"},
                      {"max_out_of_orderness", "out_of_order"}};
    scope.home_of = [this](const std::string& key) { return home_of_key(key, KeyLevel::kEventTime, type_options()); };
    const size_t errors_before = diagnostics_.error_count();
    std::vector<OptionSpec> options = event_time_options();
    const bool of_field = is_time_of_field(section->node);
    for (OptionSpec& option : options) option.required = of_field && (option.name == "field" || option.name == "format");
    const OptionValues values = check_options(&section->node, options, scope, diagnostics_);
    EventTimeSection event_time;
    event_time.at = section->key_location;
    if (const auto format = values.find("format"); format != values.end()) {
      take_format(format->second.as_string(), section->node.find("format")->node, event_time);
    }
    if (const auto zone = values.find("zone"); zone != values.end()) {
      event_time.zone = zone->second.as_string();
      check_zone(event_time.zone, zone->second);
    }
    if (diagnostics_.error_count() != errors_before) return;
    if (of_field) event_time.fields = values.at("field").as_list();
    if (const auto types = values.find("types"); types != values.end()) event_time.types = types->second.as_list();
    take_bounds(values, &event_time);
    out_.event_time = std::move(event_time);
  }

  // Without any of these keys the times are those that the source itself gives.
  static bool is_time_of_field(const Node& section) {
    return std::any_of(section.entries.begin(), section.entries.end(), [](const Entry& entry) {
      return entry.key == "field" || entry.key == "format" || entry.key == "zone" || entry.key == "types";
    });
  }

  void take_format(const std::string& text, const Node& node, EventTimeSection& event_time) {
    TimeFormatResult result = parse_time_format(text);
    if (result.ok()) {
      event_time.format = std::move(result.value);
      return;
    }
    Location at = node.at;
    // The character itself, as long as the text stands in the file as it is.
    const bool as_written =
        !node.replaced && text.find_first_of("'\\") == std::string::npos && node.last_line == at.line;
    if (as_written) at.column += static_cast<int>(result.offset) + (node.quoted ? 1 : 0);
    diagnostics_.error(result.offset == 0 ? node.at : at, "bad-time-format", out_.path + ".event_time.format",
                       result.problem, result.suggestion);
  }

  void check_zone(const std::string& zone, const OptionValue& value) {
    if (value.is_default || !environment_.zone_exists || environment_.zone_exists(zone)) return;
    const std::string nearest = environment_.zone_names ? nearest_name(zone, environment_.zone_names()) : std::string();
    diagnostics_.error(value.at, "unknown-zone", out_.path + ".event_time.zone", "unknown time zone " + quote(zone),
                       nearest, nearest.empty() ? "names are such as UTC or Asia/Shanghai" : "");
  }

  void read_with() {
    const Entry* with = entry_of("with");
    if (out_.spec == nullptr) {
      hide_secret_lines(with);
      return;
    }
    OptionScope scope;
    scope.owner = out_.use;
    scope.path = out_.path + ".with";
    scope.missing_at = with ? with->key_location : node_.at;
    scope.home_of = [this](const std::string& key) { return home_of_key(key, KeyLevel::kWith, type_options()); };
    scope.reported_elsewhere = misplaced_options_;
    if (with && with->node.unresolved) return;
    out_.options = check_options(with ? &with->node : nullptr, out_.spec->options, scope, diagnostics_);
  }

  // Nothing is known about the options of an unknown operator: what sounds like a secret is not quoted.
  void hide_secret_lines(const Entry* with) {
    if (with == nullptr) return;
    for (const Entry& entry : with->node.entries) {
      if (is_secret_name(entry.key)) {
        diagnostics_.hide_lines(entry.node.at.file, entry.node.at.line, entry.node.last_line);
      }
    }
  }

  const Node& node_;
  const OperatorCatalog& catalog_;
  const Environment& environment_;
  Diagnostics& diagnostics_;
  OperatorSection out_;
  OptionScope scope_;                        // of the keys beside `use`
  std::set<std::string> misplaced_options_;  // options of the operator that stand beside `use`
};

}  // namespace

OperatorSection read_operator(const Node& node, size_t index, const OperatorCatalog& catalog,
                              const Environment& environment, Diagnostics& diagnostics) {
  return OperatorReader(node, "operators[" + std::to_string(index) + "]", catalog, environment, diagnostics).read();
}

OperatorSection read_sink(const Node& node, const std::string& path, const OperatorCatalog& catalog,
                          const Environment& environment, Diagnostics& diagnostics) {
  return OperatorReader(node, path, catalog, environment, diagnostics).read_sink();
}

EventTimeSection own_event_time() {
  Diagnostics none;
  EventTimeSection out;
  take_bounds(check_options(nullptr, event_time_options(), {}, none), &out);
  return out;
}

OnError on_error_of(const OptionValue& value) {
  if (value.as_string() == "fail") return OnError::kFail;
  return value.as_string() == "drop" ? OnError::kDrop : OnError::kDeadLetter;
}

bool is_operator_id(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace sluice::config
