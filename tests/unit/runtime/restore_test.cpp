// Checkpoints, crashes and restarts, also with another number of lanes.
#include "../../support/small_disk.h"
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

TEST_CASE("a split that comes after the first start is an added one, whichever lane reads it") {
  Place place;
  const auto add = [](int n) {
    const auto guard = lock();
    auto& split = world().scripts["a"].splits["s" + std::to_string(n)];
    split.ordinal = n;
    split.ends = false;
  };
  const auto assigned = [] { return sorted(world().scripts["a"].assigned); };
  // Until so many splits have been given to the lanes; then the assigned ones, and a checkpoint that has them.
  const auto run = [&](int parallelism, size_t splits) {
    world().scripts["a"].assigned.clear();
    TestJob job(place, kCounting, lanes(parallelism, "5ms"));
    job.start();
    REQUIRE(job.wait_for([&] {
      place.clock.advance(100);
      return world().scripts["a"].assigned.size() == splits;
    }));
    REQUIRE(job.wait_checkpoints(2));
    job.kill();
    return assigned();
  };
  using Texts = std::vector<std::string>;
  SECTION("while the job runs, in a lane that had none") {
    add(0);
    TestJob job(place, kCounting, lanes(2, "5ms"));
    job.start();
    REQUIRE(job.wait_for([&] { return world().scripts["a"].assigned.size() == 1; }));
    REQUIRE(job.wait_checkpoints(1));
    add(1);
    REQUIRE(job.wait_for([&] {
      place.clock.advance(100);
      return world().scripts["a"].assigned.size() == 2;
    }));
    CHECK(assigned() == Texts{"s0 from start", "s1 from its beginning"});
  }
  SECTION("while the job is down, in lanes that there were not") {
    add(0);
    CHECK(run(1, 1) == Texts{"s0 from start"});
    add(1);
    add(2);
    CHECK(run(3, 3) == Texts{"s0 from 0", "s1 from its beginning", "s2 from its beginning"});
    CHECK(run(2, 3) == Texts{"s0 from 0", "s1 from 0", "s2 from 0"});
  }
  SECTION("the first start found none at all") {
    CHECK(run(2, 0).empty());
    add(0);
    CHECK(run(1, 1) == Texts{"s0 from its beginning"});
  }
  SECTION("a source that was not reached has not started") {
    add(0);
    world().scripts["a"].on_discover = [] { return Status::retry("away", 5); };
    CHECK(run(2, 0).empty());
    CHECK_FALSE(place.newest_checkpoint().find_source("src")->started);
    world().scripts["a"].on_discover = nullptr;
    CHECK(run(2, 1) == Texts{"s0 from start"});
    world().scripts["a"].on_discover = [] { return Status::retry("away", 5); };
    CHECK(run(2, 0).empty());
    CHECK(place.newest_checkpoint().find_source("src")->started);
  }
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

TEST_CASE("a run from scratch that ended before its first checkpoint is not undone by the next start") {
  Place place;
  count_by_key();
  fill(1, 0, 10, 3);
  {
    TestJob job(place, kCounting);
    REQUIRE(job.run().is_ok());
  }
  JobOptions from;
  from.from = "none";
  world().scripts["a"].on_discover = [] { return Status::fatal("the process ends here"); };
  {
    TestJob job(place, kCounting, {}, from);
    const auto ended = job.run();
    REQUIRE_FALSE(ended.is_ok());
    REQUIRE(ended.status().message().find("the process ends here") != std::string::npos);
  }
  world().scripts["a"].on_discover = nullptr;
  TestJob job(place, kCounting);
  REQUIRE(job.run().is_ok());
  CHECK(job.progress().checkpoint.restored_from.empty());
  CHECK(written("out").size() == 20);
}

TEST_CASE("a working folder that cannot be emptied stops the start") {
  Place place;
  // What cannot be removed: for root a mount point, for others what stands in a folder that may not be written to.
  const std::string kept = place.folder.path("work/state-0-0");
  const bool is_root = ::geteuid() == 0;
  std::optional<tests::SmallDisk> mounted;
  if (is_root) {
    mounted.emplace(kept, "1m");
  } else {
    std::filesystem::create_directories(kept + "/inside");
    std::filesystem::permissions(kept, std::filesystem::perms::owner_write, std::filesystem::perm_options::remove);
  }
  count_by_key();
  fill(1, 0, 10, 3);
  JobOptions options;
  options.work_dir = place.folder.path("work");
  TestJob job(place, kCounting, {}, options);
  CHECK(job.run().status().message() == "cannot empty the working folder " + options.work_dir + ": " +
                                           (is_root ? "Device or resource busy" : "Permission denied") + ". Remove it by hand");
  if (!is_root) std::filesystem::permissions(kept, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
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

TEST_CASE("a stop before every lane knows its splits loses no position") {
  for (int i = 0; i < 6; ++i) {  // whichever lane is the one that is answered
    Place place;
    fill(2, 0, 10, 5);
    end_splits(false);
    count_by_key();
    {
      TestJob job(place, kCounting, lanes(2));
      job.start();
      REQUIRE(job.wait_for([&] { return world().sinks["out"].log.size() == 10; }));
      REQUIRE(job.stop().is_ok());
    }
    {
      world().scripts["a"].on_discover = [] {
        static std::thread::id answered;
        if (world().numbers["answered"]++ == 0) answered = std::this_thread::get_id();
        return answered == std::this_thread::get_id() ? Status::ok() : Status::retry("not there yet");
      };
      TestJob job(place, kCounting, lanes(2));
      job.start();
      REQUIRE(job.wait_for([&] { return world().scripts["a"].assigned.size() == 3; }));
      REQUIRE(job.stop().is_ok());
      world().scripts["a"].on_discover = nullptr;
    }
    const auto manifest = place.newest_checkpoint();
    const auto& splits = manifest.find_source("src")->splits;
    REQUIRE(splits.size() == 2);
    for (const auto& split : splits) CHECK(split.position == "5");
  }
}

TEST_CASE("a source that cannot take its splits yet holds up no stop, and they start as the first ones do") {
  Place place;
  fill(1, 0, 10, 5);
  end_splits(true);
  count_by_key();
  world().scripts["a"].on_assign = [] {
    ++world().numbers["asked"];
    return Status::retry("not there yet", 10);
  };
  {
    TestJob job(place, kCounting, lanes(1));
    job.start();
    REQUIRE(job.wait_for([&] {
      place.clock.advance(10);
      return world().numbers["asked"] > 2;
    }));
    CHECK(job.progress().waiting_for == std::vector<std::string>{"operator src cannot go on: not there yet"});
    REQUIRE(job.stop().is_ok());
  }
  world().scripts["a"].on_assign = nullptr;
  TestJob job(place, kCounting, lanes(1));
  REQUIRE(job.run().is_ok());
  CHECK(world().scripts["a"].assigned == std::vector<std::string>{"s0 from start"});
  CHECK(table("out") == expected_counts(10, 5));
}

TEST_CASE("a split that comes between the looks of two lanes moves no other: each is read once, and the job ends") {
  for (int i = 0; i < 6; ++i) {  // whichever lane looks first
    Place place;
    fill(2, 0, 10, 5);
    end_splits(true);
    count_by_key();
    world().scripts["a"].on_discover = [] {
      if (++world().numbers["looks"] == 2) {
        auto& splits = world().scripts["a"].splits;
        splits["s"].ordinal = 0;
        splits["s0"].ordinal = 1;
        splits["s1"].ordinal = 2;
      }
      return Status::ok();
    };
    TestJob job(place, kCounting, lanes(2));
    REQUIRE(job.run().is_ok());
    CHECK(table("out") == expected_counts(10, 5));
  }
}

TEST_CASE("a source that is dropped begins at its start") {
  Place place;
  fill(1, 0, 10, 5);
  end_splits(false);
  count_by_key();
  {
    TestJob job(place, kCounting, lanes(1));
    job.start();
    REQUIRE(job.wait_for([&] { return world().sinks["out"].log.size() == 10; }));
    REQUIRE(job.stop().is_ok());
  }
  end_splits(true);
  JobOptions options;
  options.drop_states = {"src"};
  TestJob job(place, kCounting, lanes(1), options);
  REQUIRE(job.run().is_ok());
  CHECK(table("out") == expected_counts(20, 5));
}

TEST_CASE("state that a newer version may need is named in every later checkpoint") {
  Place place;
  fill(2, 0, 10, 5);
  end_splits(false);
  const std::string graph = kSource + "  - { id: f, use: test.format, key: id, input: src }\n  - { id: out, use: test.upsert, input: f }\n";
  for (const int compat : {2, 1}) {  // of the operator that runs; entries of the first stay
    world().numbers["compat"] = compat;
    TestJob job(place, graph, lanes(2));
    job.start();
    if (compat == 2) REQUIRE(job.wait_for([&] { return world().sinks["out"].log.size() == 10; }));
    else REQUIRE(job.wait_for([&] { return job.progress().phase == "running"; }));
    REQUIRE(job.stop().is_ok());
    const auto m = place.newest_checkpoint();
    const auto* o = m.find_operator("f");
    REQUIRE(o != nullptr);
    REQUIRE(o->states.size() == 1);
    CHECK(o->states[0].format == 2);
    CHECK(o->states[0].compat == 2);
  }
}

TEST_CASE("state is given up when the user says so, and only then") {
  Place place;
  fill(1, 0, 10, 5);
  end_splits(false);
  count_by_key();
  {
    TestJob job(place, kCounting, lanes(1));
    job.start();
    REQUIRE(job.wait_for([&] { return world().sinks["out"].log.size() == 10; }));
    REQUIRE(job.stop().is_ok());
  }
  fill(1, 10, 20, 5);
  end_splits(true);
  SECTION("one state of an operator: the other one stays") {
    world().hooks["c"].process = [](Api& api, const Batch& in, Output& out) -> Status {
      for (uint32_t r = 0; r < in.size(); ++r) {
        bool has_value = false, has_map = false;
        int64_t n = 0;
        std::string last;
        SLUICE_CHECK_OK(api.value->get(in.key(r), &has_value, &n));
        SLUICE_CHECK_OK(api.map->get(in.key(r), "last", &has_map, &last));
        out.emit(r).set("id", Value::string(in.key(r))).set("value", Value::boolean(has_value)).set("map", Value::string(out.keep(last)));
      }
      return Status::ok();
    };
    JobOptions options;
    options.drop_states = {"c/value"};
    TestJob job(place, kCounting, lanes(2), options);
    REQUIRE(job.run().is_ok());
    for (int k = 0; k < 5; ++k) CHECK(table("out")["k" + std::to_string(k)] == "{\"id\":\"k" + std::to_string(k) + "\",\"value\":false,\"map\":\"2\"}");
  }
  SECTION("a name that neither the checkpoint nor the pipeline has is refused, with the nearest one") {
    const auto refusal = [&](std::vector<std::string> names) {
      JobOptions options;
      options.drop_states = std::move(names);
      TestJob job(place, kCounting, lanes(2), options);
      const auto refused = job.run();
      REQUIRE_FALSE(refused.is_ok());
      return refused.status().message();
    };
    CHECK(refusal({"c/valeu"}).find("did you mean \"c/value\"?") != std::string::npos);
    const std::string both = refusal({"srcc", "c", "nosuch"});
    INFO(both);
    CHECK(both.find("checkpoints: --drop-state srcc: neither checkpoint ") == 0);
    CHECK(both.find("did you mean \"src\"?") != std::string::npos);
    CHECK(both.find("--drop-state nosuch: ") != std::string::npos);
    // Nothing was given up or written by these starts; what the pipeline has and the checkpoint has not is no slip.
    JobOptions options;
    options.drop_states = {"out"};
    TestJob job(place, kCounting, lanes(2), options);
    REQUIRE(job.run().is_ok());
  }
  SECTION("an operator that is gone") {
    const std::string without = kSource + "  - { id: out, use: test.upsert, input: src }\n";
    {
      TestJob job(place, without, lanes(1));
      const auto refused = job.run();
      REQUIRE_FALSE(refused.is_ok());
      INFO(refused.status().message());
      CHECK(refused.status().message().find("checkpoints: ") == 0);
      CHECK(refused.status().message().find("--drop-state c") != std::string::npos);
    }
    JobOptions options;
    options.drop_states = {"c"};
    TestJob job(place, without, lanes(1), options);
    REQUIRE(job.run().is_ok());
    CHECK(written("out").size() == 20);
    CHECK(written("out").back() == row("k4", 19));
    CHECK(place.newest_checkpoint().find_operator("c") == nullptr);
  }
}

TEST_CASE("state lives as long as its time to live, also across a restart") {
  Place place;
  fill(1, 0, 3, 1);  // three rows of one key
  world().scripts["a"].splits["s0"].released = 1;
  const std::string graph = kSource + "  - { id: seen, use: test.seen, key: id, input: src, with: { ttl: 1m } }\n  - { id: out, use: test.upsert, input: seen }\n";
  const auto release = [](size_t rows) {
    const auto guard = lock();
    world().scripts["a"].splits["s0"].released = rows;
  };
  const auto seen = [] {
    const auto guard = lock();
    uint64_t rows = 0;
    for (const auto& [id, split] : world().scripts["a"].splits) rows += split.released;
    return rows;
  };
  const auto consumed = [&](TestJob& job) {
    return job.wait_for([&] {
      const auto p = job.progress();
      for (const auto& o : p.operators)
        if (o.id == "seen") return o.rows_in == seen();
      return false;
    });
  };
  const bool restart = GENERATE(false, true);
  CAPTURE(restart);
  auto job = std::make_unique<TestJob>(place, graph, lanes(1));
  job->start();
  REQUIRE(consumed(*job));
  place.clock.advance(59'000);
  release(2);
  REQUIRE(consumed(*job));
  CHECK(written("out") == std::vector<std::string>{row("k0", 0)});  // and the time begins anew with each write
  place.clock.advance(59'000);
  if (restart) {
    REQUIRE(job->stop().is_ok());
    job = std::make_unique<TestJob>(place, graph, lanes(1));
    job->start();
  }
  place.clock.advance(2'000);
  release(3);
  REQUIRE(job->wait().is_ok());
  CHECK(written("out") == std::vector<std::string>{row("k0", 0), row("k0", 2)});
}

}  // namespace
}  // namespace sluice::runtime
