#include "cli/pipeline_page.h"

#include <fmt/format.h>

#include <vector>

#include "cli/operator_page.h"
#include "config/pipeline_options.h"

namespace sluice::cli {
namespace {

using config::KeySpec;
using config::OptionSpec;

constexpr const char* kIntroduction = R"(# Pipeline files

Every key of a pipeline file, written by `sluice describe pipeline --format markdown` from the tables that files are checked against.
What rows, lanes, time and checkpoints are: [concepts.md](concepts.md). What stands under `with`: the page of the
[operator](operators/README.md). `sluice describe --all --format schema` is the same for an editor
([command-line.md](command-line.md#for-programs)).

A file is one YAML document. A key that is not listed here, one that is given twice, and a value of another type are errors with
their place; all of them are reported in one run. What operators
themselves find wrong with their options comes after that, one thing for each. A list may be written as its only item.

| type | written as |
|---|---|
| whole number | decimal digits; no leading zero, no other base |
| duration | a whole number and `ms`, `s`, `m`, `h` or `d`; or `0` |
| size | bytes, or a whole number and `B`, `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024), `KB`, `MB`, `GB`, `TB` (of 1000) |
| true or false | these two words |
| list | `[a, b]`, or a line with `- ` for each item |

In every value `${NAME}` is replaced by the environment variable, `${NAME:-text}` by the text when it is unset or empty; `$${` stands
for `${`. A variable that is not set and has no such text is an error. Paths are relative to the working directory, those of
`include` to the file that includes.
)";

struct Part {
  std::string title, doc;
  std::vector<OptionSpec> options;
  std::vector<KeySpec> keys;
};

std::vector<Part> parts() {
  std::vector<Part> out{{"Top level", "", config::top_level_options(), config::top_level_blocks()}};
  for (const config::SectionSpec& section : config::top_level_sections()) {
    out[0].keys.push_back({section.name, "block", section.doc});
    out.push_back({"`" + section.name + "`", section.doc, section.options, section.blocks});
  }
  out.push_back({"An operator", "An item of `operators`.", config::operator_options(), config::operator_blocks()});
  out.push_back({"`event_time`", "Of an operator that is a source.", config::event_time_options(), {}});
  out.push_back({"A test", "An item of `tests`; [testing-pipelines.md](testing-pipelines.md) shows them.", {}, config::test_keys()});
  out.push_back({"A step of a test's `input`", "", {}, config::test_step_keys()});
  out.push_back({"Rows of a test's `expect`", "", {}, config::expected_rows_keys()});
  out.push_back({"A letter of a test's `dead_letters`", "Each as much as matters.", {}, config::expected_letter_keys()});
  return out;
}

}  // namespace

std::string pipeline_text() {
  std::string out;
  for (const Part& part : parts()) {
    std::string title = part.title;
    std::erase(title, '`');
    out += (out.empty() ? "" : "\n") + title + "\n" + options_text(part.options);
    for (const KeySpec& key : part.keys) out += fmt::format("  {}: {}\n      {}\n", key.name, key.type, key.doc);
  }
  return out;
}

std::string pipeline_markdown() {
  std::string out = kIntroduction;
  for (const Part& part : parts()) {
    out += "\n## " + part.title + "\n\n" + (part.doc.empty() ? "" : part.doc + "\n\n");
    out += "| key | type | default | meaning |\n|---|---|---|---|\n" + options_markdown(part.options);
    for (const KeySpec& key : part.keys)
      out += fmt::format("| `{}` | {} | | {} |\n", key.name, markdown_cell(key.type), markdown_cell(key.doc));
  }
  return out;
}

}  // namespace sluice::cli
