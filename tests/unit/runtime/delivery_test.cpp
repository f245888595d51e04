// What sinks get when things fail: RETRY, lost answers, crashes.
#include "test_world.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>

namespace sluice::runtime {
namespace {

using namespace testing;

const std::string kUpsert = "  - { id: src, use: test.source, with: { script: a } }\n  - { id: out, use: test.upsert, input: src }\n";
const std::string kEpoch = "  - { id: src, use: test.source, with: { script: a } }\n  - { id: out, use: test.epoch, input: src }\n";

void fill(int from, int to, const std::string& split = "s") {
  const auto guard = lock();
  for (int i = from; i < to; ++i) world().scripts["a"].add(split, row(split + std::to_string(i), i));
}
void ends(bool end) {
  const auto guard = lock();
  for (auto& [id, split] : world().scripts["a"].splits) split.ends = end;
}
std::vector<std::string> rows(int from, int to, const std::string& split = "s") {
  std::vector<std::string> out;
  for (int i = from; i < to; ++i) out.push_back(row(split + std::to_string(i), i));
  return out;
}
Settings every(const std::string& interval, int lanes = 1) {
  Settings s;
  s.interval = interval;
  s.parallelism = lanes;
  return s;
}

// Gives the rows piece by piece, with checkpoints between them.
base::Result<Outcome> run_in_steps(TestJob& job, size_t steps) {
  const auto release = [](size_t part, size_t parts) {
    const auto guard = lock();
    for (auto& [id, split] : world().scripts["a"].splits) split.released = split.rows.size() * part / parts;
  };
  release(0, 1);
  job.start();
  for (size_t i = 1; i <= steps; ++i) {
    release(i, steps);
    if (i < steps) CHECK(job.wait_checkpoints(1));
  }
  return job.wait();
}

TEST_CASE("RETRY with a part consumed: the rest comes again, nothing is lost or doubled") {
  Place place;
  fill(0, 100);
  world().sinks["out"].on_write = [](uint32_t, const Batch& in, uint32_t* consumed) {
    const auto guard = lock();
    const int64_t call = ++world().numbers["calls"];
    if (call % 3 == 0) return Status::ok();
    *consumed = call % 3 == 1 ? 0 : std::min<uint32_t>(7, in.size());
    return Status::retry("busy", 1);
  };
  Settings s;
  s.batch_rows = 20;
  TestJob job(place, kUpsert, s);
  REQUIRE(job.run().is_ok());
  CHECK(written("out") == rows(0, 100));
  CHECK(job.operator_progress("out").rows_in == 100);
  CHECK(job.progress().waiting_for.empty());
}

TEST_CASE("state is counted over all lanes, a broadcast state once, whichever lane answers first") {
  Place place;
  for (int i = 0; i < 100; ++i) world().scripts["a"].add("s" + std::to_string(i % 3), row("k" + std::to_string(i), i));
  for (int i = 0; i < 4; ++i) world().scripts["conf"].add("c", "{\"k\":\"rule " + std::to_string(i) + "\"}");
  world().hooks["f"].broadcast = [](Api& api, const Batch& in, Output&) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r) SLUICE_CHECK_OK(api.rules->put(in((*api.broadcast_fields)[0], r).text(), "v"));
    return Status::ok();
  };
  world().sinks["out"].on_prepare = [](uint64_t) {  // lanes answer in any order
    std::this_thread::sleep_for(std::chrono::milliseconds(std::rand() % 4));
    return Status::ok();
  };
  for (auto& [id, split] : world().scripts["a"].splits) split.ends = false;
  Settings s;
  s.parallelism = 4;
  s.interval = "10ms";
  TestJob job(place,
              "  - { id: src, use: test.source, with: { script: a } }\n  - { id: conf, use: test.source, with: { script: conf } }\n"
              "  - { id: f, use: test.rules, input: src, broadcast: conf, with: { broadcast_fields: [k] } }\n"
              "  - { id: seen, use: test.seen, key: id, input: f, with: { ttl: 1m } }\n  - { id: out, use: test.upsert, input: seen }\n",
              s);
  job.start();
  REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 100; }));
  REQUIRE(job.wait_checkpoints(2));
  for (int i = 0; i < 20; ++i) {
    const observe::Progress now = job.progress();
    for (const auto& op : now.operators) {
      if (op.id == "seen") CHECK(op.state_entries == 100);
      if (op.id == "f") CHECK(op.state_entries == 4);
    }
    REQUIRE(job.wait_checkpoints(1));
  }
}

