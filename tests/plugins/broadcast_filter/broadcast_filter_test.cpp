#include "broadcast_filter/broadcast_filter.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "broadcast_filter/identifier.h"
#include "sluice/testing/harness.hpp"

namespace {

using sluice::broadcast_filter::BroadcastFilter;
using Harness = sluice::testing::Harness<BroadcastFilter>;
using Texts = std::vector<std::string>;

std::string config_row(const std::string& source, const std::string& sink, const std::string& columns,
                       const std::string& pk = "\"id\"", const std::string& extend = "null") {
  const auto text = [](const std::string& s) { return s == "null" ? s : "\"" + s + "\""; };
  return R"({"source_table":)" + text(source) + R"(,"sink_table":)" + text(sink) + R"(,"sink_columns":)" +
         text(columns) + R"(,"sink_pk":)" + pk + R"(,"sink_extend":)" + extend + "}";
}
std::string created(const std::string& after) {
  return R"({"before":null,"after":)" + after + R"(,"op":"r","ts_ms":1})";
}
std::string updated(const std::string& before, const std::string& after) {
  return R"({"before":)" + before + R"(,"after":)" + after + R"(,"op":"u","ts_ms":1})";
}
std::string deleted(const std::string& before) {
  return R"({"before":)" + before + R"(,"after":null,"op":"d","ts_ms":1})";
}

const std::string kTrademark = config_row("base_trademark", "dim_base_trademark", "id,tm_name");
const std::string kDic = config_row("base_dic", "dim_base_dic", "id,dic_name");

std::string change(const std::string& table, const std::string& type, const std::string& data,
                   const std::string& old = "", const std::string& database = "gmall") {
  return R"({"database":")" + database + R"(","table":")" + table + R"(","type":")" + type + R"(","ts":1,"data":)" +
         data + (old.empty() ? "" : R"(,"old":)" + old) + "}";
}
// A kept record as it leaves the filter.
std::string kept(const std::string& record, const std::string& sink, const std::string& columns,
                 const std::string& pk = "id") {
  return record.substr(0, record.size() - 1) + R"(,"sink_table":")" + sink + R"(","sink_columns":")" + columns +
         R"(","sink_pk":")" + pk + "\"}";
}

void snapshot(Harness& h, const Texts& rows) {
  h.marker(SLUICE_SNAPSHOT_BEGIN);
  for (const std::string& row : rows) h.push_broadcast(row);
  h.marker(SLUICE_SNAPSHOT_END);
}
std::string rejection_of(const std::string& row) {
  Harness h;
  h.open();
  h.push_broadcast(row);
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.counter("rules_invalid") == 1);
  CHECK(h.state_size("config") == 0);
  CHECK(h.schemas().empty());
  return h.rejected()[0].reason;
}

}  // namespace

TEST_CASE("configured tables pass with their target, everything else is counted") {
  Harness h;
  h.open();
  snapshot(h, {created(kTrademark), created(kDic)});
  const std::string insert = change("base_trademark", "insert", R"({"id":1,"tm_name":"alpha","logo_url":"/a"})");
  const std::string update = change("base_dic", "update", R"({"id":7,"dic_name":"b"})", R"({"dic_name":"a"})");
  h.push_batch({{insert},
                {change("order_info", "insert", R"({"id":1})")},
                {update},
                {change("base_dic", "delete", R"({"id":7})")}});
  CHECK(h.pull_json() ==
        Texts{kept(insert, "dim_base_trademark", "id,tm_name"), kept(update, "dim_base_dic", "id,dic_name")});
  CHECK(h.counter("kept") == 2);
  CHECK(h.counter("dropped_not_configured") == 1);
  CHECK(h.counter("dropped_delete") == 1);
  CHECK(h.rejected().empty());
}

TEST_CASE("MX-01: bootstrap rows pass, the records around them are counted") {
  Harness h;
  h.open();
  snapshot(h, {created(kTrademark)});
  const std::string row = change("base_trademark", "bootstrap-insert", R"({"id":1,"tm_name":"alpha"})");
  h.push_batch({{change("base_trademark", "bootstrap-start", "{}")},
                {row},
                {change("base_trademark", "bootstrap-complete", "{}")}});
  CHECK(h.pull_json() == Texts{kept(row, "dim_base_trademark", "id,tm_name")});
  CHECK(h.counter("dropped_control") == 2);
  CHECK(h.rejected().empty());
}

