// phoenix.sink on the real server: the ways in which rows are lost, or come late, while every answer looks fine.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "phoenix_under_test.h"

using namespace sluice::tests;
using Catch::Matchers::Contains;
using sluice::testing::InputRow;

namespace {

std::vector<InputRow> numbered(int from, int to, const std::string& value) {
  std::vector<InputRow> rows;
  for (int i = from; i < to; ++i) rows.push_back({trademark(std::to_string(i), value), {}});
  return rows;
}
std::string count_of(const Schema& s, const std::string& value) {
  return query("select count(*) from " + s.table("dim_base_trademark") + " where tm_name = '" + value + "'").at(0);
}
void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

}  // namespace

// The tests' server forgets a statement after 3 s and a connection after 6 s without use.
TEST_CASE("an expired statement and an expired connection: written all the same", "[loss]") {
  // By default a connection for rows is not used for longer than five seconds, so only its statements can expire here;
  // its own expiry is in outage_test.cpp.
  for (const char* mode : {"write_time: connection", "write_time: server"}) {
    INFO(mode);
    Schema s;
    Sink h(s.options(mode));
    h.open();
    h.push_schema(trademark_schema());
    push_through(h, numbered(0, 10, "first"));
    pause_ms(4500);
    push_through(h, numbered(10, 20, "statement"));
    CHECK(h.counter("rows_again") == 10);
    pause_ms(7500);
    push_through(h, numbered(20, 30, "connection"));
    CHECK(count_of(s, "first") == "10");
    CHECK(count_of(s, "statement") == "10");
    CHECK(count_of(s, "connection") == "10");
    CHECK(h.counter("reconnects") == 2);
    CHECK(h.rejected().empty());
    // The mode with no time is never given a new connection for its age: rows met the one that was forgotten.
    if (std::string(mode) == "write_time: server") CHECK(h.counter("rows_again") == 20);
  }
}

TEST_CASE("a connection that is cut over and over: all rows are there, and nothing piles up", "[loss]") {
  Gate gate;
  Schema s;
  Sink h(s.options("", gate.address()));
  h.open();
  h.push_schema(trademark_schema());
  push_through(h, numbered(0, 10, "x"));
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  for (int n = 1; n <= 50; ++n) {
    gate.tell("close");
    push_through(h, numbered(n * 10, n * 10 + 10, "x"));
    CHECK(h.counter("reconnects") == n);
  }
  CHECK(open_files() <= before);
  CHECK(query("select count(*) from " + s.table("dim_base_trademark")) == Rows{"510"});
  CHECK(h.rejected().empty());
}

// The tests' server has phoenix.mutate.maxSize 3000.
TEST_CASE("more rows in a commit than the server allows: it gets smaller ones, nothing is lost", "[loss]") {
  Schema s;
  Sink h(s.options("batch_rows: 100000, batch_bytes: 64MiB"));
  h.open();
  h.push_schema(trademark_schema());
  push_through(h, numbered(0, 8000, "x"));
  CHECK(count_of(s, "x") == "8000");
  CHECK(h.counter("too_large_commits") >= 1);
  CHECK(h.counter("commits") >= 3);
  const auto before = h.counter("too_large_commits");
  push_through(h, numbered(8000, 16000, "x"));
  CHECK(h.counter("too_large_commits") == before);  // it has learned
  CHECK(query("select count(*) from " + s.table("dim_base_trademark")) == Rows{"16000"});
  CHECK(h.rejected().empty());
}

TEST_CASE("requests that are too large for a gateway: smaller ones, and a row that is too large alone is refused",
          "[loss]") {
  Gate gate;
  Schema s;
  Sink h(s.options("", gate.address()));
  h.open();
  h.push_schema(trademark_schema());
  gate.tell("limit 20000");
  std::vector<InputRow> rows = numbered(0, 100, std::string(1000, 'x'));
  rows[42] = {trademark("42", std::string(30000, 'y')), {}};
  CHECK(push_through(h, rows) == 0);
  CHECK(h.counter("too_large_commits") >= 1);
  CHECK(query("select count(*), max(tm_name) from " + s.table("dim_base_trademark")) ==
        Rows{"99|" + std::string(1000, 'x')});
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.rejected()[0].json == trademark("42", std::string(30000, 'y')));
  CHECK(h.rejected()[0].reason == "http://" + gate.address() +
                                      ": HTTP status 413 from a gateway, which takes no request of this size: raise "
                                      "its limit (of nginx: client_max_body_size)");
  CHECK(h.note().empty());
}

