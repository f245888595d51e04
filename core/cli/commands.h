// One function for each command: adds its arguments to the parser and what runs when it is chosen.
#pragma once
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace sluice::cli {

// The chosen command puts what it does here while arguments are parsed; it runs after that, so that nothing has
// happened when a later argument is wrong. Returns the exit status.
using Action = std::function<int()>;

void add_run_command(CLI::App& app, Action* action);
void add_validate_command(CLI::App& app, Action* action);
void add_test_command(CLI::App& app, Action* action);
void add_plugins_command(CLI::App& app, Action* action);
void add_describe_command(CLI::App& app, Action* action);
void add_checkpoints_command(CLI::App& app, Action* action);
void add_failpoints_command(CLI::App& app, Action* action);
void add_sdk_command(CLI::App& app, Action* action);
void add_version_command(CLI::App& app, Action* action);

}  // namespace sluice::cli
