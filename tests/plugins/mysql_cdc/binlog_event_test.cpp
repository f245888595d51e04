// Events of captured binlogs and streams, and those that no server would write.
#include "captured.h"
#include "event_builder.h"
#include "expected_file.h"

using namespace sluice_mysql;

namespace {

const char* kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::kIgnored: return "ignored";
    case EventKind::kFormat: return "format";
    case EventKind::kRotate: return "rotate";
    case EventKind::kGtid: return "gtid";
    case EventKind::kGtidList: return "gtid list";
    case EventKind::kQuery: return "query";
    case EventKind::kXid: return "xid";
    case EventKind::kXaPrepare: return "xa prepare";
    case EventKind::kTableMap: return "table map";
    case EventKind::kRows: return "rows";
    case EventKind::kHeartbeat: return "heartbeat";
    case EventKind::kStop: return "stop";
  }
  return "?";
}

std::string describe(const Event& e) {
  std::string s = event_name(e.header.type) + "\t" + std::to_string(e.begin) + ".." + std::to_string(e.end) + "\t" + kind_name(e.kind);
  if (e.made_up) s += "\tmade up";
  if (e.standalone) s += "\tstandalone";
  if (!e.text.empty()) s += "\t" + std::string(e.text);
  if (!e.database.empty()) s += "\tin " + std::string(e.database);
  if (e.position != 0) s += "\tposition " + std::to_string(e.position);
  if (e.xid != 0) s += "\txid " + std::to_string(e.xid);
  if (e.table) s += "\t" + e.table->database + "." + e.table->table;
  if (e.kind == EventKind::kRows) s += e.rows.kind == RowsKind::kInsert ? " insert" : e.rows.kind == RowsKind::kUpdate ? " update" : " delete";
  return s;
}

sluice::Status parse_after_format(const std::string& bytes, Event* e, EventParser* parser) {
  parser->set_position("binlog.000003", 900);
  Event format;
  REQUIRE(captured::parse(parser, built::format_description(), &format).is_ok());
  parser->set_position("binlog.000003", 1234);
  return captured::parse(parser, bytes, e);
}

std::string failure_of(const std::string& bytes) {
  EventParser parser(true);
  Event e;
  const sluice::Status status = parse_after_format(bytes, &e, &parser);
  CHECK(status.code() == SLUICE_FATAL);
  return status.message();
}

}  // namespace

TEST_CASE("captured transactions, XA, DDL and rotation: each event") {
  for (const char* server : {"mariadb", "mysql-8.0.31", "mysql-8.0.31-plain", "mysql-8.0.15"}) {
    for (const char* what : {".transactions.binlog.gz", ".stream.packets.gz"}) {
      const std::string name = std::string(server) + what;
      INFO(name);
      EventParser parser;
      parser.set_position("binlog.000001", 4);
      std::string all;
      uint64_t end = 4;
      for (const std::string& bytes : captured::events_of(name)) {
        Event e;
        const sluice::Status status = captured::parse(&parser, bytes, &e);
        INFO(status.message());
        REQUIRE(status.is_ok());
        all += describe(e) + "\n";
        if (!e.made_up && name.find("binlog.gz") != std::string::npos) CHECK(e.begin == end);  // no gaps
        end = e.end;
      }
      captured::check_expected(std::string(server) + (what[1] == 't' ? ".transactions.events" : ".stream.events"), all);
    }
  }
}

