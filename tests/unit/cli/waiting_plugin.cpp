// An operator that waits for what never comes, where it is told to: it answers RETRY, or does not return at all.
#include <unistd.h>

#include <string>

#include "sluice/sdk.hpp"

namespace {

struct WaitsConfig {
  std::string where;
};

class Waits final : public sluice::Transform<WaitsConfig> {
 public:
  static constexpr const char* kType = "test.waits";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Waits for ever.";
  static sluice::Options<WaitsConfig> options() { return {sluice::opt("where", &WaitsConfig::where).required().doc("open, process, hangs.")}; }
  sluice::Status open() override { return config().where == "open" ? sluice::Status::retry("nobody is there", 10) : sluice::Status::ok(); }
  sluice::Status process(const sluice::Batch&, sluice::Output&) override {
    if (config().where == "hangs") {
      warn("hanging");
      for (;;) ::pause();
    }
    return sluice::Status::retry("nobody is there", 10);
  }
};

}  // namespace

SLUICE_MODULE("test-waits", "1.0.0", Waits)
