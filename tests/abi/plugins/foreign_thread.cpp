// An operator that uses its context from a thread of its own.
#include <string>
#include <thread>

#include "sluice/sdk.hpp"

namespace {

struct Config {
  std::string call;
};

class ForeignThread final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.foreign_thread";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Calls the host from a thread of its own.";
  static constexpr uint32_t kFlags = SLUICE_OP_KEYED;
  static sluice::Options<Config> options() {
    return {sluice::opt("call", &Config::call).required().doc("state, emit: forbidden. wake: allowed.")};
  }

  sluice::Status process(const sluice::Batch& in, sluice::Output&) override {
    sluice::Status answer;
    std::thread([&] {
      if (config().call == "wake") {
        context()->wake(context());
        count("woken");
      } else if (config().call == "state") {
        answer = seen_.put(in.key(0), 1);
      } else {
        sluice::Output out = output();
        out.emit(0).set("from", sluice::Value::string("thread"));
        answer = out.flush();
      }
    }).join();
    return answer;
  }

 private:
  sluice::ValueState<int64_t> seen_{this, "seen"};
};

}  // namespace

SLUICE_MODULE("bad-foreign-thread", "1.0.0", ForeignThread)
