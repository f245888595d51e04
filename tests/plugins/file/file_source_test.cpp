// file.source over whole files: what is a row, what a position holds, what is refused.
#include "file_source.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "file_paths.h"
#include "sluice/testing/harness.hpp"
#include "support/temp_folder.h"

namespace {

using sluice::file::FilePosition;
using sluice::file::FileSource;
using sluice::tests::TempFolder;
using Lines = std::vector<std::string>;
using Source = sluice::testing::Harness<FileSource>;

std::string options(const std::string& path, const std::string& more = "") {
  return "{path: '" + path + "'" + (more.empty() ? "" : ", " + more) + "}";
}

TEST_CASE("one file has one name, however its path is spelled", "[file.source]") {
  using sluice::file::one_spelling;
  for (const char* path : {"in/a.jsonl", "./in//a.jsonl", ".//./in/./a.jsonl"}) CHECK(one_spelling(path) == "in/a.jsonl");
  CHECK(one_spelling("/data//./a") == "/data/a");
  CHECK(one_spelling("../in/a") == "../in/a");
  CHECK(one_spelling("link/../a") == "link/../a");  // wherever that leads
}

void start(Source& h) {
  h.open();
  h.discover();
  h.assign();
}

Lines read_all(const std::string& path, const std::string& more = "", uint32_t max_rows = 1000) {
  Source h(options(path, more));
  start(h);
  h.poll_until_quiet(max_rows);
  return h.pull_json();
}

std::string numbered_lines(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += "{\"n\":" + std::to_string(i) + "}\n";
  return text;
}

}  // namespace

TEST_CASE("each line is a row", "[file.source]") {
  TempFolder folder;
  const std::string path = folder.path("a.jsonl");
  SECTION("newlines end rows; the last line needs none") {
    folder.write("a.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}");
    CHECK(read_all(path) == Lines{"{\"a\":1}", "{\"a\":2}", "{\"a\":3}"});
  }
  SECTION("carriage returns and a byte order mark are not part of a row") {
    folder.write("a.jsonl", "\xEF\xBB\xBF{\"a\":1}\r\n{\"a\":2}\r\n");
    CHECK(read_all(path) == Lines{"{\"a\":1}", "{\"a\":2}"});
  }
  SECTION("null and broken lines are passed on: the host judges them") {
    folder.write("a.jsonl", "null\n{\"a\":\n\xFF\n");
    CHECK(read_all(path) == Lines{"null", "{\"a\":", "\xFF"});
  }
  SECTION("a NUL byte is a byte") {
    folder.write("a.jsonl", std::string("a\0b\n", 4));
    CHECK(read_all(path) == Lines{std::string("a\0b", 3)});
  }
  SECTION("an empty file has no rows") {
    folder.write("a.jsonl", "");
    CHECK(read_all(path).empty());
  }
  SECTION("any number of rows at a time") {
    folder.write("a.jsonl", numbered_lines(100));
    for (const uint32_t max_rows : {1u, 7u, 100u, 101u}) CHECK(read_all(path, "", max_rows).size() == 100);
  }
}

TEST_CASE("empty lines are skipped and counted", "[file.source]") {
  TempFolder folder;
  folder.write("a.jsonl", "\n{\"a\":1}\n\r\n\n{\"a\":2}\n\n");
  Source h(options(folder.path("a.jsonl")));
  start(h);
  h.poll_until_quiet();
  const auto rows = h.pull();
  REQUIRE(rows.size() == 2);
  CHECK(h.counter("empty_lines") == 4);
  CHECK(h.describe_position(rows[1].split, rows[1].position) == folder.path("a.jsonl") + ":5 (byte 12)");
  CHECK(FilePosition::decode(*h.split(rows[1].split).position)->offset == 21);
}

TEST_CASE("lines that are longer than a read are whole", "[file.source]") {
  TempFolder folder;
  const std::string medium(300 * 1024, 'm'), large(10 * 1024 * 1024, 'l');
  folder.write("a.jsonl", "first\n" + medium + "\n" + large + "\r\nlast\n");
  CHECK(read_all(folder.path("a.jsonl")) == Lines{"first", medium, large, "last"});

  SECTION("in several files side by side") {
    folder.write("b.jsonl", large + "\n" + medium + "\n");
    const Lines rows = read_all(folder.path());
    REQUIRE(rows.size() == 6);
    CHECK(std::count(rows.begin(), rows.end(), large) == 2);
    CHECK(std::count(rows.begin(), rows.end(), medium) == 2);
  }
}

