// sqlite.sink, rows by key: values, keys, deletes, crashes.
#include <array>

#include "sink_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;

TEST_CASE("rows go to the table that they name, by key", "[sqlite.sink]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema(trademark_schema());
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"苹果"})");
  h.push(R"({"sink_table":"dim_base_trademark","id":2,"tm_name":"old"})");
  h.push(R"({"id":2,"tm_name":"new","sink_table":"dim_base_trademark"})");
  // Visible at once, without a checkpoint.
  CHECK(t.query("select * from dim_base_trademark order by id") == Rows{"1|苹果", "2|new"});
  CHECK(h.needs().delivery == SLUICE_DELIVERY_UPSERT);
}

TEST_CASE("text columns hold exactly what was written", "[sqlite.sink]") {
  Target t;
  Sink h(t.options("table: t, key: [id]"));
  h.open();
  h.push(
      R"({"id":9007199254740993,"n":18446744073709551615,"d":999999999999.999998,"z":20.00,"m":-0.00,"e":1E+2,"b":true,"f":false,)"
      R"("x":null,"s":"","tags":["bar","baz"],"rule":{"b":[1,2,{"c":"in"}],"a":123.4321},"note":"Zoë 🛒 \ud83d\ude80 tab\there \u0000 end"})");
  CHECK(
      t.query("select id, n, d, z, m, e, b, f, x, s, tags, rule from t") ==
      Rows{
          R"(9007199254740993|18446744073709551615|999999999999.999998|20.00|-0.00|1E+2|true|false|~||["bar","baz"]|{"b":[1,2,{"c":"in"}],"a":123.4321})"});
  CHECK(t.query("select note from t") == Rows{"Zoë 🛒 🚀 tab\there " + std::string(1, '\0') + " end"});
}

TEST_CASE("typed columns convert, but never lose digits of a whole number", "[sqlite.sink]") {
  Target t;
  Sink h(t.options("table: t, key: [k], columns: {ct: INTEGER, avg: REAL, sum: numeric}"));
  h.open();
  h.push(R"({"k":"1","ct":7,"avg":1.5,"sum":"12"})");
  h.push(R"({"k":"2","ct":"9223372036854775807","avg":2,"sum":0.5})");
  h.push(R"({"k":"3","ct":true,"avg":null,"sum":false})");
  CHECK(t.query("select * from t order by k") ==
        Rows{"1|int 7|real 1.5|int 12", "2|int 9223372036854775807|real 2.0|real 0.5", "3|int 1|~|int 0"});
  h.push(R"({"k":"4","ct":9223372036854775808})");
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Contains("ct") && Contains("9223372036854775808") && Contains("TEXT"));
}

TEST_CASE("a number that a typed column cannot give back equal is refused, as a number and as a text", "[sqlite.sink]") {
  Target t;
  Sink h(t.options("table: t, key: [k], columns: {i: INTEGER, r: REAL, n: NUMERIC}"));
  h.open();
  h.push(R"({"k":"0","i":0,"r":0,"n":0})");
  const bool as_text = GENERATE(false, true);
  const auto push = [&](const std::string& column, const std::string& number) {
    h.push(R"({"k":"1",")" + column + "\":" + (as_text ? "\"" + number + "\"" : number) + "}");
    std::vector<std::string> reasons;
    for (const auto& r : h.rejected()) reasons.push_back(r.reason);
    return reasons;
  };
  using Case = std::pair<const char*, const char*>;
  SECTION("refused") {
    const bool whole = GENERATE(false, true);
    const std::string why = whole ? "does not fit into 64 bits" : "would be rounded, or become infinite or zero";
    const auto& cases = whole ? std::vector<Case>{{"i", "1e30"}, {"n", "1e30"}, {"i", "1e400"}, {"n", "-9223372036854775809"},
                                                  {"i", "92233720368547758070e-0"}, {"n", "1e99999999999999999999"}}
                              : std::vector<Case>{{"r", "12345678901234567890"}, {"r", "9007199254740993"}, {"r", "1e400"},
                                                  {"r", "-1e400"}, {"r", "1e-400"}, {"r", "0.12345678901234567891"},
                                                  {"n", "12345678901234567.89"}, {"i", "12345678901234567.89"},
                                                  {"i", "1e-400"}, {"r", "1e99999999999999999999"}};
    const Case one = cases[static_cast<size_t>(GENERATE(range(0, 10))) % cases.size()];
    CHECK(push(one.first, one.second) == std::vector<std::string>{std::string("column \"") + one.first + "\": the number " +
                                                                  one.second + " " + why + "; a TEXT column keeps it"});
    CHECK(t.query("select k from t") == Rows{"0"});
  }
  SECTION("kept") {
    using Kept = std::array<const char*, 3>;
    const Kept one = GENERATE(Kept{"i", "-9223372036854775808", "int -9223372036854775808"}, Kept{"i", "1e3", "int 1000"},
                              Kept{"i", "20.00", "int 20"}, Kept{"n", "9.2e18", "int 9200000000000000000"},
                              Kept{"n", "-0.0", "int 0"}, Kept{"n", "0.1", "real 0.1"}, Kept{"i", "0.5", "real 0.5"},
                              Kept{"r", "1e308", "real 1.0e+308"}, Kept{"r", "9007199254740992", "real 9.00719925474099e+15"},
                              Kept{"r", "-20.00", "real -20.0"}, Kept{"r", "0e400", "real 0.0"});
    CHECK(push(one[0], one[1]).empty());
    CHECK(t.query(std::string("select ") + one[0] + " from t where k = '1'") == Rows{one[2]});
  }
}

