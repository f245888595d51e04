// sqlite.sink: how tables come to be, change, and are refused.
#include "sink_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;

TEST_CASE("schema records make tables, once", "[sqlite.sink][tables]") {
  Target t;
  Sink h(t.options());
  h.open();
  for (int i = 0; i < 500; ++i) h.push_schema(trademark_schema());
  CHECK(t.query("select name, type, \"notnull\", pk from pragma_table_info('dim_base_trademark')") ==
        Rows{"id|TEXT|int 1|int 1", "tm_name|TEXT|int 0|int 0"});
  CHECK(h.log().size() == 1);
}

TEST_CASE("a schema record with more columns adds them; none are removed", "[sqlite.sink][tables]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema({"dim_user_info", {"id", "login_name"}, {"id"}});
  h.push(R"({"sink_table":"dim_user_info","id":1,"login_name":"a"})");
  h.push_schema({"dim_user_info", {"id", "login_name", "email"}, {"id"}});
  h.push(R"({"sink_table":"dim_user_info","id":2,"login_name":"b","email":"b@example.org"})");
  h.push_schema({"dim_user_info", {"id", "email"}, {"id"}});
  h.push(R"({"sink_table":"dim_user_info","id":3,"email":"c@example.org"})");
  CHECK(t.query("select id, login_name, email from dim_user_info order by id") ==
        Rows{"1|a|~", "2|b|b@example.org", "3|~|c@example.org"});
  CHECK(h.rejected().empty());
}

TEST_CASE("a schema that cannot be had quarantines its table alone, until a better one comes",
          "[sqlite.sink][tables]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema(trademark_schema());
  const std::string row = R"({"sink_table":"dim_region","id":1,"name":"north"})";
  sluice::testing::SchemaIn bad{"dim_region", {"id", "name"}, {"id"}}, good = bad;
  std::string reason;
  SECTION("no columns") {
    bad.columns.clear();
    reason = "no columns";
  }
  SECTION("the key is not a column") {
    bad.key = {"region_id"};
    reason = "region_id";
  }
  SECTION("no key") {
    bad.key.clear();
    reason = "no key column";
  }
  SECTION("a column comes twice") {
    bad.columns = {"id", "name", "Name"};
    reason = "comes twice";
  }
  SECTION("a view has the name") {
    t.execute("create view dim_region as select 1 as id");
    reason = "is a view";
    good.table = "";
  }
  SECTION("the table has another key") {
    t.execute("create table dim_region (id text, name text, primary key (id, name))");
    reason = "has the key (id, name)";
    good.key = {"name", "id"};
  }
  SECTION("the table has no key") {
    t.execute("create table dim_region (id text, name text)");
    reason = "has no primary key";
    good.table = "";
  }
  const sluice::Status s = h.try_push_schema(bad);
  CHECK(s.code() == SLUICE_BAD_RECORD);
  CHECK_THAT(s.message(), Contains("dim_region") && Contains(reason));
  h.push(row);
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"goes on"})");
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Contains("quarantined") && Contains(reason));
  CHECK(t.query("select * from dim_base_trademark") == Rows{"1|goes on"});

  if (good.table.empty()) {
    good.table = "dim_region";
    t.execute(reason == "is a view" ? "drop view dim_region" : "drop table dim_region");
  }
  h.push_schema(good);
  h.push(row);
  CHECK(h.rejected().size() == 1);
  CHECK(t.query("select id, name from dim_region") == Rows{"1|north"});
}

TEST_CASE("a table of the user's own is written to as it is", "[sqlite.sink][tables]") {
  Target t;
  t.execute("create table w (stt text, edt text, ct integer not null check (ct > 0), ts integer, unique (stt, edt))");
  Sink h(t.options("table: w, key: [edt, stt]"));
  h.open();
  h.push(R"({"stt":"a","edt":"b","ct":1,"ts":5})");
  h.push(R"({"stt":"a","edt":"b","ct":2,"ts":6})");
  h.push(R"({"stt":"a","edt":"c","ct":0,"ts":6})");
  CHECK(t.query("select * from w") == Rows{"a|b|int 2|int 6"});
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Contains("CHECK constraint failed"));
}