TEST_CASE("MX-06, MX-07: DDL records are counted, with or without a table") {
  Harness h("{database: gmall}");
  h.open();
  snapshot(h, {created(kDic)});
  h.push(R"({"type":"table-create","database":"gmall","table":"base_dic","ts":1699253126000,"sql":"create","def":{}})");
  h.push(R"({"type":"table-alter","database":"gmall","table":"base_dic","ts":1,"def":{},"old":{}})");
  h.push(R"({"type":"database-drop","database":"scratch","ts":1699253127000,"sql":"drop database scratch"})");
  h.push(R"({"type":"table-rename-of-the-future","database":"gmall","table":"base_dic"})");
  CHECK(h.pull().empty());
  CHECK(h.counter("dropped_control") == 3);
  CHECK(h.counter("dropped_unknown_type") == 1);
  CHECK(h.rejected().empty());
}

TEST_CASE("records that are none of Maxwell's are refused with the reason") {
  Harness h;
  h.open();
  snapshot(h, {created(kDic)});
  for (const char* row :
       {R"({"table":"base_dic"})", R"({"type":7,"table":"base_dic"})", R"({"type":"insert"})",
        R"({"type":"insert","table":"base_dic"})", R"({"type":"insert","table":"base_dic","data":"{}"})",
        R"({"type":"insert","table":"base_dic","data":{ }})", R"({"type":"insert","table":5})"})
    h.push(row);
  CHECK(h.pull().empty());
  REQUIRE(h.rejected().size() == 7);
  CHECK(h.rejected()[6].reason == "field `table` is a number: not a Maxwell change record");
  CHECK(h.rejected()[0].reason == "no field `type`: not a Maxwell change record");
  CHECK(h.rejected()[1].reason == "field `type` is a number: not a Maxwell change record");
  CHECK(h.rejected()[2].reason == "no field `table`: not a Maxwell change record");
  CHECK(h.rejected()[3].reason == "field `data` is absent, not an object");
  CHECK(h.rejected()[4].reason == "field `data` is a string, not an object");
  CHECK(h.rejected()[5].reason == "field `data` is empty");
}

TEST_CASE("MX-14: one database, or a rule for one database") {
  const std::string real = change("base_trademark", "insert", R"({"id":1})"),
                    junk = change("base_trademark", "insert", R"({"id":1})", "", "gmall_test");
  SECTION("option") {
    Harness h("{database: gmall}");
    h.open();
    snapshot(h, {created(kTrademark)});
    h.push_batch({{junk}, {real}});
    CHECK(h.pull_json() == Texts{kept(real, "dim_base_trademark", "id,tm_name")});
    CHECK(h.counter("dropped_other_database") == 1);
  }
  SECTION("rule with a database goes before one without") {
    Harness h;
    h.open();
    snapshot(h, {created(kTrademark), created(config_row("gmall_test.base_trademark", "dim_test", "id"))});
    h.push_batch({{junk}, {real}});
    CHECK(h.pull_json() == Texts{kept(junk, "dim_test", "id"), kept(real, "dim_base_trademark", "id,tm_name")});
  }
  SECTION("only a rule with a database") {
    Harness h;
    h.open();
    snapshot(h, {created(config_row("gmall.base_trademark", "dim", "id"))});
    h.push_batch({{junk}, {real}});
    CHECK(h.pull_json() == Texts{kept(real, "dim", "id")});
    CHECK(h.counter("dropped_not_configured") == 1);
  }
  SECTION("two databases in one table are noticed once") {
    Harness h;
    h.open();
    snapshot(h, {created(kTrademark)});
    h.push_batch({{real}, {junk}, {real}, {junk}});
    int warnings = 0;
    for (const auto& line : h.log()) warnings += line.level == SLUICE_LOG_WARNING ? 1 : 0;
    CHECK(warnings == 1);
  }
}

TEST_CASE("keep_types") {
  Harness h("{keep_types: [insert]}");
  h.open();
  snapshot(h, {created(kDic)});
  h.push(change("base_dic", "update", R"({"id":1})"));
  h.push(change("base_dic", "insert", R"({"id":1})"));
  CHECK(h.pull().size() == 1);
  CHECK(h.counter("dropped_type") == 1);

  CHECK_THROWS_WITH(Harness("{keep_types: [delete]}").open(), Catch::Contains("on_delete: apply"));
  CHECK_THROWS_WITH(Harness("{keep_types: [inserts]}").open(), Catch::Contains("`inserts` is not one of"));
}

