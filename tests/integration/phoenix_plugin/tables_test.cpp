// phoenix.sink on the real server: how tables come to be, change, and are refused.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "phoenix_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {
Rows columns(const Schema& s, const std::string& table) {
  return query("select COLUMN_NAME, SQLTYPENAME(DATA_TYPE), KEY_SEQ from SYSTEM.CATALOG where TABLE_SCHEM = '" +
               s.name + "' and TABLE_NAME = '" + table + "' and COLUMN_NAME is not null order by ORDINAL_POSITION");
}
}  // namespace

TEST_CASE("schema records make schema and table, once; SQL without quotes finds them", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  for (int i = 0; i < 50; ++i) h.push_schema({"dim_base_trademark", {"id", "tm_name"}, {"id"}, " SALT_BUCKETS = 3"});
  CHECK(columns(s, "DIM_BASE_TRADEMARK") == Rows{"ID|VARCHAR|1", "TM_NAME|VARCHAR|~"});
  CHECK(query("select SALT_BUCKETS from SYSTEM.CATALOG where TABLE_SCHEM = '" + s.name +
              "' and TABLE_NAME = 'DIM_BASE_TRADEMARK' and TABLE_TYPE = 'u'") == Rows{"3"});
  CHECK(h.log().size() == 1);
  h.push(trademark("1", "苹果"));
  CHECK(query("select id, tm_name from " + s.table("dim_base_trademark")) == Rows{"1|苹果"});
  CHECK(h.needs().delivery == SLUICE_DELIVERY_UPSERT);
  h.close();
}

TEST_CASE("a schema record with more columns adds them; none are removed", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema({"dim_user_info", {"id", "login_name"}, {"id"}});
  h.push(R"({"sink_table":"dim_user_info","id":1,"login_name":"a"})");
  h.push_schema({"dim_user_info", {"id", "login_name", "email", "order"}, {"id"}});
  h.push(R"({"sink_table":"dim_user_info","id":2,"login_name":"b","email":"b@example.org","order":7})");
  h.push_schema({"dim_user_info", {"id", "email"}, {"id"}});
  h.push(R"({"sink_table":"dim_user_info","id":3,"email":"c@example.org"})");
  CHECK(query("select id, login_name, email, \"ORDER\" from " + s.table("dim_user_info") + " order by id") ==
        Rows{"1|a|~|~", "2|b|b@example.org|7", "3|~|c@example.org|~"});
  CHECK(h.rejected().empty());
}

TEST_CASE("a schema that cannot be had quarantines its table alone, until a better one comes", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema(trademark_schema());
  const std::string row = R"({"sink_table":"dim_region","id":1,"name":"north"})";
  sluice::testing::SchemaIn good{"dim_region", {"id", "name"}, {"id"}};
  std::vector<std::pair<sluice::testing::SchemaIn, std::string>> bad(8, {good, ""});
  bad[0].first.columns.clear(), bad[0].second = "there are no columns";
  bad[1].first.key = {"region_id"}, bad[1].second = "the key column \"REGION_ID\" is not among the columns";
  bad[2].first.key.clear(), bad[2].second = "there is no key column";
  bad[3].first.columns = {"id", "name", "Name"},
  bad[3].second = "the column \"NAME\" comes twice (with `case: upper` A and a are one column)";
  bad[4].first.extend = "SALT_BUCKETS = 3; drop table x",
  bad[4].second = "a comma is expected before \"; drop table x\"";
  bad[5].first.extend = "SALT_BUCKETS = 100000",
  bad[5].second = "ERROR 1021 (42Y80): Salt bucket numbers should be with 1 and 256.";
  bad[6].first.columns = {"id", "na\"me"}, bad[6].second = "has a quote or a backslash in it";
  bad[7].first.extend = "NO_SUCH_THING = as", bad[7].second = "ERROR";
  for (const auto& [schema, reason] : bad) {
    INFO(reason);
    const size_t before = h.rejected().size();
    const sluice::Status refused = h.try_push_schema(schema);
    CHECK(refused.code() == SLUICE_BAD_RECORD);
    CHECK_THAT(refused.message(), Contains("table dim_region: ") && Contains(reason));
    h.push(row);
    REQUIRE(h.rejected().size() == before + 1);
    CHECK_THAT(h.rejected().back().reason,
               Contains("the table \"" + s.name + "\".\"DIM_REGION\" is quarantined: ") && Contains(reason));
  }
  h.push(trademark("1", "goes on"));
  CHECK(query("select * from " + s.table("dim_base_trademark")) == Rows{"1|goes on"});
  const size_t before = h.rejected().size();
  h.push_schema(good);
  h.push(row);
  CHECK(h.rejected().size() == before);
  CHECK(query("select id, name from " + s.table("dim_region")) == Rows{"1|north"});
}