TEST_CASE("a line longer than max_line becomes a row that cannot be valid", "[file.source]") {
  TempFolder folder;
  const size_t size = GENERATE(size_t{1025}, size_t{2000}, size_t{256 * 1024}, size_t{20 * 1024 * 1024});
  const std::string end = GENERATE("\n{\"a\":2}\n", "");
  folder.write("a.jsonl", "{\"a\":1}\n{" + std::string(size - 1, 'x') + end);
  Source h(options(folder.path("a.jsonl"), "max_line: 1KiB"));
  start(h);
  h.poll_until_quiet();
  const Lines rows = h.pull_json();
  REQUIRE(rows.size() == (end.empty() ? 2 : 3));
  CHECK(rows[0] == "{\"a\":1}");
  CHECK(rows[1] == "{" + std::string(1023, 'x') + "\xFF");
  if (!end.empty()) CHECK(rows[2] == "{\"a\":2}");
  CHECK(h.counter("lines_too_long") == 1);
}

TEST_CASE("a line of exactly max_line is a row", "[file.source]") {
  TempFolder folder;
  const std::string mark = GENERATE("", "\xEF\xBB\xBF");
  const std::string end = GENERATE("\n", "\r\n", "");
  const size_t size = GENERATE(size_t{1024}, size_t{512 * 1024});
  const std::string line(size, 'x');
  folder.write("a.jsonl", mark + line + end);
  CHECK(read_all(folder.path("a.jsonl"), "max_line: " + std::to_string(size)) == Lines{line});
}

TEST_CASE("a path is a file, a folder or a pattern", "[file.source]") {
  TempFolder folder;
  folder.write("b.jsonl", "b\n");
  folder.write("a.jsonl", "a\n");
  folder.write("c.txt", "c\n");
  folder.write(".hidden.jsonl", "h\n");
  std::filesystem::create_directory(folder.path("sub"));

  Source all(options(folder.path()));
  all.open();
  const auto splits = all.discover();
  REQUIRE(splits.size() == 3);
  CHECK(splits[0].id == folder.path("a.jsonl"));
  CHECK(splits[0].ordinal == 0);
  CHECK(splits[2].id == folder.path("c.txt"));
  CHECK(splits[2].ordinal == 2);

  CHECK(read_all(folder.path("*.jsonl")) == Lines{"a", "b"});
  CHECK(read_all(folder.path("{a,c}.*")) == Lines{"a", "c"});
  folder.write("x[1].jsonl", "brackets\n");
  CHECK(read_all(folder.path("x[1].jsonl")) == Lines{"brackets"});
}

TEST_CASE("what cannot be read stops the job with its name", "[file.source]") {
  TempFolder folder;
  const auto message_of = [](const std::string& path) {
    Source h(options(path));
    h.open();
    std::vector<sluice::testing::DiscoveredSplit> splits;
    sluice::Status s = h.try_discover(&splits);
    if (s.is_ok()) {
      h.assign();
      s = h.try_poll();
    }
    CHECK(s.code() == SLUICE_FATAL);
    return s.message();
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message_of(folder.path("no.jsonl")), Contains("no such file: " + folder.path("no.jsonl")));
  CHECK_THAT(message_of("no.jsonl"), Contains("the working directory is " + std::filesystem::current_path().string()));
  CHECK_THAT(message_of(folder.path("*.jsonl")), Contains("no file matches"));
  CHECK_THAT(message_of(folder.path()), Contains("there are no files in the folder"));
  CHECK_THAT(message_of("/dev/null"), Contains("neither a regular file nor a folder"));
  if (geteuid() != 0) {
    folder.write("secret", "x\n");
    std::filesystem::permissions(folder.path("secret"), std::filesystem::perms::none);
    CHECK_THAT(message_of(folder.path("secret")), Contains("Permission denied"));
  }
}

