#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

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

// The folder of the store that the user named. Nothing: there is none; reported.
std::optional<std::string> store_folder(const std::string& where) {
  std::error_code error;
  std::string dir = where;
  if (fs::is_regular_file(where, error)) {
    const auto found = store_of_pipeline(where);
    if (!found) {
      complain(kExitUsage, "the folder of the checkpoints cannot be read from " + where);
      return std::nullopt;
    }
    dir = *found;
  }
  if (fs::is_directory(dir, error)) return dir;
  complain(kExitUsage, dir == where ? dir + " is neither a folder nor a pipeline file"
                                    : "the checkpoint folder of " + where + ", " + dir + ", does not exist (yet)");
  return std::nullopt;
}

// Runs `use` with the store that the user named, opened beside whoever writes to it.
int with_store(const std::string& where, const std::function<int(const CheckpointStore&)>& use) {
  const auto dir = store_folder(where);
  if (!dir) return kExitUsage;
  const auto store = CheckpointStore::open_read_only(*dir);
  if (!store.is_ok()) return complain(kExitCheckpointStore, store.status().message());
  return use(*store.value());
}

// What a start would say of the newest checkpoint, whose bytes are all read.
int say_whether_usable(const base::Result<checkpoint::Manifest>& newest) {
  return newest.is_ok() ? kExitOk : complain(kExitCheckpointStore, newest.status().message());
}

// A checkpoint that has all its files need not have their contents.
void mark_damage(const CheckpointStore& store, checkpoint::CheckpointInfo& info) {
  const auto report = store.verify(info.number);
  if (!report.is_ok() || report->is_ok()) return;
  info.health = CheckpointHealth::kDamaged;
  info.problem = report->text();
}

int list(const CheckpointsArguments& arguments) {
  return with_store(arguments.where, [&](const CheckpointStore& store) -> int {
    auto all = store.list();
    const auto newest = store.latest();
    const auto last = std::find_if(all.rbegin(), all.rend(), [](const auto& info) { return info.health != CheckpointHealth::kIncomplete; });
    if (!newest.is_ok() && last != all.rend() && last->health == CheckpointHealth::kComplete) mark_damage(store, *last);
    std::fputs(
        (arguments.format == "json" ? checkpoint_list_json(store.dir(), all) : checkpoint_list_text(store.dir(), all))
            .c_str(),
        stdout);
    return say_whether_usable(newest);
  });
}

// Without a number the newest one; when that cannot be used, the newest one that can, and why.
int show(const CheckpointsArguments& arguments) {
  return with_store(arguments.where, [&](const CheckpointStore& store) -> int {
    std::vector<uint64_t> abandoned;
    const auto wanted = arguments.number ? store.load(*arguments.number) : store.latest(&abandoned);
    if (wanted.is_ok() && wanted->lineage.empty() && !abandoned.empty())
      return complain(kExitCheckpointStore, "the last run started from scratch and has no checkpoint yet; the newest one before it is " +
                                                std::to_string(abandoned.front()));
    const auto shown = wanted.is_ok() || arguments.number ? wanted : store.latest_usable(nullptr);
    if (shown.is_ok() && shown->lineage.empty()) return complain(kExitCheckpointStore, store.dir() + " holds no complete checkpoint");
    if (shown.is_ok()) std::fputs((arguments.format == "json" ? manifest_json(shown.value()) : manifest_text(shown.value())).c_str(), stdout);
    return say_whether_usable(wanted);
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

// While the pipeline runs, too: retention looks at pins each time.
int set_pin(const CheckpointsArguments& arguments, bool pinned) {
  return with_store(arguments.where, [&](const CheckpointStore& store) -> int {
    const uint64_t number = *arguments.number;
    const base::Status s = pinned ? store.pin(number) : store.unpin(number);
    if (!s.is_ok()) return complain(kExitCheckpointStore, s.message());
    std::printf("checkpoint %llu %s\n", static_cast<unsigned long long>(number),
                pinned ? "is kept until it is unpinned" : "is not pinned: it goes when newer ones take its place");
    return kExitOk;
  });
}

std::string check_number(const std::string& text) {
  return is_checkpoint_number(text) ? "" : "\"" + text + "\" is not a number of a checkpoint";
}

CLI::App* add(CLI::App* parent, const char* name, const char* what, bool takes_number, bool takes_format,
              const std::shared_ptr<CheckpointsArguments>& arguments) {
  CLI::App* command = parent->add_subcommand(name, what);
  command
      ->add_option("DIR_OR_PIPELINE", arguments->where, "Folder of the checkpoints, or the pipeline file that names it")
      ->required();
  if (takes_number)
    command->add_option("N", arguments->number, "Number of the checkpoint")->check(CLI::Validator(check_number, ""));
  if (takes_format)
    command->add_option("--format", arguments->format, "text or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}).description(""))
        ->capture_default_str();
  return command;
}

}  // namespace

void add_checkpoints_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("checkpoints", "Look at the checkpoints of a pipeline, and keep some");
  command->require_subcommand(1);
  command->footer(
      "\nAll may be used while the pipeline runs. Exit status 3 when a checkpoint is damaged or not there; \"list\" and\n"
      "\"show\" read every byte of the newest one.\n\n"
      "Examples:\n"
      "  sluice checkpoints list pipeline.yaml\n"
      "  sluice checkpoints show ./checkpoints 12\n"
      "  sluice checkpoints verify ./checkpoints\n"
      "  sluice checkpoints pin pipeline.yaml 12");
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
  for (const bool pinned : {true, false}) {
    CLI::App* pin_command = add(command, pinned ? "pin" : "unpin",
                                pinned ? "Keep one, however many newer ones there are" : "Let it go as all others do", true,
                                false, arguments);
    pin_command->get_option("N")->required();
    pin_command->footer(std::string("\nMay be used while the pipeline runs.\n\nExample:\n  sluice checkpoints ") +
                        (pinned ? "pin" : "unpin") + " pipeline.yaml 12");
    pin_command->callback([action, arguments, pinned] { *action = [arguments, pinned] { return set_pin(*arguments, pinned); }; });
  }
}

}  // namespace sluice::cli
