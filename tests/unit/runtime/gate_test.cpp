// The broadcast side comes first: no row of the main sources before its snapshot is complete.
#include "test_world.h"

namespace sluice::runtime {
namespace {

using namespace testing;

const std::string kGraph =
    "  - { id: src, use: test.source, with: { script: a } }\n"
    "  - { id: conf, use: test.source, with: { script: conf } }\n"
    "  - { id: f, use: test.rules, input: src, broadcast: conf, with: { fields: [id], broadcast_fields: [k, v] } }\n"
    "  - { id: out, use: test.upsert, input: f }\n";
std::string rule(const std::string& k, const std::string& v) { return "{\"k\":\"" + k + "\",\"v\":\"" + v + "\"}"; }

// Rules are kept; a main row leaves with the value of its rule, or is refused.
void apply_rules() {
  Hooks& h = world().hooks["f"];
  h.broadcast = [](Api& api, const Batch& in, Output&) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r)
      SLUICE_CHECK_OK(api.rules->put(in((*api.broadcast_fields)[0], r).text(), std::string(in((*api.broadcast_fields)[1], r).text())));
    return Status::ok();
  };
  h.process = [](Api& api, const Batch& in, Output& out) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r) {
      bool found = false;
      std::string v;
      SLUICE_CHECK_OK(api.rules->get(in((*api.fields)[0], r).text(), &found, &v));
      if (!found) SLUICE_CHECK_OK(out.reject(r, "no rule"));
      else out.emit(r).set("id", in((*api.fields)[0], r)).set("v", Value::string(out.keep(v))).set("lane", Value::integer(api.lane));
    }
    return Status::ok();
  };
  h.on_marker = [](Api&, uint32_t marker) {
    const auto guard = lock();
    ++world().numbers[marker == SLUICE_SNAPSHOT_BEGIN ? "begin" : "end"];
    return Status::ok();
  };
}
void fill_main(int rows) {
  const auto guard = lock();
  for (int i = 0; i < rows; ++i) {
    auto& split = world().scripts["a"].splits["s" + std::to_string(i % 2)];
    split.ordinal = i % 2;
    split.rows.push_back({row(i % 3 == 0 ? "x" : "y", i), ""});
  }
}
Settings lanes(int n) {
  Settings s;
  s.parallelism = n;
  return s;
}

TEST_CASE("rules that are given up come from the configuration's source again, or the start is refused") {
  Place place;
  apply_rules();
  fill_main(2);
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf"].add("c", rule("y", "2"));
  REQUIRE(TestJob(place, kGraph).run().is_ok());
  REQUIRE(written("out").size() == 2);
  {
    const auto guard = lock();
    world().scripts["a"].add("s2", row("x", 2));
  }
  JobOptions options;
  options.drop_states = {"f"};
  {
    TestJob job(place, kGraph, {}, options);
    const auto refused = job.run();
    REQUIRE_FALSE(refused.is_ok());
    CHECK(refused.status().message().find("the broadcast state of operator \"f\" starts empty, but its source \"conf\" goes on behind what it has "
                                          "read, so nothing would fill it. To read \"conf\" from its start again: --drop-state conf") != std::string::npos);
  }
  options.drop_states = {"f", "conf"};
  TestJob job(place, kGraph, {}, options);
  REQUIRE(job.run().is_ok());
  CHECK(written("out").size() == 3);
  CHECK(place.dead_letters().empty());
}

TEST_CASE("main rows wait for the whole snapshot; checkpoints do not") {
  Place place;
  apply_rules();
  fill_main(100);
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf"].add("c", rule("y", "2"));
  world().scripts["conf"].splits["c"].released = 1;
  world().scripts["conf"].splits["c"].ends = false;
  Settings s = lanes(GENERATE(1, 2));
  s.interval = "10ms";
  TestJob job(place, kGraph, s);
  job.start();
  REQUIRE(job.wait_checkpoints(3));  // while the gate is closed
  CHECK(job.operator_progress("src").rows_out == 0);
  CHECK(place.newest_checkpoint().gates.at(0).open == false);
  bool told = false;
  for (const auto& w : job.progress().waiting_for) told = told || w.find("the gate of f is closed") != std::string::npos;
  CHECK(told);
  {
    const auto guard = lock();
    world().scripts["conf"].splits["c"].released = 2;
  }
  // The configuration source does not end; the job does, with the main input.
  REQUIRE(job.wait().is_ok());
  CHECK(written("out").size() == 100);
  CHECK(place.dead_letters().empty());
  CHECK(table("out").count("x") == 1);
  CHECK(world().numbers["end"] == s.parallelism);
  CHECK(place.newest_checkpoint().gates.at(0).open);
}

