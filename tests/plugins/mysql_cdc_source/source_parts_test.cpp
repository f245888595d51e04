// The pieces of mysql.cdc that need no server.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "mysql_cdc/binlog_position.h"
#include "mysql_cdc/cdc_options.h"
#include "mysql_cdc/chunk_builder.h"
#include "mysql_cdc/gtid_set.h"
#include "mysql_cdc/row_queue.h"
#include "mysql_cdc/row_statement.h"
#include "mysql_cdc/saved_tables.h"
#include "mysql_cdc/server_error.h"
#include "mysql_cdc/table_filter.h"
#include "mysql_cdc/transaction_tracker.h"

using namespace sluice_mysql;

namespace {

const std::string kUuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

Event event(EventKind kind, uint64_t begin, uint64_t end, std::string_view text = {}) {
  Event e;
  e.kind = kind;
  e.begin = begin;
  e.end = end;
  e.text = text;
  return e;
}

BinlogPosition at(uint64_t begin, const std::string& gtid = "") {
  BinlogPosition p;
  p.phase = BinlogPosition::Phase::kStream;
  p.server = "101";
  p.file = "binlog.000001";
  p.begin = begin;
  p.gtid = gtid;
  return p;
}

}  // namespace

TEST_CASE("positions are read as they were written, and nothing else is") {
  BinlogPosition p = at(4567, "0-101-7");
  p.event = 5000;
  p.row = 17;
  p.rows = 20;
  p.open_gtid = "0-101-8";
  CHECK(p.encode() == "2\tstream\t101\tbinlog.000001\t4567\t0-101-7\t0-101-8\t5000\t17\t20");
  const auto q = BinlogPosition::decode(p.encode());
  REQUIRE(q);
  CHECK(q->encode() == p.encode());
  CHECK(q->describe() == "binlog.000001:5000 row 17 of the transaction at 4567 (after 0-101-7)");
  CHECK(at(4567).describe() == "binlog.000001:4567");
  BinlogPosition dated = p;
  dated.created = 1700000000;
  CHECK(dated.encode() == "5\tstream\t101\tbinlog.000001\t1700000000\t4567\t0-101-7\t0-101-8\t5000\t17\t20");
  const auto dated_again = BinlogPosition::decode(dated.encode());
  REQUIRE(dated_again);
  CHECK(dated_again->encode() == dated.encode());
  CHECK(dated_again->describe() == q->describe());
  CHECK(BinlogPosition::decode(BinlogPosition().encode())->phase == BinlogPosition::Phase::kSnapshot);
  BinlogPosition snapshot = at(4567, "0-101-7");
  snapshot.phase = BinlogPosition::Phase::kSnapshot;
  snapshot.table = "db.t";
  snapshot.rows = 12;
  CHECK(snapshot.encode() == "3\tsnapshot\tdb.t\t12\t101\tbinlog.000001\t4567\t0-101-7");
  const auto again = BinlogPosition::decode(snapshot.encode());
  REQUIRE(again);
  CHECK(again->encode() == snapshot.encode());
  CHECK(again->describe() == "snapshot of db.t row 12");
  // Where the options say to begin, until something has been read.
  BinlogPosition chosen = at(4);
  chosen.chosen = true;
  CHECK(chosen.encode() == "4\tstream\t101\tbinlog.000001\t4\t\t\t0\t0\t0");
  CHECK(BinlogPosition::decode(chosen.encode())->chosen);
  CHECK_FALSE(BinlogPosition::decode(at(4).encode())->chosen);
  TransactionTracker reads(true, chosen, true, false);
  Event made_up = event(EventKind::kRotate, 4, 4, "binlog.000001");
  made_up.position = 4;
  made_up.made_up = true;
  REQUIRE(reads.see(made_up, nullptr).is_ok());
  CHECK(reads.place().chosen);
  REQUIRE(reads.see(event(EventKind::kFormat, 4, 256), nullptr).is_ok());
  CHECK_FALSE(reads.place().chosen);
  // What earlier versions wrote.
  const auto old = BinlogPosition::decode("1\tstream\t101\tbinlog.000001\t4567\t0-101-7\t5000\t17\t20");
  REQUIRE(old);
  p.open_gtid.clear();
  CHECK(old->encode() == p.encode());
  for (const char* bad :
       {"", "1", "2\tstream\t1\tf\t4\t\t0\t0\t0", "3\tstream\t1\tf\t4\t\t\t0\t0\t0", "2\tsnapshot\tt\t1",
        "1\tstream\t1\tf\t4\t\t0\t0", "1\tstream\t1\tf\t-4\t\t0\t0\t0", "1\tstream\t1\tf\t4\t\t0\t99999999999\t0",
        "1\tsnapshot\tt\tx", "1\tstream\t1\tf\t4\t\t0\t0\t0\t0", "5\tstream\t1\tf\t4\t\t\t0\t0\t0",
        "5\tstream\t1\tf\t0\t4\t\t\t0\t0\t0", "5\tstream\t1\tf\t99999999999\t4\t\t\t0\t0\t0"})
    CHECK_FALSE(BinlogPosition::decode(bad));
  CHECK(parse_file_position("binlog.000003:4567")->position == 4567);
  for (const char* bad : {"binlog.000003", ":4", "a b:4", "x:", "x:1x", "../x:4"})
    CHECK_FALSE(parse_file_position(bad));
  CHECK(file_before("binlog.999999", "binlog.1000000"));
  CHECK_FALSE(file_before("binlog.000010", "binlog.000009"));
}

