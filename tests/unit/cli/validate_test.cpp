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
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SLUICE_SOURCE_DIR "/tests/pipelines_bad"))
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

TEST_CASE("validate warns of outputs that are written and not read, and the other way round") {
  const Folder folder;
  const std::string windows = R"(pipeline: demo
operators:
  - id: lines
    use: file.source
    with: { path: in.jsonl }
    event_time: { field: ts, format: epoch_ms }
  - id: w
    use: tumbling_window
    input: lines
    with: { size: 10s, aggregates: { n: count }, late: output }
  - id: out
    use: console.sink
    input: w
)";
  for (const std::string lanes : {"1", "2"}) {  // two phases or one
    const std::string unread = folder.write("unread.yaml", "parallelism: " + lanes + "\n" + windows);
    const Ran ran = run_sluice({"validate", unread});
    CHECK(ran.exit_status == 0);
    CHECK(ran.out == unread +
                         ":11:56: warning: nobody reads the output \"late\" of operator \"w\" (tumbling_window): its rows go no further, and are "
                         "counted as unread_output\n"
                         "      with: { size: 10s, aggregates: { n: count }, late: output }\n"
                         "                                                         ^\n"
                         "  hint: read it with input: w.late\n" +
                         unread + ": ok, 3 operators, 1 warning\n");
  }
  const std::string both = replaced(windows, "input: w\n", "input: [w, w.late]\n");
  const std::string read_too = folder.write("read.yaml", both);
  CHECK(run_sluice({"validate", read_too}).out == read_too + ": ok, 3 operators\n");
  const std::string empty = folder.write("empty.yaml", replaced(both, ", late: output", ""));
  const Ran ran = run_sluice({"validate", empty});
  CHECK(ran.exit_status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith(empty + ":13:16: warning: operator \"w\" (tumbling_window), as it is set up, gives nothing on its output \"late\"\n") &&
                          Catch::Contains("  hint: see the options of tumbling_window\n") && Catch::EndsWith(empty + ": ok, 3 operators, 1 warning\n"));
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
  CHECK(run_sluice({"run", ""}).err == "error: the name of a pipeline file is empty\n");
}

TEST_CASE("validate --connect asks each operator, and shows what it finds at its place") {
  const Folder folder;
  const std::string in = folder.write("in.jsonl", "{}\n");
  const std::string path = folder.write("p.yaml", "pipeline: copy\noperators:\n"
      "  - id: lines\n    use: file.source\n    with: { path: " + in + " }\n"
      "  - id: each\n    use: sample.each\n    input: lines\n    with: { path: nothing, password: x }\n"
      "  - id: out\n    use: sample.nowhere\n    input: each\n");
  const std::vector<std::string> sample = {"--plugins", SLUICE_TEST_PLUGINS "/sample"};
  const auto validate = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"validate"};
    arguments.insert(arguments.end(), sample.begin(), sample.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sluice(arguments);
  };
  // Without it nothing outside matters.
  CHECK(validate({path}).out == path + ": ok, 3 operators\n");

  const Ran found = validate({"--connect", path});
  CHECK(found.exit_status == 1);
  CHECK(found.out ==
        path + ":7:10: error: operator \"each\" (sample.each): the server wants less\n"
               "      use: sample.each\n"
               "           ^\n" +
        path + ":7:10: error: operator \"each\" (sample.each): the server is old\n"
               "      use: sample.each\n"
               "           ^\n" +
        path + ":7:10: error: operator \"each\" (sample.each): connection refused\n"
               "      use: sample.each\n"
               "           ^\n" +
        path + ":9:19: error: operator \"each\" (sample.each): there is no nothing\n" +  // its line holds a secret
        path + ": 4 errors\n");

  const std::string fine = folder.write("fine.yaml", replaced(read(path), "path: nothing", "path: fine"));
  const Ran ok = validate({"--connect", fine});
  CHECK(ok.exit_status == 0);
  CHECK(ok.out == fine + ": ok, 3 operators, 2 of them checked outside\n");

  const std::string warns = folder.write("warns.yaml", replaced(read(path), "path: nothing", "path: warns"));
  const Ran warned = validate({"--connect", warns});
  CHECK(warned.exit_status == 0);
  CHECK(warned.out == warns + ":7:10: warning: operator \"each\" (sample.each): the server is slow\n"
                              "      use: sample.each\n"
                              "           ^\n" +
                          warns + ": ok, 3 operators, 2 of them checked outside, 1 warning\n");

  // A file with errors of its own is not tried: 2, as ever, whatever the others are.
  const std::string bad = folder.write("bad.yaml", replaced(read(path), "input: each", "input: all"));
  const Ran both = validate({"--connect", bad, path});
  CHECK(both.exit_status == 2);
  CHECK_THAT(both.out, Catch::StartsWith(bad + ":12:12: error: ") && Catch::Contains(bad + ": 1 error\n") &&
                           Catch::EndsWith(path + ": 4 errors\n"));
  CHECK(both.out.find(bad + ":9:19") == std::string::npos);

  const std::string throws = folder.write("throws.yaml", replaced(read(path), "path: nothing", "path: throws"));
  CHECK_THAT(validate({"--connect", throws}).out,
             Catch::Contains("error: operator \"each\" (sample.each): bug in the plugin, in check: ") &&
                 Catch::Contains("no such thing"));
}

