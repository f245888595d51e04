#include "config/pipeline_document.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "config/graph_check.h"
#include "config/nearest_name.h"
#include "config/operator_section.h"
#include "config/pipeline_options.h"
#include "config/scalar_values.h"

namespace sluice::config {
namespace {

// Folders and files are called after it, with something added.
constexpr size_t kMaxNameSize = 100;

bool is_pipeline_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// host:port, the host possibly in brackets.
bool is_listen_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const ScalarResult<int64_t> port = parse_int(std::string_view(text).substr(colon + 1));
  return port.ok() && port.value >= 0 && port.value <= 65535 && text.find_first_of(" /") == std::string::npos;
}

class DocumentReader {
 public:
  DocumentReader(const std::string& file, const Node& root, const OperatorCatalog& catalog,
                 const Environment& environment, Diagnostics& diagnostics)
      : root_(root), catalog_(catalog), environment_(environment), diagnostics_(diagnostics) {
    out_.file = file;
    out_.operators_at = root.at;
  }

  PipelineDocument read() {
    if (!root_.is_map()) {
      const std::string what = root_.is_null() ? "the file is empty" : "the file is " + describe_kind(root_);
      diagnostics_.error(root_.at, "wrong-type", {}, what + "; it must consist of \"key: value\" lines", {},
                         "it begins with \"pipeline: NAME\" and has a list \"operators:\"");
      return std::move(out_);
    }
    read_top_level();
    const Node* operators = find_operators();
    read_checkpoint();
    read_dead_letters();
    read_limits();
    if (const OptionValues values = section("plugins"); values.count("dirs")) {
      out_.plugin_dirs = values.at("dirs").as_list();
    }
    read_metrics();
    if (const Entry* tests = root_.find("tests")) out_.tests = *tests;
    if (operators != nullptr) read_operators(*operators);
    check_lanes();
    return std::move(out_);
  }

 private:
  static OptionScope top_scope(const Node& root) {
    OptionScope scope;
    scope.owner = "the pipeline";
    scope.missing_at = root.at;
    scope.noun = "key";
    scope.also_known = names_of(top_level_blocks());
    for (const SectionSpec& section : top_level_sections()) scope.also_known.push_back(section.name);
    scope.synonyms = {{"name", "pipeline"},     {"steps", "operators"},       {"nodes", "operators"},
                      {"sources", "operators"}, {"sinks", "operators"},       {"transforms", "operators"},
                      {"stages", "operators"},  {"checkpoints", "checkpoint"}};
    scope.home_of = [](const std::string& key) { return home_of_key(key, KeyLevel::kTop, nullptr); };
    return scope;
  }

  void read_top_level() {
    OptionScope scope = top_scope(root_);
    const Entry* name = root_.find("pipeline");
    const bool name_is_block = name && name->node.is_map();
    std::vector<OptionSpec> specs = top_level_options();
    if (name_is_block) {  // reported by read_name_block in better words
      specs.erase(std::find_if(specs.begin(), specs.end(), [](const OptionSpec& s) { return s.name == "pipeline"; }));
      scope.also_known.push_back("pipeline");
    }
    const OptionValues values = check_options(&root_, specs, scope, diagnostics_);
    for (const Entry& entry : root_.entries) {
      const std::string meant = meant_key(entry.key, top_level_options(), scope);
      if (meant == "operators" && entry.key != "operators") operators_misspelt_ = true;
    }
    if (name_is_block) read_name_block(*name);
    if (const auto value = values.find("pipeline"); value != values.end()) take_name(value->second);
    if (const auto value = values.find("parallelism"); value != values.end()) {
      out_.parallelism = value->second.as_int();
      parallelism_at_ = value->second.at;
    }
    if (const auto value = values.find("key_groups"); value != values.end()) {
      out_.key_groups = value->second.as_int();
      lanes_known_ = values.count("parallelism") > 0;
      if (!value->second.is_default) key_groups_at_ = value->second.at;
    }
    if (const auto value = values.find("on_error"); value != values.end()) out_.on_error = on_error_of(value->second);
  }

