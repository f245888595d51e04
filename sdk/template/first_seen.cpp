#include <sluice/sdk.hpp>

struct FirstSeenConfig {
  std::chrono::milliseconds ttl{};
};

class FirstSeen final : public sluice::Transform<FirstSeenConfig> {
 public:
  static constexpr const char* kType = "acme.first_seen";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Lets the first row of each key through, once per time to live.";
  static constexpr uint32_t kFlags = SLUICE_OP_KEYED;

  static sluice::Options<FirstSeenConfig> options() {
    return {sluice::opt("ttl", &FirstSeenConfig::ttl).def("1d").doc("How long a key counts as seen.")};
  }

  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      bool seen = false;
      int64_t since = 0;
      SLUICE_CHECK_OK(seen_.get(in.key(row), &seen, &since));
      if (seen) {
        count("repeated");
        continue;
      }
      SLUICE_CHECK_OK(seen_.put(in.key(row), now()));
      out.forward(row);
    }
    return sluice::Status::ok();
  }

 private:
  sluice::ValueState<int64_t> seen_{this, "seen", sluice::StateOptions().ttl("ttl")};
};

SLUICE_MODULE("acme-first-seen", "1.0.0", FirstSeen)