TEST_CASE("the key of an existing table is taken when nobody says one", "[sqlite.sink][tables]") {
  Target t;
  t.execute("create table w (id integer primary key, v text)");
  Sink h(t.options("table: w"));
  h.open();
  h.push(R"({"id":1,"v":"a"})");
  h.push(R"({"id":"1","v":"b"})");
  h.push(R"({"id":"x","v":"b"})");
  CHECK(t.query("select * from w") == Rows{"int 1|b"});
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Contains("datatype mismatch"));
}

TEST_CASE("without a schema record tables come from rows", "[sqlite.sink][tables]") {
  Target t;
  SECTION("of one table") {
    Sink h(t.options("table: dws, key: [stt, edt], columns: {ct: INTEGER}"));
    h.open();
    h.push(R"({"stt":"a","edt":"b","ct":1})");
    h.push(R"({"stt":"a","edt":"b","ct":2,"ts":99})");
    CHECK(t.query("select * from dws") == Rows{"a|b|int 2|99"});
    CHECK(t.query("select name, type, pk from pragma_table_info('dws')") ==
          Rows{"stt|TEXT|int 1", "edt|TEXT|int 2", "ct|INTEGER|int 0", "ts|TEXT|int 0"});
  }
  SECTION("of tables whose key is said in the row") {
    Sink h(t.options());
    h.open();
    h.push(R"({"sink_table":"a","sink_pk":"x, y","x":1,"y":2,"z":3})");
    h.push(R"({"sink_table":"a","sink_pk":"x, y","x":1,"y":2,"z":4})");
    h.push(R"({"sink_table":"b","sink_pk":"id","x":1})");
    CHECK(t.query("select * from a") == Rows{"1|2|4"});
    REQUIRE(h.rejected().size() == 1);
    CHECK_THAT(h.rejected()[0].reason, Contains("no key column \"id\""));
    CHECK(t.query("select count(*) from sqlite_master where name = 'b'") == Rows{"int 0"});
  }
  SECTION("a member called sink_table is a column when the table is fixed") {
    Sink h(t.options("table: t, key: [id]"));
    h.open();
    h.push(R"({"sink_table":"x","sink_pk":"y","id":1})");
    CHECK(t.query("select sink_table, sink_pk, id from t") == Rows{"x|y|1"});
  }
}

TEST_CASE("schema records of other tables do not concern a sink with one table", "[sqlite.sink][tables]") {
  Target t;
  Sink h(t.options("table: T"));
  h.open();
  h.push_schema(trademark_schema());
  h.push_schema({"t", {"id", "v"}, {"id"}});
  h.push(R"({"id":1,"v":2})");
  CHECK(t.query("select name from sqlite_master where type = 'table'") == Rows{"T"});
  CHECK(t.query("select * from t") == Rows{"1|2"});
}

TEST_CASE("with `create: false` nothing is made", "[sqlite.sink][tables]") {
  Target t;
  Sink no_file(t.options("create: false"));
  const sluice::Status s = no_file.try_open();
  CHECK(s.code() == SLUICE_FATAL);
  CHECK_THAT(s.message(), Contains("unable to open"));
  CHECK_FALSE(t.folder.has("warehouse.db"));

  t.execute("create table there (id text primary key)");
  Sink h(t.options("create: false"));
  h.open();
  CHECK(h.try_push_schema(trademark_schema()).code() == SLUICE_BAD_RECORD);
  CHECK(h.try_push_schema({"there", {"id", "v"}, {"id"}}).code() == SLUICE_BAD_RECORD);
  h.push_schema({"there", {"id"}, {"id"}});
  h.push(R"({"sink_table":"there","id":1})");
  h.push(R"({"sink_table":"dim_base_trademark","id":1})");
  h.push(R"({"sink_table":"elsewhere","sink_pk":"id","id":1})");
  CHECK(h.rejected().size() == 2);
  CHECK(t.query("select * from there") == Rows{"1"});

  t.execute("create table elsewhere (id text primary key)");
  h.push(R"({"sink_table":"elsewhere","sink_pk":"id","id":1})");
  CHECK(t.query("select * from elsewhere") == Rows{"1"});
}

TEST_CASE("a table that others drop or change is looked at again", "[sqlite.sink][tables]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema(trademark_schema());
  const std::string row = R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"a"})";
  h.push(row);
  t.execute("drop table dim_base_trademark");
  h.push(row);
  CHECK(t.query("select * from dim_base_trademark") == Rows{"1|a"});
  CHECK(h.rejected().empty());
}

