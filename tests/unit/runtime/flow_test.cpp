// How rows move: chains, copies, unions, exchanges by key, other numbers of lanes, two phases.
#include "test_world.h"

namespace sluice::runtime {
namespace {

using namespace testing;

const std::string kSource = "  - { id: src, use: test.source, with: { script: a } }\n";

void fill(const std::string& script, int splits, int rows, int keys) {
  const auto guard = lock();
  for (int i = 0; i < rows; ++i)
    for (int s = 0; s < splits; ++s) {
      auto& split = world().scripts[script].splits["s" + std::to_string(s)];
      split.ordinal = s;
      split.rows.push_back({row("k" + std::to_string(i % keys), s * 1000000 + i), ""});
    }
}

TEST_CASE("a chain keeps the order and the bytes of the rows") {
  Place place;
  const std::vector<std::string> rows = {"{ \"id\" : \"a\", \"n\": 1.00 }", "{\"id\":\"b\",\"n\":18446744073709551615}", "{\"n\":1e2,\"id\":\"\\u0063\"}"};
  for (const auto& r : rows) world().scripts["a"].add("s", r);
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n");
  const auto outcome = job.run();
  REQUIRE(outcome.is_ok());
  CHECK(outcome.value() == Outcome::kFinished);
  CHECK(written("out") == rows);
  CHECK(table("out").at("c") == rows[2]);
  CHECK(job.operator_progress("src").rows_out == 3);
  CHECK(job.operator_progress("h").rows_in == 3);
  CHECK(job.progress().phase == "finished");
}

TEST_CASE("rows that a transform makes and attaches") {
  Place place;
  for (int i = 0; i < 10; ++i) world().scripts["a"].add("s", row("k" + std::to_string(i), i));
  world().hooks["h"].process = [](Api& api, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      const auto n = in((*api.fields)[0], r).int64().value();
      if (n % 3 == 0) out.forward(r, {Value::string("third")});
      else if (n % 3 == 1) out.emit(r).set("id", Value::string(out.keep("m" + std::to_string(n)))).set("n", Value::integer(-n));
    }
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src, with: { fields: [n], attaches: [note] } }\n  - { id: out, use: test.upsert, input: h }\n");
  REQUIRE(job.run().is_ok());
  CHECK(written("out") == std::vector<std::string>{
                              row("k0", 0, ",\"note\":\"third\""), row("m1", -1), row("k3", 3, ",\"note\":\"third\""), row("m4", -4),
                              row("k6", 6, ",\"note\":\"third\""), row("m7", -7), row("k9", 9, ",\"note\":\"third\"")});
}

TEST_CASE("an operator asks for a field that another one attached") {
  Place place;
  world().scripts["a"].add("s", row("a", 1, ",\"t\":\"old\""));
  world().hooks["h"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) out.forward(r, {Value::string("new")});
    return Status::ok();
  };
  world().hooks["g"].process = [](Api& api, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) out.emit(r).set("id", in((*api.fields)[0], r));
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src, with: { fields: [t], attaches: [t] } }\n"
                               "  - { id: g, use: test.hook, input: h, with: { fields: [t] } }\n  - { id: out, use: test.upsert, input: g }\n");
  REQUIRE(job.run().is_ok());
  CHECK(written("out") == std::vector<std::string>{"{\"id\":\"new\"}"});
}

TEST_CASE("every reader of an output gets all of it; ports are apart") {
  Place place;
  for (int i = 0; i < 20; ++i) world().scripts["a"].add("s", row("k" + std::to_string(i), i));
  world().hooks["h"].process = [](Api& api, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) out.forward(r, in((*api.fields)[0], r).int64().value() % 2 == 0 ? 0 : 1);
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src, with: { fields: [n] } }\n  - { id: even, use: test.upsert, input: h }\n"
                               "  - { id: even2, use: test.upsert, input: h }\n  - { id: odd, use: test.upsert, input: h.late }\n"
                               "  - { id: all, use: test.upsert, input: [h, h.late] }\n");
  REQUIRE(job.run().is_ok());
  CHECK(written("even").size() == 10);
  CHECK(written("even") == written("even2"));
  CHECK(written("odd").size() == 10);
  CHECK(table("all").size() == 20);
}

