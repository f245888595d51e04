#include "config/pipeline_options.h"

#include <cassert>
#include <utility>

namespace sluice::config {
namespace {

OptionSpec option(std::string name, OptionType type, std::string default_yaml, std::string doc) {
  OptionSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.default_yaml = std::move(default_yaml);
  spec.doc = std::move(doc);
  return spec;
}

OptionSpec required(OptionSpec spec, std::string example) {
  spec.required = true;
  spec.example = std::move(example);
  return spec;
}

OptionSpec ranged(OptionSpec spec, int64_t min, std::optional<int64_t> max = std::nullopt) {
  spec.min = min;
  spec.max = max;
  return spec;
}

OptionSpec on_error(std::string default_yaml, std::string doc) {
  OptionSpec spec = option("on_error", OptionType::kEnum, std::move(default_yaml), std::move(doc));
  spec.choices = {"fail", "drop", "dead_letter"};
  return spec;
}

bool has(const std::vector<OptionSpec>& specs, const std::string& name) {
  for (const OptionSpec& spec : specs) {
    if (spec.name == name) return true;
  }
  return false;
}

}  // namespace

const std::vector<OptionSpec>& top_level_options() {
  static const std::vector<OptionSpec> specs = {
      required(option("pipeline", OptionType::kString, "", "Name of the pipeline: letters, digits, _ and -."),
               "orders"),
      ranged(option("parallelism", OptionType::kInt, "1", "Number of lanes of every operator."), 1, 128),
      ranged(
          option("key_groups", OptionType::kInt, "128",
                 "Parts the keys are divided into; the upper bound of every later parallelism, fixed for the life of "
                 "a checkpoint."),
          1, 32768),
      on_error("dead_letter", "What happens to a record that cannot be processed."),
  };
  return specs;
}

const std::vector<SectionSpec>& top_level_sections() {
  static const std::vector<SectionSpec> sections = {
      {"checkpoint",
       "Where and how often positions and state are saved.",
       {option("dir", OptionType::kString, "", "Folder of the checkpoints, of this pipeline alone. Default: ./checkpoints/NAME."),
        option("interval", OptionType::kDuration, "10s", "Time between two checkpoints; 0 = only the final one."),
        ranged(option("keep", OptionType::kInt, "3", "Number of restorable checkpoints that are kept."), 1, 10000),
        ranged(option("timeout", OptionType::kDuration, "10m", "Time after which a checkpoint is given up."), 1)}},
      {"dead_letters",
       "Where records go that cannot be processed.",
       {option("dir", OptionType::kString, "./dead-letters", "Folder of the dead letters.")}},
      {"limits",
       "Bounds of what the pipeline uses.",
       {ranged(option("max_record_size", OptionType::kSize, "8MiB", "A larger record is a bad record."), 1,
               int64_t{1} << 31),
        ranged(option("state_memory", OptionType::kSize, "64MiB", "Memory of caches and write buffers of all state."),
               int64_t{1} << 20),
        ranged(option("batch_rows", OptionType::kInt, "1024", "Records in one batch at most."), 1, 65536)}},
      {"plugins",
       "Where operators come from.",
       {option("dirs", OptionType::kList, "", "Folders that are searched besides the installed one.")}},
      {"metrics",
       "HTTP endpoint for metrics and health; off unless given.",
       {required(option("listen", OptionType::kString, "", "Address and port, host:port; port 0 takes a free one."),
                 "127.0.0.1:9600")}},
  };
  return sections;
}

const SectionSpec& top_level_section(const std::string& name) {
  for (const SectionSpec& section : top_level_sections()) {
    if (section.name == name) return section;
  }
  assert(false && "no such section");
  return top_level_sections().front();
}

const std::vector<OptionSpec>& operator_options() {
  static const std::vector<OptionSpec> specs = {
      required(
          option("id", OptionType::kString, "", "Name of the operator in this pipeline; its state is kept under it."),
          "orders"),
      required(option("use", OptionType::kString, "", "Type of the operator."), "kafka.source"),
      option("input", OptionType::kList, "", "Operators it reads; ID.PORT for an output other than the main one."),
      option("broadcast", OptionType::kString, "", "Operator whose records every lane gets whole."),
      option("key", OptionType::kList, "", "Fields that state is kept by; dots lead into nested fields."),
      ranged(option("parallelism", OptionType::kInt, "", "Number of lanes, when it differs from the pipeline's."), 1,
             128),
      on_error("", "What happens to a record that cannot be processed, when it differs from the pipeline's."),
  };
  return specs;
}

const std::vector<OptionSpec>& event_time_options() {
  static const std::vector<OptionSpec> specs = {
      required(option("field", OptionType::kList, "", "Fields that hold the time; the first one present is used."),
               "created_at"),
      required(option("format", OptionType::kString, "",
                      "epoch_ms, epoch_s, iso8601, or a pattern of yyyy MM dd HH mm ss SSS and literals."),
               "\"yyyy-MM-dd HH:mm:ss\""),
      option("zone", OptionType::kString, "UTC", "Time zone of times that name none."),
      option("out_of_order", OptionType::kDuration, "0",
             "How much older than the newest a record may be without being late."),
      option("idle_timeout", OptionType::kDuration, "30s",
             "Time after which a split that has been read to its end no longer holds the watermark; 0 = never."),
      option("max_ahead", OptionType::kDuration, "1d",
             "A record further ahead of the wall clock is a bad record; 0 = any."),
      option("types", OptionType::kList, "", "Record types that carry the time; all unless given."),
  };
  return specs;
}

std::string home_of_key(const std::string& key, KeyLevel level, const std::vector<OptionSpec>* operator_type_options) {
  if (level != KeyLevel::kTop && level != KeyLevel::kSection) {
    if (level != KeyLevel::kWith && operator_type_options && has(*operator_type_options, key)) return "under \"with\"";
    if (level != KeyLevel::kOperator && (has(operator_options(), key) || key == "with" || key == "event_time")) {
      return "at the operator, beside \"use\"";
    }
    if (level != KeyLevel::kEventTime && has(event_time_options(), key)) return "under \"event_time\"";
  }
  if (level != KeyLevel::kTop) {
    if (has(top_level_options(), key) || key == "operators" || key == "tests") return "at top level";
    for (const SectionSpec& section : top_level_sections()) {
      if (section.name == key) return "at top level";
    }
    return {};
  }
  if (has(operator_options(), key) || key == "with" || key == "event_time")
    return "at an operator, under \"operators\"";
  for (const SectionSpec& section : top_level_sections()) {
    if (has(section.options, key)) return "under \"" + section.name + "\"";
  }
  return {};
}

}  // namespace sluice::config