TEST_CASE("views and tables with another key are refused", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema(trademark_schema());
  execute("create table " + s.table("two_keys") +
          " (id varchar not null, name varchar not null, constraint pk primary key (id, name))");
  execute("create view " + s.table("a_view") + " as select * from " + s.table("dim_base_trademark"));
  CHECK_THAT(h.try_push_schema({"two_keys", {"id", "name"}, {"id"}}).message(),
             Contains("is there and has the key (ID, NAME), but the key must be (ID)"));
  CHECK_THAT(h.try_push_schema({"a_view", {"id", "tm_name"}, {"id"}}).message(), Contains("is a view"));
  h.push_schema({"two_keys", {"name", "id"}, {"name", "id"}});
  execute("drop view " + s.table("a_view"));
}

TEST_CASE("a column whose name differs in the case of letters only is not doubled", "[tables]") {
  Schema s;
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("people") + " (id varchar primary key, \"Name\" varchar)");
  execute("create table " + s.table("keyed") + " (\"id\" varchar primary key, name varchar)");
  const std::string people =
      "the table \"" + s.name +
      "\".\"PEOPLE\" has a column \"Name\", and \"NAME\" would be a second "
      "one whose name differs in the case of letters only; `case: keep` writes to names as they are";
  const std::string keyed = "the table \"" + s.name +
                            "\".\"KEYED\" has a column \"id\", and \"ID\" would be a second one "
                            "whose name differs in the case of letters only; `case: keep` writes to names as they are";
  const std::string row = R"({"sink_table":"people","id":1,"name":"n"})";
  Sink h(s.options());
  h.open();
  h.push(row);
  CHECK(h.try_push_schema({"people", {"id", "name"}, {"id"}}).message() == "table people: " + people);
  h.push(row);
  CHECK(h.try_push_schema({"keyed", {"id", "name"}, {"id"}}).message() == "table keyed: " + keyed);
  REQUIRE(h.rejected().size() == 2);
  CHECK(h.rejected()[0].reason == people);
  CHECK(columns(s, "PEOPLE") == Rows{"ID|VARCHAR|1", "Name|VARCHAR|~"});
  Sink keep("{servers: ['" + server() + "'], schema: " + s.name + ", case: keep, table: PEOPLE}");
  keep.open();
  keep.push(R"({"ID":1,"Name":"n"})");
  CHECK(keep.rejected().empty());
  CHECK(query("select * from " + s.table("people")) == Rows{"1|n"});
}

TEST_CASE("a schema that is not there, and may not be made, stops the start", "[tables]") {
  Schema s;
  const std::string options = s.options("create: false");
  const std::string problem = "there is no schema \"" + s.name +
                              "\" in Phoenix, and `create` is false: run create schema \"" + s.name +
                              "\" (without namespace mapping: make its tables), or set `create: true`";
  Sink h(options);
  const sluice::Status status = h.try_open();
  CHECK(status.code() == SLUICE_FATAL);
  CHECK(status.message() == "`schema`: " + problem);
  Sink checked(options);
  const auto problems = checked.find_problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].option == "schema");
  CHECK(problems[0].text == problem);
  execute("create schema \"" + s.name + "\"");
  Sink there(options);
  there.open();
  CHECK(Sink(options).find_problems().empty());
}