TEST_CASE("an output that nobody reads is counted") {
  Place place;
  world().scripts["a"].add("s", row("a", 1));
  world().hooks["h"].process = [](Api&, const Batch&, Output& out) {
    out.forward(0, 1);
    out.forward(0, 0);
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n");
  REQUIRE(job.run().is_ok());
  CHECK(job.operator_progress("h").counters.at("unread_output") == 1);
  CHECK(written("out").size() == 1);
}

TEST_CASE("a union of two sources loses nothing") {
  Place place;
  for (int i = 0; i < 500; ++i) {
    world().scripts["a"].add("s", row("a" + std::to_string(i), i));
    world().scripts["b"].add("s", row("b" + std::to_string(i), i));
  }
  Settings s;
  s.batch_rows = 7;
  TestJob job(place, kSource + "  - { id: b, use: test.source, with: { script: b } }\n  - { id: out, use: test.upsert, input: [src, b] }\n", s);
  REQUIRE(job.run().is_ok());
  CHECK(written("out").size() == 1000);
  CHECK(table("out").size() == 1000);
  std::map<char, int64_t> last;  // each source's order is kept
  for (const auto& json : written("out")) {
    const int64_t n = std::stoll(get(json, "n"));
    const char from = get(json, "id")[0];
    REQUIRE(n >= last[from]);
    last[from] = n;
  }
}

TEST_CASE("by key: each key in one lane, a split's rows of one key in order") {
  const int batch = GENERATE(1, 3, 1000);
  CAPTURE(batch);
  Place place;
  fill("a", 3, 400, 17);
  Settings s;
  s.parallelism = 3;
  s.batch_rows = batch;
  world().hooks["c"].process = [](Api& api, const Batch& in, Output& out) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r) {
      bool found = false;
      int64_t n = 0;
      SLUICE_CHECK_OK(api.value->get(in.key(r), &found, &n));
      SLUICE_CHECK_OK(api.value->put(in.key(r), n + 1));
      out.forward(r);
    }
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: c, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: c }\n", s);
  REQUIRE(job.run().is_ok());
  std::map<std::string, std::set<uint32_t>> lanes;
  std::map<std::pair<std::string, int64_t>, int64_t> last;  // by key and split
  REQUIRE(world().sinks["out"].log.size() == 1200);
  for (const auto& w : world().sinks["out"].log) {
    const std::string key = get(w.json, "id");
    const int64_t n = std::stoll(get(w.json, "n")), split = n / 1000000;
    lanes[key].insert(w.lane);
    const auto [it, first] = last.try_emplace({key, split}, n);
    if (!first) REQUIRE(it->second < n);
    it->second = n;
  }
  CHECK(lanes.size() == 17);
  std::set<uint32_t> used;
  for (const auto& [key, in] : lanes) {
    CHECK(in.size() == 1);
    used.insert(in.begin(), in.end());
  }
  CHECK(used.size() == 3);
}

TEST_CASE("keys of several fields, numbers and booleans") {
  Place place;
  world().scripts["a"].add("s", "{\"id\":\"1\",\"a\":\"x\",\"b\":12,\"d\":{\"c\":true}}");
  world().scripts["a"].add("s", "{\"id\":\"2\",\"a\":\"x1\",\"b\":2,\"d\":{\"c\":false}}");
  std::vector<std::string> keys;
  world().hooks["c"].process = [&](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      keys.emplace_back(in.key(r));
      out.forward(r);
    }
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: c, use: test.state, key: [a, b, d.c], input: src }\n  - { id: out, use: test.upsert, input: c }\n");
  REQUIRE(job.run().is_ok());
  CHECK(keys == std::vector<std::string>{"1:x2:124:true", "2:x11:25:false"});
}

