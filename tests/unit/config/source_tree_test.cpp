#include "config/source_tree.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace sluice::config {
namespace {

struct Parsed {
  std::optional<Node> root;
  Diagnostics diagnostics;
};

Parsed parse(std::string_view text, const SourceLimits& limits = {}) {
  Parsed out;
  out.root = parse_source("f.yaml", text, out.diagnostics, limits);
  return out;
}

// `3:4 message` of the only error.
std::string only_error(std::string_view text, const SourceLimits& limits = {}) {
  const Parsed parsed = parse(text, limits);
  if (parsed.diagnostics.error_count() != 1) return "errors: " + parsed.diagnostics.render_text();
  const Diagnostic d = parsed.diagnostics.sorted().front();
  return std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + d.message;
}

std::string place(const Location& at) { return std::to_string(at.line) + ":" + std::to_string(at.column); }

}  // namespace

TEST_CASE("every part of the tree knows its place") {
  const Parsed parsed =
      parse("a: 1\nb:\n  - x\n  - {c: \"two words\", d: }\n  -\ne:\nf: ~\ng: |\n  one\n  two\nh: last\n");
  REQUIRE(parsed.root);
  CHECK(parsed.diagnostics.empty());
  const Node& root = *parsed.root;
  REQUIRE(root.is_map());
  CHECK(place(root.at) == "1:1");
  CHECK(place(root.find("a")->key_location) == "1:1");
  CHECK(place(root.find("a")->node.at) == "1:4");
  CHECK(root.find("a")->node.at.file == "f.yaml");
  const Node& list = root.find("b")->node;
  REQUIRE(list.items.size() == 3);
  CHECK(place(list.at) == "3:3");
  CHECK(place(list.items[0].at) == "3:5");
  CHECK(place(list.items[1].find("c")->key_location) == "4:6");
  CHECK(list.items[1].find("c")->node.scalar == "two words");
  CHECK(list.items[1].find("c")->node.quoted);
  CHECK(place(list.items[1].find("c")->node.at) == "4:9");
  CHECK(list.items[1].find("d")->node.is_null());
  CHECK(place(list.items[1].find("d")->node.at) == "4:22");
  CHECK(list.items[2].is_null());
  CHECK(place(list.items[2].at) == "5:3");
  CHECK(root.find("e")->node.is_null());
  CHECK(place(root.find("e")->node.at) == "6:1");
  CHECK(root.find("f")->node.is_null());
  CHECK(place(root.find("f")->node.at) == "7:4");
  CHECK(root.find("g")->node.scalar == "one\ntwo\n");
  CHECK(root.find("g")->node.quoted);
  CHECK(root.find("g")->node.last_line == 10);
  CHECK_FALSE(root.find("h")->node.quoted);
  CHECK(root.find("nothing") == nullptr);
}

TEST_CASE("columns count characters, lines may end in CRLF, a byte order mark is skipped") {
  const Parsed parsed = parse(
      "\xEF\xBB\xBF"
      "中文: {值: \"购物\", b: x}\r\nz: y\r\n");
  REQUIRE(parsed.root);
  CHECK(parsed.diagnostics.empty());
  const Node& map = parsed.root->find("中文")->node;
  CHECK(place(map.at) == "1:5");
  CHECK(map.find("值")->node.scalar == "购物");
  CHECK(place(map.find("值")->node.at) == "1:9");
  CHECK(place(map.find("b")->key_location) == "1:15");
  CHECK(parsed.root->find("z")->node.scalar == "y");
}

TEST_CASE("an empty file is an empty tree") {
  for (const char* text : {"", "# only a comment\n", "---\n", "~\n"}) {
    const Parsed parsed = parse(text);
    REQUIRE(parsed.root);
    CHECK(parsed.root->is_null());
    CHECK(parsed.root->at.known());
    CHECK(parsed.diagnostics.empty());
  }
}