TEST_CASE("zero dates are NULL, or refused; never another date", "[tables]") {
  Schema s;
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("z") +
          " (id varchar not null, k date not null, d date, t timestamp, m time, v varchar constraint pk primary key "
          "(id, k))");
  const std::string row =
      R"({"id":1,"k":"2024-01-02","d":"0000-00-00","t":"0000-00-00 00:00:00","m":"0000-00-00 00:00:00","v":"0000-00-00"})";
  Sink h(s.options("table: z"));
  h.open();
  h.push(row);
  h.push(R"({"id":2,"k":"0000-00-00","d":null})");
  h.push(R"({"id":3,"k":"2024-01-02","d":"2024-00-10"})");
  CHECK(query("select id, d, t, m, v from " + s.table("z")) == Rows{"1|~|~|~|0000-00-00"});
  REQUIRE(h.rejected().size() == 2);
  CHECK(h.rejected()[0].reason == "the key column \"k\" is a zero date, \"0000-00-00\", and a key cannot be NULL");
  CHECK_THAT(h.rejected()[1].reason, Contains("2024-00-10"));
  CHECK(h.counter("zero_dates") == 3);
  Sink strict(s.options("table: z, zero_dates: reject"));
  strict.open();
  strict.push(row);
  REQUIRE(strict.rejected().size() == 1);
  CHECK(strict.rejected()[0].reason ==
        "column \"d\": \"0000-00-00\" is a zero date, which Phoenix has none of; `zero_dates: as_null` makes it NULL");
  CHECK(strict.counter("zero_dates") == 0);
}

TEST_CASE("a table of the user's own is written to as it is, every type by its rules", "[tables]") {
  Schema s;
  Sink h(s.options("table: w"));
  h.open();
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("w") +
          " (id bigint not null primary key, i integer, d decimal(16,2), dd decimal, s varchar(5), f double, b "
          "boolean, dt date, ts timestamp, u unsigned_int, c char(3))");
  h.push(
      R"({"id":9007199254740993,"i":-5,"d":"12345678901234.56","dd":0.1000000000000000000000000001,"s":"abc","f":2.5,"b":true,"dt":"2024-01-02",)"
      R"("ts":"2024-01-02 03:04:05.678","u":7,"c":"xy"})");
  h.push(
      R"({"id":"2","i":null,"d":1.50,"dd":null,"s":"","f":"1","b":"false","dt":null,"ts":1704164645678,"u":null,"c":null})");
  CHECK(query("select id, i, d, dd, s, f, b, to_char(dt, 'yyyy-MM-dd'), to_char(ts, 'yyyy-MM-dd HH:mm:ss.SSS'), u, c "
              "from " +
              s.table("w") + " order by id") ==
        Rows{"2|~|1.5|~|~|1.0|False|~|2024-01-02 03:04:05.678|~|~",
             "9007199254740993|-5|12345678901234.56|0.1000000000000000000000000001|abc|2.5|True|2024-01-02|2024-01-02 "
             "03:04:05.678|7|xy"});
  std::vector<std::pair<std::string, std::string>> bad = {
      {R"({"id":3,"i":3000000000})", "column \"i\": \"3000000000\" is too large or too small for the column's type"},
      {R"({"id":3,"d":1.239})",
       "column \"d\": \"1.239\" is a number with more digits after the point than the column has"},
      {R"({"id":"x"})", "column \"id\": \"x\" is no whole number of 64 bits"},
      {R"({"id":3,"s":"123456"})",
       "ERROR 206 (22003): The data exceeds the max capacity for the data type. S VARCHAR(5)"},
      {R"({"id":3,"dt":"yesterday"})", "yesterday"},
      {R"({"id":3,"u":-1})", "column \"u\": \"-1\" is too large or too small"},
      {R"({"id":3,"b":"maybe"})", "column \"b\": \"maybe\" is neither true nor false"},
      {R"({"id":null,"i":1})", "the key column \"id\" is null"}};
  for (size_t i = 0; i < bad.size(); ++i) {
    h.push(bad[i].first);
    REQUIRE(h.rejected().size() == i + 1);
    CHECK_THAT(h.rejected().back().reason, Contains(bad[i].second));
  }
  CHECK(query("select count(*) from " + s.table("w")) == Rows{"2"});
}

