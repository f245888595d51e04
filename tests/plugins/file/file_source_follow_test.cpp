// file.source that follows: growing files, rotation, truncation, files that are not there yet.
#include <catch2/catch.hpp>
#include <chrono>

#include "file_source.h"
#include "sluice/testing/harness.hpp"
#include "support/temp_folder.h"

namespace {

using sluice::file::FileSource;
using sluice::tests::TempFolder;
using Lines = std::vector<std::string>;

// A followed source with a clock that only the test moves.
class Follower {
 public:
  explicit Follower(const std::string& path, const std::string& more = "")
      : harness_("{path: '" + path + "', follow: true" + (more.empty() ? "" : ", " + more) + "}") {
    harness_.open();
    look();
  }
  sluice::testing::Harness<FileSource>& operator*() { return harness_; }
  sluice::testing::Harness<FileSource>* operator->() { return &harness_; }

  // The host's look for new splits.
  void look() {
    harness_.discover();
    harness_.assign();
  }
  // What has come, after the next check of the files.
  Lines next() {
    harness_.advance(100);
    for (int i = 0; i < 3; ++i) harness_.poll();
    return harness_.pull_json();
  }
  sluice::Status next_status() {
    harness_.advance(100);
    return harness_.try_poll();
  }

 private:
  sluice::testing::Harness<FileSource> harness_;
};

}  // namespace

TEST_CASE("bytes that are added become rows within 100 ms", "[file.source][follow]") {
  TempFolder folder;
  const std::string id = folder.path("a.log");
  folder.write("a.log", "one\ntwo\n");
  Follower f(id);
  CHECK(f.next() == Lines{"one", "two"});
  CHECK(f->split(id).flags == (SLUICE_SPLIT_CAUGHT_UP | SLUICE_SPLIT_SNAPSHOT_COMPLETE));
  CHECK(f.next().empty());

  folder.append("a.log", "three\n");
  f->poll();
  CHECK(f->pull().empty());  // not looked for yet
  CHECK(f.next() == Lines{"three"});
}

TEST_CASE("a last line without newline waits", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\n{\"half\":");
  Follower f(folder.path("a.log"));
  CHECK(f.next() == Lines{"one"});
  CHECK((f->split(folder.path("a.log")).flags & SLUICE_SPLIT_CAUGHT_UP) != 0);
  CHECK(f.next().empty());
  folder.append("a.log", "1");
  CHECK(f.next().empty());
  f->checkpoint();
  f->crash();
  f->restore();
  folder.append("a.log", "}\ntwo\n");
  CHECK(f.next() == Lines{"{\"half\":1}", "two"});
}

TEST_CASE("a long line that grows is cut once, when its newline comes", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\n" + std::string(600 * 1024, 'x'));
  Follower f(folder.path("a.log"), "max_line: 1KiB");
  CHECK(f.next() == Lines{"one"});
  folder.append("a.log", std::string(700 * 1024, 'x'));
  CHECK(f.next().empty());
  folder.append("a.log", "\ntwo\n");
  Lines rows = f.next();
  const Lines more = f.next();
  rows.insert(rows.end(), more.begin(), more.end());
  CHECK(rows == Lines{std::string(1024, 'x') + "\xFF", "two"});
  CHECK(f->counter("lines_too_long") == 1);
}

TEST_CASE("a file that is not there is waited for", "[file.source][follow]") {
  TempFolder folder;
  const std::string id = folder.path("a.log");
  Follower f(id);
  CHECK(f.next().empty());
  CHECK(f->split(id).flags == 0);
  CHECK_THAT(f->note(), Catch::Matchers::Contains("waiting") && Catch::Matchers::Contains(id));
  folder.write("a.log", "one\n");
  CHECK(f.next() == Lines{"one"});
  CHECK(f->note().empty());
}

TEST_CASE("new files of a folder are found", "[file.source][follow]") {
  TempFolder folder;
  Follower f(folder.path("*.log"));
  CHECK(f.next().empty());
  CHECK_THAT(f->note(), Catch::Matchers::Contains("no file matches"));
  folder.write("a.log", "a1\n");
  f.look();
  CHECK(f.next() == Lines{"a1"});
  CHECK(f->note().empty());
  folder.write("b.log", "b1\n");
  folder.append("a.log", "a2\n");
  f.look();
  Lines rows = f.next();
  std::sort(rows.begin(), rows.end());
  CHECK(rows == Lines{"a2", "b1"});
}

TEST_CASE("a rotated file is read to its end, then the new one", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\n");
  Follower f(folder.path("a.log"));
  CHECK(f.next() == Lines{"one"});

  folder.rename("a.log", "a.log.1");
  folder.append("a.log.1", "two\n");
  folder.write("a.log", "four\n");
  CHECK(f.next() == Lines{"two"});
  folder.append("a.log.1", "three, without newline");  // its writer had it open still
  CHECK(f.next().empty());
  Lines rows;
  for (int i = 0; i < 5; ++i)
    for (const std::string& row : f.next()) rows.push_back(row);
  CHECK(rows == Lines{"three, without newline", "four"});
  CHECK(f->counter("rotations") == 1);

  folder.append("a.log", "five\n");
  CHECK(f.next() == Lines{"five"});
}

