// sqlite.sink when the file is locked, full, damaged or not writable, and with several writers at once.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "sink_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;

TEST_CASE("while another writer holds the file, rows wait", "[sqlite.sink][trouble]") {
  Target t;
  Sink h(t.options("table: t, key: [id]"));
  h.open();
  h.push(R"({"id":1})");
  Reader other(t.path());
  other.execute("begin immediate");
  sluice::Status s = h.try_push_batch({{R"({"id":2})", {}}, {R"({"id":null})", {}}, {R"({"id":3})", {}}});
  CHECK(s.code() == SLUICE_RETRY);
  CHECK_THAT(s.message(), Contains("locked") && Contains(t.path()));
  CHECK(h.rows_waiting() == 3);
  CHECK(h.try_retry().code() == SLUICE_RETRY);
  CHECK(h.rejected().empty());
  other.execute("commit");
  h.retry();
  CHECK(h.rejected().size() == 1);
  CHECK(t.query("select id from t order by id") == Rows{"1", "2", "3"});

  other.execute("begin immediate");
  CHECK(h.try_push_schema({"t", {"id", "more"}, {"id"}}).code() == SLUICE_RETRY);
  other.execute("rollback");
  h.push_schema({"t", {"id", "more"}, {"id"}});
  h.push(R"({"id":4,"more":1})");
  CHECK(t.query("select more from t where id = '4'") == Rows{"1"});
}

TEST_CASE("readers and the sink are not in each other's way", "[sqlite.sink][trouble]") {
  Target t;
  Sink h(t.options("table: t, key: [id]"));
  h.open();
  h.push(R"({"id":1})");
  Reader reader(t.path());
  reader.execute("begin");
  CHECK(reader.query("select count(*) from t") == Rows{"int 1"});
  h.push(R"({"id":2})");
  h.checkpoint();
  CHECK(reader.query("select count(*) from t") == Rows{"int 1"});
  reader.execute("commit");
  CHECK(reader.query("select count(*) from t") == Rows{"int 2"});
}

TEST_CASE("a full disk is waited for, and no row is lost or doubled", "[sqlite.sink][trouble]") {
  Target t;
  Sink h(t.options("table: t, key: [id]"));
  h.open();
  h.push(R"({"id":1})");
  // The file may not grow: what a full disk looks like to SQLite. The limit is per connection, so it is set from
  // within.
  std::vector<sluice::testing::InputRow> rows(2000);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].payload = "{\"id\":" + std::to_string(i) + ",\"x\":\"" + std::string(200, 'x') + "\"}";
  rlimit before{}, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 64 * 1024;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const sluice::Status s = h.try_push_batch(rows);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(s.code() == SLUICE_RETRY);
  CHECK(h.rows_waiting() == rows.size());
  h.retry();
  CHECK(t.query("select count(*) from t") == Rows{"int 2000"});
  h.checkpoint();
}

TEST_CASE("a file that cannot be used stops the job, and the message says how to get out", "[sqlite.sink][trouble]") {
  Target t;
  const auto message_of = [&](const std::string& options) {
    Sink h(options);
    const sluice::Status s = h.try_open();
    CHECK(s.code() == SLUICE_FATAL);
    return s.message();
  };
  SECTION("no database") {
    t.folder.write("warehouse.db", std::string(4096, 'x'));
    CHECK_THAT(message_of(t.options()), Contains("not a database") && Contains(t.path()) && Contains("another `path`"));
  }
  SECTION("damaged") {
    t.execute(
        "create table t (id text primary key, x text); "
        "insert into t with recursive n (i) as (select 1 union all select i + 1 from n where i < 200) select i, "
        "hex(randomblob(200)) from n");
    t.execute("pragma journal_mode = delete");
    std::string bytes = t.folder.read("warehouse.db");
    for (size_t page = 1; page < bytes.size() / 4096; ++page) bytes.replace(page * 4096, 64, 64, '\xEE');
    t.folder.write("warehouse.db", bytes);
    Sink h(t.options("table: t, key: [id]"));
    h.open();
    const sluice::Status s = h.try_push(R"({"id":5,"x":1})");
    CHECK(s.code() == SLUICE_FATAL);
    CHECK_THAT(s.message(), Contains("malformed") && Contains("integrity_check"));
  }
  SECTION("a folder") {
    std::filesystem::create_directory(t.path());
    CHECK_THAT(message_of(t.options()), Contains("unable to open"));
  }
  SECTION("a file where its folder should be") {
    t.folder.write("f", "");
    CHECK_THAT(message_of("{path: '" + t.folder.path("f/x.db") + "'}"), Contains("cannot make the folder"));
  }
  if (geteuid() != 0) {
    SECTION("read-only") {
      t.execute("create table t (id text primary key)");
      chmod(t.path().c_str(), 0444);
      CHECK_THAT(message_of(t.options()), Contains("read-only"));
    }
  }
}

TEST_CASE("options that make no sense are refused before anything is opened", "[sqlite.sink][trouble]") {
  Target t;
  const std::string more = GENERATE("mode: append, key: [id]", "table: ''", "table: sqlite_x", "table_field: ''",
                                    "table: t, table_field: f", "table: t, key_field: f",
                                    "columns: {a: VARCHAR}", "key: [id, ID]", "key: ['']");
  Sink h(t.options(more));
  CHECK(h.try_open().code() == SLUICE_FATAL);
  CHECK_FALSE(t.folder.has("warehouse.db"));
  Sink no_path("{path: ''}");
  CHECK(no_path.try_open().code() == SLUICE_FATAL);
}

