// Codecs, and state as operators see it.
#include <catch2/catch.hpp>

#include <stdexcept>

#include <sluice/testing/harness.hpp>

#include "example_operators.h"

namespace acme {
struct Point {
  int32_t x = 0, y = 0;
};
}  // namespace acme
template <>
struct sluice::Codec<acme::Point> {
  static void write(const acme::Point& p, std::string* out) {
    Codec<int32_t>::write(p.x, out);
    Codec<int32_t>::write(p.y, out);
  }
  static bool read(std::string_view bytes, acme::Point* p) {
    return bytes.size() == 8 && Codec<int32_t>::read(bytes.substr(0, 4), &p->x) && Codec<int32_t>::read(bytes.substr(4), &p->y);
  }
};

namespace {

template <class T>
T through_codec(const T& v) {
  std::string bytes;
  sluice::Codec<T>::write(v, &bytes);
  T back{};
  REQUIRE(sluice::Codec<T>::read(bytes, &back));
  return back;
}

struct Config {
  std::chrono::milliseconds ttl{};
  std::string clock;
};

// Does to its states what rows say: {"do": "put", "k": …, "v": …}.
class Script final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.script";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Follows orders.";
  static sluice::Options<Config> options() {
    auto clock = sluice::opt("clock", &Config::clock).def("processing");
    clock.type = SLUICE_T_ENUM;
    clock.choice_names = {"processing", "event"};
    return {sluice::opt("ttl", &Config::ttl).def("0"), clock};
  }
  sluice::Status configure(sluice::Needs& needs) override {
    do_ = needs.field("do");
    key_ = needs.field("k");
    value_ = needs.field("v");
    return sluice::Status::ok();
  }
  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      const std::string_view what = in(do_, row).text(), key = in(key_, row).text();
      bool found = false;
      std::string text;
      acme::Point point;
      if (what == "put") {
        SLUICE_CHECK_OK(value_state_.put(key, std::string(in(value_, row).text())));
        SLUICE_CHECK_OK(map_state_.put("all", key, std::string(in(value_, row).text())));
        SLUICE_CHECK_OK(lane_state_.put(key, {1, -2}));
      } else if (what == "get") {
        SLUICE_CHECK_OK(value_state_.get(key, &found, &text));
        out.emit(row).set("found", sluice::Value::boolean(found)).set("v", sluice::Value::string(out.keep(text)));
      } else if (what == "erase") {
        SLUICE_CHECK_OK(value_state_.erase(key));
      } else if (what == "throw") {
        SLUICE_CHECK_OK(map_state_.scan("all", [](std::string_view, const std::string&) -> bool { throw std::runtime_error("in the visitor"); }));
      } else if (what == "scan") {
        std::string all;
        SLUICE_CHECK_OK(map_state_.scan("all", [&](std::string_view k, const std::string& v) {
          all += std::string(k) + "=" + v + " ";
          return true;
        }));
        out.emit(row).set("all", sluice::Value::string(out.keep(all)));
      } else if (what == "lane") {
        SLUICE_CHECK_OK(lane_state_.get(key, &found, &point));
        out.emit(row).set("x", sluice::Value::integer(point.x)).set("y", sluice::Value::integer(point.y));
      } else if (what == "many") {
        const sluice_str keys[] = {sluice::str("a"), sluice::str("none"), sluice::str("b")};
        sluice_str values[3];
        SLUICE_CHECK_OK(value_state_.get_many(3, keys, values));
        out.emit(row)
            .set("a", sluice::Value::string(sluice::view(values[0])))
            .set("none", sluice::Value::boolean(values[1].data != nullptr))
            .set("b", sluice::Value::string(sluice::view(values[2])));
      }
    }
    return sluice::Status::ok();
  }

 private:
  sluice::Field do_, key_, value_;
  sluice::ValueState<std::string> value_state_{this, "value", sluice::StateOptions().ttl("ttl").ttl_clock("clock")};
  sluice::MapState<std::string> map_state_{this, "map"};
  sluice::OperatorState<acme::Point> lane_state_{this, "lane", sluice::StateOptions().format(3, 2)};
};

