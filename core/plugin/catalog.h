// The registry in the words of the configuration layer.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/operator_catalog.h"
#include "plugin/registry.h"
#include "sluice/abi.h"

namespace sluice::plugin {

// A descriptor as the checks want it. `file`: where it comes from, for messages.
config::OperatorSpec operator_spec(const sluice_operator_desc& desc, const std::string& file);

// A snapshot of the registry, made when its plugins are loaded; does not refer to it afterwards. Owned by the command,
// outlives the documents that were checked against it. Read by any thread.
class PluginCatalog final : public config::OperatorCatalog {
 public:
  explicit PluginCatalog(const PluginRegistry& registry);

  const config::OperatorSpec* find(std::string_view type) const override;
  std::vector<std::string> types() const override;
  std::vector<std::string> searched_folders() const override { return folders_; }
  std::vector<config::FailedModule> failed_modules() const override { return failed_; }

 private:
  std::map<std::string, config::OperatorSpec, std::less<>> specs_;
  std::vector<std::string> folders_;
  std::vector<config::FailedModule> failed_;
};

}  // namespace sluice::plugin
