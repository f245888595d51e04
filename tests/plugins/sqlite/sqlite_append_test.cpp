// sqlite.sink, `mode: append`: exactly once, whatever moment the process dies at.
#include "sink_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;

namespace {
const std::string kAppend = "mode: append, table: log";
}

TEST_CASE("rows of a checkpoint and its marker come together", "[sqlite.sink][append]") {
  Target t;
  Sink h(t.options(kAppend));
  h.set_lineage("L1");
  h.open();
  CHECK(h.needs().delivery == SLUICE_DELIVERY_EPOCH);
  CHECK(h.last_committed() == std::pair<uint64_t, std::string>{0, ""});
  h.push(R"({"a":1})");
  h.push(R"({"a":1,"b":20.00})");
  h.push(R"({"b":3,"c":null})");
  CHECK(t.query("select count(*) from sqlite_master where name = 'log'") == Rows{"int 0"});
  const uint64_t n = h.checkpoint();
  CHECK(t.query("select a, b, c from log order by rowid") == Rows{"1|~|~", "1|20.00|~", "~|3|~"});
  CHECK(t.query("select * from _sluice_epochs") == Rows{"test|op|int 0|L1|int " + std::to_string(n)});
  CHECK(h.last_committed() == std::pair<uint64_t, std::string>{n, "L1"});
}

TEST_CASE("each row is there once after a crash at any step", "[sqlite.sink][append]") {
  Target t;
  Sink h(t.options(kAppend));
  h.open();
  h.push(R"({"a":1})");
  h.checkpoint();
  h.push(R"({"a":2})");
  SECTION("before the checkpoint") {
    h.crash();
    h.restore();
    CHECK(t.query("select a from log") == Rows{"1"});
    h.push(R"({"a":2})");
    h.checkpoint();
  }
  SECTION("after the checkpoint, before its commit") {
    h.checkpoint_uncommitted();
    h.crash();
    h.restore();
  }
  SECTION("after the commit") {
    h.checkpoint();
    h.crash();
    h.restore();
  }
  SECTION("the commit is told again and again") {
    h.checkpoint();
    h.commit();
    h.commit();
  }
  CHECK(t.query("select a from log order by a") == Rows{"1", "2"});
  h.push(R"({"a":3})");
  h.checkpoint();
  h.close();
  CHECK(t.query("select a from log order by a") == Rows{"1", "2", "3"});
}

TEST_CASE("killed between the rows and the marker: nothing of the epoch is there", "[sqlite.sink][append]") {
  Target t;
  // The contract by hand, because the harness would go on to commit().
  {
    Sink h(t.options(kAppend));
    h.open();
    h.push(R"({"a":1})");
    h.checkpoint();
    h.push(R"({"a":2})");
    h.checkpoint_uncommitted();
    // Another writer holds the file: the rows cannot be written now.
    Reader other(t.path());
    other.execute("begin immediate");
    CHECK(h.try_commit().code() == SLUICE_RETRY);
    other.execute("rollback");
    h.crash();
    CHECK(t.query("select a from log") == Rows{"1"});
    h.restore();
  }
  CHECK(t.query("select a from log") == Rows{"1", "2"});
}

TEST_CASE("a bad row of an epoch is refused alone", "[sqlite.sink][append]") {
  Target t;
  t.execute("create table log (a text not null)");
  Sink h(t.options(kAppend));
  h.open();
  h.push(R"({"a":1})");
  h.push(R"({"a":null})");
  h.push(R"({"a":nope})");
  sluice::testing::RowMeta deleted;
  deleted.change = SLUICE_CHANGE_DELETE;
  h.push(R"({"a":1})", deleted);
  h.push(R"({"a":2})");
  h.checkpoint();
  CHECK(t.query("select a from log") == Rows{"1", "2"});
  REQUIRE(h.rejected().size() == 3);
  CHECK_THAT(h.rejected()[0].reason, Contains("NOT NULL"));
  CHECK_THAT(h.rejected()[2].reason, Contains("delete"));
}

TEST_CASE("epochs without rows advance the marker", "[sqlite.sink][append]") {
  Target t;
  Sink h(t.options(kAppend));
  h.open();
  h.checkpoint();
  const uint64_t n = h.checkpoint();
  CHECK(h.last_committed().first == n);
}

TEST_CASE("lanes, operators and pipelines have markers of their own", "[sqlite.sink][append]") {
  Target t;
  for (uint32_t lane = 0; lane < 2; ++lane)
    for (const char* id : {"x", "y"})
      for (const char* pipeline : {"p", "q"}) {
        Sink h(t.options(kAppend));
        h.set_lane(lane, 2);
        h.set_id(id);
        h.set_pipeline(pipeline);
        h.open();
        CHECK(h.last_committed().first == 0);
        h.push(R"({"a":1})");
        h.checkpoint();
      }
  CHECK(t.query("select count(*) from log") == Rows{"int 8"});
  CHECK(t.query("select count(*) from _sluice_epochs") == Rows{"int 8"});
}

TEST_CASE("appended tables that rows name come from schema records, without a key", "[sqlite.sink][append]") {
  Target t;
  Sink h(t.options("mode: append"));
  h.open();
  h.push_schema(trademark_schema());
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"a"})");
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"b"})");
  h.checkpoint();
  CHECK(t.query("select * from dim_base_trademark") == Rows{"1|a", "1|b"});
}

TEST_CASE("an epoch of many rows", "[sqlite.sink][append]") {
  Target t;
  Sink h(t.options(kAppend));
  h.open();
  std::vector<sluice::testing::InputRow> rows(20000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].payload = "{\"i\":" + std::to_string(i) + "}";
  h.push_batch(rows);
  h.checkpoint_uncommitted();
  h.crash();
  h.restore();
  CHECK(t.query("select count(*), count(distinct i) from log") == Rows{"int 20000|int 20000"});
}