std::string ask(sluice::testing::OperatorHarness& h, const std::string& row) {
  h.push(row);
  const auto out = h.pull_json();
  return out.empty() ? "" : out[0];
}

}  // namespace

TEST_CASE("codecs give back what they were given") {
  CHECK(through_codec<int64_t>(INT64_MIN) == INT64_MIN);
  CHECK(through_codec<uint8_t>(200) == 200);
  CHECK(through_codec(1.25) == 1.25);
  CHECK(through_codec(true));
  CHECK(through_codec(std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(through_codec(acme::Point{-1, 7}).y == 7);
  std::string bytes;
  sluice::Codec<int64_t>::write(258, &bytes);
  CHECK(bytes == std::string("\x02\x01\0\0\0\0\0\0", 8));  // little-endian: the format on disk
  int32_t narrow = 0;
  CHECK_FALSE(sluice::Codec<int32_t>::read(bytes, &narrow));
}

TEST_CASE("state declarations reach the descriptor") {
  const sluice_operator_desc* d = sluice::detail::Binding<Script>::desc();
  REQUIRE(d->state_count == 3);
  CHECK(d->states[0]->kind == SLUICE_STATE_VALUE);
  CHECK(sluice::view(d->states[0]->ttl_option) == "ttl");
  CHECK(sluice::view(d->states[0]->ttl_clock_option) == "clock");
  CHECK(d->states[1]->kind == SLUICE_STATE_MAP);
  CHECK(d->states[2]->kind == SLUICE_STATE_OPERATOR);
  CHECK(d->states[2]->format_version == 3);
  CHECK(d->states[2]->compat_version == 2);
}

TEST_CASE("values, maps and lane state") {
  sluice::testing::Harness<Script> h;
  h.open();
  CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":false,"v":""})");
  ask(h, R"({"do":"put","k":"b","v":"2"})");
  ask(h, R"({"do":"put","k":"a","v":"1"})");
  ask(h, R"({"do":"put","k":"c","v":""})");
  CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":true,"v":"1"})");
  CHECK(ask(h, R"({"do":"get","k":"c"})") == R"({"found":true,"v":""})");  // an empty value is a value
  CHECK(ask(h, R"({"do":"many"})") == R"({"a":"1","none":false,"b":"2"})");
  CHECK(ask(h, R"({"do":"scan"})") == R"({"all":"a=1 b=2 c= "})");
  CHECK_THROWS_WITH(ask(h, R"({"do":"throw"})"), Catch::Contains("in the visitor"));
  ask(h, R"({"do":"erase","k":"a"})");
  CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":false,"v":""})");
  CHECK(ask(h, R"({"do":"lane","k":"b"})") == R"({"x":1,"y":-2})");
  CHECK(h.state_size("value") == 2);
  CHECK(h.state_size("map") == 3);
  CHECK(h.state_size("lane") == 3);
}

TEST_CASE("time to live follows the clock that was chosen") {
  SECTION("processing time, renewed by every put") {
    sluice::testing::Harness<Script> h("ttl: 10s");
    h.open();
    ask(h, R"({"do":"put","k":"a","v":"1"})");
    h.advance(9999);
    CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":true,"v":"1"})");
    ask(h, R"({"do":"put","k":"a","v":"2"})");
    h.advance(9999);
    CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":true,"v":"2"})");
    h.advance(1);
    CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":false,"v":""})");
    CHECK(h.state_size("map") == 1);  // has none
  }
  SECTION("event time") {
    sluice::testing::Harness<Script> h("{ttl: 10s, clock: event}");
    h.open();
    h.watermark(1000);
    ask(h, R"({"do":"put","k":"a","v":"1"})");
    h.advance(1000000);
    CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":true,"v":"1"})");
    h.watermark(10999);
    CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":true,"v":"1"})");
    h.watermark(11000);
    CHECK(ask(h, R"({"do":"get","k":"a"})") == R"({"found":false,"v":""})");
  }
}