TEST_CASE("validate --connect with files and SQLite: nothing is made by looking") {
  const Folder folder;
  const std::string occupied = folder.write("occupied", "not a database");
  const std::string path = folder.write("p.yaml", "pipeline: copy\noperators:\n"
      "  - id: lines\n    use: file.source\n    with: { path: " + folder.path() + "/none.jsonl }\n"
      "  - id: a\n    use: sqlite.sink\n    input: lines\n    with: { path: " + occupied + ", table: t, key: [id] }\n"
      "  - id: b\n    use: sqlite.sink\n    input: lines\n    with: { path: " + folder.path() + "/new/w.db, table: t, key: [id] }\n"
      "  - id: c\n    use: file.sink\n    input: lines\n    with: { dir: " + occupied + "/out }\n");
  const Ran ran = run_sluice({"validate", "--connect", path});
  CHECK(ran.exit_status == 1);
  CHECK_THAT(ran.out, Catch::Contains(path + ":5:19: error: operator \"lines\" (file.source): no such file: " + folder.path() +
                                      "/none.jsonl; with `follow: true` the source waits for it\n") &&
                          Catch::Contains(path + ":9:19: error: operator \"a\" (sqlite.sink): " + occupied +
                                          " is not a SQLite file. Choose another `path`, or move that file away\n") &&
                          Catch::Contains(path + ":17:18: error: operator \"c\" (file.sink): cannot use the folder " + occupied +
                                          "/out: Not a directory\n") &&
                          Catch::EndsWith(path + ": 3 errors\n"));
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/new"));
}

TEST_CASE("validate --connect after a run: what the sinks have left is read as they read it when they open") {
  const Folder folder;
  folder.write("in.jsonl", "{\"id\":1}\n");
  const std::string path = folder.write("p.yaml", "pipeline: copy\ncheckpoint: { dir: " + folder.path() + "/chk }\noperators:\n"
      "  - id: lines\n    use: file.source\n    with: { path: " + folder.path() + "/in.jsonl }\n"
      "  - id: out\n    use: file.sink\n    input: lines\n    with: { dir: " + folder.path() + "/out }\n"
      "  - id: table\n    use: sqlite.sink\n    input: lines\n    with: { path: " + folder.path() + "/w.db, table: t, mode: append }\n");
  REQUIRE(run_sluice({"run", path}).exit_status == 0);
  const Ran ran = run_sluice({"validate", "--connect", path});
  CHECK(ran.exit_status == 0);
  CHECK(ran.out == path + ": ok, 3 operators, 3 of them checked outside\n");
}

TEST_CASE("validate --connect looks at the folders that the job will write to, and makes none") {
  const Folder folder;
  const std::string occupied = folder.write("occupied", "a file");
  const std::string in = folder.write("in.jsonl", "{}\n");
  const auto pipeline = [&](const std::string& checkpoints, const std::string& letters) {
    return folder.write("p.yaml", "pipeline: p\ncheckpoint: { dir: " + checkpoints + " }\ndead_letters:\n  dir: " + letters +
                                      "\noperators:\n  - id: lines\n    use: file.source\n    with: { path: " + in +
                                      " }\n  - id: out\n    use: console.sink\n    input: lines\n");
  };
  const std::string path = pipeline(occupied + "/ck", occupied);
  const Ran bad = run_sluice({"validate", "--connect", path});
  CHECK(bad.exit_status == 1);
  CHECK_THAT(bad.out, Catch::StartsWith(path + ":2:20: error: folder of the checkpoints: cannot use " + occupied +
                                        "/ck: Not a directory. Make it writable, or name another one in checkpoint.dir\n") &&
                          Catch::Contains(path + ":4:8: error: folder of the dead letters: " + occupied +
                                          " is not a folder. Make it writable, or name another one in dead_letters.dir\n") &&
                          Catch::EndsWith(path + ": 2 errors\n"));
  CHECK(run_sluice({"validate", pipeline(occupied + "/ck", occupied)}).exit_status == 0);

  const Ran good = run_sluice({"validate", "--connect", pipeline(folder.path("new/ck"), folder.path("new/letters"))});
  CHECK(good.out == path + ": ok, 2 operators, 1 of them checked outside\n");
  CHECK_FALSE(std::filesystem::exists(folder.path("new")));
}

TEST_CASE("dead letters do not go to a sink that writes with the checkpoints") {
  const Folder folder;
  const std::string path = folder.write("p.yaml", replaced(kGood, "operators:\n", "dead_letters: { use: file.sink, with: { dir: letters } }\noperators:\n"));
  const Ran ran = run_sluice({"validate", path});
  CHECK(ran.exit_status == 2);
  CHECK(ran.out == path + ":2:22: error: file.sink as it is set up here writes with the checkpoints, which dead letters must not wait for\n"
                          "  dead_letters: { use: file.sink, with: { dir: letters } }\n"
                          "                       ^\n"
                          "  hint: use a sink that writes at once, such as kafka.sink; for files leave `use` out and give `dir`\n" +
                       path + ": 1 error\n");
}
