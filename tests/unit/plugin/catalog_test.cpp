// From the tables of a module to what the configuration layer checks with.
#include <catch2/catch.hpp>

#include "plugin/catalog.h"
#include "sluice/module.hpp"

namespace {

enum class Mode { kFast, kExact };
struct Config {
  std::string path, password;
  std::chrono::milliseconds ttl{};
  Mode mode = Mode::kFast;
  std::optional<int64_t> limit;
  std::vector<std::string> columns;
  sluice::StringMap properties;
};

class Op final : public sluice::BroadcastTransform<Config> {
 public:
  static constexpr const char* kType = "acme.op";
  static constexpr const char* kVersion = "1.2.3";
  static constexpr const char* kSummary = "Does it.";
  static constexpr uint32_t kFlags = SLUICE_OP_BROADCAST | SLUICE_OP_KEYED;
  static std::vector<std::string> output_ports() { return {"late", "odd"}; }
  static sluice::Options<Config> options() {
    return {sluice::opt("path", &Config::path).required().doc("File to read.").example("a.json").since("1.1"),
            sluice::opt("password", &Config::password).secret().def(""),
            sluice::opt("ttl", &Config::ttl).def("1d").advanced(),
            sluice::opt("mode", &Config::mode, {{"fast", Mode::kFast}, {"exact", Mode::kExact}}).def("fast"),
            sluice::opt("limit", &Config::limit).unit("rows").deprecated(),
            sluice::opt("columns", &Config::columns).def("[a, b]"),
            sluice::opt("properties", &Config::properties)};
  }
  sluice::Status process(const sluice::Batch&, sluice::Output&) override { return sluice::Status::ok(); }
  sluice::Status process_broadcast(const sluice::Batch&, sluice::Output&) override { return sluice::Status::ok(); }

 private:
  sluice::ValueState<int64_t> seen_{this, "seen", sluice::StateOptions().ttl("ttl", true)};
};

sluice::config::OperatorSpec spec() { return sluice::plugin::operator_spec(*sluice::detail::Binding<Op>::desc(), "acme.so"); }

}  // namespace

TEST_CASE("an operator in the words of the configuration layer") {
  const auto s = spec();
  CHECK(s.type == "acme.op");
  CHECK(s.kind == sluice::config::OperatorSpec::Kind::kTransform);
  CHECK(s.broadcast_input);
  CHECK(s.keyed);
  CHECK_FALSE(s.key_optional);
  CHECK(s.stateful);
  CHECK(s.output_ports == std::vector<std::string>{"late", "odd"});
  CHECK(s.summary == "Does it.");
  CHECK(s.version == "1.2.3");
  CHECK(s.module_file == "acme.so");
  REQUIRE(s.states.size() == 1);
  CHECK(s.states[0].name == "seen");
  CHECK(s.states[0].ttl_option == "ttl");
}

TEST_CASE("its options") {
  using sluice::config::OptionType;
  const auto options = spec().options;
  REQUIRE(options.size() == 7);
  CHECK(options[0].name == "path");
  CHECK(options[0].type == OptionType::kString);
  CHECK(options[0].required);
  CHECK_FALSE(options[0].secret);
  CHECK(options[0].default_yaml.empty());
  CHECK(options[0].doc == "File to read.");
  CHECK(options[0].example == "a.json");
  CHECK(options[0].since == "1.1");
  CHECK(options[1].secret);
  CHECK(options[1].default_yaml == "\"\"");  // an empty text is a default of its own
  CHECK(options[2].type == OptionType::kDuration);
  CHECK(options[2].default_yaml == "1d");
  CHECK(options[2].advanced);
  CHECK(options[3].type == OptionType::kEnum);
  CHECK(options[3].choices == std::vector<std::string>{"fast", "exact"});
  CHECK(options[4].type == OptionType::kInt);
  CHECK(options[4].unit == "rows");
  CHECK(options[4].deprecated);
  CHECK(options[5].type == OptionType::kList);
  CHECK(options[6].type == OptionType::kMap);
  CHECK(sluice::config::check_option_specs(options).empty());  // every default can be read
}
