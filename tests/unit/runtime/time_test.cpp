// Watermarks, lateness, idle splits and lanes, the end of the input.
#include "runtime/split_clock.h"
#include "test_world.h"

namespace sluice::runtime {
namespace {

using namespace testing;

std::string timed(const std::string& id, int64_t t) { return "{\"id\":\"" + id + "\",\"t\":" + std::to_string(t) + "}"; }
std::string source(const std::string& out_of_order, const std::string& idle = "0") {
  return "  - { id: src, use: test.source, with: { script: a }, event_time: { field: t, format: epoch_ms, out_of_order: " + out_of_order +
         ", idle_timeout: " + idle + " } }\n";
}
const std::string kChain = "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n";
// Rows that are behind the watermark leave by the port `late`.
Status split_late(Api&, const Batch& in, Output& out) {
  for (uint32_t r = 0; r < in.size(); ++r) out.forward(r, in.event_time(r) < in.watermark(r) ? 1 : 0);
  return Status::ok();
}
const std::string kLate = "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n  - { id: late, use: test.upsert, input: h.late }\n";

TEST_CASE("SplitClock: the lowest split counts, and never goes back") {
  SplitClock clock(10);
  clock.slots().resize(2);
  clock.observe(clock.slots()[0], 100);
  CHECK(clock.watermark() == SLUICE_NO_TIME);
  clock.observe(clock.slots()[1], 50);
  CHECK(clock.watermark() == 40);
  clock.observe(clock.slots()[1], 300);
  CHECK(clock.watermark() == 90);
  clock.observe(clock.slots()[1], 200);  // an older row changes nothing
  CHECK(clock.watermark() == 90);
  clock.slots().push_back({});  // a split that has just been found
  clock.recompute();
  CHECK(clock.watermark() == 90);
  clock.observe(clock.slots()[0], 400);
  CHECK(clock.watermark() == 90);
  clock.slots()[2].idle = true;
  clock.recompute();
  CHECK(clock.watermark() == 290);
}

TEST_CASE("SplitClock: splits that have ended do not stand for those that are idle") {
  SplitClock clock(0);
  clock.slots().resize(2);
  clock.observe(clock.slots()[0], 100);
  clock.observe(clock.slots()[1], 50);
  clock.slots()[0].flags = SLUICE_SPLIT_END;
  clock.recompute();
  CHECK(clock.watermark() == 50);
  CHECK_FALSE(clock.all_idle());
  clock.slots()[1].idle = true;
  clock.recompute();
  CHECK(clock.watermark() == 50);  // the idle one may come back with 60
  CHECK(clock.all_idle());
  clock.slots()[1].idle = false;
  clock.slots()[1].flags = SLUICE_SPLIT_END;
  clock.recompute();
  CHECK(clock.watermark() == SLUICE_END_OF_TIME);
  CHECK(clock.reached() == 100);
}

TEST_CASE("the input's end brings the final watermark, once, to every operator") {
  Place place;
  world().scripts["a"].add("s", timed("a", 100));
  TestJob job(place, source("0s") + kChain);
  REQUIRE(job.run().is_ok());
  CHECK(world().told["h"].watermarks[0].back() == SLUICE_END_OF_TIME);
  CHECK(std::count(world().told["h"].watermarks[0].begin(), world().told["h"].watermarks[0].end(), SLUICE_END_OF_TIME) == 1);
  CHECK(job.operator_progress("h").watermark_ms == observe::kEndOfTime);
}

TEST_CASE("lanes without splits have no part in the watermark that is shown") {
  Place place;
  auto& script = world().scripts["a"];
  script.add("s", timed("a", 1000));
  script.splits["s"].ends = false;
  Settings s;
  s.parallelism = 3;
  TestJob job(place, source("0s") + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n", s);
  job.start();
  REQUIRE(job.wait_for([&] { return job.operator_progress("out").rows_in == 1; }));
  CHECK(job.wait_for([&] { return job.operator_progress("src").watermark_ms == 1000 && job.operator_progress("h").watermark_ms == 1000; }));
}

TEST_CASE("a stop brings none") {
  Place place;
  world().scripts["a"].add("s", timed("a", 100));
  world().scripts["a"].splits["s"].ends = false;
  TestJob job(place, source("10ms") + kChain);
  job.start();
  REQUIRE(job.wait_for([] { return !world().told["h"].watermarks[0].empty(); }));
  const auto outcome = job.stop();
  REQUIRE(outcome.is_ok());
  CHECK(outcome.value() == Outcome::kStopped);
  CHECK(world().told["h"].watermarks[0] == std::vector<int64_t>{90});
}

TEST_CASE("the watermark is the minimum over splits and over lanes") {
  Place place;
  for (const char* split : {"s0", "s1", "s2"}) world().scripts["a"].splits[split].ends = false;
  for (int i = 0; i < 3; ++i) world().scripts["a"].splits["s" + std::to_string(i)].ordinal = i;
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].add("s1", timed("b", 500));
  world().scripts["a"].add("s2", timed("c", 700));
  Settings s;
  s.parallelism = 2;  // s0 and s2 in lane 0, s1 in lane 1
  TestJob job(place, source("0s") + "  - { id: h, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: h }\n", s);
  job.start();
  REQUIRE(job.wait_for([] {
    auto& w = world().told["h"].watermarks;
    return w[0] == std::vector<int64_t>{500} && w[1] == std::vector<int64_t>{500};
  }));
  {
    const auto guard = lock();
    world().scripts["a"].add("s1", timed("b", 900));
  }
  REQUIRE(job.wait_for([] {
    auto& w = world().told["h"].watermarks;
    return w[0] == std::vector<int64_t>{500, 700} && w[1] == std::vector<int64_t>{500, 700};
  }));
  REQUIRE(job.stop().is_ok());
}

TEST_CASE("after a restart a first phase hears how far its lane was, also when no row comes in it") {
  // Behind the source's own lane, or behind an exchange.
  const std::string between = GENERATE(as<std::string>{}, "src", "keyed");
  Place place;
  for (int i = 0; i < 2; ++i) {
    auto& split = world().scripts["a"].splits["s" + std::to_string(i)];
    split.ends = false;
    split.ordinal = i;
  }
  world().scripts["a"].add("s0", timed("a", 100));
  world().scripts["a"].add("s1", timed("b", 500));
  world().hooks["w"].on_watermark = [](Api& api, int64_t w, Output&) -> Status {
    const auto guard = lock();
    if (api.role == SLUICE_ROLE_MERGE) world().numbers["whole"] = w;
    return Status::ok();
  };
  Settings s;
  s.parallelism = 2;
  const std::string graph = source("0s") + "  - { id: keyed, use: test.state, key: id, input: src }\n  - { id: w, use: test.phases, input: " + between +
                            " }\n  - { id: out, use: test.upsert, input: w }\n  - { id: rest, use: test.upsert, input: keyed }\n";
  {
    TestJob job(place, graph, s);
    job.start();
    REQUIRE(job.wait_for([] { return world().numbers["whole"] == 100; }));
    REQUIRE(job.stop().is_ok());
  }
  world().numbers["whole"] = 0;
  TestJob again(place, graph, s);
  again.start();
  {
    const auto guard = lock();
    world().scripts["a"].add("s0", timed("a", 400));
  }
  REQUIRE(again.wait_for([] { return world().numbers["whole"] == 400; }));
  REQUIRE(again.stop().is_ok());
}

TEST_CASE("which rows are late does not depend on where batches end") {
  std::vector<std::string> times_late;
  for (int batch : {1, 3, 1000}) {
    Place place;
    const int64_t times[] = {100, 50, 120, 109, 110, 200, 189, 190, 195, 150, 300, 290, 289, 291, 100};
    int i = 0;
    for (int64_t t : times) world().scripts["a"].add("s", timed("r" + std::to_string(i++), t));
    world().hooks["h"].process = split_late;
    Settings s;
    s.batch_rows = batch;
    TestJob job(place, source("10ms") + kLate, s);
    REQUIRE(job.run().is_ok());
    std::string late;
    for (const auto& json : written("late")) late += get(json, "id") + " ";
    times_late.push_back(late);
  }
  CHECK(times_late[0] == "r1 r3 r6 r9 r12 r14 ");
  CHECK(times_late[1] == times_late[0]);
  CHECK(times_late[2] == times_late[0]);
}

TEST_CASE("also behind an exchange a row carries the watermark of its own moment") {
  for (int batch : {1, 1000}) {
    Place place;
    const int64_t times[] = {100, 50, 120, 99, 200, 110, 300, 120};
    for (int64_t t : times) world().scripts["a"].add("s", timed("same", t));
    world().hooks["h"].process = split_late;
    Settings s;
    s.batch_rows = batch;
    TestJob job(place, source("0s") + "  - { id: h, use: test.state, key: id, parallelism: 2, input: src }\n"
                                      "  - { id: out, use: test.upsert, input: h }\n  - { id: late, use: test.upsert, input: h.late }\n", s);
    REQUIRE(job.run().is_ok());
    CHECK(written("late").size() == 4);
  }
}

TEST_CASE("a split that is read to its end and silent is left out; a row brings it back") {
  Place place;
  for (const char* split : {"s0", "s1"}) world().scripts["a"].splits[split].ends = false;
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].add("s1", timed("b", 500));
  world().hooks["h"].process = split_late;
  TestJob job(place, source("0s", "10s") + kLate);
  job.start();
  REQUIRE(job.wait_for([] { return world().told["h"].watermarks[0] == std::vector<int64_t>{500}; }));
  place.clock.advance(6000);
  {
    const auto guard = lock();
    world().scripts["a"].add("s0", timed("a", 2000));
  }
  REQUIRE(job.wait_for([] { return written("out").size() == 3; }));
  place.clock.advance(6000);  // s1 is silent for 12 s, s0 for 6
  REQUIRE(job.wait_for([] { return world().told["h"].watermarks[0] == std::vector<int64_t>{500, 2000}; }));
  {
    const auto guard = lock();
    CHECK(world().told["h"].idle[0].empty());
  }
  place.clock.advance(6000);  // now all are
  REQUIRE(job.wait_for([] { return !world().told["h"].idle[0].empty() && world().told["h"].idle[0].back(); }));
  {
    const auto guard = lock();
    world().scripts["a"].add("s1", timed("b", 2500));
  }
  REQUIRE(job.wait_for([] { return !world().told["h"].idle[0].back() && written("out").size() == 4; }));
  CHECK(written("late").empty());
  // s0 is still left out.
  REQUIRE(job.wait_for([] { return world().told["h"].watermarks[0].back() == 2500; }));
  REQUIRE(job.stop().is_ok());
}

TEST_CASE("a split that nobody asks is not silent: what has come meanwhile is not late") {
  Place place;
  for (const char* split : {"s0", "s1"}) world().scripts["a"].splits[split].ends = false;
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].add("s1", timed("b", 500));
  world().hooks["h"].process = [](Api& api, const Batch& in, Output& out) -> Status {  // one row blocks until the test says go
    bool blocks = false;
    for (uint32_t r = 0; r < in.size(); ++r) blocks = blocks || in.payload(r).find("block") != std::string_view::npos;
    while (blocks) {
      {
        const auto guard = lock();
        world().numbers["blocked"] = 1;
        world().changed();
        blocks = world().numbers["go"] == 0;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return split_late(api, in, out);
  };
  TestJob job(place, source("0s", "1s") + kLate);
  job.start();
  REQUIRE(job.wait_for([] { return written("out").size() == 2; }));
  place.clock.advance(500);
  {
    const auto guard = lock();
    world().scripts["a"].add("s0", timed("block", 1500));
  }
  REQUIRE(job.wait_for([] { return world().numbers["blocked"] == 1; }));
  place.clock.advance(5000);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  {
    const auto guard = lock();
    world().scripts["a"].add("s0", timed("c", 2000));
    world().scripts["a"].add("s1", timed("d", 600));
    world().numbers["go"] = 1;
  }
  REQUIRE(job.wait_for([] { return written("out").size() + written("late").size() == 5; }));
  CHECK(written("late").empty());
  // Asked again and silent for long enough, they are idle after all.
  place.clock.advance(5000);
  REQUIRE(job.wait_for([] { return !world().told["h"].idle[0].empty() && world().told["h"].idle[0].back(); }));
  REQUIRE(job.stop().is_ok());
}

TEST_CASE("a clock that is set back stops neither the search for splits nor the splits") {
  Place place;
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].splits["s0"].ends = false;
  TestJob job(place, source("0s", "10s") + kChain);
  job.start();
  REQUIRE(job.wait_for([] { return written("out").size() == 1; }));
  place.clock.advance(-3'600'000);
  {
    const auto guard = lock();
    world().scripts["a"].add("s1", timed("b", 2000));
    world().scripts["a"].splits["s1"].ends = false;
    world().scripts["a"].add("s0", timed("c", 3000));
  }
  REQUIRE(job.wait_for([] { return written("out").size() == 3; }));
  place.clock.advance(20000);
  REQUIRE(job.wait_for([] { return !world().told["h"].idle[0].empty() && world().told["h"].idle[0].back(); }));
  REQUIRE(job.stop().is_ok());
}

TEST_CASE("after a restart a quiet lane does not hold back the time that it had reached") {
  Place place;
  for (int i : {0, 1}) {
    world().scripts["a"].splits["s" + std::to_string(i)].ends = false;
    world().scripts["a"].splits["s" + std::to_string(i)].ordinal = i;
  }
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].add("s1", timed("b", 500));
  const std::string graph = source("0s") + "  - { id: h, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: h }\n";
  Settings s;
  s.parallelism = 2;  // s0 in lane 0, s1 in lane 1
  {
    TestJob job(place, graph, s);
    job.start();
    REQUIRE(job.wait_for([] { return world().told["h"].watermarks[0] == std::vector<int64_t>{500} && world().told["h"].watermarks[1] == std::vector<int64_t>{500}; }));
    REQUIRE(job.stop().is_ok());
  }
  world().scripts["a"].add("s1", timed("b", 700));
  TestJob job(place, graph, s);
  job.start();
  REQUIRE(job.wait_for([] { return world().told["h"].watermarks[0].back() == 700 && world().told["h"].watermarks[1].back() == 700; }));
  REQUIRE(job.stop().is_ok());
}

