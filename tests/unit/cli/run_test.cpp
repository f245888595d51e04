// `sluice run` from files to files: exit statuses, signals, and what it says.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "run_sluice.h"

extern char** environ;

using namespace sluice::cli::testing;

namespace {

// A pipeline over three rows, one of them broken, in a folder of its own.
struct Copy {
  explicit Copy(bool follow) {
    folder.write("in.jsonl", "{\"a\":1}\nbroken\n{\"a\":2}\n");
    pipeline = folder.write("copy.yaml", "pipeline: copy\ncheckpoint: { dir: " + folder.path("ck") +
                                             ", interval: 100ms }\ndead_letters: { dir: " + folder.path("dead") +
                                             " }\noperators:\n  - id: lines\n    use: file.source\n    with: { path: " +
                                             folder.path("in.jsonl") + (follow ? ", follow: true" : "") +
                                             " }\n  - id: out\n    use: console.sink\n    input: lines\n");
  }
  Folder folder;
  std::string pipeline;
};

// Of several lanes, in whatever order.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// A run in the background whose standard error goes to a file.
class Running {
 public:
  Running(const std::string& pipeline, const std::string& err) : err_(err) {
    std::string program = SLUICE_PROGRAM, command = "run", file = pipeline, metrics = "--metrics", port = "0";
    char* argv[] = {program.data(), command.data(), file.data(), metrics.data(), port.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0644);
    REQUIRE(::posix_spawn(&pid_, program.c_str(), &files, nullptr, argv, environ) == 0);
    posix_spawn_file_actions_destroy(&files);
  }
  ~Running() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  // False: it did not come within a minute.
  bool wait_for(const std::string& path, const std::string& text) const {
    for (int i = 0; i < 6000; ++i) {
      if (read(path).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  void signal(int number) const { ::kill(pid_, number); }
  int exit_status() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& err() const { return err_; }

 private:
  std::string err_;
  pid_t pid_ = 0;
};

bool has_checkpoint(const Copy& copy) {
  for (int i = 0; i < 600; ++i) {
    if (run_sluice({"checkpoints", "list", copy.pipeline}).out.find("complete") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

}  // namespace

TEST_CASE("a bounded run ends with status 0 and a summary; the next one has nothing left to do") {
  const Copy copy(false);
  const Ran first = run_sluice({"run", copy.pipeline});
  INFO(first.err);
  CHECK(first.exit_status == 0);
  CHECK(first.out == "{\"a\":1}\n{\"a\":2}\n");
  CHECK_THAT(first.err, Catch::Contains("copy: finished after ") && Catch::Contains(": 3 rows in, 2 out\n") &&
                            Catch::Contains("1 dead letter in " + copy.folder.path("dead") + "\n") &&
                            Catch::Contains("info  last checkpoint: "));
  const Ran second = run_sluice({"run", copy.pipeline, "--log-format", "json"});
  INFO(second.err);
  CHECK(second.exit_status == 0);
  CHECK(second.out.empty());
  CHECK_THAT(second.err, Catch::Contains("; this run started from checkpoint "));
  CHECK(second.err.front() == '{');

  const Ran again = run_sluice({"run", copy.pipeline, "--from", "none"});
  CHECK(again.exit_status == 0);
  CHECK(again.out == first.out);
  const Ran missing = run_sluice({"run", copy.pipeline, "--from", "99"});
  CHECK(missing.exit_status == 3);
  CHECK_THAT(missing.err,
             Catch::EndsWith("error checkpoints: there is no checkpoint 99 in " + copy.folder.path("ck") + "\n"));
}

TEST_CASE("a run that is given more goes on with the windows; other options are refused before a row is read") {
  const Folder folder;
  const auto pipeline = [&](const std::string& size, const std::string& key) {
    return folder.write("w.yaml", "pipeline: w\ncheckpoint: { dir: " + folder.path("ck") +
                                      " }\noperators:\n  - id: lines\n    use: file.source\n    with: { path: " + folder.path("in") +
                                      " }\n    event_time: { field: t, format: epoch_ms, out_of_order: 5s }\n"
                                      "  - id: windows\n    use: tumbling_window\n    input: lines\n" +
                                      key + "    with: { size: " + size +
                                      ", aggregates: { n: count }, time_format: epoch_ms, end_column: '', version_column: '' }\n"
                                      "  - id: out\n    use: console.sink\n    input: windows\n");
  };
  const std::string key = GENERATE(as<std::string>{}, "", "    key: k\n");
  std::filesystem::create_directory(folder.path("in"));
  CAPTURE(key);
  folder.write("in/1.jsonl", "{\"k\":1,\"t\":1000}\n{\"k\":1,\"t\":16000}\n");
  CHECK(run_sluice({"run", pipeline("10s", key)}).out == "{\"stt\":0,\"n\":1}\n{\"stt\":10000,\"n\":1}\n");
  // The first window was closed by the watermark, 11 s, the second one by the end only.
  folder.write("in/2.jsonl", "{\"k\":1,\"t\":2000}\n{\"k\":1,\"t\":17000}\n");
  const Ran more = run_sluice({"run", pipeline("10s", key)});
  INFO(more.err);
  CHECK(more.out == "{\"stt\":10000,\"n\":2}\n");
  CHECK_THAT(more.err, Catch::Contains("windows: corrections 1, late_dropped 1, results 1"));
  folder.write("in/3.jsonl", "{\"k\":2,\"t\":30000}\n");
  const Ran other = run_sluice({"run", pipeline("20s", key)});
  CHECK(other.exit_status == 1);
  CHECK(other.out.empty());
  CHECK_THAT(other.err, Catch::Contains("operator \"windows\" (tumbling_window): its window state was written with other options"));
  CHECK(run_sluice({"run", pipeline("20s", key), "--drop-state", "windows"}).out == "{\"stt\":20000,\"n\":1}\n");
}

TEST_CASE("a signal ends a run with a checkpoint; meanwhile nobody else can use its checkpoints") {
  const Copy copy(true);
  Running running(copy.pipeline, copy.folder.path("err"));
  REQUIRE(running.wait_for(running.err(), "dashboard at http://127.0.0.1:"));
  REQUIRE(has_checkpoint(copy));

  const Ran second = run_sluice({"run", copy.pipeline});
  CHECK(second.exit_status == 3);
  CHECK_THAT(second.err,
             Catch::Contains("error checkpoints: the checkpoints in ") && Catch::Contains(" are in use by process "));

  const int signal = GENERATE(SIGTERM, SIGINT, SIGHUP);
  running.signal(SIGUSR2);  // of somebody who thinks that it reloads something
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  running.signal(signal);
  running.signal(signal);  // as timeout(1) does
  CHECK(running.exit_status() == 0);
  CHECK_THAT(read(running.err()),
             Catch::Contains(": stopping with a checkpoint") && Catch::Contains("copy: stopped after "));
  CHECK(run_sluice({"checkpoints", "verify", copy.pipeline}).exit_status == 0);
}

TEST_CASE("a stop that cannot end with a checkpoint has a status of its own") {
  const Folder folder;
  folder.write("in.jsonl", "{\"a\":1}\n");
  const auto waiting = [&](const std::string& where) {
    return folder.write("w.yaml", "pipeline: w\nplugins: { dirs: [" SLUICE_TEST_PLUGINS "/waiting] }\ncheckpoint: { dir: " + folder.path("ck") +
                                      " }\noperators:\n  - id: lines\n    use: file.source\n    with: { path: " + folder.path("in.jsonl") +
                                      " }\n  - id: w\n    use: test.waits\n    input: lines\n    with: { where: " + where +
                                      " }\n  - id: out\n    use: console.sink\n    input: w\n");
  };
  SECTION("no checkpoint is possible yet: 5") {
    Running running(waiting("open"), folder.path("err"));
    REQUIRE(running.wait_for(running.err(), "dashboard at http://127.0.0.1:"));
    running.signal(SIGTERM);
    CHECK(running.exit_status() == 5);
    CHECK_THAT(read(running.err()),
               Catch::Contains("error stopped while waiting for operator \"w\": nobody is there\n") &&
                   Catch::EndsWith("error stopped without a final checkpoint; the next run goes on from the last complete one\n"));
  }
  SECTION("a second signal: 130") {
    Running running(waiting("process"), folder.path("err"));
    REQUIRE(running.wait_for(running.err(), "dashboard at http://127.0.0.1:"));
    running.signal(SIGTERM);
    REQUIRE(running.wait_for(running.err(), "SIGTERM: stopping with a checkpoint"));
    // What it waits for, without anybody having asked.
    REQUIRE(running.wait_for(running.err(), "warn  operator \"w\" (lane 0) cannot go on: nobody is there; it tries again and again\n"));
    running.signal(SIGINT);
    CHECK(running.exit_status() == 130);
    CHECK_THAT(read(running.err()), Catch::Contains("SIGINT: stopping at once, without a checkpoint"));
  }
  SECTION("a third one, when a plugin does not return: 130") {
    Running running(waiting("hangs"), folder.path("err"));
    REQUIRE(running.wait_for(running.err(), "hanging"));
    running.signal(SIGTERM);
    REQUIRE(running.wait_for(running.err(), "SIGTERM: stopping with a checkpoint"));
    running.signal(SIGINT);
    REQUIRE(running.wait_for(running.err(), "SIGINT: stopping at once, without a checkpoint"));
    running.signal(SIGTERM);
    CHECK(running.exit_status() == 130);
  }
}

TEST_CASE("a job that cannot start fails with its reason") {
  const Copy copy(false);
  std::ofstream(copy.folder.path("dead")) << "a file where a folder should be";
  const Ran ran = run_sluice({"run", copy.pipeline});
  INFO(ran.err);
  CHECK(ran.exit_status == 1);
  CHECK_THAT(ran.err, Catch::Contains("copy: failed after ") && Catch::Contains(copy.folder.path("dead")));
}

TEST_CASE("whole files are looked at again by the next run") {
  const Folder folder;
  std::filesystem::create_directory(folder.path("in"));
  const auto in = [&](const std::string& name) { return folder.path("in/" + name); };
  folder.write("in/a.jsonl", "{\"a\":1}\n{\"a\":2}\n");
  folder.write("in/b.jsonl", "{\"b\":1}");
  folder.write("in/c.jsonl", "");
  const std::string lanes = GENERATE("1", "3");
  const auto run = [&](const std::string& more = "") {
    const Ran ran = run_sluice({"run", "--progress", "off", folder.write("p.yaml",
        "pipeline: again\nparallelism: " + lanes + "\ncheckpoint: { dir: " + folder.path("ck") + " }\noperators:\n"
        "  - id: lines\n    use: file.source\n    with: { path: " + folder.path("in") + more + " }\n"
        "  - id: out\n    use: console.sink\n    input: lines\n")});
    INFO(ran.err);
    CHECK(ran.exit_status == 0);
    return sorted_lines(ran.out);
  };
  using Lines = std::vector<std::string>;
  CHECK(run() == Lines{"{\"a\":1}", "{\"a\":2}", "{\"b\":1}"});
  CHECK(run() == Lines{});
  folder.append("in/a.jsonl", "{\"a\":3}\n");
  folder.append("in/b.jsonl", "\n{\"b\":2}\n");
  folder.append("in/c.jsonl", "{\"c\":1}\n");
  folder.write("in/d.jsonl", "{\"d\":1}\n");
  CHECK(run() == Lines{"{\"a\":3}", "{\"b\":2}", "{\"c\":1}", "{\"d\":1}"});
  folder.remove("in/b.jsonl");
  folder.append("in/d.jsonl", "{\"d\":2}\n");
  CHECK(run() == Lines{"{\"d\":2}"});
  CHECK(run() == Lines{});

  SECTION("truncated") { folder.write("in/a.jsonl", "{\"a\":1}\n"); }
  SECTION("replaced") {
    folder.write("new", "{\"a\":9}\n");
    folder.rename("new", "in/a.jsonl");
  }
  const Lines there = sorted_lines(folder.read("in/a.jsonl"));
  const Ran failed = run_sluice({"run", "--progress", "off", folder.path("p.yaml")});
  CHECK(failed.exit_status == 1);
  CHECK_THAT(failed.err, Catch::Contains(in("a.jsonl")) && Catch::Contains("set `on_gap: restart`"));
  CHECK(run(", on_gap: restart") == there);
  CHECK(run() == Lines{});
}

TEST_CASE("run --debug-plugins names a plugin that keeps what it was handed") {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 50; ++i) rows += "{\"a\":" + std::to_string(i) + "}\n";
  folder.write("in.jsonl", rows);
  const auto pipeline = [&](const std::string& use) {
    return folder.write(use + ".yaml", "pipeline: debug\ncheckpoint: { dir: " + folder.path("checkpoints-" + use) + " }\nlimits: { batch_rows: 10 }\noperators:\n"
        "  - id: lines\n    use: file.source\n    with: { path: " + folder.path("in.jsonl") + " }\n"
        "  - id: middle\n    use: " + use + "\n    input: lines\n" + (use == "column_pruner" ? "    with: { columns: [a] }\n" : "") +
        "  - id: out\n    use: console.sink\n    input: middle\n");
  };
  const std::string bad = pipeline("test.keeps_view");
  const Ran found = run_sluice({"run", "--debug-plugins", "--progress", "off", "--plugins", SLUICE_BAD_PLUGINS "/bad_keeps_view", bad});
  CHECK(found.exit_status == 1);
  CHECK_THAT(found.err, Catch::Contains("operator \"middle\" (test.keeps_view): the plugin broke the contract: emit was given memory of an earlier call: "
                                        "what the host hands out dies when the call returns"));
  const Ran fine = run_sluice({"run", "--debug-plugins", "--progress", "off", pipeline("column_pruner")});
  CHECK(fine.exit_status == 0);
  CHECK(fine.out == rows);
}
