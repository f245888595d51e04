#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/pipeline_file.h"
#include "cli/test_clock.h"
#include "cli/version.h"
#include "config/pipeline_tests.h"
#include "runtime/job.h"

namespace sluice::cli {
namespace {

struct ValidateArguments {
  std::vector<std::string> files;
  std::vector<std::string> plugin_folders;
  std::string format = "text";
  bool plan = false;
  bool connect = false;
};

struct Checked {
  std::unique_ptr<PipelineFile> file;
  std::string plan;  // empty when the pipeline has errors
  bool valid = false;                 // the file itself
  std::optional<size_t> looked_outside;  // with --connect: how many operators did
};

// Everything that can be said without a connection: the file, the graph, the plugins, the operators' own checks. With
// --connect, and when all of that is right, what the operators need outside as well.
Checked check(const std::string& path, const ValidateArguments& arguments) {
  Checked checked;
  checked.file = load_pipeline_file(path, arguments.plugin_folders, true);
  PipelineFile& file = *checked.file;
  if (!file.is_valid()) return checked;
  runtime::JobOptions options;
  options.sluice_version = version_number();
  const auto job = runtime::Job::create(*file.document, file.registry, std::move(options), file.diagnostics);
  if (job.is_ok())
    for (const config::PipelineTest& test : config::read_tests(*file.document, file.diagnostics).valid)
      clock_of(test, file.diagnostics);
  checked.valid = job.is_ok() && !file.diagnostics.has_errors();
  if (checked.valid) {
    checked.plan = job.value()->describe_plan();
    if (arguments.connect) checked.looked_outside = job.value()->check_outside(file.diagnostics);
  } else if (!file.diagnostics.has_errors()) {
    file.diagnostics.error({path, 0, 0}, "cannot-be-planned", "", job.status().message());
  }
  return checked;
}

std::string counted(size_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

void print_text(const std::string& path, const Checked& checked, bool with_plan) {
  const config::Diagnostics& found = checked.file->diagnostics;
  std::fputs(found.render_text().c_str(), stdout);
  if (found.has_errors()) {
    std::printf("%s: %s\n", path.c_str(), counted(found.error_count(), "error").c_str());
    return;
  }
  std::printf("%s: ok, %s", path.c_str(), counted(checked.file->document->operators.size(), "operator").c_str());
  if (checked.looked_outside) std::printf(", %zu of them checked outside", *checked.looked_outside);
  if (found.warning_count() > 0) std::printf(", %s", counted(found.warning_count(), "warning").c_str());
  std::printf("\n");
  if (with_plan) std::fputs(checked.plan.c_str(), stdout);
}

void write_json(JsonText& out, const std::string& path, const Checked& checked, bool with_plan) {
  out.open();
  out.put("file", path);
  out.put("valid", !checked.file->diagnostics.has_errors());
  out.put_raw("problems", checked.file->diagnostics.render_json());
  if (with_plan) out.put("plan", checked.plan);
  out.close();
}

int validate(const ValidateArguments& arguments) {
  bool valid = true, ready = true;
  JsonText json;
  json.open_list();
  for (const std::string& path : arguments.files) {
    const Checked checked = check(path, arguments);
    valid = valid && checked.valid;
    ready = ready && !checked.file->diagnostics.has_errors();
    if (arguments.format == "json") {
      write_json(json, path, checked, arguments.plan);
    } else {
      print_text(path, checked, arguments.plan);
    }
  }
  json.close_list();
  if (arguments.format == "json") std::fputs(json.text().c_str(), stdout);
  if (!valid) return kExitUsage;
  return ready ? kExitOk : kExitFailed;
}

}  // namespace

void add_validate_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("validate", "Check pipeline files without running them");
  const auto arguments = std::make_shared<ValidateArguments>();
  command->add_option("PIPELINE", arguments->files, "Pipeline files")->required();
  command->add_option("--plugins", arguments->plugin_folders, "One more folder with plugins; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_flag("--plan", arguments->plan, "Show how the pipeline would run: stages, lanes, how rows move");
  command->add_flag("--connect", arguments->connect,
                    "Also ask each operator to look at what it needs outside: servers, topics, files; changes nothing");
  command->add_option("--format", arguments->format, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->capture_default_str();
  command->footer(
      "\nWithout --connect no connection and no data file is opened. Exit status 2 when any of the files has an\n"
      "error; 1 when the files are right and something outside is not.\n\n"
      "Example:\n  sluice validate --plan pipelines/*.yaml");
  command->callback([action, arguments] { *action = [arguments] { return validate(*arguments); }; });
}

}  // namespace sluice::cli