TEST_CASE("RETRY with everything consumed is the end of the batch") {
  Place place;
  fill(0, 10);
  world().sinks["out"].on_write = [](uint32_t, const Batch& in, uint32_t* consumed) {
    *consumed = in.size();
    return Status::retry("but done", 1);
  };
  TestJob job(place, kUpsert);
  REQUIRE(job.run().is_ok());
  CHECK(written("out") == rows(0, 10));
}

TEST_CASE("keys stay with their rows when a part was consumed") {
  Place place;
  fill(0, 30);
  world().sinks["out"].on_write = [](uint32_t, const Batch& in, uint32_t* consumed) {
    const auto guard = lock();
    if (++world().numbers["calls"] % 2 == 0) return Status::ok();
    *consumed = std::min<uint32_t>(5, in.size());
    return Status::retry("busy", 1);
  };
  std::vector<std::string> wrong;
  world().hooks["c"].process = [&](Api& api, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      if (in.key(r) != in((*api.fields)[0], r).text()) wrong.emplace_back(in.key(r));
      out.forward(r);
    }
    return Status::ok();
  };
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a } }\n  - { id: c, use: test.state, key: id, input: src, with: { fields: [id] } }\n"
                     "  - { id: out, use: test.upsert, input: c }\n");
  REQUIRE(job.run().is_ok());
  CHECK(wrong.empty());
  CHECK(written("out") == rows(0, 30));
}

TEST_CASE("RETRY from prepare: the checkpoint waits") {
  Place place;
  fill(0, 50);
  world().sinks["out"].on_prepare = [](uint64_t) {
    const auto guard = lock();
    return ++world().numbers["asked"] % 3 == 0 ? Status::ok() : Status::retry("flushing", 1);
  };
  TestJob job(place, kUpsert, every("5ms"));
  REQUIRE(job.run().is_ok());
  CHECK(written("out") == rows(0, 50));
  CHECK(world().numbers["asked"] >= 3);
  const auto done = place.checkpoints();
  for (uint64_t n : done) CHECK(std::count(world().sinks["out"].prepared.begin(), world().sinks["out"].prepared.end(), n) == 1);
  CHECK(world().sinks["out"].commits == done);
}

TEST_CASE("a hard stop returns at once while a sink retries for ever") {
  Place place;
  fill(0, 10);
  const std::string where = GENERATE("write", "prepare");
  CAPTURE(where);
  auto for_ever = [] {
    const auto guard = lock();
    world().numbers["called"] = 1;
    world().changed();
    return Status::retry("away", 3'600'000);
  };
  if (where == "write") world().sinks["out"].on_write = [=](uint32_t, const Batch&, uint32_t*) { return for_ever(); };
  else world().sinks["out"].on_prepare = [=](uint64_t) { return for_ever(); };
  TestJob job(place, kUpsert);
  job.start();
  REQUIRE(job.wait_for([] { return world().numbers["called"] == 1; }));
  const auto begin = std::chrono::steady_clock::now();
  job.job().request_stop();
  job.job().request_stop();
  const auto outcome = job.wait();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  REQUIRE_FALSE(outcome.is_ok());
  CHECK(outcome.status().code() == base::Code::kCancelled);
}

