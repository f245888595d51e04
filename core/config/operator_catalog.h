// What the checks need to know about operators. The plugin layer implements it; config/ depends on no plugin.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/option_spec.h"

namespace sluice::config {

struct StateSpec {
  std::string name;
  std::string ttl_option;  // the option that gives its time to live; empty = kept for ever
};

// A plain value describing one operator type.
struct OperatorSpec {
  enum class Kind { kSource, kTransform, kSink };

  std::string type;  // "kafka.source"
  Kind kind = Kind::kTransform;
  bool broadcast_input = false;  // has a second input that every lane gets whole
  bool keyed = false;            // needs `key:`
  bool key_optional = false;     // may have `key:`
  bool stateful = false;
  std::vector<std::string> output_ports;  // besides the main output: "late"
  std::vector<OptionSpec> options;
  std::vector<StateSpec> states;
  std::string summary;
  std::string version;
  std::string module_file;
};

struct FailedModule {
  std::string file;
  std::string reason;
};

// Owned by the plugin layer, outlives every check. Called from one thread. Pointers stay valid as long as the catalog.
class OperatorCatalog {
 public:
  virtual ~OperatorCatalog() = default;
  virtual const OperatorSpec* find(std::string_view type) const = 0;
  virtual std::vector<std::string> types() const = 0;
  virtual std::vector<std::string> searched_folders() const { return {}; }
  virtual std::vector<FailedModule> failed_modules() const { return {}; }
};

}  // namespace sluice::config
