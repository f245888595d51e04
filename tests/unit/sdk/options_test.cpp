// Options of every type: what the descriptor says, and what arrives in the config struct.
#include <catch2/catch.hpp>

#include <sluice/testing/harness.hpp>

using sluice::testing::Harness;
using sluice::testing::OptionError;

namespace {

enum class Mode { kFast, kExact };
struct Config {
  bool flag = false;
  int64_t number = 0;
  double ratio = 0;
  std::string text;
  std::chrono::milliseconds wait{};
  sluice::Size size;
  Mode mode = Mode::kFast;
  std::vector<std::string> list;
  sluice::StringMap map;
  std::optional<int64_t> maybe;
  std::string needed;
};
Config seen;

class Op final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.options";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Shows its options.";
  static sluice::Options<Config> options() {
    return {sluice::opt("flag", &Config::flag).def("true"),
            sluice::opt("number", &Config::number).def("-7").unit("rows"),
            sluice::opt("ratio", &Config::ratio).def("0.5"),
            sluice::opt("text", &Config::text).def("a, b: c"),
            sluice::opt("wait", &Config::wait).def("1500ms"),
            sluice::opt("size", &Config::size).def("64MiB"),
            sluice::opt("mode", &Config::mode, {{"fast", Mode::kFast}, {"exact", Mode::kExact}}).def("exact"),
            sluice::opt("list", &Config::list).def("[a, b]"),
            sluice::opt("map", &Config::map).def("{x: 1, y: \"two, three\"}"),
            sluice::opt("maybe", &Config::maybe),
            sluice::opt("needed", &Config::needed).required().secret().deprecated().advanced()};
  }
  sluice::Status configure(sluice::Needs&) override {
    seen = config();
    return sluice::Status::ok();
  }
  sluice::Status process(const sluice::Batch&, sluice::Output&) override { return sluice::Status::ok(); }
};

const Config& with(std::string_view options) {
  seen = Config();
  Harness<Op> h(options);
  h.open();
  return seen;
}

}  // namespace

TEST_CASE("defaults reach the operator") {
  const Config& c = with("needed: x");
  CHECK(c.flag);
  CHECK(c.number == -7);
  CHECK(c.ratio == 0.5);
  CHECK(c.text == "a, b: c");
  CHECK(c.wait.count() == 1500);
  CHECK(c.size.bytes == 64 << 20);
  CHECK(c.mode == Mode::kExact);
  CHECK(c.list == std::vector<std::string>{"a", "b"});
  CHECK(c.map == sluice::StringMap{{"x", "1"}, {"y", "two, three"}});
  CHECK_FALSE(c.maybe.has_value());
  CHECK(c.needed == "x");
}

TEST_CASE("given options win, as JSON, flow style and lines") {
  for (const char* text : {R"({"needed": "n", "flag": false, "number": 9223372036854775807, "wait": "2h", "mode": "fast", "list": [], "maybe": 3})",
                           "{needed: n, flag: false, number: 9223372036854775807, wait: 2h, mode: fast, list: [], maybe: 3}",
                           "needed: n\nflag: false\nnumber: 9223372036854775807\nwait: 2h\nmode: fast\nlist: []\nmaybe: 3\n"}) {
    INFO(text);
    const Config& c = with(text);
    CHECK(c.needed == "n");
    CHECK_FALSE(c.flag);
    CHECK(c.number == INT64_MAX);
    CHECK(c.wait.count() == 7200000);
    CHECK(c.mode == Mode::kFast);
    CHECK(c.list.empty());
    CHECK(c.maybe == 3);
  }
}

TEST_CASE("options that do not fit") {
  CHECK_THROWS_WITH(Harness<Op>(""), "option `needed` of test.options is required");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, colour: red}"), "unknown option `colour` of test.options");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, needed: y}"), "option `needed` is given twice");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, flag: yes}"), "option `flag`: `yes` is not true or false");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, number: 010}"), "option `number`: `010` is not a whole number");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, number: 1.5}"), "option `number`: `1.5` is not a whole number");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, ratio: inf}"), "option `ratio`: `inf` is not a number");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, wait: 10}"), "option `wait`: `10` is not a duration (250ms 10s 5m 2h 1d)");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, size: 1TB}"), "option `size`: `1TB` is not a size (512 64KiB 10MB 1GiB)");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, mode: slow}"), "option `mode`: `slow` is not one of: fast, exact");
  CHECK_THROWS_WITH(Harness<Op>("{needed: x, list: a}"), "option `list`: `a` is not a list of texts");
  CHECK_THROWS_AS(Harness<Op>("{needed: x"), OptionError);
}

TEST_CASE("the descriptor says what there is") {
  const sluice_operator_desc* d = sluice::detail::Binding<Op>::desc();
  REQUIRE(d->option_count == 11);
  CHECK(d->options[1]->type == SLUICE_T_INT);
  CHECK(sluice::view(d->options[1]->unit) == "rows");
  CHECK(d->options[4]->type == SLUICE_T_DURATION);
  CHECK(d->options[6]->choice_count == 2);
  CHECK(sluice::view(d->options[6]->choices[1]) == "exact");
  CHECK(d->options[9]->default_yaml.data == nullptr);
  CHECK(d->options[10]->flags == (SLUICE_OPT_REQUIRED | SLUICE_OPT_SECRET | SLUICE_OPT_DEPRECATED | SLUICE_OPT_ADVANCED));
}
