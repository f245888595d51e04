#include <catch2/catch.hpp>
#include <filesystem>

#include "run_sluice.h"

using namespace sluice::cli::testing;

namespace {

// A file of three rows and the pipeline that takes them to `sink`.
std::string pipeline(const Folder& folder, const std::string& sink) {
  return folder.write("p.yaml", "pipeline: p\ncheckpoint: { dir: " + folder.path("checkpoints") +
                                    " }\noperators:\n  - { id: rows, use: file.source, with: { path: " +
                                    folder.write("in.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n") +
                                    " } }\n  - { id: out, input: rows, use: " + sink + " }\n");
}

// What is in all files of a folder.
std::string all_bytes(const std::string& folder) {
  std::string out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) out += read(entry.path());
  return out;
}

}  // namespace

TEST_CASE("output that does not get to standard output is a failure of every command") {
  const Folder folder;
  const std::string file = pipeline(folder, "console.sink");
  REQUIRE(run_sluice({"run", file}).exit_status == 0);
  const std::vector<std::vector<std::string>> commands = {
      {"plugins"},
      {"plugins", "--format", "json"},
      {"version"},
      {"--version"},
      {"--help"},
      {"sdk", "path"},
      {"failpoints"},
      {"describe", "--all"},
      {"describe", "--all", "--format", "json"},
      {"validate", file},
      {"validate", "--format", "json", file},
      {"checkpoints", "list", file},
      {"checkpoints", "show", file},
      {"checkpoints", "verify", file},
  };
  for (const auto& command : commands) {
    INFO(command.front() << " " << command.back());
    CHECK(run_sluice(command).exit_status == 0);
    const Ran full = run_sluice_redirected(command, ">/dev/full");
    CHECK(full.exit_status == 1);
    CHECK((full.err == "sluice: not all of the output could be written to standard output: No space left on device\n" ||
           full.err == "sluice: not all of the output could be written to standard output: an earlier write failed\n"));
    const Ran closed = run_sluice_redirected(command, ">&-");
    CHECK(closed.exit_status == 1);
    CHECK(closed.err == "sluice: not all of the output could be written to standard output: it is closed\n");
  }
  // A command that has failed anyway keeps its status.
  CHECK(run_sluice_redirected({"validate", folder.write("bad.yaml", "pipeline: [")}, ">/dev/full").exit_status == 2);
}

TEST_CASE("what is printed into a closed standard stream never gets into a file of the job") {
  const Folder folder;
  SECTION("rows of a console sink: the job stops and says why") {
    const std::string file = pipeline(folder, "console.sink");
    const Ran ran = run_sluice_redirected({"run", file}, ">&-");
    CHECK(ran.exit_status == 1);
    CHECK_THAT(ran.err, Catch::Contains("cannot write to standard output: Bad file descriptor"));
    CHECK(all_bytes(folder.path("checkpoints")).find("{\"a\":1}") == std::string::npos);
  }
  SECTION("log lines") {
    const std::string file = pipeline(folder, "file.sink, with: { dir: " + folder.path("out") + " }");
    CHECK(run_sluice_redirected({"run", file}, "<&- >&- 2>&-").exit_status == 0);
    CHECK(all_bytes(folder.path("checkpoints")).find("finished") == std::string::npos);
    CHECK(all_bytes(folder.path("out")).find("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n") != std::string::npos);
  }
}