TEST_CASE("splits that one tick finds idle are left out in the order in which they fell silent") {
  Place place;
  for (const char* split : {"s0", "s1", "s2"}) world().scripts["a"].splits[split].ends = false;
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].add("s1", timed("b", 500));  // s2 never has a row
  world().hooks["h"].process = split_late;
  TestJob job(place, source("0s", "10s") + kLate);
  job.start();
  REQUIRE(job.wait_for([] { return written("out").size() == 2; }));
  const bool at_once = GENERATE(true, false);
  CAPTURE(at_once);
  if (!at_once) {
    place.clock.advance(1000);
    const auto guard = lock();
    world().scripts["a"].add("s0", timed("a", 1100));
  }
  REQUIRE(job.wait_for([&] { return written("out").size() == (at_once ? 2u : 3u); }));
  place.clock.advance(20000);
  REQUIRE(job.wait_for([] { return !world().told["h"].idle[0].empty() && world().told["h"].idle[0].back(); }));
  const auto guard = lock();
  CHECK(world().told["h"].watermarks[0] == std::vector<int64_t>{at_once ? 500 : 1100});
}

TEST_CASE("when one split has ended and the other is idle, rows of the other are not late afterwards") {
  Place place;
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].add("s1", timed("b", 500));
  world().scripts["a"].splits["s1"].ends = false;
  world().hooks["h"].process = split_late;
  TestJob job(place, source("0s", "10s") + kLate);
  job.start();
  REQUIRE(job.wait_for([] { return written("out").size() == 2; }));
  place.clock.advance(20000);
  REQUIRE(job.wait_for([] { return !world().told["h"].idle[0].empty() && world().told["h"].idle[0].back(); }));
  {
    const auto guard = lock();
    world().scripts["a"].add("s1", timed("b", 600));
    world().scripts["a"].splits["s1"].ends = true;
  }
  REQUIRE(job.wait().is_ok());
  CHECK(written("late").empty());
  CHECK(written("out").size() == 3);
}