TEST_CASE("what is no number stays a text in a typed column", "[sqlite.sink]") {
  Target t;
  Sink h(t.options("table: t, key: [k], columns: {n: NUMERIC}"));
  h.open();
  const std::string text = GENERATE("", "-", ".", "1e", "e5", "1.2.3", "0x10", "Infinity", "NaN", "12 apples");
  h.push(R"({"k":"1","n":")" + text + "\"}");
  CHECK(h.rejected().empty());
  CHECK(t.query("select n from t") == Rows{text});
  h.push(R"({"k":"1","n":" +7 "})");
  CHECK(t.query("select n from t") == Rows{"int 7"});
}

TEST_CASE("a member without a name, and one that comes twice, are refused whatever names the table", "[sqlite.sink]") {
  Target t;
  const std::string options = GENERATE("table: t, key: [id]", "key: [id]", "key: [id], key_field: ''");
  Sink h(t.options(options));
  h.open();
  h.push(R"({"sink_table":"t","id":1,"v":1})");
  h.push(R"({"sink_table":"t","id":2,"":5})");
  h.push(R"({"sink_table":"t","id":4,"v":1,"v":2})");
  h.push(R"({"sink_table":"t","id":4,"v":1,"V":2})");
  std::vector<std::string> reasons;
  for (const auto& r : h.rejected()) reasons.push_back(r.reason);
  CHECK(reasons == std::vector<std::string>{"a column name is empty", "the column \"v\" comes twice",
                                            "the column \"V\" comes twice (SQLite does not tell A from a)"});
  CHECK(t.query("select id from t") == Rows{"1"});
}

TEST_CASE("only the columns that came are updated", "[sqlite.sink]") {
  Target t;
  Sink h(t.options("table: t, key: [id]"));
  h.open();
  h.push(R"({"id":1,"a":"x","b":"y"})");
  h.push(R"({"b":"z","id":1})");
  h.push(R"({"id":1})");
  CHECK(t.query("select id, a, b from t") == Rows{"1|x|z"});
}

TEST_CASE("composite keys", "[sqlite.sink]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema({"dim_sku_sale_attr", {"sku_id", "attr_id", "attr_value"}, {"sku_id", "attr_id"}, "SALT_BUCKETS = 4"});
  for (const char* row : {R"({"sku_id":1,"attr_id":1,"attr_value":"red","sink_table":"dim_sku_sale_attr"})",
                          R"({"sku_id":1,"attr_id":2,"attr_value":"XL","sink_table":"dim_sku_sale_attr"})",
                          R"({"sku_id":1,"attr_id":1,"attr_value":"blue","sink_table":"dim_sku_sale_attr"})"})
    h.push(row);
  CHECK(t.query("select * from dim_sku_sale_attr order by attr_id") == Rows{"1|1|blue", "1|2|XL"});
  bool told = false;
  for (const auto& line : h.log()) told = told || line.text.find("SALT_BUCKETS = 4") != std::string::npos;
  CHECK(told);
}

TEST_CASE("deleted rows are deleted, and nothing else", "[sqlite.sink]") {
  Target t;
  Sink h(t.options());
  h.open();
  sluice::testing::RowMeta deleted;
  deleted.change = SLUICE_CHANGE_DELETE;
  h.push(R"({"sink_table":"dim_base_trademark","id":7})", deleted);  // the table is not there yet
  h.push_schema(trademark_schema());
  h.push(R"({"sink_table":"dim_base_trademark","id":13,"tm_name":"x"})");
  h.push(R"({"sink_table":"dim_base_trademark","id":14,"tm_name":"y"})");
  h.push(R"({"sink_table":"dim_base_trademark","id":13,"tm_name":"x","logo_url":"/a"})", deleted);
  h.push(R"({"sink_table":"dim_base_trademark","ID":99})", deleted);
  CHECK(t.query("select * from dim_base_trademark") == Rows{"14|y"});
  CHECK(h.rejected().empty());
  h.push(R"({"sink_table":"dim_base_trademark","tm_name":"y"})", deleted);
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Contains("no key column \"id\""));
}

TEST_CASE("a key that moves: the old row is deleted, the new one written", "[sqlite.sink]") {
  Target t;
  Sink h(t.options("table: base_dic, key: [id]"));
  h.open();
  h.push(R"({"id":13,"dic_name":"a"})");
  sluice::testing::InputRow old_row{R"({"id":13})", {}}, new_row{R"({"id":14,"dic_name":"a"})", {}};
  old_row.meta.change = SLUICE_CHANGE_DELETE;
  new_row.meta.change = SLUICE_CHANGE_UPDATE;
  h.push_batch({old_row, new_row});
  CHECK(t.query("select * from base_dic") == Rows{"14|a"});
}