TEST_CASE("what cannot be read stops with its name") {
  const std::map<std::string, std::string> reasons = {
      {"partial_json", "binlog event PARTIAL_UPDATE_ROWS at binlog.000001:387: partial JSON updates cannot be read; set "
                       "binlog_row_value_options='' at the server"},
      {"payload", "binlog event TRANSACTION_PAYLOAD at binlog.000001:236: compressed transactions cannot be read; set "
                  "binlog_transaction_compression=OFF at the server"},
      {"minimal", "the rows of cdc.t_bad lack columns; set binlog_row_image=FULL at the server, for all its sessions"}};
  for (const auto& [name, reason] : reasons) {
    EventParser parser;
    parser.set_position("binlog.000001", 4);
    std::string why;
    for (const std::string& bytes : captured::events_of("mysql-8.0.31." + name + ".binlog.gz")) {
      Event e;
      sluice::Status status = captured::parse(&parser, bytes, &e);
      RowReader reader;
      if (status.is_ok() && e.kind == EventKind::kRows) status = reader.open(e.rows);
      if (!status.is_ok() && why.empty()) why = status.message();
    }
    CHECK(why == reason);
  }
  CHECK(failure_of(built::event(26, built::le(1, 2))) ==
        "binlog event INCIDENT at binlog.000003:1234: the server says that its binlog has a gap: changes are lost. Take a new snapshot");
  CHECK(failure_of(built::event(77, "x")) ==
        "binlog event type 77 at binlog.000003:1234: this kind of event is not known, and its flags say that it must not be passed over");
  EventParser parser(true);
  Event e;
  REQUIRE(parse_after_format(built::event(77, "x", EventHeader::kIgnorable), &e, &parser).is_ok());
  CHECK(e.kind == EventKind::kIgnored);
}

TEST_CASE("a LOAD DATA that is logged as a statement is one") {
  EventParser parser(true);
  Event e;
  REQUIRE(parse_after_format(built::event(17, built::le(1, 4) + "1\t2\n"), &e, &parser).is_ok());
  CHECK(e.kind == EventKind::kIgnored);
  const std::string text = "LOAD DATA INFILE '/tmp/x' INTO TABLE `t`", status = '\1' + built::le(4, 8);  // ANSI_QUOTES
  const std::string head = built::le(7, 4) + built::le(0, 4) + built::le(2, 1) + built::le(0, 2) + built::le(status.size(), 2);
  const std::string file = built::le(1, 4) + built::le(10, 4) + built::le(18, 4) + built::le(0, 1);
  const std::string event = built::event(18, head + file + status + "db" + '\0' + text);
  REQUIRE(parse_after_format(event, &e, &parser).is_ok());
  CHECK(e.kind == EventKind::kQuery);
  CHECK(e.database == "db");
  CHECK(e.text == text);
  CHECK(e.sql_mode.ansi_quotes);
  CHECK(failure_of(built::event(18, head + file.substr(4))).find("binlog event EXECUTE_LOAD_QUERY at binlog.000003:1234: ") == 0);
}

TEST_CASE("a damaged event is refused with its place") {
  const std::string good = built::event(16, built::le(42, 8));
  EventParser parser(true);
  Event e;
  REQUIRE(parse_after_format(good, &e, &parser).is_ok());
  CHECK(e.xid == 42);
  for (size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ 1 << bit);
      EventParser again(true);
      const sluice::Status status = parse_after_format(bad, &e, &again);
      CHECK(status.code() == SLUICE_FATAL);
      CHECK(status.message().find(" at binlog.000003:1234: ") != std::string::npos);
    }
  }
  std::string flipped = good;
  flipped[20] ^= 1;
  CHECK(failure_of(flipped) ==
        "binlog event XID at binlog.000003:1234: its checksum is wrong; the event was damaged on the way or on the disk");
  CHECK(failure_of(good.substr(0, 30)) ==
        "binlog event XID at binlog.000003:1234: it says that it has 31 bytes, and 30 came");
  CHECK(failure_of("short") == "binlog event type 0 at binlog.000003:1234: only 5 bytes came");
  CHECK(failure_of(built::event(16, "1234")) == "binlog event XID at binlog.000003:1234: it is shorter than its fields");
  CHECK(failure_of(built::event(15, std::string(60, '\0'))).find("FORMAT_DESCRIPTION at") != std::string::npos);
}

TEST_CASE("a file that the server has open: its first event is marked after its checksum was made") {
  std::string format = built::format_description();
  format[17] = 1;
  EventParser parser(true);
  Event e;
  const sluice::Status status = captured::parse(&parser, format, &e);
  INFO(status.message());
  CHECK(status.is_ok());
  std::string other = built::event(16, built::le(42, 8));
  other[17] = 1;
  CHECK(failure_of(other).find("its checksum is wrong") != std::string::npos);
}

