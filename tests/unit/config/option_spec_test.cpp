#include "config/option_spec.h"

#include <catch2/catch.hpp>
#include <string>

#include "config/pipeline_options.h"
#include "hand_catalog.h"

namespace sluice::config::testing {
namespace {

struct Result {
  OptionValues values;
  Diagnostics diagnostics;
  std::string only_error() const {
    if (diagnostics.error_count() != 1) return "errors: " + diagnostics.render_text();
    for (const Diagnostic& d : diagnostics.sorted()) {
      if (d.severity != Severity::kError) continue;
      return std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + message_with_suggestion(d);
    }
    return {};
  }
};

Result check_text(std::string_view text, const std::vector<OptionSpec>& specs) {
  Result out;
  const std::optional<Node> root = parse_source("o.yaml", text, out.diagnostics);
  REQUIRE(root);
  OptionScope scope;
  scope.owner = "my.op";
  scope.path = "with";
  scope.missing_at = {"o.yaml", 99, 1};
  out.values = check_options(&*root, specs, scope, out.diagnostics);
  return out;
}

OptionSpec bounded(OptionSpec spec, int64_t min, int64_t max) {
  spec.min = min;
  spec.max = max;
  return spec;
}

}  // namespace

TEST_CASE("values of every type") {
  const Result result = check_text(
      "b: true\ni: -5\nd: 2.5\ns: 010\nt: 90s\nz: 64MiB\ne: late\nl: [a, 1]\nm: {x: 1, y: \"two words\"}\nq: \"7\"\n",
      {option("b", OptionType::kBool), option("i", OptionType::kInt), option("d", OptionType::kDouble),
       option("s", OptionType::kString), option("t", OptionType::kDuration), option("z", OptionType::kSize),
       choice("e", {"early", "late"}, ""), option("l", OptionType::kList), option("m", OptionType::kMap),
       option("q", OptionType::kInt)});
  REQUIRE(result.diagnostics.empty());
  CHECK(result.values.at("b").as_bool());
  CHECK(result.values.at("i").as_int() == -5);
  CHECK(result.values.at("d").as_double() == 2.5);
  CHECK(result.values.at("s").as_string() == "010");
  CHECK(result.values.at("t").as_int() == 90'000);
  CHECK(result.values.at("z").as_int() == 67'108'864);
  CHECK(result.values.at("e").as_string() == "late");
  CHECK(result.values.at("l").as_list() == OptionList{"a", "1"});
  CHECK(result.values.at("m").as_map() == OptionMap{{"x", "1"}, {"y", "two words"}});
  CHECK(result.values.at("q").as_int() == 7);
  CHECK(result.values.at("t").at.line == 5);
  CHECK(to_yaml(result.values.at("m")) == "{ x: 1, y: \"two words\" }");
  CHECK(to_yaml(result.values.at("t")) == "90s");
  CHECK(to_yaml(result.values.at("l")) == "[a, 1]");
  CHECK(to_yaml(result.values.at("d")) == "2.5");
}

TEST_CASE("defaults are filled in, in the type of the option") {
  const std::vector<OptionSpec> specs = {option("t", OptionType::kDuration, false, "10s"),
                                         option("l", OptionType::kList, false, "[a, b]"),
                                         option("m", OptionType::kMap, false, "{}"), option("n", OptionType::kString),
                                         option("e", OptionType::kString, false, "\"\"")};
  const Result result = check_text("{}", specs);
  REQUIRE(result.diagnostics.empty());
  CHECK(result.values.at("t").as_int() == 10'000);
  CHECK(result.values.at("t").is_default);
  CHECK(result.values.at("l").as_list() == OptionList{"a", "b"});
  CHECK(result.values.at("m").as_map().empty());
  CHECK(result.values.at("e").as_string().empty());
  CHECK(result.values.count("n") == 0);
  CHECK(check_option_specs(specs).empty());
}

TEST_CASE("a single value is a list of one") {
  CHECK(check_text("l: a", {option("l", OptionType::kList)}).values.at("l").as_list() == OptionList{"a"});
}

TEST_CASE("wrong types are named in plain words") {
  const std::vector<OptionSpec> specs = {option("s", OptionType::kString), option("l", OptionType::kList),
                                         option("m", OptionType::kMap), option("i", OptionType::kInt)};
  CHECK(check_text("s: [a]", specs).only_error() == "1:4 \"s\" of my.op must be a single value (text), not a list");
  CHECK(check_text("i: {a: 1}", specs).only_error() ==
        "1:4 \"i\" of my.op must be a single value (whole number), not a block of \"key: value\" lines");
  CHECK(check_text("l: {a: 1}", specs).only_error() ==
        "1:4 \"l\" of my.op must be a list, not a block of \"key: value\" lines");
  CHECK(check_text("l: [a, [b]]", specs).only_error() ==
        "1:8 \"l\" of my.op must be a list of single values; this item is a list");
  CHECK(check_text("l: [a, ]\nm: [x]", specs).only_error() ==
        "2:4 \"m\" of my.op must be \"key: value\" lines, not a list");
  CHECK(check_text("m: {a: {b: 1}}", specs).only_error() ==
        "1:8 \"a\" in \"m\" of my.op must be a single value, not a block of \"key: value\" lines");
  CHECK(check_text("m:\n  a:\n", specs).only_error() ==
        "2:3 \"a\" in \"m\" of my.op must be a single value, not nothing");
  CHECK(check_text("i: 0x10", specs).only_error() ==
        "1:4 \"i\" of my.op: \"0x10\" looks like a hexadecimal number; only decimal numbers are accepted; did you mean "
        "\"16\"?");
}

TEST_CASE("bounds are shown in the unit of the option") {
  CHECK(check_text("t: 2d", {bounded(option("t", OptionType::kDuration), 1000, 86'400'000)}).only_error() ==
        "1:4 \"t\" of my.op must be at most 1d, not 2d");
  CHECK(check_text("t: 1ms", {bounded(option("t", OptionType::kDuration), 1000, 86'400'000)}).only_error() ==
        "1:4 \"t\" of my.op must be at least 1s, not 1ms");
  CHECK(check_text("z: 2KiB", {bounded(option("z", OptionType::kSize), 0, 1024)}).only_error() ==
        "1:4 \"z\" of my.op must be at most 1KiB, not 2KiB");
}

TEST_CASE("required options: missing, empty and misspelt are one error each") {
  const std::vector<OptionSpec> specs = {option("path", OptionType::kString, true), option("list", OptionType::kList)};
  CHECK(check_text("{}", specs).only_error() == "99:1 option \"path\" of my.op is missing");
  CHECK(check_text("path:", specs).only_error() == "1:1 option \"path\" of my.op has no value");
  CHECK(check_text("path: \"\"", specs).only_error() == "1:7 option \"path\" of my.op has no value");
  CHECK(check_text("pathh: x", specs).only_error() == "1:1 unknown option \"pathh\" of my.op; did you mean \"path\"?");
  CHECK(check_text("list: []\npath: x", specs).values.at("list").as_list().empty());
}

TEST_CASE("an option that is given without a value keeps its default, with a warning") {
  const Result result = check_text("t:\n", {option("t", OptionType::kDuration, false, "10s")});
  CHECK(result.diagnostics.error_count() == 0);
  CHECK(result.diagnostics.warning_count() == 1);
  CHECK(result.values.at("t").as_int() == 10'000);
}

TEST_CASE("deprecated options work with a warning and are not suggested") {
  OptionSpec old = option("topicname", OptionType::kString);
  old.deprecated = true;
  old.doc = "use topic";
  const std::vector<OptionSpec> specs = {old, option("topic", OptionType::kString)};
  const Result result = check_text("topicname: x", specs);
  CHECK(result.values.at("topicname").as_string() == "x");
  CHECK(result.diagnostics.warning_count() == 1);
  CHECK_THAT(check_text("topicnam: x", specs).only_error(), !Catch::Contains("topicname"));
}

TEST_CASE("secrets are redacted everywhere") {
  OptionSpec pin = secret("pin");
  pin.type = OptionType::kInt;
  OptionSpec level = choice("level", {"a", "b"}, "");
  level.secret = true;
  const std::vector<OptionSpec> specs = {secret("password"), pin, level, option("properties", OptionType::kMap),
                                         option("n", OptionType::kInt)};
  const Result good =
      check_text("password: hunter2\nproperties:\n  sasl.password: hunter3\n  linger.ms: 5\nn: 3\n", specs);
  REQUIRE(good.diagnostics.empty());
  CHECK(good.values.at("password").as_string() == "hunter2");
  CHECK(redacted(good.values) == "n: 3\npassword: ***\nproperties: { sasl.password: ***, linger.ms: 5 }\n");

  for (const char* text : {"{ password: hunter2, n: x }", "{ pasword: hunter2 }", "pin: hunter2", "level: hunter2",
                           "{ n: x, properties: { sasl.password: hunter2 } }", "password: [hunter2]"}) {
    const Result bad = check_text(text, specs);
    INFO(bad.diagnostics.render_text());
    CHECK(bad.diagnostics.error_count() == 1);
    CHECK_THAT(bad.diagnostics.render_text(), !Catch::Contains("hunter2"));
    CHECK_THAT(bad.diagnostics.render_json(), !Catch::Contains("hunter2"));
  }
}

TEST_CASE("mistakes in a table are found") {
  OptionSpec both = option("a", OptionType::kInt, true, "1");
  const std::vector<std::string> problems = check_option_specs(
      {both, option("a", OptionType::kString), choice("e", {}, ""), option("t", OptionType::kDuration, false, "10")});
  REQUIRE(problems.size() == 4);
  CHECK(problems[0] == "option \"a\" is required and has a default");
  CHECK(problems[1] == "option \"a\" is declared twice");
  CHECK(problems[2] == "option \"e\" has no choices");
  CHECK_THAT(problems[3], Catch::StartsWith("the default of option \"t\" cannot be read: 10"));
  // Used all the same, it is reported at the section and not taken.
  const Result result = check_text("{}", {option("t", OptionType::kDuration, false, "10")});
  CHECK_THAT(result.only_error(), Catch::Contains("the default of option \"t\" cannot be read"));
}

TEST_CASE("the tables of the pipeline file itself hold no mistakes") {
  CHECK(check_option_specs(top_level_options()).empty());
  CHECK(check_option_specs(operator_options()).empty());
  CHECK(check_option_specs(event_time_options()).empty());
  for (const SectionSpec& section : top_level_sections()) CHECK(check_option_specs(section.options).empty());
}

}  // namespace sluice::config::testing