TEST_CASE("splits end, and say so once everything is out", "[file.source]") {
  TempFolder folder;
  folder.write("a.jsonl", numbered_lines(10));
  Source h(options(folder.path("a.jsonl")));
  start(h);
  const std::string id = folder.path("a.jsonl");
  h.poll(4);
  CHECK(h.split(id).flags == 0);
  CHECK(h.split(id).lag == 6);
  h.poll(6);
  CHECK((h.split(id).flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) != 0);
  h.poll(1);
  CHECK(h.split(id).flags == (SLUICE_SPLIT_CAUGHT_UP | SLUICE_SPLIT_SNAPSHOT_COMPLETE | SLUICE_SPLIT_END));
  CHECK(h.split(id).lag == 0);
  CHECK(h.poll() == 0);
}

TEST_CASE("more files than are read side by side all come", "[file.source]") {
  TempFolder folder;
  for (int i = 0; i < 100; ++i) folder.write("f" + std::to_string(i), numbered_lines(static_cast<size_t>(i)));
  CHECK(read_all(folder.path()).size() == 99 * 100 / 2);
}

TEST_CASE("lanes share the files", "[file.source]") {
  TempFolder folder;
  for (int i = 0; i < 5; ++i) folder.write("f" + std::to_string(i), std::to_string(i) + "\n");
  Lines rows;
  for (uint32_t lane = 0; lane < 2; ++lane) {
    Source h(options(folder.path()));
    h.set_lane(lane, 2);
    start(h);
    h.poll_until_quiet();
    const Lines of_lane = h.pull_json();
    CHECK(of_lane.size() == (lane == 0 ? 3 : 2));
    rows.insert(rows.end(), of_lane.begin(), of_lane.end());
  }
  std::sort(rows.begin(), rows.end());
  CHECK(rows == Lines{"0", "1", "2", "3", "4"});
}

TEST_CASE("a restored source goes on behind the checkpoint's last row", "[file.source]") {
  TempFolder folder;
  const std::string end = GENERATE("", "\n", "\n\n");
  folder.write("a.jsonl", "\xEF\xBB\xBF" + numbered_lines(50) + "\r\n" + numbered_lines(49) + "last" + end);
  for (uint32_t before : {0u, 1u, 49u, 50u, 51u, 99u, 100u}) {
    Source h(options(folder.path("a.jsonl")));
    start(h);
    size_t got = 0;
    while (got < before) got += h.poll(before - static_cast<uint32_t>(got));
    h.pull();
    h.checkpoint();
    h.poll(3);
    h.crash();
    h.restore();
    h.poll_until_quiet();
    const Lines rest = h.pull_json();
    CHECK(rest.size() == 100 - before);
    if (!rest.empty()) CHECK(rest.back() == "last");
  }
}

TEST_CASE("a file that is not the one that was read is a gap", "[file.source]") {
  TempFolder folder;
  folder.write("a.jsonl", numbered_lines(50));
  const std::string on_gap = GENERATE("fail", "restart");
  Source h(options(folder.path("a.jsonl"), "on_gap: " + on_gap));
  start(h);
  h.poll(10);
  h.pull();
  h.checkpoint();
  h.crash();
  std::string reason;
  size_t rows_after = 0;
  SECTION("truncated") {
    std::filesystem::resize_file(folder.path("a.jsonl"), 20);
    reason = "truncated";
    rows_after = 3;
  }
  SECTION("written anew in place") {
    folder.write("a.jsonl", "x" + numbered_lines(50));
    reason = "written anew";
    rows_after = 50;
  }
  SECTION("the same beginning, then other lines") {
    folder.write("a.jsonl", numbered_lines(9) + std::string(300, 'x') + "\n");
    reason = "written anew";
    rows_after = 10;
  }
  SECTION("replaced") {
    folder.write("b.jsonl", "other\n" + numbered_lines(50));
    folder.rename("b.jsonl", "a.jsonl");
    reason = "another file has this name now";
    rows_after = 51;
  }
  h.restore();
  const sluice::Status s = h.try_poll();
  if (on_gap == "fail") {
    CHECK(s.code() == SLUICE_FATAL);
    CHECK_THAT(s.message(), Catch::Matchers::Contains(folder.path("a.jsonl")) && Catch::Matchers::Contains(reason) &&
                                Catch::Matchers::Contains("on_gap: restart"));
    return;
  }
  REQUIRE(s.is_ok());
  h.poll_until_quiet();
  CHECK(h.pull().size() == rows_after);
  CHECK(h.counter("gaps") == 1);
}