TEST_CASE("once open it stays open: restarts do not wait for the configuration's server") {
  Place place;
  apply_rules();
  fill_main(10);
  for (auto& [id, split] : world().scripts["a"].splits) split.ends = false;
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf"].add("c", rule("y", "2"));
  world().scripts["conf"].splits["c"].ends = false;
  {
    TestJob job(place, kGraph, lanes(2));
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 10; }));
    REQUIRE(job.stop().is_ok());
  }
  fill_main(10);
  world().scripts["conf"].on_discover = [] { return Status::retry("no connection", 1000); };
  TestJob again(place, kGraph, lanes(3));  // with more lanes: each has the rules
  again.start();
  REQUIRE(again.wait_for([] { return written("out").size() == 20; }));
  CHECK(place.dead_letters().empty());
  REQUIRE(again.wait_for([&] { return again.operator_progress("conf").last_error == "no connection"; }));
  REQUIRE(again.stop().is_ok());
  // The position of the source that could not be reached is still known.
  bool kept = false;
  const auto checkpoint = place.newest_checkpoint();
  for (const auto& split : checkpoint.find_source("conf")->splits) kept = kept || (split.id == "c" && split.position == "2");
  CHECK(kept);
}

TEST_CASE("a crash while the gate is closed: it is closed again") {
  Place place;
  apply_rules();
  fill_main(10);
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf"].add("c", rule("y", "2"));
  world().scripts["conf"].splits["c"].released = 1;
  Settings s = lanes(2);
  s.interval = "10ms";
  {
    TestJob job(place, kGraph, s);
    job.start();
    REQUIRE(job.wait_checkpoints(3));
    job.kill();
  }
  TestJob again(place, kGraph, s);
  again.start();
  REQUIRE(again.wait_checkpoints(2));
  CHECK(written("out").empty());
  {
    const auto guard = lock();
    world().scripts["conf"].splits["c"].released = 2;
  }
  REQUIRE(again.wait().is_ok());
  CHECK(written("out").size() == 10);
  CHECK(place.dead_letters().empty());
}

TEST_CASE("a snapshot that begins anew replaces the rules at its end") {
  Place place;
  apply_rules();
  fill_main(6);
  for (auto& [id, split] : world().scripts["a"].splits) split.ends = false;
  world().scripts["conf"].begins_snapshot = true;
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf"].add("c", rule("y", "2"));
  {
    TestJob job(place, kGraph);
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 6; }));
    REQUIRE(job.stop().is_ok());
  }
  CHECK(world().numbers["begin"] == 1);
  // Its next snapshot, from the start, has no rule for x any more.
  world().scripts["conf"].splits.clear();
  world().scripts["conf"].add("d", rule("y", "3"));
  fill_main(6);  // they come after it: the gate is open already
  for (auto& [id, split] : world().scripts["a"].splits) split.released = 3;
  TestJob again(place, kGraph);
  again.start();
  REQUIRE(again.wait_for([] { return world().numbers["end"] == 2; }));
  {
    const auto guard = lock();
    for (auto& [id, split] : world().scripts["a"].splits) split.released = SIZE_MAX;
  }
  REQUIRE(again.wait_for([&] { return again.operator_progress("f").rejected == 2; }));
  REQUIRE(again.stop().is_ok());
  CHECK(get(table("out").at("y"), "v") == "3");
}

TEST_CASE("a snapshot that is taken again while it runs replaces the rules, too, after a restart as well") {
  Place place;
  apply_rules();
  fill_main(2);
  for (auto& [id, split] : world().scripts["a"].splits) split.ends = false;
  world().scripts["conf"].begins_snapshot = true;
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf"].add("c", rule("y", "1"));
  world().scripts["conf"].splits["c"].ends = false;
  const auto take_again = [](const char* value) {
    const auto guard = lock();
    auto& script = world().scripts["conf"];
    script.splits["c"].rows.clear();
    script.splits["c"].rows.push_back({rule("y", value), ""});
    ++script.begins_again;
  };
  const auto ends = [](int64_t n) {
    return [n] {
      const auto guard = lock();
      return world().numbers["end"] == n;
    };
  };
  {
    TestJob job(place, kGraph);
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 2; }));
    take_again("2");
    REQUIRE(job.wait_for(ends(2)));
    fill_main(2);
    REQUIRE(job.wait_for([&] { return job.operator_progress("f").rejected == 1 && get(table("out").at("y"), "v") == "2"; }));
    REQUIRE(job.stop().is_ok());
  }
  world().scripts["conf"].begins_snapshot = false;
  world().scripts["conf"].begins_again = 0;
  take_again("3");
  TestJob again(place, kGraph);
  again.start();
  REQUIRE(again.wait_for(ends(4)));  // the one that was complete in the checkpoint, and the new one
  fill_main(2);
  REQUIRE(again.wait_for([&] { return again.operator_progress("f").rejected == 1 && get(table("out").at("y"), "v") == "3"; }));
  REQUIRE(again.stop().is_ok());
}

