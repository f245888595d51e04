// Breaches of the contract, each found and named; and what a declared field looks like.
#include <catch2/catch.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

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

namespace {

// Emits 0 to 5 and rejects 1 and 3, the later one first; with `row`, that one as well.
struct OddConfig {};
class Odd final : public sluice::Source<OddConfig> {
 public:
  static constexpr const char* kType = "test.odd";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Rejects rows of its own.";
  static sluice::Options<OddConfig> options() { return {}; }
  static inline std::optional<uint32_t> row;

  Status discover(std::vector<sluice::Split>* splits) override {
    splits->push_back({"s", 0});
    return Status::ok();
  }
  Status assign(const std::vector<sluice::AssignedSplit>& splits) override {
    move_position(splits.at(0).index, "0");
    return Status::ok();
  }
  Status poll(uint32_t) override {
    for (int i = 0; i < 6; ++i) SLUICE_CHECK_OK(emit(0, "{\"n\":" + std::to_string(i) + "}", std::to_string(i + 1)));
    SLUICE_CHECK_OK(reject(3, "odd"));
    SLUICE_CHECK_OK(reject(1, "odd, too"));
    return row ? reject(*row, "one more") : Status::ok();
  }
  std::string describe_position(std::string_view, std::string_view position) override { return std::string(position); }
};

}  // namespace

TEST_CASE("a source's own rejects are taken out of its rows") {
  Harness<Odd> h;
  Odd::row.reset();
  h.open();
  h.discover();
  h.assign();
  h.poll();
  std::vector<std::string> rows;
  for (const auto& r : h.pull()) rows.push_back(r.json);
  CHECK(rows == std::vector<std::string>{R"({"n":0})", R"({"n":2})", R"({"n":4})", R"({"n":5})"});
  REQUIRE(h.rejected().size() == 2);
  CHECK(h.rejected()[0].json + " " + h.rejected()[0].reason == R"({"n":3} odd)");
  CHECK(h.rejected()[1].json + " " + h.rejected()[1].reason == R"({"n":1} odd, too)");
  Odd::row = 6;
  CHECK_THROWS_MATCHES(h.poll(), ContractBreach, Message("test.odd: reject() of row 6 in a poll() that emitted 6"));
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

namespace {

struct LookConfig {
  std::string host;
};
// Looks at a world of two things.
class Looks final : public sluice::Sink<LookConfig> {
 public:
  static constexpr const char* kType = "test.looks";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Looks.";
  static sluice::Options<LookConfig> options() { return {sluice::opt("host", &LookConfig::host).def("near").doc("Where.")}; }
  Status open() override { return Status::fatal("opened"); }
  Status check(sluice::Problems& problems) override {
    if (config().host == "near") return Status::ok();
    CHECK(problems.empty());
    problems.add_to("host", config().host + " is far");
    CHECK(problems.add_unless_ok(Status::ok()));
    CHECK_FALSE(problems.add_unless_ok(Status::fatal("it is dark"), "light"));
    CHECK(problems.size() == 2);
    return config().host == "gone" ? Status::retry("nobody answers") : Status::ok();
  }
  Status write(const sluice::Batch&, uint32_t*) override { return Status::ok(); }
};

}  // namespace

TEST_CASE("check() tells all that it finds, and needs no open()") {
  CHECK(Harness<Looks>("host: near").find_problems().empty());
  Harness<Looks> h("host: gone");
  for (int again = 0; again < 2; ++again) {
    const auto found = h.find_problems();
    REQUIRE(found.size() == 3);
    CHECK(found[0].option == "host");
    CHECK(found[0].text == "gone is far");
    CHECK(found[1].option == "light");
    CHECK(found[1].text == "it is dark");
    CHECK(found[2].option.empty());
    CHECK(found[2].text == "nobody answers");
  }
  CHECK(Harness<Looks>("host: far").find_problems().size() == 2);
}

TEST_CASE("an operator without check() has an empty slot") {
  CHECK_THROWS_WITH(Harness<Rules>().find_problems(), "find_problems(): the operator has no check()");
}

TEST_CASE("of a name that is there twice the last one counts") {
  const sluice_value one = Value::string("one").raw(), two = Value::string("two").raw();
  const sluice_member members[] = {{{"a", 1}, one}, {{"b", 1}, one}, {{"a", 1}, two}};
  sluice_value map{};
  map.type = SLUICE_MAP;
  map.as.map.members = members;
  map.as.map.size = 3;
  CHECK(Value(map).find("a").text() == "two");
  CHECK(Value(map).find("b").text() == "one");
  CHECK(Value(map).find("c").is_missing());
  CHECK_FALSE(Value(map).find("c").is_string());
}
