// Records in the two shapes, from captured rows.
#include <algorithm>

#include "captured.h"
#include "event_builder.h"
#include "expected_file.h"

using namespace sluice_mysql;

namespace {

ChangePlace place_of(const Event& e, uint32_t row) {
  ChangePlace place;
  place.file = "binlog.000001";
  place.position = e.begin;
  place.row = row;
  place.gtid = "0-101-7";
  place.server_id = 101;
  place.event_ms = 1700000000000;
  place.now_ms = 1700000000123;
  return place;
}

// All records of `tables` in a captured file, a line for each key and each body.
std::string records(const std::string& file, const std::string& rows_file, ValueStyle style, const std::vector<std::string>& tables) {
  const std::map<std::string, captured::SelectedTable> selected = captured::selected(rows_file);
  EventParser parser;
  parser.set_position("binlog.000001", 4);
  ChangeWriter writer(style, "shop");
  std::string all;
  uint64_t xoffset = 0;
  for (const std::string& bytes : captured::events_of(file)) {
    Event e;
    REQUIRE(captured::parse(&parser, bytes, &e).is_ok());
    if (e.kind != EventKind::kRows || std::find(tables.begin(), tables.end(), e.table->table) == tables.end()) continue;
    TableCodec codec;
    REQUIRE(TableCodec::for_stream(*e.table, &selected.at(e.table->table).table, captured::collations(), style, &codec).is_ok());
    RowReader reader;
    REQUIRE(reader.open(e.rows).is_ok());
    for (bool found = false;;) {
      REQUIRE(reader.next(&found).is_ok());
      if (!found) break;
      REQUIRE(writer.row(codec, reader, place_of(e, reader.index())).is_ok());
      for (size_t i = 0; i < writer.size(); ++i) {
        writer.end_maxwell(&writer[i].body, 99, xoffset++, false);
        all += (writer[i].key.empty() ? "(no key)" : writer[i].key) + "\n" + writer[i].body + "\n";
      }
    }
  }
  return all;
}

// Rows of pair(id int primary key, name varchar(10)), written by hand.
struct Pair {
  Table table;
  TableCodec codec;
  std::vector<std::pair<bool, std::string>> fields;

  explicit Pair(ValueStyle style) {
    table.database = "shop";
    table.name = "pair";
    table.columns.resize(2);
    REQUIRE(make_column({"id", "int", "int(11)", "", "", "NO", ""}, &table.columns[0]).is_ok());
    REQUIRE(make_column({"name", "varchar", "varchar(10)", "utf8mb4", "", "YES", ""}, &table.columns[1]).is_ok());
    table.primary_key = {0};
    REQUIRE(TableCodec::for_snapshot(table, style, &codec).is_ok());
  }
};

std::vector<Cell> cells(const std::vector<std::string>& texts) {
  std::vector<Cell> out;
  for (const std::string& t : texts) out.push_back({reinterpret_cast<const uint8_t*>(t.data()), static_cast<uint32_t>(t.size())});
  return out;
}

const ValueStyle kDebezium{Format::kDebezium, Decimals::kText}, kMaxwell{Format::kMaxwell, Decimals::kText};

}  // namespace

TEST_CASE("MariaDB's rows as Debezium records") {
  captured::check_expected("mariadb.debezium.jsonl",
                           records("mariadb.types.binlog.gz", "mariadb.types.rows", {Format::kDebezium, Decimals::kBase64},
                                   {"t_types", "t_maria", "t_pair", "t_nokey", "t_gen", "t_order"}));
}

TEST_CASE("MySQL's rows as Maxwell records") {
  captured::check_expected("mysql-8.0.31.maxwell.jsonl",
                           records("mysql-8.0.31.types.binlog.gz", "mysql-8.0.31.types.rows.gz", {Format::kMaxwell, Decimals::kNumber},
                                   {"t_types", "t_json", "t_pair", "t_nokey", "t_geo", "t_gen", "t_order"}));
}

