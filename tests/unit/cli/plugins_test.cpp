#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "cli/program_folders.h"
#include "run_sluice.h"

using namespace sluice::cli::testing;

namespace {

const std::string kSamples = SLUICE_TEST_PLUGINS "/sample";
const std::string kCrashing = SLUICE_TEST_PLUGINS "/crashing";

// The pages with the places of this machine taken out.
std::string portable(const std::string& text) { return replaced(text, SLUICE_TEST_PLUGINS, "PLUGINS"); }

Ran describe(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "describe");
  arguments.insert(arguments.end(), {"--plugins", kSamples});
  return run_bare_sluice(arguments);
}

}  // namespace

TEST_CASE("plugins: modules, operators, and a library that crashes as one line of the list") {
  const Ran good = run_bare_sluice({"plugins", "--plugins", kSamples});
  CHECK(good.exit_status == 0);
  CHECK(portable(good.out) == R"(searched PLUGINS/sample

sample 2.0.0 (plugin ABI 0.2)
  PLUGINS/sample/libcli_sample_plugin.so
  sample.each            transform  Shows | every kind of option.
  sample.nowhere         sink       Forgets rows.
)");
  const Ran bad = run_bare_sluice({"plugins"}, {"SLUICE_PLUGIN_PATH=" + kSamples + ":" + kCrashing});
  CHECK(bad.exit_status == 1);
  CHECK(portable(bad.out) == portable(replaced(good.out, "\n\nsample", "\nsearched " + kCrashing + "\n\nsample")) + R"(
failed: PLUGINS/crashing/libcli_crashing_plugin.so
  crashed while loading (signal 6)
)");
}

TEST_CASE("plugins as JSON") {
  const Ran ran = run_bare_sluice({"plugins", "--format", "json", "--plugins", kSamples, "--plugins", kCrashing});
  CHECK(ran.exit_status == 1);
  std::string out = portable(ran.out);
  // How the plugin was built differs from machine to machine.
  const size_t build = out.find("      \"build\":"), vendor = out.find("      \"vendor\":");
  REQUIRE(build != std::string::npos);
  out.erase(build, out.find('\n', build) + 1 - build);
  out.erase(vendor, out.find('\n', vendor) + 1 - vendor);
  CHECK(out == R"~({
  "abi": "0.2",
  "folders": [
    "PLUGINS/sample",
    "PLUGINS/crashing"
  ],
  "modules": [
    {
      "name": "sample",
      "version": "2.0.0",
      "abi": "0.2",
      "file": "PLUGINS/sample/libcli_sample_plugin.so",
      "operators": [
        {
          "type": "sample.each",
          "kind": "transform",
          "version": "1.2.0",
          "summary": "Shows | every kind of option."
        },
        {
          "type": "sample.nowhere",
          "kind": "sink",
          "version": "1.0.0",
          "summary": "Forgets rows."
        }
      ]
    }
  ],
  "failed": [
    {
      "file": "PLUGINS/crashing/libcli_crashing_plugin.so",
      "reason": "crashed while loading (signal 6)"
    }
  ]
}
)~");
}

TEST_CASE("plugins: no folder, and a folder that is not there") {
  const Ran none = run_bare_sluice({"plugins"});
  CHECK(none.exit_status == 0);
  CHECK_THAT(none.out, Catch::StartsWith("no folder to search: ") &&
                           Catch::EndsWith(
                               "/lib/sluice/plugins does not exist; name one with --plugins or SLUICE_PLUGIN_PATH\n"));
  const Ran missing = run_bare_sluice({"plugins", "--plugins", "/nowhere"});
  CHECK(missing.exit_status == 1);
  CHECK(missing.out ==
        "searched /nowhere\n\nfailed: /nowhere\n  this plugin folder cannot be read: No such file or directory\n");
}

TEST_CASE("describe as text") {
  const Ran ran = describe({"sample.each"});
  CHECK(ran.exit_status == 0);
  CHECK(portable(ran.out) == R"(sample.each 1.2.0 (transform)
  Shows | every kind of option.
  From PLUGINS/sample/libcli_sample_plugin.so

  Keeps each row.

  Never more than `rows`.

Example:
  - id: my_sample
    use: sample.each
    input: another_id
    with:
      path: data/in.jsonl
      password: ${PASSWORD}

Options:
  path: text; required
      A file.
      Example: path: data/in.jsonl
  password: text; required, secret
      Of the user.
  follow: true or false; default false
      Go on.
  rows: whole number (rows); default 1000
      At most.
  share: number; default 0.5
      Part of all.
  wait: duration; default 10s, since 1.1.0
      How long.
  room: size; default 64MiB
      How much.
  mode: choice: fast or exact; default fast
      How.
  fields: list; default [a, b]
      Which | of them.
  properties: map; advanced
      Given on as they are.
      Example: properties: { a: b }
  old: text; default x, deprecated
      Use path.
)");
  CHECK(describe({"sample.nowhere"}).out.find("\nIt has no options.\n") != std::string::npos);
}

