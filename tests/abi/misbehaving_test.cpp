// Plugins that load and then break the contract, driven through the fake host of the SDK.
#include <catch2/catch.hpp>

#include "plugin/registry.h"
#include "sluice/testing/operator_harness.hpp"
#include "test_plugins.h"

using Catch::Matchers::Message;
using sluice::testing::ContractBreach;
using sluice::testing::OperatorHarness;

namespace {

const sluice_operator_desc* load(const std::string& plugin, const std::string& type) {
  static sluice::plugin::PluginRegistry registry;
  const auto status = registry.load_file(sluice::test::bad_plugin(plugin));
  INFO(status.message());
  REQUIRE(status.is_ok());
  REQUIRE(registry.find(type) != nullptr);
  return registry.find(type);
}

}  // namespace

TEST_CASE("an exception in an operator of the SDK is an answer, not a crash") {
  const auto* desc = load("throws", "test.throws");
  const auto answer = [](const sluice::Status& s) { return std::to_string(s.code()) + " " + s.message(); };
  {
    OperatorHarness h(desc, "where: configure");
    CHECK(answer(h.try_open()) == "6 uncaught exception: author forgot a case in configure");
  }
  {
    OperatorHarness h(desc, "where: open");
    CHECK(answer(h.try_open()) == "6 uncaught exception: author forgot a case in open");
  }
  {
    OperatorHarness h(desc, "where: process");
    h.open();
    CHECK(answer(h.try_push("{}", {"k"})) == "6 uncaught exception: author forgot a case in process");
  }
  {
    OperatorHarness h(desc, "{where: process, odd_type: true}");
    h.open();
    CHECK(answer(h.try_push("{}", {"k"})) == "6 uncaught exception of unknown type");
  }
  {
    OperatorHarness h(desc, "where: timer");
    h.open();
    h.push("{}", {"k"});
    CHECK_THROWS_WITH(h.fire_timers(), "on_timer() answered code 6: uncaught exception: author forgot a case in timer");
  }
  {
    OperatorHarness h(desc, "where: close");
    h.open();
    CHECK(answer(h.try_close()) == "6 uncaught exception: author forgot a case in close");
  }
}

TEST_CASE("an exception that crosses the boundary is blamed on the plugin") {
  OperatorHarness h(load("raw_throws", "test.raw_throws"));
  CHECK_THROWS_MATCHES(h.open(), ContractBreach, Message("test.raw_throws: an exception left create(): not caught by anybody"));
}

TEST_CASE("a kept view is found out") {
  OperatorHarness h(load("keeps_view", "test.keeps_view"));
  h.open();
  SECTION("within one call the view is good") {
    h.push_batch({{R"({"a":1})"}, {R"({"a":2})"}});
    CHECK(h.pull_json() == std::vector<std::string>{R"({"previous":""})", R"({"previous":"{\"a\":1}"})"});
  }
  SECTION("in the next call it is not") {
    h.push(R"({"a":1})");
    CHECK_THROWS_MATCHES(h.push(R"({"a":2})"), ContractBreach,
                         Message("test.keeps_view: emit() was given memory of an earlier call: what the host hands out dies when the call returns"));
  }
}

TEST_CASE("calls from a foreign thread are found out") {
  const auto* desc = load("foreign_thread", "test.foreign_thread");
  const std::string rule = "() was called from a foreign thread; only those marked [any] in abi.h may be";
  SECTION("state") {
    OperatorHarness h(desc, "call: state");
    h.open();
    CHECK_THROWS_MATCHES(h.push("{}", {"k"}), ContractBreach, Message("test.foreign_thread: state_put" + rule));
  }
  SECTION("emit") {
    OperatorHarness h(desc, "call: emit");
    h.open();
    CHECK_THROWS_MATCHES(h.push("{}", {"k"}), ContractBreach, Message("test.foreign_thread: emit" + rule));
  }
  SECTION("wake is allowed") {
    OperatorHarness h(desc, "call: wake");
    h.open();
    h.push("{}", {"k"});
    CHECK(h.wakes() == 1);
    CHECK(h.counter("woken") == 1);
  }
}