TEST_CASE("GTID sets grow, join and know what they have") {
  auto set = *GtidSet::parse(false, kUuid + ":1-3:7,\n 11111111-1111-1111-1111-111111111111:5");
  CHECK(set.text() == "11111111-1111-1111-1111-111111111111:5," + kUuid + ":1-3:7");
  CHECK(set.add(kUuid + ":5"));
  CHECK(set.add(kUuid + ":4"));
  CHECK(set.text() == "11111111-1111-1111-1111-111111111111:5," + kUuid + ":1-5:7");
  CHECK(set.contains(kUuid + ":4"));
  CHECK_FALSE(set.contains(kUuid + ":6"));
  CHECK(set.encoded().size() == 8 + 2 * (16 + 8) + 3 * 16);
  auto domains = *GtidSet::parse(true, "1-102-3,0-101-7");
  CHECK(domains.add("0-101-8"));
  CHECK(domains.text() == "0-101-8,1-102-3");
  CHECK(domains.contains("0-101-8"));
  CHECK_FALSE(domains.contains("0-101-9"));
  CHECK_FALSE(domains.contains("0-103-2"));  // another server's numbers
  // What a binlog has at a place, when both domains had been read up to 0-101-8 and 1-102-3.
  const auto continues = [&](const char* there) { return domains.continues(*GtidSet::parse(true, there)); };
  CHECK(continues("0-101-8,1-102-3"));
  CHECK(continues("0-101-8"));          // it was never sent the other one
  CHECK(continues("0-101-8,1-102-2"));  // and here is less of it: it was read from another server
  CHECK(continues("0-101-8,5-1-1"));
  CHECK_FALSE(continues("0-101-8,1-102-4"));  // more than was read
  CHECK_FALSE(continues("0-101-2,1-102-1"));  // made anew
  CHECK_FALSE(continues("0-101-9"));
  CHECK_FALSE(continues(""));
  for (const char* bad : {"abc", "0-101", "0-101-x", "-1-1-1"}) CHECK_FALSE(GtidSet::parse(true, bad));
  for (const char* bad : {"abc", "3e11fa47-71ca-11e1-9e33-c80aa942956:1", "3e11fa47-71ca-11e1-9e33-c80aa9429562",
                          "3e11fa47-71ca-11e1-9e33-c80aa9429562:0", "3e11fa47-71ca-11e1-9e33-c80aa9429562:5-3"})
    CHECK_FALSE(GtidSet::parse(false, bad));
}