TEST_CASE("Debezium: all fields of a record, for each operation") {
  const Pair pair(kDebezium);
  ChangeWriter writer(kDebezium, "my \"shop\"");
  Event e;
  e.begin = 1234;
  const std::vector<std::string> one{"1", "a"}, other{"1", "b"}, moved{"2", "b"};
  const std::string source =
      R"("source":{"connector":"mysql","name":"my \"shop\"","ts_ms":1700000000000,"snapshot":"false","db":"shop","table":"pair","server_id":101,"gtid":"0-101-7","file":"binlog.000001","pos":1234,"row":5})";
  REQUIRE(writer.insert(pair.codec, cells(one).data(), place_of(e, 5)).is_ok());
  REQUIRE(writer.size() == 1);
  CHECK(writer[0].type == SLUICE_CHANGE_INSERT);
  CHECK(writer[0].key == R"({"id":1})");
  CHECK(writer[0].body == R"({"before":null,"after":{"id":1,"name":"a"},)" + source + R"(,"op":"c","ts_ms":1700000000123})");
  REQUIRE(writer.update(pair.codec, cells(one).data(), cells(other).data(), place_of(e, 5)).is_ok());
  REQUIRE(writer.size() == 1);
  CHECK(writer[0].type == SLUICE_CHANGE_UPDATE);
  CHECK(writer[0].body ==
        R"({"before":{"id":1,"name":"a"},"after":{"id":1,"name":"b"},)" + source + R"(,"op":"u","ts_ms":1700000000123})");
  REQUIRE(writer.remove(pair.codec, cells(one).data(), place_of(e, 5)).is_ok());
  CHECK(writer[0].type == SLUICE_CHANGE_DELETE);
  CHECK(writer[0].key == R"({"id":1})");
  CHECK(writer[0].body == R"({"before":{"id":1,"name":"a"},"after":null,)" + source + R"(,"op":"d","ts_ms":1700000000123})");

  // A key that changes: the old row goes, a new one comes.
  REQUIRE(writer.update(pair.codec, cells(one).data(), cells(moved).data(), place_of(e, 5)).is_ok());
  REQUIRE(writer.size() == 2);
  CHECK(writer[0].type == SLUICE_CHANGE_DELETE);
  CHECK(writer[0].key == R"({"id":1})");
  CHECK(writer[0].body == R"({"before":{"id":1,"name":"a"},"after":null,)" + source + R"(,"op":"d","ts_ms":1700000000123})");
  CHECK(writer[1].type == SLUICE_CHANGE_INSERT);
  CHECK(writer[1].key == R"({"id":2})");
  CHECK(writer[1].body == R"({"before":null,"after":{"id":2,"name":"b"},)" + source + R"(,"op":"c","ts_ms":1700000000123})");

  ChangePlace place = place_of(e, 0);
  place.gtid = {};
  REQUIRE(writer.snapshot_row(pair.codec, cells(one).data(), place).is_ok());
  CHECK(writer[0].type == SLUICE_CHANGE_SNAPSHOT);
  CHECK(writer[0].body ==
        R"({"before":null,"after":{"id":1,"name":"a"},"source":{"connector":"mysql","name":"my \"shop\"","ts_ms":1700000000000,"snapshot":"true","db":"shop","table":"pair","server_id":101,"gtid":null,"file":"binlog.000001","pos":1234,"row":0},"op":"r","ts_ms":1700000000123})");
  writer.truncate("shop", "pair", place_of(e, 5));
  REQUIRE(writer.size() == 1);
  CHECK(writer[0].body == R"({"before":null,"after":null,)" + source + R"(,"op":"t","ts_ms":1700000000123})");
  CHECK(writer[0].key.empty());
  // What Debezium does not have.
  writer.bootstrap_start("shop", "pair", place);
  CHECK(writer.size() == 0);
  writer.maxwell_ddl("table-drop", "shop", "pair", "drop table pair", nullptr, nullptr, place);
  CHECK(writer.size() == 0);
  std::string body = "x";
  writer.end_maxwell(&body, 1, 2, true);
  CHECK(body == "x");
}