TEST_CASE("MX-12: deletes are applied as deletes") {
  Harness h("{on_delete: apply}");
  h.open();
  snapshot(h, {created(kTrademark)});
  const std::string insert = change("base_trademark", "insert", R"({"id":13,"tm_name":"x"})");
  h.push_batch({{insert},
                {change("base_trademark", "delete", R"({"id":13,"tm_name":"x"})")},
                {change("order_info", "delete", R"({"id":1})")}});
  const auto rows = h.pull();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].json == kept(insert, "dim_base_trademark", "id,tm_name"));
  CHECK(rows[0].change == SLUICE_CHANGE_NONE);
  CHECK(
      rows[1].json ==
      R"({"database":"gmall","table":"base_trademark","type":"delete","data":{"id":13,"tm_name":"x"},"sink_table":"dim_base_trademark","sink_columns":"id,tm_name","sink_pk":"id"})");
  CHECK(rows[1].change == SLUICE_CHANGE_DELETE);
  CHECK(rows[1].from_row == 1);
  CHECK(h.counter("deletes_applied") == 1);
  CHECK(h.counter("dropped_not_configured") == 1);
}

TEST_CASE("MX-15: an update of the key deletes the old one first") {
  const std::string update = change("base_dic", "update", R"({"id":14,"dic_name":"a","n":2.50})", R"({"id":13})");
  SECTION("apply") {
    Harness h("{on_delete: apply}");
    h.open();
    snapshot(h, {created(kDic)});
    h.push(update);
    const auto rows = h.pull();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].change == SLUICE_CHANGE_DELETE);
    CHECK(
        rows[0].json ==
        R"({"database":"gmall","table":"base_dic","type":"delete","data":{"id":13,"dic_name":"a","n":2.50},"sink_table":"dim_base_dic","sink_columns":"id,dic_name","sink_pk":"id"})");
    CHECK(rows[1].json == kept(update, "dim_base_dic", "id,dic_name"));
    CHECK(h.counter("primary_key_changes") == 1);
  }
  SECTION("ignore counts it") {
    Harness h;
    h.open();
    snapshot(h, {created(kDic)});
    h.push(update);
    h.push(change("base_dic", "update", R"({"id":14,"dic_name":"b"})", R"({"dic_name":"a"})"));
    CHECK(h.pull().size() == 2);
    CHECK(h.counter("primary_key_changes") == 1);
    h.push(update);
    CHECK(h.counter("primary_key_changes") == 2);
    std::vector<std::string> warnings;
    for (const auto& line : h.log())
      if (line.level == SLUICE_LOG_WARNING) warnings.push_back(line.text);
    CHECK(warnings == std::vector<std::string>{
                          "an update of `base_dic` changed its key `id`: the row of the old key stays in `dim_base_dic`, "
                          "because deletes are ignored; with on_delete: apply it is deleted"});
  }
  SECTION("of a composite key the other part stays; names in another case are the same columns") {
    Harness h("{on_delete: apply}");
    h.open();
    snapshot(h, {created(config_row("t", "dim_t", "a,b,v", R"("a,b")"))});
    h.push(change("t", "update", R"({"A":2,"b":5,"v":1})", R"({"A":1})"));
    const auto rows = h.pull();
    REQUIRE(rows.size() == 2);
    CHECK_THAT(rows[0].json, Catch::Contains(R"("data":{"A":1,"b":5,"v":1})"));
  }
}

TEST_CASE("BC-02: what is known already changes nothing") {
  Harness h;
  h.open();
  snapshot(h, {created(kTrademark)});
  CHECK(h.schemas().size() == 1);
  const std::string record = change("base_trademark", "insert", R"({"id":1,"tm_name":"a"})");
  for (int i = 0; i < 500; ++i) {
    h.push_broadcast(i % 2 == 0 ? created(kTrademark) : updated(kTrademark, kTrademark));
    h.push(record);
  }
  CHECK(h.schemas().size() == 1);
  CHECK(h.state_size("config") == 1);
  CHECK(h.pull().size() == 500);
  CHECK(h.counter("rules_unchanged") == 500);
  CHECK(h.counter("rules_added") == 1);
}