TEST_CASE("without a schema record tables come from rows", "[tables]") {
  Schema s;
  SECTION("of one table, with types") {
    Sink h(s.options("table: dws, key: [stt, edt], columns: {ct: BIGINT, amount: 'DECIMAL(16,2)'}"));
    h.open();
    h.push(R"({"stt":"a","edt":"b","ct":1})");
    h.push(R"({"stt":"a","edt":"b","ct":2,"amount":9.50})");
    CHECK(query("select stt, edt, ct, amount from " + s.table("dws")) == Rows{"a|b|2|9.5"});
    CHECK(columns(s, "DWS") == Rows{"STT|VARCHAR|1", "EDT|VARCHAR|2", "CT|BIGINT|~", "AMOUNT|DECIMAL|~"});
  }
  SECTION("of tables whose key is said in the row") {
    Sink h(s.options());
    h.open();
    h.push(R"({"sink_table":"a","sink_pk":"x, y","x":1,"y":2,"z":3})");
    h.push(R"({"sink_table":"a","sink_pk":"x, y","x":1,"y":2,"z":4})");
    h.push(R"({"sink_table":"b","sink_pk":"id","x":1})");
    CHECK(query("select x, y, z from " + s.table("a")) == Rows{"1|2|4"});
    REQUIRE(h.rejected().size() == 1);
    CHECK_THAT(h.rejected()[0].reason, Equals("the row has no key column \"ID\""));
    CHECK(columns(s, "B").empty());
  }
  SECTION("a member called sink_table is a column when the table is fixed") {
    Sink h(s.options("table: t, key: [id]"));
    h.open();
    h.push(R"({"sink_table":"x","sink_pk":"y","id":1})");
    CHECK(query("select sink_table, sink_pk, id from " + s.table("t")) == Rows{"x|y|1"});
  }
}

TEST_CASE("`case: keep` keeps names as they are", "[tables]") {
  Schema s;
  Sink h("{servers: ['" + server() + "'], schema: " + s.name + ", case: keep}");
  h.open();
  h.push_schema({"dim_Order", {"id", "Name", "name"}, {"id"}});
  h.push(R"({"sink_table":"dim_Order","id":1,"Name":"A","name":"a"})");
  CHECK(query("select \"id\", \"Name\", \"name\" from " + s.name + ".\"dim_Order\"") == Rows{"1|A|a"});
}

TEST_CASE("names: reserved words, blanks, Chinese columns, and nothing gets out", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema({"order", {"select", "你好", "a b", "semi;--"}, {"select"}});
  h.push(R"({"sink_table":"order","select":1,"你好":"値","a b":"blank","semi;--":"'; drop table \"order\"; --"})");
  CHECK(query("select * from " + s.name + ".\"ORDER\"") == Rows{"1|値|blank|'; drop table \"order\"; --"});
  h.push(R"({"sink_table":"t\"; drop table x","sink_pk":"id","id":1})");
  h.push(R"({"sink_table":"other.t","sink_pk":"id","id":1})");
  REQUIRE(h.rejected().size() == 2);
  CHECK_THAT(h.rejected()[0].reason, Contains("has a quote or a backslash in it"));
  CHECK_THAT(h.rejected()[1].reason, Contains("has a dot or a colon in it"));
}

