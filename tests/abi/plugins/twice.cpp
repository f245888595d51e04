// Built into two libraries that declare the same operator.
#include "sluice/sdk.hpp"

namespace {

struct Config {};

class Twice final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.twice";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Passes every row on.";
  static sluice::Options<Config> options() { return {}; }
  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) out.forward(row);
    return sluice::Status::ok();
  }
};

}  // namespace

SLUICE_MODULE("twice", "1.0.0", Twice)
