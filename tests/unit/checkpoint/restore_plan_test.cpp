#include "checkpoint/restore_plan.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::checkpoint;

namespace {

ManifestOperator operation(std::string id, std::string type, std::string key = "") {
  ManifestOperator op;
  op.id = std::move(id);
  op.type = std::move(type);
  op.version = "0.1.0";
  op.parallelism = 2;
  op.key = std::move(key);
  return op;
}

struct Fixture {
  Fixture() {
    manifest.number = 12;
    manifest.pipeline = current.name = "dws_cart_add";
    manifest.parallelism = current.parallelism = 2;
    ManifestOperator source = operation("cart_add", "kafka.source");
    ManifestOperator dedup = operation("first_today", "daily_dedup", "user_id");
    dedup.states.push_back({.name = "last_date", .kind = "value", .ttl_ms = 86400000, .entries = 1000});
    ManifestOperator window = operation("w1", "tumbling_window", "all");
    window.states.push_back({.name = "panes", .kind = "map", .entries = 3});
    window.timers = 2;
    ManifestOperator pruner = operation("pruner", "column_pruner");
    manifest.operators = current.operators = {source, dedup, window, pruner};
    manifest.sources.push_back({"cart_add", std::vector<ManifestSplit>(2)});
    current.source_ids = {"cart_add"};
  }
  ManifestOperator& now(const std::string& id) {
    for (ManifestOperator& op : current.operators) {
      if (op.id == id) return op;
    }
    FAIL("no operator " << id);
    return current.operators[0];
  }
  void remove(const std::string& id) {
    std::erase_if(current.operators, [&](const ManifestOperator& op) { return op.id == id; });
    std::erase(current.source_ids, id);
  }
  RestorePlan accepted() {
    auto plan = plan_restore(manifest, current, drop);
    INFO(plan.status().message());
    REQUIRE(plan.is_ok());
    return plan.value();
  }
  std::string refused() {
    const auto plan = plan_restore(manifest, current, drop);
    REQUIRE_FALSE(plan.is_ok());
    CHECK(plan.status().code() == base::Code::kFatal);
    return plan.status().message();
  }

  Manifest manifest;
  CurrentPipeline current;
  std::vector<std::string> drop;
};

using Catch::Contains;
using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Fixture, "an unchanged pipeline is restored without a note") {
  const RestorePlan plan = accepted();
  CHECK(plan.number == 12);
  CHECK_FALSE(plan.rescale);
  CHECK(plan.restored == Strings{"cart_add", "first_today", "w1"});
  CHECK(plan.notes.empty());
  CHECK(plan.drop_states.empty());
  CHECK_THAT(plan.text, Contains("checkpoint 12") && Contains("about 1000 entries") && Contains("2 timers"));
}

TEST_CASE("a state is described by the widest formats of all lanes") {
  state::StoredState a;
  a.decl.operator_id = "w1";
  a.decl.name = "panes";
  a.decl.kind = state::StateKind::kMap;
  a.decl.format_version = 3;
  a.decl.compat_version = 2;
  a.decl.ttl_ms = 7;
  a.oldest_format = 3;
  a.max_compat = 2;
  state::StoredState b = a;
  b.oldest_format = 2;
  b.max_compat = 3;
  const ManifestState described = describe_state({a, b}, 11);
  CHECK(described.name == "panes");
  CHECK(described.kind == "map");
  CHECK(described.format == 3);
  CHECK(described.compat == 3);
  CHECK(described.oldest_format == 2);
  CHECK(described.ttl_ms == 7);
  CHECK(described.entries == 11);
  CHECK(describe_state(a.decl).oldest_format == 3);
}

// RS-05
TEST_CASE_METHOD(Fixture, "state without an operator is refused until it is dropped") {
  remove("first_today");
  CHECK_THAT(refused(), Contains("\"first_today\"") && Contains("value state \"last_date\", about 1000 entries") &&
                            Contains("--drop-state first_today"));
  drop = {"first_today"};
  CHECK(accepted().drop_states == drop);
  drop = {"first_today/last_date"};
  CHECK(accepted().drop_states == drop);
  remove("cart_add");
  CHECK_THAT(refused(), Contains("positions of 2 splits") && Contains("--drop-state cart_add"));
  remove("pruner");  // had no state
  drop = {"first_today", "cart_add"};
  CHECK_THAT(accepted().text, Contains("\"pruner\" is gone"));
}