TEST_CASE("a rotation in two steps: for a while no file has the name", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\n");
  Follower f(folder.path("a.log"));
  CHECK(f.next() == Lines{"one"});
  folder.rename("a.log", "a.log.1");
  CHECK(f.next().empty());
  CHECK_THAT(f->note(), Catch::Matchers::Contains("waiting"));
  folder.append("a.log.1", "two\n");
  CHECK(f.next() == Lines{"two"});
  folder.write("a.log", "three\n");
  Lines rows;
  for (int i = 0; i < 4; ++i)
    for (const std::string& row : f.next()) rows.push_back(row);
  CHECK(rows == Lines{"three"});
  CHECK(f->note().empty());
}

TEST_CASE("a rotation while the job was down is found by the old file's inode", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\ntwo\n");
  Follower f(folder.path("a.log"));
  f->poll(1);
  CHECK(f->pull_json() == Lines{"one"});
  f->checkpoint();
  f->crash();
  folder.append("a.log", "three\n");
  folder.rename("a.log", "a.log.1");
  folder.write("a.log", "four\n");
  f->restore();
  Lines rows;
  for (int i = 0; i < 5; ++i)
    for (const std::string& row : f.next()) rows.push_back(row);
  CHECK(rows == Lines{"two", "three", "four"});

  SECTION("and the position is one of the new file") {
    f->checkpoint();
    f->crash();
    folder.remove("a.log.1");
    folder.append("a.log", "five\n");
    f->restore();
    CHECK(f.next() == Lines{"five"});
  }
}

namespace {

// Each look is a while after the one before; what comes in all of them.
Lines next_looks(Follower& f) {
  Lines rows;
  for (int i = 0; i < 12; ++i)
    for (const std::string& row : f.next()) rows.push_back(row);
  return rows;
}

Lines warnings(Follower& f) {
  Lines out;
  for (const auto& line : f->log())
    if (line.text.find("younger") != std::string::npos) out.push_back(line.text);
  return out;
}

}  // namespace

TEST_CASE("files in between, of several rotations at once, are read when their names are of the rotation",
          "[file.source][follow]") {
  TempFolder folder;
  const bool is_down = GENERATE(false, true);
  struct Names {
    const char *own, *older, *old, *second, *third;
  };
  const Names names = GENERATE(Names{"a.log", "a.log.12", "a.log.11", "a.log.10", "a.log.9"},
                               Names{"a.log", "a.log-20220531", "a.log-20220601", "a.log-20220602", "a.log-20220603"},
                               Names{"a.log", "a-2022-05-31.log", "a-2022-06-01.log", "a-2022-06-02.log", "a-2022-06-03.log"},
                               Names{"a.b.log", "a.b.4.log", "a.b.3.log", "a.b.2.log", "a.b.1.log"},
                               Names{"log", "log.3", "log.2", "log.1", "log.0"});
  folder.write(names.older, "zero\n");
  folder.write(names.own, "one\n");
  Follower f(folder.path(names.own));
  CHECK(f.next() == Lines{"one"});
  if (is_down) {
    f->checkpoint();
    f->crash();
  }
  folder.rename(names.own, names.old);
  folder.append(names.old, "one more\n");
  folder.write(names.second, "two\n");
  folder.write(names.third, "three\n");
  folder.write(names.own, "four\n");
  if (is_down) f->restore();
  CHECK(next_looks(f) == Lines{"one more", "two", "three", "four"});
  CHECK(f->counter("rotations") == 3);
  CHECK(f->counter("files_skipped") == 0);
  CHECK(warnings(f).empty());
}

TEST_CASE("a checkpoint in a file in between goes on there", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\n");
  Follower f(folder.path("a.log"));
  CHECK(f.next() == Lines{"one"});
  folder.rename("a.log", "a.log.2");
  folder.write("a.log.1", "two\nthree\n");
  folder.write("a.log", "four\n");
  Lines rows;
  while (rows.empty()) {
    (*f).advance(100);
    f->poll(1);
    rows = f->pull_json();
  }
  CHECK(rows == Lines{"two"});
  f->checkpoint();
  f->crash();
  folder.rename("a.log.1", "a.log.2");  // over the first one
  folder.rename("a.log", "a.log.1");
  folder.write("a.log", "five\n");
  f->restore();
  CHECK(next_looks(f) == Lines{"three", "four", "five"});
}

