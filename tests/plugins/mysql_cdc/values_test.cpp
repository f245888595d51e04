// Values at the edges of their types, and bytes that are no values.
#include "captured.h"
#include "decode/decimal_text.h"
#include "decode/json_text.h"
#include "decode/mysql_json.h"
#include "event_builder.h"

using namespace sluice_mysql;

namespace {

const ValueStyle kDebezium{Format::kDebezium, Decimals::kText}, kMaxwell{Format::kMaxwell, Decimals::kNumber};

// One column of an unnamed table map, as `type` and `meta` describe it, with what information_schema says.
struct OneColumn {
  std::string type, meta, column_type, charset;
  bool nullable = true;
};

struct Decoded {
  sluice::Status status;
  std::string json;
};

// The JSON of one row that has `image` as its only value; `null`: that is not there.
Decoded decode(const OneColumn& one, const std::string& image, ValueStyle style = kDebezium, bool null = false) {
  EventParser parser(true);
  parser.set_position("binlog.000001", 4);
  Event e;
  const std::string nullable(1, one.nullable ? '\1' : '\0');
  REQUIRE(captured::parse(&parser, built::format_description(), &e).is_ok());
  REQUIRE(captured::parse(&parser, built::table_map({one.type, one.meta, nullable, "", 0}), &e).is_ok());
  Table table;
  table.database = "db";
  table.name = "t";
  Column column;
  const std::string data_type = one.column_type.substr(0, one.column_type.find_first_of("( "));
  REQUIRE(make_column({"v", data_type, one.column_type, one.charset, "", one.nullable ? "YES" : "NO", ""}, &column).is_ok());
  table.columns.push_back(column);
  TableCodec codec;
  const std::shared_ptr<const TableMap> map = e.table;
  sluice::Status status = TableCodec::for_stream(*map, &table, Collations(), style, &codec);
  if (!status.is_ok()) return {status, ""};
  const std::string rows = built::rows(30, 1, std::string(1, null ? '\1' : '\0') + image);
  REQUIRE(captured::parse(&parser, rows, &e).is_ok());
  RowReader reader;
  status = reader.open(e.rows);
  bool found = false;
  if (status.is_ok()) status = reader.next(&found);
  if (!status.is_ok()) return {status, ""};
  REQUIRE(found);
  std::string json;
  status = codec.append_cell(0, reader.after()[0], &json);
  return {status, json};
}

std::string json_of(const OneColumn& one, const std::string& image, ValueStyle style = kDebezium) {
  const Decoded d = decode(one, image, style);
  INFO(d.status.message());
  CHECK(d.status.is_ok());
  return d.json;
}

std::string failure_of(const OneColumn& one, const std::string& image, ValueStyle style = kDebezium) {
  const Decoded d = decode(one, image, style);
  CHECK(!d.status.is_ok());
  return d.status.message();
}

std::string bytes(std::initializer_list<int> list) {
  std::string s;
  for (const int b : list) s += static_cast<char>(b);
  return s;
}

}  // namespace

TEST_CASE("integers: signs and sizes") {
  CHECK(json_of({"\x01", "", "tinyint(4)", ""}, "\x80") == "-128");
  CHECK(json_of({"\x01", "", "tinyint(3) unsigned", ""}, "\x80") == "128");
  CHECK(json_of({"\x09", "", "mediumint(9)", ""}, bytes({0, 0, 0x80})) == "-8388608");
  CHECK(json_of({"\x09", "", "mediumint unsigned", ""}, bytes({0xFF, 0xFF, 0xFF})) == "16777215");
  CHECK(json_of({"\x08", "", "bigint", ""}, built::le(1ull << 63, 8)) == "-9223372036854775808");
  CHECK(json_of({"\x08", "", "bigint unsigned", ""}, std::string(8, '\xFF')) == "18446744073709551615");
  CHECK(json_of({"\x08", "", "bigint unsigned", ""}, std::string(8, '\xFF'), kMaxwell) == "18446744073709551615");
}

