// An operator that keeps what it was handed: each row says the payload of the row before it, read from memory that is no
// longer its own when that row was in an earlier call.
#include "sluice/sdk.hpp"

namespace {

struct Config {};

class KeepsView final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.keeps_view";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Keeps views of its input.";
  static sluice::Options<Config> options() { return {}; }

  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      out.emit(row).set("previous", sluice::Value::string(kept_));
      kept_ = in.payload(row);
    }
    return sluice::Status::ok();
  }

 private:
  std::string_view kept_;
};

}  // namespace

SLUICE_MODULE("bad-keeps-view", "1.0.0", KeepsView)
