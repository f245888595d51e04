// What servers answered, byte for byte: 18.16.1, and a 26.9 engine.
#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "deduplication_window.h"
#include "dependent_views.h"
#include "operator_page.h"
#include "server.h"
#include "server_error.h"
#include "table_layout.h"

namespace sluice::clickhouse {
namespace {

TEST_CASE("exceptions of 18.16") {
  ServerError e = read_server_error(
      404, 0,
      "Code: 60, e.displayText() = DB::Exception: Table default.nope doesn't exist., e.what() = DB::Exception\n");
  CHECK(e.code == 60);
  CHECK(e.text == "code 60: Table default.nope doesn't exist.");
  CHECK(e.what == ErrorClass::kFatal);
  e = read_server_error(
      401, 0, "Code: 193, e.displayText() = DB::Exception: Wrong password for user etl, e.what() = DB::Exception\n");
  CHECK(e.text == "code 193: Wrong password for user etl");
  CHECK(e.what == ErrorClass::kFatal);
  e = read_server_error(500, 0,
                        "Code: 252, e.displayText() = DB::Exception: Too many parts (20). Merges are processing "
                        "significantly slower than inserts., "
                        "e.what() = DB::Exception\n");
  CHECK(e.what == ErrorClass::kTransient);
  e = read_server_error(500, 0,
                        "Code: 27, e.displayText() = DB::Exception: Cannot parse input: expected , before: "
                        ".5,\"ts\":1}\\n: (at row 1)\n, e.what() = "
                        "DB::Exception\n");
  CHECK(e.what == ErrorClass::kBadRow);
  CHECK(e.text == "code 27: Cannot parse input: expected , before: .5,\"ts\":1}\\n: (at row 1)");
  e = read_server_error(
      500, 0, "Code: 16, e.displayText() = DB::Exception: No such column z in table n, e.what() = DB::Exception");
  CHECK(e.what == ErrorClass::kSchema);
  e = read_server_error(500, 0,
                        "Code: 164, e.displayText() = DB::Exception: Cannot insert into table in readonly mode, "
                        "e.what() = DB::Exception\n");
  CHECK(e.what == ErrorClass::kFatal);
}

TEST_CASE("exceptions of 26.9") {
  ServerError e = read_server_error(
      404, 60,
      "Code: 60. DB::Exception: Table default.nope does not exist. Maybe you meant system.one?. (UNKNOWN_TABLE)\n");
  CHECK(e.text == "code 60: Table default.nope does not exist. Maybe you meant system.one?. (UNKNOWN_TABLE)");
  e = read_server_error(500, 252,
                        "Code: 252. DB::Exception: Too many partitions for single INSERT block (more than 100). The "
                        "limit is controlled by "
                        "'max_partitions_per_insert_block' setting.");
  CHECK(e.what == ErrorClass::kTooManyPartitions);
  e = read_server_error(400, 117,
                        "Code: 117. DB::Exception: Code: 117. DB::Exception: Type of 'a' must be UInt8, not UInt64: "
                        "(while reading header): (in "
                        "file/uri /dev/shm/tmpyelw0n8e): While executing");
  CHECK(e.what == ErrorClass::kSchema);
  CHECK(e.text.rfind("code 117: Type of 'a' must be UInt8, not UInt64", 0) == 0);
  e = read_server_error(403, 516,
                        "Code: 516. DB::Exception: etl: Authentication failed: password is incorrect, or there is no "
                        "user with such name. "
                        "(AUTHENTICATION_FAILED)\n");
  CHECK(e.what == ErrorClass::kFatal);
  CHECK(way_out(e.code) == "check `user` and `password`");
  // The code is in the header alone.
  CHECK(read_server_error(500, 241, "").what == ErrorClass::kTransient);
  // LOGICAL_ERROR, and one of tomorrow: nobody knows whether a row is to blame, or whether it will pass.
  CHECK(read_server_error(500, 49, "").what == ErrorClass::kUnknown);
  CHECK(read_server_error(500, 12345, "").what == ErrorClass::kUnknown);
  CHECK(read_server_error(500, 12345, "").unknown_outcome);
}

TEST_CASE("a code that nobody knows is tried again for a while, then it is the end") {
  using std::chrono::seconds;
  UnknownErrors errors(seconds(120));
  const ServerError unknown = read_server_error(500, 0, "Code: 12345. DB::Exception: Something new. (NEW)\n");
  const UnknownErrors::Clock::time_point begin{};
  for (int s = 0; s < 120; s += 10) CHECK(errors.judge(unknown, begin + seconds(s)).what == ErrorClass::kTransient);
  // Others in between change nothing.
  CHECK(errors.judge(read_server_error(500, 252, ""), begin + seconds(500)).what == ErrorClass::kTransient);
  const ServerError end = errors.judge(unknown, begin + seconds(125));
  CHECK(end.what == ErrorClass::kFatal);
  CHECK(end.text ==
        "code 12345: Something new. (NEW): so said the server 13 times in 125 s. This code is not known to pass by "
        "itself: see the server's log for its cause");
  errors.forget();
  CHECK(errors.judge(unknown, begin + seconds(130)).what == ErrorClass::kTransient);
  // A few slow tries are not enough.
  CHECK(errors.judge(unknown, begin + seconds(900)).what == ErrorClass::kTransient);
}

TEST_CASE("what a table remembers of its inserts") {
  DeduplicationWindow w;
  w.setting = "replicated_deduplication_window";
  w.inserts = 100;
  CHECK(why_forgotten(w, {50, 1000}, {150, 90000}, 1).empty());
  CHECK(why_forgotten(w, {50, 1000}, {151, 1000}, 1) ==
        "it has got 101 inserts since, and remembers the last 100 (replicated_deduplication_window)");
  CHECK(why_forgotten(w, {50, 1000}, {148, 1000}, 3).empty());
  CHECK_FALSE(why_forgotten(w, {50, 1000}, {149, 1000}, 3).empty());
  CHECK(why_forgotten(w, {50, 1000}, {20, 1000}, 1).empty());
  w.seconds = 3600;
  CHECK(why_forgotten(w, {50, 1000}, {51, 4600}, 1).empty());
  CHECK(why_forgotten(w, {50, 1000}, {51, 4601}, 1) ==
        "that was 3601 s ago, and it remembers inserts for 3600 s (replicated_deduplication_window_seconds)");
  CHECK(is_shared_engine("ReplicatedMergeTree"));
  CHECK(is_shared_engine("SharedReplacingMergeTree"));
  CHECK_FALSE(is_shared_engine("ReplacingMergeTree"));
}

TEST_CASE("where a view writes to, from its statement") {
  const auto target = [](const char* query) {
    std::string database, table;
    read_view_target(query, &database, &table);
    return database + "|" + table;
  };
  CHECK(target("CREATE MATERIALIZED VIEW default.v2 TO default.tgt3 (`g` UInt8, `c` UInt64)") == "default|tgt3");
  CHECK(target("CREATE MATERIALIZED VIEW d.`v TO x` UUID '1-2' TO `other db`.`t\\`x` (`g` UInt8)") == "other db|t`x");
  CHECK(target("CREATE MATERIALIZED VIEW v TO t (`g` UInt8)") == "|t");
  CHECK(target("CREATE MATERIALIZED VIEW default.v1 (`TO` UInt8) ENGINE = SummingMergeTree ORDER BY g") == "|");
}

TEST_CASE("answers that no ClickHouse gave, or not to the end") {
  CHECK(read_server_error(502, 0, "<html>Bad Gateway</html>").what == ErrorClass::kTransient);
  // Pages are not for messages.
  for (const char* page : {"<html>Bad Gateway</html>", "\r\n <!DOCTYPE html>\n<html><head>"}) {
    CHECK(read_server_error(502, 0, page).text ==
          "HTTP status 502 with a web page, which is not from ClickHouse: check `servers` and what is in between");
    CHECK(shown_answer(page) == "a web page");
  }
  CHECK(shown_answer("1.2\tUTC") == "\"1.2\tUTC\"");
  CHECK(read_server_error(404, 0, "not here").what == ErrorClass::kFatal);
  CHECK(read_server_error(404, 0, "not here").text == "HTTP status 404: not here");
  const ServerError large = read_server_error(413, 0, "<html><title>413 Request Entity Too Large</title></html>");
  CHECK(large.what == ErrorClass::kTooLarge);
  CHECK_FALSE(large.unknown_outcome);
  CHECK(large.text ==
        "HTTP status 413 from a gateway, which takes no request of this size: raise its limit (of nginx: "
        "client_max_body_size)");
  CHECK(read_server_error(429, 0, "").what == ErrorClass::kTransient);
  // 200, and then something went wrong: an error at the end of the data.
  ServerError e = read_server_error(200, 0,
                                    "1\t0\n2\t0\nCode: 395, e.displayText() = DB::Exception: Value passed to 'throwIf' "
                                    "function is non zero, e.what() = DB::Exception\n");
  CHECK(e.code == 395);
  e = read_server_error(200, 0, "something else");
  CHECK(e.what == ErrorClass::kTransient);
  CHECK(e.unknown_outcome);
  CHECK(exception_code("1\n2\n") == 0);
  CHECK(exception_code("") == 0);
}

TEST_CASE("columns and keys of system.columns and system.tables") {
  std::shared_ptr<const TableLayout> t;
  const std::string columns =
      "stt\tDateTime\t\nedt\tDateTime(\\'Asia/Shanghai\\')\t\nc\tUInt64\tDEFAULT\ne\tEnum8(\\'a\\\\\\'b\\' = "
      "1)\t\nts\tUInt64\t\nm\tUInt8\tMATERIALIZED\n";
  const std::string table =
      "ReplacingMergeTree\tReplacingMergeTree(ts) PARTITION BY (toYYYYMMDD(stt), c) ORDER BY (stt, edt) SETTINGS "
      "index_granularity = "
      "8192\t(toYYYYMMDD(stt), c)\tstt, edt\n";
  REQUIRE(read_layout(columns, table, "UTC", 0, "default.w", &t).is_ok());
  REQUIRE(t->columns.size() == 5);
  CHECK(t->columns[1].type.clock->name() == "Asia/Shanghai");
  CHECK(t->columns[2].has_default);
  CHECK(t->columns[3].type.enum_values[0].first == "a'b");
  CHECK(t->computed == std::vector<std::string>{"m"});
  CHECK(t->partition.columns() == std::vector<size_t>{0, 2});
  CHECK(t->find("ts") == 4);
  CHECK(t->find("m") == -1);
  CHECK(t->named_in("").empty());
  CHECK(t->named_in("cityHash64(ts), `ts`, ts(1), 'ts', m, " + t->columns[0].name + " + 1") ==
        std::vector<uint32_t>{4, 0});
  std::shared_ptr<const TableLayout> other;
  REQUIRE(read_layout(columns, table, "Asia/Shanghai", 0, "default.w", &other).is_ok());
  CHECK(t->signature != other->signature);
  const Status missing = read_layout("", "", "UTC", 0, "default.w on http://ch:8123", &t);
  CHECK(missing.code() == SLUICE_FATAL);
  CHECK(missing.message() ==
        "the table default.w on http://ch:8123 is not there, or the user may not see it: create it, give its statement "
        "in `create`, or grant "
        "the user SELECT on it and on system.columns and system.tables");
  CHECK(read_layout("a\tDateTime(\\'Mars/Olympus\\')\t\n", table, "UTC", 0, "default.w", &t).message() ==
        "column a of default.w is in the time zone Mars/Olympus, which this machine does not know: install its time "
        "zone database (package "
        "tzdata)");
}

TEST_CASE("engines") {
  ReplacingEngine e = read_replacing_engine("ReplacingMergeTree",
                                            "ReplacingMergeTree(ts) PARTITION BY toYYYYMMDD(stt) ORDER BY (stt, edt)");
  CHECK(e.is_replacing);
  CHECK(e.version == "ts");
  CHECK(e.deleted.empty());
  e = read_replacing_engine("ReplacingMergeTree", "ReplacingMergeTree(ts, `is deleted`) ORDER BY id");
  CHECK(e.version == "ts");
  e = read_replacing_engine("ReplacingMergeTree", "ReplacingMergeTree(ts, gone) ORDER BY id");
  CHECK(e.deleted == "gone");
  e = read_replacing_engine(
      "ReplicatedReplacingMergeTree",
      "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/a,(b)', '{replica}', ver, del) ORDER BY id");
  CHECK(e.version == "ver");
  CHECK(e.deleted == "del");
  e = read_replacing_engine("ReplacingMergeTree", "ReplacingMergeTree ORDER BY id SETTINGS index_granularity = 8192");
  CHECK(e.is_replacing);
  CHECK(e.version.empty());
  e = read_replacing_engine("ReplacingMergeTree", "ReplacingMergeTree(d, (id, d), 8192, ver)");
  CHECK(e.version == "ver");
  CHECK_FALSE(read_replacing_engine("MergeTree", "MergeTree ORDER BY id").is_replacing);
}

TEST_CASE("settings of a table") {
  const std::string full =
      "MergeTree ORDER BY a SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 100";
  CHECK(table_setting(full, "non_replicated_deduplication_window") == "100");
  CHECK(table_setting(full, "replicated_deduplication_window").empty());
  CHECK(table_setting(full, "index_granularity") == "8192");
  CHECK(table_setting("", "x").empty());
}

TEST_CASE("the operator's page names the class of every code") {
  const std::pair<const char*, ErrorClass> rows[] = {{"| passes by itself", ErrorClass::kTransient},
                                                     {"| a row is to blame", ErrorClass::kBadRow},
                                                     {"| the table has other", ErrorClass::kSchema},
                                                     {"| stays as it is", ErrorClass::kFatal}};
  std::map<int, ErrorClass> page;
  std::istringstream lines(kClickHouseSinkDoc);
  for (std::string line; std::getline(lines, line);)
    for (const auto& [begin, what] : rows) {
      if (line.rfind(begin, 0) != 0) continue;
      std::istringstream codes(line.substr(line.rfind('|', line.size() - 2) + 1));
      for (int code = 0; codes >> code; codes.ignore(1)) page[code] = what;
    }
  CHECK(page.size() > 80);
  for (int code = 1; code < 2000; ++code) {
    INFO(code);
    const auto said = page.find(code);
    CHECK(read_server_error(500, code, "").what == (said == page.end() ? ErrorClass::kUnknown : said->second));
  }
}

TEST_CASE("the setting that was meant") {
  const std::set<std::string> known{"max_memory_usage", "max_threads", "insert_quorum"};
  CHECK(nearest_name("insert_qorum", known) == "insert_quorum");
  CHECK(nearest_name("max_thread", known) == "max_threads");
  CHECK(nearest_name("something_else_altogether", known).empty());
}

TEST_CASE("fields of a TabSeparated answer") {
  CHECK(read_tsv("a\\tb\\n\\\\\tc\n\\'\t\n") == std::vector<std::vector<std::string>>{{"a\tb\n\\", "c"}, {"'", ""}});
  CHECK(read_tsv("").empty());
  CHECK(quoted_text("a'b\\") == "'a\\'b\\\\'");
  CHECK(quoted_name("a`b") == "`a\\`b`");
}

TEST_CASE("addresses carry what they must, and nothing that breaks them") {
  CHECK(url_with("http://ch:8123", {{"query", "insert into `a` & b\n"}, {"x", "é"}}) ==
        "http://ch:8123/?query=insert%20into%20%60a%60%20%26%20b%0A&x=%C3%A9");
  CHECK(url_with("http://proxy/clickhouse", {{"a", "1"}}) == "http://proxy/clickhouse?a=1");
}

}  // namespace
}  // namespace sluice::clickhouse
