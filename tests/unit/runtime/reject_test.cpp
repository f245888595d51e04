// Rows that can never succeed: dead letters, once, with position and raw bytes.
#include "test_world.h"

namespace sluice::runtime {
namespace {

using namespace testing;

const std::string kSource = "  - { id: src, use: test.source, with: { script: a } }\n";
using Letters = std::vector<std::string>;

// "operator|reason|position|raw", sorted by raw.
Letters letters(const Place& place) {
  Letters out;
  for (const auto& l : place.dead_letters()) out.push_back(l.op + "|" + l.reason + "|" + l.position + "|" + l.raw);
  return out;
}
std::string reason_for_bad(const std::string& json) { return get(json, "bad").empty() ? "" : "it says so"; }
void fill(int rows) {
  for (int i = 0; i < rows; ++i) world().scripts["a"].add("s", row("k" + std::to_string(100 + i), i, i % 10 == 3 ? ",\"bad\":\"yes\"" : ""));
}
Letters expected(const std::string& op, int rows) {
  Letters out;
  for (int i = 3; i < rows; i += 10)
    out.push_back(op + "|it says so|s[" + std::to_string(i + 1) + "]|" + row("k" + std::to_string(100 + i), i, ",\"bad\":\"yes\""));
  return out;
}
Status reject_bad(Api& api, const Batch& in, Output& out) {
  for (uint32_t r = 0; r < in.size(); ++r) {
    if (in((*api.fields)[0], r).is_missing()) out.forward(r);
    else SLUICE_CHECK_OK(out.reject(r, "it says so"));
  }
  return Status::ok();
}

TEST_CASE("a transform, a keyed one and both kinds of sinks") {
  struct Kind {
    const char *name, *graph;
  };
  const Kind kind = GENERATE(
      Kind{"h", "  - { id: h, use: test.hook, input: src, with: { fields: [bad] } }\n  - { id: out, use: test.upsert, input: h }\n"},
      Kind{"c", "  - { id: c, use: test.state, key: id, parallelism: 2, input: src, with: { fields: [bad] } }\n  - { id: out, use: test.upsert, input: c }\n"},
      Kind{"out", "  - { id: out, use: test.upsert, input: src }\n"}, Kind{"eout", "  - { id: eout, use: test.epoch, input: src }\n"},
      Kind{"late", "  - { id: late, use: test.epoch, input: src }\n"});
  CAPTURE(kind.name);
  Place place;
  fill(40);
  world().hooks["h"].process = world().hooks["c"].process = reject_bad;
  for (const char* sink : {"out", "eout", "late"})
    if (std::string(sink) == kind.name) world().sinks[sink].refuses = reason_for_bad;
  world().sinks["late"].refuses_late = true;
  Settings s;
  s.batch_rows = 7;
  TestJob job(place, kSource + kind.graph, s);
  const auto outcome = job.run();
  INFO(outcome.status().message());
  REQUIRE(outcome.is_ok());
  CHECK(letters(place) == expected(kind.name, 40));
  CHECK(job.operator_progress(kind.name).rejected == 4);
  CHECK(job.progress().dead_letters == 4);
  CHECK(written("out").size() + committed("eout").size() + committed("late").size() == 36);
  for (const auto& l : place.dead_letters()) CHECK(l.source == "src");
}

TEST_CASE("once, also after crashes and replays") {
  const bool epoch = GENERATE(false, true);
  const std::string reject_in = GENERATE("h", "out");
  CAPTURE(epoch, reject_in);
  Place place;
  fill(600);
  if (reject_in == "h") world().hooks["h"].process = reject_bad;
  else world().sinks["out"].refuses = reason_for_bad;
  const std::string graph = kSource + "  - { id: h, use: test.hook, input: src, with: { fields: [bad] } }\n  - { id: out, use: " + (epoch ? "test.epoch" : "test.upsert") + ", input: h }\n";
  const auto count = [&] { return epoch ? committed("out").size() : written("out").size(); };
  Settings s;
  s.batch_rows = 5;
  s.interval = "4ms";
  {  // the first checkpoint, before any row
    world().scripts["a"].splits["s"].released = 0;
    TestJob job(place, graph, s);
    job.start();
    REQUIRE(job.wait_checkpoints(1));
    job.kill();
    world().scripts["a"].splits["s"].released = SIZE_MAX;
  }
  for (int round = 0; round < 8; ++round) {
    TestJob job(place, graph, s);
    job.start();
    const size_t before = count();
    job.wait_for([&] { return count() > before + 30; });
    job.kill();
  }
  TestJob last(place, graph, s);
  REQUIRE(last.run().is_ok());
  CHECK(letters(place) == expected(reject_in, 600));
}

TEST_CASE("a sink that rejects while its commits fail: each row's letter once") {
  Place place;
  fill(100);
  world().sinks["out"].refuses = reason_for_bad;
  world().sinks["out"].refuses_late = GENERATE(false, true);
  world().sinks["out"].on_commit = [](uint64_t) {
    const auto guard = lock();
    return ++world().numbers["before"] % 3 != 0 ? Status::retry("failed", 1) : Status::ok();
  };
  world().sinks["out"].after_commit = [](uint64_t) {
    const auto guard = lock();
    return ++world().numbers["after"] % 2 == 1 ? Status::retry("lost", 1) : Status::ok();
  };
  Settings s;
  s.batch_rows = 5;
  s.interval = "3ms";
  TestJob job(place, kSource + "  - { id: out, use: test.epoch, input: src }\n", s);
  world().scripts["a"].splits["s"].released = 0;
  job.start();
  for (size_t rows = 10; rows <= 100; rows += 10) {
    {
      const auto guard = lock();
      world().scripts["a"].splits["s"].released = rows;
    }
    if (rows < 100) REQUIRE(job.wait_checkpoints(1));
  }
  REQUIRE(job.wait().is_ok());
  CHECK(letters(place) == expected("out", 100));
  CHECK(committed("out").size() == 90);
}

TEST_CASE("rows that an epoch sink refuses when they are delivered at start") {
  Place place;
  fill(20);
  world().scripts["a"].splits["s"].ends = false;
  world().sinks["out"].refuses = reason_for_bad;
  world().sinks["out"].on_commit = [](uint64_t) { return Status::retry("away", 1); };
  const std::string on_error = GENERATE("dead_letter", "drop", "fail");
  const std::string graph = kSource + "  - { id: out, use: test.epoch, input: src, on_error: " + on_error + " }\n";
  Settings s;
  s.interval = "5ms";
  {
    // `fail` would end this run already.
    TestJob job(place, kSource + "  - { id: out, use: test.epoch, input: src }\n", s);
    job.start();
    REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 20; }));
    REQUIRE(job.wait_checkpoints(2));
    job.kill();
  }
  world().sinks["out"].on_commit = nullptr;
  world().scripts["a"].splits["s"].ends = true;
  for (int start = 0; start < 2; ++start) {  // the second start finds everything delivered
    TestJob job(place, graph, s);
    const auto outcome = job.run();
    if (on_error == "fail") {
      REQUIRE_FALSE(outcome.is_ok());
      CHECK(outcome.status().message().find("it says so, at s[4]; the job stops because on_error is `fail`") != std::string::npos);
      continue;
    }
    REQUIRE(outcome.is_ok());
    CHECK(committed("out").size() == 18);
    CHECK(letters(place) == (on_error == "drop" ? Letters{} : expected("out", 20)));
  }
}