TEST_CASE("Maxwell: all fields of a record, for each type") {
  const Pair pair(kMaxwell);
  ChangeWriter writer(kMaxwell, "ignored");
  Event e;
  e.begin = 1234;
  const ChangePlace place = place_of(e, 5);
  const std::vector<std::string> one{"1", "a"}, other{"2", "a"};
  const std::string head = R"({"database":"shop","table":"pair","type":)";
  REQUIRE(writer.insert(pair.codec, cells(one).data(), place).is_ok());
  CHECK(writer[0].key == R"({"database":"shop","table":"pair","pk.id":1})");
  writer.end_maxwell(&writer[0].body, 42, 0, false);
  CHECK(writer[0].body == head + R"("insert","ts":1700000000,"data":{"id":1,"name":"a"},"xid":42,"xoffset":0})");
  REQUIRE(writer.update(pair.codec, cells(one).data(), cells(other).data(), place).is_ok());
  REQUIRE(writer.size() == 1);
  writer.end_maxwell(&writer[0].body, 42, 1, true);
  CHECK(writer[0].body == head + R"("update","ts":1700000000,"data":{"id":2,"name":"a"},"old":{"id":1},"xid":42,"commit":true})");
  std::vector<Cell> null = cells(one);
  null[1] = Cell();
  REQUIRE(writer.update(pair.codec, null.data(), cells(one).data(), place).is_ok());
  CHECK(writer[0].body == head + R"("update","ts":1700000000,"data":{"id":1,"name":"a"},"old":{"name":null})");
  REQUIRE(writer.remove(pair.codec, cells(one).data(), place).is_ok());
  CHECK(writer[0].body == head + R"("delete","ts":1700000000,"data":{"id":1,"name":"a"})");
  REQUIRE(writer.snapshot_row(pair.codec, cells(one).data(), place).is_ok());
  CHECK(writer[0].type == SLUICE_CHANGE_SNAPSHOT);
  CHECK(writer[0].body == head + R"("bootstrap-insert","ts":1700000000,"data":{"id":1,"name":"a"}})");
  writer.bootstrap_start("shop", "pair", place);
  CHECK(writer[0].body == head + R"("bootstrap-start","ts":1700000000,"data":{}})");
  writer.bootstrap_complete("shop", "pair", place);
  CHECK(writer[0].body == head + R"("bootstrap-complete","ts":1700000000,"data":{}})");
  writer.truncate("shop", "pair", place);
  CHECK(writer.size() == 0);
  Table before = pair.table;
  before.columns.pop_back();
  writer.maxwell_ddl("table-alter", "shop", "pair", "alter table pair add name varchar(10)", &before, &pair.table, place);
  REQUIRE(writer.size() == 1);
  CHECK(writer[0].body ==
        R"j({"type":"table-alter","database":"shop","table":"pair","old":{"database":"shop","table":"pair","columns":[{"type":"int","name":"id","signed":true}],"primary-key":["id"]},"def":{"database":"shop","table":"pair","columns":[{"type":"int","name":"id","signed":true},{"type":"varchar","name":"name","charset":"utf8mb4"}],"primary-key":["id"]},"ts":1700000000000,"sql":"alter table pair add name varchar(10)","position":"binlog.000001:1234","gtid":"0-101-7"})j");
  writer.maxwell_ddl("database-drop", "shop", "", "drop database shop", nullptr, nullptr, place);
  CHECK(writer[0].body ==
        R"({"type":"database-drop","database":"shop","ts":1700000000000,"sql":"drop database shop","position":"binlog.000001:1234","gtid":"0-101-7"})");
}

TEST_CASE("a field that is no value of its column is refused, and the writer goes on") {
  const Pair pair(kDebezium);
  ChangeWriter writer(kDebezium, "shop");
  Event e;
  const sluice::Status status = writer.insert(pair.codec, cells({"one", "a"}).data(), place_of(e, 0));
  CHECK(status.code() == SLUICE_BAD_RECORD);
  CHECK(status.message() == "column 'id' of shop.pair: its bytes are no number");
  const std::vector<std::string> good{"0001", "a"};
  REQUIRE(writer.insert(pair.codec, cells(good).data(), place_of(e, 0)).is_ok());
  CHECK(writer[0].key == R"({"id":1})");
}