TEST_CASE("a lane without splits does not hold the watermark") {
  Place place;
  world().scripts["a"].add("s0", timed("a", 1000));
  world().scripts["a"].splits["s0"].ends = false;
  Settings s;
  s.parallelism = 3;
  TestJob job(place, source("0s") + "  - { id: h, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: h }\n", s);
  job.start();
  CHECK(job.wait_for([] {
    auto& w = world().told["h"].watermarks;
    return w[0] == std::vector<int64_t>{1000} && w[1] == std::vector<int64_t>{1000} && w[2] == std::vector<int64_t>{1000};
  }));
  REQUIRE(job.stop().is_ok());
}

TEST_CASE("a time too far ahead and one that cannot be read are bad rows and do not move the watermark") {
  Place place;
  world().scripts["a"].add("s", timed("a", 1000));
  world().scripts["a"].add("s", timed("b", place.clock.now_ms() + 3'600'001));
  world().scripts["a"].add("s", "{\"id\":\"c\",\"t\":\"soon\"}");
  world().scripts["a"].add("s", "{\"id\":\"d\"}");
  world().scripts["a"].add("s", timed("none", -1));
  world().scripts["a"].add("s", timed("e", 1001));
  world().hooks["h"].process = split_late;
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a }, event_time: { field: t, format: epoch_ms, out_of_order: 0s, max_ahead: 1h } }\n" + kLate);
  REQUIRE(job.run().is_ok());
  CHECK(written("out").size() == 2);
  CHECK(written("late").empty());
  const auto letters = place.dead_letters();
  REQUIRE(letters.size() == 4);
  CHECK(letters[0].reason.find("further ahead of the clock than max_ahead (1h)") != std::string::npos);
  CHECK(letters[1].reason.find("holds \"soon\"") != std::string::npos);
  CHECK(letters[2].reason == "event time: \"t\" is null or missing");
  CHECK(letters[2].position == "s[4]");
  CHECK(letters[3].reason == "event time: field \"t\" holds \"-1\", which is before 1970");
}