  void take_name(const OptionValue& value) {
    out_.name = value.as_string();
    out_.name_at = value.at;
    if (out_.name.size() > kMaxNameSize)
      diagnostics_.error(value.at, "bad-name", "pipeline",
                         "the name of the pipeline has " + std::to_string(out_.name.size()) + " characters; it can have " +
                             std::to_string(kMaxNameSize));
    if (is_pipeline_name(out_.name) || out_.name.size() > kMaxNameSize) return;
    diagnostics_.error(
        value.at, "bad-name", "pipeline",
        quote(out_.name) + " cannot be the name of a pipeline: only letters, digits, _ and - are allowed");
  }

  // `pipeline:` with a block below: the indentation is wrong, or the user knows another tool.
  void read_name_block(const Entry& name) {
    const bool holds_operators = name.node.find("operators") && !root_.find("operators");
    if (holds_operators) return;  // find_operators() says it
    diagnostics_.error(name.node.at, "wrong-type", "pipeline",
                       "\"pipeline\" is only a name; a block below it is not possible", {},
                       "write pipeline: NAME, and everything else at top level");
  }

  const Node* find_operators() {
    const Entry* found = root_.find("operators");
    if (found == nullptr) {
      for (const Entry& section : root_.entries) {
        const Entry* nested = section.node.find("operators");
        if (nested == nullptr || section.key == "tests") continue;
        diagnostics_.error(
            nested->key_location, "misplaced-block", section.key + ".operators",
            "required block \"operators\" is missing at top level; there is one at " + section.key + ".operators (" +
                nested->key_location.text() + ")",
            {},
            section.key == "pipeline"
                ? "the indentation is probably wrong: write pipeline: NAME, and \"operators:\" in column 1"
                : "the indentation is probably wrong: \"operators:\" must stand in column 1");
        operators_inside_ = section.key;
        found = nested;
        break;
      }
    }
    if (found == nullptr) {
      if (!operators_misspelt_) {
        diagnostics_.error(root_.at, "missing-block", "operators", "required block \"operators\" is missing");
      }
      return nullptr;
    }
    out_.operators_at = found->key_location;
    return &found->node;
  }

  OptionValues section(const std::string& name, bool optional = false) {
    const Entry* entry = root_.find(name);
    if (entry == nullptr && optional) return {};
    OptionScope scope;
    scope.owner = name;
    scope.path = name;
    scope.missing_at = entry ? entry->key_location : root_.at;
    scope.also_known = names_of(top_level_section(name).blocks);
    if (operators_inside_ == name) scope.also_known.push_back("operators");
    scope.home_of = [](const std::string& key) { return home_of_key(key, KeyLevel::kSection, nullptr); };
    if (entry && entry->node.unresolved) return {};
    return check_options(entry ? &entry->node : nullptr, top_level_section(name).options, scope, diagnostics_);
  }

  static int64_t number(const OptionValues& values, const char* name) {
    const auto value = values.find(name);
    return value == values.end() ? 0 : value->second.as_int();
  }

  void read_checkpoint() {
    const OptionValues values = section("checkpoint");
    const Entry* entry = root_.find("checkpoint");
    out_.checkpoint.given = entry != nullptr;
    out_.checkpoint.at = entry ? entry->key_location : root_.at;
    // A store belongs to one pipeline: two files in one folder must not meet in the same one.
    const auto dir = values.find("dir");
    out_.checkpoint.dir = dir != values.end() ? dir->second.as_string() : "./checkpoints/" + out_.name;
    out_.checkpoint.dir_at = dir != values.end() ? dir->second.at : out_.checkpoint.at;
    out_.checkpoint.interval_ms = number(values, "interval");
    out_.checkpoint.keep = number(values, "keep");
    out_.checkpoint.timeout_ms = number(values, "timeout");
  }