TEST_CASE("BC-03: a deleted rule is gone, and its table is not touched") {
  Harness h;
  h.open();
  h.push_broadcast(created(kDic));
  h.push(change("base_dic", "insert", R"({"id":1})"));
  h.push_broadcast(deleted(kDic));
  h.push_broadcast(deleted(kDic));  // again
  h.push(change("base_dic", "insert", R"({"id":2})"));
  CHECK(h.pull().size() == 1);
  CHECK(h.counter("dropped_not_configured") == 1);
  CHECK(h.counter("rules_removed") == 1);
  CHECK(h.state_size("config") == 0);
  CHECK(h.schemas().size() == 1);
  bool said = false;
  for (const auto& line : h.log()) said = said || line.text.find("rule base_dic removed") != std::string::npos;
  CHECK(said);
}

TEST_CASE("BC-04: a changed rule is announced before the rows that need it") {
  Harness h;
  h.open();
  const std::string one = config_row("user_info", "dim_user_info", "id,login_name"),
                    two = config_row("user_info", "dim_user_info", "id,login_name,email"),
                    three = config_row("user_info", "dim_user_info", "id,email");
  const std::string row = change("user_info", "insert", R"({"id":1,"login_name":"a","email":"a@example.org"})");
  h.push_broadcast(created(one));
  h.push(row);
  h.push_broadcast(updated(one, two));
  h.push(row);
  h.push_broadcast(updated(two, three));
  h.push(row);
  CHECK(h.pull_json() == Texts{kept(row, "dim_user_info", "id,login_name"),
                               kept(row, "dim_user_info", "id,login_name,email"),
                               kept(row, "dim_user_info", "id,email")});
  REQUIRE(h.schemas().size() == 3);
  CHECK(h.schemas()[1].columns == Texts{"id", "login_name", "email"});
  CHECK(h.schemas()[1].rows_before == 1);
  CHECK(h.schemas()[2].rows_before == 2);
  CHECK(h.counter("rules_changed") == 2);
}

TEST_CASE("an update that renames the source table removes the old rule") {
  Harness h;
  h.open();
  h.push_broadcast(created(kDic));
  h.push_broadcast(updated(kDic, config_row("base_dic2", "dim_base_dic", "id,dic_name")));
  h.push(change("base_dic", "insert", R"({"id":1})"));
  h.push(change("base_dic2", "insert", R"({"id":2})"));
  CHECK(h.pull().size() == 1);
  CHECK(h.state_size("config") == 1);
}

TEST_CASE("BC-07, BC-08: rows that cannot be used, each with its reason") {
  CHECK_THAT(rejection_of(created(config_row("product", "dim_product", "product_id,product_title", "null"))),
             Catch::Contains("sink_pk is empty and its default `id` is not in sink_columns"));
  CHECK_THAT(
      rejection_of(created(config_row("pub", "dim_pub", "pub_id,pub_name", R"("null")", R"("null")"))),
      Catch::Contains("`pub`") && Catch::Contains("sink_pk is empty and its default `id` is not in sink_columns"));
  CHECK_THAT(rejection_of(created(config_row("region", "dim_region", "null", "null"))),
             Catch::Contains("no sink_columns"));
  CHECK_THAT(rejection_of(created(config_row("product", "dim_product", " , ", "null"))),
             Catch::Contains("no sink_columns"));
  CHECK_THAT(rejection_of(created(config_row("base_dic", "null", "id,dic_name"))), Catch::Contains("no sink_table"));
  CHECK_THAT(rejection_of(created(config_row("base_dic", "dim", "name", R"("id")"))),
             Catch::Contains("key column `id` of sink_pk is not in sink_columns"));
  CHECK_THAT(rejection_of(created(config_row("t", "dim;drop table x", "id"))), Catch::Contains("contains `;`"));
  CHECK_THAT(rejection_of(created(config_row("t", "a.b.c", "id"))), Catch::Contains("contains `.`"));
  CHECK_THAT(rejection_of(created(config_row("t", "dim", R"(id,na\"me)"))), Catch::Contains("contains `\"`"));
  CHECK_THAT(rejection_of(created(config_row("t", "dim", R"(id,a\u0000b)"))), Catch::Contains("contains `\\x00`"));
  CHECK_THAT(rejection_of(created(config_row("t", "dim", "id,sink_table"))),
             Catch::Contains("rows carry a field of that name"));
  CHECK_THAT(rejection_of(created(config_row("t", "dim", "id", R"("id")", R"("X = 1; drop table y")"))),
             Catch::Contains("sink_extend contains `;`"));
  CHECK_THAT(rejection_of(created(config_row(" ", "dim", "id"))), Catch::Contains("no source_table"));
  CHECK_THAT(rejection_of(created(R"({"source_table":"t","sink_table":5})")),
             Catch::Contains("field `sink_table` is a number, not text"));
  CHECK_THAT(rejection_of(R"({"before":null,"after":null,"op":"u"})"), Catch::Contains("`after` is null"));
  CHECK_THAT(rejection_of(R"({"before":null,"after":{},"op":"x"})"), Catch::Contains("`op` is `x`"));
  CHECK_THAT(rejection_of(R"({"before":null,"after":null,"op":"d"})"), Catch::Contains("a delete without `before`"));
  CHECK_THAT(rejection_of(R"({"hello":1})"), Catch::Contains("neither a change in the Debezium shape"));
}

