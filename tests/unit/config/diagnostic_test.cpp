#include "config/diagnostic.h"

#include <rapidjson/document.h>

#include <catch2/catch.hpp>
#include <string>

#include "config/nearest_name.h"

namespace sluice::config {

TEST_CASE("messages are sorted by place and quote their line") {
  Diagnostics diagnostics;
  diagnostics.add_source("a.yaml", "x: 1\n  中文: {topik: 2}\r\n\ty: 3\n");
  diagnostics.error({"a.yaml", 3, 2}, "c", "y", "third");
  diagnostics.error({"a.yaml", 2, 8}, "unknown-option", "中文.topik", "unknown option \"topik\" of kafka.source",
                    "topic", "look there");
  diagnostics.warning({"a.yaml", 1, 4}, "b", "x", "first");
  CHECK(diagnostics.has_errors());
  CHECK(diagnostics.error_count() == 2);
  CHECK(diagnostics.warning_count() == 1);
  CHECK(diagnostics.render_text() ==
        "a.yaml:1:4: warning: first\n  x: 1\n     ^\n"
        "a.yaml:2:8: error: unknown option \"topik\" of kafka.source; did you mean \"topic\"?\n"
        "    中文: {topik: 2}\n           ^\n  hint: look there\n"
        "a.yaml:3:2: error: third\n  \ty: 3\n  \t^\n");
}

TEST_CASE("control characters of a quoted line do not get out") {
  Diagnostics diagnostics;
  diagnostics.add_source("a", std::string("x\0y\x1B[31m\x7F\tz\n", 12));
  diagnostics.error({"a", 1, 2}, "c", "p", "m");
  CHECK(diagnostics.render_text() == "a:1:2: error: m\n  x\uFFFDy\uFFFD[31m\uFFFD\tz\n   ^\n");
}

TEST_CASE("equal messages at one place are shown once") {
  Diagnostics diagnostics;
  diagnostics.error({"a", 1, 1}, "c", "p", "m");
  diagnostics.error({"a", 1, 1}, "c", "other path", "m");
  diagnostics.error({"a", 1, 1}, "c", "p", "n");
  CHECK(diagnostics.error_count() == 2);
}

TEST_CASE("lines with secrets are not quoted") {
  Diagnostics diagnostics;
  diagnostics.add_source("a", "x: hunter2\npassword: hunter2\ny: 1\npassword: ${P}\n");
  diagnostics.hide_lines("a", 1, 1);
  for (int line = 1; line <= 4; ++line) diagnostics.error({"a", line, 1}, "c", "", "m" + std::to_string(line));
  const std::string text = diagnostics.render_text();
  CHECK_THAT(text, !Catch::Contains("hunter2"));
  CHECK_THAT(text, Catch::Contains("y: 1"));
  CHECK_THAT(text, Catch::Contains("${P}"));
}

TEST_CASE("lines with a user in an address are not quoted") {
  Diagnostics diagnostics;
  diagnostics.add_source("a",
                         "servers: [\"http://a:1\", default:hunter2@ch1:8123]\nhost: 'http://root:hunter2@db'\n"
                         "url: http://root:${PW}@db\nmail: me@db\nx: 1 @ 2\n");
  for (int line = 1; line <= 5; ++line) diagnostics.error({"a", line, 1}, "c", "", "m");
  CHECK(diagnostics.render_text() ==
        "a:1:1: error: m\na:2:1: error: m\n"
        "a:3:1: error: m\n  url: http://root:${PW}@db\n  ^\n"
        "a:4:1: error: m\n  mail: me@db\n  ^\n"
        "a:5:1: error: m\n  x: 1 @ 2\n  ^\n");
}

TEST_CASE("JSON output has every field and survives any text") {
  Diagnostics diagnostics;
  diagnostics.add({Severity::kError,
                   {"dir/\"a\".yaml", 12, 5},
                   "unknown-option",
                   "operators[2].with.topik",
                   "unknown option \"topik\"\n\x01 中文",
                   "topic",
                   "a hint",
                   {{{"dir/b.yaml", 3, 1}, "first given here"}}});
  diagnostics.warning({"z", 1, 1}, "c", "p", "w");
  rapidjson::Document json;
  json.Parse(diagnostics.render_json().c_str());
  REQUIRE(json.IsArray());
  REQUIRE(json.Size() == 2);
  const auto& first = json[0];
  CHECK(first["file"].GetString() == std::string("dir/\"a\".yaml"));
  CHECK(first["line"].GetInt() == 12);
  CHECK(first["column"].GetInt() == 5);
  CHECK(first["severity"].GetString() == std::string("error"));
  CHECK(first["path"].GetString() == std::string("operators[2].with.topik"));
  CHECK(first["code"].GetString() == std::string("unknown-option"));
  CHECK(first["message"].GetString() == std::string("unknown option \"topik\"\n\x01 中文"));
  CHECK(first["suggestion"].GetString() == std::string("topic"));
  CHECK(first["hint"].GetString() == std::string("a hint"));
  CHECK(first["notes"][0]["line"].GetInt() == 3);
  CHECK(json[1]["severity"].GetString() == std::string("warning"));
  CHECK(Diagnostics().render_json() == "[]");
  CHECK(Diagnostics().render_text().empty());
}

TEST_CASE("distance counts a swap of neighbours as one slip") {
  CHECK(edit_distance("topic", "topic") == 0);
  CHECK(edit_distance("tpoic", "topic") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest name is suggested, and nothing when none is near") {
  const std::vector<std::string> names = {"brokers", "topic", "topics", "group", "start", "until", "properties"};
  CHECK(nearest_name("topik", names) == "topic");
  CHECK(nearest_name("topicss", names) == "topics");
  CHECK(nearest_name("Topic", names) == "topic");
  CHECK(nearest_name("broker", names) == "brokers");
  CHECK(nearest_name("gruop", names) == "group");
  CHECK(nearest_name("colour", names).empty());
  CHECK(nearest_name("", names).empty());
  CHECK(nearest_name("x", names).empty());
  CHECK(nearest_name(std::string(100'000, 'x'), names).empty());
  CHECK(nearest_name("kafka_sorce", {"kafka.sink", "kafka.source", "file.source"}) == "kafka.source");
  CHECK(nearest_name("redis.source", {"kafka.source", "file.source"}).empty());
  CHECK(nearest_name("outOfOrder", {"out_of_order", "offset"}) == "out_of_order");
}

}  // namespace sluice::config
