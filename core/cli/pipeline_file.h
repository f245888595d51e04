// A pipeline file together with the plugins it is made of: what `run` and `validate` begin with.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.h"
#include "config/pipeline_document.h"
#include "observe/graph.h"
#include "plugin/catalog.h"
#include "plugin/registry.h"

namespace sluice::cli {

// Owned by the command. Members are in the order in which they may be destroyed from the back: the document refers to
// the catalog, jobs refer to document and registry.
struct PipelineFile {
  plugin::PluginRegistry registry;
  std::unique_ptr<plugin::PluginCatalog> catalog;
  config::Diagnostics diagnostics;
  std::optional<config::PipelineDocument> document;  // usable only when the diagnostics have no errors

  bool is_valid() const { return document.has_value() && !diagnostics.has_errors(); }
};

// Reads the file, loads the plugins of its folders (program_folders.h) and checks everything but what operators check
// themselves. Every problem, a plugin that cannot be loaded included, is in `diagnostics`. `survive_plugins`: look at
// each library in a child process first, before this process has threads.
std::unique_ptr<PipelineFile> load_pipeline_file(const std::string& path,
                                                 const std::vector<std::string>& plugin_folders, bool survive_plugins);

// What the checks ask of this machine: environment variables and time zones.
config::Environment system_environment();

observe::Graph graph_of(const config::PipelineDocument& document);

}  // namespace sluice::cli