TEST_CASE("tables by name and by pattern") {
  TableFilter f;
  REQUIRE(TableFilter::make({}, {"gmall.order_*", "mysql.user", "*.t?"}, &f).is_ok());
  CHECK(f.matches("gmall", "order_info"));
  CHECK_FALSE(f.matches("gmall", "orders"));
  CHECK(f.matches("any", "t1"));
  CHECK_FALSE(f.matches("any", "t"));
  CHECK(f.matches("mysql", "user"));
  CHECK_FALSE(f.matches("sys", "t1"));  // patterns do not reach the server's own
  REQUIRE(TableFilter::make({"a*"}, {"*.t"}, &f).is_ok());
  CHECK(f.matches("ab", "t"));
  CHECK_FALSE(f.matches("b", "t"));
  CHECK(matches_pattern("*a*b", "xaxxab"));
  CHECK_FALSE(matches_pattern("*a*b", "xaxx"));
}

TEST_CASE("tables of a server that does not tell names by their case") {
  TableFilter f;
  REQUIRE(TableFilter::make({"Shop*"}, {"Shop1.Orders", "shop?.Ä*"}, &f).is_ok());
  CHECK_FALSE(f.matches("shop1", "orders"));
  const std::string text = filter_text(f);
  f.ignore_case(true);
  CHECK(f.matches("shop1", "orders"));
  CHECK(f.matches("SHOP1", "ÄPFEL"));
  CHECK(f.matches("shop1", "äpfel"));
  CHECK(f.matches_database("sHOP2"));
  CHECK(f.names("shop1", "ORDERS"));
  CHECK_FALSE(f.matches("shop1", "order"));
  CHECK(filter_text(f) == text);
  CHECK(lower_case("ÄÖÜ ΑΒΓ ЖЗИ Abc_1$") == "äöü αβγ жзи abc_1$");
  CHECK(lower_case("A\xff" "B") == "a\xff" "B");  // no UTF-8
}

TEST_CASE("what a checkpoint says of the tables") {
  TableFilter f;
  REQUIRE(TableFilter::make({"a*", "b"}, {"a1.t\tx", "*.back\\slash", "b.line\nend"}, &f).is_ok());
  const auto again = read_filter(filter_text(f));
  REQUIRE(again);
  CHECK(filter_text(*again) == filter_text(f));
  CHECK(again->matches("a1", "t\tx"));
  CHECK(again->matches("ab", "back\\slash"));
  CHECK(again->matches("b", "line\nend"));
  CHECK_FALSE(again->matches("b", "t\tx"));
  for (const char* bad : {"", "table\ta\n", "nothing\ta\tb\n"}) CHECK_FALSE(read_filter(bad));

  const std::vector<AddedTables> added = {{at(4567, "0-101-7"), {{"a", "t\t1"}, {"a", "u"}}}, {at(5000), {{"b", "v"}}}};
  const auto read = decode_added(encode_added(added));
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK(encode_added(*read) == encode_added(added));
  CHECK((*read)[0].contains({"a", "t\t1"}));
  CHECK_FALSE((*read)[1].contains({"a", "u"}));
  CHECK(decode_added("")->empty());
  for (const char* bad : {"x\n", "a\tb\n"}) CHECK_FALSE(decode_added(bad));
}

