// `sluice test`: what passes, what fails and how it is shown, and what is no test at all.
#include <catch2/catch.hpp>
#include <filesystem>

#include "run_sluice.h"

using namespace sluice::cli::testing;

namespace {

const std::string kPipeline = R"(pipeline: names
operators:
  - id: in
    use: file.source
    with: { path: /nowhere/rows.jsonl }
  - id: named
    use: column_pruner
    input: in
    with: { columns: [id, name] }
  - id: out
    use: sqlite.sink
    input: named
    with: { path: /nowhere/w.db, table: t, key: [id] }
tests:
)";

Ran test(const Folder& folder, const std::string& tests, std::string* path, const std::string& pipeline = kPipeline) {
  *path = folder.write("p.yaml", pipeline + tests);
  return run_sluice({"test", *path});
}

}  // namespace

TEST_CASE("test: rows in, rows out, with their digits; nothing outside is touched") {
  const Folder folder;
  std::string path;
  const Ran ran = test(folder, R"(  - name: columns
    input:
      - { id: 18446744073709551615, name: a, more: 1 }
      - '{"name":"b","id":20.00}'
      - { id: true, name: null }
    expect:
      - { name: a, id: 18446744073709551615 }
      - { id: 20.00, name: b }
      - { id: true, name: null }
  - name: nothing
    input: []
    expect: []
  - name: by operator, and only some
    input: { in: [{ id: 1, name: x }, { id: 2, name: y }, null, oops] }
    expect:
      in: { contains: [{ id: 2, name: y }] }
      named: [{ id: 1, name: z }, { id: 2, name: z }]
    ignore: [name]
    dead_letters: [{ operator: in, raw: oops }, { operator: named, reason: tombstone }]
)", &path);
  CHECK(ran.out == "ok      columns\nok      nothing\nok      by operator, and only some\n" + path + ": 3 tests, 3 passed, 0 failed, 0 invalid\n");
  CHECK(ran.err.empty());
  CHECK(ran.exit_status == 0);
}

TEST_CASE("test: what differs is shown with its place") {
  const Folder folder;
  std::string path;
  const Ran ran = test(folder, R"(  - name: differs
    input: [{ id: 1, name: a }, { id: 2, name: b }, oops]
    expect:
      - { id: 1, name: a }
      - { id: 3, name: c }
  - name: letters
    input: []
    expect: []
    dead_letters: 1
)", &path);
  CHECK(ran.exit_status == 1);
  CHECK_THAT(ran.out, Catch::StartsWith("FAILED  differs\n"
                                        "  " + path + ":18:7: out: expected 2 rows, found 2\n"
                                        "      {\"id\":1,\"name\":\"a\"}\n"
                                        "    - {\"id\":3,\"name\":\"c\"}   (" + path + ":19:9)\n"
                                        "    + {\"id\":2,\"name\":\"b\"}\n"
                                        "  " + path + ":15:5: dead letters\n"
                                        "    + in: not a JSON object: it begins with \"oops\": oops\n"
                                        "FAILED  letters\n  " + path + ":20:5: expected 1 dead letters, found 0\n") &&
                          Catch::EndsWith(path + ": 2 tests, 0 passed, 2 failed, 0 invalid\n"));
}

TEST_CASE("test: a test that asserts nothing, or something else than was meant, does not pass") {
  const Folder folder;
  std::string path;
  const Ran ran = test(folder, R"(  - name: t1
    input: [ {"id":1} ]
    expct: [ {"id":2} ]
  - name: t2
    input: []
    expect: []
  - name: t3
  - name: t4
    input: { inn: [] }
    expect: { ouz: [], named.late: [] }
  - input: []
    expect: { out: { contain: [{ id: 1 }] } }
  - name: t6
    input: [{ to: out, rows: [] }, { to: in }]
    expect: []
)", &path);
  CHECK(ran.exit_status == 2);
  for (const std::string& line : {
           ":17:5: error: unknown key \"expct\" of test \"t1\"; did you mean \"expect\"?",
           ":21:5: error: test \"t3\" has no assertion: it expects nothing",
           ":23:14: error: there is no source \"inn\"; did you mean \"in\"?",
           ":24:15: error: there is no operator \"ouz\"; did you mean \"out\"?",
           ":24:24: error: operator \"named\" has no output \"late\"",
           ":25:5: error: test 5 has no \"name\"",
           ":26:22: error: unknown key \"contain\" of the rows of \"out\"; did you mean \"contains\"?",
           ":28:19: error: \"out\" is no source (sqlite.sink), so it cannot be given rows",
           ":28:36: error: a step has no rows: give \"rows\" or \"file\"",
       })
    CHECK_THAT(ran.out, Catch::Contains(path + line));
  CHECK_THAT(ran.out, Catch::Contains("ok      t2\n") && Catch::EndsWith(path + ": 6 tests, 1 passed, 0 failed, 5 invalid\n"));
  // validate says the same before anything runs.
  CHECK(run_sluice({"validate", path}).exit_status == 2);
  CHECK_THAT(run_sluice({"validate", path}).out, Catch::Contains(path + ":17:5: error: unknown key \"expct\" of test \"t1\""));
  const std::string none = folder.write("none.yaml", replaced(kPipeline, "tests:\n", ""));
  const Ran without = run_sluice({"test", none});
  CHECK(without.exit_status == 2);
  CHECK(without.out == none + ": error: the pipeline has no \"tests:\"\n" + none + ": 0 tests, 0 passed, 0 failed, 0 invalid\n");
}

