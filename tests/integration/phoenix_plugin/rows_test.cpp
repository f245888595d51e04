// phoenix.sink on the real server: values, keys, order, deletes, bad rows, crashes, logins.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "phoenix_under_test.h"
#include "support/temp_folder.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using sluice::testing::InputRow;

namespace {
InputRow row(const std::string& json) { return {json, {}}; }
InputRow deleted(const std::string& json) {
  InputRow r{json, {}};
  r.meta.change = SLUICE_CHANGE_DELETE;
  return r;
}
}  // namespace

TEST_CASE("text columns hold exactly what was written; null is NULL, and so is an empty text", "[rows]") {
  Schema s;
  Sink h(s.options("table: t, key: [id]"));
  h.open();
  h.push(
      R"({"id":9007199254740993,"n":18446744073709551615,"d":999999999999.999998,"z":20.00,"m":-0.00,"e":1E+2,"b":true,"f":false,)"
      R"("x":null,"nul":"null","s":"","tags":["bar","baz"],"rule":{"b":[1,2,{"c":"in"}],"a":123.4321},"note":"Zoë 🛒 \ud83d\ude80 'q' \" end"})");
  CHECK(query("select id, n, d, z, m, e, b, f, x, nul, s, tags, rule, note from " + s.table("t")) ==
        Rows{"9007199254740993|18446744073709551615|999999999999.999998|20.00|-0.00|1E+2|true|false|~|null|~|[\"bar\","
             "\"baz\"]|"
             "{\"b\":[1,2,{\"c\":\"in\"}],\"a\":123.4321}|Zoë 🛒 🚀 'q' \" end"});
  h.push(R"({"id":1,"x":"was"})");
  h.push(R"({"id":1,"x":null})");
  CHECK(query("select x from " + s.table("t") + " where id = '1'") == Rows{"~"});
}

TEST_CASE("only the columns that came are updated, and the order of a key is kept across statements", "[rows]") {
  Schema s;
  Sink h(s.options("table: t, key: [id]"));
  h.open();
  h.push(R"({"id":"0","a":"","b":""})");
  // Three statements; the first shape comes again behind the others for the same keys.
  std::vector<InputRow> rows;
  for (int k = 1; k <= 20; ++k) {
    const std::string id = "{\"id\":\"" + std::to_string(k) + "\"";
    rows.push_back(row(id + R"(,"a":"1","b":"1"})"));
    rows.push_back(row(id + R"(,"b":"2"})"));
    rows.push_back(row(R"({"a":"3",)" + id.substr(1) + "}"));
    rows.push_back(row(id + R"(,"a":"4","b":"4"})"));
    if (k % 2 == 0) rows.push_back(row(id + R"(,"b":"5"})"));
  }
  h.push_batch(rows);
  Rows want;
  for (int k = 1; k <= 20; ++k) want.push_back(std::to_string(k) + (k % 2 == 0 ? "|4|5" : "|4|4"));
  CHECK(query("select id, a, b from " + s.table("t") + " where id <> '0' order by to_number(id)") == want);
  CHECK(h.counter("commits") == 2);
}

// In HBase a NULL is a deletion, and hides what has its own time.
TEST_CASE("a value that was NULL a moment ago is there, in one batch and in the next", "[rows]") {
  Schema s;
  Sink h(s.options("table: t, key: [id]"));
  h.open();
  h.push(R"({"id":"0","a":"x","b":"x"})");
  h.push_batch({row(R"({"id":"1","a":null,"b":"1"})"), row(R"({"id":"1","a":"2","b":"2"})"),
                row(R"({"id":"2","a":"","b":"1"})"), row(R"({"id":"3","a":"1","b":"1"})"),
                row(R"({"id":"3","a":null,"b":"3"})")});
  h.push_batch({row(R"({"id":"2","a":"3","b":"3"})"), row(R"({"id":"3","a":"4"})")});
  CHECK(query("select id, a, b from " + s.table("t") + " order by id") == Rows{"0|x|x", "1|2|2", "2|3|3", "3|4|3"});
  for (int i = 0; i < 10; ++i)
    h.push("{\"id\":\"4\",\"a\":" + std::string(i % 2 == 0 ? "null" : "\"" + std::to_string(i) + "\"") + "}");
  CHECK(query("select a from " + s.table("t") + " where id = '4'") == Rows{"9"});
}

