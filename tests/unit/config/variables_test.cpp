#include <catch2/catch.hpp>
#include <string>

#include "config/option_spec.h"
#include "hand_catalog.h"

namespace sluice::config::testing {
namespace {

const Node& value(const std::optional<Node>& root, const char* key) {
  REQUIRE(root);
  REQUIRE(root->find(key) != nullptr);
  return root->find(key)->node;
}

}  // namespace

TEST_CASE("UX-03: variables are replaced after parsing, in values only") {
  const std::string text =
      "# ${NOT_DEFINED} in a comment\n"
      "password: ${DB_PASS}          # DB_PASS\n"
      "topic: ${TOPIC:-topic_db}     # undefined -> default\n"
      "brokers: ${BROKERS}           # undefined, no default\n"
      "literal: $${KEEP}\n"
      "port: ${PORT}                 # PORT=3306\n";
  Diagnostics diagnostics;
  const std::optional<Node> root = read_pipeline_text(
      "ux03.yaml", text, environment({{"DB_PASS", "p@ss: \"#{x}\", a\nb"}, {"PORT", "3306"}}), diagnostics);
  CHECK(value(root, "password").scalar == "p@ss: \"#{x}\", a\nb");
  CHECK(value(root, "topic").scalar == "topic_db");
  CHECK(value(root, "literal").scalar == "${KEEP}");
  CHECK(value(root, "port").scalar == "3306");
  CHECK_FALSE(value(root, "port").quoted);
  CHECK(value(root, "brokers").unresolved);

  const std::optional<OptionValue> port =
      check_option(value(root, "port"), option("port", OptionType::kInt), "db", "port", diagnostics);
  REQUIRE(port);
  CHECK(port->as_int() == 3306);

  REQUIRE(diagnostics.error_count() == 1);
  CHECK(diagnostics.render_text() ==
        "ux03.yaml:4:10: error: environment variable BROKERS is not set\n"
        "  brokers: ${BROKERS}           # undefined, no default\n"
        "           ^\n"
        "  hint: set it, or give a default: ${BROKERS:-value}\n");
}

TEST_CASE("variables inside text, several at once, empty, in keys") {
  Diagnostics diagnostics;
  const std::optional<Node> root =
      read_pipeline_text("v.yaml",
                         "a: x-${A}-${B:-}-${C:-c:d}y\nb: '${A}'\nc: \"$${A} ${A}\"\n${A}: key\nd: [\"${A}\", \"{ ${A} "
                         "}\"]\ne: $A $ $$\nf: ${E:-full}\ng: |\n  ${A}\n",
                         environment({{"A", "1"}, {"E", ""}}), diagnostics);
  CHECK(diagnostics.empty());
  CHECK(value(root, "a").scalar == "x-1--c:dy");
  CHECK(value(root, "b").scalar == "1");
  CHECK(value(root, "b").quoted);
  CHECK(value(root, "c").scalar == "${A} 1");
  CHECK(value(root, "${A}").scalar == "key");
  CHECK(value(root, "d").items[1].scalar == "{ 1 }");
  CHECK(value(root, "e").scalar == "$A $ $$");
  CHECK(value(root, "f").scalar == "full");
  CHECK(value(root, "g").scalar == "1\n");
}

TEST_CASE("a value is not looked at for variables again") {
  Diagnostics diagnostics;
  const std::optional<Node> root =
      read_pipeline_text("v.yaml", "a: ${A}\n", environment({{"A", "${B} [x, y]"}}), diagnostics);
  CHECK(diagnostics.empty());
  CHECK(value(root, "a").scalar == "${B} [x, y]");
  CHECK(value(root, "a").is_scalar());
}

TEST_CASE("malformed and undefined variables are reported where they stand, without the text around them") {
  for (const char* text : {"a: ${}\n", "a: ${1A}\n", "a: ${A-b}\n", "a: ${A\n", "a: \"${A:b}\"\n"}) {
    Diagnostics diagnostics;
    read_pipeline_text("v.yaml", text, environment({{"A", "1"}}), diagnostics);
    INFO(text);
    REQUIRE(diagnostics.error_count() == 1);
    const Diagnostic d = diagnostics.sorted().front();
    CHECK(d.message == "\"${\" begins no variable here");
    CHECK(d.at.line == 1);
    CHECK(d.at.column == 4);
  }
  Diagnostics diagnostics;
  read_pipeline_text("v.yaml", "a:\n  - x\n  - b: ${U1}\n    c: ${U2}\n", environment(), diagnostics);
  REQUIRE(diagnostics.error_count() == 2);
  CHECK(diagnostics.sorted()[0].path == "a[1].b");
  CHECK(diagnostics.sorted()[1].path == "a[1].c");
}

}  // namespace sluice::config::testing
