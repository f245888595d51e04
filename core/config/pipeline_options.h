// The tables of everything a pipeline file can say, apart from the options of operators. Checks, docs and editors'
// schemas read the same tables.
#pragma once
#include <string>
#include <vector>

#include "config/option_spec.h"

namespace sluice::config {

// A key whose value is no option: blocks, rows. Its value is checked where it is read.
struct KeySpec {
  std::string name;
  std::string type;  // for people: "list of operators"
  std::string doc;
};
std::vector<std::string> names_of(const std::vector<KeySpec>& keys);

struct SectionSpec {
  std::string name;  // "checkpoint"
  std::string doc;
  std::vector<OptionSpec> options;
  std::vector<KeySpec> blocks = {};
};

// All live as long as the process and may be read from any thread.
const std::vector<OptionSpec>& top_level_options();             // pipeline, parallelism, key_groups, on_error
const std::vector<SectionSpec>& top_level_sections();           // checkpoint, dead_letters, limits, plugins, metrics
const std::vector<OptionSpec>& operator_options();              // id, use, input, broadcast, key, parallelism, on_error
const std::vector<OptionSpec>& event_time_options();            // field, format, …
const SectionSpec& top_level_section(const std::string& name);  // must exist
const std::vector<KeySpec>& top_level_blocks();                 // operators, include, tests
const std::vector<KeySpec>& operator_blocks();                  // with, event_time
// Of `tests:`: a test, a step of its input, rows that must come out, a dead letter that must.
const std::vector<KeySpec>& test_keys();
const std::vector<KeySpec>& test_step_keys();
const std::vector<KeySpec>& expected_rows_keys();
const std::vector<KeySpec>& expected_letter_keys();

// `under "checkpoint"`, `at the operator, beside "use"`: where a key belongs that is unknown at `level`; empty when
// nowhere. `operator_type_options` are those of the operator at hand, or nullptr.
enum class KeyLevel { kTop, kSection, kOperator, kWith, kEventTime };
std::string home_of_key(const std::string& key, KeyLevel level, const std::vector<OptionSpec>* operator_type_options);

}  // namespace sluice::config