TEST_CASE("composite keys, and keys that Phoenix could confuse", "[rows]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema({"attr", {"sku_id", "attr_id", "v"}, {"sku_id", "attr_id"}});
  h.push_batch({row(R"({"sku_id":1,"attr_id":1,"v":"red","sink_table":"attr"})"),
                row(R"({"sku_id":1,"attr_id":2,"v":"XL","sink_table":"attr"})"),
                row(R"({"sku_id":1,"attr_id":1,"v":"blue","sink_table":"attr"})"),
                row(R"({"sku_id":11,"attr_id":"","v":"x","sink_table":"attr"})"),
                row(R"({"sku_id":"a\u0000b","attr_id":"c","v":"x","sink_table":"attr"})"),
                row(R"({"sku_id":null,"attr_id":"c","v":"x","sink_table":"attr"})")});
  CHECK(query("select sku_id, attr_id, v from " + s.table("attr") + " order by attr_id") == Rows{"1|1|blue", "1|2|XL"});
  REQUIRE(h.rejected().size() == 3);
  CHECK_THAT(h.rejected()[0].reason,
             Equals("the key column \"attr_id\" is an empty text, which Phoenix takes for null"));
  CHECK_THAT(h.rejected()[1].reason, Contains("zero byte"));
  CHECK_THAT(h.rejected()[2].reason, Equals("the key column \"sku_id\" is null"));
}

TEST_CASE("deleted rows are deleted, and come back when they are written again", "[rows]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_batch({deleted(R"({"sink_table":"dim_base_trademark","id":7})")});  // the table is not there yet
  h.push_schema(trademark_schema());
  h.push_batch({row(trademark("1", "a")), row(trademark("2", "b")), row(trademark("3", "c")),
                deleted(R"({"sink_table":"dim_base_trademark","ID":2,"x":1})")});
  CHECK(query("select * from " + s.table("dim_base_trademark") + " order by id") == Rows{"1|a", "3|c"});
  // Deleted and written in one batch, in every order; and in the next batch.
  h.push_batch({deleted(trademark("1", "")), row(R"({"sink_table":"dim_base_trademark","id":1})"),
                row(trademark("4", "x")), deleted(trademark("4", "")), deleted(trademark("3", "")),
                row(trademark("3", "c2")), deleted(trademark("3", "")), row(trademark("3", "c3"))});
  CHECK(query("select * from " + s.table("dim_base_trademark") + " order by id") == Rows{"1|~", "3|c3"});
  h.push_batch({deleted(trademark("3", ""))});
  h.push_batch({row(trademark("3", "c4"))});
  h.push_batch({deleted(R"({"sink_table":"dim_base_trademark","tm_name":"y"})")});
  CHECK(query("select * from " + s.table("dim_base_trademark") + " order by id") == Rows{"1|~", "3|c4"});
  REQUIRE(h.rejected().size() == 1);
  CHECK_THAT(h.rejected()[0].reason, Equals("the row to delete has no key column \"ID\""));
}