TEST_CASE("captured events cut at each length, with a checksum that fits") {
  for (const char* name : {"mariadb.types.binlog.gz", "mysql-8.0.31.transactions.binlog.gz", "mariadb.least.binlog.gz"}) {
    size_t refused = 0, tried = 0;
    const std::vector<std::string> events = captured::events_of(name);
    for (const std::string& whole : events) {
      if (whole.size() > 600) continue;
      for (size_t size = 19; size + 4 < whole.size(); size += 3) {
        const std::string cut = built::event(static_cast<uint8_t>(whole[4]), whole.substr(19, size - 19));
        EventParser parser(true);
        Event e;
        const sluice::Status status = parse_after_format(cut, &e, &parser);
        ++tried;
        refused += !status.is_ok();
      }
    }
    CHECK(tried > 1000);
    CHECK(refused > tried / 4);  // a text may end anywhere
  }
}

TEST_CASE("positions beyond 4 GiB") {
  EventParser parser(true);
  Event e;
  REQUIRE(parse_after_format(built::event(16, built::le(1, 8), 0, 2000), &e, &parser).is_ok());
  parser.set_position("binlog.000001", 0xFFFFFFF0);
  REQUIRE(captured::parse(&parser, built::event(16, built::le(1, 8), 0, 15), &e).is_ok());
  CHECK(e.begin == 0xFFFFFFF0);
  CHECK(e.end == 0x10000000F);
  REQUIRE(captured::parse(&parser, built::event(16, built::le(1, 8), 0, 46), &e).is_ok());
  CHECK(e.begin == 0x10000000F);
  CHECK(parser.position() == 0x10000002E);
}

TEST_CASE("the first ROTATE of a connection, with and without an announced checksum") {
  const std::string with = built::event(4, built::le(4, 8) + "binlog.000009", EventHeader::kArtificial, 0);
  for (const bool announced : {true, false}) {
    EventParser parser(announced);
    Event e;
    REQUIRE(captured::parse(&parser, with, &e).is_ok());
    CHECK(e.text == "binlog.000009");
    CHECK(e.made_up);
    CHECK(parser.position() == 4);
  }
  std::string without = with.substr(0, with.size() - 4);
  without.replace(9, 4, built::le(without.size(), 4));
  EventParser parser;
  Event e;
  REQUIRE(captured::parse(&parser, without, &e).is_ok());
  CHECK(e.text == "binlog.000009");
  EventParser strict(true);
  CHECK(captured::parse(&strict, without, &e).message() ==
        "binlog event ROTATE at ?:0: its checksum is wrong; the event was damaged on the way or on the disk");
}