TEST_CASE("a bad row leaves the rule that is in force and the others alone") {
  Harness h;
  h.open();
  snapshot(h, {created(kDic), created(config_row("region", "dim_region", "null")),
               created(config_row("sku_info", "dim_sku_info", "id,sku_name", R"("")", R"("")"))});
  h.push_broadcast(updated(kDic, config_row("base_dic", "dim_base_dic", "")));
  const std::string row = change("base_dic", "insert", R"({"id":1})");
  h.push(row);
  CHECK(h.pull_json() == Texts{kept(row, "dim_base_dic", "id,dic_name")});
  CHECK(h.counter("rules_invalid") == 2);
  REQUIRE(h.schemas().size() == 2);
  CHECK(h.schemas()[1].key == Texts{"id"});
  CHECK(h.schemas()[1].extend.empty());
}

TEST_CASE("BC-10: composite keys and table options; lists are trimmed and without repetitions") {
  Harness h;
  h.open();
  h.push_broadcast(created(config_row("sku_sale_attr", "ods.dim_sku_sale_attr", " sku_id , attr_id,attr_value,sku_id,",
                                      R"("sku_id, attr_id")", R"(" SALT_BUCKETS = 4 ")")));
  REQUIRE(h.schemas().size() == 1);
  CHECK(h.schemas()[0].table == "ods.dim_sku_sale_attr");
  CHECK(h.schemas()[0].columns == Texts{"sku_id", "attr_id", "attr_value"});
  CHECK(h.schemas()[0].key == Texts{"sku_id", "attr_id"});
  CHECK(h.schemas()[0].extend == "SALT_BUCKETS = 4");
  const std::string row = change("sku_sale_attr", "insert", R"({"sku_id":1,"attr_id":1,"attr_value":"red"})");
  h.push(row);
  CHECK(h.pull_json() == Texts{kept(row, "ods.dim_sku_sale_attr", "sku_id,attr_id,attr_value", "sku_id,attr_id")});
}