TEST_CASE("the bad rows of a batch are found and refused alone", "[rows]") {
  Schema s;
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("narrow") + " (id varchar primary key, v varchar(5), t timestamp)");
  Sink h(s.options());
  h.open();
  h.push_schema(trademark_schema());
  std::vector<InputRow> rows;
  Rows want;
  size_t bad = 0;
  for (int i = 100; i < 400; ++i) {
    const bool too_long = i % 97 == 0 || i == 100 || i == 399, no_time = i == 250;
    rows.push_back(row(R"({"sink_table":"narrow","sink_pk":"id","id":)" + std::to_string(i) + R"(,"v":")" +
                       (too_long ? "123456" : "12345") + R"(","t":")" + (no_time ? "soon" : "2024-01-01 00:00:00") +
                       "\"}"));
    if (i % 10 == 0) rows.push_back(row(trademark(std::to_string(i), "x")));
    if (too_long || no_time) {
      ++bad;
    } else {
      want.push_back(std::to_string(i) + "|12345");
    }
  }
  rows.push_back(row(R"({"sink_table":"narrow","sink_pk":"id","v":"1"})"));
  rows.push_back(row(R"({"v":"1"})"));
  rows.push_back(row(R"({"sink_table":"narrow","sink_pk":"id","id":1,"v":nope})"));
  h.push_batch(rows);
  CHECK(query("select id, v from " + s.table("narrow") + " order by id") == want);
  CHECK(query("select count(*) from " + s.table("dim_base_trademark")) == Rows{"30"});
  REQUIRE(h.rejected().size() == bad + 3);
  const std::string long_text = "ERROR 206 (22003): The data exceeds the max capacity for the data type. V VARCHAR(5)";
  size_t i = 0;
  for (const char* id : {"100", "194", "250", "291", "388", "399"}) {
    CHECK_THAT(h.rejected()[i].json, Contains(std::string("\"id\":") + id + ","));
    if (id != std::string("250"))
      CHECK_THAT(h.rejected()[i].reason, Equals(long_text));
    else
      CHECK_THAT(h.rejected()[i].reason, Contains("soon"));
    ++i;
  }
  CHECK_THAT(h.rejected()[bad].reason, Equals("the row has no key column \"ID\""));
  CHECK_THAT(h.rejected()[bad + 1].reason, Equals("the row does not say its table in \"sink_table\""));
  CHECK_THAT(h.rejected()[bad + 2].reason, Contains("not valid JSON"));
}

TEST_CASE("a whole number is in a DOUBLE or a FLOAT column as it came, or refused", "[rows]") {
  Schema s;
  execute("create schema if not exists " + s.name);
  execute("create table " + s.table("n") + " (id varchar primary key, d double, f float)");
  Sink h(s.options("table: n"));
  h.open();
  const auto numbers = [](const std::string& id, const std::string& d, const std::string& f) {
    return row(R"({"id":")" + id + R"(","d":)" + d + R"(,"f":)" + f + "}");
  };
  h.push_batch({numbers("a", "9007199254740992", "16777216"), numbers("b", "9007199254740993", "1"),
                numbers("c", "1", "16777217"), numbers("d", "-9007199254740994", "-16777218")});
  CHECK(query("select id, d, f from " + s.table("n") + " order by id") ==
        Rows{"a|9007199254740992.0|16777216.0", "d|-9007199254740994.0|-16777218.0"});
  REQUIRE(h.rejected().size() == 2);
  CHECK_THAT(h.rejected()[0].reason,
             Contains("\"9007199254740993\" is a whole number that the column's type would round"));
  CHECK_THAT(h.rejected()[1].reason, Contains("\"16777217\" is a whole number that the column's type would round"));
}

TEST_CASE("a key that is too long for HBase is refused alone", "[rows]") {
  Schema s;
  Sink h(s.options("table: long_keys, key: [a, b]"));
  h.open();
  const auto with_key = [](size_t a, size_t b) {
    return row(R"({"a":")" + std::string(a, 'x') + R"(","b":")" + std::string(b, 'y') + "\"}");
  };
  h.push_batch({with_key(1, 1), with_key(20000, 12768), with_key(20000, 12766), deleted(with_key(32768, 1).payload)});
  CHECK(query("select length(a), length(b) from " + s.table("long_keys") + " order by length(a)") ==
        Rows{"1|1", "20000|12766"});
  REQUIRE(h.rejected().size() == 2);
  CHECK_THAT(h.rejected()[0].reason,
             Equals("the key has 32768 bytes or more (column \"b\"); HBase takes at most 32767"));
  CHECK_THAT(h.rejected()[1].reason,
             Equals("the key has 32768 bytes or more (column \"A\"); HBase takes at most 32767"));
}