TEST_CASE("commits stay below batch_rows and batch_bytes", "[loss]") {
  Schema s;
  Sink rows(s.options("batch_rows: 100"));
  rows.open();
  rows.push_schema(trademark_schema());
  rows.push_batch(numbered(0, 1000, "rows"));
  CHECK(rows.counter("commits") == 10);
  Sink bytes(s.options("batch_bytes: 10KiB"));
  bytes.open();
  bytes.push_schema(trademark_schema());
  bytes.push_batch(numbered(0, 100, std::string(1000, 'y')));
  CHECK(bytes.counter("commits") >= 9);
  CHECK(bytes.counter("commits") <= 12);
  CHECK(query("select count(*) from " + s.table("dim_base_trademark")) == Rows{"1000"});
}

TEST_CASE("requests and answers that are lost on the way: sent again, nothing is missing", "[loss]") {
  Gate gate;
  Schema s;
  Sink h(s.options("timeout: 5s", gate.address()));
  h.open();
  h.push_schema(trademark_schema());
  push_through(h, numbered(0, 10, "x"));
  int n = 10;
  for (const char* what : {"lose CommitRequest", "drop CommitRequest", "lose ExecuteBatchRequest",
                           "drop ExecuteBatchRequest", "close", "lose OpenConnectionRequest", "drop PrepareRequest",
                           "lose CommitRequest 3", "drop PrepareAndExecuteRequest 2"}) {
    INFO(what);
    gate.tell(what);
    if (std::string(what).find("Open") != std::string::npos || std::string(what).find("Prepare") != std::string::npos)
      gate.tell("close");
    const int64_t before = h.counter("rows_again");
    push_through(h, numbered(n, n + 10, "x"));
    CHECK(h.counter("rows_again") >= before + 10);
    n += 10;
    CHECK(query("select count(*) from " + s.table("dim_base_trademark")) == Rows{std::to_string(n)});
    CHECK(h.note().empty());
  }
  CHECK(h.rejected().empty());
}

TEST_CASE("a connection that is refused while rows wait is no row's fault", "[loss]") {
  Gate gate;
  Schema s;
  Sink h(s.options("", gate.address()));
  h.open();
  h.push_schema(trademark_schema());
  push_through(h, numbered(0, 10, "x"));
  int n = 10;
  for (const char* reason : {"ERROR 203 (22005): Type mismatch.", "ERROR 601 (42P00): Syntax error."}) {
    INFO(reason);
    gate.tell(std::string("refuse OpenConnectionRequest ") + reason);
    gate.tell("close");
    CHECK(push_through(h, numbered(n, n + 10, "x")) > 0);
    n += 10;
    CHECK(query("select count(*) from " + s.table("dim_base_trademark")) == Rows{std::to_string(n)});
  }
  CHECK(h.rejected().empty());
}

// A statement's number means something else to a server that has been restarted, or to another connection.
TEST_CASE("no batch is ever sent over another TCP connection than the one that its statement was made on", "[loss]") {
  Gate gate;
  Schema s;
  Sink h(s.options("", gate.address()));
  h.open();
  h.push_schema(trademark_schema());
  push_through(h, numbered(0, 10, "x"));
  const std::string before = gate.tell("counts");
  gate.tell("close");
  push_through(h, numbered(10, 20, "x"));
  const std::string after = gate.tell("counts");
  const auto number = [](const std::string& counts, const std::string& name) {
    const size_t at = counts.find("\"" + name + "\": ");
    return at == std::string::npos ? 0 : std::stoi(counts.substr(at + name.size() + 4));
  };
  CHECK(number(after, "ExecuteBatchRequest") == number(before, "ExecuteBatchRequest") + 1);
  CHECK(number(after, "PrepareRequest") == number(before, "PrepareRequest") + 1);
  CHECK(number(after, "OpenConnectionRequest") >= number(before, "OpenConnectionRequest") + 1);
}

TEST_CASE("what an older connection commits late does not overwrite newer rows", "[loss]") {
  Schema s;
  Sink maker(s.options());
  maker.open();
  maker.push_schema(trademark_schema());
  sluice::phoenix::ChannelOptions options;
  options.connect_timeout = options.timeout = std::chrono::seconds(20);
  options.stopping = [] { return false; };
  const std::string url = "http://" + server(),
                    sql = "upsert into \"" + s.name + "\".\"DIM_BASE_TRADEMARK\" (ID, TM_NAME) values (?, ?)";
  const auto row = [](const char* name) {
    sluice::phoenix::avatica::UpdateBatch out;
    for (const char* text : {"1", name}) {
      auto* v = out.add_parameter_values();
      v->set_type(sluice::phoenix::avatica::STRING);
      v->set_string_value(text);
    }
    return out;
  };
  std::unique_ptr<sluice::phoenix::Session> old, plain;
  REQUIRE(sluice::phoenix::Session::open(url, &options, 0, &plain).ok());
  int64_t now = 0;
  REQUIRE(plain->server_time(&now).ok());
  REQUIRE(sluice::phoenix::Session::open(url, &options, now, &old).ok());
  const auto hung = row("old, late");
  REQUIRE(old->execute_batch(sql, true, {&hung}).ok());  // and its commit hangs
  Sink h(s.options());
  h.open();
  h.push(trademark("1", "new"));
  REQUIRE(old->commit().ok());
  CHECK(query("select * from " + s.table("dim_base_trademark")) == Rows{"1|new"});
  // With `write_time: server` it does: that is what the option is there for.
  const auto without = row("late, without a time");
  REQUIRE(plain->execute_batch(sql, true, {&without}).ok());
  REQUIRE(plain->commit().ok());
  CHECK(query("select * from " + s.table("dim_base_trademark")) == Rows{"1|late, without a time"});
}

