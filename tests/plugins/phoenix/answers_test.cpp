// What a real Query Server has answered (captured_answers.txt), read by the sink's own parsers; and the same bytes
// broken.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "avatica.pb.h"
#include "phoenix/commit_size.h"
#include "phoenix/wire.h"

using namespace sluice::phoenix;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

struct Captured {
  long status = 0;
  std::string body;
};

const std::map<std::string, Captured>& captured() {
  static const std::map<std::string, Captured> all = [] {
    std::map<std::string, Captured> out;
    std::ifstream file(std::string(SLUICE_SOURCE_DIR) + "/tests/plugins/phoenix/captured_answers.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string name, hex;
      Captured c;
      words >> name >> c.status >> hex;
      for (size_t i = 0; i + 1 < hex.size(); i += 2)
        c.body += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      out[name] = c;
    }
    return out;
  }();
  return all;
}

template <class Message>
Failure decode(const std::string& name, const char* answer, Message* out) {
  const Captured& c = captured().at(name);
  return decode_answer(c.status, c.body, answer, out);
}

Failure error(const std::string& name) {
  avatica::Nothing ignored;
  return decode(name, "CommitResponse", &ignored);
}

}  // namespace

TEST_CASE("answers that went well", "[phoenix][wire]") {
  avatica::Nothing nothing;
  CHECK(decode("open", "OpenConnectionResponse", &nothing).ok());
  CHECK(decode("sync", "ConnectionSyncResponse", &nothing).ok());
  CHECK(decode("commit", "CommitResponse", &nothing).ok());
  CHECK(decode("rollback", "RollbackResponse", &nothing).ok());
  CHECK(decode("close_statement", "CloseStatementResponse", &nothing).ok());
  CHECK(decode("close", "CloseConnectionResponse", &nothing).ok());

  avatica::PrepareResponse prepared;
  REQUIRE(decode("prepare", "PrepareResponse", &prepared).ok());
  avatica::CreateStatementResponse created;
  REQUIRE(decode("create_statement", "CreateStatementResponse", &created).ok());
  CHECK(prepared.statement().id() == created.statement_id() + 1);

  avatica::ExecuteResponse made;
  REQUIRE(decode("ddl", "ExecuteResponse", &made).ok());
  CHECK(made.results_size() == 1);

  avatica::ExecuteResponse catalog;
  REQUIRE(decode("catalog", "ExecuteResponse", &catalog).ok());
  REQUIRE(catalog.results_size() == 1);
  const avatica::Frame& frame = catalog.results(0).first_frame();
  CHECK(frame.done());
  std::string text;
  for (const auto& row : frame.rows()) {
    for (const auto& v : row.value()) {
      const avatica::TypedValue& t = v.scalar_value();
      text += (t.null() || t.type() == avatica::NULL_VALUE) ? "~ "
              : t.type() == avatica::STRING                 ? t.string_value() + " "
                                                            : std::to_string(t.number_value()) + " ";
    }
    text += "| ";
  }
  CHECK_THAT(text, Contains("~ ~ ~ ~ u |") && Contains("ID -5 1 ~ ~ |") && Contains("V 12 ~ ~ ~ |") &&
                       Contains("D 3 ~ 2 ~ |"));
}

TEST_CASE("a lost statement answers 200 and is told by the missing counts alone", "[phoenix][wire]") {
  avatica::ExecuteBatchResponse good, lost;
  REQUIRE(decode("batch", "ExecuteBatchResponse", &good).ok());
  CHECK(good.update_counts_size() == 2);
  CHECK(good.update_counts(0) == 1);
  REQUIRE(decode("batch_lost", "ExecuteBatchResponse", &lost).ok());
  CHECK(lost.update_counts_size() == 0);
  CHECK_FALSE(lost.missing_statement());  // the server does not say it
  avatica::ExecuteResponse execute;
  REQUIRE(decode("execute_lost", "ExecuteResponse", &execute).ok());
  CHECK(execute.missing_statement());
  CHECK(execute.results_size() == 0);
}

