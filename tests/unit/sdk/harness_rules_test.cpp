// Breaches of the contract, each found and named; and what a declared field looks like.
#include <catch2/catch.hpp>

#include <functional>

#include <sluice/testing/harness.hpp>

using Catch::Matchers::Message;
using sluice::Status;
using sluice::Value;
using sluice::testing::ContractBreach;
using sluice::testing::Harness;

namespace {

struct Config {};
class Rules;
std::function<Status(Rules&, const sluice::Batch&, sluice::Output&)> act;

class Rules final : public sluice::BroadcastTransform<Config> {
 public:
  static constexpr const char* kType = "test.rules";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Breaks what the test says.";
  static sluice::Options<Config> options() { return {}; }
  Status process(const sluice::Batch& in, sluice::Output& out) override { return act(*this, in, out); }
  Status process_broadcast(const sluice::Batch&, sluice::Output&) override { return table.put("a", 1); }
  Status on_timer(uint32_t, std::string_view, int64_t, uint64_t, sluice::Output& out) override {
    out.forward(0);
    return Status::ok();
  }
  sluice::BroadcastState<int64_t> table{this, "table"};
  sluice::ValueState<std::string> value{this, "value"};
  std::string_view kept;
};

void check_breach(const std::string& text, std::function<Status(Rules&, const sluice::Batch&, sluice::Output&)> f) {
  INFO(text);
  act = std::move(f);
  Harness<Rules> h;
  h.open();
  CHECK_THROWS_MATCHES(h.push(R"({"a":1})", {"k"}), ContractBreach, Message("test.rules: " + text));
}

Status emit_value(const Rules& op, const sluice_value& body) {
  sluice_rows rows{};
  rows.struct_size = sizeof rows;
  rows.size = 1;
  rows.body = &body;
  return sluice::detail::call([&](sluice_error* e) { return op.context()->emit(op.context(), 0, &rows, e); });
}

}  // namespace

TEST_CASE("breaches are found and named") {
  check_breach("broadcast state `table` was written in process(), which is not the broadcast port: lanes would differ",
               [](Rules& op, const auto&, auto&) { return op.table.put("a", 2); });
  check_breach("emit() with from_row 1 of a batch of 1 rows", [](Rules&, const auto&, auto& out) {
    out.emit(1).set("a", Value::null());
    return Status::ok();
  });
  check_breach("forward() of row 7 of a batch of 1 rows", [](Rules&, const auto&, auto& out) {
    out.forward(7);
    return Status::ok();
  });
  check_breach("forward() to output port 1, which was not declared", [](Rules&, const auto&, auto& out) {
    out.forward(0, 1);
    return Status::ok();
  });
  check_breach("reject() of row 3 of a batch of 1 rows", [](Rules&, const auto&, auto& out) { return out.reject(3, "x"); });
  check_breach("emit() of a body that is no map, but a value of type 4",
               [](Rules& op, const auto&, auto&) { return emit_value(op, Value::string("x").raw()); });
  check_breach("emit() of JSON text that is broken: expected `\"` at byte 1",
               [](Rules& op, const auto&, auto&) { return emit_value(op, Value::json_object("{").raw()); });
  check_breach("emit() of `12x` is not a JSON number in `n`", [](Rules&, const auto&, auto& out) {
    out.emit(0).set("n", Value::number("12x"));
    return Status::ok();
  });
  check_breach("emit() of a string that is not UTF-8 in `s`", [](Rules&, const auto&, auto& out) {
    out.emit(0).set("s", Value::string("\xC3"));
    return Status::ok();
  });
  check_breach("body() of an operator that did not say in needs() that it reads whole bodies", [](Rules&, const auto& in, auto&) {
    Value v;
    return in.body(0, &v);
  });
  check_breach("a timer of clock 5, which does not exist", [](Rules& op, const auto&, auto&) {
    return sluice::detail::call([&](sluice_error* e) { return op.context()->timer_set(op.context(), 5, sluice::str("k"), 0, 0, e); });
  });
  check_breach("split_status() of split 0, which was not assigned", [](Rules& op, const auto&, auto&) {
    op.context()->split_status(op.context(), 0, 0);
    return Status::ok();
  });
}

