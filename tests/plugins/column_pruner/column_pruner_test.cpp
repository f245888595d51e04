#include "column_pruner/column_pruner.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sluice/testing/harness.hpp"

namespace {

using Harness = sluice::testing::Harness<sluice::column_pruner::ColumnPruner>;
using Texts = std::vector<std::string>;

// As in job DIM.
constexpr const char* kDim =
    "{from: data, columns_field: sink_columns, add: [sink_table, sink_pk], key_field: sink_pk}";

std::string record(const std::string& data, const std::string& columns, const std::string& pk = "id") {
  return R"({"table":"t","type":"insert","data":)" + data + R"(,"sink_table":"dim_t","sink_columns":")" + columns +
         R"(","sink_pk":")" + pk + "\"}";
}

}  // namespace

TEST_CASE("exactly the listed columns, in the object's order, then what is added") {
  Harness h(kDim);
  h.open();
  h.push(record(R"({"tm_name":"alpha","logo_url":"/a.jpg","id":1})", "id,tm_name"));
  CHECK(h.pull_json() == Texts{R"({"tm_name":"alpha","id":1,"sink_table":"dim_t","sink_pk":"id"})"});
  CHECK(h.counter("kept") == 1);
}

TEST_CASE("BC-05: whole names") {
  Harness h("{from: data, columns_field: sink_columns}");
  h.open();
  h.push(record(
      R"({"id":77,"activity_id":5,"name":"leak","activity_name":"sale","type":"leak","activity_type":"x","activity":"leak"})",
      "activity_id,activity_name,activity_type"));
  CHECK(h.pull_json() == Texts{R"({"activity_id":5,"activity_name":"sale","activity_type":"x"})"});
}

TEST_CASE("values keep their digits, bytes and nesting") {
  Harness h("{from: data, columns: [a, b, c, d, e, f]}");
  h.open();
  h.push(
      R"({"data":{"a":18446744073709551615,"b":20.00,"c":"中文\u0001\"","d":{"x":[1,2.50,{}]},"e":null,"f":-1.5e+10}})");
  CHECK(
      h.pull_json() ==
      Texts{R"({"a":18446744073709551615,"b":20.00,"c":"中文\u0001\"","d":{"x":[1,2.50,{}]},"e":null,"f":-1.5e+10})"});
}

TEST_CASE("the whole record, a static list, fields of deeper levels") {
  Harness h(R"({columns: [id, missing], add: ["source.db"]})");
  h.open();
  h.push(R"({"id":1,"x":2,"source":{"db":"gmall"}})");
  h.push(R"({"x":2,"id":3})");
  CHECK(h.pull_json() == Texts{R"({"id":1,"db":"gmall"})", R"({"id":3})"});
}

TEST_CASE("the change type goes on, also in one batch with rows that have none") {
  Harness h(kDim);
  h.open();
  const std::string row = record(R"({"id":1})", "id");
  h.push_batch({{row},
                {row, {std::nullopt, 5, SLUICE_CHANGE_DELETE}},
                {row, {std::nullopt, SLUICE_NO_TIME, SLUICE_CHANGE_UPDATE}}});
  const auto rows = h.pull();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].change == SLUICE_CHANGE_NONE);
  CHECK(rows[1].change == SLUICE_CHANGE_DELETE);
  CHECK(rows[1].event_time == 5);
  CHECK(rows[2].change == SLUICE_CHANGE_UPDATE);
}

TEST_CASE("MX-17: names in another case") {
  const std::string row = record(R"({"ID":1,"bar_FIELD":"bar"})", "id,bar_field");
  SECTION("exact refuses the row and names the member") {
    Harness h(kDim);
    h.open();
    h.push(row);
    CHECK(h.pull().empty());
    REQUIRE(h.rejected().size() == 1);
    CHECK(h.rejected()[0].reason ==
          "none of the columns `id`, `bar_field` is in `data` (there is `ID`; `match: ignore_case` takes it)");
  }
  SECTION("exact never makes a row without its key") {
    Harness h(kDim);
    h.open();
    h.push(record(R"({"ID":1,"bar_field":"bar"})", "id,bar_field"));
    REQUIRE(h.rejected().size() == 1);
    CHECK(h.rejected()[0].reason == "key column `id` is missing (there is `ID`; `match: ignore_case` takes it)");
  }
  SECTION("ignore_case takes it under the listed name; an exact match goes first") {
    Harness h("{from: data, columns_field: sink_columns, key_field: sink_pk, match: ignore_case}");
    h.open();
    h.push(row);
    h.push(record(R"({"ID":1,"id":2,"BAR_field":"x"})", "id,bar_field"));
    CHECK(h.pull_json() == Texts{R"({"id":1,"bar_field":"bar"})", R"({"id":2,"bar_field":"x"})"});
  }
}