TEST_CASE("one stop is enough while an operator cannot be opened: nothing was read that counts") {
  Place place;
  fill(0, 10);
  world().sinks["out"].on_open = [] {
    const auto guard = lock();
    world().numbers["called"] += 1;
    world().changed();
    return Status::retry("no broker", 20);
  };
  {
    TestJob job(place, kUpsert);
    job.start();
    REQUIRE(job.wait_for([] { return world().numbers["called"] > 2; }));
    job.job().request_stop();
    const auto outcome = job.wait();
    REQUIRE_FALSE(outcome.is_ok());
    CHECK(outcome.status().code() == base::Code::kCancelled);
    CHECK(outcome.status().message() == "stopped while waiting for operator \"out\": no broker");
  }
  world().sinks["out"].on_open = nullptr;
  TestJob again(place, kUpsert);
  REQUIRE(again.run().is_ok());
  CHECK(table("out").size() == 10);
}

TEST_CASE("an operator that answers CANCELLED during a stop keeps its rows") {
  Place place;
  fill(0, 10);
  world().sinks["out"].on_write = [](uint32_t, const Batch&, uint32_t* consumed) {
    const auto guard = lock();
    *consumed = 0;
    if (world().numbers["stopping"] == 0) {
      world().numbers["called"] = 1;
      return Status::retry("slow", 1);
    }
    return world().numbers["cancelled"]++ == 0 ? Status::cancelled() : Status::ok();
  };
  TestJob job(place, kUpsert);
  job.start();
  REQUIRE(job.wait_for([] { return world().numbers["called"] == 1; }));
  {
    const auto guard = lock();
    world().numbers["stopping"] = 1;
  }
  const auto outcome = job.stop();
  REQUIRE(outcome.is_ok());
  CHECK(written("out") == rows(0, 10));
}

// ---- epochs ----------------------------------------------------------------------------------------------

TEST_CASE("an epoch sink gets the rows of a checkpoint after it is durable") {
  Place place;
  fill(0, 20);
  ends(false);
  world().sinks["out"].on_commit = [&](uint64_t n) {
    const auto guard = lock();
    world().numbers["early"] += place.is_complete(n) ? 0 : 1;
    return Status::ok();
  };
  TestJob job(place, kEpoch);
  job.start();
  REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 20; }));
  REQUIRE(job.stop().is_ok());
  CHECK(committed("out") == rows(0, 20));
  CHECK(world().numbers["early"] == 0);
  CHECK(place.is_complete(world().sinks["out"].markers[0].checkpoint));
  CHECK(world().sinks["out"].markers[0].lineage == place.newest_checkpoint().lineage);
}

TEST_CASE("a commit that fails is tried again with the same rows under the same number, and those of later checkpoints follow") {
  Place place;
  fill(0, 200);
  Settings s = every("3ms");
  s.batch_rows = 3;
  world().sinks["out"].on_commit = [](uint64_t) {
    const auto guard = lock();
    return ++world().numbers["commits"] % 3 != 0 ? Status::retry("no leader", 1) : Status::ok();
  };
  TestJob job(place, kEpoch, s);
  REQUIRE(run_in_steps(job, 12).is_ok());
  CHECK(committed("out") == rows(0, 200));
  CHECK(job.operator_progress("out").counters.at("commits_failed") > 0);
  CHECK(world().sinks["out"].tried_with_others == 0);
  const auto& commits = world().sinks["out"].commits;
  CHECK(commits.size() == world().sinks["out"].tried.size());
  CHECK(std::is_sorted(commits.begin(), commits.end()));
}

TEST_CASE("a commit whose answer is lost: exactly once") {
  Place place;
  fill(0, 200);
  Settings s = every("3ms");
  s.batch_rows = 3;
  world().sinks["out"].after_commit = [](uint64_t) {
    const auto guard = lock();
    return ++world().numbers["commits"] % 2 != 0 ? Status::retry("connection lost", 1) : Status::ok();
  };
  TestJob job(place, kEpoch, s);
  REQUIRE(run_in_steps(job, 12).is_ok());
  CHECK(committed("out") == rows(0, 200));
  CHECK(world().sinks["out"].tried_with_others == 0);
  CHECK(world().numbers["commits"] > 3);
}

