// Descriptions that are wrong in one place each.
#include <catch2/catch.hpp>

#include <cstring>

#include "plugin/negotiation.h"
#include "sluice/status.hpp"

using sluice::str;

namespace {

sluice_code no_create(const sluice_context*, const sluice_value*, const sluice_operator_vtbl**, void**, sluice_error*) { return SLUICE_BUG; }

// A description with nothing wrong; tests break one thing.
struct Tables {
  sluice_str words[2] = {str("processing"), str("event")};
  sluice_str ports[1] = {str("late")};
  sluice_option ttl{}, clock{};
  const sluice_option* options[2] = {&ttl, &clock};
  sluice_state_decl seen{};
  const sluice_state_decl* states[1] = {&seen};
  sluice_operator_desc op{};
  const sluice_operator_desc* operators[1] = {&op};
  sluice_module module{};

  Tables() {
    ttl.struct_size = clock.struct_size = sizeof ttl;
    ttl.type = SLUICE_T_DURATION;
    ttl.name = str("ttl");
    clock.type = SLUICE_T_ENUM;
    clock.name = str("clock");
    clock.choices = words;
    clock.choice_count = 2;
    seen.struct_size = sizeof seen;
    seen.kind = SLUICE_STATE_VALUE;
    seen.name = str("seen");
    seen.format_version = seen.compat_version = 1;
    seen.ttl_required = 1;
    seen.ttl_option = str("ttl");
    seen.ttl_clock_option = str("clock");
    op.struct_size = sizeof op;
    op.kind = SLUICE_TRANSFORM;
    op.type = str("acme.op");
    op.options = options;
    op.option_count = 2;
    op.states = states;
    op.state_count = 1;
    op.output_ports = ports;
    op.output_port_count = 1;
    op.create = &no_create;
    module.struct_size = sizeof module;
    module.abi_major = SLUICE_ABI_MAJOR;
    module.abi_minor = module.abi_min_minor = SLUICE_ABI_MINOR;
    module.name = str("acme");
    module.version = str("1.2");
    module.operators = operators;
    module.operator_count = 1;
  }
  std::string problem() const { return sluice::plugin::check_module(&module).message(); }
};

}  // namespace

TEST_CASE("a good description is accepted") { CHECK(Tables().problem().empty()); }

TEST_CASE("module descriptions that are refused") {
  Tables t;
  const std::string in_module = "module \"acme\" 1.2";
  SECTION("older minor, too: 0.x minors stand alone") {
    t.module.abi_minor = 0;
    CHECK(t.problem() == in_module + " was built for plugin ABI 0.0, this host speaks 0.2: build it again with the SDK that belongs to this host");
  }
  SECTION("another major behind the right symbol") {
    t.module.abi_major = 7;
    CHECK(t.problem() == in_module + " was built for plugin ABI 7.2, this host speaks 0.2: build it again with the SDK that belongs to this host");
  }
  SECTION("of another minor, and too short for a name: the versions still count") {
    t.module.abi_minor = 9;
    t.module.struct_size = 16;
    CHECK(t.problem() == "the module was built for plugin ABI 0.9, this host speaks 0.2: build it again with the SDK that belongs to this host");
  }
  SECTION("no name") {
    t.module.name = {nullptr, 0};
    CHECK(t.problem() == "the module has no name");
  }
  SECTION("no operators") {
    t.module.operator_count = 0;
    CHECK(t.problem() == in_module + " has no operators");
  }
  SECTION("operators that are not there") {
    t.module.operators = nullptr;
    CHECK(t.problem() == in_module + " has no table of operators");
  }
  SECTION("a text without data") {
    t.module.vendor = {nullptr, 5};
    CHECK(t.problem() == in_module + " has a text without data");
  }
}

TEST_CASE("operators that are refused") {
  Tables t;
  const std::string in_op = "module \"acme\" 1.2: operator \"acme.op\"";
  SECTION("missing") {
    t.operators[0] = nullptr;
    CHECK(t.problem() == "module \"acme\" 1.2: the description of an operator is missing");
  }
  SECTION("no type") {
    t.op.type = str("");
    CHECK(t.problem() == "module \"acme\" 1.2: an operator has no type");
  }
  SECTION("kind") {
    t.op.kind = 4;
    CHECK(t.problem() == in_op + " has the unknown kind 4");
  }
  SECTION("a sink with a broadcast input") {
    t.op.kind = SLUICE_SINK;
    t.op.flags = SLUICE_OP_BROADCAST;
    CHECK(t.problem() == in_op + " has a broadcast input, but is a sink");
  }
  SECTION("no create") {
    t.op.create = nullptr;
    CHECK(t.problem() == in_op + " has no create function");
  }
  SECTION("a table that is missing") {
    t.op.states = nullptr;
    CHECK(t.problem() == in_op + " has a table that is missing");
  }
  SECTION("the same operator twice") {
    const sluice_operator_desc* both[] = {&t.op, &t.op};
    t.module.operators = both;
    t.module.operator_count = 2;
    CHECK(t.problem() == in_op + " is declared twice");
  }
  SECTION("the same option twice") {
    t.options[1] = &t.ttl;
    CHECK(t.problem() == in_op + ": option \"ttl\" is declared twice");
  }
  SECTION("option type") {
    t.ttl.type = 99;
    CHECK(t.problem() == in_op + ": option \"ttl\" has the unknown type 99");
  }
  SECTION("an enum without choices") {
    t.clock.choice_count = 0;
    CHECK(t.problem() == in_op + ": option \"clock\" is an enum without choices");
  }
  SECTION("an option that is too short") {
    t.ttl.struct_size = 16;
    CHECK(t.problem() == in_op + ": an option is too short: 16 bytes, at least 128 are needed");
  }
  SECTION("an output without a name") {
    t.ports[0] = {nullptr, 0};
    CHECK(t.problem() == in_op + " has an output without a name");
  }
}

TEST_CASE("states that are refused") {
  Tables t;
  const std::string in_state = "module \"acme\" 1.2: operator \"acme.op\": state \"seen\"";
  SECTION("kind") {
    t.seen.kind = 0;
    CHECK(t.problem() == in_state + " has the unknown kind 0");
  }
  SECTION("broadcast without an input for it") {
    t.seen.kind = SLUICE_STATE_BROADCAST;
    CHECK(t.problem() == in_state + " is a broadcast state, but the operator has no broadcast input");
  }
  SECTION("versions") {
    t.seen.compat_version = 2;
    CHECK(t.problem() == in_state + " has format version 1 and compat version 2; 1 <= compat <= format <= 65535 must hold");
  }
  SECTION("time to live from an option that is not there") {
    t.seen.ttl_option = str("tll");
    CHECK(t.problem() == in_state + " takes its time to live from \"tll\", which is no duration option");
  }
  SECTION("time to live from an option of another type") {
    t.ttl.type = SLUICE_T_INT;
    CHECK(t.problem() == in_state + " takes its time to live from \"ttl\", which is no duration option");
  }
  SECTION("clock") {
    t.seen.ttl_clock_option = str("ttl");
    CHECK(t.problem() == in_state + " takes its clock from \"ttl\", which is no enum option");
  }
  SECTION("a required time to live that nobody can give") {
    t.seen.ttl_option = {nullptr, 0};
    CHECK(t.problem() == in_state + " requires a time to live, but names no option that gives it");
  }
}
