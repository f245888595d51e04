#include "observe/progress_view.h"

#include <catch2/catch.hpp>

#include "observe/terminal_text.h"
#include "sample_progress.h"

using namespace sluice::observe;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

TEST_CASE("live picture of a running job") {
  const Progress now = sample_progress(), before = earlier_progress();
  CHECK(joined(live_lines(now, &before, sample_graph(), 100, 24)) ==
        R"(购物车: running for 1m05s, 182,386 rows in (25.3k/s), 500 out
  operator       in   in/s      out  out/s  lag  rejected  watermark (UTC)
  cart      182,340  25.3k  182,337  25.3k  120         3  2022-06-01 09:00:00
  config         46      0       46      0    -            -
  dedup     182,337  25.3k      500    3.3                 2022-06-01 09:00:00
  filter        546    3.3      500    3.3                 -
  store         500    3.3                                 -
watermark 2022-06-01 09:00:00 held by cart_add-1 of cart
checkpoint 12, 4.2s ago, took 35ms, 1.2 MiB new
3 dead letters in ./dead
store: database is locked: retry in 200 ms
waiting: the watermark is held by split cart_add-1 of cart at 2022-06-01 09:00:00
)");
}

TEST_CASE("live picture without an earlier value has no rates") {
  const Progress now = sample_progress();
  CHECK(live_lines(now, nullptr, sample_graph(), 100, 24)[0] == "购物车: running for 1m05s, 182,386 rows in, 500 out");
  CHECK(live_lines(now, nullptr, sample_graph(), 100, 24)[2] ==
        "  cart      182,340     -  182,337      -  120         3  2022-06-01 09:00:00");
  // The same moment twice gives no rate either, instead of a division by nothing.
  CHECK(live_lines(now, &now, sample_graph(), 100, 24)[0] == "购物车: running for 1m05s, 182,386 rows in, 500 out");
}

TEST_CASE("a narrow terminal loses columns from the right and nothing is too wide") {
  const Progress now = sample_progress(), before = earlier_progress();
  CHECK(joined(live_lines(now, &before, sample_graph(), 40, 24)) ==
        R"(购物车: running for 1m05s, 182,386 rows…
  operator       in   in/s      out
  cart      182,340  25.3k  182,337
  config         46      0       46
  dedup     182,337  25.3k      500
  filter        546    3.3      500
  store         500    3.3
watermark 2022-06-01 09:00:00 held by c…
checkpoint 12, 4.2s ago, took 35ms, 1.2…
3 dead letters in ./dead
store: database is locked: retry in 200…
waiting: the watermark is held by split…
)");
  for (size_t width = 20; width < 120; ++width)
    for (const std::string& line : live_lines(now, &before, sample_graph(), width, 24))
      CHECK(display_width(line) <= width);
}

TEST_CASE("a low terminal shows fewer operators and says so") {
  const Progress now = sample_progress(), before = earlier_progress();
  CHECK(joined(live_lines(now, &before, sample_graph(), 100, 10)) ==
        R"(购物车: running for 1m05s, 182,386 rows in (25.3k/s), 500 out
  operator       in   in/s      out  out/s  lag  rejected  watermark (UTC)
  cart      182,340  25.3k  182,337  25.3k  120         3  2022-06-01 09:00:00
  config         46      0       46      0    -            -
  … and 3 more
watermark 2022-06-01 09:00:00 held by cart_add-1 of cart
checkpoint 12, 4.2s ago, took 35ms, 1.2 MiB new
3 dead letters in ./dead
store: database is locked: retry in 200 ms
waiting: the watermark is held by split cart_add-1 of cart at 2022-06-01 09:00:00
)");
  for (size_t height = 6; height < 30; ++height)
    CHECK(live_lines(now, &before, sample_graph(), 100, height).size() <= height);
}