TEST_CASE("a row that was refused beyond what RETRY says is consumed comes again") {
  Place place;
  for (int i = 0; i < 10; ++i) world().scripts["a"].add("s", row("k" + std::to_string(i), i));
  // An operator that looks at the whole batch before it finds that it cannot go on: nothing is consumed.
  world().hooks["h"].process = [](Api& api, const Batch& in, Output& out) -> Status {
    const auto refused = [&](uint32_t r) { return in((*api.fields)[0], r).int64().value() % 5 == 4; };
    for (uint32_t r = 0; r < in.size(); ++r)
      if (refused(r)) SLUICE_CHECK_OK(out.reject(r, "refused"));
    const auto guard = lock();
    if (world().numbers["tries"]++ < 2) return Status::retry("not yet", 1);
    for (uint32_t r = 0; r < in.size(); ++r)
      if (!refused(r)) out.forward(r);
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src, with: { fields: [n] } }\n  - { id: out, use: test.upsert, input: h }\n");
  REQUIRE(job.run().is_ok());
  CHECK(letters(place) == Letters{"h|refused|s[5]|" + row("k4", 4), "h|refused|s[10]|" + row("k9", 9)});
  CHECK(written("out").size() == 8);
}

TEST_CASE("what is no JSON object, too large, or has no key") {
  Place place;
  const std::string large = "{\"id\":\"large\",\"x\":\"" + std::string(70'000, 'x') + "\"}";
  const std::vector<std::string> bad = {"{broken", "[1]", "", "{\"id\":\"\xff\"}", "{\"n\":1}", "{\"id\":null}", "{\"id\":{}}", "{\"id\":1x}", large, "{\"id\":\"a\",\"x\":nope}"};
  for (const auto& b : bad) {
    world().scripts["a"].add("s", b);
    world().scripts["a"].add("s", row("good", 1));
  }
  TestJob job(place, kSource + "  - { id: c, use: test.state, key: id, parallelism: 2, input: src }\n  - { id: out, use: test.upsert, input: c }\n");
  REQUIRE(job.run().is_ok());
  CHECK(written("out").size() == bad.size());
  std::map<std::string, std::string> reasons;  // by position
  for (const auto& l : place.dead_letters()) reasons[l.position] = l.op + ": " + l.reason;
  REQUIRE(reasons.size() == bad.size());
  CHECK(reasons["s[1]"].rfind("src: ", 0) == 0);
  CHECK(reasons["s[3]"] == "src: an array; a record must be a JSON object");
  CHECK(reasons["s[5]"] == "src: empty: no JSON text");
  CHECK(reasons["s[7]"].rfind("src: invalid UTF-8", 0) == 0);
  CHECK(reasons["s[9]"] == "c: key field \"id\" of operator \"c\" is missing");
  CHECK(reasons["s[11]"] == "c: key field \"id\" of operator \"c\" is null");
  CHECK(reasons["s[13]"] == "c: key field \"id\" of operator \"c\" is not a text and not a number");
  CHECK(reasons["s[15]"] == "c: key field \"id\" of operator \"c\" is no valid JSON");
  CHECK(reasons["s[17]"] == "src: a record of " + std::to_string(large.size()) + " bytes; limits.max_record_size is 65536");
  CHECK(reasons["s[19]"] == "out: \"nope\" at byte 14 is no JSON value");
  for (const auto& l : place.dead_letters()) CHECK(l.has_raw == (l.position != "s[7]"));  // that one is base64
}

TEST_CASE("what is refused does not depend on the plan") {
  // A value that is no JSON in a field that only the sink's text shows.
  for (const char* graph : {"  - { id: out, use: test.upsert, input: src }\n", "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n",
                            "  - { id: c, use: test.state, key: id, parallelism: 2, input: src }\n  - { id: out, use: test.epoch, input: c }\n",
                            "  - { id: h, use: test.hook, input: src, with: { body: true } }\n  - { id: out, use: test.upsert, input: h }\n"}) {
    Place place;
    world().scripts["a"].add("s", "{\"id\":\"a\",\"x\":01}");
    world().scripts["a"].add("s", row("b", 1));
    TestJob job(place, kSource + graph);
    REQUIRE(job.run().is_ok());
    CHECK(written("out").size() + committed("out").size() == 1);
    REQUIRE(place.dead_letters().size() == 1);
    CHECK(place.dead_letters()[0].raw == "{\"id\":\"a\",\"x\":01}");
  }
}

TEST_CASE("on_error: drop and fail; an operator's own counts more than the pipeline's") {
  Place place;
  fill(20);
  world().hooks["h"].process = reject_bad;
  const std::string graph = "  - { id: h, use: test.hook, input: src, with: { fields: [bad] }";
  const std::string sink = " }\n  - { id: out, use: test.upsert, input: h }\n";
  Settings s;
  s.more = "on_error: fail\n";
  {
    TestJob job(place, kSource + graph + ", on_error: drop" + sink, s);
    REQUIRE(job.run().is_ok());
    CHECK(job.operator_progress("h").rejected == 2);
  }
  CHECK(written("out").size() == 18);
  CHECK(place.dead_letters().empty());
  Place other;
  fill(20);
  world().hooks["h"].process = reject_bad;
  TestJob job(other, kSource + graph + sink, s);
  const auto outcome = job.run();
  REQUIRE_FALSE(outcome.is_ok());
  CHECK(outcome.status().message() == "operator \"h\": it says so, at s[4]; the job stops because on_error is `fail`");
  CHECK(job.progress().phase == "failed");
}

TEST_CASE("tombstones are counted and dropped, or handed over") {
  Place place;
  for (int i = 0; i < 3; ++i) {
    world().scripts["a"].add("s", row("a" + std::to_string(i), i));
    world().scripts["a"].splits["s"].rows.push_back({std::nullopt, "key"});
  }
  world().hooks["takes"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      if (in.is_tombstone(r)) out.emit(r).set("id", Value::string(out.keep("deleted-" + std::string(in.message_key(r)))));
      else out.forward(r);
    }
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: not, use: test.hook, input: src }\n  - { id: a, use: test.upsert, input: not }\n"
                               "  - { id: takes, use: test.hook, input: src, with: { tombstones: true } }\n  - { id: b, use: test.upsert, input: takes }\n"
                               "  - { id: c, use: test.state, key: id, parallelism: 2, input: src }\n  - { id: d, use: test.upsert, input: c }\n");
  REQUIRE(job.run().is_ok());
  CHECK(written("a").size() == 3);
  CHECK(job.operator_progress("not").counters.at("tombstones") == 3);
  CHECK(written("b").size() == 6);
  CHECK(table("b").count("deleted-key") == 1);
  CHECK(written("d").size() == 3);
  CHECK(place.dead_letters().empty());
}

TEST_CASE("a row that a transform made is shown with what it was made of") {
  Place place;
  world().scripts["a"].add("s", row("a", 1));
  world().hooks["h"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      out.emit(r).set("id", Value::string("made")).set("bad", Value::string("yes"));
      out.emit(SLUICE_NO_ROW).set("id", Value::string("of none")).set("bad", Value::string("yes"));
    }
    return Status::ok();
  };
  world().sinks["out"].refuses = reason_for_bad;
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n");
  REQUIRE(job.run().is_ok());
  CHECK(letters(place) == Letters{"out|it says so|s[1]|" + row("a", 1), "out|it says so||{\"id\":\"of none\",\"bad\":\"yes\"}"});
}

}  // namespace
}  // namespace sluice::runtime