TEST_CASE("rows that cannot be pruned, each with its reason") {
  Harness h(kDim);
  h.open();
  h.push_batch({{R"({"sink_columns":"id","sink_pk":"id"})"},
                {R"({"data":"{}","sink_columns":"id","sink_pk":"id"})"},
                {R"({"data":{"id":1},"sink_pk":"id"})"},
                {R"({"data":{"id":1},"sink_columns":" , ","sink_pk":"id"})"},
                {R"({"data":{"id":1},"sink_columns":"id"})"},
                {R"({"data":{"id":1},"sink_columns":"id","sink_pk":""})"},
                {record(R"({"name":"x"})", "id,name")},
                {record(R"({"id":null,"name":"x"})", "id,name")},
                {record(R"({"id":1,"b":2})", "id,b", "id,c")},
                {record(R"({"id":1})", "id,sink_table")},
                {record("{}", "id")}});
  CHECK(h.pull().empty());
  Texts reasons;
  for (const auto& r : h.rejected()) reasons.push_back(r.reason);
  CHECK(reasons == Texts{"field `data` is absent, not an object", "field `data` is a string, not an object",
                         "field `sink_columns` is absent, not a list of columns",
                         "field `sink_columns` lists no column", "field `sink_pk` is absent, not a list of key columns",
                         "field `sink_pk` lists no key column", "key column `id` is missing", "key column `id` is null",
                         "key column `c` is missing", "`sink_table` is both a listed column and added by `add`",
                         "none of the columns `id` is in `data`"});
  CHECK(h.counter("kept") == 0);
}

TEST_CASE("tables in turn, members that come and go, repeated names") {
  Harness h("{from: data, columns_field: sink_columns}");
  h.open();
  std::vector<sluice::testing::InputRow> rows;
  Texts expected;
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    rows.push_back({record(R"({"id":)" + n + R"(,"a":1,"b":2})", "id,b")});
    expected.push_back(R"({"id":)" + n + R"(,"b":2})");
    rows.push_back({record(R"({"b":1,"x":)" + n + "}", "x,y")});
    expected.push_back(R"({"x":)" + n + "}");
    rows.push_back({record(R"({"b":)" + n + R"(,"id":7})", "id,b")});  // the same list, another order
    expected.push_back(R"({"b":)" + n + R"(,"id":7})");
  }
  rows.push_back({record(R"({"id":1,"b":0,"id":2})", "id")});
  expected.push_back(R"({"id":2})");
  h.push_batch(rows);
  CHECK(h.pull_json() == expected);
}

TEST_CASE("more lists than are remembered") {
  Harness h("{from: data, columns_field: sink_columns}");
  h.open();
  for (int i = 0; i < 5000; ++i) h.push(record(R"({"id":1})", "id,c" + std::to_string(i)));
  CHECK(h.pull().size() == 5000);
}

TEST_CASE("options that do not go together") {
  CHECK_THROWS_WITH(Harness("{from: data}").open(), Catch::Contains("one of `columns`"));
  CHECK_THROWS_WITH(Harness("{columns: [a], columns_field: b}").open(), Catch::Contains("exclude each other"));
  CHECK_THROWS_WITH(Harness("{columns: [a, a]}").open(), Catch::Contains("`a` is there twice"));
  CHECK_THROWS_WITH(Harness("{columns: [a], add: [x.a]}").open(), Catch::Contains("both in `columns` and added"));
  CHECK_THROWS_WITH(Harness("{columns: [c], add: [x.a, y.a]}").open(),
                    Catch::Contains("two fields would go on as `a`"));
}