TEST_CASE("crash and restart: written again, the same table", "[rows]") {
  Schema s;
  Sink h(s.options());
  h.open();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "a"));
  h.checkpoint();
  h.push(trademark("1", "b"));
  h.push(trademark("2", "b"));
  h.crash();
  h.restore();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "b"));
  h.push(trademark("2", "b"));
  h.checkpoint();
  h.close();
  CHECK(query("select * from " + s.table("dim_base_trademark") + " order by id") == Rows{"1|b", "2|b"});
}

TEST_CASE("a user and a password, right and wrong", "[rows][login]") {
  Gate gate("--basic etl:s3cret");
  Schema s;
  Sink none(s.options("", gate.address())), wrong(s.options("user: etl, password: no", gate.address())),
      right(s.options("user: etl, password: s3cret", gate.address()));
  for (Sink* h : {&none, &wrong}) {
    const sluice::Status status = h->try_open();
    CHECK(status.code() == SLUICE_FATAL);
    CHECK_THAT(status.message(),
               Contains("HTTP status 401: the server does not take this user and password. Check `user`, `password`") &&
                   !Contains("s3cret"));
  }
  right.open();
  right.push_schema(trademark_schema());
  right.push(trademark("1", "a"));
  CHECK(query("select * from " + s.table("dim_base_trademark")) == Rows{"1|a"});
  // The Query Server itself does not look at them.
  Sink direct(s.options("user: any, password: thing"));
  direct.open();
}

TEST_CASE("TLS: the server's certificate must be one that is trusted", "[rows][login]") {
  TempFolder folder;
  const std::string key = folder.path("key.pem"), certificate = folder.path("certificate.pem");
  REQUIRE(std::system(("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext "
                       "subjectAltName=IP:127.0.0.1 -keyout " +
                       key + " -out " + certificate + " 2> /dev/null")
                          .c_str()) == 0);
  Gate gate("--tls " + certificate + " " + key);
  Schema s;
  const std::string url = "https://" + gate.address();
  Sink stranger(s.options("", url));
  const sluice::Status refused = stranger.try_open();
  CHECK(refused.code() == SLUICE_FATAL);
  CHECK_THAT(refused.message(), Contains("certificate") && Contains("`ca_file`"));
  Sink without(s.options("", "https://" + server()));
  const sluice::Status plain = without.try_open();
  CHECK(plain.code() == SLUICE_FATAL);
  CHECK_THAT(plain.message(),
             Contains("Phoenix: https://" + server() + ": ") &&
                 Contains("no TLS is spoken there, write http:// instead of https://. Check `servers`"));
  Sink h(s.options("ca_file: '" + certificate + "'", url));
  h.open();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "a"));
  CHECK(query("select * from " + s.table("dim_base_trademark")) == Rows{"1|a"});
}

TEST_CASE("an address where something else answers", "[rows][login]") {
  // Any web server will do.
  TempFolder folder;
  std::ofstream(folder.path("serve.py"))
      << "import http.server\n"
         "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
         "print(s.server_address[1], flush=True)\n"
         "s.serve_forever()\n";
  std::FILE* out = popen(("exec timeout 20 python3 " + folder.path("serve.py") + " 2> /dev/null").c_str(), "r");
  int port = 0;
  REQUIRE(std::fscanf(out, "%d", &port) == 1);
  Sink h("servers: [\"127.0.0.1:" + std::to_string(port) + "\"]");
  const sluice::Status status = h.try_open();
  CHECK(status.code() == SLUICE_FATAL);
  CHECK_THAT(status.message(), Contains("HTTP status 501, and the answer is not one of a Phoenix Query Server") &&
                                   Contains("Check `servers`"));
  h.stop();
}
