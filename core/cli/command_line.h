// The `sluice` command: reads the arguments, finds the command, runs it.
#pragma once
#include <string>
#include <vector>

namespace sluice::cli {

// `arguments` without the name of the program. Returns the exit status (exit_code.h). Called once, from main().
int run_command_line(std::vector<std::string> arguments);

}  // namespace sluice::cli
