// Rows that can never succeed: dead letters, once, with position and raw bytes.
#include "test_world.h"

#include <filesystem>

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

TEST_CASE("a source rejects what it could not read") {
  Place place;
  fill(40);
  world().scripts["a"].refuses = reason_for_bad;
  Settings s;
  s.batch_rows = 7;
  TestJob job(place, kSource + "  - { id: out, use: test.upsert, input: src }\n", s);
  REQUIRE(job.run().is_ok());
  CHECK(letters(place) == expected("src", 40));
  CHECK(world().sinks["out"].table.size() == 36);
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

TEST_CASE("a row that a transform makes of values that are none is refused where it was made") {
  Place place;
  for (int i = 0; i < 4; ++i) world().scripts["a"].add("s", row("k" + std::to_string(i), i));
  world().hooks["h"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      out.emit(r).set("id", Value::string("good")).set("n", Value::number("1e5"));
      if (r == 1) out.emit(r).set("n", Value::number("01"));
      if (r == 2) out.emit(r).set("name", Value::string("\xE5\x95"));
    }
    return Status::ok();
  };
  const std::string sink = GENERATE("test.upsert", "test.epoch");
  Settings s;
  s.batch_rows = GENERATE(3, 1000);
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: " + sink + ", input: h }\n", s);
  REQUIRE(job.run().is_ok());
  const std::string who = "h|operator \"h\" (test.hook) gave a row that is not valid JSON: ";
  CHECK(letters(place) == Letters{who + "field \"n\": \"01\" is not a number|s[2]|" + row("k1", 1),
                                  who + "field \"name\": its text is not UTF-8|s[3]|" + row("k2", 2)});
  CHECK((sink == "test.epoch" ? committed("out") : written("out")) == std::vector<std::string>(4, R"({"id":"good","n":1e5})"));
  CHECK(job.operator_progress("h").rejected == 2);
  CHECK(job.operator_progress("h").rows_out == 4);
}

TEST_CASE("columns that a transform attaches are looked at, too") {
  Place place;
  for (int i = 0; i < 5; ++i) world().scripts["a"].add("s", row("k" + std::to_string(i), i));
  static const std::string cut = "\xE5\x95";
  world().hooks["h"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r)
      out.forward(r, {Value::string(r == 1 || r == 2 ? std::string_view(cut) : "fine"), Value::number(r == 2 || r == 3 ? "-" : "7")});
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src, with: { attaches: [name, n] } }\n  - { id: out, use: test.upsert, input: h }\n");
  REQUIRE(job.run().is_ok());
  const std::string who = "h|operator \"h\" (test.hook) gave a row that is not valid JSON: ";
  CHECK(letters(place) == Letters{who + "field \"name\": its text is not UTF-8|s[2]|" + row("k1", 1),
                                  who + "field \"name\": its text is not UTF-8|s[3]|" + row("k2", 2),
                                  who + "field \"n\": \"-\" is not a number|s[4]|" + row("k3", 3)});
  CHECK(written("out") == std::vector<std::string>{R"({"id":"k0","name":"fine","n":7})", R"({"id":"k4","name":"fine","n":7})"});
}