TEST_CASE("DECIMAL(65,30)") {
  const OneColumn d{"\xF6", "\x41\x1E", "decimal(65,30)", ""};
  // 35 digits before the point: 8 (4 bytes) + 3 x 9; 30 behind: 3 x 9 + 3 (2 bytes).
  std::string nines = built::be(0x80000000u | 99999999, 4);
  for (int i = 0; i < 6; ++i) nines += built::be(999999999, 4);
  nines += built::be(999, 2);
  const std::string digits = std::string(35, '9') + "." + std::string(30, '9');
  CHECK(json_of(d, nines) == "\"" + digits + "\"");
  CHECK(json_of(d, nines, kMaxwell) == digits);
  std::string negative = nines;
  for (char& c : negative) c = static_cast<char>(~c);
  CHECK(json_of(d, negative) == "\"-" + digits + "\"");
  // 10^65 - 1, two's complement.
  CHECK(json_of(d, nines, {Format::kDebezium, Decimals::kBase64}) == "\"APMWJxx/w5CKi+9GTjlF73olNgn//////////w==\"");
  std::string ten_digits = nines;
  ten_digits.replace(4, 4, built::be(1000000000, 4));
  CHECK(failure_of(d, ten_digits) == "column 'v' of db.t: its bytes are no decimal number");
  CHECK(failure_of({"\xF6", "\x42\x01", "decimal(65,1)", ""}, nines) ==
        "column 1 of db.t has type 246, which is not supported");
  CHECK(failure_of({"\xF6", "\x02\x05", "decimal(5,5)", ""}, nines) == "column 1 of db.t has type 246, which is not supported");
}

TEST_CASE("unscaled bytes of decimals") {
  const auto hex = [](const char* text) {
    uint8_t out[40];
    const size_t n = unscaled_bytes(text, out);
    std::string s;
    for (size_t i = 0; i < n; ++i) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", out[i]);
      s += two;
    }
    return s;
  };
  CHECK(hex("0") == "00");
  CHECK(hex("1") == "01");
  CHECK(hex("-1") == "ff");
  CHECK(hex("1.27") == "7f");
  CHECK(hex("1.28") == "0080");
  CHECK(hex("-1.28") == "80");
  CHECK(hex("-1.29") == "ff7f");
  CHECK(hex("256") == "0100");
  CHECK(hex("-256") == "ff00");
}

TEST_CASE("times to their limits") {
  const OneColumn t6{"\x13", "\x06", "time(6)", ""};
  const uint64_t clock = 838ull << 12 | 59 << 6 | 59;
  const uint64_t most = (0x800000ull << 24) + (clock << 24 | 999999), least = (0x800000ull << 24) - (clock << 24 | 999999);
  CHECK(json_of(t6, built::be(most, 6), kMaxwell) == "\"838:59:59.999999\"");
  CHECK(json_of(t6, built::be(least, 6), kMaxwell) == "\"-838:59:59.999999\"");
  CHECK(json_of(t6, built::be(least, 6)) == "-3020399999999");
  CHECK(json_of(t6, built::be((0x800000ull << 24) - 1, 6), kMaxwell) == "\"-00:00:00.000001\"");
  CHECK(failure_of(t6, std::string(6, '\xFF')) == "column 'v' of db.t: its bytes are no time");
  CHECK(failure_of(t6, std::string(6, '\0')) == "column 'v' of db.t: its bytes are no time");
  const OneColumn t2{"\x13", "\x02", "time(2)", ""};
  CHECK(json_of(t2, built::be((0x800000ull << 8) - 1, 4), kMaxwell) == "\"-00:00:00.01\"");
  CHECK(failure_of(t2, built::be((0x800000ull << 8) + 100, 4)) == "column 'v' of db.t: its bytes are no time");
  CHECK(failure_of({"\x13", "\x07", "time(6)", ""}, "12345678") == "column 1 of db.t has type 19, which is not supported");
}