TEST_CASE("two lanes write the same file at the same time", "[sqlite.sink][trouble]") {
  Target t;
  constexpr int kBatches = 150, kRows = 20;
  std::atomic<int> retries{0}, problems{0};
  const auto lane = [&](uint32_t number, const std::string& more) {
    try {
      Sink h(t.options(more));
      h.set_lane(number, 2);
      while (!h.try_open().is_ok()) ++retries;
      while (true) {
        const sluice::Status s = h.try_push_schema({"dim", {"id", "lane", "v"}, {"id"}});
        if (s.is_ok()) break;
        if (s.code() != SLUICE_RETRY) throw sluice::testing::Failure("schema", s);
        ++retries;
      }
      for (int b = 0; b < kBatches; ++b) {
        std::vector<sluice::testing::InputRow> rows(kRows);
        for (int r = 0; r < kRows; ++r)
          rows[static_cast<size_t>(r)].payload = "{\"sink_table\":\"dim\",\"id\":\"" + std::to_string(number) + "-" +
                                                 std::to_string((b * kRows + r) % 500) +
                                                 "\",\"lane\":" + std::to_string(number) +
                                                 ",\"v\":" + std::to_string(b) + "}";
        sluice::Status s = h.try_push_batch(rows);
        while (s.code() == SLUICE_RETRY) {
          ++retries;
          s = h.try_retry();
        }
        if (!s.is_ok()) throw sluice::testing::Failure("push", s);
        if (b % 50 == 49) h.checkpoint();
      }
      if (!h.rejected().empty()) ++problems;
    } catch (const std::exception& e) {
      ++problems;
      std::fprintf(stderr, "lane %u: %s\n", number, e.what());
    }
  };
  std::thread a(lane, 0, ""), b(lane, 1, "");
  a.join();
  b.join();
  CHECK(problems == 0);
  CHECK(t.query("select count(*), count(distinct lane) from dim") == Rows{"int 1000|int 2"});
  CHECK(t.query("pragma integrity_check") == Rows{"ok"});
  INFO("retries: " << retries);
}

TEST_CASE("two lanes append to the same file at the same time", "[sqlite.sink][trouble]") {
  Target t;
  std::atomic<int> problems{0};
  const auto lane = [&](uint32_t number) {
    try {
      Sink h(t.options("mode: append, table: log"));
      h.set_lane(number, 2);
      while (!h.try_open().is_ok()) std::this_thread::yield();
      for (int epoch = 0; epoch < 30; ++epoch) {
        for (int r = 0; r < 50; ++r)
          h.push("{\"row\":\"" + std::to_string(number) + "-" + std::to_string(epoch * 50 + r) + "\"}");
        h.checkpoint_uncommitted();
        sluice::Status s = h.try_commit();
        while (s.code() == SLUICE_RETRY) s = h.try_commit();
        if (!s.is_ok()) throw sluice::testing::Failure("commit", s);
      }
    } catch (const std::exception& e) {
      ++problems;
      std::fprintf(stderr, "lane %u: %s\n", number, e.what());
    }
  };
  std::thread a(lane, 0), b(lane, 1);
  a.join();
  b.join();
  CHECK(problems == 0);
  CHECK(t.query("select count(*), count(distinct row) from log") == Rows{"int 3000|int 3000"});
}

TEST_CASE("check: looks at the file and its folder, and makes nothing", "[sqlite.sink][trouble]") {
  TempFolder folder;
  const auto problems = [&](const std::string& path, const std::string& more = "") {
    Rows texts;
    for (const auto& p : Sink("{path: '" + path + "', table: t, key: [id]" + more + "}").find_problems()) {
      CHECK(p.option == "path");
      texts.push_back(p.text);
    }
    return texts;
  };
  CHECK(problems(folder.path("new/deep/w.db")).empty());
  CHECK(folder.names().empty());
  {
    Sink h("{path: '" + folder.path("w.db") + "', table: t, key: [id]}");
    h.open();
    h.push(R"({"id":1})");
    CHECK(problems(folder.path("w.db")).empty());  // also while somebody writes
    h.close();
  }
  CHECK(problems(folder.path("w.db"), ", create: false").empty());
  folder.write("empty.db", "");
  CHECK(problems(folder.path("empty.db")).empty());
  const auto names = folder.names();
  folder.write("text", "not a database, but text");
  CHECK(problems(folder.path("text")) ==
        Rows{folder.path("text") + " is not a SQLite file. Choose another `path`, or move that file away"});
  CHECK(problems(folder.path("text/w.db")) == Rows{folder.path("text") + " is not a folder"});
  CHECK(problems(folder.path()) == Rows{folder.path() + " is no regular file. Choose another `path`"});
  CHECK(problems(folder.path("none.db"), ", create: false") ==
        Rows{"there is no SQLite file " + folder.path("none.db") + ", and `create: false` makes none"});
  folder.remove("text");
  CHECK(folder.names() == names);
  if (geteuid() != 0) {  // root writes everywhere
    std::filesystem::permissions(folder.path("w.db"), std::filesystem::perms::owner_read);
    CHECK(problems(folder.path("w.db")) == Rows{"the SQLite file " + folder.path("w.db") + " is read-only for this user: change its owner or permissions"});
  }
}
