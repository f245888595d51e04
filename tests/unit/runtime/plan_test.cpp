// Where the graph is cut and who talks to whom.
#include "test_world.h"

namespace sluice::runtime {
namespace {

using namespace testing;

std::string plan(const std::string& operators, int parallelism) {
  Place place;
  Settings s;
  s.parallelism = parallelism;
  return TestJob(place, operators, s).job().describe_plan();
}
const std::string kSource = "  - { id: src, use: test.source, with: { script: a } }\n";

TEST_CASE("without a key everything is one chain in each lane") {
  CHECK(plan(kSource + "  - { id: h, use: test.hook, input: src }\n  - { id: out, use: test.upsert, input: h }\n", 2) ==
        "stage 1, 2 lanes:\n  src (test.source)\n  h (test.hook)\n  out (test.upsert)\n");
}
TEST_CASE("a key cuts, unless there is one lane") {
  const std::string operators = kSource + "  - { id: c, use: test.state, key: id, input: src }\n  - { id: out, use: test.upsert, input: c }\n";
  CHECK(plan(operators, 2) ==
        "stage 1, 2 lanes:\n  src (test.source)\nstage 2, 2 lanes:\n  c (test.state)\n    from src (by key)\n  out (test.upsert)\n");
  CHECK(plan(operators, 1) == "stage 1, 1 lane:\n  src (test.source)\n  c (test.state)\n  out (test.upsert)\n");
}
TEST_CASE("a union and another number of lanes cut") {
  CHECK(plan(kSource + "  - { id: b, use: test.source, with: { script: b } }\n  - { id: out, use: test.upsert, input: [src, b] }\n", 1) ==
        "stage 1, 1 lane:\n  src (test.source)\nstage 2, 1 lane:\n  b (test.source)\nstage 3, 1 lane:\n  out (test.upsert)\n    from src (forward)\n"
        "    from b (forward)\n");
  CHECK(plan(kSource + "  - { id: out, use: test.upsert, input: src, parallelism: 1 }\n", 2) ==
        "stage 1, 2 lanes:\n  src (test.source)\nstage 2, 1 lane:\n  out (test.upsert)\n    from src (forward)\n");
}
TEST_CASE("two phases with more than one lane, one without") {
  const std::string operators = kSource + "  - { id: w, use: test.phases, input: src }\n  - { id: out, use: test.upsert, input: w }\n  - { id: late, use: test.upsert, input: w.late }\n";
  CHECK(plan(operators, 2) ==
        "stage 1, 2 lanes:\n  src (test.source)\n  w (test.phases, first phase)\n"
        "stage 2, 1 lane:\n  w (test.phases, second phase)\n    from w (forward)\n  out (test.upsert)\n"
        "stage 3, 1 lane:\n  late (test.upsert)\n    from w (forward)\n    from w (forward)\n");
  CHECK(plan(operators, 1) == "stage 1, 1 lane:\n  src (test.source)\n  w (test.phases)\n  out (test.upsert)\n  late (test.upsert)\n");
}
TEST_CASE("the broadcast side runs in one lane") {
  CHECK(plan(kSource + "  - { id: conf, use: test.source, with: { script: c } }\n  - { id: f, use: test.rules, input: src, broadcast: conf }\n"
                       "  - { id: out, use: test.upsert, input: f }\n", 3) ==
        "stage 1, 3 lanes:\n  src (test.source)\n  f (test.rules)\n    from conf (broadcast)\n  out (test.upsert)\nstage 2, 1 lane:\n  conf (test.source)\n");
}

}  // namespace
}  // namespace sluice::runtime
