// An operator of the SDK that throws where it is told to.
#include <stdexcept>
#include <string>

#include "sluice/sdk.hpp"

namespace {

struct Config {
  std::string where;
  bool odd_type = false;
};

class Throws final : public sluice::Transform<Config> {
 public:
  static constexpr const char* kType = "test.throws";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Throws.";
  static sluice::Options<Config> options() {
    return {sluice::opt("where", &Config::where).required().doc("configure, open, process, timer, close."),
            sluice::opt("odd_type", &Config::odd_type).def("false").doc("Throw something that is no std::exception.")};
  }
  sluice::Status configure(sluice::Needs&) override { return at("configure"); }
  sluice::Status open() override { return at("open"); }
  sluice::Status close() override { return at("close"); }
  sluice::Status process(const sluice::Batch& in, sluice::Output&) override {
    SLUICE_CHECK_OK(set_timer(SLUICE_CLOCK_PROCESSING, in.key(0), now()));
    return at("process");
  }
  sluice::Status on_timer(uint32_t, std::string_view, int64_t, uint64_t, sluice::Output&) override { return at("timer"); }

 private:
  sluice::Status at(const std::string& place) const {
    if (config().where != place) return sluice::Status::ok();
    if (config().odd_type) throw 42;
    throw std::runtime_error("author forgot a case in " + place);
  }
};

}  // namespace

SLUICE_MODULE("bad-throws", "1.0.0", Throws)