  void read_dead_letters() {
    const OptionValues values = section("dead_letters");
    const Entry* entry = root_.find("dead_letters");
    if (const auto dir = values.find("dir"); dir != values.end()) {
      out_.dead_letters_dir = dir->second.as_string();
      out_.dead_letters_dir_at = entry ? dir->second.at : root_.at;
    }
    if (const auto tombstones = values.find("tombstones"); tombstones != values.end()) out_.tombstone_letters = tombstones->second.as_bool();
    if (values.count("use")) {
      out_.dead_letters_to = read_sink(entry->node, "dead_letters", catalog_, environment_, diagnostics_);
    } else if (const Entry* with = entry ? entry->node.find("with") : nullptr; with && !entry->node.find("use")) {
      diagnostics_.error(with->key_location, "with-without-use", "dead_letters.with",
                         "\"with\" has the options of a sink, but \"use\" names none", {},
                         "write use: kafka.sink beside it, or remove it: without \"use\" dead letters go to files in \"dir\"");
    }
  }

  void read_limits() {
    const OptionValues values = section("limits");
    const Entry* entry = root_.find("limits");
    out_.limits.at = entry ? entry->key_location : root_.at;
    out_.limits.max_record_size = number(values, "max_record_size");
    out_.limits.state_memory = number(values, "state_memory");
    out_.limits.batch_rows = number(values, "batch_rows");
  }

  void read_metrics() {
    const OptionValues values = section("metrics", true);
    const auto listen = values.find("listen");
    if (listen == values.end()) return;
    out_.metrics_listen = listen->second.as_string();
    if (is_listen_address(*out_.metrics_listen)) return;
    diagnostics_.error(listen->second.at, "bad-value", "metrics.listen",
                       quote(*out_.metrics_listen) + " is not an address and port, such as 127.0.0.1:9600");
  }

  void read_operators(const Node& operators) {
    if (!operators.is_list()) {
      if (operators.unresolved) return;
      const std::string what = operators.is_null() ? "\"operators\" is empty"
                                                   : "\"operators\" must be a list, not " + describe_kind(operators);
      diagnostics_.error(operators.at, "wrong-type", "operators", what, {}, "each operator begins with \"- id: NAME\"");
      return;
    }
    if (operators.items.empty()) {
      if (operators.unresolved) return;
      diagnostics_.error(operators.at, "wrong-type", "operators", "\"operators\" is empty");
      return;
    }
    for (size_t i = 0; i < operators.items.size(); ++i) {
      out_.operators.push_back(read_operator(operators.items[i], i, catalog_, environment_, diagnostics_));
    }
    // Two operators that ran into one, for want of the line that begins the second, say nothing about the graph.
    const bool merged = std::any_of(operators.items.begin(), operators.items.end(), [](const Node& item) {
      const auto& twice = item.repeated_keys;
      return std::find(twice.begin(), twice.end(), "use") != twice.end();
    });
    if (!merged) check_graph(out_, operators.unresolved, diagnostics_);
  }

  // Every lane needs a key group of its own.
  void check_lanes() {
    if (!lanes_known_) return;
    if (out_.parallelism > out_.key_groups) {
      diagnostics_.error(key_groups_at_.known() ? key_groups_at_ : parallelism_at_, "out-of-range", "key_groups",
                         "\"key_groups\" must be at least the parallelism (" + std::to_string(out_.parallelism) +
                             "), not " + std::to_string(out_.key_groups));
    }
    for (const OperatorSection& op : out_.operators) {
      if (!op.parallelism || *op.parallelism <= out_.key_groups) continue;
      diagnostics_.error(op.parallelism_at, "out-of-range", op.path + ".parallelism",
                         "the parallelism of operator " + quote(op.id) + " (" + std::to_string(*op.parallelism) +
                             ") is larger than \"key_groups\" (" + std::to_string(out_.key_groups) + ")");
    }
  }

  const Node& root_;
  const OperatorCatalog& catalog_;
  const Environment& environment_;
  Diagnostics& diagnostics_;
  PipelineDocument out_;
  Location parallelism_at_, key_groups_at_;
  bool lanes_known_ = false;
  bool operators_misspelt_ = false;
  std::string operators_inside_;  // section in which the operators were found instead
};

// `include: FILE` or a list of them, relative to the file that says so: their operators belong to the pipeline. For files
// only: a text from elsewhere opens none.
class Includes {
 public:
  Includes(const std::string& file, Node& root, const Environment& environment, Diagnostics& diagnostics)
      : folder_(std::filesystem::path(file).parent_path()), root_(root), environment_(environment), diagnostics_(diagnostics) {}

