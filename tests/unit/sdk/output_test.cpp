// What a transform puts into Output comes out in the order of its calls, whatever had to be grouped on the way.
#include <catch2/catch.hpp>

#include <functional>

#include <sluice/testing/harness.hpp>

using sluice::Output;
using sluice::Status;
using sluice::Value;
using sluice::testing::Harness;

namespace {

struct Config {};
std::function<Status(const sluice::Batch&, Output&)> body;

class Op final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.output";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Does what the test says.";
  static std::vector<std::string> output_ports() { return {"side"}; }
  static sluice::Options<Config> options() { return {}; }
  Status configure(sluice::Needs& needs) override {
    needs.attaches({"x", "y"});
    return Status::ok();
  }
  Status process(const sluice::Batch& in, Output& out) override { return body(in, out); }
};

std::vector<sluice::testing::InputRow> three_rows() {
  return {{R"({"n":0})", {{}, 1000, SLUICE_CHANGE_INSERT}}, {R"({"n":1})", {{}, 2000, SLUICE_CHANGE_UPDATE}}, {R"({"n":2})", {{}, 3000}}};
}
// "port:json" of each row.
std::vector<std::string> run(std::function<Status(const sluice::Batch&, Output&)> f) {
  body = std::move(f);
  Harness<Op> h;
  h.open();
  h.push_batch(three_rows());
  std::vector<std::string> out;
  for (const auto& r : h.pull()) out.push_back(std::to_string(r.port) + ":" + r.json);
  return out;
}
using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("forwarded and made rows keep the order of the calls") {
  CHECK(run([](const auto&, Output& out) {
          out.forward(0);
          out.emit(0).set("made", Value::integer(1));
          out.emit(1).set("made", Value::integer(2));
          out.forward(1);
          out.forward(2, 1);
          out.forward(0);
          out.emit(SLUICE_NO_ROW, 1).set("made", Value::integer(3));
          out.emit(SLUICE_NO_ROW).set("made", Value::integer(4));
          return Status::ok();
        }) == Rows{R"(0:{"n":0})", R"(0:{"made":1})", R"(0:{"made":2})", R"(0:{"n":1})", R"(1:{"n":2})", R"(0:{"n":0})", R"(1:{"made":3})", R"(0:{"made":4})"});
}

TEST_CASE("attached columns") {
  CHECK(run([](const auto&, Output& out) {
          out.forward(0, {Value::string("a\"b"), Value::number("20.00")});
          out.forward(1);
          out.forward(2, {Value(), Value::null()});
          return Status::ok();
        }) == Rows{R"(0:{"n":0,"x":"a\"b","y":20.00})", R"(0:{"n":1})", R"(0:{"n":2,"y":null})"});
}

TEST_CASE("other columns than attaches() named are a bug of the operator") {
  for (const auto& wrong : {std::function<Status(const sluice::Batch&, Output&)>([](const auto&, Output& out) {
                              out.forward(0, {Value::integer(1)});
                              return Status::ok();
                            }),
                            std::function<Status(const sluice::Batch&, Output&)>([](const auto&, Output& out) {
                              out.forward(0, {Value::integer(1), Value::integer(2)});
                              out.forward(1, {Value::integer(1)});
                              return Status::ok();
                            })}) {
    body = wrong;
    Harness<Op> h;
    h.open();
    const Status s = h.try_push_batch(three_rows());
    CHECK(s.code() == SLUICE_BUG);
    CHECK(s.message() == "forward() was given other columns than attaches() named");
    CHECK(h.pull().empty());
  }
}

TEST_CASE("made rows inherit event time and change unless they say their own") {
  body = [](const auto&, Output& out) {
    out.emit(0).set("a", Value::integer(1));
    out.emit(1).set("a", Value::integer(2)).event_time(77);
    out.emit(1).set("a", Value::integer(3)).change(SLUICE_CHANGE_DELETE);
    out.emit(2).set("a", Value::integer(4));
    out.emit(SLUICE_NO_ROW).set("a", Value::integer(5));
    return Status::ok();
  };
  Harness<Op> h;
  h.open();
  h.push_batch(three_rows());
  const auto out = h.pull();
  REQUIRE(out.size() == 5);
  CHECK(out[0].event_time == 1000);
  CHECK(out[0].change == SLUICE_CHANGE_INSERT);
  CHECK(out[1].event_time == 77);
  CHECK(out[1].change == SLUICE_CHANGE_UPDATE);
  CHECK(out[2].event_time == 2000);
  CHECK(out[2].change == SLUICE_CHANGE_DELETE);
  CHECK(out[3].event_time == 3000);
  CHECK(out[3].change == SLUICE_CHANGE_NONE);
  CHECK(out[4].event_time == SLUICE_NO_TIME);
}

TEST_CASE("a schema stands before the rows that come after it") {
  body = [](const auto&, Output& out) {
    out.forward(0);
    const sluice_str columns[] = {sluice::str("id"), sluice::str("name")};
    sluice_schema s{};
    s.struct_size = sizeof s;
    s.table = sluice::str("dim_user");
    s.columns = columns;
    s.column_count = 2;
    s.key = columns;
    s.key_count = 1;
    SLUICE_CHECK_OK(out.schema(s));
    out.forward(1);
    return Status::ok();
  };
  Harness<Op> h;
  h.open();
  h.push_batch(three_rows());
  CHECK(h.pull().size() == 2);
  REQUIRE(h.schemas().size() == 1);
  CHECK(h.schemas()[0].table == "dim_user");
  CHECK(h.schemas()[0].columns == Rows{"id", "name"});
  CHECK(h.schemas()[0].key == Rows{"id"});
  CHECK(h.schemas()[0].rows_before == 1);
}

TEST_CASE("values of every kind are written") {
  CHECK(run([](const auto&, Output& out) {
          out.emit(0)
              .set("s", Value::string("中\n"))
              .set("i", Value::integer(INT64_MIN))
              .set("r", Value::real(0.1))
              .set("whole", Value::real(3))
              .set("n", Value::number("1e400"))
              .set("b", Value::boolean(true))
              .set("z", Value::null())
              .set("o", Value::json_object(R"({"k": 18446744073709551615})"))
              .set("l", Value::json_array("[1, 2]"))
              .set(out.keep("kept"), Value::string(out.keep(std::string(3, 'k'))));
          return Status::ok();
        }) ==
        Rows{R"(0:{"s":"中\n","i":-9223372036854775808,"r":0.1,"whole":3.0,"n":1e400,"b":true,"z":null,"o":{"k": 18446744073709551615},"l":[1, 2],"kept":"kkk"})"});
}
