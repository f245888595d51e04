// Compiles without, and must not compile with each of the faults that the test defines.
#include <sluice/sdk.hpp>

namespace {

struct Config {
  int64_t limit = 0;
};

class Op final : public sluice::Transform<Config> {
 public:
#ifndef WITHOUT_TYPE
  static constexpr const char* kType = "acme.op";
#endif
#ifndef WITHOUT_VERSION
  static constexpr const char* kVersion = "1.0.0";
#endif
  static constexpr const char* kSummary = "Does nothing.";
#ifndef WITHOUT_OPTIONS
  static sluice::Options<Config> options() { return {sluice::opt("limit", &Config::limit).def("1")}; }
#endif
  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    static_cast<void>(in);
#ifdef IGNORED_STATUS
    out.reject(0, "no");
    return sluice::Status::ok();
#else
    return out.reject(0, "no");
#endif
  }
};

}  // namespace

SLUICE_MODULE("acme", "1.0.0", Op)