TEST_CASE("what a statement that changes rows names") {
  const auto text = [](const std::vector<TableName>& names) {
    std::string out;
    for (const TableName& t : names) out += (out.empty() ? "" : " ") + t.database + "." + t.table;
    return out;
  };
  // listed | changed | read | called
  const auto names = [&](const char* sql, SqlMode mode = {}) {
    const RowStatement s = read_row_statement(sql, "d", mode);
    std::string called;
    for (const CalledFunction& f : s.called) called += " " + f.text + (f.native ? "" : "!");
    return text(s.listed) + " | " + text(s.changed) + " | " + text(s.read) + " |" + called;
  };
  CHECK(names("INSERT INTO t VALUES (1,'UPDATE x')") == "d.t | d.t |  | VALUES");
  CHECK(names("insert ignore `a b`.`t``t` select * from other") == "a b.t`t | a b.t`t | d.other |");
  CHECK(names("/* x */ REPLACE e.t SET a=g.f(`h`(now()))") == "e.t | e.t |  | g.f! `h` now");
  CHECK(names("INSERT INTO t (a, b) VALUE (1, 2) ON DUPLICATE KEY UPDATE a=1, b=2") == "d.t | d.t |  |");
  CHECK(names("INSERT -- a comment\n INTO # another\n t TABLE u") == "d.t | d.t | d.u |");
  CHECK(names("UPDATE t SET a=1") == "d.t | d.t |  |");
  CHECK(names("update LOW_PRIORITY a.t x, u AS y set x=1") == "d.LOW_PRIORITY a.t d.x d.u d.AS d.y | a.t d.u |  |");
  CHECK(names("UPDATE t JOIN (SELECT a FROM e.s, z) AS q USING (a), u SET b=1 WHERE a=EXTRACT(DAY FROM w)").find(
            "| d.t d.u | e.s d.z |") != std::string::npos);
  CHECK(names("DELETE FROM e.t WHERE a IN (SELECT 1 FROM z)") == "d.FROM e.t | e.t | d.z | IN");
  CHECK(names("DELETE x, u.* FROM t AS x JOIN u ON x.a=u.a") ==
        "d.x d.u d.FROM d.t d.AS d.x d.JOIN d.u d.ON x.a u.a | d.t d.u |  |");
  CHECK(names("DELETE FROM x USING t AS x, u WHERE x.a=u.a") == "d.FROM d.x d.USING d.t d.AS d.x d.u | d.t d.u |  |");
  CHECK(names("DELETE FROM t FOR PORTION OF p FROM '2020-01-01' TO '2021-01-01'").find("| d.t |") !=
        std::string::npos);
  CHECK(names("LOAD DATA INFILE '/tmp/x' INTO TABLE e.t FIELDS TERMINATED BY ','") == "e.t | e.t |  |");
  // In a WITH the words in brackets are those of its queries.
  CHECK(names("WITH q AS (SELECT REPLACE(a,'x','y') a FROM e.s) UPDATE t JOIN q USING (a) SET b=1") ==
        "d.t d.JOIN d.q d.USING d.a | d.t | e.s | AS REPLACE USING");
  CHECK(names("WITH q AS (SELECT 1) DELETE FROM t") == "d.FROM d.t | d.t |  | AS");
  CHECK(names("WITH q (a) AS (SELECT f(1)) SELECT * FROM q") == " |  | d.q | q AS f");
  // What a double quote means is the session's.
  const SqlMode ansi{true, true}, plain{false, false};
  CHECK(names("INSERT INTO \"t\" VALUES ('\\'', f())", ansi) == "d.t | d.t |  | VALUES f");
  CHECK(names("INSERT INTO t VALUES (\"a\\\", f()\")") == "d.t | d.t |  | VALUES");
  CHECK(names("INSERT INTO t VALUES ('\\', f(), ' ')", plain) == "d.t | d.t |  | VALUES f");
  CHECK(names("UPDATE \"e\".\"t\" SET a=1", ansi) == "e.t | e.t |  |");
  // Logged for what they call; and a table that begins with the rows of a query.
  CHECK(names("SELECT `g`.`f`(_utf8mb4'x' COLLATE 'utf8mb4_bin')") == " |  |  | g.f!");
  CHECK(names("DO f(1), g.h()") == " |  |  | f g.h!");
  CHECK(names("CALL p(1)") == " |  |  | p");
  CHECK(names("CREATE TABLE c (a DATETIME(6), KEY k (a)) AS SELECT f(a) AS a FROM e.v") == " |  | d.c e.v | f");
  CHECK(names("") == " |  |  |");
}