TEST_CASE("a copy of the file is as good as the file", "[file.source]") {
  TempFolder folder;
  folder.write("a.jsonl", numbered_lines(50));
  Source h(options(folder.path("a.jsonl")));
  start(h);
  h.poll(10);
  h.pull();
  h.checkpoint();
  h.crash();
  std::filesystem::copy_file(folder.path("a.jsonl"), folder.path("copy"));
  folder.rename("copy", "a.jsonl");
  h.restore();
  h.poll_until_quiet();
  CHECK(h.pull().size() == 40);
}

TEST_CASE("a last line that grows after it was read is a gap, unless only its newline came", "[file.source]") {
  TempFolder folder;
  folder.write("a.jsonl", "first\nlast");
  Source h(options(folder.path("a.jsonl")));
  start(h);
  h.poll_until_quiet();
  h.pull();
  h.checkpoint();
  h.crash();
  SECTION("newline and another row") {
    folder.append("a.jsonl", "\nnew\n");
    h.restore();
    h.poll_until_quiet();
    CHECK(h.pull_json() == Lines{"new"});
  }
  SECTION("more of the line") {
    folder.append("a.jsonl", "er\n");
    h.restore();
    CHECK(h.try_poll().code() == SLUICE_FATAL);
  }
}

TEST_CASE("positions of another version are refused", "[file.source]") {
  CHECK_FALSE(FilePosition::decode(""));
  FilePosition p;
  p.offset = 4711;
  p.line = 17;
  p.row_start = 4700;
  p.unterminated = true;
  p.identity = {12, 34, 56};
  FilePosition::Encoded bytes;
  p.encode(bytes);
  const auto again = FilePosition::decode({bytes, sizeof bytes});
  REQUIRE(again);
  CHECK(again->offset == 4711);
  CHECK(again->row_start == 4700);
  CHECK(again->line == 17);
  CHECK(again->unterminated);
  CHECK(again->identity.inode == 12);
  CHECK(again->identity.head_hash == 34);
  CHECK(again->identity.head_size == 56);
  bytes[0] = 2;
  CHECK_FALSE(FilePosition::decode({bytes, sizeof bytes}));
}

TEST_CASE("options that make no sense are refused before anything is opened", "[file.source]") {
  Source no_path("{path: ''}");
  CHECK(no_path.try_open().code() == SLUICE_FATAL);
  Source short_line("{path: x, max_line: 10}");
  CHECK(short_line.try_open().code() == SLUICE_FATAL);
}

TEST_CASE("check: what is there, and what is not", "[file.source]") {
  TempFolder folder;
  folder.write("a.jsonl", "{}\n");
  CHECK(Source(options(folder.path("a.jsonl"))).find_problems().empty());
  CHECK(Source(options(folder.path("*.jsonl"))).find_problems().empty());
  CHECK(Source(options(folder.path("later.jsonl"), "follow: true")).find_problems().empty());
  const auto missing = Source(options(folder.path("b.jsonl"))).find_problems();
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].option == "path");
  CHECK(missing[0].text == "no such file: " + folder.path("b.jsonl") + "; with `follow: true` the source waits for it");
  const auto pattern = Source(options(folder.path("*.csv"))).find_problems();
  REQUIRE(pattern.size() == 1);
  CHECK(pattern[0].text == "no file matches " + folder.path("*.csv") + "; with `follow: true` the source waits for it");
  const auto device = Source(options("/dev/null")).find_problems();
  REQUIRE(device.size() == 1);
  CHECK(device[0].text == "/dev/null is neither a regular file nor a folder");
  if (geteuid() != 0) {  // root reads everything
    std::filesystem::permissions(folder.path("a.jsonl"), std::filesystem::perms::none);
    const auto closed = Source(options(folder.path("a.jsonl"))).find_problems();
    REQUIRE(closed.size() == 1);
    CHECK(closed[0].text == "cannot open " + folder.path("a.jsonl") + ": Permission denied");
  }
}