TEST_CASE("to fewer and to more lanes without a key; checkpoints complete") {
  const int above = GENERATE(1, 2, 3), below = GENERATE(1, 2, 3);
  CAPTURE(above, below);
  Place place;
  fill("a", above, 50, 50);
  TestJob job(place, "  - { id: src, use: test.source, parallelism: " + std::to_string(above) + ", with: { script: a } }\n  - { id: h, use: test.hook, input: src, parallelism: " +
                         std::to_string(below) + " }\n  - { id: out, use: test.epoch, input: h }\n");
  const auto outcome = job.run();
  REQUIRE(outcome.is_ok());
  CHECK(committed("out").size() == static_cast<size_t>(50 * above));
  // A split's rows stay in one lane and in order.
  std::map<int64_t, int64_t> last;
  for (const auto& json : committed("out")) {
    const int64_t n = std::stoll(get(json, "n"));
    REQUIRE(last[n / 1000000] <= n);
    last[n / 1000000] = n;
  }
}

TEST_CASE("two phases: every lane's part, then the whole") {
  Place place;
  fill("a", 3, 100, 10);
  const auto sum = [](Api& api, const Batch& in, Output&) -> Status {
    bool found = false;
    int64_t n = 0;
    SLUICE_CHECK_OK(api.shared->get("sum", &found, &n));
    for (uint32_t r = 0; r < in.size(); ++r) n += in((*api.fields)[0], r).int64().value() % 1000000;
    return api.shared->put("sum", n);
  };
  world().hooks["w"].process = sum;
  world().hooks["w"].on_watermark = [](Api& api, int64_t w, Output& out) -> Status {
    if (w != SLUICE_END_OF_TIME) return Status::ok();
    bool found = false;
    int64_t n = 0;
    SLUICE_CHECK_OK(api.shared->get("sum", &found, &n));
    const char* role = api.role == SLUICE_ROLE_PARTIAL ? "partial" : api.role == SLUICE_ROLE_MERGE ? "merge" : "complete";
    {
      const auto guard = lock();
      ++world().numbers[role];
    }
    out.emit(SLUICE_NO_ROW).set("id", Value::string(role)).set("n", Value::integer(n));
    return Status::ok();
  };
  Settings s;
  s.parallelism = GENERATE(1, 3);
  TestJob job(place, kSource + "  - { id: w, use: test.phases, input: src, with: { fields: [n] } }\n  - { id: out, use: test.upsert, input: w }\n", s);
  REQUIRE(job.run().is_ok());
  CHECK(written("out") == std::vector<std::string>{row(s.parallelism == 1 ? "complete" : "merge", 3 * 4950)});
  CHECK(world().numbers["partial"] == (s.parallelism == 1 ? 0 : 3));
  CHECK(world().numbers["merge"] == (s.parallelism == 1 ? 0 : 1));
}

TEST_CASE("a slow sink pushes back as far as the source") {
  Place place;
  for (int i = 0; i < 400; ++i) world().scripts["a"].add("s", row("k" + std::to_string(i), i));
  world().sinks["out"].on_write = [](uint32_t, const Batch&, uint32_t* consumed) {
    const auto guard = lock();
    *consumed = 0;
    return world().numbers["open"] != 0 ? Status::ok() : Status::retry("closed", 1);
  };
  Settings s;
  s.batch_rows = 1;
  TestJob job(place, kSource + "  - { id: b, use: test.source, with: { script: none } }\n  - { id: out, use: test.upsert, input: [src, b] }\n", s);
  world().scripts["none"].splits["s"];
  job.start();
  REQUIRE(job.wait_for([&] { return !job.operator_progress("out").last_error.empty() && job.operator_progress("src").rows_out >= 4; }));
  CHECK(job.operator_progress("src").rows_out < 20);
  {
    const auto guard = lock();
    world().numbers["open"] = 1;
  }
  REQUIRE(job.wait().is_ok());
  CHECK(written("out").size() == 400);
  CHECK(job.progress().waiting_for.empty());  // what it waited for is over
}

}  // namespace
}  // namespace sluice::runtime
