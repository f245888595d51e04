// The source and the sink that stand in for those of a pipeline while it is tested.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plugin/registry.h"

namespace sluice::cli {

inline constexpr const char* kTestSource = "sluice.test.source";
inline constexpr const char* kTestSink = "sluice.test.sink";

// What the stand-ins of one run read and write, by operator id. One at a time for the process.
struct TestWorld {
  struct Source {
    std::vector<std::optional<std::string>> rows;  // of all steps
    size_t released = 0;                           // so many may be given
    size_t snapshot = 0;                           // so many are the snapshot
    size_t given = 0;
    bool timed = false;                            // the source that it stands for gives event times: the clock's
  };
  std::mutex mutex;  // of everything here
  std::map<std::string, Source> sources;
  std::map<std::string, std::vector<std::string>> sinks;  // JSON of each row
  bool all_released = false;                              // behind the last row is the end
};

// For the stand-ins that are made from now on. Null: none run.
void use_test_world(TestWorld* world);
base::Status add_test_stand_ins(plugin::PluginRegistry& registry);

}  // namespace sluice::cli