TEST_CASE("errors, by what is to be done", "[phoenix][wire]") {
  CHECK(error("error_connection").kind == FailureKind::kLost);
  const Failure table = error("error_table");
  CHECK(table.kind == FailureKind::kNotThere);
  CHECK(table.code == 1012);
  CHECK(table.sql_state == "42M03");
  CHECK_THAT(table.text, Equals("ERROR 1012 (42M03): Table undefined. tableName=FE.NOPE"));
  const Failure type = error("error_type");
  CHECK(type.kind == FailureKind::kBadValue);
  CHECK_THAT(type.text, Equals("ERROR 203 (22005): Type mismatch. VARCHAR cannot be coerced to BIGINT"));
  CHECK(error("error_long").kind == FailureKind::kBadValue);
  CHECK_THAT(error("error_null_key").text,
             Equals("ERROR 218 (23018): Constraint violation. FE.CAP.ID may not be null"));
  CHECK(error("error_syntax").kind == FailureKind::kRefused);
  CHECK(error("error_garbage").kind == FailureKind::kBusy);
}

TEST_CASE("errors that were read about, not captured", "[phoenix][wire]") {
  const auto kind = [](const char* message) { return failure_of_answer(message, "", 4294967295u).kind; };
  CHECK(kind("RuntimeException: org.apache.phoenix.schema.MaxMutationSizeExceededException: ERROR 729 (LIM01): "
             "MutationState size is bigger") == FailureKind::kTooMuch);
  CHECK(
      kind("RuntimeException: ERROR 730 (LIM02): MutationState size is bigger than maximum allowed number of bytes") ==
      FailureKind::kTooMuch);
  CHECK(kind("RuntimeException: ERROR 732 (LIM03): The Phoenix Column size is bigger than maximum HBase client key "
             "value allowed size") == FailureKind::kBadValue);
  CHECK(kind("RuntimeException: ERROR 999 (50M01): Unable to allocate enough memory.") == FailureKind::kBusy);
  CHECK(kind("RuntimeException: ERROR 1150 (410M1): Metadata of the table is being changed") == FailureKind::kBusy);
  CHECK(kind("RuntimeException: java.lang.IllegalArgumentException: Row length 40000 is > 32767") ==
        FailureKind::kBadValue);
  CHECK(kind("RuntimeException: ERROR 722 (43M05): Schema does not exist schemaName=X") == FailureKind::kNotThere);
  CHECK(kind("RuntimeException: ERROR 301 (23000): Concurrent modification to table. tableName=T") ==
        FailureKind::kBusy);
  CHECK(kind("RuntimeException: ERROR 101 (08000): Unexpected IO exception.") == FailureKind::kBusy);
  CHECK(kind("RuntimeException: ERROR 6000 (TIM01): Operation timed out.") == FailureKind::kBusy);
  CHECK(kind("RuntimeException: ERROR 1013 (42M04): Table already exists. tableName=T") == FailureKind::kRefused);
  CHECK(kind("PhoenixIOException: org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions for "
             "user 'x'") == FailureKind::kDenied);
  CHECK(
      kind("CommitException: RetriesExhaustedWithDetailsException: Failed 1 action: "
           "org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions (user=x, action=WRITE)") ==
      FailureKind::kDenied);
  CHECK(kind("ERROR 1001 (42I01): Undefined column family. familyName=0") == FailureKind::kNotThere);
  CHECK(kind("SQLException: ERROR 726 (43M10):  Inconsistent namespace mapping properties.") == FailureKind::kUnfit);
  CHECK(kind("ERROR 101 (08000): x IllegalArgumentException: KeyValue size too large") == FailureKind::kBadValue);
  CHECK(kind("ERROR twice (no): nothing that can be read") == FailureKind::kBusy);
  CHECK(kind("ERROR 518 (25502): Mutations are not permitted for a read-only connection.") == FailureKind::kLogin);
  CHECK(kind("") == FailureKind::kBusy);
  CHECK(failure_of_answer(
            "", "java.lang.ClassCastException: class org.apache.phoenix.jdbc.PhoenixStatement cannot be cast", 0)
            .kind == FailureKind::kLost);
}