// Rows with times of the source's own.
void add_own(const std::string& split, const std::string& id, int64_t t) { world().scripts["a"].splits[split].rows.push_back({"{\"id\":\"" + id + "\"}", "", t}); }
std::string own_source(const std::string& event_time) {
  return "  - { id: src, use: test.source, with: { script: a, times: true }" + (event_time.empty() ? "" : ", event_time: { " + event_time + " }") + " }\n";
}

TEST_CASE("times of the source's own: out_of_order and max_ahead go for them") {
  Place place;
  add_own("s", "a", 1000);
  add_own("s", "b", 990);  // not later than out_of_order allows
  add_own("s", "c", place.clock.now_ms() + 3'600'001);
  add_own("s", "d", SLUICE_NO_TIME);
  add_own("s", "e", 1020);
  add_own("s", "f", 1009);
  world().hooks["h"].process = split_late;
  TestJob job(place, own_source("out_of_order: 10ms, max_ahead: 1h") + kLate);
  REQUIRE(job.run().is_ok());
  CHECK(written("late") == std::vector<std::string>{"{\"id\":\"d\"}", "{\"id\":\"f\"}"});
  CHECK(written("out").size() == 3);
  REQUIRE(place.dead_letters().size() == 1);
  CHECK(place.dead_letters()[0].reason == "event time: the source gives 2023-11-14 23:13:20Z, further ahead of the clock than max_ahead (1h)");
  CHECK(place.dead_letters()[0].position == "s[3]");
}

