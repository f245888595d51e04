// Checkpoints, crashes and restarts, also with another number of lanes.
#include "test_world.h"

namespace sluice::runtime {
namespace {

using namespace testing;

const std::string kSource = "  - { id: src, use: test.source, with: { script: a } }\n";
const std::string kCounting = kSource + "  - { id: c, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: c }\n";

// Each row leaves as {id, n}: how many rows of its key there were.
void count_by_key() {
  world().hooks["c"].process = [](Api& api, const Batch& in, Output& out) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r) {
      bool found = false;
      int64_t n = 0;
      SLUICE_CHECK_OK(api.value->get(in.key(r), &found, &n));
      SLUICE_CHECK_OK(api.value->put(in.key(r), ++n));
      SLUICE_CHECK_OK(api.map->put(in.key(r), "last", std::to_string(n)));
      std::string last;
      SLUICE_CHECK_OK(api.map->get(in.key(r), "last", &found, &last));
      out.emit(r).set("id", Value::string(in.key(r))).set("n", Value::number(out.keep(last)));
    }
    return Status::ok();
  };
}
void fill(int splits, int from, int to, int keys) {
  const auto guard = lock();
  for (int i = from; i < to; ++i) {
    auto& split = world().scripts["a"].splits["s" + std::to_string(i % splits)];
    split.ordinal = i % splits;
    split.rows.push_back({row("k" + std::to_string(i % keys), i), ""});
  }
}
void end_splits(bool end) {
  const auto guard = lock();
  for (auto& [id, split] : world().scripts["a"].splits) split.ends = end;
}
std::map<std::string, std::string> expected_counts(int rows, int keys) {
  std::map<std::string, std::string> out;
  for (int k = 0; k < keys; ++k) out["k" + std::to_string(k)] = row("k" + std::to_string(k), rows / keys + (k < rows % keys ? 1 : 0));
  return out;
}
Settings lanes(int n, const std::string& interval = "0") {
  Settings s;
  s.parallelism = n;
  s.interval = interval;
  s.batch_rows = 10;
  return s;
}

TEST_CASE("the first checkpoint holds the start positions") {
  Place place;
  fill(2, 0, 2, 2);
  for (auto& [id, split] : world().scripts["a"].splits) split.released = 0;
  TestJob job(place, kCounting, lanes(2));
  job.start();
  REQUIRE(job.wait_for([&] { return job.progress().checkpoint.completed == 1; }));
  const auto m = place.newest_checkpoint();
  REQUIRE(m.find_source("src")->splits.size() == 2);
  for (const auto& split : m.find_source("src")->splits) CHECK(split.position == "0");
  CHECK(m.find_source("src")->splits[0].position_text == "s0[0]");
  job.kill();
  world().scripts["a"].assigned.clear();
  for (auto& [id, split] : world().scripts["a"].splits) split.released = SIZE_MAX;
  TestJob again(place, kCounting, lanes(2));
  REQUIRE(again.run().is_ok());
  CHECK(sorted(world().scripts["a"].assigned) == std::vector<std::string>{"s0 from 0", "s1 from 0"});
}

TEST_CASE("stop and go on: as if nothing had been") {
  Place place;
  count_by_key();
  fill(3, 0, 100, 7);
  end_splits(false);
  {
    TestJob job(place, kCounting, lanes(2));
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 100; }));
    const auto outcome = job.stop();
    REQUIRE(outcome.is_ok());
    CHECK(outcome.value() == Outcome::kStopped);
  }
  fill(3, 100, 250, 7);
  end_splits(true);
  {
    TestJob again(place, kCounting, lanes(2));
    const auto outcome = again.run();
    REQUIRE(outcome.is_ok());
    CHECK(outcome.value() == Outcome::kFinished);
    CHECK(written("out").size() == 250);  // no row twice
    CHECK(table("out") == expected_counts(250, 7));
    CHECK_FALSE(again.progress().checkpoint.restored_from.empty());
  }
  // Once more: everything has ended.
  TestJob third(place, kCounting, lanes(2));
  REQUIRE(third.run().is_ok());
  CHECK(written("out").size() == 250);
}