TEST_CASE("every mixture of failed and lost commits: exactly once") {
  Place place;
  fill(0, 300);
  Settings s = every("2ms");
  s.batch_rows = 3;
  world().sinks["out"].on_commit = [](uint64_t) {
    const auto guard = lock();
    return ++world().numbers["before"] % 3 == 1 ? Status::retry("failed", 1) : Status::ok();
  };
  world().sinks["out"].after_commit = [](uint64_t) {
    const auto guard = lock();
    return ++world().numbers["after"] % 2 == 1 ? Status::retry("lost", 1) : Status::ok();
  };
  world().sinks["out"].on_last_committed = [] {
    const auto guard = lock();
    return ++world().numbers["asked"] % 2 == 0 ? Status::retry("away", 1) : Status::ok();
  };
  TestJob job(place, kEpoch, s);
  REQUIRE(run_in_steps(job, 12).is_ok());
  CHECK(committed("out") == rows(0, 300));
  CHECK(world().sinks["out"].tried_with_others == 0);
}

TEST_CASE("a crash between the checkpoint and its commit: the next start delivers") {
  Place place;
  fill(0, 20);
  ends(false);
  world().sinks["out"].on_commit = [](uint64_t) { return Status::retry("away", 1); };
  {
    TestJob job(place, kEpoch, every("5ms"));
    job.start();
    REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 20; }));
    REQUIRE(job.wait_checkpoints(2));
    job.kill();
  }
  CHECK(committed("out").empty());
  world().sinks["out"].on_commit = nullptr;
  ends(true);
  TestJob again(place, kEpoch);
  REQUIRE(again.run().is_ok());
  CHECK(committed("out") == rows(0, 20));
  CHECK(world().sinks["out"].tried_with_others == 0);
}

TEST_CASE("a commit whose answer was lost, then checkpoints without one, then a crash: exactly once") {
  Place place;
  fill(0, 20);
  ends(false);
  // The rows of the first commit that has any get there; afterwards the target cannot be reached.
  world().sinks["out"].after_commit = [](uint64_t) {
    const auto guard = lock();
    if (world().sinks["out"].committed.empty()) return Status::ok();
    world().numbers["away"] = 1;
    return Status::retry("connection lost", 1);
  };
  const auto away = [] {
    const auto guard = lock();
    return world().numbers["away"] != 0 ? Status::retry("away", 1) : Status::ok();
  };
  world().sinks["out"].on_commit = [=](uint64_t) { return away(); };
  world().sinks["out"].on_last_committed = away;
  {
    TestJob job(place, kEpoch, every("5ms"));
    job.start();
    REQUIRE(job.wait_for([] { return world().numbers["away"] == 1; }));
    fill(20, 30);
    REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 30; }));
    REQUIRE(job.wait_checkpoints(2));
    job.kill();
  }
  const size_t before = committed("out").size();
  CHECK(before > 0);
  CHECK(before <= 20);
  world().sinks["out"].after_commit = nullptr;
  world().sinks["out"].on_commit = nullptr;
  world().sinks["out"].on_last_committed = nullptr;
  ends(true);
  TestJob again(place, kEpoch);
  REQUIRE(again.run().is_ok());
  CHECK(committed("out") == rows(0, 30));
  CHECK(world().sinks["out"].tried_with_others == 0);
}

TEST_CASE("crashes at any moment: an epoch sink holds each row once") {
  Place place;
  for (const char* split : {"s", "t", "u"}) fill(0, 400, split);
  for (int round = 0; round < 10; ++round) {
    Settings s = every("4ms", 1 + round % 3);
    s.batch_rows = 5;
    TestJob job(place, kEpoch, s);
    job.start();
    const size_t before = committed("out").size();
    job.wait_for([&] { return committed("out").size() > before + 20 * static_cast<size_t>(round % 3); });
    job.kill();
  }
  TestJob last(place, kEpoch);
  const auto outcome = last.run();
  INFO(outcome.status().message());
  REQUIRE(outcome.is_ok());
  auto expected = rows(0, 400, "s");
  for (const char* split : {"t", "u"})
    for (auto& r : rows(0, 400, split)) expected.push_back(r);
  CHECK(sorted(committed("out")) == sorted(expected));
  CHECK(world().sinks["out"].tried_with_others == 0);
}