TEST_CASE("describe as Markdown, into a folder") {
  const Folder folder;
  const Ran ran = describe({"--all", "--format", "markdown", "--out", folder.path("operators")});
  CHECK(ran.exit_status == 0);
  CHECK(ran.out.empty());
  CHECK(read(folder.path("operators/sample.each.md")) == R"(# sample.each

Shows | every kind of option.

A transform, version 1.2.0.

Keeps each row.

Never more than `rows`.

```yaml
- id: my_sample
  use: sample.each
  input: another_id
  with:
    path: data/in.jsonl
    password: ${PASSWORD}
```

## Options

| option | type | default | meaning |
|---|---|---|---|
| `path` | text | required | A file. Example: `data/in.jsonl` |
| `password` | text | required | Of the user. Secret: never shown. |
| `follow` | true or false | `false` | Go on. |
| `rows` | whole number (rows) | `1000` | At most. |
| `share` | number | `0.5` | Part of all. |
| `wait` | duration | `10s` | How long. Since 1.1.0. |
| `room` | size | `64MiB` | How much. |
| `mode` | choice: fast or exact | `fast` | How. |
| `fields` | list | `[a, b]` | Which \| of them. |
| `properties` | map |  | Given on as they are. Example: `{ a: b }` Advanced. |
| `old` | text | `x` | Use path. Deprecated. |
)");
  CHECK(read(folder.path("operators/README.md")) == R"(# Operators

One page for each, written by `sluice describe --all --format markdown --out docs/operators` from what the plugins
say about themselves.

## Transforms

| use | |
|---|---|
| [sample.each](sample.each.md) | Shows \| every kind of option. |

## Sinks

| use | |
|---|---|
| [sample.nowhere](sample.nowhere.md) | Forgets rows. |
)");
}

TEST_CASE("describe as JSON and as JSON Schema") {
  const Ran json = describe({"sample.nowhere", "--format", "json"});
  CHECK(json.exit_status == 0);
  CHECK(portable(json.out) == R"({
  "type": "sample.nowhere",
  "kind": "sink",
  "version": "1.0.0",
  "summary": "Forgets rows.",
  "doc": "",
  "file": "PLUGINS/sample/libcli_sample_plugin.so",
  "keyed": false,
  "key_optional": false,
  "stateful": false,
  "broadcast_input": false,
  "output_ports": [],
  "states": [],
  "options": []
}
)");
  CHECK_THAT(describe({"sample.each", "--format", "json"}).out, Catch::Contains(R"(    {
      "name": "mode",
      "type": "enum",
      "required": false,
      "default": "fast",
      "unit": "",
      "choices": [
        "fast",
        "exact"
      ],
      "min": null,
      "max": null,
      "doc": "How.",
      "example": "",
      "since": "",
      "secret": false,
      "advanced": false,
      "deprecated": false
    })"));
  CHECK_THAT(describe({"sample.each", "--format", "schema"}).out, Catch::StartsWith(R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "sample.each 1.2.0",
  "description": "Shows | every kind of option.",
  "type": [
    "object",
    "null"
  ],
  "additionalProperties": false,
  "required": [
    "path",
    "password"
  ],
  "properties": {
    "properties": {
      "description": "Given on as they are. Example: { a: b }",
      "anyOf": [
        {
          "type": "object",
          "additionalProperties": {
            "type": [
              "string",
              "number",
              "boolean"
            ]
          }
        }
      ]
    },
)"));
  CHECK_THAT(describe({"--all", "--format", "schema"}).out,
             Catch::Contains("\"title\": \"Sluice pipeline\"") && Catch::Contains("\"const\": \"sample.nowhere\""));
}

TEST_CASE("describe pipeline: the keys of the file itself") {
  const Ran text = describe({"pipeline"}), json = describe({"pipeline", "--format", "json"});
  CHECK(text.exit_status == 0);
  CHECK_THAT(text.out, Catch::Contains("\ncheckpoint\n  dir: text\n") &&
                           Catch::Contains("\n  interval: duration; default 10s\n      Time between two checkpoints") &&
                           Catch::Contains("\n  with: block\n      Options of that sink.\n") &&
                           Catch::Contains("\nA step of a test's input\n  to: text\n"));
  CHECK(json.exit_status == 2);
  CHECK(json.err ==
        "sluice describe: \"pipeline\" is described as --format text or markdown, on standard output; --all --format schema is "
        "for editors\n");
}

TEST_CASE("describe: an operator that is not there") {
  const Ran near = describe({"sample.eech"}), far = describe({"mongodb"});
  CHECK(near.exit_status == 2);
  CHECK(near.err == "sluice describe: there is no operator \"sample.eech\"; did you mean \"sample.each\"?\n");
  CHECK(far.exit_status == 2);
  CHECK(far.err == "sluice describe: there is no operator \"mongodb\"; \"sluice plugins\" lists them\n");
}

TEST_CASE("plugin folders: command line, file, environment, each once") {
  REQUIRE(::setenv("SLUICE_PLUGIN_PATH", "c:a::d", 1) == 0);
  std::vector<std::string> folders = sluice::cli::plugin_folders({"a", "b"}, {"b", "c"});
  if (std::filesystem::is_directory(sluice::cli::own_plugin_folder())) {
    REQUIRE_FALSE(folders.empty());
    CHECK(folders.back() == sluice::cli::own_plugin_folder());
    folders.pop_back();
  }
  CHECK(folders == std::vector<std::string>{"a", "b", "c", "d"});
  REQUIRE(::unsetenv("SLUICE_PLUGIN_PATH") == 0);
}
