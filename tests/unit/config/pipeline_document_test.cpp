#include "config/pipeline_document.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "hand_catalog.h"

namespace sluice::config::testing {
namespace {

const char* const kFull = R"(# a pipeline that uses everything
pipeline: dws_cart_add
parallelism: 2
key_groups: 64
checkpoint: { dir: ./cp, interval: 5s, keep: 2, timeout: 1m }
dead_letters: { dir: ./dead, tombstones: false }
on_error: fail
limits: { max_record_size: 1MiB, state_memory: 32MiB, batch_rows: 256 }
plugins: { dirs: [./build/plugins, ./more] }
metrics: { listen: "127.0.0.1:9600" }
operators:
  - id: cart_add
    use: kafka.source
    with: { brokers: "${KAFKA:-localhost:9092}", topic: dwd_trade_cart_add, group: dws_cart_add, start: earliest }
    event_time: { field: [operate_time, create_time], format: "yyyy-MM-dd HH:mm:ss", zone: Asia/Shanghai, out_of_order: 2s }
  - id: config
    use: file.source
    with: { path: config.jsonl }
  - id: dims
    use: broadcast_filter
    input: cart_add
    broadcast: config
  - id: first_today
    use: daily_dedup
    input: dims
    key: [user_id, "shop.id"]
    parallelism: 4
    on_error: drop
    with: { ttl: 2d }
  - id: per_window
    use: tumbling_window
    input: first_today
    with:
      size: 10s
      aggregates: { z_users: count, a_sum: sum(amount) }
  - id: table
    use: sqlite.sink
    input: [per_window]
    with: { path: out.db, key: [start, end] }
  - id: late
    use: console.sink
    input: per_window.late
tests:
  - name: one
    expect: []
)";

std::string lines(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics.sorted()) {
    out += std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + message_with_suggestion(d) + "\n";
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const std::string kSmall =
    "pipeline: p\n"
    "operators:\n"
    "  - id: src\n"
    "    use: file.source\n"
    "    with: { path: a.jsonl }\n"
    "  - id: out\n"
    "    use: console.sink\n"
    "    input: src\n";

}  // namespace

TEST_CASE("a full pipeline file becomes a document in the order of the file") {
  const Checked checked = check(kFull);
  INFO(checked.diagnostics.render_text());
  REQUIRE(checked.diagnostics.empty());
  const PipelineDocument& document = *checked.document;
  CHECK(document.file == "p.yaml");
  CHECK(document.name == "dws_cart_add");
  CHECK(document.parallelism == 2);
  CHECK(document.key_groups == 64);
  CHECK(document.checkpoint.given);
  CHECK(document.checkpoint.dir == "./cp");
  CHECK(document.checkpoint.interval_ms == 5000);
  CHECK(document.checkpoint.keep == 2);
  CHECK(document.checkpoint.timeout_ms == 60'000);
  CHECK(document.dead_letters_dir == "./dead");
  CHECK_FALSE(document.tombstone_letters);
  CHECK(document.on_error == OnError::kFail);
  CHECK(document.limits.max_record_size == 1 << 20);
  CHECK(document.limits.state_memory == 32 << 20);
  CHECK(document.limits.batch_rows == 256);
  CHECK(document.plugin_dirs == std::vector<std::string>{"./build/plugins", "./more"});
  CHECK(document.metrics_listen == "127.0.0.1:9600");
  CHECK(document.operators_at.line == 11);
  REQUIRE(document.operators.size() == 7);

  const OperatorSection& source = document.operators[0];
  CHECK(source.id == "cart_add");
  CHECK(source.path == "operators[0]");
  CHECK(source.at.line == 12);
  CHECK(source.id_at.column == 9);
  CHECK(source.spec->type == "kafka.source");
  CHECK(source.options.at("brokers").as_string() == "localhost:9092");
  CHECK(source.options.at("until").as_string() == "none");
  CHECK(source.options.at("until").is_default);
  REQUIRE(source.event_time);
  CHECK(source.event_time->fields == std::vector<std::string>{"operate_time", "create_time"});
  CHECK(source.event_time->format.kind == TimeFormat::Kind::kPattern);
  CHECK(source.event_time->zone == "Asia/Shanghai");
  CHECK(source.event_time->out_of_order_ms == 2000);
  CHECK(source.event_time->idle_timeout_ms == 30'000);
  CHECK(source.event_time->max_ahead_ms == 86'400'000);
  CHECK(source.event_time->types.empty());

  CHECK(document.operators[2].broadcast->id == "config");
  CHECK(document.operators[2].broadcast->at.line == 22);
  const OperatorSection& dedup = document.operators[3];
  CHECK(dedup.inputs.at(0).id == "dims");
  CHECK(dedup.key == std::vector<std::string>{"user_id", "shop.id"});
  CHECK(dedup.parallelism == 4);
  CHECK(dedup.on_error == OnError::kDrop);
  CHECK(dedup.options.at("ttl").as_int() == 172'800'000);
  CHECK(document.operators[4].options.at("aggregates").as_map().front().first == "z_users");
  CHECK(document.operators[6].inputs.at(0).id == "per_window");
  CHECK(document.operators[6].inputs.at(0).port == "late");
  REQUIRE(document.tests);
  CHECK(document.tests->key_location.line == 43);
  CHECK(document.tests->node.items.size() == 1);
}

TEST_CASE("sections that are not given have their defaults") {
  const Checked checked = check(kSmall);
  REQUIRE(checked.diagnostics.empty());
  const PipelineDocument& document = *checked.document;
  CHECK(document.parallelism == 1);
  CHECK(document.key_groups == 128);
  CHECK_FALSE(document.checkpoint.given);
  CHECK(document.checkpoint.dir == "./checkpoints/p");
  CHECK(document.checkpoint.interval_ms == 10'000);
  CHECK(document.checkpoint.keep == 3);
  CHECK(document.checkpoint.timeout_ms == 600'000);
  CHECK(document.dead_letters_dir == "./dead-letters");
  CHECK(document.tombstone_letters);
  CHECK(document.on_error == OnError::kDeadLetter);
  CHECK(document.limits.max_record_size == 8 << 20);
  CHECK(document.limits.state_memory == 64 << 20);
  CHECK(document.limits.batch_rows == 1024);
  CHECK_FALSE(document.metrics_listen);
  CHECK_FALSE(document.operators[0].event_time);
  CHECK_FALSE(document.operators[0].parallelism);
  CHECK_FALSE(document.tests);
}

TEST_CASE("plugin folders are known before plugins are") {
  Diagnostics diagnostics;
  const Environment world = environment({{"B", "./build"}});
  const auto dirs = [&](const char* text) {
    return plugin_dirs_of(*read_pipeline_text("p", text, world, diagnostics));
  };
  CHECK(dirs("plugins: { dirs: [\"${B}/plugins\", x] }") == std::vector<std::string>{"./build/plugins", "x"});
  CHECK(dirs("plugins: { dirs: y }") == std::vector<std::string>{"y"});
  CHECK(dirs("plugins: [z]").empty());
  CHECK(dirs("a: 1").empty());
  CHECK(dirs("").empty());
}

TEST_CASE("UX-01: four misspelt words are four errors in one run, sorted by line") {
  std::string text = replaced(kFull, "out_of_order: 2s", "out_of_orderess: 2s");
  text = replaced(text, "use: file.source", "use: file_sorce");
  text = replaced(text, "start: earliest", "start: earlyest");
  text = replaced(text, "{ path: out.db, key:", "{ path: out.db, keys:");
  const Checked checked = check(text);
  CHECK(lines(checked.diagnostics) ==
        "14:105 \"start\" of kafka.source must be earliest, latest, committed, timestamp or offsets, not \"earlyest\"; "
        "did you mean \"earliest\"?\n"
        "15:107 unknown option \"out_of_orderess\" of event_time; did you mean \"out_of_order\"?\n"
        "17:10 unknown operator \"file_sorce\"; did you mean \"file.source\"?\n"
        "39:27 unknown option \"keys\" of sqlite.sink; did you mean \"key\"?\n");
}

TEST_CASE("UX-02: a block one level too deep is found there") {
  const Checked checked = check(
      "pipeline:\n  name: p\n  operators:\n    - id: src\n      use: file.source\n      with: { path: a }\n"
      "    - id: out\n      use: console.sink\n      input: src\n");
  REQUIRE(checked.diagnostics.error_count() == 1);
  const Diagnostic d = checked.diagnostics.sorted().front();
  CHECK(d.message ==
        "required block \"operators\" is missing at top level; there is one at pipeline.operators (p.yaml:3:3)");
  CHECK_THAT(d.hint, Catch::Contains("indentation"));
  CHECK(d.at == Location{"p.yaml", 3, 3});

  // An option beside `use` instead of below `with`.
  const Checked option_outside = check(replaced(kSmall, "    with: { path: a.jsonl }\n", "    path: a.jsonl\n"));
  CHECK(lines(option_outside.diagnostics) ==
        "5:5 unknown key \"path\" of operator \"src\"; it belongs under \"with\"\n");
  // In another section.
  const Checked in_limits = check(
      "pipeline: p\nlimits:\n  batch_rows: 5\n  operators:\n    - id: src\n      use: file.source\n      with: { path: "
      "a }\n"
      "    - id: out\n      use: console.sink\n      input: src\n");
  REQUIRE(in_limits.diagnostics.error_count() == 1);
  CHECK_THAT(lines(in_limits.diagnostics), Catch::Contains("there is one at limits.operators (p.yaml:4:3)"));
}

TEST_CASE("UX-06: one sentence for each fault of the graph, at a line that exists") {
  const std::string text =
      "pipeline: p\n"
      "operators:\n"
      "  - { id: src, use: file.source, with: { path: a } }\n"
      "  - { id: filter, use: column_pruner, input: [src, again] }\n"
      "  - { id: dedup, use: daily_dedup, key: k, input: nothere }\n"
      "  - { id: again, use: column_pruner, input: [filter, dedup] }\n"
      "  - { id: out, use: console.sink, input: again }\n"
      "  - { id: out, use: console.sink, input: out }\n"
      "  - { id: lonely, use: column_pruner, input: src }\n";
  const Checked checked = check(text);
  CHECK(lines(checked.diagnostics) ==
        "4:52 operators form a cycle: filter → again → filter\n"
        "5:51 operator \"dedup\" reads from \"nothere\", which is not defined; defined: src, filter, dedup, again, "
        "out, lonely\n"
        "8:11 the id \"out\" is used twice; first at 7:11\n"
        "8:42 operator \"out\" reads from itself\n"
        "9:11 nobody reads the output of operator \"lonely\"; it must lead to a sink\n");
  for (const Diagnostic& d : checked.diagnostics.sorted()) CHECK(d.at.line <= 9);
}

TEST_CASE("cycles are named in the direction of the data, each once") {
  const auto pruner = [](const std::string& id, const std::string& input) {
    return "  - { id: " + id + ", use: column_pruner, input: " + input + " }\n";
  };
  const std::string head = "pipeline: p\noperators:\n  - { id: src, use: file.source, with: { path: a } }\n";
  const std::string tail = "  - { id: out, use: console.sink, input: c }\n";
  const Checked three = check(head + pruner("a", "[src, c]") + pruner("b", "a") + pruner("c", "b") + tail);
  CHECK(lines(three.diagnostics) == "4:47 operators form a cycle: a → b → c → a\n");
  const Checked two = check(head + pruner("a", "[src, b]") + pruner("b", "[a, c]") + pruner("c", "b") + tail);
  CHECK(lines(two.diagnostics) == "4:47 operators form a cycle: a → b → a\n5:45 operators form a cycle: b → c → b\n");
  // A diamond is none, and a long chain is no problem.
  CHECK(
      lines(check(head + pruner("a", "src") + pruner("b", "src") + pruner("c", "[a, b]") + tail).diagnostics).empty());
  std::string chain = head + pruner("n0", "src");
  for (int i = 1; i < 5000; ++i) chain += pruner("n" + std::to_string(i), "n" + std::to_string(i - 1));
  CHECK(lines(check(chain + "  - { id: out, use: console.sink, input: n4999 }\n").diagnostics).empty());
}

TEST_CASE("one misspelt key of an operator does not make everything after it wrong") {
  CHECK(lines(check(replaced(kSmall, "- id: src", "- ids: src")).diagnostics) ==
        "3:5 unknown key \"ids\" of operator [0]; did you mean \"id\"?\n");
  CHECK(lines(check(replaced(kSmall, "- id: src", "- name: src")).diagnostics) ==
        "3:5 unknown key \"name\" of operator [0]; did you mean \"id\"?\n");
  CHECK(lines(check(replaced(kSmall, "use: file", "uses: file")).diagnostics) ==
        "4:5 unknown key \"uses\" of operator \"src\"; did you mean \"use\"?\n");
  CHECK(lines(check(replaced(kSmall, "input:", "from:")).diagnostics) ==
        "8:5 unknown key \"from\" of operator \"out\"; did you mean \"input\"?\n");
  CHECK(lines(check(replaced(kSmall, "with:", "options:")).diagnostics) ==
        "5:5 unknown key \"options\" of operator \"src\"; did you mean \"with\"?\n");
  CHECK(lines(check(replaced(kSmall, "operators:", "operaters:")).diagnostics) ==
        "2:1 unknown key \"operaters\" of the pipeline; did you mean \"operators\"?\n");
  CHECK(lines(check(replaced(kSmall, "pipeline:", "name:")).diagnostics) ==
        "1:1 unknown key \"name\" of the pipeline; did you mean \"pipeline\"?\n");
  // What stands below a misspelt key is still checked.
  CHECK(lines(check(replaced(kSmall, "with: { path: a.jsonl", "options: { path: a.jsonl, folow: true")).diagnostics) ==
        "5:5 unknown key \"options\" of operator \"src\"; did you mean \"with\"?\n"
        "5:31 unknown option \"folow\" of file.source; did you mean \"follow\"?\n");
}

TEST_CASE("a lost line between two operators does not set off the graph checks") {
  const Checked checked = check(replaced(kSmall, "  - id: out\n", ""));
  REQUIRE(checked.diagnostics.error_count() == 1);
  CHECK(lines(checked.diagnostics) == "6:5 the key \"use\" is given twice; first at 4:5\n");
  CHECK_THAT(checked.diagnostics.sorted().front().hint, Catch::Contains("begins the next item"));
}

TEST_CASE("keys at another level are told where they belong") {
  CHECK(lines(check(replaced(kSmall, "{ path: a.jsonl }", "{ path: a.jsonl, out_of_order: 2s }")).diagnostics) ==
        "5:28 unknown option \"out_of_order\" of file.source; it belongs under \"event_time\"\n");
  CHECK(lines(check(replaced(kSmall, "pipeline: p\n", "pipeline: p\nlimits: { parallelism: 2 }\n")).diagnostics) ==
        "2:11 unknown option \"parallelism\" of limits; it belongs at top level\n");
  CHECK(lines(check(replaced(kSmall, "pipeline: p\n", "pipeline: p\nbatch_rows: 7\n")).diagnostics) ==
        "2:1 unknown key \"batch_rows\" of the pipeline; it belongs under \"limits\"\n");
  CHECK(
      lines(check(replaced(kSmall, "    input: src\n", "    input: src\n    checkpoint: { keep: 2 }\n")).diagnostics) ==
      "9:5 unknown key \"checkpoint\" of operator \"out\"; it belongs at top level\n");
}

TEST_CASE("event_time without a field has the settings alone; what tells of a field needs one") {
  const auto with = [](const std::string& event_time) { return replaced(kSmall, "    with: { path: a.jsonl }\n", "    with: { path: a.jsonl }\n    event_time: " + event_time + "\n"); };
  for (const char* event_time : {"{}", "", "{ out_of_order: 5s, max_ahead: 0 }"}) {
    const Checked checked = check(with(event_time));
    INFO(event_time << "\n" << checked.diagnostics.render_text());
    REQUIRE(checked.diagnostics.empty());
    REQUIRE(checked.document->operators[0].event_time);
    const EventTimeSection& found = *checked.document->operators[0].event_time;
    const bool given = std::string(event_time).size() > 2;
    CHECK(found.fields.empty());
    CHECK(found.out_of_order_ms == (given ? 5000 : 0));
    CHECK(found.idle_timeout_ms == 30'000);
    CHECK(found.max_ahead_ms == (given ? 0 : 86'400'000));
  }
  CHECK(lines(check(with("{ format: epoch_ms }")).diagnostics) == "6:5 option \"field\" of event_time is missing\n");
  CHECK(lines(check(with("{ types: [insert] }")).diagnostics) ==
        "6:5 option \"field\" of event_time is missing\n6:5 option \"format\" of event_time is missing\n");
  CHECK(lines(check(with("{ field: ts }")).diagnostics) == "6:5 option \"format\" of event_time is missing\n");
  CHECK(lines(check(with("{ fields: ts }")).diagnostics) == "6:19 unknown option \"fields\" of event_time; did you mean \"field\"?\n");
}

TEST_CASE("unknown operators: the plugin that failed is named") {
  HandCatalog catalog;
  catalog.failed = {{"/usr/lib/sluice/plugins/libredis.so", "it was built for ABI 0.9"}};
  Diagnostics diagnostics;
  const Environment world = environment();
  const std::optional<Node> root = read_pipeline_text(
      "p.yaml", replaced(replaced(kSmall, "console.sink", "mongodb.writer"), "file.source", "redis.reader"), world,
      diagnostics);
  check_pipeline("p.yaml", *root, catalog, world, diagnostics);
  CHECK(
      lines(diagnostics) ==
      "4:10 unknown operator \"redis.reader\"; its plugin /usr/lib/sluice/plugins/libredis.so could not be loaded: it "
      "was built for ABI 0.9\n"
      "7:10 unknown operator \"mongodb.writer\"; no plugin provides it, searched in /usr/lib/sluice/plugins\n");
}

TEST_CASE("only the port of an operator is read: allowed, with a warning") {
  const Checked checked = check(
      "pipeline: p\noperators:\n"
      "  - { id: src, use: file.source, with: { path: a } }\n"
      "  - { id: win, use: tumbling_window, input: src, with: { size: 1m } }\n"
      "  - { id: out, use: console.sink, input: win.late }\n");
  CHECK(checked.diagnostics.error_count() == 0);
  CHECK(lines(checked.diagnostics) ==
        "4:11 nobody reads the main output of operator \"win\", only another one of its outputs\n");
}

TEST_CASE("more lanes than key groups") {
  CHECK(lines(check("key_groups: 4\nparallelism: 5\n" + kSmall).diagnostics) ==
        "1:13 \"key_groups\" must be at least the parallelism (5), not 4\n");
  CHECK(lines(check("key_groups: 4\n" + kSmall + "    parallelism: 5\n").diagnostics) ==
        "10:18 the parallelism of operator \"out\" (5) is larger than \"key_groups\" (4)\n");
}

TEST_CASE("values that are not set do not cause a second error") {
  CHECK(lines(check(replaced(kSmall, "path: a.jsonl", "path: \"${NO}\"")).diagnostics) ==
        "5:19 environment variable NO is not set\n");
  CHECK(lines(check(replaced(kSmall, "use: file.source", "use: ${NO}")).diagnostics) ==
        "4:10 environment variable NO is not set\n");
  CHECK(lines(check(replaced(kSmall, "input: src", "input: ${NO}")).diagnostics) ==
        "8:12 environment variable NO is not set\n");
  CHECK(lines(check(replaced(kSmall, "id: src", "id: ${NO}")).diagnostics) ==
        "3:9 environment variable NO is not set\n");
  CHECK(lines(check(replaced(kSmall, "with: { path: a.jsonl }", "with: ${NO}")).diagnostics) ==
        "5:11 environment variable NO is not set\n");
  CHECK(lines(check(replaced(kSmall, "pipeline: p", "pipeline: ${NO}")).diagnostics) ==
        "1:11 environment variable NO is not set\n");
}

TEST_CASE("a secret in a pipeline file never appears in what is reported") {
  std::string text = replaced(kFull, "topic: dwd_trade_cart_add,", "password: hunter2, topik: x,");
  for (const std::string& variant :
       {text, replaced(text, "kafka.source", "kafka.sauce"), replaced(text, "start: earliest", "start: [earliest"),
        replaced(text, "password: hunter2", "password: \"hunter2")}) {
    const Checked checked = check(variant);
    INFO(checked.diagnostics.render_text());
    CHECK(checked.diagnostics.has_errors());
    CHECK_THAT(checked.diagnostics.render_text() + checked.diagnostics.render_json(), !Catch::Contains("hunter2"));
  }
}

TEST_CASE("files that are hardly pipelines") {
  CHECK(lines(check("").diagnostics) == "1:1 the file is empty; it must consist of \"key: value\" lines\n");
  CHECK(lines(check("hello").diagnostics) ==
        "1:1 the file is a single value; it must consist of \"key: value\" lines\n");
  CHECK(lines(check("pipeline: p\noperators:\n").diagnostics) == "2:1 \"operators\" is empty\n");
  CHECK(lines(check("pipeline: p\noperators: []\n").diagnostics) == "2:12 \"operators\" is empty\n");
  CHECK(lines(check("pipeline: p\noperators: [x]\n").diagnostics) ==
        "2:13 an operator must be a block of \"key: value\" lines, not a single value\n");
  CHECK(lines(check("pipeline: { name: p }\n" + kSmall.substr(kSmall.find('\n') + 1)).diagnostics) ==
        "1:11 \"pipeline\" is only a name; a block below it is not possible\n");
}

}  // namespace sluice::config::testing
