// `sluice test`: runs the graph of a pipeline with its own operators over the rows of its `tests:`, with sources and sinks
// replaced, and compares what comes out.
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "cli/canonical_json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/log_setup.h"
#include "cli/pipeline_file.h"
#include "cli/test_clock.h"
#include "cli/test_stand_ins.h"
#include "cli/version.h"
#include "config/pipeline_tests.h"
#include "runtime/job.h"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using config::ExpectedLetter;
using config::ExpectedRows;
using config::PipelineTest;

constexpr auto kPatience = std::chrono::seconds(60);

struct TestArguments {
  std::vector<std::string> files;
  std::vector<std::string> plugin_folders;
};

// For the checkpoints and dead letters of one run; gone with it.
class RunFolder {
 public:
  RunFolder() {
    std::string name = (fs::temp_directory_path() / "sluice-test-run-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~RunFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Letter {
  std::string operator_id, reason, raw;
};
struct Results {
  std::map<std::string, std::vector<std::string>> rows;  // by stand-in
  std::vector<Letter> letters;
  std::string failure;  // empty: the run went to its end
};

// No id of an operator has a dot.
constexpr std::string_view kTap = "expect.";
std::string tap_id(const ExpectedRows& expected) { return std::string(kTap) + expected.id + (expected.port.empty() ? "" : "." + expected.port); }

bool is_sink(const config::PipelineDocument& document, const std::string& id) {
  return std::any_of(document.operators.begin(), document.operators.end(), [&](const config::OperatorSection& op) {
    return op.id == id && op.spec->kind == config::OperatorSpec::Kind::kSink;
  });
}

// The document with stand-ins for sources and sinks, and one more sink behind each other operator whose rows are expected.
config::PipelineDocument with_stand_ins(const config::PipelineDocument& document, const PipelineTest& test, const std::string& folder) {
  config::PipelineDocument out = document;
  out.parallelism = 1;  // rows keep the order of the test
  out.checkpoint.dir = folder + "/checkpoints";
  out.checkpoint.interval_ms = test.steps.size() > 1 ? 10 : 0;
  out.checkpoint.keep = 1;
  out.dead_letters_dir = folder + "/letters";
  out.dead_letters_to.reset();
  for (config::OperatorSection& op : out.operators) {
    op.parallelism.reset();
    if (op.spec->kind == config::OperatorSpec::Kind::kTransform) continue;
    op.use = op.spec->kind == config::OperatorSpec::Kind::kSource ? kTestSource : kTestSink;
    op.options.clear();
  }
  for (const ExpectedRows& expected : test.expected) {
    if (is_sink(document, expected.id)) continue;
    config::OperatorSection tap;
    tap.id = tap_id(expected);
    tap.use = kTestSink;
    tap.inputs = {{expected.id, expected.port, expected.at}};
    const auto same = [&](const config::OperatorSection& op) { return op.id == tap.id; };
    if (std::none_of(out.operators.begin(), out.operators.end(), same)) out.operators.push_back(std::move(tap));
  }
  return out;
}

std::vector<Letter> read_letters(const std::string& folder) {
  std::vector<Letter> letters;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(folder + "/letters", none)) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      rapidjson::Document d;
      d.Parse(line.data(), line.size());
      const auto text = [&](const char* name) -> std::string {
        return d.IsObject() && d.HasMember(name) && d[name].IsString() ? std::string(d[name].GetString(), d[name].GetStringLength()) : "";
      };
      // What a tap cannot read is not refused by the pipeline.
      if (text("operator").rfind(kTap, 0) != 0) letters.push_back({text("operator"), text("reason"), text("raw")});
    }
  }
  return letters;
}

// Gives one step after the other to a job that runs. Returns why it could not.
std::string drive(runtime::Job& job, TestWorld& world, const PipelineTest& test, base::ManualClock& clock, const std::atomic<bool>& ended) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto wait_until = [&](const auto& condition) {
    while (!condition()) {
      if (ended) return true;  // why is said by the job
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  };
  const auto stuck = [&](const std::string& what) {
    std::string text = fmt::format("{} within {} s", what, kPatience.count());
    for (const std::string& reason : job.progress().waiting_for) text += "; " + reason;
    return text;
  };
  for (size_t i = 0; i < test.steps.size(); ++i) {
    if (i > 0) {
      const auto taken = [&] {
        const std::lock_guard lock(world.mutex);
        return std::all_of(world.sources.begin(), world.sources.end(), [](const auto& s) { return s.second.given == s.second.released; });
      };
      if (!wait_until(taken)) return stuck(fmt::format("the rows of step {} were not taken", i));
      // A barrier that begins now passes every operator behind all rows so far: the one after the next checkpoint did.
      const uint64_t before = job.progress().checkpoint.completed;
      if (!wait_until([&] { return job.progress().checkpoint.completed >= before + 2; })) return stuck(fmt::format("step {} was not processed", i));
    }
    clock.advance(test.steps[i].advance_ms);
    const std::lock_guard lock(world.mutex);
    for (const auto& rows : test.steps[i].input) world.sources[rows.source].released += rows.rows.size();
    world.all_released = i + 1 == test.steps.size();
  }
  if (!wait_until([&] { return ended.load(); })) return stuck("the pipeline did not come to its end");
  return "";
}