TEST_CASE("--from with an epoch sink that holds more is refused, until duplicates are accepted") {
  Place place;
  fill(0, 10);
  ends(false);
  {
    TestJob job(place, kEpoch);
    job.start();
    REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 10; }));
    REQUIRE(job.stop().is_ok());
  }
  const uint64_t ten = place.newest_checkpoint().number;
  fill(10, 20);
  {
    TestJob job(place, kEpoch);
    job.start();
    REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 10; }));
    REQUIRE(job.stop().is_ok());
  }
  REQUIRE(committed("out") == rows(0, 20));
  ends(true);
  JobOptions from;
  from.from = GENERATE_COPY(std::to_string(ten), std::string("none"));
  {
    TestJob job(place, kEpoch, {}, from);
    const auto outcome = job.run();
    REQUIRE_FALSE(outcome.is_ok());
    CHECK(outcome.status().message().find("sink \"out\" (lane 0) holds rows up to checkpoint") != std::string::npos);
    CHECK(outcome.status().message().find("--accept-duplicates") != std::string::npos);
    CHECK(committed("out") == rows(0, 20));
  }
  if (GENERATE(false, true)) {  // the user thinks better of it
    TestJob job(place, kEpoch);
    REQUIRE(job.run().is_ok());
    CHECK(committed("out") == rows(0, 20));
    return;
  }
  from.accept_duplicates = true;
  TestJob job(place, kEpoch, {}, from);
  REQUIRE(job.run().is_ok());
  auto expected = rows(0, 20);
  for (auto& r : rows(from.from == "none" ? 0 : 10, 20)) expected.push_back(r);
  CHECK(committed("out") == expected);
}

TEST_CASE("a marker of another life of the target does not stand for rows of this one") {
  Place place;
  fill(0, 10);
  ends(false);
  world().sinks["out"].markers[0] = {"feedfacefeedfacefeedfacefeedface", 700};
  JobOptions accept;
  accept.accept_duplicates = true;
  world().sinks["out"].on_commit = [](uint64_t) { return Status::retry("away", 1); };
  {
    TestJob job(place, kEpoch, every("5ms"), accept);
    job.start();
    REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 10; }));
    REQUIRE(job.wait_checkpoints(2));
    job.kill();
  }
  world().sinks["out"].on_commit = nullptr;
  ends(true);
  TestJob again(place, kEpoch, {}, accept);
  REQUIRE(again.run().is_ok());
  CHECK(committed("out") == rows(0, 10));
}

TEST_CASE("a delivery at start that was cut off is not repeated, also with --from") {
  Place place;
  fill(0, 10);
  ends(false);
  world().sinks["out"].on_commit = [](uint64_t) { return Status::retry("away", 1); };
  {
    TestJob job(place, kEpoch, every("5ms"));
    job.start();
    REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 10; }));
    REQUIRE(job.wait_checkpoints(3));
    job.kill();
  }
  const auto numbers = place.checkpoints();
  JobOptions from;
  from.from = std::to_string(numbers[numbers.size() - 2]);
  // The answer is lost, and the user gives up waiting.
  world().sinks["out"].on_commit = nullptr;
  world().sinks["out"].after_commit = [](uint64_t) {
    const auto guard = lock();
    world().numbers["delivered"] = 1;
    return Status::retry("lost", 3'600'000);
  };
  {
    TestJob job(place, kEpoch, {}, from);
    job.start();
    REQUIRE(job.wait_for([] { return world().numbers["delivered"] == 1; }));
    job.kill();
  }
  REQUIRE(committed("out") == rows(0, 10));
  world().sinks["out"].after_commit = nullptr;
  ends(true);
  TestJob again(place, kEpoch, {}, from);
  const auto outcome = again.run();
  INFO(outcome.status().message());
  REQUIRE(outcome.is_ok());
  CHECK(committed("out") == rows(0, 10));
}

