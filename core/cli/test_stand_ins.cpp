#include "cli/test_stand_ins.h"

#include "sluice/sdk.hpp"

namespace sluice::cli {
namespace {

TestWorld* current = nullptr;

struct NoOptions {};

class TestSource final : public Source<NoOptions> {
 public:
  static constexpr const char* kType = kTestSource;
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Gives the rows of a test.";
  static Options<NoOptions> options() { return {}; }

  Status configure(Needs& needs) override {
    const std::lock_guard lock(current->mutex);
    timed_ = current->sources[std::string(id())].timed;
    if (timed_) needs.gives_event_time();
    return Status::ok();
  }
  Status discover(std::vector<Split>* splits) override {
    splits->push_back({"test", 0});
    return Status::ok();
  }
  Status assign(const std::vector<AssignedSplit>& splits) override {
    for (const AssignedSplit& split : splits) {
      split_ = split.index;
      assigned_ = true;
      move_position(split_, "0");
    }
    return Status::ok();
  }
  Status poll(uint32_t max_rows) override {
    if (!assigned_) return Status::ok();
    const std::lock_guard lock(current->mutex);
    TestWorld::Source& source = current->sources[std::string(id())];
    for (; max_rows > 0 && source.given < source.released; --max_rows) {
      const std::optional<std::string>& row = source.rows[source.given++];
      SLUICE_CHECK_OK(emit(split_, row ? std::string_view(*row) : std::string_view(), std::to_string(source.given), {},
                           timed_ ? now() : SLUICE_NO_TIME));
    }
    uint32_t flags = 0;
    if (source.given >= source.snapshot) flags |= SLUICE_SPLIT_SNAPSHOT_COMPLETE;
    if (source.given == source.released) flags |= SLUICE_SPLIT_CAUGHT_UP;
    if (current->all_released && source.given == source.rows.size()) flags |= SLUICE_SPLIT_END;
    split_status(split_, flags);
    return Status::ok();
  }
  std::string describe_position(std::string_view, std::string_view position) override { return "row " + std::string(position); }

 private:
  uint32_t split_ = 0;
  bool assigned_ = false, timed_ = false;
};

class TestSink final : public Sink<NoOptions> {
 public:
  static constexpr const char* kType = kTestSink;
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Keeps the rows of a test.";
  static constexpr uint32_t kFlags = SLUICE_OP_KEY_OPTIONAL;
  static Options<NoOptions> options() { return {}; }

  Status configure(Needs& needs) override {
    needs.body();
    return Status::ok();
  }
  Status write(const Batch& in, uint32_t*) override {
    const std::lock_guard lock(current->mutex);
    for (uint32_t row = 0; row < in.size(); ++row) {
      std::string_view json;
      if (Status s = in.json(row, &json); s.is_ok()) {
        current->sinks[std::string(id())].emplace_back(json);
      } else {
        if (s.code() != SLUICE_BAD_RECORD) return s;
        SLUICE_CHECK_OK(reject(row, s.message()));
      }
    }
    return Status::ok();
  }
};

}  // namespace

void use_test_world(TestWorld* world) { current = world; }

base::Status add_test_stand_ins(plugin::PluginRegistry& registry) {
  return registry.add_module("(sluice test)", detail::module<TestSource, TestSink>("sluice-test", "1.0.0", ""));
}

}  // namespace sluice::cli