TEST_CASE("a broadcast side of two sources is complete when both are") {
  Place place;
  apply_rules();
  fill_main(10);
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf2"].add("c", rule("y", "2"));
  world().scripts["conf2"].splits["c"].released = 0;
  Settings s;
  s.interval = "10ms";
  TestJob job(place,
              "  - { id: src, use: test.source, with: { script: a } }\n"
              "  - { id: conf, use: test.source, with: { script: conf } }\n"
              "  - { id: conf2, use: test.source, with: { script: conf2 } }\n"
              "  - { id: both, use: test.hook, input: [conf, conf2] }\n"
              "  - { id: f, use: test.rules, input: src, broadcast: both, with: { fields: [id], broadcast_fields: [k, v] } }\n"
              "  - { id: out, use: test.upsert, input: f }\n",
              s);
  job.start();
  REQUIRE(job.wait_for([] { return world().told["both"].rows[0] == 1; }));
  REQUIRE(job.wait_checkpoints(2));
  CHECK(written("out").empty());
  {
    const auto guard = lock();
    world().scripts["conf2"].splits["c"].released = 1;
  }
  REQUIRE(job.wait().is_ok());
  CHECK(written("out").size() == 10);
  CHECK(place.dead_letters().empty());
}

TEST_CASE("checkpoints that time out while the broadcast side is stuck do not end the job") {
  Place place;
  apply_rules();
  fill_main(10);
  world().scripts["conf"].add("c", rule("x", "1"));
  world().scripts["conf"].add("c", rule("y", "2"));
  world().hooks["slow"].process = [](Api&, const Batch& in, Output& out) {
    const auto guard = lock();
    if (world().numbers["open"] == 0) return Status::retry("stuck", 1);
    for (uint32_t r = 0; r < in.size(); ++r) out.forward(r);
    return Status::ok();
  };
  Settings s = lanes(2);
  s.interval = "5ms";
  s.timeout = "300ms";
  TestJob job(place,
              "  - { id: src, use: test.source, with: { script: a } }\n"
              "  - { id: conf, use: test.source, with: { script: conf } }\n"
              "  - { id: slow, use: test.hook, input: conf }\n"
              "  - { id: f, use: test.rules, input: src, broadcast: slow, with: { fields: [id], broadcast_fields: [k, v] } }\n"
              "  - { id: out, use: test.upsert, input: f }\n",
              s);
  job.start();
  REQUIRE(job.wait_for([&] { return job.progress().checkpoint.failed >= 2; }));
  CHECK(job.progress().checkpoint.last_error ==
        "not all operators answered within checkpoint.timeout (300ms): \"conf\" (lane 0), \"f\" (lanes 0, 1), \"out\" (lanes 0, 1), \"slow\" (lane 0), \"src\" (lanes 0, 1) did not");
  {
    const auto guard = lock();
    world().numbers["open"] = 1;
  }
  const auto outcome = job.wait();
  INFO(outcome.status().message());
  REQUIRE(outcome.is_ok());
  CHECK(written("out").size() == 10);
  CHECK_FALSE(place.checkpoints().empty());
}

TEST_CASE("rules that come later reach every lane in the order they were given") {
  Place place;
  apply_rules();
  fill_main(2);
  for (auto& [id, split] : world().scripts["a"].splits) split.ends = false;
  for (int i = 0; i < 50; ++i) world().scripts["conf"].add("c", rule(i % 2 == 0 ? "x" : "y", std::to_string(i)));
  world().scripts["conf"].splits["c"].ends = false;
  Settings s = lanes(2);
  s.batch_rows = 1;
  TestJob job(place, kGraph, s);
  job.start();
  REQUIRE(job.wait_for([] { return written("out").size() == 2; }));
  CHECK(get(table("out").at("x"), "v") == "48");
  CHECK(get(table("out").at("y"), "v") == "49");
  REQUIRE(job.stop().is_ok());
}

}  // namespace
}  // namespace sluice::runtime
