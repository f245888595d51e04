// A catalog written by hand: what the checks see of the operators that the product ships.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/operator_catalog.h"
#include "config/pipeline_document.h"

namespace sluice::config::testing {

inline OptionSpec option(std::string name, OptionType type, bool required = false, std::string default_yaml = {}) {
  OptionSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.required = required;
  spec.default_yaml = std::move(default_yaml);
  return spec;
}

inline OptionSpec choice(std::string name, std::vector<std::string> choices, std::string default_yaml) {
  OptionSpec spec = option(std::move(name), OptionType::kEnum, false, std::move(default_yaml));
  spec.choices = std::move(choices);
  return spec;
}

inline OptionSpec secret(std::string name) {
  OptionSpec spec = option(std::move(name), OptionType::kString);
  spec.secret = true;
  return spec;
}

class HandCatalog final : public OperatorCatalog {
 public:
  HandCatalog() {
    using Kind = OperatorSpec::Kind;
    using Type = OptionType;
    add("kafka.source", Kind::kSource,
        {option("brokers", Type::kString, true), option("topic", Type::kString), option("topics", Type::kList),
         option("group", Type::kString),
         choice("start", {"earliest", "latest", "committed", "timestamp", "offsets"}, "committed"),
         choice("until", {"none", "end"}, "none"), option("properties", Type::kMap), secret("password")});
    add("kafka.sink", Kind::kSink,
        {option("brokers", Type::kString, true), option("topic", Type::kString, true), option("key", Type::kString)});
    add("file.source", Kind::kSource,
        {option("path", Type::kString, true), option("follow", Type::kBool, false, "false")});
    add("file.sink", Kind::kSink, {option("dir", Type::kString, true)});
    add("sqlite.sink", Kind::kSink,
        {option("path", Type::kString, true), choice("mode", {"upsert", "append"}, "upsert"),
         option("table", Type::kString), option("key", Type::kList)});
    add("console.sink", Kind::kSink, {});
    add("broadcast_filter", Kind::kTransform,
        {option("database", Type::kString), choice("on_delete", {"ignore", "apply"}, "ignore")})
        .broadcast_input = true;
    add("column_pruner", Kind::kTransform, {option("columns", Type::kList), option("from", Type::kString)});
    OperatorSpec& dedup =
        add("daily_dedup", Kind::kTransform,
            {option("ttl", Type::kDuration, false, "1d"), option("each_day", Type::kBool, false, "false")});
    dedup.keyed = true;
    dedup.stateful = true;
    OperatorSpec& window = add("tumbling_window", Kind::kTransform,
                               {option("size", Type::kDuration, true), option("offset", Type::kDuration, false, "0"),
                                option("zone", Type::kString, false, "UTC"), option("aggregates", Type::kMap),
                                choice("late", {"drop", "emit"}, "drop")});
    window.output_ports = {"late"};
    window.stateful = true;
  }

  const OperatorSpec* find(std::string_view type) const override {
    for (const OperatorSpec& spec : specs_) {
      if (spec.type == type) return &spec;
    }
    return nullptr;
  }
  std::vector<std::string> types() const override {
    std::vector<std::string> out;
    for (const OperatorSpec& spec : specs_) out.push_back(spec.type);
    return out;
  }
  std::vector<std::string> searched_folders() const override { return {"/usr/lib/sluice/plugins"}; }
  std::vector<FailedModule> failed_modules() const override { return failed; }

  std::vector<FailedModule> failed;

 private:
  OperatorSpec& add(std::string type, OperatorSpec::Kind kind, std::vector<OptionSpec> options) {
    OperatorSpec spec;
    spec.type = std::move(type);
    spec.kind = kind;
    spec.options = std::move(options);
    specs_.push_back(std::move(spec));
    return specs_.back();
  }

  std::vector<OperatorSpec> specs_;
};

// Knows the variables it is given and three time zones.
inline Environment environment(std::vector<std::pair<std::string, std::string>> variables = {}) {
  Environment out;
  out.variable = [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    for (const auto& [known, value] : variables) {
      if (known == name) return value;
    }
    return std::nullopt;
  };
  out.zone_exists = [](std::string_view name) {
    return name == "UTC" || name == "Asia/Shanghai" || name == "Europe/Berlin";
  };
  out.zone_names = [] { return std::vector<std::string>{"UTC", "Asia/Shanghai", "Europe/Berlin"}; };
  return out;
}

struct Checked {
  std::optional<PipelineDocument> document;
  Diagnostics diagnostics;
};

// Both steps on a text. The document refers to the catalog, which outlives every test.
inline Checked check(std::string_view text, const Environment& world = environment(),
                     const std::string& file_name = "p.yaml") {
  static const HandCatalog catalog;
  Checked out;
  const std::optional<Node> root = read_pipeline_text(file_name, text, world, out.diagnostics);
  if (root) out.document = check_pipeline(file_name, *root, catalog, world, out.diagnostics);
  return out;
}

}  // namespace sluice::config::testing