TEST_CASE("a job that has just been created") {
  Progress p;
  p.pipeline = "dim";
  p.phase = "starting";
  p.started_ms = p.now_ms = kSampleStart;
  CHECK(joined(live_lines(p, nullptr, {}, 80, 24)) == "dim: starting for 0ms, 0 rows in, 0 out\nno checkpoint yet\n");
  CHECK(log_line(p, nullptr, {}) == "starting: rows in 0, out 0; no checkpoint yet");
}

TEST_CASE("log line") {
  const Progress now = sample_progress(), before = earlier_progress();
  CHECK(log_line(now, &before, sample_graph()) ==
        "running: rows in 182,386 (25.3k/s), out 500 (3.3/s), rejected 3; lag 120; "
        "watermark 2022-06-01 09:00:00 held by cart_add-1 of cart; checkpoint 12, 4.2s ago, took 35ms, 1.2 MiB new; "
        "dead letters 3; store: database is locked: retry in 200 ms; "
        "waiting: the watermark is held by split cart_add-1 of cart at 2022-06-01 09:00:00");
}

TEST_CASE("log line with a checkpoint in trouble and an error that tries to be a line of its own") {
  Progress now = sample_progress();
  now.operators[4].note.clear();
  now.waiting_for.clear();
  now.checkpoint.completed = 0;
  now.checkpoint.failed = 2;
  now.checkpoint.running = true;
  now.checkpoint.running_since_ms = now.now_ms - 61'000;
  now.checkpoint.last_error = "no space\n2022-06-01 [info] all is well";
  CHECK(log_line(now, nullptr, sample_graph()) ==
        "running: rows in 182,386, out 500, rejected 3; lag 120; watermark 2022-06-01 09:00:00 held by cart_add-1 of "
        "cart; "
        "no checkpoint yet, writing one for 1m01s, 2 failed (last: no space 2022-06-01 [info] all is well); dead "
        "letters 3");
}

TEST_CASE("a note that is given as a reason is said once") {
  Progress now = sample_progress();
  now.waiting_for = {"store: database is locked: retry in 200 ms"};
  const std::vector<std::string> lines = live_lines(now, nullptr, sample_graph(), 100, 24);
  CHECK(lines.back() == "waiting: store: database is locked: retry in 200 ms");
  CHECK(lines[lines.size() - 2] == "3 dead letters in ./dead");
}

TEST_CASE("summary") {
  Progress now = sample_progress();
  now.phase = "finished";
  now.checkpoint.restored_from = "checkpoint 3 of lineage 3f0a";
  CHECK(joined(summary_lines(now, sample_graph())) ==
        R"(购物车: finished after 1m05s: 182,386 rows in, 500 out
  operator  type                   in      out  rejected
  cart      kafka.source      182,340  182,337         3
  config    file.source            46       46
  dedup     daily_dedup       182,337      500
  filter    broadcast_filter      546      500
  store     sqlite.sink           500
cart: last error: no time in create_time
dedup: dropped_seen 181837
3 dead letters in ./dead
last checkpoint: 12; this run started from checkpoint 3 of lineage 3f0a
)");
}

TEST_CASE("who holds the watermark") {
  Progress p = sample_progress();
  REQUIRE(watermark_holder(p, "cart") != nullptr);
  CHECK(watermark_holder(p, "cart")->split == "cart_add-1");
  CHECK(watermark_holder(p, "config") == nullptr);  // has no event time at all

  p.splits[1].idle = true;  // left out of the minimum
  CHECK(watermark_holder(p, "cart")->split == "cart_add-0");
  p.splits[1].idle = false;
  p.splits[1].watermark_ms = kNoTime;  // a split without any record yet holds everybody back
  CHECK(watermark_holder(p, "cart")->split == "cart_add-1");
  CHECK(totals_of(p, sample_graph()).watermark_ms == kNoTime);
  p.splits[0].ended = p.splits[1].ended = true;
  p.operators[0].watermark_ms = kEndOfTime;
  CHECK(watermark_holder(p, "cart") == nullptr);
  CHECK(totals_of(p, sample_graph()).watermark_ms == kEndOfTime);
}