Results run_test(PipelineFile& file, const PipelineTest& test, int64_t clock_ms) {
  Results results;
  const RunFolder folder;
  if (folder.path().empty()) {
    results.failure = "cannot make a folder in " + fs::temp_directory_path().string();
    return results;
  }
  TestWorld world;
  for (const config::OperatorSection& op : file.document->operators)
    if (op.spec->kind == config::OperatorSpec::Kind::kSource)
      world.sources[op.id].timed = runtime::gives_event_time(*file.document, op, file.registry, version_number());
  for (size_t i = 0; i < test.steps.size(); ++i)
    for (const auto& rows : test.steps[i].input) {
      TestWorld::Source& source = world.sources[rows.source];
      for (const auto& row : rows.rows) source.rows.push_back(row.payload);
      if (i == 0) source.snapshot = source.rows.size();
    }
  world.all_released = test.steps.empty();
  use_test_world(&world);
  const config::PipelineDocument document = with_stand_ins(*file.document, test, folder.path());
  base::ManualClock clock(clock_ms);
  runtime::JobOptions options;
  options.clock = &clock;
  options.sluice_version = version_number();
  config::Diagnostics refused;
  auto job = runtime::Job::create(document, file.registry, std::move(options), refused);
  if (!job.is_ok()) {
    results.failure = refused.has_errors() ? refused.render_text() : job.status().message();
    return results;
  }
  std::atomic<bool> ended{false};
  base::Result<runtime::Outcome> outcome = base::Status::cancelled();
  std::thread runner([&] {
    outcome = job.value()->run();
    ended = true;
  });
  results.failure = drive(*job.value(), world, test, clock, ended);
  if (!results.failure.empty()) {
    job.value()->request_stop();
    job.value()->request_stop();
  }
  runner.join();
  if (results.failure.empty() && !outcome.is_ok()) results.failure = outcome.status().message();
  use_test_world(nullptr);
  results.rows = std::move(world.sinks);
  results.letters = read_letters(folder.path());
  return results;
}

// ---- comparing ---------------------------------------------------------------------------------------------

// Lines of `expected` that are missing begin with `-`, those of `found` that are too many with `+`.
std::string difference(const std::vector<std::string>& expected, const std::vector<config::Location>& places, const std::vector<std::string>& found) {
  const size_t n = expected.size(), m = found.size();
  std::vector<std::vector<uint32_t>> common(n + 1, std::vector<uint32_t>(m + 1, 0));  // longest common part of the rests
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;)
      common[i][j] = expected[i] == found[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string out;
  for (size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && expected[i] == found[j]) {
      out += "      " + expected[i] + "\n";
      ++i, ++j;
    } else if (i < n && (j == m || common[i + 1][j] >= common[i][j + 1])) {
      out += "    - " + expected[i] + "   (" + places[i].text() + ")\n";
      ++i;
    } else {
      out += "    + " + found[j++] + "\n";
    }
  }
  return out;
}

std::string compare_rows(const ExpectedRows& expected, const std::vector<std::string>& given, const std::vector<std::string>& ignore) {
  std::vector<std::string> wanted, found;
  std::vector<config::Location> places;
  for (const auto& row : expected.rows) {
    wanted.push_back(canonical_json(row.json, ignore));
    places.push_back(row.at);
  }
  for (const std::string& row : given) found.push_back(canonical_json(row, ignore));
  const std::string who = expected.id + (expected.port.empty() ? "" : "." + expected.port);
  if (!expected.contains)
    return wanted == found ? "" : fmt::format("  {}: {}: expected {} rows, found {}\n{}", expected.at.text(), who, wanted.size(), found.size(), difference(wanted, places, found));
  std::string missing;
  std::vector<std::string> left = found;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto it = std::find(left.begin(), left.end(), wanted[i]);
    if (it != left.end()) left.erase(it);
    else missing += "    - " + wanted[i] + "   (" + places[i].text() + ")\n";
  }
  if (missing.empty()) return "";
  for (const std::string& row : left) missing += "    + " + row + "\n";
  return fmt::format("  {}: {}: rows are not among the {} that came\n{}", expected.at.text(), who, found.size(), missing);
}