TEST_CASE("dates, zero dates, and what is none") {
  const OneColumn date{"\x0A", "", "date", ""}, fixed{"\x0A", "", "date", "", false};
  CHECK(json_of(date, built::le(1970 << 9 | 1 << 5 | 1, 3)) == "0");
  CHECK(json_of(date, built::le(1969 << 9 | 12 << 5 | 31, 3)) == "-1");
  CHECK(json_of(date, built::le(9999 << 9 | 12 << 5 | 31, 3)) == "2932896");
  CHECK(json_of(date, built::le(0, 3)) == "null");
  CHECK(json_of(fixed, built::le(0, 3)) == "0");
  CHECK(json_of(date, built::le(2000 << 9, 3)) == "null");
  CHECK(json_of(date, built::le(2000 << 9, 3), kMaxwell) == "\"2000-00-00\"");
  CHECK(failure_of(date, std::string(3, '\xFF')) == "column 'v' of db.t: its bytes are no date");
  const OneColumn dt{"\x12", std::string(1, '\0'), "datetime", ""};
  CHECK(json_of(dt, built::be(0x8000000000, 5), kMaxwell) == "\"0000-00-00 00:00:00\"");
  CHECK(failure_of(dt, std::string(5, '\0')) == "column 'v' of db.t: its bytes are no date and time");
  CHECK(failure_of(dt, std::string(5, '\xFF')) == "column 'v' of db.t: its bytes are no date and time");
  const OneColumn ts{"\x11", "\x03", "timestamp(3)", ""}, ts_fixed{"\x11", "\x03", "timestamp(3)", "", false};
  CHECK(json_of(ts, built::be(0xFFFFFFFF, 4) + built::be(9990, 2)) == "\"2106-02-07T06:28:15.999Z\"");
  CHECK(json_of(ts, std::string(6, '\0')) == "null");
  CHECK(json_of(ts_fixed, std::string(6, '\0')) == "\"1970-01-01T00:00:00Z\"");
  CHECK(json_of(ts, std::string(6, '\0'), kMaxwell) == "\"0000-00-00 00:00:00.000\"");
  CHECK(failure_of(ts, built::be(1, 4) + built::be(10000, 2)) == "column 'v' of db.t: its bytes are no time stamp");
  CHECK(json_of({"\x0D", "", "year(4)", ""}, std::string(1, '\0')) == "0");
  CHECK(json_of({"\x0D", "", "year", ""}, "\xFF") == "2155");
  // What MySQL 5.5 and MariaDB with mysql56_temporal_format=OFF store.
  CHECK(json_of({"\x0C", "", "datetime", ""}, built::le(20240229235958, 8), kMaxwell) == "\"2024-02-29 23:59:58\"");
  CHECK(json_of({"\x0B", "", "time", ""}, built::le(0x1000000 - 8385959, 3), kMaxwell) == "\"-838:59:59\"");
  CHECK(json_of({"\x07", "", "timestamp", ""}, built::le(1, 4), kMaxwell) == "\"1970-01-01 00:00:01\"");
  CHECK(failure_of({"\x0C", "", "datetime(3)", ""}, built::le(0, 8)) ==
        "column 'v' of db.t: it is stored in the old format, whose fraction is not said; rebuild the table with ALTER TABLE .. FORCE");
}