TEST_CASE("lengths and counts that lie") {
  using built::le;
  // Rows.
  CHECK(failure_of(built::rows(30, 1, "")) ==
        "binlog event WRITE_ROWS at binlog.000003:1234: its table (id 7) has not been described: reading began inside a transaction, or the "
        "binlog is damaged");
  CHECK(failure_of(built::event(30, le(7, 6) + le(0, 2) + le(1, 2))) ==
        "binlog event WRITE_ROWS at binlog.000003:1234: the length of its extra data is wrong");
  EventParser parser(true);
  Event e;
  REQUIRE(parse_after_format(built::table_map({std::string("\x03\x03", 2), "", "", "", 0}), &e, &parser).is_ok());
  CHECK(captured::parse(&parser, built::rows(30, 3, ""), &e).message() ==
        "binlog event WRITE_ROWS at binlog.000003:1000: it has 3 columns, and its table db.t has 2");
  // Table maps.
  const auto map_failure = [](const built::TableText& t) { return failure_of(built::table_map(t)); };
  const std::string at = "binlog event TABLE_MAP at binlog.000003:1234: ";
  built::TableText zero;
  zero.nullable = "x";
  CHECK(map_failure(zero) == at + "it has 0 columns, which cannot be");
  built::TableText many{std::string(4097, '\x03'), "", "", "", 0};
  CHECK(map_failure(many) == at + "it has 4097 columns, which cannot be");
  CHECK(map_failure({std::string("\x03", 1), "", "", "", 200}) == at + "it is shorter than its fields");
  CHECK(map_failure({std::string("\x03", 1), "", "", "", 0xFFFFFF}) == at + "it is shorter than its fields");
  CHECK(map_failure({std::string("\x0F", 1), "\x10", "", "", 0}) == at + "its column types are shorter than they say");
  CHECK(map_failure({std::string("\x03", 1), "", "", le(4, 1) + built::packed(200) + "x", 0}) == at + "its optional metadata is cut off");
  CHECK(map_failure({std::string("\x03", 1), "", "", built::field(4, built::packed(9) + "x"), 0}) ==
        at + "its optional metadata of kind 4 is broken");
  CHECK(map_failure({std::string("\x03", 1), "", "", built::field(4, built::packed(0)), 0}) == at + "one of its columns has no name");
  CHECK(map_failure({std::string("\x03", 1), "", "", built::field(8, built::packed(1)), 0}) ==
        at + "its optional metadata of kind 8 is broken");
  CHECK(map_failure({std::string("\x0F", 1), le(10, 2), "", built::field(2, built::packed(45) + built::packed(5) + built::packed(8)), 0}) ==
        at + "its optional metadata of kind 2 is broken");
  CHECK(map_failure({std::string("\xFE", 1), "\xF7\x01", "", built::field(6, built::packed(250000)), 0}) ==
        at + "its optional metadata of kind 6 is broken");
  // Unknown metadata is passed over; the most columns are read.
  built::TableText most{std::string(4096, '\x03'), "", "", built::field(99, "whatever") + built::field(12, std::string(512, '\xFF')), 0};
  EventParser wide(true);
  REQUIRE(parse_after_format(built::table_map(most), &e, &wide).is_ok());
  CHECK(e.table->columns.size() == 4096);
  // GTID list, XA id, compressed query.
  CHECK(failure_of(built::event(163, le(0x0FFFFFFF, 4) + le(0, 16))) == "binlog event GTID_LIST at binlog.000003:1234: it is shorter than its fields");
  CHECK(failure_of(built::event(38, le(0, 1) + le(1, 4) + le(65, 4) + le(0, 4) + std::string(65, 'x'))) ==
        "binlog event XA_PREPARE at binlog.000003:1234: its XA id is too long");
  const std::string query = le(0, 8) + le(0, 1) + le(0, 2) + le(0, 2) + le(0, 1);
  CHECK(failure_of(built::event(165, query + "\x84" + built::be(0x40000001, 4) + "xyz")) ==
        "binlog event QUERY_COMPRESSED at binlog.000003:1234: it says that it unpacks to 1073741825 bytes, which cannot be");
  CHECK(failure_of(built::event(165, query + "\x81\x05" "xyz")) == "binlog event QUERY_COMPRESSED at binlog.000003:1234: it cannot be unpacked");
  CHECK(failure_of(built::event(165, query + "\x11\x05xyz")) == "binlog event QUERY_COMPRESSED at binlog.000003:1234: its compression is not known");
  CHECK(failure_of(built::event(4, le(4, 8))) == "binlog event ROTATE at binlog.000003:1234: it names no file");
}

TEST_CASE("equal table maps are the same one, until a ROTATE") {
  EventParser parser(true);
  Event e;
  const std::string map = built::table_map({std::string("\x03\x03", 2), "", "", "", 0});
  REQUIRE(parse_after_format(map, &e, &parser).is_ok());
  const auto first = e.table;
  REQUIRE(captured::parse(&parser, map, &e).is_ok());
  CHECK(e.table == first);
  REQUIRE(captured::parse(&parser, built::table_map({std::string("\x03\x08", 2), "", "", "", 0}), &e).is_ok());
  CHECK(e.table->serial != first->serial);
  REQUIRE(captured::parse(&parser, built::event(4, built::le(4, 8) + "binlog.000004"), &e).is_ok());
  CHECK(!captured::parse(&parser, built::rows(30, 2, ""), &e).is_ok());
}
