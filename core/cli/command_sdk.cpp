#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/program_folders.h"

namespace sluice::cli {
namespace {

int print_sdk_path() {
  const std::string folder = sdk_folder();
  if (folder.empty()) {
    std::fprintf(stderr, "sluice sdk path: the SDK is not installed beside this program (%s)\n",
                 program_folder().c_str());
    return kExitFailed;
  }
  std::puts(folder.c_str());
  return kExitOk;
}

}  // namespace

void add_sdk_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("sdk", "Where the SDK for plugin authors is");
  command->require_subcommand(1);
  command->footer("\nExample:\n  cp -r \"$(sluice sdk path)/template\" my_operator");
  CLI::App* path = command->add_subcommand("path", "Print the folder that holds template/, the project to start from");
  path->footer("\nExample:\n  cp -r \"$(sluice sdk path)/template\" my_operator");
  path->callback([action] { *action = print_sdk_path; });
}

}  // namespace sluice::cli