TEST_CASE("ENUM, SET and BIT") {
  const OneColumn e1{"\xFE", "\xF7\x01", "enum('a','it''s \"x\"')", "utf8mb4"};
  CHECK(json_of(e1, std::string(1, '\0')) == "\"\"");
  CHECK(json_of(e1, "\x02") == R"("it's \"x\"")");
  CHECK(failure_of(e1, "\x03") == "column 'v' of db.t: its bytes are an index beyond the labels");
  std::string many = "enum(";
  for (int i = 1; i <= 65535; ++i) many += (i > 1 ? ",'" : "'") + std::to_string(i) + "'";
  const OneColumn e2{"\xFE", "\xF7\x02", many + ")", "utf8mb4"};
  CHECK(json_of(e2, "\xFF\xFF") == "\"65535\"");
  CHECK(json_of(e2, std::string(2, '\0')) == "\"\"");
  std::string set = "set(";
  for (int i = 1; i <= 64; ++i) set += (i > 1 ? ",'" : "'") + std::string("s") + std::to_string(i) + "'";
  const OneColumn s64{"\xFE", "\xF8\x08", set + ")", "utf8mb4"};
  CHECK(json_of(s64, built::le(1ull << 63 | 1, 8)) == "\"s1,s64\"");
  CHECK(json_of(s64, built::le(1ull << 63 | 1, 8), kMaxwell) == R"(["s1","s64"])");
  CHECK(json_of(s64, built::le(0, 8), kMaxwell) == "[]");
  CHECK(failure_of({"\xFE", "\xF8\x01", "set('a','b')", "utf8mb4"}, "\x04") == "column 'v' of db.t: its bytes are a bit beyond the labels");
  CHECK(failure_of({"\xFE", "\xF8\x09", "set('a','b')", "utf8mb4"}, "\x04") == "column 1 of db.t has type 248, which is not supported");
  CHECK(json_of({"\x10", bytes({1, 0}), "bit(1)", ""}, "\x01") == "true");
  CHECK(json_of({"\x10", bytes({2, 1}), "bit(10)", ""}, bytes({2, 1})) == "\"AQI=\"");
  CHECK(json_of({"\x10", bytes({0, 8}), "bit(64)", ""}, std::string(8, '\xFF'), kMaxwell) == "18446744073709551615");
  CHECK(failure_of({"\x10", bytes({1, 8}), "bit(64)", ""}, std::string(9, 'x')) == "column 1 of db.t has type 16, which is not supported");
}

TEST_CASE("floats have the fewest digits that give them back") {
  const OneColumn f{"\x04", "\x04", "float", ""}, d{"\x05", "\x08", "double", ""};
  CHECK(json_of(f, built::le(0x3DCCCCCD, 4)) == "0.1");
  CHECK(json_of(f, built::le(0x4B800001, 4)) == "16777218");
  CHECK(json_of(f, built::le(0x7F800000, 4)) == "null");
  CHECK(json_of(d, built::le(0x3FB999999999999A, 8)) == "0.1");
  CHECK(json_of(d, built::le(0x7FEFFFFFFFFFFFFF, 8)) == "1.7976931348623157e+308");
  CHECK(json_of(d, built::le(0x8000000000000000, 8)) == "-0");
}

TEST_CASE("texts and bytes") {
  CHECK(json_of({"\x0F", bytes({16, 0}), "varchar(4)", "utf8mb4"}, "\x03" "a\"\x01") == R"("a\"\u0001")");
  CHECK(json_of({"\x0F", bytes({16, 0}), "varchar(4)", "utf8mb4"}, "\x05\xC3\xA9\xFF\xC3(") == "\"\xC3\xA9?\?(\"");
  CHECK(json_of({"\x0F", bytes({16, 0}), "varchar(4)", "latin1"}, "\x02\xE9\x80") == "\"\xC3\xA9\xE2\x82\xAC\"");
  CHECK(json_of({"\xFE", "\xFE\x06", "binary(6)", ""}, "\x02" "ab") == "\"YWIAAAAA\"");
  CHECK(json_of({"\x0F", bytes({6, 0}), "varbinary(6)", ""}, "\x02" "ab") == "\"YWI=\"");
  CHECK(failure_of({"\x0F", bytes({16, 0}), "varchar(4)", "klingon"}, "\x01x") ==
        "column 'v' of db.t: character set 'klingon' is not supported; convert the column to utf8mb4");
  CHECK(failure_of({"\x0F", bytes({16, 0}), "varchar(4)", ""}, "\x01x") ==
        "column 'v' of db.t: its character set is not known; set binlog_row_metadata=FULL at the server");
  CHECK(failure_of({"\x0F", bytes({16, 0}), "varchar(4)", "utf8mb4"}, "\x09x") == "row 0 of db.t is cut off");
  CHECK(failure_of({"\xFC", "\x04", "longblob", ""}, bytes({0xFF, 0xFF, 0xFF, 0xFF}) + "x") == "row 0 of db.t is cut off");
  CHECK(failure_of({"\xFC", "\x05", "longblob", ""}, "x") == "column 1 of db.t has type 252, which is not supported");
  CHECK(failure_of({"\xF2", "\x02", "blob", ""}, bytes({1, 0}) + "x").find("column 'v' of db.t: it is blob now, and another type in the binlog") == 0);
  // Compressed columns that lie.
  const OneColumn c{"\x8D", bytes({200, 0}), "varchar(200) /*M!100301 COMPRESSED*/", "utf8mb4"};
  CHECK(json_of(c, std::string(1, '\0')) == "\"\"");
  CHECK(json_of(c, "\x03" + std::string(1, '\0') + "ab") == "\"ab\"");
  CHECK(failure_of(c, "\x07\x84\xFF\xFF\xFF\xFFxy") == "column 'v' of db.t: its bytes are not a compressed value");
  CHECK(failure_of(c, "\x04\x81\x09xy") == "column 'v' of db.t: its bytes are not a compressed value");
  CHECK(failure_of(c, "\x03\x50xy") == "column 'v' of db.t: its bytes are not a compressed value");
  CHECK(decode({"\x03", "", "int", ""}, "", kDebezium, true).json == "null");
}

TEST_CASE("JSON that lies about itself") {
  const auto bad = [](const std::string& s) {
    std::string out;
    return !append_mysql_json(reinterpret_cast<const uint8_t*>(s.data()), s.size(), &out);
  };
  std::string out;
  CHECK(append_mysql_json(nullptr, 0, &out));
  CHECK(out == "null");
  CHECK(bad("\x0D"));
  CHECK(bad(bytes({0, 1, 0})));
  CHECK(bad(bytes({2, 0xFF, 0xFF, 4, 0})));
  CHECK(bad(bytes({0, 1, 0, 11, 0, 200, 0, 1, 0, 4, 0, 0})));      // a key outside
  CHECK(bad(bytes({2, 1, 0, 7, 0, 12, 200, 0})));                  // a text outside
  CHECK(bad(bytes({4, 3})));                                       // no such literal
  CHECK(bad(bytes({12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 'x'})));      // a length without end
  CHECK(bad(bytes({15, 246, 4, 66, 0, 0x80, 0})));                 // no such decimal
  CHECK(bad(bytes({15, 12, 8, 255, 255, 255, 255, 255, 255, 255, 255})));  // no such date
  // An array that holds itself, and one whose members are all one large text: refused before they are written out.
  CHECK(bad(bytes({2, 1, 0, 7, 0, 2, 0, 0})));
  std::string shared = bytes({2, 0x2C, 1}) + built::le(4 + 300 * 3 + 1002, 2);
  for (int i = 0; i < 300; ++i) shared += bytes({12}) + built::le(4 + 300 * 3, 2);
  shared += bytes({0xE8, 7}) + std::string(1000, 'x');
  CHECK(bad(shared));
}

TEST_CASE("NULL bits of 7, 8, 9 and 4096 columns") {
  for (const size_t columns : {size_t{7}, size_t{8}, size_t{9}, size_t{4096}}) {
    EventParser parser(true);
    parser.set_position("binlog.000001", 4);
    Event e;
    std::string names;
    for (size_t i = 0; i < columns; ++i) names += built::packed(std::to_string(i).size()) + std::to_string(i);
    built::TableText t{std::string(columns, '\x01'), "", "", built::field(1, std::string((columns + 7) / 8, '\0')) + built::field(4, names), 0};
    REQUIRE(captured::parse(&parser, built::format_description(), &e).is_ok());
    REQUIRE(captured::parse(&parser, built::table_map(t), &e).is_ok());
    TableCodec codec;
    REQUIRE(TableCodec::for_stream(*e.table, nullptr, Collations(), kDebezium, &codec).is_ok());
    // Every second column is NULL, then the other ones.
    const std::string odd((columns + 7) / 8, '\xAA'), even((columns + 7) / 8, '\x55');
    std::string images = odd + std::string((columns + 1) / 2, '\x05') + even + std::string(columns / 2, '\x06');
    const std::string rows = built::rows(30, columns, images);
    REQUIRE(captured::parse(&parser, rows, &e).is_ok());
    RowReader reader;
    REQUIRE(reader.open(e.rows).is_ok());
    for (size_t row = 0; row < 2; ++row) {
      bool found = false;
      REQUIRE(reader.next(&found).is_ok());
      REQUIRE(found);
      std::string expected = "{", got;
      for (size_t i = 0; i < columns; ++i) {
        expected += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":" + (i % 2 != row ? "null" : row == 0 ? "5" : "6");
      }
      REQUIRE(codec.append_row(reader.after(), &got).is_ok());
      CHECK(got == expected + "}");
    }
    bool found = true;
    REQUIRE(reader.next(&found).is_ok());
    CHECK(!found);
    // Reading may go on at a row.
    RowReader again;
    REQUIRE(again.open(e.rows).is_ok());
    REQUIRE(again.skip(1).is_ok());
    REQUIRE(again.next(&found).is_ok());
    CHECK(again.index() == 1);
    CHECK(again.skip(1).message() == "the event has 0 rows of db.t, fewer than the 1 that were read before: the binlog is another one");
  }
}

TEST_CASE("tables that do not fit their maps") {
  EventParser parser(true);
  Event e;
  REQUIRE(captured::parse(&parser, built::format_description(), &e).is_ok());
  REQUIRE(captured::parse(&parser, built::table_map({std::string("\x03\x08", 2), "", "", "", 0}), &e).is_ok());
  TableCodec codec;
  const auto why = [&](const Table* table) { return TableCodec::for_stream(*e.table, table, Collations(), kDebezium, &codec).message(); };
  CHECK(why(nullptr) == "the column names of db.t are not known; set binlog_row_metadata=FULL at the server");
  Table table;
  Column a, b;
  REQUIRE(make_column({"a", "int", "int(11)", "", "", "YES", ""}, &a).is_ok());
  REQUIRE(make_column({"b", "varchar", "varchar(3)", "utf8mb4", "", "YES", ""}, &b).is_ok());
  table.columns = {a};
  CHECK(why(&table) ==
        "the binlog's rows of db.t have 2 columns, and information_schema has 1: the table has been altered since; set "
        "binlog_row_metadata=FULL at the server, so that the binlog itself has the names, and take a new snapshot");
  table.columns = {a, b};
  CHECK(why(&table) ==
        "column 'b' of db.t: it is varchar(3) now, and another type in the binlog: the table has been altered since; set "
        "binlog_row_metadata=FULL at the server, and take a new snapshot");
}

TEST_CASE("TIMESTAMP in a zone of its own, where it is written as a wall clock shows it") {
  const OneColumn ts{"\x11", std::string(1, '\0'), "timestamp", ""}, ts2{"\x11", "\x02", "timestamp(2)", ""};
  const date::time_zone *shanghai = find_zone("Asia/Shanghai"), *berlin = find_zone("Europe/Berlin");
  REQUIRE(shanghai != nullptr);
  REQUIRE(berlin != nullptr);
  CHECK(find_zone("Asia/Shangai") == nullptr);
  const auto in = [](const date::time_zone* zone) { return ValueStyle{Format::kMaxwell, Decimals::kText, zone}; };
  const auto image = [](uint64_t seconds) { return built::be(seconds, 4); };
  // Into another year.
  CHECK(json_of(ts2, image(1735687800) + bytes({25}), in(shanghai)) == "\"2025-01-01 07:30:00.25\"");
  // Both changes of the clock in 2024, each a second apart.
  CHECK(json_of(ts, image(1711846799), in(berlin)) == "\"2024-03-31 01:59:59\"");
  CHECK(json_of(ts, image(1711846800), in(berlin)) == "\"2024-03-31 03:00:00\"");
  CHECK(json_of(ts, image(1729990799), in(berlin)) == "\"2024-10-27 02:59:59\"");
  CHECK(json_of(ts, image(1729990800), in(berlin)) == "\"2024-10-27 02:00:00\"");
  CHECK(json_of(ts, image(1711846800), in(nullptr)) == "\"2024-03-31 01:00:00\"");
  CHECK(json_of({"\x07", "", "timestamp", ""}, built::le(1711846800, 4), in(berlin)) == "\"2024-03-31 03:00:00\"");
  // Zeros, Debezium's shape and DATETIME stay.
  CHECK(json_of(ts, image(0), in(shanghai)) == "\"0000-00-00 00:00:00\"");
  CHECK(json_of(ts, image(1711846800), {Format::kDebezium, Decimals::kText, berlin}) == "\"2024-03-31T01:00:00Z\"");
  CHECK(json_of({"\x12", std::string(1, '\0'), "datetime", ""}, bytes({0x99, 0xB2, 0xBE, 0x10, 0x00}), in(shanghai)) ==
        json_of({"\x12", std::string(1, '\0'), "datetime", ""}, bytes({0x99, 0xB2, 0xBE, 0x10, 0x00}), kMaxwell));

  // From a snapshot's text: one codec, to and fro over the change.
  Table table;
  table.database = "db";
  table.name = "t";
  for (const char* type : {"timestamp", "datetime"}) {
    Column column;
    REQUIRE(make_column({type, type, type, "", "", "YES", ""}, &column).is_ok());
    table.columns.push_back(column);
  }
  TableCodec codec;
  REQUIRE(TableCodec::for_snapshot(table, in(berlin), &codec).is_ok());
  const auto row = [&](const std::string& text) {
    const std::vector<std::pair<bool, std::string>> values(2, {false, text});
    const std::vector<Cell> cells = captured::cells_of(values);
    std::string json;
    CHECK(codec.append_row(cells.data(), &json).is_ok());
    return json;
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(row("2024-03-31 00:59:59") == R"({"timestamp":"2024-03-31 01:59:59","datetime":"2024-03-31 00:59:59"})");
    CHECK(row("2024-03-31 01:00:00") == R"({"timestamp":"2024-03-31 03:00:00","datetime":"2024-03-31 01:00:00"})");
    CHECK(row("2024-10-27 00:59:59") == R"({"timestamp":"2024-10-27 02:59:59","datetime":"2024-10-27 00:59:59"})");
    CHECK(row("2024-10-27 01:00:00") == R"({"timestamp":"2024-10-27 02:00:00","datetime":"2024-10-27 01:00:00"})");
    CHECK(row("0000-00-00 00:00:00") == R"({"timestamp":"0000-00-00 00:00:00","datetime":"0000-00-00 00:00:00"})");
  }
}