TEST_CASE("schema records of other tables do not concern a sink with one table", "[tables]") {
  Schema s;
  Sink h(s.options("table: T"));
  h.open();
  h.push_schema(trademark_schema());
  h.push_schema({"t", {"id", "v"}, {"id"}});
  h.push(R"({"id":1,"v":2})");
  CHECK(query("select TABLE_NAME from SYSTEM.CATALOG where TABLE_SCHEM = '" + s.name + "' and TABLE_TYPE = 'u'") ==
        Rows{"T"});
}

TEST_CASE("with `create: false` nothing is made", "[tables]") {
  Schema s;
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("there") + " (id varchar primary key)");
  Sink h(s.options("create: false"));
  h.open();
  CHECK_THAT(h.try_push_schema(trademark_schema()).message(), Contains("is not there, and `create` is false"));
  CHECK_THAT(h.try_push_schema({"there", {"id", "v"}, {"id"}}).message(),
             Contains("has no column V, and `create` is false"));
  h.push_schema({"there", {"id"}, {"id"}});
  h.push(R"({"sink_table":"there","id":1})");
  h.push(R"({"sink_table":"elsewhere","sink_pk":"id","id":1})");
  CHECK(h.rejected().size() == 1);
  CHECK(query("select * from " + s.table("there")) == Rows{"1"});
  execute("create table " + s.table("elsewhere") + " (id varchar primary key)");
  h.push(R"({"sink_table":"elsewhere","sink_pk":"id","id":1})");
  CHECK(query("select * from " + s.table("elsewhere")) == Rows{"1"});
}

TEST_CASE("a table that others drop or change is looked at again", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "a"));
  execute("drop table " + s.table("dim_base_trademark"));
  push_through(h, {{trademark("1", "b"), {}}});
  CHECK(query("select * from " + s.table("dim_base_trademark")) == Rows{"1|b"});
  execute("alter table " + s.table("dim_base_trademark") + " drop column tm_name");
  // The sink's connection sees the table as it was when it was opened, up to five seconds ago.
  std::this_thread::sleep_for(std::chrono::milliseconds(5500));
  push_through(h, {{trademark("2", "c"), {}}});
  CHECK(h.rejected().empty());
  CHECK(query("select id, tm_name from " + s.table("dim_base_trademark") + " order by id") == Rows{"1|~", "2|c"});
}

// Somebody deletes it with HBase's shell: Phoenix goes on listing it.
TEST_CASE("a table that HBase has lost: its rows alone are refused, the others of the batch are written", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema(trademark_schema());
  h.push_schema({"dim_region", {"id", "name"}, {"id"}});
  const auto interleaved = [](int from, int to) {
    std::vector<sluice::testing::InputRow> rows;
    for (int i = from; i < to; ++i) {
      rows.push_back({R"({"sink_table":"dim_region","id":)" + std::to_string(i) + R"(,"name":"r"})", {}});
      rows.push_back({trademark(std::to_string(i), "t"), {}});
    }
    return rows;
  };
  h.push_batch(interleaved(0, 10));
  phoenix_sh("drop-in-hbase " + s.name + ":DIM_REGION");
  CHECK(push_through(h, interleaved(10, 20)) >= 3);  // not at once: it could be a moment's
  const std::string count = "select count(*) from " + s.table("dim_base_trademark");
  CHECK(query(count) == Rows{"20"});
  REQUIRE(h.rejected().size() == 10);
  for (const auto& r : h.rejected()) {
    CHECK_THAT(r.json, Contains("dim_region"));
    CHECK_THAT(r.reason, Contains("ERROR 1012 (42M03)") && Contains(s.name + ".DIM_REGION") &&
                             Contains("HBase has none: `drop table` it in Phoenix"));
  }
  // The next batches do not wait for it.
  CHECK(push_through(h, interleaved(20, 30)) == 0);
  CHECK(query(count) == Rows{"30"});
  CHECK(h.rejected().size() == 20);
  execute("drop table " + s.table("dim_region"));
  push_through(h, interleaved(30, 40));
  CHECK(h.rejected().size() == 20);
  CHECK(query("select count(*) from " + s.table("dim_region")) == Rows{"10"});
}