TEST_CASE_METHOD(Fixture, "a renamed operator is guessed") {
  now("w1").id = "w2";
  CHECK_THAT(refused(), Contains("Operator \"w2\" is new, of the same type") && Contains("write `id: w1`"));
}

TEST_CASE_METHOD(Fixture, "a spool that was not written yet keeps its sink") {
  manifest.spools.push_back({"sink", 0, manifest.number, "spools/x", std::string(64, '0'), 10, 5});
  CHECK_THAT(refused(), Contains("5 rows that may not have been written"));
}

TEST_CASE_METHOD(Fixture, "several problems are told at once") {
  remove("first_today");
  remove("w1");
  current.key_groups = 64;
  CHECK_THAT(refused(), Contains("first_today") && Contains("w1") && Contains("128 key groups, the pipeline 64"));
}

TEST_CASE_METHOD(Fixture, "changed key, type, kind and format are refused with the reason") {
  SECTION("key") {
    now("first_today").key = "sku_id";
    CHECK_THAT(refused(), Contains("keyed by \"user_id\"") && Contains("now keyed by \"sku_id\""));
    drop = {"first_today"};
    const RestorePlan plan = accepted();
    CHECK(plan.drop_states == drop);
    CHECK(plan.started_empty == drop);
  }
  SECTION("no key any more") {
    now("first_today").key = "";
    CHECK_THAT(refused(), Contains("operator \"first_today\" was keyed by \"user_id\", has none now: its state belongs to the old keys"));
  }
  SECTION("type") {
    now("w1").type = "session_window";
    CHECK_THAT(refused(), Contains("\"w1\" was tumbling_window, is now session_window"));
  }
  SECTION("kind") {
    now("w1").states[0].kind = "value";
    CHECK_THAT(refused(), Contains("map state") && Contains("value state") && Contains("--drop-state w1/panes"));
  }
  SECTION("older operator") {
    manifest.operators[2].states[0].format = 3;
    manifest.operators[2].states[0].compat = 3;
    manifest.operators[2].states[0].oldest_format = 3;
    CHECK_THAT(refused(), Contains("stored in format 3") && Contains("only knows format 1"));
  }
  SECTION("newer operator that does not read the old format") {
    now("w1").states[0].format = now("w1").states[0].compat = 2;
    CHECK_THAT(refused(), Contains("holds values of format 1") && Contains("reads only format 2"));
    now("w1").states[0].compat = 1;
    accepted();
  }
  SECTION("a state that is not declared any more") {
    now("w1").states.clear();
    CHECK_THAT(refused(), Contains("does not declare it") && Contains("--drop-state w1/panes"));
    drop = {"w1/panes"};
    CHECK(accepted().drop_states == drop);
  }
  SECTION("the type of an operator without state") {
    now("pruner").type = "other";
    CHECK_THAT(accepted().text, Contains("it had no state"));
  }
}

TEST_CASE_METHOD(Fixture, "operators with state that changed places are refused; one without state may come between") {
  const auto chain = [](std::vector<ManifestOperator>& operators, const std::vector<std::string>& order) {
    for (size_t i = 1; i < order.size(); ++i)
      for (ManifestOperator& op : operators)
        if (op.id == order[i]) op.inputs = order[i - 1];
  };
  chain(manifest.operators, {"cart_add", "first_today", "w1"});
  SECTION("another order") {
    chain(current.operators, {"cart_add", "w1", "first_today"});
    CHECK(refused() ==
          "checkpoint 12 does not fit the pipeline:\n  operator \"w1\" read what \"first_today\" gave, now "
          "\"first_today\" reads what \"w1\" gives: their state belongs to other rows. To give it up: --drop-state w1 "
          "--drop-state first_today");
    drop = {"first_today"};
    accepted();
  }
  SECTION("something between them") {
    chain(current.operators, {"cart_add", "first_today", "pruner", "w1"});
    accepted();
  }
  SECTION("side by side") {
    chain(current.operators, {"cart_add", "first_today"});
    chain(current.operators, {"cart_add", "w1"});
    accepted();
  }
  SECTION("a checkpoint that does not say it") {
    for (ManifestOperator& op : manifest.operators) op.inputs.clear();
    chain(current.operators, {"cart_add", "w1", "first_today"});
    accepted();
  }
}