TEST_CASE("a row that was made of none is shown as it is; a call that comes again refuses it once") {
  Place place;
  world().scripts["a"].add("s", row("k", 0));
  world().hooks["h"].on_watermark = [](Api&, int64_t, Output& out) -> Status {
    {
      const auto guard = lock();
      if (++world().numbers["calls"] == 1) {
        out.emit(SLUICE_NO_ROW).set("n", Value::number("1e"));
        SLUICE_CHECK_OK(out.flush());
        return Status::retry("not yet", 1);
      }
    }
    out.emit(SLUICE_NO_ROW).set("n", Value::number("1e"));
    out.emit(SLUICE_NO_ROW).set("id", Value::string("good"));
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n");
  REQUIRE(job.run().is_ok());
  CHECK(letters(place) == Letters{"h|operator \"h\" (test.hook) gave a row that is not valid JSON: field \"n\": \"1e\" is not a number||{\"n\":1e}"});
  CHECK(written("out") == std::vector<std::string>{row("k", 0), R"({"id":"good"})"});
}

TEST_CASE("a reason that is not UTF-8 leaves the letters readable") {
  Place place;
  fill(4);
  world().hooks["h"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) SLUICE_CHECK_OK(out.reject(r, "it says \xE5\x95"));
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n");
  REQUIRE(job.run().is_ok());
  REQUIRE(letters(place).size() == 4);
  CHECK(letters(place)[0].rfind("h|it says \uFFFD", 0) == 0);
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

// Three rows, and a tombstone behind each.
void fill_with_tombstones() {
  for (int i = 0; i < 3; ++i) {
    world().scripts["a"].add("s", row("a" + std::to_string(i), i));
    world().scripts["a"].splits["s"].rows.push_back({std::nullopt, "key"});
  }
}
std::string tombstone_letter(const std::string& op, const std::string& source, const std::string& position) {
  return "{\"pipeline\":\"t\",\"operator\":\"" + op + "\",\"code\":\"TOMBSTONE\",\"reason\":\"a tombstone: the message has no value\",\"time\":\"2023-11-14 22:13:20Z\",\"source\":\"" +
         source + "\",\"position\":\"" + position + "\",\"key\":\"key\",\"raw\":null}";
}
Letters lines(const Place& place) {
  Letters out;
  for (const auto& l : place.dead_letters()) out.push_back(l.line);
  std::sort(out.begin(), out.end());
  return out;
}

TEST_CASE("a tombstone is handed over to an operator that takes it") {
  Place place;
  fill_with_tombstones();
  world().hooks["takes"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      if (in.is_tombstone(r)) out.emit(r).set("id", Value::string(out.keep("deleted-" + std::string(in.message_key(r)))));
      else out.forward(r);
    }
    return Status::ok();
  };
  TestJob job(place, kSource + "  - { id: takes, use: test.hook, input: src, with: { tombstones: true } }\n  - { id: b, use: test.upsert, input: takes }\n");
  REQUIRE(job.run().is_ok());
  CHECK(written("b").size() == 6);
  CHECK(table("b").count("deleted-key") == 1);
  CHECK(job.operator_progress("takes").counters.count("tombstones") == 0);
  CHECK(place.dead_letters().empty());
}

TEST_CASE("other tombstones are dead letters of the operator that does not take them, once in any plan") {
  const std::string lanes = GENERATE("1", "3");
  const std::string use = GENERATE("test.hook", "test.state, key: id");
  const bool opted_out = GENERATE(false, true);
  CAPTURE(lanes, use, opted_out);
  Place place;
  fill_with_tombstones();
  Settings s;
  if (opted_out) s.dead_letters = ", tombstones: false";
  TestJob job(place, kSource + "  - { id: not, use: " + use + ", parallelism: " + lanes + ", input: src }\n  - { id: out, use: test.upsert, input: not }\n", s);
  REQUIRE(job.run().is_ok());
  CHECK(written("out").size() == 3);
  const auto at = [](const char* position) { return tombstone_letter("not", "src", position); };
  CHECK(lines(place) == (opted_out ? Letters{} : Letters{at("s[2]"), at("s[4]"), at("s[6]")}));
  CHECK(job.operator_progress("not").counters.at("tombstones") == 3);
  CHECK(job.operator_progress("not").rejected == 0);
  CHECK(job.operator_progress("not").rows_in == 3);
  CHECK(job.operator_progress("src").counters.count("tombstones") == 0);
  CHECK(job.progress().dead_letters == (opted_out ? 0 : 3));
}

TEST_CASE("no policy stops the job for a tombstone; drop only counts it") {
  const std::string policy = GENERATE("fail", "drop");
  CAPTURE(policy);
  Place place;
  fill_with_tombstones();
  Settings s;
  s.more = "on_error: " + policy + "\n";
  TestJob job(place, kSource + "  - { id: out, use: test.upsert, input: src }\n", s);
  REQUIRE(job.run().is_ok());
  CHECK(written("out").size() == 3);
  CHECK(job.operator_progress("out").counters.at("tombstones") == 3);
  CHECK(place.dead_letters().size() == (policy == "fail" ? 3 : 0));
}

TEST_CASE("a row of a broadcast input that is refused is one letter, however many lanes are given it") {
  const std::string what = GENERATE("tombstone", "broken", "refused");
  CAPTURE(what);
  const bool tombstone = what == "tombstone";
  Place place;
  auto& rules = world().scripts["rules"].splits["r"];
  rules.rows.push_back({row("rule", 1), "key"});
  rules.rows.push_back({tombstone ? std::nullopt : std::optional<std::string>(what == "broken" ? "{\"id\":1x}" : row("bad", 1)), "key"});
  world().hooks["b"].broadcast = [](Api& api, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r)
      if (in((*api.broadcast_fields)[0], r).text() == "bad") SLUICE_CHECK_OK(out.reject(r, "it is bad"));
    return Status::ok();
  };
  for (int i = 0; i < 20; ++i) world().scripts["a"].add("s", row("a" + std::to_string(i), i));
  TestJob job(place, kSource + "  - { id: rules, use: test.source, with: { script: rules } }\n"
                               "  - { id: b, use: test.rules, parallelism: 3, input: src, broadcast: rules, with: { broadcast_fields: [id] } }\n  - { id: out, use: test.upsert, input: b }\n");
  REQUIRE(job.run().is_ok());
  CHECK(written("out").size() == 20);
  REQUIRE(place.dead_letters().size() == 1);
  CHECK(place.dead_letters()[0].position == "r[2]");
  CHECK(place.dead_letters()[0].op == "b");
  if (tombstone) CHECK(lines(place) == Letters{tombstone_letter("b", "rules", "r[2]")});
  CHECK(job.operator_progress("b").counters.count("tombstones") == (tombstone ? 1 : 0));
  CHECK(job.operator_progress("b").rejected == (tombstone ? 0 : 1));
}