TEST_CASE("times of the source's own, and nothing said about them: the defaults of event_time") {
  Place place;
  const std::string event_time = GENERATE("", "out_of_order: 0s");
  for (const char* split : {"s0", "s1"}) world().scripts["a"].splits[split].ends = false;
  add_own("s0", "a", 1000);
  add_own("s1", "b", 500);
  add_own("s1", "c", place.clock.now_ms() + 86'400'001);
  TestJob job(place, own_source(event_time) + kChain);
  job.start();
  REQUIRE(job.wait_for([] { return world().told["h"].watermarks[0] == std::vector<int64_t>{500}; }));
  place.clock.advance(29'000);
  {
    const auto guard = lock();
    add_own("s0", "a", 2000);
  }
  REQUIRE(job.wait_for([] { return written("out").size() == 3; }));
  place.clock.advance(2'000);  // s1 is silent for 31 s
  REQUIRE(job.wait_for([] { return world().told["h"].watermarks[0] == std::vector<int64_t>{500, 2000}; }));
  place.clock.advance(31'000);
  REQUIRE(job.wait_for([] { return !world().told["h"].idle[0].empty() && world().told["h"].idle[0].back(); }));
  REQUIRE(job.stop().is_ok());
  REQUIRE(place.dead_letters().size() == 1);
  CHECK(place.dead_letters()[0].reason.find("further ahead of the clock than max_ahead (1d)") != std::string::npos);
}

TEST_CASE("a field that event_time names counts more than the source's own times") {
  Place place;
  world().scripts["a"].splits["s"].rows.push_back({timed("a", 700), "", 1000});
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a, times: true }, event_time: { field: t, format: epoch_ms } }\n" + kChain);
  world().hooks["h"].process = [](Api&, const Batch& in, Output& out) {
    const auto guard = lock();
    world().numbers["time"] = in.event_time(0);
    out.forward(0);
    return Status::ok();
  };
  REQUIRE(job.run().is_ok());
  CHECK(world().numbers["time"] == 700);
}

TEST_CASE("a time in ms where seconds are expected is named as such") {
  Place place;
  world().scripts["a"].add("s", timed("a", 1699286402));
  world().scripts["a"].add("s", timed("b", 1699286402123));
  world().hooks["h"].process = split_late;
  TestJob job(place, "  - { id: src, use: test.source, with: { script: a }, event_time: { field: t, format: epoch_s } }\n" + kLate);
  REQUIRE(job.run().is_ok());
  const auto letters = place.dead_letters();
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].reason == "event time: field \"t\" holds \"1699286402123\", expected format epoch_s; it looks like epoch_ms");
}

