// sluice/testing/harness.hpp - runs one operator instance without an engine: options as in YAML, a manual clock, rows
// in, rows out, watermarks, timers, state, and a crash whenever the test wants one. Header-only, standard library only;
// works with any test framework.
//
//   sluice::testing::Harness<FirstSeen> h(R"({"ttl": "1d"})");
//   h.open();
//   h.push(R"({"user": 7})", {"7"});       // {key, event_time, change, …}: see RowMeta
//   assert(h.pull_json() == std::vector<std::string>{R"({"user": 7})"});
//   h.checkpoint(); h.crash(); h.restore();
//   h.push(R"({"user": 7})", {"7"});
//   assert(h.pull().empty());
//
// What goes wrong is an exception: OptionError (the options do not fit), Failure (the operator answered something else
// than OK; the try_… functions give the Status instead), ContractBreach (the operator broke a rule of sluice/abi.h:
// views kept, foreign threads, rows out of range, …), HarnessError (the test asks for what cannot be).
//
// Like the real host: a row whose structure is broken, or that is no JSON object, is rejected before the operator sees
// it, and one that is forwarded must be valid throughout; rows of an epoch sink are kept and given to it at commit();
// output of a transform's call that did not return OK is discarded.
#pragma once
#include "sluice/module.hpp"
#include "sluice/testing/operator_harness.hpp"

namespace sluice::testing {

// The harness for an operator class. Not thread-safe, except for what operators do on their own threads.
template <class Op>
class Harness : public OperatorHarness {
 public:
  explicit Harness(std::string_view options = "") : OperatorHarness(detail::Binding<Op>::desc(), options) {}
};

}  // namespace sluice::testing
