// Operators with every kind of option, so that the pages made from them can be compared whole.
#include <stdexcept>

#include "sluice/sdk.hpp"

namespace {

enum class Mode { kFast, kExact };

struct SampleConfig {
  std::string path, password;
  bool follow = false;
  int64_t rows = 0;
  double share = 0;
  std::chrono::milliseconds wait{};
  sluice::Size room;
  Mode mode = Mode::kFast;
  std::vector<std::string> fields;
  sluice::StringMap properties;
  std::string old;
};

class SampleTransform final : public sluice::Transform<SampleConfig> {
 public:
  static constexpr const char* kType = "sample.each";
  static constexpr const char* kVersion = "1.2.0";
  static constexpr const char* kSummary = "Shows | every kind of option.";
  static constexpr const char* kDoc = "\nKeeps each row.\n\nNever more than `rows`.\n";
  static sluice::Options<SampleConfig> options() {
    using sluice::opt;
    return {
        opt("properties", &SampleConfig::properties).advanced().doc("Given on as they are.").example("{ a: b }"),
        opt("path", &SampleConfig::path).required().doc("A file.").example("data/in.jsonl"),
        opt("password", &SampleConfig::password).secret().required().doc("Of the user."),
        opt("follow", &SampleConfig::follow).def("false").doc("Go on."),
        opt("rows", &SampleConfig::rows).def("1000").unit("rows").doc("At most."),
        opt("share", &SampleConfig::share).def("0.5").doc("Part of all."),
        opt("wait", &SampleConfig::wait).def("10s").doc("How long.").since("1.1.0"),
        opt("room", &SampleConfig::room).def("64MiB").doc("How much."),
        opt("mode", &SampleConfig::mode, {{"fast", Mode::kFast}, {"exact", Mode::kExact}}).def("fast").doc("How."),
        opt("fields", &SampleConfig::fields).def("[a, b]").doc("Which | of them."),
        opt("old", &SampleConfig::old).def("x").deprecated().doc("Use path."),
    };
  }
  // Finds two problems and says one more with its status, or warns, or breaks: what `path` asks for.
  sluice::Status check(sluice::Problems& problems) override {
    if (config().path == "fine") return sluice::Status::ok();
    if (config().path == "warns") {
      warn("the server is slow");
      return sluice::Status::ok();
    }
    if (config().path == "throws") throw std::runtime_error("no such thing");
    problems.add_to("path", "there is no " + config().path);
    problems.add_to("wait", "the server wants less");
    problems.add("the server is old");
    return sluice::Status::retry("connection refused");
  }
  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) out.forward(row);
    return sluice::Status::ok();
  }
};

struct NoConfig {};

class SampleSink final : public sluice::Sink<NoConfig> {
 public:
  static constexpr const char* kType = "sample.nowhere";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Forgets rows.";
  static sluice::Options<NoConfig> options() { return {}; }
  sluice::Status write(const sluice::Batch& in, uint32_t* consumed) override {
    *consumed = in.size();
    return sluice::Status::ok();
  }
};

}  // namespace

SLUICE_MODULE("sample", "2.0.0", SampleTransform, SampleSink)