TEST_CASE("tombstones are letters once, also after crashes and replays") {
  Place place;
  for (int i = 0; i < 300; ++i) world().scripts["a"].splits["s"].rows.push_back({i % 3 == 0 ? std::nullopt : std::optional<std::string>(row("k" + std::to_string(i), i)), "key"});
  const std::string graph = kSource + "  - { id: c, use: test.state, key: id, parallelism: 3, input: src }\n  - { id: out, use: test.upsert, input: c }\n";
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
  for (int round = 0; round < 5; ++round) {
    TestJob job(place, graph, s);
    job.start();
    const size_t before = written("out").size();
    job.wait_for([&] { return written("out").size() > before + 20; });
    job.kill();
  }
  TestJob last(place, graph, s);
  REQUIRE(last.run().is_ok());
  std::set<std::string> positions;
  for (const auto& l : place.dead_letters()) positions.insert(l.position);
  CHECK(place.dead_letters().size() == 100);
  CHECK(positions.size() == 100);
}

TEST_CASE("a row without its key is refused by the operator that needs it, in any plan") {
  const std::string lanes = GENERATE("1", "3");
  const bool merged = GENERATE(false, true);  // rows of two operators
  CAPTURE(lanes, merged);
  Place place;
  for (const char* bad : {"{\"n\":1}", "{\"id\":null}", "{\"id\":1x}"}) {
    world().scripts["a"].add("s", bad);
    world().scripts["a"].add("s", row("good", 1));
  }
  TestJob job(place, kSource + "  - { id: h, use: test.hook, input: src }\n" + (merged ? "  - { id: i, use: test.hook, input: src }\n" : "") +
                         "  - { id: c, use: test.state, key: id, parallelism: " + lanes + ", input: " + (merged ? "[h, i]" : "h") + " }\n  - { id: out, use: test.upsert, input: c }\n");
  REQUIRE(job.run().is_ok());
  const uint64_t times = merged ? 2 : 1;
  CHECK(job.operator_progress("c").rejected == 3 * times);
  CHECK(job.operator_progress("c").rows_in == 3 * times);
  CHECK(job.operator_progress("h").rejected == 0);
  CHECK(job.operator_progress("h").rows_out == 6);
  Letters expected;
  for (uint64_t i = 0; i < times; ++i)
    for (const char* letter : {"c|key field \"id\" of operator \"c\" is missing|s[1]|{\"n\":1}", "c|key field \"id\" of operator \"c\" is null|s[3]|{\"id\":null}",
                               "c|key field \"id\" of operator \"c\" is no valid JSON|s[5]|{\"id\":1x}"})
      expected.push_back(letter);
  Letters found = letters(place);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  CHECK(found == expected);
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

TEST_CASE("a run that ends before its first checkpoint leaves no letters behind: its rows are read again") {
  const bool epoch = GENERATE(false, true);
  CAPTURE(epoch);
  Place place;
  fill(40);
  world().hooks["h"].process = reject_bad;
  const std::string graph = kSource + "  - { id: h, use: test.hook, input: src, with: { fields: [bad] } }\n" +
                            (epoch ? "  - { id: out, use: test.epoch, input: h }\n" : "  - { id: out, use: test.upsert, input: h }\n");
  // Rows go through, and no checkpoint is complete: a source that has not found its splits holds the first one back.
  std::atomic<bool> held{true};
  world().scripts["b"].on_discover = [&] { return held ? Status::retry("away", 10) : Status::ok(); };
  world().scripts["b"].add("t", row("z", 1));
  const std::string both = graph + "  - { id: other, use: test.source, with: { script: b } }\n  - { id: out2, use: test.upsert, input: other }\n";
  for (int crash = 0; crash < 2; ++crash) {
    TestJob job(place, both);
    job.start();
    REQUIRE(job.wait_for([&] { return job.progress().dead_letters == 4; }));
    CHECK(job.progress().checkpoint.completed == 0);
    job.kill();
  }
  held = false;
  {
    TestJob job(place, both);
    REQUIRE(job.run().is_ok());
  }
  CHECK(letters(place) == expected("h", 40));
  // Letters that a checkpoint covers stay, whatever begins after it.
  JobOptions from_scratch;
  from_scratch.from = "none";
  from_scratch.accept_duplicates = true;
  TestJob again(place, both, {}, from_scratch);
  REQUIRE(again.run().is_ok());
  CHECK(letters(place).size() == 8);
}

// ---- to a sink ---------------------------------------------------------------------------------------------

const std::string kHookToSink = kSource + "  - { id: h, use: test.hook, input: src, with: { fields: [bad] } }\n  - { id: out, use: test.upsert, input: h }\n";
Settings to_sink() {
  Settings s;
  s.dead_letters = ", use: test.upsert";
  s.batch_rows = 7;
  return s;
}
std::string letter(const std::string& op, int i) {
  std::string raw = row("k" + std::to_string(100 + i), i, ",\"bad\":\"yes\""), quoted;
  for (const char c : raw) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
  return "{\"pipeline\":\"t\",\"operator\":\"" + op + "\",\"code\":\"BAD_RECORD\",\"reason\":\"it says so\",\"time\":\"2023-11-14 22:13:20Z\",\"source\":\"src\",\"position\":\"s[" +
         std::to_string(i + 1) + "]\",\"raw\":\"" + quoted + "\"}";
}

TEST_CASE("letters to a sink: the same objects as in the files, and no file") {
  const bool refused_by_epoch_sink = GENERATE(false, true);
  CAPTURE(refused_by_epoch_sink);
  Place place;
  fill(40);
  world().hooks["h"].process = reject_bad;
  world().sinks["eout"].refuses = reason_for_bad;
  TestJob job(place, refused_by_epoch_sink ? kSource + "  - { id: eout, use: test.epoch, input: src }\n" : kHookToSink, to_sink());
  REQUIRE(job.run().is_ok());
  const std::string op = refused_by_epoch_sink ? "eout" : "h";
  CHECK(written("dead_letters") == std::vector<std::string>{letter(op, 3), letter(op, 13), letter(op, 23), letter(op, 33)});
  CHECK(job.progress().dead_letters == 4);
  CHECK(job.progress().dead_letters_dir == "test.upsert");
  CHECK_FALSE(place.folder.has("dead"));
  const auto& sink = world().sinks["dead_letters"];
  REQUIRE_FALSE(sink.prepared.empty());
  CHECK(sink.commits.back() == place.checkpoints().back());
}

TEST_CASE("letters to a sink that is away: the checkpoint waits, and nothing is lost") {
  const bool in_prepare = GENERATE(false, true);
  CAPTURE(in_prepare);
  Place place;
  fill(40);
  world().hooks["h"].process = reject_bad;
  std::atomic<bool> away{true};
  if (in_prepare) world().sinks["dead_letters"].on_prepare = [&](uint64_t) { return away ? Status::retry("the broker is away", 20) : Status::ok(); };
  else world().sinks["dead_letters"].on_write = [&](uint32_t, const Batch&, uint32_t* consumed) {
    *consumed = away ? 0 : 1;
    return away ? Status::retry("the broker is away", 20) : Status::ok();
  };
  {
    TestJob job(place, kHookToSink, to_sink());
    job.start();
    REQUIRE(job.wait_for([&] {
      const auto waiting = job.progress().waiting_for;
      return std::find(waiting.begin(), waiting.end(), "dead letters (test.upsert): the broker is away") != waiting.end();
    }));
    // Whatever is complete now does not cover a row whose letter is not written.
    for (const uint64_t n : place.checkpoints())
      for (const auto& split : place.checkpoint(n).find_source("src")->splits) CHECK(split.position == "0");
    job.kill();
  }
  away = false;
  TestJob job(place, kHookToSink, to_sink());
  REQUIRE(job.run().is_ok());
  const auto log = written("dead_letters");
  CHECK(std::set<std::string>(log.begin(), log.end()) == std::set<std::string>{letter("h", 3), letter("h", 13), letter("h", 23), letter("h", 33)});
  CHECK(table("out").size() == 36);
}

TEST_CASE("letters that the sink refuses go to a file, with its reason") {
  Place place;
  fill(20);
  world().hooks["h"].process = reject_bad;
  world().sinks["dead_letters"].refuses = [](const std::string& json) { return json.find("s[4]") != std::string::npos ? std::string("too large") : ""; };
  TestJob job(place, kHookToSink, to_sink());
  REQUIRE(job.run().is_ok());
  CHECK(written("dead_letters") == std::vector<std::string>{letter("h", 13)});
  std::string kept;
  for (const auto& file : std::filesystem::directory_iterator(place.folder.path("dead"))) kept += place.folder.read("dead/" + file.path().filename().string());
  std::string with_reason = letter("h", 3);
  with_reason.replace(with_reason.size() - 1, 1, ",\"not_delivered\":\"too large\"}\n");
  CHECK(kept == with_reason);
}

}  // namespace
}  // namespace sluice::runtime
