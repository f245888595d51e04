#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/checkpoint_text.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/log_setup.h"
#include "cli/pipeline_file.h"
#include "cli/stop_signals.h"
#include "cli/version.h"
#include "observe/http_endpoint.h"
#include "observe/progress_reporter.h"
#include "observe/progress_view.h"
#include "runtime/handed_out.h"
#include "runtime/job.h"

namespace sluice::cli {
namespace {

struct RunArguments {
  std::string file;
  std::string from;
  std::vector<std::string> drop_states;
  bool accept_duplicates = false;
  bool debug_plugins = false;
  std::optional<int64_t> parallelism;
  std::vector<std::string> plugin_folders;
  std::optional<std::string> metrics;
  std::string log_level = "info";
  std::string log_format = "text";
  std::string progress = "auto";
};

void print_diagnostics(const config::Diagnostics& diagnostics) { error_area().write(diagnostics.render_text()); }

// A console sink writes rows to the same terminal that the picture is drawn on.
bool writes_rows_to_terminal(const config::PipelineDocument& document) {
  const bool console = std::any_of(document.operators.begin(), document.operators.end(),
                                   [](const config::OperatorSection& op) { return op.use.rfind("console", 0) == 0; });
  return console && ::isatty(STDOUT_FILENO) == 1;
}

// Nothing: no progress is shown.
std::optional<observe::ProgressStyle> progress_style(const std::string& wanted,
                                                     const config::PipelineDocument& document) {
  if (wanted == "off") return std::nullopt;
  if (wanted == "live") return observe::ProgressStyle::kLive;
  if (wanted == "plain" || !error_area().is_terminal() || writes_rows_to_terminal(document))
    return observe::ProgressStyle::kPlain;
  return observe::ProgressStyle::kLive;
}

std::string signal_name(int signal) { return std::string("SIG") + ::sigabbrev_np(signal); }

// First signal: stop with a checkpoint. Second: without. Third: whatever hangs, the process ends.
void on_stop_signal(runtime::Job& job, std::atomic<unsigned>& stops, int signal, unsigned count) {
  stops = count;
  if (count == 1) spdlog::info("{}: stopping with a checkpoint; once more stops at once, without", signal_name(signal));
  if (count == 2) spdlog::warn("{}: stopping at once, without a checkpoint", signal_name(signal));
  if (count > 2) {
    error_area().clear();
    ::_exit(kExitInterrupted);
  }
  job.request_stop();
}

// Job::run() says what a failure has to do with: what it could not open, read or restore begins with `checkpoints: `.
bool is_about_checkpoints(const base::Status& status) { return status.message().rfind("checkpoints: ", 0) == 0; }

int exit_status(const base::Result<runtime::Outcome>& outcome, unsigned stops, const observe::Progress& last) {
  if (outcome.is_ok() && outcome.value() == runtime::Outcome::kFinished) return kExitOk;
  if (stops > 1) return kExitInterrupted;
  if (outcome.is_ok()) return last.checkpoint.last_error.empty() ? kExitOk : kExitNoFinalCheckpoint;
  if (outcome.status().code() == base::Code::kCancelled && stops > 0) return kExitNoFinalCheckpoint;
  return is_about_checkpoints(outcome.status()) ? kExitCheckpointStore : kExitFailed;
}

base::Result<std::unique_ptr<observe::HttpEndpoint>> start_endpoint(const observe::ListenAddress& address,
                                                                    const runtime::Job& job,
                                                                    const config::PipelineDocument& document) {
  observe::HttpEndpointOptions options;
  options.progress = [&job] { return job.progress(); };
  options.graph = graph_of(document);
  options.health = {document.checkpoint.interval_ms, document.checkpoint.timeout_ms};
  options.sluice_version = version_number();
  auto endpoint = observe::HttpEndpoint::start(address, std::move(options));
  if (!endpoint.is_ok()) return endpoint.status();
  const observe::ListenAddress& at = endpoint.value()->address();
  spdlog::info("metrics, health and dashboard at {}{}", at.url(),
               at.loopback() ? "" : " (reachable from other machines, without a password)");
  return endpoint;
}

int run_job(runtime::Job& job, const RunArguments& arguments, const config::PipelineDocument& document,
            const std::optional<observe::ListenAddress>& address, StopSignals& signals) {
  std::unique_ptr<observe::HttpEndpoint> endpoint;
  if (address) {
    auto started = start_endpoint(*address, job, document);
    if (!started.is_ok()) {
      spdlog::error("{}", started.status().message());
      return kExitFailed;
    }
    endpoint = std::move(started).value();
  }
  std::atomic<unsigned> stops{0};
  signals.listen([&](int signal, unsigned count) { on_stop_signal(job, stops, signal, count); });

  std::unique_ptr<observe::ProgressReporter> reporter;
  if (const auto style = progress_style(arguments.progress, document)) {
    observe::ProgressReporter::Options options;
    options.style = *style;
    options.progress = [&job] { return job.progress(); };
    options.graph = graph_of(document);
    options.area = &error_area();
    options.log_line = [](const std::string& line) { spdlog::info("{}", line); };
    reporter = std::make_unique<observe::ProgressReporter>(std::move(options));
  }
  const base::Result<runtime::Outcome> outcome = job.run();
  reporter.reset();

  observe::Progress last = job.progress();
  last.phase = !outcome.is_ok() ? "failed" : outcome.value() == runtime::Outcome::kFinished ? "finished" : "stopped";
  const int status = exit_status(outcome, stops, last);
  for (const std::string& line : observe::summary_lines(last, graph_of(document))) spdlog::info("{}", line);
  if (!outcome.is_ok()) spdlog::error("{}", outcome.status().message());
  if (status == kExitNoFinalCheckpoint)
    spdlog::error("stopped without a final checkpoint; the next run goes on from the last complete one");
  return status;
}

int run(const RunArguments& arguments) {
  set_up_log(arguments.log_level, arguments.log_format == "json");
  std::optional<observe::ListenAddress> address;
  const auto take_address = [&](const std::string& text) {
    const auto parsed = observe::parse_listen_address(text);
    if (!parsed.is_ok()) spdlog::error("{}", parsed.status().message());
    if (parsed.is_ok()) address = parsed.value();
    return parsed.is_ok();
  };
  if (arguments.debug_plugins) runtime::debug_plugins(true);
  if (arguments.metrics && !take_address(*arguments.metrics)) return kExitUsage;

  StopSignals signals;
  const std::unique_ptr<PipelineFile> file = load_pipeline_file(arguments.file, arguments.plugin_folders, true);
  if (!file->is_valid()) {
    print_diagnostics(file->diagnostics);
    return kExitUsage;
  }
  config::PipelineDocument& document = *file->document;
  if (arguments.parallelism) document.parallelism = *arguments.parallelism;
  if (document.parallelism > document.key_groups) {
    spdlog::error("--parallelism {} is more than the {} key groups of the pipeline", document.parallelism,
                  document.key_groups);
    return kExitUsage;
  }
  if (!address && document.metrics_listen && !take_address(*document.metrics_listen)) return kExitUsage;

  runtime::JobOptions options;
  options.from = arguments.from;
  options.drop_states = arguments.drop_states;
  options.accept_duplicates = arguments.accept_duplicates;
  options.sluice_version = version_number();
  auto job = runtime::Job::create(document, file->registry, std::move(options), file->diagnostics);
  print_diagnostics(file->diagnostics);  // warnings, too
  if (!job.is_ok()) {
    if (!file->diagnostics.has_errors()) spdlog::error("{}: {}", arguments.file, job.status().message());
    return kExitUsage;
  }
  return run_job(*job.value(), arguments, document, address, signals);
}

std::string check_from(const std::string& text) {
  return is_checkpoint_number(text) || text == "none" ? "" : "\"" + text + "\" is neither a number of a checkpoint nor \"none\"";
}

}  // namespace

void add_run_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("run", "Run a pipeline until its input ends, or it is stopped");
  const auto arguments = std::make_shared<RunArguments>();
  command->add_option("PIPELINE", arguments->file, "Pipeline file")->required();
  command
      ->add_option("--from", arguments->from,
                   "Start from this checkpoint instead of the newest; \"none\": from scratch, with the start options "
                   "of the sources")
      ->type_name("N|none")
      ->check(CLI::Validator(check_from, ""));
  command
      ->add_option("--drop-state", arguments->drop_states,
                   "Give up the state of an operator (ID, or ID/STATE) that the checkpoint has; may be repeated")
      ->type_name("ID")
      ->allow_extra_args(false);
  command->add_flag("--accept-duplicates", arguments->accept_duplicates,
                    "Go on although a sink holds rows from after the checkpoint, which will come twice");
  command->add_option("--parallelism", arguments->parallelism, "Lanes of every operator, instead of what the file says")
      ->type_name("N")
      ->check(CLI::Range(1, 128).description(""));
  command->add_option("--plugins", arguments->plugin_folders, "One more folder with plugins; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_flag("--debug-plugins", arguments->debug_plugins,
                    "Overwrite what a plugin was handed when its call returns, and name a plugin that uses it later; slow");
  command
      ->add_option(
          "--metrics", arguments->metrics,
          "Serve metrics, health and a dashboard over HTTP; a port alone is this machine only, port 0 takes a free one")
      ->type_name("[HOST:]PORT");
  command->add_option("--log-level", arguments->log_level, "trace, debug, info, warn, error or off")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}).description(""))
      ->capture_default_str();
  command->add_option("--log-format", arguments->log_format, "text, or json: one object for each line")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->capture_default_str();
  command
      ->add_option(
          "--progress", arguments->progress,
          "live: a picture that is drawn again and again; plain: a log line every 10 s; off; auto: live on a terminal")
      ->type_name("STYLE")
      ->check(CLI::IsMember({"auto", "live", "plain", "off"}).description(""))
      ->capture_default_str();
  command->footer(
      "\nLog and progress go to standard error. A run goes on from the newest checkpoint when there is one.\n"
      "SIGTERM, SIGINT (Ctrl-C) and SIGHUP end the run with a checkpoint; a second one ends it at once.\n"
      "Exit status: see \"sluice --help\".\n\n"
      "Example:\n  sluice run --metrics 9464 pipelines/dws.yaml");
  command->callback([action, arguments] { *action = [arguments] { return run(*arguments); }; });
}

}  // namespace sluice::cli
