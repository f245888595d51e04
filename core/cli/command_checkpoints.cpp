#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "checkpoint/checkpoint_store.h"
#include "cli/checkpoint_text.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/pipeline_file.h"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using checkpoint::CheckpointHealth;
using checkpoint::CheckpointStore;

struct CheckpointsArguments {
  std::string where;
  std::optional<uint64_t> number;
  std::string format = "text";
};

int complain(int exit_status, const std::string& message) {
  std::fprintf(stderr, "sluice checkpoints: %s\n", message.c_str());
  return exit_status;
}

// A scalar of the file that is written down and whose variables are set; null otherwise.
const config::Node* text_of(const config::Entry* entry) {
  return entry != nullptr && entry->node.is_scalar() && !entry->node.unresolved ? &entry->node : nullptr;
}

// `checkpoint.dir` of a pipeline file, or its default. The rest of the file is not checked: checkpoints can be looked
// at although the file, or a plugin, has errors now. Nothing: it cannot be read out of the file; reported.
std::optional<std::string> store_of_pipeline(const std::string& path) {
  config::Diagnostics diagnostics;
  const auto root = config::read_pipeline_file(path, system_environment(), diagnostics);
  if (root) {
    const config::Entry* section = root->find("checkpoint");
    const config::Entry* dir = section != nullptr ? section->node.find("dir") : nullptr;
    if (const config::Node* written = text_of(dir)) return written->scalar;
    const config::Node* name = text_of(root->find("pipeline"));
    if (dir == nullptr && name != nullptr) return "./checkpoints/" + name->scalar;
  }
  std::fputs(diagnostics.render_text().c_str(), stderr);
  return std::nullopt;
}

// Runs `use` with the store that the user named, opened beside whoever writes to it.
int with_store(const std::string& where, const std::function<int(const CheckpointStore&)>& use) {
  std::error_code error;
  std::string dir = where;
  if (fs::is_regular_file(where, error)) {
    const auto found = store_of_pipeline(where);
    if (!found) return complain(kExitUsage, "the folder of the checkpoints cannot be read from " + where);
    dir = *found;
  }
  if (!fs::is_directory(dir, error))
    return complain(kExitUsage, dir == where
                                    ? dir + " is neither a folder nor a pipeline file"
                                    : "the checkpoint folder of " + where + ", " + dir + ", does not exist (yet)");
  const auto store = CheckpointStore::open_read_only(dir);
  if (!store.is_ok()) return complain(kExitCheckpointStore, store.status().message());
  return use(*store.value());
}

int list(const CheckpointsArguments& arguments) {
  return with_store(arguments.where, [&](const CheckpointStore& store) -> int {
    const auto all = store.list();
    std::fputs(
        (arguments.format == "json" ? checkpoint_list_json(store.dir(), all) : checkpoint_list_text(store.dir(), all))
            .c_str(),
        stdout);
    return kExitOk;
  });
}

// The number the user gave, else the newest complete one. Nothing: there is none.
std::optional<uint64_t> chosen(const CheckpointStore& store, const CheckpointsArguments& arguments) {
  if (arguments.number) return arguments.number;
  std::optional<uint64_t> newest;
  for (const auto& info : store.list())
    if (info.health == CheckpointHealth::kComplete) newest = info.number;
  return newest;
}

int show(const CheckpointsArguments& arguments) {
  return with_store(arguments.where, [&](const CheckpointStore& store) -> int {
    const auto number = chosen(store, arguments);
    if (!number) return complain(kExitCheckpointStore, store.dir() + " holds no complete checkpoint");
    const auto manifest = store.load(*number);
    if (!manifest.is_ok()) return complain(kExitCheckpointStore, manifest.status().message());
    std::fputs((arguments.format == "json" ? manifest_json(manifest.value()) : manifest_text(manifest.value())).c_str(),
               stdout);
    return kExitOk;
  });
}

// One that is being written now is no damage: it is left out unless it was asked for by its number.
int verify(const CheckpointsArguments& arguments) {
  return with_store(arguments.where, [&](const CheckpointStore& store) -> int {
    std::vector<uint64_t> numbers;
    bool ok = true;
    if (arguments.number) {
      numbers.push_back(*arguments.number);
    } else {
      for (const auto& info : store.list())
        if (info.health != CheckpointHealth::kIncomplete) numbers.push_back(info.number);
    }
    if (numbers.empty()) return complain(kExitCheckpointStore, store.dir() + " holds no complete checkpoint");
    for (const uint64_t number : numbers) {
      const auto report = store.verify(number);
      if (!report.is_ok()) {
        std::printf("checkpoint %llu: cannot be used: %s\n", static_cast<unsigned long long>(number),
                    report.status().message().c_str());
      } else {
        std::fputs(verify_text(report.value()).c_str(), stdout);
      }
      ok = ok && report.is_ok() && report.value().is_ok();
    }
    return ok ? kExitOk : kExitCheckpointStore;
  });
}

CLI::App* add(CLI::App* parent, const char* name, const char* what, bool takes_number, bool takes_format,
              const std::shared_ptr<CheckpointsArguments>& arguments) {
  CLI::App* command = parent->add_subcommand(name, what);
  command
      ->add_option("DIR_OR_PIPELINE", arguments->where, "Folder of the checkpoints, or the pipeline file that names it")
      ->required();
  if (takes_number) command->add_option("N", arguments->number, "Number of the checkpoint");
  if (takes_format)
    command->add_option("--format", arguments->format, "text or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}).description(""))
        ->capture_default_str();
  return command;
}

}  // namespace

void add_checkpoints_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("checkpoints", "Look at the checkpoints of a pipeline");
  command->require_subcommand(1);
  command->footer(
      "\nChanges nothing and may be used while the pipeline runs. Exit status 3 when a checkpoint is damaged.\n\n"
      "Examples:\n"
      "  sluice checkpoints list pipeline.yaml\n"
      "  sluice checkpoints show ./checkpoints 12\n"
      "  sluice checkpoints verify ./checkpoints");
  const auto arguments = std::make_shared<CheckpointsArguments>();
  CLI::App* list_command =
      add(command, "list", "All checkpoints: number, time, size, complete or not", false, true, arguments);
  list_command->footer("\nExample:\n  sluice checkpoints list pipeline.yaml");
  list_command->callback([action, arguments] { *action = [arguments] { return list(*arguments); }; });
  CLI::App* show_command =
      add(command, "show", "What one holds: positions, watermarks, state (the newest unless a number is given)", true,
          true, arguments);
  show_command->footer("\nExample:\n  sluice checkpoints show pipeline.yaml 12");
  show_command->callback([action, arguments] { *action = [arguments] { return show(*arguments); }; });
  CLI::App* verify_command =
      add(command, "verify", "Read every byte and compare it with the checksums (all unless a number is given)", true,
          false, arguments);
  verify_command->footer("\nExample:\n  sluice checkpoints verify pipeline.yaml");
  verify_command->callback([action, arguments] { *action = [arguments] { return verify(*arguments); }; });
}

}  // namespace sluice::cli
