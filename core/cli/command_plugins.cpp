#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/program_folders.h"
#include "plugin/library.h"
#include "plugin/negotiation.h"
#include "plugin/registry.h"

namespace sluice::cli {
namespace {

struct PluginsArguments {
  std::vector<std::string> plugin_folders;
  std::string format = "text";
};

void print_text(const plugin::PluginRegistry& registry) {
  for (const std::string& folder : registry.folders()) std::printf("searched %s\n", folder.c_str());
  if (registry.folders().empty())
    std::printf("no folder to search: %s does not exist; name one with --plugins or SLUICE_PLUGIN_PATH\n",
                own_plugin_folder().c_str());
  for (const plugin::LoadedModule* loaded : registry.modules()) {
    const plugin::Description module = plugin::describe(*loaded->module, loaded->file);
    std::printf("\n%s %s (plugin ABI %s)\n  %s\n", module.name.c_str(), module.version.c_str(), module.abi.c_str(),
                module.file.c_str());
    for (const auto& op : module.operators)
      std::printf("  %-22s %-10s %s\n", op.type.c_str(), op.kind.c_str(), op.summary.c_str());
  }
  for (const plugin::LoadFailure& failure : registry.failures())
    std::printf("\nfailed: %s\n  %s\n", failure.file.c_str(), failure.reason.c_str());
}

void print_json(const plugin::PluginRegistry& registry) {
  JsonText out;
  out.open();
  out.put("abi", plugin::host_abi());
  out.open_list("folders");
  for (const std::string& folder : registry.folders()) out.add(folder);
  out.close_list();
  out.open_list("modules");
  for (const plugin::LoadedModule* loaded : registry.modules()) {
    const plugin::Description module = plugin::describe(*loaded->module, loaded->file);
    out.open();
    out.put("name", module.name);
    out.put("version", module.version);
    out.put("vendor", module.vendor);
    out.put("build", module.build);
    out.put("abi", module.abi);
    out.put("file", module.file);
    out.open_list("operators");
    for (const auto& op : module.operators) {
      out.open();
      out.put("type", op.type);
      out.put("kind", op.kind);
      out.put("version", op.version);
      out.put("summary", op.summary);
      out.close();
    }
    out.close_list();
    out.close();
  }
  out.close_list();
  out.open_list("failed");
  for (const plugin::LoadFailure& failure : registry.failures()) {
    out.open();
    out.put("file", failure.file);
    out.put("reason", failure.reason);
    out.close();
  }
  out.close_list();
  out.close();
  std::fputs(out.text().c_str(), stdout);
}

int list_plugins(const PluginsArguments& arguments) {
  plugin::PluginRegistry registry;
  // A library that crashes while it is loaded is one more line of the list, not the end of the command.
  const base::Status loaded =
      registry.load_folders(plugin_folders(arguments.plugin_folders, {}), {.probe_first = true});
  if (arguments.format == "json") {
    print_json(registry);
  } else {
    print_text(registry);
  }
  return loaded.is_ok() ? kExitOk : kExitFailed;
}

}  // namespace

void add_plugins_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("plugins", "List plugins, their operators, and what cannot be loaded");
  const auto arguments = std::make_shared<PluginsArguments>();
  command->add_option("--plugins", arguments->plugin_folders, "One more folder with plugins; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_option("--format", arguments->format, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->capture_default_str();
  command->footer(
      "\nExit status 1 when a plugin cannot be loaded.\n\nExample:\n  sluice plugins --plugins ./my_operator/build");
  command->callback([action, arguments] { *action = [arguments] { return list_plugins(*arguments); }; });
}

}  // namespace sluice::cli