TEST_CASE("a kept view is found in state as in output") {
  act = [](Rules& op, const auto& in, auto&) {
    Status s = op.kept.empty() ? Status::ok() : op.value.put(op.kept, "v");
    op.kept = in.key(0);
    return s;
  };
  Harness<Rules> h;
  h.open();
  h.push("{}", {"a-key"});
  CHECK_THROWS_MATCHES(h.push("{}", {"a-key"}), ContractBreach,
                       Message("test.rules: state_put() was given memory of an earlier call: what the host hands out dies when the call returns"));
}

TEST_CASE("forward() needs a batch") {
  act = [](Rules& op, const auto&, auto&) {
    return sluice::detail::call([&](sluice_error* e) { return op.context()->timer_set(op.context(), SLUICE_CLOCK_PROCESSING, sluice::str("k"), 0, 0, e); });
  };
  Harness<Rules> h;
  h.open();
  h.push("{}");
  CHECK_THROWS_MATCHES(h.fire_timers(), ContractBreach, Message("test.rules: forward() in on_timer(), which has no batch"));
}

TEST_CASE("what a failed call gave is discarded, its state is not") {
  act = [](Rules& op, const auto&, auto& out) {
    out.forward(0);
    out.emit(0).set("a", Value::null());
    SLUICE_CHECK_OK(out.flush());
    SLUICE_CHECK_OK(op.value.put("a", "1"));
    return Status::retry("later");
  };
  Harness<Rules> h;
  h.open();
  CHECK(h.try_push("{}").code() == SLUICE_RETRY);
  CHECK(h.pull().empty());
  CHECK(h.rows_waiting() == 1);
  CHECK(h.state_size("value") == 1);
}

namespace {

class Fields final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.fields";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Says what its fields look like.";
  static sluice::Options<Config> options() { return {}; }
  Status configure(sluice::Needs& needs) override {
    needs.body();
    for (const char* name : {"a", "data.id", "data\\.id", "data.deep.er"}) fields_.push_back(needs.field(name));
    return Status::ok();
  }
  Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      std::string text;
      for (const sluice::Field f : fields_) text += std::string(in(f, row).type_name()) + "(" + std::string(in(f, row).text()) + ") ";
      Value body, data;
      if (Status s = in.body(row, &body); !s.is_ok()) text += s.message();
      else if (body.find("data").is_object()) {
        SLUICE_CHECK_OK(parse(body.find("data"), &data));
        text += std::to_string(data.size()) + " members";
      }
      out.emit(row).set("is", Value::string(out.keep(std::move(text))));
    }
    return Status::ok();
  }

 private:
  std::vector<sluice::Field> fields_;
};

}  // namespace

TEST_CASE("declared fields: paths, escapes, null, absent and broken") {
  Harness<Fields> h;
  h.open();
  const auto seen = [&](std::string_view row) {
    h.push(row);
    const auto out = h.pull_json();
    return out.empty() ? std::string("nothing") : out[0];
  };
  CHECK(seen(R"({"a":"\u4e2d","data":{"id":12345678901234567890.50},"data.id":true})") ==
        R"({"is":"a string(中) a number(12345678901234567890.50) a boolean(true) absent() 1 members"})");
  CHECK(seen(R"({"a":null,"data":{"deep":{"er":[1, 2]}}})") == R"({"is":"null() absent() absent() an array([1, 2]) 1 members"})");
  CHECK(seen(R"({"data":"text"})") == R"({"is":"absent() absent() absent() absent() "})");
  CHECK(seen(R"({"a":1,"a":2,"data":{}})") == R"({"is":"a number(1) absent() absent() absent() 0 members"})");
  CHECK(seen(R"({"a":tru,"data":{"id":"\x"}})") ==
        R"({"is":"invalid(not a JSON value at byte 0) invalid(unknown escape at byte 3) absent() absent() not valid JSON: not a JSON value at byte 5"})");
}