TEST_CASE("a row that cannot be written is refused alone, with its reason", "[sqlite.sink]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema(trademark_schema());
  const auto row = [](const char* json) { return sluice::testing::InputRow{json, {}}; };
  h.push_batch(
      {row(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"a"})"),
       row(R"({"sink_table":"dim_base_trademark","tm_name":"b"})"),
       row(R"({"sink_table":"dim_base_trademark","id":null,"tm_name":"c"})"), row(R"({"id":3,"tm_name":"d"})"),
       row(R"({"sink_table":5,"id":3})"), row(R"({"sink_table":"sqlite_master","id":3})"),
       row(R"({"sink_table":"_sluice_epochs","id":3})"), row(R"({"sink_table":"dim_base_trademark","id":4,"ID":5})"),
       row(R"({"sink_table":"dim_base_trademark","id":4,"other":5})"), row(R"({"sink_table":"dim_base_trademark"})"),
       row(R"({"sink_table":"dim_base_trademark","id":6,"tm_name":nope})"),
       row(R"({"sink_table":"unheard_of","id":6})"),
       row(R"({"sink_table":"dim_base_trademark","id":2,"tm_name":"z"})")});
  CHECK(t.query("select * from dim_base_trademark order by id") == Rows{"1|a", "2|z"});
  std::vector<std::string> reasons;
  for (const auto& r : h.rejected()) reasons.push_back(r.reason);
  REQUIRE(reasons.size() == 11);
  CHECK_THAT(reasons[0], Contains("no key column \"id\""));
  CHECK_THAT(reasons[1], Contains("\"id\" is null"));
  CHECK_THAT(reasons[2], Contains("does not say its table"));
  CHECK_THAT(reasons[3], Contains("does not say its table"));
  CHECK_THAT(reasons[4], Contains("reserved"));
  CHECK_THAT(reasons[5], Contains("reserved"));
  CHECK_THAT(reasons[6], Contains("comes twice"));
  CHECK_THAT(reasons[7], Contains("no column other"));
  CHECK_THAT(reasons[8], Contains("no columns"));
  CHECK_THAT(reasons[9], Contains("not valid JSON"));
  CHECK_THAT(reasons[10], Contains("no key is known"));
}

TEST_CASE("names are quoted: reserved words, quotes, blanks, Chinese, and nothing gets out", "[sqlite.sink]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema({"order", {"select", "你好", "a b", "q\"uote", "semi;--"}, {"select"}});
  h.push(
      R"({"sink_table":"order","select":1,"你好":"値","a b":"blank","q\"uote":"q","semi;--":"'; drop table \"order\"; --"})");
  h.push_schema({"表\"; drop table \"order", {"id"}, {"id"}});
  h.push(R"({"sink_table":"表\"; drop table \"order","id":1})");
  CHECK(t.query("select * from \"order\"") == Rows{"1|値|blank|q|'; drop table \"order\"; --"});
  CHECK(t.query("select count(*) from sqlite_master where type = 'table'") == Rows{"int 2"});
  CHECK(h.rejected().empty());

  CHECK(h.try_push_schema({std::string("a\0b", 3), {"id"}, {"id"}}).code() == SLUICE_BAD_RECORD);
  CHECK(h.try_push_schema({"t", {"id", "a\nb"}, {"id"}}).code() == SLUICE_BAD_RECORD);
  CHECK(h.try_push_schema({std::string(300, 'x'), {"id"}, {"id"}}).code() == SLUICE_BAD_RECORD);
}

TEST_CASE("crash and restart: written again, the same table", "[sqlite.sink]") {
  Target t;
  Sink h(t.options());
  h.open();
  h.push_schema(trademark_schema());
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"a"})");
  h.checkpoint();
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"b"})");
  h.push(R"({"sink_table":"dim_base_trademark","id":2,"tm_name":"b"})");
  SECTION("between checkpoints") { h.crash(); }
  SECTION("after prepare") {
    h.checkpoint_uncommitted();
    h.crash();
  }
  SECTION("after commit") {
    h.checkpoint();
    h.crash();
  }
  h.restore();
  h.push_schema(trademark_schema());  // sent again after every restore
  h.push(R"({"sink_table":"dim_base_trademark","id":1,"tm_name":"b"})");
  h.push(R"({"sink_table":"dim_base_trademark","id":2,"tm_name":"b"})");
  h.checkpoint();
  h.close();
  CHECK(t.query("select * from dim_base_trademark order by id") == Rows{"1|b", "2|b"});
}

TEST_CASE("rows of many shapes share a table", "[sqlite.sink]") {
  Target t;
  Sink h(t.options("table: t, key: [id]"));
  h.open();
  for (int i = 0; i < 300; ++i)
    h.push("{\"id\":" + std::to_string(i) + ",\"c" + std::to_string(i % 100) + "\":" + std::to_string(i) + "}");
  CHECK(t.query("select count(*), sum(c99 is not null) from t") == Rows{"int 300|int 3"});
  CHECK(h.rejected().empty());
}