TEST_CASE("syntax errors are placed where the slip is") {
  CHECK(only_error("a:\n\tb: 1\n") == "2:1 a tab is used for indentation; YAML allows only spaces there");
  CHECK(only_error("a:\n  b: 1\n\tc: 2\n") == "3:1 a tab is used for indentation; YAML allows only spaces there");
  CHECK(only_error("a:\n  - b\n \t- c\n") == "3:2 a tab is used for indentation; YAML allows only spaces there");
  CHECK(only_error("a:\n  b: 1\n c: 2\n") == "3:2 the indentation of this line fits no line above it");
  CHECK(only_error("a: 1\n b: 2\n") == "2:2 this line stands too deep: it would become part of the value in line 1");
  CHECK(only_error("a: b: c\n") == "1:4 a value with \": \" in it must stand in quotes");
  CHECK(only_error("x:\n  - a: b: c\n") == "2:8 a value with \": \" in it must stand in quotes");
  CHECK(only_error("a: 1\nb\nc: 2\n") == "2:1 \":\" is missing after \"b\"");
  CHECK(only_error("a: 1\nb c # d\n") == "2:1 \":\" is missing after \"b c\"");
  CHECK(only_error("a:1\nb: 2\n") == "1:1 a space is missing after the \":\" of \"a:1\"");
  CHECK(only_error("b: 2\na:1\n") == "2:1 a space is missing after the \":\" of \"a:1\"");
  CHECK(only_error("x:\n- id: a\n -id: c\n") == "3:2 a space is missing after \"-\"");
  CHECK(only_error("x:\n- id: a\n  use: \"b\"\n -id: c\n") == "4:2 a space is missing after \"-\"");
  CHECK(only_error("a: [1, 2\n") == "1:4 the \"[\" opened here is not closed with \"]\"");
  CHECK(only_error("a: [1, 2\nb: 3\n") == "1:4 the \"[\" opened here is not closed with \"]\"");
  CHECK(only_error("a: {b: [1, {c\n") == "1:12 the \"{\" opened here is not closed with \"}\"");
  CHECK(only_error("a: [1, 2]]\n") == "1:10 \"]\" closes nothing: it was never opened");
  CHECK(only_error("a: @x\n") == "1:4 a value that starts with \"@\" must stand in quotes");
  CHECK(only_error("a: \"\\q\"\n") == "1:7 unknown escape \"\\q\" in a text in double quotes");
  CHECK(only_error("a: \"x\" y\nb: 1\n") == "1:8 unexpected text after the value");
  CHECK(only_error("- a\nb: 1\n") == "2:1 this does not belong to the list or value the file begins with");
  CHECK(only_error("? [a, b]\n: 1\n") == "1:3 a key must be a plain text");
  CHECK(only_error(": 1\n") == "1:1 a key is missing before this");
  CHECK(only_error("a: !foo 1\n") == "1:9 the YAML tag \"!foo\" is not supported; remove it");
}

TEST_CASE("a quote that is not closed is an error at the quote") {
  // yaml-cpp itself takes the first for a complete file.
  CHECK(only_error("a: \"x\nb: 2\n") == "1:4 the quote opened here is never closed");
  CHECK(only_error("a: 1\nb: 'it''s\n") == "2:4 the quote opened here is never closed");
  CHECK(only_error("\"a: 1\nb: 2\n") == "1:1 the quote opened here is never closed");
  CHECK(only_error("a: \"x\nb: \"2\"\nc: 3\n") == "1:4 the quote opened here is not closed on its line");
  CHECK(parse("a: \"one\n  two\"\n").root->find("a")->node.scalar == "one two");
}

TEST_CASE("a quote that was never opened is not taken for a part of the value") {
  CHECK(only_error("a: x\"\nb: 1\n") == "1:5 the quote that ends here was never opened");
  CHECK(only_error("a: [x']\n") == "1:6 the quote that ends here was never opened");
  CHECK(parse("a: it's\nb: x\"y\"\nc: \"5'\"\n").diagnostics.empty());
}

TEST_CASE("a plain value does not silently go on in the next line") {
  CHECK(only_error("a:\n  - x\n   - y\n") ==
        "3:4 this \"-\" stands deeper than the list it belongs to and would become part of the value in line 2");
  CHECK(only_error("a: x\n  y\n") == "2:3 this line stands too deep: it would become part of the value in line 1");
  CHECK(parse("a: [x,\n  y]\n").root->find("a")->node.items.size() == 2);
}

TEST_CASE("equal keys are reported with both places, and the first one counts") {
  const Parsed parsed = parse("a:\n  b: 1\n  c: 2\n  b: 3\n");
  REQUIRE(parsed.diagnostics.error_count() == 1);
  const Diagnostic d = parsed.diagnostics.sorted().front();
  CHECK(place(d.at) == "4:3");
  CHECK(d.code == "duplicate-key");
  CHECK(d.path == "a.b");
  CHECK(d.message == "the key \"b\" is given twice; first at 2:3");
  REQUIRE(d.notes.size() == 1);
  CHECK(place(d.notes[0].at) == "2:3");
  CHECK(parsed.root->find("a")->node.find("b")->node.scalar == "1");
  CHECK(parsed.root->find("a")->node.entries.size() == 2);
}

