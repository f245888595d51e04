#include "plugin/registry.h"

#include <algorithm>
#include <filesystem>

#include "plugin/library.h"
#include "plugin/negotiation.h"

namespace sluice::plugin {
namespace {

namespace fs = std::filesystem;

base::Result<std::vector<std::string>> plugin_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator entries(folder, error);
  if (error) return base::Status::fatal("cannot be read: " + error.message());
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) return base::Status::fatal("cannot be read: " + error.message());
    std::error_code ignored;  // a dangling link is not a regular file; loading it says so
    if (entries->path().extension() == ".so" && !entries->is_directory(ignored)) files.push_back(entries->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

base::Status PluginRegistry::fail(std::string file, std::string reason) {
  base::Status status = base::Status::fatal(file + ": " + reason);
  failures_.push_back({std::move(file), std::move(reason)});
  return status;
}

base::Status PluginRegistry::load_file(const std::string& file, LoadOptions options) {
  // Messages of the library layer begin with the file.
  const auto reason = [&](const base::Status& s) {
    return s.message().rfind(file + ": ", 0) == 0 ? s.message().substr(file.size() + 2) : s.message();
  };
  if (options.probe_first) {
    if (const auto seen = probe(file); !seen.is_ok()) return fail(file, reason(seen.status()));
  }
  const auto module = open_library(file);
  if (!module.is_ok()) return fail(file, reason(module.status()));
  return enter(file, module.value());
}

base::Status PluginRegistry::add_module(const std::string& name, const sluice_module* module) {
  if (const base::Status checked = check_module(module); !checked.is_ok()) return fail(name, checked.message());
  return enter(name, module);
}

base::Status PluginRegistry::enter(const std::string& file, const sluice_module* module) {
  for (const auto& known : modules_)
    if (known->module == module) return base::Status::ok();  // the same library under another name
  for (size_t i = 0; i < module->operator_count; ++i) {
    const std::string type(view(module->operators[i]->type));
    if (const auto known = operators_.find(type); known != operators_.end())
      return fail(file, "operator \"" + type + "\" is also in " + known->second.from->file + "; remove one of the two");
  }
  modules_.push_back(std::make_unique<LoadedModule>(LoadedModule{file, module}));
  for (size_t i = 0; i < module->operator_count; ++i) {
    const sluice_operator_desc* desc = module->operators[i];
    operators_[std::string(view(desc->type))] = {desc, modules_.back().get()};
  }
  return base::Status::ok();
}

base::Status PluginRegistry::load_folders(const std::vector<std::string>& folders, LoadOptions options) {
  std::string problems;
  const auto note = [&](const base::Status& s) {
    if (!s.is_ok()) problems += (problems.empty() ? "" : "\n") + s.message();
  };
  for (const std::string& folder : folders) {
    if (std::find(folders_.begin(), folders_.end(), folder) != folders_.end()) continue;
    folders_.push_back(folder);
    const auto files = plugin_files(folder);
    if (!files.is_ok()) {
      note(fail(folder, "this plugin folder " + files.status().message()));
      continue;
    }
    for (const std::string& file : files.value()) note(load_file(file, options));
  }
  return problems.empty() ? base::Status::ok() : base::Status::fatal(std::move(problems));
}

const sluice_operator_desc* PluginRegistry::find(std::string_view type) const {
  const auto it = operators_.find(type);
  return it == operators_.end() ? nullptr : it->second.desc;
}

const LoadedModule* PluginRegistry::module_of(std::string_view type) const {
  const auto it = operators_.find(type);
  return it == operators_.end() ? nullptr : it->second.from;
}

std::vector<RegisteredOperator> PluginRegistry::operators() const {
  std::vector<RegisteredOperator> out;
  for (const auto& entry : operators_) out.push_back(entry.second);
  return out;
}

std::vector<const LoadedModule*> PluginRegistry::modules() const {
  std::vector<const LoadedModule*> out;
  for (const auto& m : modules_) out.push_back(m.get());
  return out;
}

}  // namespace sluice::plugin