std::string letter_text(const Letter& letter) { return fmt::format("{}: {}: {}", letter.operator_id, letter.reason, letter.raw); }

std::string compare_letters(const PipelineTest& test, std::vector<Letter> letters) {
  if (test.letter_count) {
    if (letters.size() == *test.letter_count) return "";
    std::string out = fmt::format("  {}: expected {} dead letters, found {}\n", test.at.text(), *test.letter_count, letters.size());
    for (const Letter& letter : letters) out += "    + " + letter_text(letter) + "\n";
    return out;
  }
  std::string out;
  for (const ExpectedLetter& expected : test.letters) {
    const auto it = std::find_if(letters.begin(), letters.end(), [&](const Letter& letter) {
      return (!expected.operator_id || *expected.operator_id == letter.operator_id) &&
             (!expected.reason || letter.reason.find(*expected.reason) != std::string::npos) && (!expected.raw || *expected.raw == letter.raw);
    });
    if (it != letters.end()) letters.erase(it);
    else
      out += fmt::format("    - {}: {}: {}   ({})\n", expected.operator_id.value_or("…"), expected.reason.value_or("…"), expected.raw.value_or("…"), expected.at.text());
  }
  for (const Letter& letter : letters) out += "    + " + letter_text(letter) + "\n";
  return out.empty() ? "" : fmt::format("  {}: dead letters\n{}", test.at.text(), out);
}

std::string judge(const config::PipelineDocument& document, const PipelineTest& test, const Results& results) {
  std::string out;
  if (!results.failure.empty()) out = fmt::format("  {}: {}\n", test.at.text(), results.failure);
  for (const ExpectedRows& expected : test.expected) {
    const auto given = results.rows.find(is_sink(document, expected.id) ? expected.id : tap_id(expected));
    out += compare_rows(expected, given != results.rows.end() ? given->second : std::vector<std::string>{}, test.ignore);
  }
  return out + compare_letters(test, results.letters);
}

// ---- the command ---------------------------------------------------------------------------------------------

int test_file(const std::string& path, const TestArguments& arguments) {
  const std::unique_ptr<PipelineFile> file = load_pipeline_file(path, arguments.plugin_folders, true);
  config::PipelineTests tests;
  if (file->is_valid()) {
    if (const base::Status s = add_test_stand_ins(file->registry); !s.is_ok()) {
      std::fprintf(stderr, "sluice test: %s\n", s.message().c_str());
      return kExitFailed;
    }
    if (!file->document->tests)
      file->diagnostics.error({path, 0, 0}, "no-tests", "tests", "the pipeline has no \"tests:\"");
    tests = config::read_tests(*file->document, file->diagnostics);
  }
  std::vector<std::optional<int64_t>> clocks;
  for (const PipelineTest& test : tests.valid) clocks.push_back(clock_of(test, file->diagnostics));
  std::fputs(file->diagnostics.render_text().c_str(), stdout);
  size_t passed = 0, failed = 0;
  for (size_t i = 0; i < tests.valid.size(); ++i) {
    const PipelineTest& test = tests.valid[i];
    if (!clocks[i]) {
      ++tests.invalid;
      continue;
    }
    const std::string problems = judge(*file->document, test, run_test(*file, test, *clocks[i]));
    ++(problems.empty() ? passed : failed);
    std::printf("%s  %s\n%s", problems.empty() ? "ok    " : "FAILED", test.name.c_str(), problems.c_str());
    std::fflush(stdout);
  }
  std::printf("%s: %zu tests, %zu passed, %zu failed, %zu invalid\n", path.c_str(), passed + failed + tests.invalid, passed, failed, tests.invalid);
  if (file->diagnostics.has_errors()) return kExitUsage;
  return failed > 0 ? kExitFailed : kExitOk;
}

int test(const TestArguments& arguments) {
  set_up_log("off", false);
  int worst = kExitOk;
  for (const std::string& path : arguments.files) worst = std::max(worst, test_file(path, arguments));
  return worst;
}

}  // namespace

void add_test_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("test", "Run the tests that a pipeline file holds");
  const auto arguments = std::make_shared<TestArguments>();
  command->add_option("PIPELINE", arguments->files, "Pipeline files")->required();
  command->add_option("--plugins", arguments->plugin_folders, "One more folder with plugins; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->footer(
      "\nThe pipeline runs with its own operators; sources and sinks are replaced, so no server is needed and nothing\n"
      "is written. Exit status 1 when a test failed, 2 when a file or a test has an error.\n\n"
      "Example:\n  sluice test pipelines/*.yaml");
  command->callback([action, arguments] { *action = [arguments] { return test(*arguments); }; });
}

}  // namespace sluice::cli