TEST_CASE("a table that is dropped while rows of others come, and may not be made again", "[tables]") {
  Schema s;
  execute("create schema if not exists " + s.name);
  for (const char* t : {"a", "b"}) execute("create table " + s.table(t) + " (id varchar primary key)");
  Sink h(s.options("create: false"));
  h.open();
  const auto interleaved = [](int from, int to) {
    std::vector<sluice::testing::InputRow> rows;
    for (int i = from; i < to; ++i)
      for (const char* t : {"a", "b"})
        rows.push_back(
            {R"({"sink_table":")" + std::string(t) + R"(","sink_pk":"id","id":)" + std::to_string(i) + "}", {}});
    return rows;
  };
  h.push_batch(interleaved(0, 10));
  execute("drop table " + s.table("a"));
  push_through(h, interleaved(10, 20));
  CHECK(query("select count(*) from " + s.table("b")) == Rows{"20"});
  REQUIRE(h.rejected().size() == 10);
  for (const auto& r : h.rejected()) CHECK_THAT(r.reason, Contains("\"A\" is not there, and `create` is false"));
}

TEST_CASE("two lanes make and change the same table", "[tables]") {
  Schema s;
  Sink a(s.options()), b(s.options());
  a.open();
  b.open();
  a.push_schema(trademark_schema());
  b.push_schema(trademark_schema());
  a.push_schema({"dim_base_trademark", {"id", "tm_name", "logo"}, {"id"}});
  push_through(b, {{trademark("1", "b"), {}}});
  b.push_schema({"dim_base_trademark", {"id", "tm_name", "logo"}, {"id"}});
  push_through(b, {{R"({"sink_table":"dim_base_trademark","id":1,"logo":"l"})", {}}});
  push_through(a, {{R"({"sink_table":"dim_base_trademark","id":2,"logo":"l"})", {}}});
  CHECK(query("select id, tm_name, logo from " + s.table("dim_base_trademark") + " order by id") ==
        Rows{"1|b|l", "2|~|l"});
  CHECK(a.rejected().size() + b.rejected().size() == 0);
}

TEST_CASE("validate --connect looks at the table", "[tables]") {
  Schema s;
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("t") + " (id varchar primary key)");
  const auto problem = [&](const std::string& more) {
    Sink h(s.options(more));
    const auto found = h.find_problems();
    return found.empty() ? std::string() : found[0].option + ": " + found[0].text;
  };
  CHECK(problem("").empty());
  CHECK(problem("table: t, key: [id]").empty());
  CHECK(problem("table: other").empty());
  CHECK_THAT(problem("table: other, create: false"),
             Contains("table: the table \"" + s.name + "\".\"OTHER\" is not there, and `create` is false"));
  CHECK_THAT(
      problem("table: t, key: [k]"),
      Contains("table: the table \"" + s.name + "\".\"T\" is there and has the key (ID), but the key must be (K)"));
  CHECK(query("select TABLE_NAME from SYSTEM.CATALOG where TABLE_SCHEM = '" + s.name + "' and TABLE_TYPE = 'u'") ==
        Rows{"T"});
}

TEST_CASE("a table with an index: both are written", "[tables]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema(trademark_schema());
  execute("create index by_name on " + s.table("dim_base_trademark") + " (tm_name)");
  h.push(trademark("1", "a"));
  h.push(trademark("1", "b"));
  h.push(trademark("2", "c"));
  CHECK(h.rejected().empty());
  CHECK_THAT(h.log().back().text, Contains("goes on with `write_time: server`: ERROR 903 (43M14)"));
  CHECK(query("select \":ID\", \"0:TM_NAME\" from " + s.table("by_name") + " order by \":ID\"") == Rows{"1|b", "2|c"});
  CHECK(query("select * from " + s.table("dim_base_trademark") + " order by id") == Rows{"1|b", "2|c"});
}
