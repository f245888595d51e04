// A pipeline file, read and checked: what the planner works from.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"
#include "config/operator_catalog.h"
#include "config/option_spec.h"
#include "config/source_tree.h"
#include "config/time_format.h"

namespace sluice::config {

enum class OnError { kFail, kDrop, kDeadLetter };

struct CheckpointSection {
  bool given = false;  // false: the values are the defaults
  Location at;
  std::string dir;
  Location dir_at;
  int64_t interval_ms = 0;  // 0 = only the final one
  int64_t keep = 0;
  int64_t timeout_ms = 0;
};

struct LimitsSection {
  Location at;
  int64_t max_record_size = 0;  // bytes
  int64_t state_memory = 0;     // bytes
  int64_t batch_rows = 0;
};

struct EventTimeSection {
  Location at;                      // the `event_time` key
  std::vector<std::string> fields;  // the first one that is present wins; empty: the source itself gives the time
  TimeFormat format;
  std::string zone = "UTC";  // IANA name
  int64_t out_of_order_ms = 0;
  int64_t idle_timeout_ms = 0;  // 0 = a split never becomes idle
  int64_t max_ahead_ms = 0;
  std::vector<std::string> types;  // record types that carry the time; empty = all
};
// That of a source that gives times itself, when the file says nothing about them.
EventTimeSection own_event_time();

// What an operator reads: an operator and one of its outputs.
struct InputReference {
  std::string id;
  std::string port;  // empty = the main output
  Location at;
};

struct OperatorSection {
  Location at;       // first key of the operator
  std::string path;  // "operators[2]"
  std::string id;
  Location id_at;
  std::string use;
  Location use_at;
  const OperatorSpec* spec = nullptr;  // never null in a document without errors; owned by the catalog
  std::vector<InputReference> inputs;
  std::optional<Location> input_at;  // the `input` key
  std::optional<InputReference> broadcast;
  std::vector<std::string> key;  // dotted paths
  std::optional<Location> key_at;
  std::optional<int64_t> parallelism;
  Location parallelism_at;
  std::optional<EventTimeSection> event_time;
  OptionValues options;  // checked, defaults filled in
  std::optional<OnError> on_error;
  // Keys that were given wrongly and reported: the graph checks do not call them missing.
  std::set<std::string> reported;
};

// A plain value, in the order of the file. Refers to the catalog it was checked against.
struct PipelineDocument {
  std::string file;
  std::string name;
  Location name_at;
  int64_t parallelism = 1;
  int64_t key_groups = 128;
  CheckpointSection checkpoint;
  std::string dead_letters_dir;
  Location dead_letters_dir_at;
  std::optional<OperatorSection> dead_letters_to;  // a sink that takes them instead; its id is "dead_letters"
  bool tombstone_letters = true;  // of tombstones that nobody takes
  OnError on_error = OnError::kDeadLetter;
  LimitsSection limits;
  std::vector<std::string> plugin_dirs;
  std::optional<std::string> metrics_listen;  // host:port
  Location operators_at;
  std::vector<OperatorSection> operators;
  std::optional<Entry> tests;  // read by the pipeline tests, only located here
};

// What the checks ask of the world, so that tests depend on none of it.
struct Environment {
  VariableLookup variable = environment_variable;
  std::function<bool(std::string_view name)> zone_exists;  // empty = every name is accepted
  std::function<std::vector<std::string>()> zone_names;    // for suggestions; may be empty
};

// Step 1: the file as a tree with its variables replaced. Nothing when it could not be read.
std::optional<Node> read_pipeline_file(const std::string& path, const Environment& environment,
                                       Diagnostics& diagnostics);
// The same for a text that is not in a file.
std::optional<Node> read_pipeline_text(const std::string& file_name, std::string_view text,
                                       const Environment& environment, Diagnostics& diagnostics);
// Between the steps: the folders in `plugins.dirs`, as written, so that plugins can be loaded before the rest is
// checked. Reports nothing; step 2 does.
std::vector<std::string> plugin_dirs_of(const Node& root);
// Step 2: every check, the graph included. The document is usable only when `diagnostics` has no errors afterwards.
PipelineDocument check_pipeline(const std::string& file_name, const Node& root, const OperatorCatalog& catalog,
                                const Environment& environment, Diagnostics& diagnostics);

}  // namespace sluice::config