TEST_CASE("commits become smaller at once, and larger again slowly", "[phoenix]") {
  CommitSize size(5000);
  const auto many = [&](int n) {
    while (n-- > 0) size.went_well();
    return size.rows();
  };
  CHECK(many(1000) == 5000);
  size.was_too_much(5000);
  CHECK(size.rows() == 2500);
  size.was_too_much(2500);
  CHECK(many(63) == 1250);
  CHECK(many(1) == 2500);
  CHECK(many(63) == 2500);
  size.was_too_much(2500);
  CHECK(many(63) == 1250);
  CHECK(many(1) == 2500);
  CHECK(many(64) == 5000);
  for (int i = 0; i < 20; ++i) size.was_too_much(size.rows());
  CHECK(size.rows() == 1);
}

TEST_CASE("answers of others", "[phoenix][wire]") {
  avatica::Nothing out;
  const auto read = [&](long status, std::string_view body) {
    return decode_answer(status, body, "CommitResponse", &out);
  };
  CHECK(read(401, "<html>").kind == FailureKind::kLogin);
  CHECK(read(403, "").kind == FailureKind::kLogin);
  CHECK(read(503, "<html>busy").kind == FailureKind::kAway);
  CHECK(read(502, "").kind == FailureKind::kAway);
  const Failure large = read(413, "<html>Request Entity Too Large");
  CHECK(large.kind == FailureKind::kTooMuch);
  CHECK(large.text ==
        "HTTP status 413 from a gateway, which takes no request of this size: raise its limit (of nginx: "
        "client_max_body_size)");
  CHECK(read(200, "").kind == FailureKind::kNoPhoenix);
  CHECK(read(200, "<html>hello").kind == FailureKind::kNoPhoenix);
  const Failure json = read(200, R"({"response":"commit"})");
  CHECK(json.kind == FailureKind::kNoPhoenix);
  CHECK_THAT(json.text, Contains("protobuf") && Contains("phoenix.queryserver.serialization"));
  // Not the answer to this question.
  CHECK(decode("batch", "CommitResponse", &out).kind == FailureKind::kNoPhoenix);
}

TEST_CASE("cut and changed answers never pass for another success", "[phoenix][wire]") {
  for (const auto& [name, c] : captured()) {
    for (size_t n = 0; n < c.body.size(); ++n) {
      avatica::Nothing out;
      CHECK_FALSE(decode_answer(c.status, c.body.substr(0, n), "CommitResponse", &out).ok());
    }
    std::string changed = c.body;
    for (size_t i = 0; i < changed.size(); ++i) {
      for (const unsigned char flip : {0x01, 0x80, 0xFF}) {
        changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
        avatica::ExecuteBatchResponse out;
        (void)decode_answer(c.status, changed, "ExecuteBatchResponse", &out);
        changed[i] = c.body[i];
      }
    }
  }
}

TEST_CASE("a request is what Avatica's own client sends", "[phoenix][wire]") {
  const auto hex = [](const std::string& bytes) {
    std::string out;
    for (const char c : bytes) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
      out += two;
    }
    return out;
  };
  // Captured from Python's phoenixdb.
  avatica::ExecuteBatchRequest batch;
  batch.set_connection_id("11111111-2222-3333-4444-555555555555");
  batch.set_statement_id(6);
  for (const auto& row : {std::pair("4", "four"), std::pair("5", "")}) {
    auto* update = batch.add_updates();
    for (const char* text : {row.first, row.second}) {
      auto* v = update->add_parameter_values();
      v->set_type(avatica::STRING);
      v->set_string_value(text);
    }
  }
  CHECK(hex(encode_request("ExecuteBatchRequest", batch)) ==
        "0a3d6f72672e6170616368652e63616c636974652e617661746963612e70726f746f2e5265717565737473244578656375746542617463"
        "685265717565737412480a2431"
        "313131313131312d323232322d333333332d343434342d35353535353535353535353510061a110a0508151a01340a0808151a04666f75"
        "721a0b0a0508151a01350a02"
        "0815");
  avatica::CommitRequest commit;
  commit.set_connection_id("11111111-2222-3333-4444-555555555555");
  CHECK(hex(encode_request("CommitRequest", commit)) ==
        "0a376f72672e6170616368652e63616c636974652e617661746963612e70726f746f2e526571756573747324436f6d6d69745265717565"
        "737412260a243131313131313131"
        "2d323232322d333333332d343434342d353535353535353535353535");
}
