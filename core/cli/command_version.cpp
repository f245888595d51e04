#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/version.h"
#include "sluice/abi.h"

namespace sluice::cli {

std::string version_number() { return SLUICE_VERSION; }

std::string version_text() {
  return "sluice " + version_number() + " (plugin ABI " + std::to_string(SLUICE_ABI_MAJOR) + "." +
         std::to_string(SLUICE_ABI_MINOR) + ")";
}

void add_version_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("version", "Show the version, and that of the plugin ABI");
  command->footer("\nExample:\n  sluice version");
  command->callback([action] {
    *action = [] {
      std::puts(version_text().c_str());
      return kExitOk;
    };
  });
}

}  // namespace sluice::cli