TEST_CASE("configuration rows in every shape") {
  Harness h;
  h.open();
  SECTION("plain") {
    h.push_broadcast(kDic);
    CHECK(h.state_size("config") == 1);
    h.push_broadcast(kDic, {std::nullopt, SLUICE_NO_TIME, SLUICE_CHANGE_DELETE});
    CHECK(h.state_size("config") == 0);
  }
  SECTION("Debezium with schema") {
    h.push_broadcast(R"({"schema":{"type":"struct"},"payload":)" + created(kDic) + "}");
    CHECK(h.state_size("config") == 1);
    h.push_broadcast(R"({"schema":{"type":"struct"},"payload":)" + deleted(kDic) + "}");
    CHECK(h.state_size("config") == 0);
  }
  SECTION("a delete names the key alone") {
    h.push_broadcast(created(kDic));
    h.push_broadcast(R"({"before":{"source_table":"base_dic"},"after":null,"op":"d"})");
    CHECK(h.state_size("config") == 0);
  }
  SECTION("truncate") {
    h.push_broadcast(created(kDic));
    h.push_broadcast(created(kTrademark));
    h.push_broadcast(R"({"before":null,"after":null,"op":"t"})");
    CHECK(h.state_size("config") == 0);
    CHECK(h.counter("rules_removed") == 2);
  }
  SECTION("a truncate removes what came from that table alone, also after a restart") {
    const auto from = [](const std::string& op, const std::string& row, const std::string& table) {
      return R"({"before":null,"after":)" + row + R"(,"source":{"db":"cfg","table":")" + table + R"("},"op":")" + op +
             "\"}";
    };
    h.push_broadcast(from("c", kDic, "table_process"));
    h.push_broadcast(from("c", kTrademark, "more_process"));
    h.checkpoint();
    h.crash();
    h.restore();
    h.push_broadcast(from("t", "null", "orders"));
    h.push_broadcast(R"({"before":null,"after":null,"source":{"db":"shop","table":"table_process"},"op":"t"})");
    h.push_broadcast(R"({"before":null,"after":null,"op":"t"})");
    CHECK(h.state_size("config") == 2);
    CHECK(h.counter("rules_removed") == 0);
    CHECK(h.counter("truncates_ignored") == 3);
    h.push_broadcast(from("t", "null", "table_process"));
    CHECK(h.state_size("config") == 1);
    CHECK(h.counter("rules_removed") == 1);
    // The same rule out of another table belongs to that one.
    h.push_broadcast(from("u", kTrademark, "table_process"));
    CHECK(h.counter("rules_unchanged") == 1);
    h.push_broadcast(from("t", "null", "more_process"));
    CHECK(h.state_size("config") == 1);
    h.push_broadcast(from("t", "null", "table_process"));
    CHECK(h.state_size("config") == 0);
  }
  SECTION("the position of the change is in the announcement") {
    h.push_broadcast(R"({"before":null,"after":)" + kDic +
                     R"(,"source":{"file":"mysql-bin.000003","pos":1547},"op":"c"})");
    REQUIRE(h.schemas().size() == 1);
    CHECK(h.schemas()[0].origin == "configuration of `base_dic` at mysql-bin.000003:1547");
  }
  SECTION("a tombstone is no change") {
    h.push_broadcast(created(kDic));
    h.push_broadcast_tombstone();
    CHECK(h.tombstones_dropped() == 1);
    CHECK(h.state_size("config") == 1);
  }
}

TEST_CASE("lanes other than the first keep quiet about the configuration") {
  Harness h;
  h.set_lane(1, 2);
  h.open();
  snapshot(h, {created(kDic), created(config_row("x", "dim", ""))});
  CHECK(h.rejected().empty());
  CHECK(h.counters().empty());
  CHECK(h.schemas().size() == 1);
  CHECK(h.state_size("config") == 1);
}

TEST_CASE("tables are announced once the snapshot is complete, and a new snapshot replaces the old rules at its end") {
  Harness h;
  h.open();
  h.marker(SLUICE_SNAPSHOT_BEGIN);
  h.push_broadcast(created(kTrademark));
  h.push_broadcast(created(kDic));
  CHECK(h.schemas().empty());
  h.marker(SLUICE_SNAPSHOT_END);
  CHECK(h.schemas().size() == 2);
  CHECK(h.schemas()[0].table == "dim_base_dic");
  CHECK(h.counter("rules_added") == 2);

  const std::string row = change("base_dic", "insert", R"({"id":1})");
  h.marker(SLUICE_SNAPSHOT_BEGIN);
  h.push(row);  // the old rules hold until the end
  h.push_broadcast(created(kTrademark));
  h.marker(SLUICE_SNAPSHOT_BEGIN);  // it was cut off and starts anew
  h.push_broadcast(created(config_row("base_trademark", "dim_base_trademark", "id")));
  h.push(row);
  CHECK(h.pull().size() == 2);
  h.marker(SLUICE_SNAPSHOT_END);
  h.push(row);
  CHECK(h.pull().empty());
  CHECK(h.state_size("config") == 1);
  CHECK(h.counter("rules_changed") == 1);
  CHECK(h.counter("rules_removed") == 1);
}