TEST_CASE("crashes at any moment: the same contents") {
  Place place;
  count_by_key();
  fill(3, 0, 3000, 11);
  int crashes = 0;
  for (int round = 0; round < 12; ++round) {
    TestJob job(place, kCounting, lanes(1 + round % 3, "5ms"));
    job.start();
    const size_t before = written("out").size();
    job.wait_for([&] { return written("out").size() >= before + 60 + 37 * static_cast<size_t>(round % 4); });
    if (!job.has_ended()) ++crashes;
    job.kill();
  }
  CHECK(crashes > 0);
  TestJob last(place, kCounting, lanes(2));
  REQUIRE(last.run().is_ok());
  CHECK(table("out") == expected_counts(3000, 11));
}

TEST_CASE("keyed state, operator state and timers follow the lanes: 1, 2, 3, 1") {
  Place place;
  Hooks& h = world().hooks["c"];
  // Per key a count; per lane the number of rows; one timer for each row, far in the future until the input ends.
  h.process = [](Api& api, const Batch& in, Output& out) -> Status {
    bool found = false;
    int64_t rows = 0;
    const std::string name = "rows-" + std::to_string(api.lane) + "-of-" + std::to_string(api.lanes);
    SLUICE_CHECK_OK(api.shared->get(name, &found, &rows));
    SLUICE_CHECK_OK(api.shared->put(name, rows + in.size()));
    for (uint32_t r = 0; r < in.size(); ++r) {
      int64_t n = 0;
      SLUICE_CHECK_OK(api.value->get(in.key(r), &found, &n));
      SLUICE_CHECK_OK(api.value->put(in.key(r), ++n));
      SLUICE_CHECK_OK(api.set_timer(SLUICE_CLOCK_EVENT, in.key(r), 1'000'000'000, static_cast<uint64_t>(n)));
      out.emit(r).set("id", Value::string(in.key(r))).set("n", Value::integer(n));
    }
    return Status::ok();
  };
  h.on_timer = [](Api&, uint32_t, std::string_view key, int64_t, uint64_t tag, Output& out) {
    out.emit(SLUICE_NO_ROW).set("id", Value::string(out.keep("timer-" + std::string(key) + "-" + std::to_string(tag))));
    return Status::ok();
  };
  h.on_watermark = [](Api& api, int64_t w, Output& out) -> Status {
    if (w != SLUICE_END_OF_TIME) return Status::ok();
    return api.shared->scan([&](std::string_view name, int64_t n) {
      out.emit(SLUICE_NO_ROW).set("id", Value::string(out.keep(std::string(name)))).set("n", Value::integer(n));
      return true;
    });
  };
  const int plan[] = {1, 2, 3, 1};
  for (int i = 0; i < 4; ++i) {
    fill(4, i * 60, (i + 1) * 60, 13);
    end_splits(i == 3);
    TestJob job(place, kCounting, lanes(plan[i]));
    job.start();
    if (i < 3) {
      REQUIRE(job.wait_for([&] { return written("out").size() == static_cast<size_t>(i + 1) * 60; }));
      REQUIRE(job.stop().is_ok());
    } else {
      REQUIRE(job.wait().is_ok());
    }
  }
  auto t = table("out");
  int64_t rows = 0, timers = 0;
  for (auto it = t.begin(); it != t.end();) {
    if (it->first.rfind("rows-", 0) == 0) rows += std::stoll(get(it->second, "n"));
    if (it->first.rfind("timer-", 0) == 0) ++timers;
    it = it->first[0] == 'k' ? std::next(it) : t.erase(it);
  }
  CHECK(t == expected_counts(240, 13));
  CHECK(rows == 240);
  CHECK(timers == 240);
}

TEST_CASE("the state of two phases goes into one, and back") {
  Place place;
  Hooks& h = world().hooks["w"];
  h.process = [](Api& api, const Batch& in, Output&) -> Status {
    bool found = false;
    int64_t n = 0;
    const std::string name = "role" + std::to_string(api.role) + "-" + std::to_string(api.lane);
    SLUICE_CHECK_OK(api.shared->get(name, &found, &n));
    return api.shared->put(name, n + in.size());
  };
  h.on_watermark = [](Api& api, int64_t w, Output& out) -> Status {
    if (w != SLUICE_END_OF_TIME || api.role == SLUICE_ROLE_PARTIAL) return Status::ok();
    int64_t sum = 0;
    SLUICE_CHECK_OK(api.shared->scan([&](std::string_view, int64_t n) { sum += n; return true; }));
    out.emit(SLUICE_NO_ROW).set("id", Value::string("sum")).set("n", Value::integer(sum));
    return Status::ok();
  };
  const std::string graph = kSource + "  - { id: w, use: test.phases, input: src }\n  - { id: out, use: test.upsert, input: w }\n";
  const int plan[] = {2, 1};
  for (int i = 0; i < 2; ++i) {
    fill(2, i * 40, (i + 1) * 40, 5);
    end_splits(i == 1);
    TestJob job(place, graph, lanes(plan[i]));
    job.start();
    if (i == 0) {
      REQUIRE(job.wait_for([] { return world().told["w"].rows[0] + world().told["w"].rows[1] == 40; }));
      REQUIRE(job.stop().is_ok());
    } else {
      REQUIRE(job.wait().is_ok());
    }
  }
  CHECK(get(table("out").at("sum"), "n") == "80");
}

TEST_CASE("timers across a restart") {
  Place place;
  world().hooks["c"].process = [](Api& api, const Batch& in, Output&) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r) SLUICE_CHECK_OK(api.set_timer(SLUICE_CLOCK_PROCESSING, in.key(r), 1'700'000'050'000, 1));
    return Status::ok();
  };
  world().hooks["c"].on_timer = [](Api&, uint32_t, std::string_view key, int64_t, uint64_t, Output& out) {
    out.emit(SLUICE_NO_ROW).set("id", Value::string(out.keep("fired-" + std::string(key))));
    return Status::ok();
  };
  fill(2, 0, 10, 5);
  end_splits(false);
  {
    TestJob job(place, kCounting, lanes(2));
    job.start();
    REQUIRE(job.wait_for([] { return world().told["c"].rows[0] + world().told["c"].rows[1] == 10; }));
    REQUIRE(job.stop().is_ok());
    uint64_t timers = 0;
    for (const auto& o : place.newest_checkpoint().operators) timers += o.timers;
    CHECK(timers == 5);
  }
  CHECK(table("out").empty());
  place.clock.advance(60'000);
  TestJob again(place, kCounting, lanes(3));
  again.start();
  REQUIRE(again.wait_for([] { return table("out").size() == 5; }));
  REQUIRE(again.stop().is_ok());
  CHECK(written("out").size() == 5);
}

TEST_CASE("a barrier waits for the slower of two inputs, and state is cut between the same rows") {
  Place place;
  // Rows of `b` come through an operator that is slow; every checkpoint must hold as many counted rows as the positions say.
  count_by_key();
  for (int i = 0; i < 400; ++i) {
    world().scripts["a"].add("s", row("same", i));
    world().scripts["b"].add("s", row("same", i));
  }
  world().hooks["slow"].process = [](Api&, const Batch& in, Output& out) {
    const auto guard = lock();
    if (++world().numbers["calls"] % 3 != 0) return Status::retry("slow", 1);
    for (uint32_t r = 0; r < in.size(); ++r) out.forward(r);
    return Status::ok();
  };
  const std::string graph = kSource +
                            "  - { id: b, use: test.source, with: { script: b } }\n  - { id: slow, use: test.hook, input: b }\n"
                            "  - { id: c, use: test.state, key: id, input: [src, slow] }\n  - { id: out, use: test.upsert, input: c }\n";
  for (int round = 0; round < 4; ++round) {
    TestJob job(place, graph, lanes(1, "5ms"));
    job.start();
    if (!job.wait_checkpoints(2)) break;
    job.kill();
    // What the restored state continues with is what the positions have read.
    const auto m = place.newest_checkpoint();
    const int64_t read = std::stoll(m.find_source("src")->splits[0].position) + std::stoll(m.find_source("b")->splits[0].position);
    world().numbers["expect"] = read;
    world().numbers["seen"] = 0;
    world().hooks["c"].process = [](Api& api, const Batch& in, Output& out) -> Status {
      for (uint32_t r = 0; r < in.size(); ++r) {
        bool found = false;
        int64_t n = 0;
        SLUICE_CHECK_OK(api.value->get(in.key(r), &found, &n));
        {
          const auto guard = lock();
          if (world().numbers["seen"]++ == 0 && n != world().numbers["expect"]) world().numbers["wrong"] = 1;
        }
        SLUICE_CHECK_OK(api.value->put(in.key(r), ++n));
        out.emit(r).set("id", Value::string(in.key(r))).set("n", Value::integer(n));
      }
      return Status::ok();
    };
  }
  TestJob last(place, graph, lanes(1));
  REQUIRE(last.run().is_ok());
  CHECK(world().numbers["wrong"] == 0);
  CHECK(get(table("out").at("same"), "n") == "800");
}

TEST_CASE("--from: an older checkpoint, none, and what is no checkpoint") {
  Place place;
  count_by_key();
  fill(1, 0, 10, 3);
  end_splits(false);
  {
    TestJob job(place, kCounting);
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 10; }));
    REQUIRE(job.stop().is_ok());
  }
  const uint64_t ten = place.newest_checkpoint().number;
  fill(1, 10, 20, 3);
  {
    TestJob job(place, kCounting);
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 20; }));
    REQUIRE(job.stop().is_ok());
  }
  end_splits(true);
  JobOptions from;
  from.from = std::to_string(ten);
  {
    TestJob job(place, kCounting, {}, from);
    REQUIRE(job.run().is_ok());
    CHECK(written("out").size() == 30);
    CHECK(table("out") == expected_counts(20, 3));
  }
  CHECK(place.newest_checkpoint().parent_number == ten);
  from.from = "none";
  {
    TestJob job(place, kCounting, {}, from);
    REQUIRE(job.run().is_ok());
    CHECK(written("out").size() == 50);
    CHECK(table("out") == expected_counts(20, 3));
  }
  for (const char* wrong : {"abc", "99999", "-1"}) {
    from.from = wrong;
    TestJob job(place, kCounting, {}, from);
    const auto outcome = job.run();
    CHECK_FALSE(outcome.is_ok());
    CHECK(outcome.status().message().find(wrong) != std::string::npos);
  }
}

TEST_CASE("splits that are found later, and lanes that change, go on where they were") {
  Place place;
  fill(2, 0, 20, 20);
  end_splits(false);
  {
    TestJob job(place, kCounting, lanes(2));
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 20; }));
    {
      const auto guard = lock();
      world().scripts["a"].splits["s2"] = {{{row("new", 1), ""}}, 2, SIZE_MAX, false};
    }
    place.clock.advance(2000);  // time to look for splits again
    REQUIRE(job.wait_for([] { return written("out").size() == 21; }));
    REQUIRE(job.stop().is_ok());
  }
  world().scripts["a"].assigned.clear();
  end_splits(true);
  TestJob again(place, kCounting, lanes(3));
  REQUIRE(again.run().is_ok());
  CHECK(sorted(world().scripts["a"].assigned) == std::vector<std::string>{"s0 from 10", "s1 from 10", "s2 from 1"});
  CHECK(written("out").size() == 21);
}

}  // namespace
}  // namespace sluice::runtime
