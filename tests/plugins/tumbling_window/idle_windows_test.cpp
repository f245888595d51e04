#include <catch2/catch.hpp>

#include "window_harness.h"

using namespace window_test;

namespace {

constexpr const char* kIdle =
    "{size: 10s, aggregates: {n: count}, time_format: epoch_ms, close_windows_when_idle: 30s}";

}  // namespace

TEST_CASE("without the option idle sources close nothing") {
  Harness h(kCount);
  h.open();
  h.set_now(at(100));
  h.push_batch({row(0)});
  h.idle(at(0));
  CHECK(h.pull().empty());
}

TEST_CASE("idle sources close windows on the wall clock") {
  Harness h(kIdle);
  h.open();
  h.set_now(at(5));
  h.push_batch({row(0), row(4), row(12)});
  h.idle(at(5));
  h.set_now(at(36));  // idle for 31 s, but 26 s past the end of the first window
  h.idle(at(5));
  CHECK(h.pull().empty());
  h.set_now(at(40));
  h.idle(at(5));
  CHECK(h.pull_json() == Texts{result(0, 2, at(40))});
  h.set_now(at(45));
  h.idle(at(5));
  CHECK(h.pull().empty());
  h.set_now(at(50));
  h.idle(at(5));
  CHECK(h.pull_json() == Texts{result(10, 1, at(50))});
  CHECK(h.counter("closed_when_idle") == 2);
  h.busy();
  h.watermark(SLUICE_END_OF_TIME);  // nothing has come since: no second result
  CHECK(h.pull().empty());
}

TEST_CASE("old data closes as soon as the sources have been idle for long enough") {
  Harness h(kIdle);
  h.open();
  h.set_now(at(1000000));
  h.push_batch({row(0)});
  h.idle(at(1000000) - 29999);
  CHECK(h.pull().empty());
  h.idle(at(1000000) - 30000);
  CHECK(h.pull().size() == 1);
}

TEST_CASE("a row that comes after all corrects the result, with a larger version even when the clock was set back") {
  Harness h(kIdle);
  h.open();
  h.set_now(at(100));
  h.push_batch({row(0)});
  h.idle(at(50));
  CHECK(h.pull_json() == Texts{result(0, 1, at(100))});
  h.busy();
  h.set_now(at(20));
  h.push_batch({row_after(9, 3)});  // the watermark has not passed: it is not late
  h.watermark(at(10));
  CHECK(h.pull_json() == Texts{result(0, 2, at(100) + 1)});
  CHECK(h.counter("corrections") == 1);
  CHECK(h.counter("late_dropped") == 0);
  h.push_batch({row(3)});
  CHECK(h.counter("late_dropped") == 1);
}

TEST_CASE("a corrected window is closed again when the sources are idle again") {
  Harness h(kIdle);
  h.open();
  h.set_now(at(100));
  h.push_batch({row(0)});
  h.idle(at(50));
  h.busy();
  h.push_batch({row(1)});
  h.idle(at(100));
  h.set_now(at(131));
  h.idle(at(101));
  CHECK(h.pull_json() == Texts{result(0, 1, at(100)), result(0, 2, at(131))});
}

TEST_CASE("the version is in the checkpoint") {
  Harness h(kIdle);
  h.open();
  h.set_now(at(100));
  h.push_batch({row(0)});
  h.idle(at(50));
  CHECK(h.pull().size() == 1);
  h.checkpoint();
  h.crash();
  h.set_now(at(30));
  h.restore();
  h.watermark(at(9));
  h.push_batch({row(1)});
  h.watermark(at(10));
  CHECK(h.pull_json() == Texts{result(0, 2, at(100) + 1)});
  h.checkpoint();
  CHECK(h.state_size("windows") == 0);
}