TEST_CASE("after a crash the rules are there again and are announced before the first row") {
  Harness h;
  h.open();
  snapshot(h, {created(kTrademark), created(kDic)});
  h.push_broadcast(deleted(kTrademark));
  h.checkpoint();
  h.push_broadcast(created(config_row("late", "dim_late", "id")));
  const size_t announced = h.schemas().size();
  h.crash();
  h.restore();
  const std::string row = change("base_dic", "insert", R"({"id":1})");
  h.push_batch({{row}, {change("late", "insert", R"({"id":1})")}, {change("base_trademark", "insert", R"({"id":1})")}});
  CHECK(h.pull_json() == Texts{kept(row, "dim_base_dic", "id,dic_name")});
  REQUIRE(h.schemas().size() == announced + 1);
  CHECK(h.schemas().back().table == "dim_base_dic");
  CHECK(h.schemas().back().rows_before == 0);
  h.push(row);
  CHECK(h.schemas().size() == announced + 1);
}

TEST_CASE("a crash in the middle of a snapshot: it starts anew, rules that went in between are gone") {
  Harness h;
  h.open();
  snapshot(h, {created(kTrademark), created(kDic)});
  h.marker(SLUICE_SNAPSHOT_BEGIN);
  h.push_broadcast(created(config_row("half", "dim_half", "id")));
  h.checkpoint();
  h.crash();
  h.restore();
  const std::string row = change("base_dic", "insert", R"({"id":1})");
  h.push(row);
  CHECK(h.pull_json() == Texts{kept(row, "dim_base_dic", "id,dic_name")});
  snapshot(h, {created(kTrademark)});
  h.push_batch({{row}, {change("half", "insert", R"({"id":1})")}});
  CHECK(h.pull().empty());
  CHECK(h.state_size("config") == 1);
}

TEST_CASE("identifiers") {
  using sluice::broadcast_filter::unsafe_identifier;
  using sluice::broadcast_filter::unsafe_table_name;
  using sluice::broadcast_filter::unsafe_table_options;
  for (const char* name : {"id", "_x", "a$1", "7", "名称", "größe", "имя", "ｆｕｌｌ", "表_1"})
    CHECK(unsafe_identifier(name) == "");
  for (const char* name : {"", "a b", "a-b", "a.b", "a'b", "a\"b", "a`b", "a\\b", "a;b", "a\nb", "a(b", "a，b", "a；b",
                           "“a”", "a\u00a0b", "a\u200bb", "😀"})
    CHECK(unsafe_identifier(name) != "");
  CHECK(unsafe_identifier("\xff\xfe") == "is not valid UTF-8");
  CHECK(unsafe_identifier("a\xc0\xaf") == "is not valid UTF-8");     // overlong
  CHECK(unsafe_identifier("\xed\xa0\x80") == "is not valid UTF-8");  // surrogate
  CHECK(unsafe_identifier(std::string(128, 'a')) == "");
  CHECK(unsafe_identifier(std::string(129, 'a')) == "is longer than 128 bytes");
  CHECK(unsafe_table_name("ods.dim_x") == "");
  CHECK(unsafe_table_name("ods.") != "");
  CHECK(unsafe_table_name(".x") != "");
  CHECK(unsafe_table_options("DATA_BLOCK_ENCODING='FAST_DIFF', SALT_BUCKETS = 4") == "");
  CHECK(unsafe_table_options("X='a--b'") == "");
  for (const char* text : {"a;b", "a -- b", "/* a", "X='", "a\\b", "a\nb"}) CHECK(unsafe_table_options(text) != "");
}

TEST_CASE("the stored form of a rule") {
  using sluice::broadcast_filter::ConfigRow;
  const ConfigRow row{"base_dic", "dim", std::nullopt, "", std::string("a\0b", 3), "cfg.table_process"};
  std::string bytes;
  sluice::Codec<ConfigRow>::write(row, &bytes);
  ConfigRow read;
  REQUIRE(sluice::Codec<ConfigRow>::read(bytes, &read));
  CHECK(read.same_rule(row));
  CHECK(read.from == row.from);
  for (size_t n = 0; n < bytes.size(); ++n) CHECK_FALSE(sluice::Codec<ConfigRow>::read(bytes.substr(0, n), &read));
  CHECK_FALSE(sluice::Codec<ConfigRow>::read(bytes + "x", &read));
  // As earlier versions wrote it.
  std::string old = bytes.substr(0, bytes.size() - 1 - 4 - row.from->size());
  old[0] = 1;
  REQUIRE(sluice::Codec<ConfigRow>::read(old, &read));
  CHECK(read.same_rule(row));
  CHECK_FALSE(read.from);
}