  void read() {
    if (!root_.is_map()) return;
    const Entry* found = root_.find("include");
    if (found == nullptr) return;
    const Node include = found->node;  // the root is about to change
    if (include.is_scalar()) read_file(include);
    else if (include.is_list())
      for (const Node& item : include.items) read_file(item);
    else
      wrong(include);
  }

 private:
  void wrong(const Node& node) {
    if (node.unresolved) return;
    diagnostics_.error(node.at, "wrong-type", "include",
                       "\"include\" must be a file or a list of files, not " + describe_kind(node));
  }

  Node& operators(const Location& at) {
    for (Entry& entry : root_.entries)
      if (entry.key == "operators") return entry.node;
    Node list;
    list.kind = Node::Kind::kList;
    list.at = at;
    root_.entries.push_back({"operators", at, std::move(list)});
    return root_.entries.back().node;
  }

  void read_file(const Node& path) {
    if (!path.is_scalar() || path.scalar.empty() || path.unresolved) {
      wrong(path);
      operators(path.at).unresolved = true;
      return;
    }
    const std::string name = (folder_ / path.scalar).string();
    std::optional<Node> included = parse_source_file(name, diagnostics_);
    if (!included || !is_included_file(*included, path)) {
      operators(path.at).unresolved = true;
      return;
    }
    replace_variables(*included, environment_.variable, diagnostics_);
    Node& all = operators(path.at);
    if (!all.is_list()) return;  // reported later
    for (const Entry& entry : included->entries) {
      if (entry.key != "operators") continue;
      if (!entry.node.is_list() && !entry.node.unresolved)
        diagnostics_.error(entry.node.at, "wrong-type", "operators",
                           "\"operators\" must be a list, not " + describe_kind(entry.node), {},
                           "each operator begins with \"- id: NAME\"");
      all.items.insert(all.items.end(), entry.node.items.begin(), entry.node.items.end());
    }
  }

  bool is_included_file(const Node& file, const Node& path) {
    if (!file.is_map()) {
      const std::string what = file.is_null() ? "the included file is empty" : "the included file is " + describe_kind(file);
      diagnostics_.error(file.at.known() ? file.at : path.at, "wrong-type", "include", what + "; it must have \"operators:\"");
      return false;
    }
    for (const Entry& entry : file.entries)
      if (entry.key != "operators")
        diagnostics_.error(entry.key_location, "unknown-key", entry.key,
                           quote(entry.key) + " is not possible in an included file", nearest_name(entry.key, {"operators"}),
                           "it may have \"operators:\" only; everything else stands in the pipeline's own file");
    return true;
  }

  const std::filesystem::path folder_;
  Node& root_;
  const Environment& environment_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<Node> read_pipeline_file(const std::string& path, const Environment& environment,
                                       Diagnostics& diagnostics) {
  std::optional<Node> root = parse_source_file(path, diagnostics);
  if (root) replace_variables(*root, environment.variable, diagnostics);
  if (root) Includes(path, *root, environment, diagnostics).read();
  return root;
}

std::optional<Node> read_pipeline_text(const std::string& file_name, std::string_view text,
                                       const Environment& environment, Diagnostics& diagnostics) {
  std::optional<Node> root = parse_source(file_name, text, diagnostics);
  if (root) replace_variables(*root, environment.variable, diagnostics);
  return root;
}

std::vector<std::string> plugin_dirs_of(const Node& root) {
  const Entry* plugins = root.find("plugins");
  const Entry* dirs = plugins ? plugins->node.find("dirs") : nullptr;
  std::vector<std::string> out;
  if (dirs == nullptr) return out;
  if (dirs->node.is_scalar() && !dirs->node.unresolved) out.push_back(dirs->node.scalar);
  for (const Node& item : dirs->node.items) {
    if (item.is_scalar() && !item.unresolved) out.push_back(item.scalar);
  }
  return out;
}

PipelineDocument check_pipeline(const std::string& file_name, const Node& root, const OperatorCatalog& catalog,
                                const Environment& environment, Diagnostics& diagnostics) {
  return DocumentReader(file_name, root, catalog, environment, diagnostics).read();
}

}  // namespace sluice::config
