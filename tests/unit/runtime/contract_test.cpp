// Plugins that break the contract stop the job; the message names them.
#include "test_world.h"

namespace sluice::runtime {
namespace {

using namespace testing;

const std::string kHook = "  - { id: src, use: test.source, with: { script: a } }\n  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n";

// Runs `graph` with `process` in operator `id` and gives the job's end.
base::Status run(const std::string& graph, const std::string& id, const decltype(Hooks::process)& process) {
  Place place;
  for (int i = 0; i < 3; ++i) world().scripts["a"].add("s", row("a" + std::to_string(i), i));
  world().scripts["conf"].add("c", "{\"k\":\"x\"}");
  world().hooks[id].process = process;
  TestJob job(place, graph);
  const auto outcome = job.run();
  return outcome.is_ok() ? base::Status::ok() : outcome.status();
}
bool says(const base::Status& s, const std::string& words) {
  INFO(s.message());
  CHECK(s.message().find(words) != std::string::npos);
  return s.message().find(words) != std::string::npos;
}

TEST_CASE("emit and state from a thread of the plugin's own") {
  const base::Status s = run(kHook, "h", [](Api& api, const Batch&, Output&) -> Status {
    std::thread([&] {
      const sluice_str none{nullptr, 0};
      sluice_rows rows{};
      rows.struct_size = sizeof rows;
      rows.size = 1;
      rows.raw = &none;
      sluice_error e{};
      e.struct_size = sizeof e;
      static_cast<void>(api.context->emit(api.context, 0, &rows, &e));
    }).join();
    return Status::ok();
  });
  CHECK(s.code() == base::Code::kBug);
  says(s, "operator \"h\" (test.hook): the plugin broke the contract: emit was called from a thread");
}

TEST_CASE("wake, count and the clock are for any thread") {
  const base::Status s = run(kHook, "h", [](Api& api, const Batch& in, Output& out) -> Status {
    std::thread([&] {
      api.context->wake(api.context);
      api.context->count(api.context, {"x", 1}, 1);
      api.context->status_note(api.context, {"note", 4});
      static_cast<void>(api.context->now(api.context));
      static_cast<void>(api.context->stopping(api.context));
    }).join();
    for (uint32_t r = 0; r < in.size(); ++r) out.forward(r);
    return Status::ok();
  });
  CHECK(s.is_ok());
}

TEST_CASE("a source that gives rows before it is asked for some") {
  Place place;
  world().scripts["a"].add("s", row("a", 1));
  world().scripts["a"].emits_when_assigned = true;
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a } }\n  - { id: out, use: test.upsert, input: src }\n");
  const auto outcome = job.run();
  REQUIRE(!outcome.is_ok());
  CHECK(outcome.status().code() == base::Code::kBug);
  says(outcome.status(), "operator \"src\" (test.source): bug in the plugin, in assign: emit: a source gives rows in poll() only");
}

TEST_CASE("broadcast state written on the main port") {
  const base::Status s = run(
      "  - { id: src, use: test.source, with: { script: a } }\n  - { id: conf, use: test.source, with: { script: conf } }\n"
      "  - { id: f, use: test.rules, input: src, broadcast: conf }\n  - { id: out, use: test.upsert, input: f }\n",
      "f", [](Api& api, const Batch&, Output&) { return api.rules->put("k", "v"); });
  CHECK(s.code() == base::Code::kBug);
  says(s, "operator \"f\" (test.rules)");
  says(s, "broadcast state `rules` may be written on the broadcast port only");
}

TEST_CASE("rows that are not there") {
  base::Status s = run(kHook, "h", [](Api&, const Batch& in, Output& out) {
    out.emit(in.size()).set("id", Value::string("x"));
    return Status::ok();
  });
  CHECK(s.code() == base::Code::kBug);
  says(s, "operator \"h\" (test.hook): bug in the plugin, in process: emit: from_row 3 is no row of the batch");
  s = run(kHook, "h", [](Api&, const Batch& in, Output& out) {
    out.forward(in.size());
    return Status::ok();
  });
  says(s, "forward: row 3 is no row of the batch");
  s = run(kHook, "h", [](Api&, const Batch& in, Output& out) { return out.reject(in.size(), "x"); });
  says(s, "reject: no such row");
  s = run(kHook, "h", [](Api&, const Batch&, Output& out) {
    out.forward(0, 9);
    return Status::ok();
  });
  says(s, "output port 9 does not exist");
}

TEST_CASE("BAD_RECORD for a batch, FATAL, an exception, and state without a declaration") {
  base::Status s = run(kHook, "h", [](Api&, const Batch&, Output&) { return Status::bad_record("which one?"); });
  CHECK(s.code() == base::Code::kBug);
  says(s, "operator \"h\": process() answered BAD_RECORD for a batch; a row is refused by reject(): which one?");
  s = run(kHook, "h", [](Api&, const Batch&, Output&) { return Status::fatal("no way on; do this"); });
  CHECK(s.code() == base::Code::kFatal);
  says(s, "operator \"h\" (test.hook): no way on; do this");
  s = run(kHook, "h", [](Api&, const Batch&, Output&) -> Status { throw std::runtime_error("oops"); });
  CHECK(s.code() == base::Code::kBug);
  says(s, "operator \"h\" (test.hook): bug in the plugin, in process: uncaught exception: oops");
  s = run(kHook, "h", [](Api& api, const Batch&, Output&) { return api.set_timer(SLUICE_CLOCK_EVENT, "k", 1, 1); });
  says(s, "timers need a key or a declared state");
}

TEST_CASE("BAD_RECORD for a batch of one row refuses that row") {
  Place place;
  world().scripts["a"].add("s", row("a", 1));
  world().hooks["h"].process = [](Api&, const Batch&, Output&) { return Status::bad_record("not this one"); };
  TestJob job(place, kHook);
  REQUIRE(job.run().is_ok());
  REQUIRE(place.dead_letters().size() == 1);
  CHECK(place.dead_letters()[0].reason == "not this one");
}

TEST_CASE("a failure in one lane ends all, and what was complete before is kept") {
  Place place;
  for (int i = 0; i < 50; ++i)
    for (const char* split : {"s0", "s1"}) world().scripts["a"].add(split, row("a" + std::to_string(i), i));
  for (auto& [id, split] : world().scripts["a"].splits) split.ordinal = id == "s0" ? 0 : 1;
  world().hooks["h"].process = [](Api& api, const Batch& in, Output& out) {
    if (api.lane == 1) return Status::fatal("lane 1 has had enough");
    for (uint32_t r = 0; r < in.size(); ++r) out.forward(r);
    return Status::ok();
  };
  Settings s;
  s.parallelism = 2;
  {
    TestJob job(place, kHook, s);
    const auto outcome = job.run();
    REQUIRE_FALSE(outcome.is_ok());
    says(outcome.status(), "lane 1 has had enough");
    CHECK(job.progress().phase == "failed");
  }
  world().hooks["h"].process = nullptr;
  TestJob again(place, kHook, s);
  REQUIRE(again.run().is_ok());
  CHECK(table("out").size() == 50);
}

TEST_CASE("a folder of checkpoints belongs to one job at a time") {
  Place place;
  world().scripts["a"].add("s", row("a", 1));
  world().scripts["a"].splits["s"].ends = false;
  TestJob first(place, kHook);
  first.start();
  REQUIRE(first.wait_checkpoints(1));
  TestJob second(place, kHook);
  const auto outcome = second.run();
  CHECK_FALSE(outcome.is_ok());
  REQUIRE(first.stop().is_ok());
}

}  // namespace
}  // namespace sluice::runtime