TEST_CASE("test: steps come one after the other, and the clock moves between them") {
  const Folder folder;
  folder.write("more.jsonl", "{\"user\":\"ann\",\"create_time\":\"2022-06-02 00:00:00\"}\r\n\n");
  std::string path;
  const Ran ran = test(folder, R"(tests:
  - name: seen again after its time to live
    clock: 2022-06-01T00:00:00Z
    input:
      - { to: in, rows: [{ user: ann, create_time: "2022-06-01 00:00:00" }] }
      - { to: in, rows: [{ user: ann, create_time: "2022-06-01 10:00:00" }], advance: 10h }
      - { to: in, rows: [{ user: ann, create_time: "2022-06-01 20:00:00" }], advance: 25h }
    expect: [{ user: ann, create_time: "2022-06-01 00:00:00" }, { user: ann, create_time: "2022-06-01 20:00:00" }]
  - name: rows of a file
    input: [{ to: in, rows: [{ user: ann, create_time: "2022-06-01 00:00:00" }] }, { to: in, file: ")" + folder.path("more.jsonl") + R"(" }]
    expect: [{ user: ann, create_time: "2022-06-01 00:00:00" }, { user: ann, create_time: "2022-06-02 00:00:00" }]
  - name: no time
    clock: noon
    input: []
    expect: []
)", &path, R"(pipeline: days
operators:
  - id: in
    use: file.source
    with: { path: /nowhere/rows.jsonl }
    event_time: { field: create_time, format: "yyyy-MM-dd HH:mm:ss" }
  - { id: first, use: daily_dedup, input: in, key: user, with: { ttl: 1d } }
  - { id: out, use: console.sink, input: first }
)");
  INFO(ran.out << ran.err);
  CHECK(ran.exit_status == 2);
  const std::string no_time = path + ":21:12: error: \"noon\" is no time: write it as 2022-06-01T00:00:00+08:00\n";
  const Ran validated = run_sluice({"validate", path});
  CHECK(validated.exit_status == 2);
  CHECK(validated.out == no_time + "      clock: noon\n             ^\n" + path + ": 1 error\n");
  CHECK_THAT(ran.out, Catch::Contains(no_time) &&
                          Catch::Contains("ok      seen again after its time to live\nok      rows of a file\n") &&
                          Catch::EndsWith(path + ": 3 tests, 2 passed, 0 failed, 1 invalid\n"));
}

TEST_CASE("includes: problems of several files, each at its own place") {
  const Folder folder;
  std::filesystem::create_directories(folder.path("common"));
  folder.write("common/kafka.yaml", "operators:\n  - id: carts\n    use: kafka.source\n    with:\n      brokers: a:1\n      topic: carts\n\tgroup: x\n");
  folder.write("common/sink.yaml", "operators:\n  - id: out\n    use: console.sink\n    inptu: carts\n  - id: shared\n    use: console.sink\n    input: carts\n");
  const std::string path = folder.write("main.yaml", "pipeline: main\ninclude: [common/kafka.yaml, common/sink.yaml]\noperators:\n  - id: shared\n    use: console.sink\n    input: carts\n");
  const Ran ran = run_sluice({"validate", path});
  INFO(ran.out);
  CHECK(ran.exit_status == 2);
  CHECK_THAT(ran.out, Catch::Contains(folder.path("common/kafka.yaml") + ":7:1: error: ") &&
                          Catch::Contains(folder.path("common/sink.yaml") + ":4:5: error: unknown key \"inptu\" of operator \"out\"; did you mean \"input\"?") &&
                          Catch::Contains(folder.path("common/sink.yaml") + ":5:9: error: the id \"shared\" is used twice; first at " + path + ":4:9") &&
                          Catch::Contains("note: first used here") && Catch::EndsWith(path + ": 3 errors\n"));
  const Ran json = run_sluice({"validate", "--format", "json", path});
  CHECK_THAT(json.out, Catch::Contains("\"file\":\"" + folder.path("common/sink.yaml") + "\",\"line\":4,\"column\":5"));

  folder.write("common/kafka.yaml", "operators:\n  - { id: carts, use: file.source, with: { path: \"${ROWS:-rows.jsonl}\" } }\n");
  folder.write("common/sink.yaml", "operators:\n  - { id: out, use: console.sink, input: carts }\n");
  const Ran fine = run_sluice({"validate", path});
  CHECK(fine.out == path + ": ok, 3 operators\n");
  const std::string only = folder.write("only.yaml", "pipeline: only\ninclude: [common/kafka.yaml, common/sink.yaml]\n");
  CHECK(run_sluice({"validate", only}).out == only + ": ok, 2 operators\n");

  folder.write("common/sink.yaml", "parallelism: 2\noperators:\n  - { id: out, use: console.sink, input: carts }\n");
  const std::string missing = folder.write("missing.yaml", "pipeline: only\ninclude: [common/nothing.yaml, common/sink.yaml]\n");
  CHECK(run_sluice({"validate", missing}).out ==
        folder.path("common/nothing.yaml") + ": error: cannot be read: No such file or directory\n" + folder.path("common/sink.yaml") +
            ":1:1: error: \"parallelism\" is not possible in an included file\n  parallelism: 2\n  ^\n"
            "  hint: it may have \"operators:\" only; everything else stands in the pipeline's own file\n" + missing + ": 2 errors\n");
}
