// Any test framework will do; this one is a function.
#include <cstdio>
#include <cstdlib>

#include <sluice/testing/harness.hpp>

#include "first_seen.cpp"

static void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::exit(1);
}

int main() {
  sluice::testing::Harness<FirstSeen> h("ttl: 1h");
  h.open();

  h.push(R"({"user": "ann", "order": 1})", {"ann"});
  h.push(R"({"user": "bob", "order": 2})", {"bob"});
  h.push(R"({"user": "ann", "order": 3})", {"ann"});
  expect(h.pull_json() == std::vector<std::string>{R"({"user": "ann", "order": 1})", R"({"user": "bob", "order": 2})"}, "once for each key");
  expect(h.counter("repeated") == 1, "the other one is counted");

  // State is what was in the last checkpoint.
  h.checkpoint();
  h.push(R"({"user": "eve", "order": 4})", {"eve"});
  h.crash();
  h.restore();
  h.push(R"({"user": "ann", "order": 5})", {"ann"});
  h.push(R"({"user": "eve", "order": 4})", {"eve"});
  expect(h.pull_json() == std::vector<std::string>{R"({"user": "eve", "order": 4})"}, "after a crash");

  // The clock moves when the test says so.
  h.advance(60 * 60 * 1000);
  h.push(R"({"user": "ann", "order": 6})", {"ann"});
  expect(h.pull().size() == 1, "after the time to live");
  return 0;
}