TEST_CASE("timers fire with the watermark and with the clock") {
  Place place;
  world().scripts["a"].add("s", timed("a", 1000));
  world().scripts["a"].add("s", timed("b", 5000));
  world().scripts["a"].splits["s"].ends = false;
  world().hooks["h"].process = [](Api& api, const Batch& in, Output&) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r) {
      SLUICE_CHECK_OK(api.set_timer(SLUICE_CLOCK_EVENT, in.key(r), in.event_time(r) + 100, 7));
      SLUICE_CHECK_OK(api.set_timer(SLUICE_CLOCK_PROCESSING, in.key(r), 1'700'000'000'000 + in.event_time(r), 8));
    }
    return Status::ok();
  };
  world().hooks["h"].on_timer = [](Api&, uint32_t clock, std::string_view key, int64_t at, uint64_t tag, Output& out) {
    const std::string id = std::string(key) + (clock == SLUICE_CLOCK_EVENT ? "-event-" : "-clock-") + std::to_string(at % 100000) + "-" + std::to_string(tag);
    out.emit(SLUICE_NO_ROW).set("id", Value::string(out.keep(id)));
    return Status::ok();
  };
  TestJob job(place, source("0s") + "  - { id: h, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: h }\n");
  job.start();
  REQUIRE(job.wait_for([] { return table("out").count("a-event-1100-7") == 1; }));
  CHECK(table("out").size() == 1);
  place.clock.advance(1000);
  REQUIRE(job.wait_for([] { return table("out").count("a-clock-1000-8") == 1; }));
  CHECK(table("out").size() == 2);
  {
    const auto guard = lock();
    world().scripts["a"].splits["s"].ends = true;
  }
  REQUIRE(job.wait().is_ok());
  CHECK(table("out").count("b-event-5100-7") == 1);
  CHECK(table("out").count("b-clock-5000-8") == 0);  // the clock has not come that far
}

// The end of the input makes `timers` due at once, each of which gives a row; the sink takes them when "open" is 1.
const std::string kManyTimers = source("0s") + "  - { id: h, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: h, parallelism: 2 }\n";
void many_timers(int timers) {
  world().scripts["a"].add("s", timed("a", 1000));
  world().hooks["h"].process = [timers](Api& api, const Batch& in, Output&) -> Status {
    for (int i = 0; i < timers; ++i) SLUICE_CHECK_OK(api.set_timer(SLUICE_CLOCK_EVENT, in.key(0), in.event_time(0) + 1 + i, 0));
    return Status::ok();
  };
  world().hooks["h"].on_timer = [](Api&, uint32_t, std::string_view, int64_t at, uint64_t, Output& out) {
    out.emit(SLUICE_NO_ROW).set("id", Value::string(out.keep(std::to_string(at))));
    const auto guard = lock();
    ++world().numbers["fired"];
    world().changed();
    return Status::ok();
  };
  world().sinks["out"].on_write = [](uint32_t, const Batch&, uint32_t* consumed) {
    const auto guard = lock();
    *consumed = 0;
    return world().numbers["open"] == 1 ? Status::ok() : Status::retry("closed", 5);
  };
}

