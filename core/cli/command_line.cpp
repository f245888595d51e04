#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/version.h"
#include "config/nearest_name.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter = R"(
First steps:
  sluice plugins                         which operators are there
  sluice describe kafka.source           what one of them can be told
  sluice validate pipeline.yaml          is the file right
  sluice run pipeline.yaml               run it; Ctrl-C ends with a checkpoint, the next run goes on from there
  sluice checkpoints list pipeline.yaml  what it would go on from

Exit status:
  0    finished; or stopped by SIGTERM, SIGINT or SIGHUP after a final checkpoint
  1    failed
  2    wrong arguments, or errors in a pipeline file
  3    checkpoints are in use, damaged, or cannot be restored as they are
  5    stopped by a signal, but the final checkpoint could not be written
  130  stopped at once by a second signal

Environment:
  SLUICE_PLUGIN_PATH   more folders with plugins, separated by ':'
  SLUICE_DEBUG_PLUGINS 1: every command that runs pipelines does so as with "run --debug-plugins"
  ${NAME}              in a pipeline file is replaced by the variable NAME; ${NAME:-default} if it may be missing

Paths in a pipeline file are relative to the working directory.)";

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

// The command that was reached before parsing stopped; `app` itself when there was none.
const CLI::App* innermost_command(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string full_name(const CLI::App& command) {
  std::string name = command.get_name();
  for (const CLI::App* up = command.get_parent(); up != nullptr; up = up->get_parent())
    name = up->get_name() + " " + name;
  return name;
}

int complain(const CLI::App& command, const std::string& message) {
  std::fprintf(stderr, "%s: %s\nTry \"%s --help\".\n", full_name(command).c_str(), message.c_str(),
               full_name(command).c_str());
  return kExitUsage;
}

std::string did_you_mean(const std::string& wrong, const std::vector<std::string>& names) {
  const std::string nearest = config::nearest_name(wrong, names);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

// Arguments that no command takes: most often a misspelt command or option.
int explain_extras(const CLI::App& app) {
  const CLI::App* command = innermost_command(app);
  std::vector<std::string> extras = app.remaining(true);
  const std::string first = extras.empty() ? "" : extras.front();
  if (first.rfind("-", 0) == 0) {
    const std::string name = first.substr(0, first.find('='));
    return complain(*command, "there is no option \"" + name + "\"" + did_you_mean(name, option_names(*command)));
  }
  const std::vector<std::string> names = command_names(*command);
  if (names.empty()) return complain(*command, "\"" + first + "\" is one argument too many");
  return complain(*command, "there is no command \"" + first + "\"" + did_you_mean(first, names));
}

}  // namespace

int run_command_line(std::vector<std::string> arguments) {
  CLI::App app{
      "Sluice runs streaming pipelines: sources, operators and sinks from plugins, put together in a YAML file.",
      "sluice"};
  app.footer(kFooter);
  app.set_version_flag("--version", version_text());
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  Action action;
  add_run_command(app, &action);
  add_validate_command(app, &action);
  add_test_command(app, &action);
  add_plugins_command(app, &action);
  add_describe_command(app, &action);
  add_checkpoints_command(app, &action);
  add_sdk_command(app, &action);
  add_version_command(app, &action);
  add_failpoints_command(app, &action);

  std::reverse(arguments.begin(), arguments.end());  // what this parse() wants
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success& asked_for_help_or_version) {
    return app.exit(asked_for_help_or_version);
  } catch (const CLI::ExtrasError&) {
    return explain_extras(app);
  } catch (const CLI::ParseError& problem) {
    if (!app.remaining(true).empty()) return explain_extras(app);
    return complain(*innermost_command(app), problem.what());
  }
  if (!action) {
    const CLI::App* command = innermost_command(app);
    std::cerr << command->help(command->get_parent() != nullptr ? full_name(*command->get_parent()) : "");
    return kExitUsage;
  }
  // Libraries may throw; a command never ends in std::terminate.
  try {
    return action();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "sluice: %s\n", problem.what());
    return kExitFailed;
  }
}

}  // namespace sluice::cli