TEST_CASE("an epoch sink gets the keys of its rows") {
  Place place;
  for (int i = 0; i < 5; ++i) world().scripts["a"].add("s", row("k" + std::to_string(i), i, i == 3 ? ",\"user\":null" : ",\"user\":\"u" + std::to_string(i) + "\""));
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a } }\n  - { id: out, use: test.epoch, input: src, key: [id, user] }\n");
  REQUIRE(job.run().is_ok());
  std::vector<std::string> keys;
  for (const auto& [json, key] : table("out")) keys.push_back(key + " " + get(json, "id"));
  CHECK(sorted(keys) == std::vector<std::string>{"2:k02:u0 k0", "2:k12:u1 k1", "2:k22:u2 k2", "2:k42:u4 k4"});
  const auto letters = place.dead_letters();
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].reason == "key field \"user\" of operator \"out\" is null");
}

TEST_CASE("every kind of number that an operator gives a row can be its key") {
  Place place;
  world().scripts["a"].add("s", row("k", 0));
  world().hooks["h"].process = [](Api&, const Batch& in, Output& out) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      out.emit(r).set("id", Value::string("text")).set("price", Value::number("20.00"));
      out.emit(r).set("id", Value::string("integer")).set("price", Value::integer(-3));
      out.emit(r).set("id", Value::string("double")).set("price", Value::real(0.25));
    }
    return Status::ok();
  };
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a } }\n  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.epoch, input: h, key: price }\n");
  REQUIRE(job.run().is_ok());
  CHECK(place.dead_letters().empty());
  std::vector<std::string> keys;
  for (const auto& [json, key] : table("out")) keys.push_back(key + " " + get(json, "id"));
  CHECK(sorted(keys) == std::vector<std::string>{"-3 integer", "0.25 double", "20.00 text"});
}

TEST_CASE("no space for the rows of an epoch: they wait, and none is lost") {
  const bool several = GENERATE(false, true);  // files, which become one
  CAPTURE(several);
  Place place;
  constexpr int kRows = 1500;
  std::vector<std::string> expected;
  for (int i = 0; i < kRows; ++i) {
    expected.push_back(row("k" + std::to_string(i), i, ",\"text\":\"" + std::string(900, 'x') + "\""));
    world().scripts["a"].add("s", expected.back());
  }
  std::atomic<bool> away{several};
  world().sinks["out"].on_commit = [&](uint64_t) { return away ? Status::retry("the target is away", 20) : Status::ok(); };
  if (several) world().scripts["a"].splits["s"].released = 500;
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a } }\n  - { id: out, use: test.epoch, input: src }\n",
              [&] { Settings s; s.batch_rows = 100; s.interval = several ? "50ms" : "0"; return s; }());
  // As a disk that is full: files cannot grow beyond this. The signal that says so would end the process.
  struct Limit {
    rlimit before{};
    void (*handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
    Limit() { getrlimit(RLIMIT_FSIZE, &before); }
    ~Limit() {
      set(before.rlim_cur);
      std::signal(SIGXFSZ, handler);
    }
    void set(rlim_t bytes) const {
      rlimit now = before;
      now.rlim_cur = bytes;
      setrlimit(RLIMIT_FSIZE, &now);
    }
  } limit;
  limit.set(600'000);
  job.start();
  const auto waits = [&](const std::string& text) {
    return job.wait_for([&] {
      for (const auto& w : job.progress().waiting_for)
        if (w.find(text) != std::string::npos) return true;
      return false;
    });
  };
  if (several) {
    REQUIRE(job.wait_checkpoints(2));  // a commit has failed; the file of what waits is 470 kB
    const auto guard = lock();
    world().scripts["a"].splits["s"].released = SIZE_MAX;
  }
  REQUIRE(waits("operator out cannot go on: cannot write spool "));
  // The first checkpoint may have come after some rows.
  const auto before = committed("out");
  REQUIRE(before.size() < expected.size());
  CHECK(std::equal(before.begin(), before.end(), expected.begin()));
  limit.set(limit.before.rlim_cur);
  away = false;
  REQUIRE(job.wait().is_ok());
  CHECK(committed("out") == expected);
}

}  // namespace
}  // namespace sluice::runtime
