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

OptionSpec example(OptionSpec spec, std::string text) {
  spec.example = std::move(text);
  return spec;
}

OptionSpec required(OptionSpec spec, std::string text) {
  spec.required = true;
  return example(std::move(spec), std::move(text));
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

template <class Spec>
bool has(const std::vector<Spec>& specs, const std::string& name) {
  for (const Spec& spec : specs) {
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
       {option("dir", OptionType::kString, "./dead-letters", "Folder of the dead letters."),
        option("use", OptionType::kString, "",
               "Sink that takes them instead, with its options under \"with\"; the folder is then for those it refuses."),
        option("tombstones", OptionType::kBool, "true",
               "Messages without a value that an operator does not take are dead letters; false: they are only counted.")},
       {{"with", "block", "Options of that sink."}}},
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

std::vector<std::string> names_of(const std::vector<KeySpec>& keys) {
  std::vector<std::string> names;
  for (const KeySpec& key : keys) names.push_back(key.name);
  return names;
}

const std::vector<KeySpec>& top_level_blocks() {
  static const std::vector<KeySpec> keys = {
      {"operators", "list of operators", "What the pipeline consists of, in any order. Required, here or in an included file."},
      {"include", "file, or list of them", "Files whose operators belong to the pipeline, relative to this one."},
      {"tests", "list of tests", "Tests of this pipeline, for sluice test."},
  };
  return keys;
}

const std::vector<KeySpec>& operator_blocks() {
  static const std::vector<KeySpec> keys = {
      {"with", "block", "Options of the operator's type."},
      {"event_time", "block", "Of a source: where the time of a record stands."},
  };
  return keys;
}

const std::vector<KeySpec>& test_keys() {
  static const std::vector<KeySpec> keys = {
      {"name", "text", "Shown with the result. Required."},
      {"clock", "time", "Where the wall clock stands, such as 2022-06-01T00:00:00+08:00; at the time of the run unless given."},
      {"input", "list of rows, rows by source, or list of steps", "What goes in. Required; [] is an input without rows."},
      {"expect", "list of rows, or rows by operator", "What must come out; of a sink what it is given, ID.PORT for an output other than the main one."},
      {"ignore", "list", "Columns that are not compared."},
      {"dead_letters", "whole number, or list of letters", "Those that must come; none unless given."},
  };
  return keys;
}

const std::vector<KeySpec>& test_step_keys() {
  static const std::vector<KeySpec> keys = {
      {"to", "text", "Source that is given the rows."},
      {"rows", "list of rows", "The rows."},
      {"file", "text", "File with a row in each line, instead."},
      {"advance", "duration", "How far the wall clock moves."},
  };
  return keys;
}

const std::vector<KeySpec>& expected_rows_keys() {
  static const std::vector<KeySpec> keys = {
      {"contains", "list of rows", "These must be among the rows, in any order; without this key the rows are all, in their order."},
  };
  return keys;
}

const std::vector<KeySpec>& expected_letter_keys() {
  static const std::vector<KeySpec> keys = {
      {"operator", "text", "Operator that refused the row."},
      {"reason", "text", "Part of the reason."},
      {"raw", "text", "The row as it came."},
  };
  return keys;
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
      example(option("field", OptionType::kList, "",
                     "Fields that hold the time; the first one present is used. Without it the times that the source itself gives."),
              "created_at"),
      example(option("format", OptionType::kString, "",
                     "epoch_ms, epoch_s, iso8601, or a pattern of yyyy MM dd HH mm ss SSS and literals."),
              "\"yyyy-MM-dd HH:mm:ss\""),
      option("zone", OptionType::kString, "UTC", "Time zone of times that name none."),
      option("out_of_order", OptionType::kDuration, "0",
             "How much older than the newest a record may be without being late."),
      option("idle_timeout", OptionType::kDuration, "30s",
             "Time after which a split that has been read to its end no longer holds the watermark; 0 = never."),
      option("max_ahead", OptionType::kDuration, "1d",
             "A record further ahead of the wall clock is a bad record; 0 = any."),
      option("types", OptionType::kList, "",
             "Values of the field \"type\" of the records that carry a time, the others have none; all unless given."),
  };
  return specs;
}

std::string home_of_key(const std::string& key, KeyLevel level, const std::vector<OptionSpec>* operator_type_options) {
  if (level != KeyLevel::kTop && level != KeyLevel::kSection) {
    if (level != KeyLevel::kWith && operator_type_options && has(*operator_type_options, key)) return "under \"with\"";
    if (level != KeyLevel::kOperator && (has(operator_options(), key) || has(operator_blocks(), key))) {
      return "at the operator, beside \"use\"";
    }
    if (level != KeyLevel::kEventTime && has(event_time_options(), key)) return "under \"event_time\"";
  }
  if (level != KeyLevel::kTop) {
    if (has(top_level_options(), key) || has(top_level_blocks(), key)) return "at top level";
    for (const SectionSpec& section : top_level_sections()) {
      if (section.name == key) return "at top level";
    }
    return {};
  }
  if (has(operator_options(), key) || has(operator_blocks(), key))
    return "at an operator, under \"operators\"";
  for (const SectionSpec& section : top_level_sections()) {
    if (has(section.options, key)) return "under \"" + section.name + "\"";
  }
  return {};
}

}  // namespace sluice::config