TEST_CASE("two lanes make and change the same table", "[sqlite.sink][tables]") {
  Target t;
  Sink a(t.options()), b(t.options());
  a.open();
  b.open();
  a.push_schema(trademark_schema());
  b.push_schema(trademark_schema());
  a.push_schema({"dim_base_trademark", {"id", "tm_name", "logo"}, {"id"}});
  b.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"b"})");
  b.push_schema({"dim_base_trademark", {"id", "tm_name", "logo"}, {"id"}});
  b.push(R"({"sink_table":"dim_base_trademark","id":1,"logo":"l"})");
  a.push(R"({"sink_table":"dim_base_trademark","id":2,"logo":"l"})");
  CHECK(t.query("select id, tm_name, logo from dim_base_trademark order by id") == Rows{"1|b|l", "2|~|l"});

  // Without schema records both see a new column for the first time.
  Sink c(t.options("table: t, key: [id]")), d(t.options("table: t, key: [id]"));
  c.open();
  d.open();
  c.push(R"({"id":1,"a":1})");
  d.push(R"({"id":2,"a":1})");
  c.push(R"({"id":3,"b":1})");
  d.push(R"({"id":4,"b":1})");
  CHECK(t.query("select count(*) from t") == Rows{"int 4"});
  CHECK(c.rejected().size() + d.rejected().size() == 0);
}

TEST_CASE("a row that is refused changes no table", "[sqlite.sink][tables]") {
  const std::string mode = GENERATE("upsert", "append");
  const bool upserts = mode == "upsert";
  Target t;
  Sink h(t.options("mode: " + mode + ", table: t, columns: {n: INTEGER}" + (upserts ? ", key: [id]" : "")));
  h.open();
  const auto row_with = [](int id, int members) {
    std::string json = "{\"id\":" + std::to_string(id);
    for (int i = 1; i < members; ++i) json += ",\"m" + std::to_string(i) + "\":1";
    return json + "}";
  };
  const auto columns = [&] { return t.query("select count(*) from pragma_table_info('t')"); };

  SECTION("more columns than SQLite allows, in the first row") {
    h.push(row_with(1, 3000));
    h.push(row_with(2, 2000));
    h.checkpoint();
    REQUIRE(h.rejected().size() == 1);
    CHECK_THAT(h.rejected().front().reason, Contains("would have 3000 columns") && Contains("SQLite allows 2000"));
    CHECK(t.query("select id from t") == Rows{"2"});
    CHECK(columns() == Rows{"int 2000"});
  }
  SECTION("more columns than SQLite allows, later; rows after it get their columns") {
    h.push(R"({"id":1,"a":1})");
    h.push(row_with(2, 3000));
    h.push(R"({"id":3,"b":1})");
    h.checkpoint();
    REQUIRE(h.rejected().size() == 1);
    CHECK_THAT(h.rejected().front().reason, Contains("would have 3001 columns"));
    CHECK(t.query("select id, a, b from t order by id") == Rows{"1|1|~", "3|~|1"});
  }
  SECTION("a value that does not fit, beside a new column") {
    h.push(R"({"id":1,"n":1})");
    h.push(R"({"id":2,"n":18446744073709551615,"new":1})");
    h.push(R"({"id":3,"n":3})");
    h.checkpoint();
    CHECK(h.rejected().size() == 1);
    CHECK(t.query("select id, n from t order by id") == Rows{"1|int 1", "3|int 3"});
    CHECK(columns() == Rows{"int 2"});
  }
}

TEST_CASE("a schema record with more columns than SQLite allows quarantines its table", "[sqlite.sink][tables]") {
  Target t;
  Sink h(t.options());
  h.open();
  sluice::testing::SchemaIn wide{"wide", {"id"}, {"id"}};
  h.push_schema(wide);
  while (wide.columns.size() < 2001) wide.columns.push_back("m" + std::to_string(wide.columns.size()));
  CHECK(h.try_push_schema(wide).code() == SLUICE_BAD_RECORD);
  h.push(R"({"sink_table":"wide","id":1})");
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Contains("would have 2001 columns"));
  CHECK(t.query("select count(*) from pragma_table_info('wide')") == Rows{"int 1"});
}