TEST_CASE("a file that is perhaps of the rotation is named and counted, not read", "[file.source][follow]") {
  TempFolder folder;
  const bool is_down = GENERATE(false, true);
  folder.write("app-old.jsonl", "older\n");
  folder.write("other.jsonl", "no name like it\n");
  folder.write("app.jsonl", "one\n");
  Follower f(folder.path("app.jsonl"));
  CHECK(f.next() == Lines{"one"});
  if (is_down) {
    f->checkpoint();
    f->crash();
  }
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto set_age = [&](const char* name, int hours) {
    std::filesystem::last_write_time(folder.path(name), now - std::chrono::hours(hours));
  };
  const std::string between = GENERATE("app.r1", "app-20220601.jsonl", "app.jsonl.3");
  folder.rename("app.jsonl", between == "app.jsonl.3" ? "app.jsonl.2" : "app.r2");
  folder.write(between, "two\n");
  folder.write("app.jsonl.bz2", "a copy of the one that was read\n");
  folder.write("app.empty", "");
  folder.write("app.jsonl", "three\n");
  set_age("app-old.jsonl", 3);
  set_age(between == "app.jsonl.3" ? "app.jsonl.2" : "app.r2", 2);
  set_age("app.jsonl.bz2", 2);
  set_age(between.c_str(), 1);
  if (is_down) f->restore();
  CHECK(next_looks(f) == Lines{"three"});
  CHECK(f->counter("files_skipped") == 1);
  CHECK(warnings(f) == Lines{folder.path("app.jsonl") + " was rotated, and " + folder.path(between) +
                             " is younger than the file that was read last. If it is part of the rotation, its rows are "
                             "skipped: give it to a pipeline of its own"});
}

TEST_CASE("files that have splits of their own are in no rotation", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.1.log", "one\n");
  Follower f(folder.path("*.log"));
  CHECK(f.next() == Lines{"one"});
  folder.rename("a.1.log", "old");
  folder.write("a.1.1.log", "two\n");
  folder.write("a.1.log", "three\n");
  f.look();
  Lines rows = next_looks(f);
  std::sort(rows.begin(), rows.end());
  CHECK(rows == Lines{"three", "two"});
  CHECK(warnings(f).empty());
}

TEST_CASE("a file that is deleted after it was read is no gap", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\n");
  Follower f(folder.path("a.log"));
  CHECK(f.next() == Lines{"one"});
  SECTION("seen while the job ran") {
    folder.remove("a.log");
    CHECK(f.next().empty());
    f->checkpoint();
    f->crash();
    f->restore();
    CHECK(f.next().empty());
    folder.write("a.log", "new\n");
    CHECK(f.next() == Lines{"new"});
  }
  SECTION("and there is a new one when the job comes back") {
    folder.remove("a.log");
    CHECK(f.next().empty());
    f->checkpoint();
    f->crash();
    folder.write("a.log", "new\n");
    f->restore();
    CHECK(f.next() == Lines{"new"});
  }
  SECTION("but what was added meanwhile cannot be known when nobody looked") {
    f->checkpoint();
    f->crash();
    folder.remove("a.log");
    f->restore();
    CHECK(f.next_status().code() == SLUICE_FATAL);
  }
}

TEST_CASE("a file that is emptied while it is followed is a gap", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "one\ntwo\n");
  const std::string on_gap = GENERATE("fail", "restart");
  Follower f(folder.path("a.log"), "on_gap: " + on_gap);
  CHECK(f.next() == Lines{"one", "two"});
  SECTION("shorter") { folder.write("a.log", "new\n"); }
  SECTION("as long as before, with other bytes") { folder.write("a.log", "new\nold\n"); }
  SECTION("longer, with other bytes") { folder.write("a.log", "new\nold\nolder\n"); }
  if (on_gap == "fail") {
    const sluice::Status s = f.next_status();
    CHECK(s.code() == SLUICE_FATAL);
    CHECK_THAT(s.message(), Catch::Matchers::Contains("while it was followed"));
  } else {
    const Lines rows = f.next();
    REQUIRE_FALSE(rows.empty());
    CHECK(rows.front() == "new");
    CHECK(f->counter("gaps") == 1);
  }
}

TEST_CASE("a file that grows faster than it is read still completes its snapshot", "[file.source][follow]") {
  TempFolder folder;
  const std::string id = folder.path("a.log");
  folder.write("a.log", "1\n2\n3\n");
  Follower f(id);
  f->poll(2);
  CHECK((f->split(id).flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) == 0);
  folder.append("a.log", "4\n5\n6\n7\n");
  f->poll(2);
  CHECK(f->split(id).flags == SLUICE_SPLIT_SNAPSHOT_COMPLETE);
}

TEST_CASE("the file that a checkpoint before the first row saw is remembered", "[file.source][follow]") {
  TempFolder folder;
  folder.write("a.log", "");
  Follower f(folder.path("a.log"));
  CHECK(f.next().empty());
  f->checkpoint();
  f->crash();
  folder.append("a.log", "one\n");
  folder.rename("a.log", "a.log.1");
  folder.write("a.log", "two\n");
  f->restore();
  Lines rows;
  for (int i = 0; i < 5; ++i)
    for (const std::string& row : f.next()) rows.push_back(row);
  CHECK(rows == Lines{"one", "two"});
}