// In HBase the newest time wins, whichever came last.
TEST_CASE("a restart with the servers' clock behind the run before: what is written later wins", "[loss]") {
  Gate gate;
  Schema s;
  Sink h(s.options("", gate.address()));
  gate.tell("clock 3600000");
  h.open();
  h.push_schema(trademark_schema());
  h.push(trademark("1", "first"));
  h.checkpoint();
  pause_ms(3000);
  push_through(h, {{trademark("2", "first"), {}}});
  h.checkpoint();
  gate.tell("close");  // a connection with a later time, after the last checkpoint
  pause_ms(500);
  push_through(h, {{trademark("3", "first"), {}}});
  h.crash();
  gate.tell("clock 0");
  h.restore();
  h.push_schema(trademark_schema());
  push_through(h, {{trademark("1", "second"), {}}, {trademark("2", "second"), {}}, {trademark("3", "second"), {}}});
  h.checkpoint();
  CHECK(query("select * from " + s.table("dim_base_trademark") + " order by id") ==
        Rows{"1|second", "2|second", "3|second"});
  bool told = false;
  for (const auto& line : h.log())
    told = told || line.text.find("ms behind the rows written before the restart") != std::string::npos;
  CHECK(told);
  // And once more: the times go on from there.
  h.crash();
  h.restore();
  h.push_schema(trademark_schema());
  push_through(h, {{trademark("1", "third"), {}}});
  CHECK(query("select tm_name from " + s.table("dim_base_trademark") + " where id = '1'") == Rows{"third"});
  // With a clock that is right nothing of this is needed.
  Schema other;
  Sink right(other.options());
  right.open();
  right.push_schema(trademark_schema());
  right.push(trademark("1", "a"));
  right.checkpoint();
  right.crash();
  right.restore();
  for (const auto& line : right.log()) CHECK_THAT(line.text, !Contains("behind"));
}

TEST_CASE("a restart with more lanes and the clock behind: a lane that is new knows the times of the old ones",
          "[loss]") {
  Gate gate;
  Schema s;
  const std::string options = s.options("", gate.address());
  Sink old(options);
  old.set_id(s.name);  // the name by which lanes know each other
  gate.tell("clock 3600000");
  old.open();
  old.push_schema(trademark_schema());
  push_through(old, {{trademark("1", "first"), {}}, {trademark("2", "first"), {}}});
  old.checkpoint();
  old.crash();
  gate.tell("clock 0");
  Sink added(options);
  added.set_id(s.name);
  added.set_lane(1, 2);
  old.set_lane(0, 2);
  const sluice::Status alone = added.try_open();
  CHECK(alone.code() == SLUICE_RETRY);
  CHECK(alone.message() == "waiting for the other lanes to say how far the times of their rows reach");
  old.restore();
  added.open();
  for (Sink* lane : {&old, &added}) lane->push_schema(trademark_schema());
  push_through(added, {{trademark("1", "second"), {}}});
  push_through(old, {{trademark("2", "second"), {}}});
  const std::string rows = "select * from " + s.table("dim_base_trademark") + " order by id";
  CHECK(query(rows) == Rows{"1|second", "2|second"});
  // Each of them keeps it, and so do fewer lanes after them.
  for (Sink* lane : {&old, &added}) lane->checkpoint(), lane->crash();
  added.set_lane(0, 1);
  added.restore();
  added.push_schema(trademark_schema());
  push_through(added, {{trademark("1", "third"), {}}});
  CHECK(query(rows) == Rows{"1|third", "2|second"});
}

TEST_CASE("with several servers the next one is used", "[loss]") {
  Gate gate;
  Schema s;
  Sink h("{servers: ['127.0.0.1:1', '" + gate.address() + "', '" + server() + "'], schema: " + s.name + "}");
  h.open();
  h.push_schema(trademark_schema());
  push_through(h, numbered(0, 10, "x"));
  CHECK(gate.tell("counts").find("CommitRequest") != std::string::npos);
  gate.tell("drop CommitRequest 1000");
  CHECK(push_through(h, numbered(10, 20, "x")) >= 1);
  CHECK(query("select count(*) from " + s.table("dim_base_trademark")) == Rows{"20"});
  bool told = false;
  for (const auto& line : h.log())
    told = told || line.text.find("goes on with the Query Server http://" + server()) != std::string::npos;
  CHECK(told);
}