TEST_CASE_METHOD(Fixture, "what is new starts empty, and is said") {
  current.operators.push_back(operation("filter", "filter"));
  current.operators.push_back(operation("second", "kafka.source"));
  current.source_ids.push_back("second");
  ManifestOperator stateful = operation("dedup2", "daily_dedup", "sku_id");
  stateful.states.push_back({.name = "last_date", .kind = "value"});
  current.operators.push_back(stateful);
  now("w1").states.push_back({.name = "late", .kind = "map"});
  const RestorePlan plan = accepted();
  CHECK(plan.started_empty == Strings{"w1/late", "second", "dedup2"});
  CHECK_THAT(plan.text, Contains("\"filter\" is new") && Contains("\"second\" is new and begins at its start option") &&
                            Contains("\"dedup2\" is new and starts with empty state") &&
                            Contains("state \"late\" is new"));
}

TEST_CASE_METHOD(Fixture, "a broadcast state that starts empty needs sources that start, too") {
  ManifestOperator filter = operation("filter", "broadcast_filter");
  filter.states.push_back({.name = "rules", .kind = "broadcast"});
  current.operators.push_back(filter);
  current.broadcast_sources["filter"] = {"cart_add"};
  CHECK_THAT(refused(), Contains("the broadcast state of operator \"filter\" starts empty, but its source \"cart_add\" goes on behind what it has "
                                 "read, so nothing would fill it. To read \"cart_add\" from its start again: --drop-state cart_add"));
  drop = {"cart_add"};
  CHECK_THAT(accepted().text, Contains("\"cart_add\" begins at its start option; rows that it gives again are late where their windows have closed"));
  manifest.operators.push_back(filter);
  drop = {};
  accepted();
  drop = {"filter/rules"};
  refused();
}

TEST_CASE_METHOD(Fixture, "what is dropped is forgotten, with everything that the checkpoint has of it") {
  manifest.watermarks = {{"cart_add", 0, 5}, {"w1", 0, 5}};
  manifest.spools = {{.operator_id = "out", .rows = 3}, {.operator_id = "other", .rows = 1}};
  manifest.gates = {{"cart_add", true}, {"filter", true}, {"w1", true}};
  forget_dropped(manifest, {"cart_add", "out", "filter/rules"});
  CHECK(manifest.sources.empty());
  REQUIRE(manifest.spools.size() == 1);
  CHECK(manifest.spools[0].operator_id == "other");
  REQUIRE(manifest.watermarks.size() == 1);
  CHECK(manifest.watermarks[0].operator_id == "w1");
  REQUIRE(manifest.gates.size() == 1);
  CHECK(manifest.gates[0].operator_id == "w1");
}

TEST_CASE_METHOD(Fixture, "lanes, TTL, versions and the pipeline's name may change, and are noted") {
  current.parallelism = 3;
  current.name = "other";
  now("first_today").parallelism = 3;
  now("first_today").states[0].ttl_ms = 0;
  now("first_today").version = "0.2.0";
  drop = {"never there"};
  const RestorePlan plan = accepted();
  CHECK(plan.rescale);
  CHECK(plan.drop_states.empty());
  CHECK_THAT(plan.text, Contains("parallelism 2 becomes 3") && Contains("\"dws_cart_add\", this one is \"other\"") &&
                            Contains("TTL changes from 86400000 ms to 0 ms") &&
                            Contains("version 0.1.0 becomes 0.2.0") && Contains("--drop-state never there"));
}