TEST_CASE("a transaction is gone on with behind its last row, by offset and by count") {
  BinlogPosition from = at(100);
  from.event = 300;
  from.row = 1;
  from.rows = 5;
  TransactionTracker same(true, from, true, false);
  Event gtid = event(EventKind::kGtid, 100, 150, "0-101-8");
  REQUIRE(same.see(gtid, nullptr).is_ok());
  CHECK(same.emitted_before(200, 0));
  CHECK(same.emitted_before(300, 1));
  CHECK_FALSE(same.emitted_before(300, 2));
  same.emitted(300, 2);
  CHECK(same.place().encode() == "2\tstream\t101\tbinlog.000001\t100\t\t0-101-8\t300\t2\t6");
  REQUIRE(same.see(event(EventKind::kXid, 400, 431), nullptr).is_ok());
  CHECK(same.place().encode() == "2\tstream\t101\tbinlog.000001\t431\t\t\t0\t0\t0");

  TransactionTracker other(true, from, false, false);
  REQUIRE(other.see(gtid, nullptr).is_ok());
  for (uint32_t i = 0; i < 5; ++i) CHECK(other.emitted_before(900, i));
  CHECK_FALSE(other.emitted_before(900, 5));

  // Another server: only the very transaction may come next; those that are done already do not count.
  from.gtid = "0-101-7";
  from.open_gtid = "0-101-8";
  TransactionTracker next(true, from, false, true, "102");
  Event file = event(EventKind::kRotate, 0, 0, "other.000007");
  file.position = 4;
  file.made_up = true;
  REQUIRE(next.see(file, nullptr).is_ok());
  REQUIRE(next.see(event(EventKind::kGtid, 60, 100, "0-101-7"), nullptr).is_ok());
  REQUIRE(next.see(event(EventKind::kXid, 90, 100), nullptr).is_ok());
  REQUIRE(next.see(gtid, nullptr).is_ok());
  for (uint32_t i = 0; i < 5; ++i) CHECK(next.emitted_before(900, i));
  CHECK(next.place().encode() == from.encode());  // 900 is another file's
  CHECK_FALSE(next.emitted_before(900, 5));
  next.emitted(900, 5);
  CHECK(next.place().encode() == "2\tstream\t102\tother.000007\t100\t0-101-7\t0-101-8\t900\t5\t6");
  TransactionTracker foreign(true, from, false, true);
  const Outcome not_it = foreign.see(event(EventKind::kGtid, 100, 150, "0-102-8"), nullptr);
  CHECK(not_it.trouble() == Trouble::kLost);
  CHECK(not_it.message() ==
        "transaction 0-101-8 was read in part from the server before (101), and here the next one is 0-102-8: its "
        "other rows cannot be told apart");
  from.gtid.clear();
  from.open_gtid.clear();

  // The whole transaction was emitted, but for its end.
  TransactionTracker done(true, from, true, false);
  REQUIRE(done.see(gtid, nullptr).is_ok());
  CHECK(done.emitted_before(300, 0));
  CHECK(done.emitted_before(300, 1));
  REQUIRE(done.see(event(EventKind::kXid, 400, 431), nullptr).is_ok());
  CHECK(done.place().begin == 431);

  // A file that is not the one of before.
  TransactionTracker wrong(true, from, true, false);
  REQUIRE(wrong.see(gtid, nullptr).is_ok());
  const Outcome o = wrong.see(event(EventKind::kXid, 400, 431), nullptr);
  CHECK(o.trouble() == Trouble::kLost);
  CHECK(o.message() ==
        "the row that was read last, binlog.000001:300 row 1 of the transaction at 100, is not in this server's "
        "binlog: it was made anew");
}