TEST_CASE("anchors and aliases work within bounds") {
  const Parsed parsed = parse("a: &x {b: [1, 2]}\nc: *x\nd: [*x, &y z, *y]\n");
  REQUIRE(parsed.root);
  CHECK(parsed.diagnostics.empty());
  CHECK(parsed.root->find("c")->node.find("b")->node.items[1].scalar == "2");
  CHECK(parsed.root->find("d")->node.items[2].scalar == "z");
  CHECK(place(parsed.root->find("c")->node.find("b")->key_location) == "1:8");

  CHECK(only_error("a: &x [*x]\n") == "1:8 an alias cannot stand inside the value it refers to");
  CHECK(only_error("a: *x\n") == "1:4 the alias \"*x\" has no anchor above it");
  SourceLimits few;
  few.nodes = 20;
  CHECK_THAT(only_error("a: &a [1, 2, 3, 4, 5]\nb: &b [*a, *a]\nc: [*b, *b]\n", few),
             Catch::StartsWith("3:4 the file holds more than 20 values"));
  // One long text, repeated.
  std::string text = "a: &a \"" + std::string(100'000, 'x') + "\"\nb: [";
  for (int i = 0; i < 1000; ++i) text += "*a, ";
  CHECK_THAT(only_error(text + "*a]\n"), Catch::Contains("the file holds more than"));
  // Depth adds up through aliases.
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    deep += "a" + n + ": &a" + n + " [*a" + before + "]\n";
  }
  CHECK_THAT(only_error(deep), Catch::Contains("nested more than 64 levels deep"));
}

TEST_CASE("hostile files end soon with a message") {
  const auto repeated = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  CHECK(only_error("a: " + repeated("[", 100) + repeated("]", 100)) == "1:67 nested more than 64 levels deep");
  CHECK(only_error("a: " + repeated("{a: ", 100) + repeated("}", 100)) == "1:256 nested more than 64 levels deep");
  CHECK(only_error(repeated("- ", 100) + "a\n") == "1:129 nested more than 64 levels deep");
  for (const char* piece : {"[", "{a: ", "{", "- ", "? ", "a: ", "[a, ", "&a ", "!a ", "*a ", "|\n", "- |\n"}) {
    INFO(piece);
    CHECK(parse(repeated(piece, 200'000)).diagnostics.error_count() == 1);
    CHECK(parse("a: " + repeated(piece, 200'000)).diagnostics.error_count() == 1);
  }
  CHECK_THAT(only_error(std::string(5u << 20, 'x')), Catch::Contains("the file is larger than 4096 KiB"));
  CHECK(only_error("a: b\x04 c\n") == "1:5 a control character is not allowed here");
  CHECK(only_error(std::string("a: \0b\n", 6)) == "1:4 a control character is not allowed here");
  CHECK(only_error("a: 1\nb: \xFF\n") == "2:4 the file is not valid UTF-8");
  CHECK(only_error("a: \xED\xA0\x80\n") == "1:4 the file is not valid UTF-8");
}

TEST_CASE("a file that cannot be read says why") {
  Diagnostics diagnostics;
  CHECK_FALSE(parse_source_file("/no/such/file.yaml", diagnostics));
  CHECK(diagnostics.render_text() == "/no/such/file.yaml: error: cannot be read: No such file or directory\n");
  Diagnostics folder;
  CHECK_FALSE(parse_source_file("/tmp", folder));
  CHECK_THAT(folder.render_text(), Catch::Contains("cannot be read: Is a directory"));

  const std::string path =
      (std::filesystem::temp_directory_path() / ("sluice_source_tree_test_" + std::to_string(::getpid()) + ".yaml"))
          .string();
  std::ofstream(path) << "a: 1\nb 2\n";
  Diagnostics found;
  CHECK_FALSE(parse_source_file(path, found));
  CHECK(found.render_text() == path + ":2:1: error: \":\" is missing after \"b 2\"\n  b 2\n  ^\n");
  std::remove(path.c_str());
}

}  // namespace sluice::config