TEST_CASE("timers that one watermark makes due wait for room below") {
  constexpr int kTimers = 200;
  Place place;
  many_timers(kTimers);
  TestJob job(place, kManyTimers);
  job.start();
  REQUIRE(job.wait_for([] { return world().numbers["fired"] > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  {
    const auto guard = lock();
    CHECK(world().numbers["fired"] <= 6);  // what one channel holds, and one in the sink
    world().numbers["open"] = 1;
  }
  REQUIRE(job.wait().is_ok());
  CHECK(world().numbers["fired"] == kTimers);
  CHECK(table("out").size() == kTimers);
}

TEST_CASE("a job that is cut off does not wait for room below") {
  Place place;
  many_timers(50);
  TestJob job(place, kManyTimers);
  job.start();
  REQUIRE(job.wait_for([] { return world().numbers["fired"] > 4; }));
  job.job().request_stop();
  job.job().request_stop();
  const auto end = job.wait();
  CHECK(end.status().code() == base::Code::kCancelled);
}

TEST_CASE("splits that another lane reads after a restart find no later time than before") {
  Place place;
  auto& splits = world().scripts["a"].splits;
  world().hooks["h"].process = split_late;
  Settings two;
  two.parallelism = 2;
  for (int64_t i = 0; i < 2; ++i) {
    const std::string split(1, static_cast<char>('s' + i));
    world().scripts["a"].add(split, timed(split, i == 0 ? 10'000 : 100));
    splits[split].ordinal = i;
    splits[split].ends = false;
  }
  {
    TestJob job(place, source("0s") + kLate, two);
    job.start();
    REQUIRE(job.wait_for([] { return written("out").size() == 2; }));
    REQUIRE(job.stop().is_ok());
  }
  const bool moved = GENERATE(true, false);
  CAPTURE(moved);
  for (int64_t i = 0; i < 2; ++i) {
    const std::string split(1, static_cast<char>('s' + i));
    world().scripts["a"].add(split, timed(split + "2", i == 0 ? 9'000 : 200));
    splits[split].ordinal = moved ? i + 1 : i;
    splits[split].ends = true;
  }
  TestJob again(place, source("0s") + kLate, two);
  REQUIRE(again.run().is_ok());
  CHECK(table("out").contains("t2"));
  CHECK(table(moved ? "out" : "late").contains("s2"));  // it is behind its own split, where nothing is promised
}

TEST_CASE("a run that is given more after the end: time goes on from where the rows were, and timers can wait for it") {
  Place place;
  auto& script = world().scripts["a"];
  script.add("s", timed("a", 1000));
  world().numbers["first run"] = 1;
  world().hooks["h"].process = [](Api& api, const Batch& in, Output& out) -> Status {
    for (uint32_t r = 0; r < in.size(); ++r) {
      if (in.event_time(r) >= in.watermark(r)) SLUICE_CHECK_OK(api.set_timer(SLUICE_CLOCK_EVENT, "all", in.event_time(r) + 500, 7));
      else out.emit(r).set("id", Value::string(out.keep("late-" + std::to_string(in.event_time(r)))));
    }
    return Status::ok();
  };
  world().hooks["h"].on_timer = [](Api& api, uint32_t clock, std::string_view key, int64_t at, uint64_t tag, Output& out) {
    out.emit(SLUICE_NO_ROW).set("id", Value::string(out.keep("fires-" + std::to_string(at))));
    const auto guard = lock();
    return world().numbers["first run"] == 1 ? api.set_timer(clock, key, at, tag) : Status::ok();
  };
  const std::string graph = source("0s") + "  - { id: h, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: h }\n";
  const auto came = [] {
    std::string all;
    for (const Written& w : world().sinks["out"].log) all += w.json + " ";
    return all;
  };
  REQUIRE(TestJob(place, graph).run().is_ok());
  CHECK(came() == R"({"id":"fires-1500"} )");
  for (const auto& w : place.newest_checkpoint().watermarks) CHECK(w.watermark_ms == 1000);
  world().numbers["first run"] = 0;
  script.add("t", timed("b", 999));
  script.add("t", timed("c", 2000));
  REQUIRE(TestJob(place, graph).run().is_ok());
  CHECK(came() == R"({"id":"fires-1500"} {"id":"late-999"} {"id":"fires-1500"} {"id":"fires-2500"} )");
}

}  // namespace
}  // namespace sluice::runtime