TEST_CASE("a file is known by its name and by when it was begun") {
  BinlogPosition from = at(431);
  from.created = 1700000000;
  const auto format = [](uint32_t time, bool made_up) {
    Event e = event(EventKind::kFormat, 4, 256);
    e.header.timestamp = time;
    e.made_up = made_up;
    return e;
  };
  TransactionTracker same(true, from, true, false);
  REQUIRE(same.see(format(1700000000, true), nullptr).is_ok());
  CHECK(same.place().encode() == from.encode());
  Event rotate = event(EventKind::kRotate, 500, 540, "binlog.000002");
  rotate.position = 4;
  REQUIRE(same.see(rotate, nullptr).is_ok());
  CHECK(same.place().created == 0);
  REQUIRE(same.see(format(1700000500, false), nullptr).is_ok());
  CHECK(same.place().file == "binlog.000002");
  CHECK(same.place().created == 1700000500);

  TransactionTracker anew(true, from, true, false);
  const Outcome o = anew.see(format(1700000500, true), nullptr);
  CHECK(o.trouble() == Trouble::kLost);
  CHECK(o.message() ==
        "binlog.000001 is not the file that was read before: it was begun at 2023-11-14 22:21:40 UTC, and that one at "
        "2023-11-14 22:13:20 UTC. The binlog was made anew (RESET MASTER)");
  // As an earlier version wrote it, or of another server.
  TransactionTracker undated(true, at(431), true, false);
  const uint64_t version = undated.version();
  REQUIRE(undated.see(format(1700000500, true), nullptr).is_ok());
  CHECK(undated.place().created == 1700000500);
  CHECK(undated.version() != version);
  TransactionTracker elsewhere(true, from, false, true, "102");
  CHECK(elsewhere.see(format(1700000500, true), nullptr).is_ok());
}

TEST_CASE("beyond 4 GiB a position stays at the last transaction that a client can ask for") {
  const uint64_t k4 = uint64_t{1} << 32;
  TransactionTracker t(false, at(4000, kUuid + ":1-7"), true, true);
  Statement begin, other;
  begin.kind = StatementKind::kBegin;
  REQUIRE(t.see(event(EventKind::kGtid, 4000, 4065, kUuid + ":8"), nullptr).is_ok());
  REQUIRE(t.see(event(EventKind::kQuery, 4065, 4100), &begin).is_ok());
  CHECK_FALSE(t.emitted_before(4200, 0));
  t.emitted(4200, 0);
  t.emitted(k4 - 50, 3);
  REQUIRE(t.see(event(EventKind::kXid, k4, k4 + 31), nullptr).is_ok());
  CHECK(t.place().begin == 4000);
  const BinlogPosition between = t.place();
  REQUIRE(t.see(event(EventKind::kGtid, k4 + 31, k4 + 96, kUuid + ":9"), nullptr).is_ok());
  REQUIRE(t.see(event(EventKind::kQuery, k4 + 96, k4 + 130), &begin).is_ok());
  t.emitted(k4 + 200, 0);
  CHECK(t.place().begin == 4000);
  CHECK(t.place().event == k4 + 200);
  REQUIRE(t.see(event(EventKind::kXid, k4 + 300, k4 + 331), nullptr).is_ok());
  Event rotate = event(EventKind::kRotate, k4 + 331, k4 + 380, "binlog.000002");
  rotate.position = 4;
  REQUIRE(t.see(rotate, nullptr).is_ok());
  CHECK(t.place().encode() == "2\tstream\t101\tbinlog.000002\t4\t" + kUuid + ":1-9\t\t0\t0\t0");

  // A restart between the two passes over the first and gives the second.
  TransactionTracker again(false, between, true, true);
  REQUIRE(again.see(event(EventKind::kGtid, 4000, 4065, kUuid + ":8"), nullptr).is_ok());
  REQUIRE(again.see(event(EventKind::kQuery, 4065, 4100), &begin).is_ok());
  CHECK(again.emitted_before(4200, 0));
  CHECK(again.emitted_before(k4 - 50, 3));
  REQUIRE(again.see(event(EventKind::kXid, k4, k4 + 31), nullptr).is_ok());
  REQUIRE(again.see(event(EventKind::kGtid, k4 + 31, k4 + 96, kUuid + ":9"), nullptr).is_ok());
  CHECK_FALSE(again.emitted_before(k4 + 200, 0));
}

