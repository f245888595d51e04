#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "run_sluice.h"

using namespace sluice::cli::testing;

namespace {

const std::string kGood = R"(pipeline: copy
operators:
  - id: lines
    use: file.source
    with: { path: in.jsonl }
  - id: out
    use: console.sink
    input: lines
)";

std::string after(const std::string& line, const std::string& prefix) {
  return line.compare(0, prefix.size(), prefix) == 0 ? line.substr(prefix.size()) : "";
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

}  // namespace

TEST_CASE("every bad pipeline file through the command and the real plugins") {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/pipelines_bad"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() >= 40);
  for (const std::string& file : files) {
    std::ifstream in(file);
    std::string first;
    std::getline(in, first);
    const std::string expect = after(first, "# expect: ");
    const size_t space = expect.find(' ');
    REQUIRE(space != std::string::npos);
    const Ran ran = run_sluice({"validate", file});
    INFO("expected " << expect << "\n" << ran.out << ran.err);
    CHECK(ran.exit_status == 2);
    CHECK(count(ran.out, ": error: ") == 1);
    CHECK_THAT(ran.out, Catch::StartsWith(file + ":" + expect.substr(0, space) + ": error: ") &&
                            Catch::Contains(expect.substr(space + 1)) && Catch::EndsWith(file + ": 1 error\n"));
  }
}

TEST_CASE("validate: several files, as text and as JSON") {
  const Folder folder;
  const std::string good = folder.write("good.yaml", kGood);
  const std::string bad = folder.write("bad.yaml", replaced(kGood, "input: lines", "input: line"));

  const Ran one = run_sluice({"validate", good});
  CHECK(one.exit_status == 0);
  CHECK(one.out == good + ": ok, 2 operators\n");
  CHECK(one.err.empty());

  const Ran both = run_sluice({"validate", bad, good});
  CHECK(both.exit_status == 2);
  CHECK_THAT(both.out,
             Catch::StartsWith(bad + ":8:12: error: operator \"out\" reads from \"line\", which is not defined") &&
                 Catch::Contains(bad + ": 1 error\n") && Catch::EndsWith(good + ": ok, 2 operators\n"));

  const Ran json = run_sluice({"validate", "--format", "json", good});
  CHECK(json.exit_status == 0);
  CHECK(json.out == "[\n  {\n    \"file\": \"" + good + "\",\n    \"valid\": true,\n    \"problems\": []\n  }\n]\n");
  const Ran bad_json = run_sluice({"validate", "--format", "json", bad});
  CHECK(bad_json.exit_status == 2);
  CHECK_THAT(bad_json.out, Catch::Contains("\"valid\": false") && Catch::Contains("\"line\":8,\"column\":12"));
}

TEST_CASE("validate --plan shows how the pipeline would run") {
  const Folder folder;
  const std::string good = folder.write("good.yaml", kGood);
  const Ran ran = run_sluice({"validate", "--plan", good});
  CHECK(ran.exit_status == 0);
  CHECK_THAT(ran.out,
             Catch::StartsWith(good + ": ok, 2 operators\n") && Catch::Contains("lines") && Catch::Contains("out"));
}

TEST_CASE("a plugin that cannot be loaded is an error with its file, and does not take the command down") {
  const Folder folder;
  const std::string good = folder.write("good.yaml", kGood);
  const Ran ran = run_sluice({"validate", "--plugins", SLUICE_TEST_PLUGINS "/crashing", good});
  CHECK(ran.exit_status == 2);
  CHECK(ran.out == SLUICE_TEST_PLUGINS
                       "/crashing/libcli_crashing_plugin.so: error: crashed while loading (signal 6)\n" +
                       good + ": 1 error\n");
}

TEST_CASE("a file that is not there") {
  const Ran ran = run_sluice({"validate", "/nowhere/p.yaml"});
  CHECK(ran.exit_status == 2);
  CHECK(ran.out == "/nowhere/p.yaml: error: cannot be read: No such file or directory\n/nowhere/p.yaml: 1 error\n");
  const Ran run = run_sluice({"run", "/nowhere/p.yaml"});
  CHECK(run.exit_status == 2);
  CHECK(run.err == "/nowhere/p.yaml: error: cannot be read: No such file or directory\n");
}
