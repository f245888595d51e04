#include "cli/pipeline_file.h"

#include <date/tz.h>

#include <exception>

#include "cli/program_folders.h"

namespace sluice::cli {
namespace {

// date/tz throws for unknown zones and when tzdata is not installed.
bool zone_exists(std::string_view name) {
  try {
    date::locate_zone(std::string(name));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<std::string> zone_names() {
  std::vector<std::string> names;
  try {
    for (const date::time_zone& zone : date::get_tzdb().zones) names.push_back(zone.name());
  } catch (const std::exception&) {
    names.clear();  // they are for suggestions only
  }
  return names;
}

}  // namespace

config::Environment system_environment() {
  config::Environment environment;
  environment.zone_exists = zone_exists;
  environment.zone_names = zone_names;
  return environment;
}

std::unique_ptr<PipelineFile> load_pipeline_file(const std::string& path, const std::vector<std::string>& plugin_dirs,
                                                 bool survive_plugins) {
  auto file = std::make_unique<PipelineFile>();
  const config::Environment environment = system_environment();
  const std::optional<config::Node> root = config::read_pipeline_file(path, environment, file->diagnostics);
  if (!root) return file;
  const base::Status loaded = file->registry.load_folders(plugin_folders(plugin_dirs, config::plugin_dirs_of(*root)),
                                                          {.probe_first = survive_plugins});
  if (!loaded.is_ok()) {
    for (const plugin::LoadFailure& failure : file->registry.failures())
      file->diagnostics.error({failure.file, 0, 0}, "plugin-failed", "", failure.reason);
  }
  file->catalog = std::make_unique<plugin::PluginCatalog>(file->registry);
  file->document = config::check_pipeline(path, *root, *file->catalog, environment, file->diagnostics);
  return file;
}

observe::Graph graph_of(const config::PipelineDocument& document) {
  observe::Graph graph;
  for (const config::OperatorSection& op : document.operators) {
    for (const config::InputReference& input : op.inputs) graph.links.push_back({input.id, input.port, op.id, false});
    if (op.broadcast) graph.links.push_back({op.broadcast->id, op.broadcast->port, op.id, true});
  }
  return graph;
}

}  // namespace sluice::cli