TEST_CASE("a chunk that is larger than the queue goes in alone") {
  RowQueue q(100);
  bool was_empty = false;
  Item big;
  big.chunk.bytes.assign(1000, 'x');
  REQUIRE(q.push(std::move(big), &was_empty));
  CHECK(was_empty);
  REQUIRE(q.try_pop());
  CHECK_FALSE(q.try_pop());
  q.close();
  CHECK_FALSE(q.push(Item(), &was_empty));
}

TEST_CASE("a row whose ending is not known stays when the rows before it go") {
  const ChangeWriter writer({Format::kMaxwell, Decimals::kText}, "op");
  ChunkBuilder chunk(&writer, true);
  const auto change = [](const char* body) {
    Change c;
    c.key = "k";
    c.body = body;
    return c;
  };
  const auto text = [](const RowChunk& c) {
    std::string out;
    for (const auto& r : c.rows)
      out += c.bytes.substr(r.position, r.raw - r.position) + c.bytes.substr(r.raw, r.end - r.raw) + " ";
    return out;
  };
  chunk.add_open(change("{a"), "1", SLUICE_NO_TIME, 7, 0);
  CHECK_FALSE(chunk.has_rows());
  CHECK(text(chunk.take({})).empty());
  chunk.add_open(change("{b"), "2", SLUICE_NO_TIME, 7, 1);
  CHECK(chunk.has_rows());
  CHECK(text(chunk.take({})) == "1{a,\"xid\":7,\"xoffset\":0} ");
  CHECK_FALSE(chunk.has_rows());
  chunk.close_row(true);
  CHECK(text(chunk.take({})) == "2{b,\"xid\":7,\"commit\":true} ");
}

TEST_CASE("errors: wait, gap, or a person") {
  CHECK(diagnose(2013, "Lost connection to server during query", "read").trouble() == Trouble::kAway);
  CHECK(diagnose(2002, "Can't connect", "connect").trouble() == Trouble::kAway);
  CHECK(diagnose(1205, "Lock wait timeout exceeded", "lock").trouble() == Trouble::kAway);
  CHECK(diagnose(1146, "Table 'd.t' doesn't exist", "read d.t").message() ==
        "cannot read d.t: Table 'd.t' doesn't exist (1146): it was dropped or renamed while it was being read, and is "
        "looked for again");
  CHECK(diagnose(1064, "You have an error in your SQL syntax", "ask").trouble() == Trouble::kWrong);
  CHECK(diagnose(4052, "A slave with the same server_uuid/server_id is already connected", "read").trouble() ==
        Trouble::kWrong);
  CHECK(diagnose(1045, "Access denied", "connect").trouble() == Trouble::kWrong);
  CHECK(diagnose(3159, "Connections using insecure transport are prohibited", "connect").message() ==
        "cannot connect: Connections using insecure transport are prohibited (3159): the server lets nobody in without "
        "TLS: set `tls: required`");
  CHECK(diagnose(3159, "x", "connect").trouble() == Trouble::kWrong);
  CHECK(diagnose(1236, "Cannot replicate because the master purged required binary logs.", "read").trouble() ==
        Trouble::kLost);
  CHECK(diagnose(1236, "Slave has more GTIDs than the master has", "read").trouble() == Trouble::kLost);
  CHECK(diagnose(1236, "Binary log is not open", "read").message() ==
        "cannot read: Binary log is not open (1236): the server writes no binlog: start it with log_bin");
}

TEST_CASE("a client's name is the same after a restart, and another one's differs") {
  const ClientName a = client_name("host", "p", "id", 0), b = client_name("host", "p", "id", 0),
                   c = client_name("host", "pi", "d", 0);
  CHECK(a.server_id == b.server_id);
  CHECK(a.uuid == b.uuid);
  CHECK(a.server_id >= 0x80000000u);
  CHECK(a.uuid != c.uuid);
  CHECK(a.uuid.size() == 36);
  CHECK(client_name("host", "p", "id", 7).server_id == 7);
  CHECK(client_name("host", std::string(100, 'x'), "id", 0).label.size() == 60);
}
