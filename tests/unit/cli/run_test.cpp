// `sluice run` from files to files: exit statuses, signals, and what it says.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
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

// A run in the background whose standard error goes to a file.
class Running {
 public:
  Running(const Copy& copy, const std::string& err) : err_(err) {
    std::string program = SLUICE_PROGRAM, command = "run", file = copy.pipeline, metrics = "--metrics", port = "0";
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

TEST_CASE("a signal ends a run with a checkpoint; meanwhile nobody else can use its checkpoints") {
  const Copy copy(true);
  Running running(copy, copy.folder.path("err"));
  REQUIRE(running.wait_for(running.err(), "dashboard at http://127.0.0.1:"));
  REQUIRE(has_checkpoint(copy));

  const Ran second = run_sluice({"run", copy.pipeline});
  CHECK(second.exit_status == 3);
  CHECK_THAT(second.err,
             Catch::Contains("error checkpoints: the checkpoints in ") && Catch::Contains(" are in use by process "));

  running.signal(GENERATE(SIGTERM, SIGINT, SIGHUP));
  CHECK(running.exit_status() == 0);
  CHECK_THAT(read(running.err()),
             Catch::Contains(": stopping with a checkpoint") && Catch::Contains("copy: stopped after "));
  CHECK(run_sluice({"checkpoints", "verify", copy.pipeline}).exit_status == 0);
}

TEST_CASE("a job that cannot start fails with its reason") {
  const Copy copy(false);
  std::ofstream(copy.folder.path("dead")) << "a file where a folder should be";
  const Ran ran = run_sluice({"run", copy.pipeline});
  INFO(ran.err);
  CHECK(ran.exit_status == 1);
  CHECK_THAT(ran.err, Catch::Contains("copy: failed after ") && Catch::Contains(copy.folder.path("dead")));
}
