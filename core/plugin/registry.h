// The operators that this process knows, from the plugins in the configured folders.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sluice/abi.h"

namespace sluice::plugin {

// A plugin that is loaded. Lives as long as its registry; what `module` points to as long as the process.
struct LoadedModule {
  std::string file;  // as it was found: folder/name
  const sluice_module* module = nullptr;
};

// A file or folder that cannot be used, and why. `reason` does not repeat the file.
struct LoadFailure {
  std::string file;
  std::string reason;
};

struct RegisteredOperator {
  const sluice_operator_desc* desc = nullptr;  // lives as long as the process
  const LoadedModule* from = nullptr;          // lives as long as the registry
};

struct LoadOptions {
  bool probe_first = false;  // look at each file in a child process before it is loaded here: for commands that must survive it
};

// Owned by the command; filled by one thread before anything runs, read by any thread afterwards.
class PluginRegistry {
 public:
  PluginRegistry() = default;
  PluginRegistry(const PluginRegistry&) = delete;
  PluginRegistry& operator=(const PluginRegistry&) = delete;

  // Loads every *.so of the folders, in the order given and by name within one; a folder that was loaded before is not
  // loaded again. Goes on after a failure, so that all are known: the result is kFatal when there was any, with one line
  // for each. A file that was refused gives no operators at all.
  base::Status load_folders(const std::vector<std::string>& folders, LoadOptions options = {});
  base::Status load_file(const std::string& file, LoadOptions options = {});
  // A module that is part of this program; checked as one from a file. `name` stands where messages name the file.
  base::Status add_module(const std::string& name, const sluice_module* module);

  // Null when no plugin has it.
  const sluice_operator_desc* find(std::string_view type) const;
  // Where the operator comes from; null when no plugin has it.
  const LoadedModule* module_of(std::string_view type) const;
  std::vector<RegisteredOperator> operators() const;  // by type
  std::vector<const LoadedModule*> modules() const;   // in the order they were loaded
  const std::vector<LoadFailure>& failures() const { return failures_; }
  const std::vector<std::string>& folders() const { return folders_; }

 private:
  base::Status fail(std::string file, std::string reason);
  base::Status enter(const std::string& file, const sluice_module* module);

  std::map<std::string, RegisteredOperator, std::less<>> operators_;
  std::vector<std::unique_ptr<LoadedModule>> modules_;
  std::vector<LoadFailure> failures_;
  std::vector<std::string> folders_;
};

}  // namespace sluice::plugin
