#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/failpoint.h"
#include "cli/commands.h"
#include "cli/exit_code.h"

namespace sluice::cli {

// For the recovery tests, which run a job once with each of them armed.
void add_failpoints_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("failpoints", "List the places where a test can end the process");
  command->group("");  // not in --help: of no use to anybody who runs pipelines
  command->footer("\nExample:\n  SLUICE_FAILPOINT=$(sluice failpoints | head -1) sluice run pipeline.yaml");
  command->callback([action] {
    *action = [] {
      for (const std::string& name : base::failpoint_names()) std::puts(name.c_str());
      return kExitOk;
    };
  });
}

}  // namespace sluice::cli
