// Ends a process at every failpoint of the checkpoint layer, at several passings each, and looks at what the next
// finds.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/failpoint.h"
#include "store_fixture.h"

using namespace sluice;
using namespace sluice::checkpoint;

namespace {

constexpr int kEpochs = 4;

// A run of the job: restores the newest checkpoint, takes one for each epoch that is left.
void run(const std::string& dir, int epochs = kEpochs) {
  StoreOptions options;
  options.keep = 1;
  auto store = must(CheckpointStore::open(dir + "/store", options));
  const Manifest latest = must(store->latest());
  Job job(dir + "/work" + std::to_string(::getpid()), *store);
  int epoch = 0;
  if (latest.number == 0) {
    job.start();
  } else {
    job.restore(latest);
    epoch = job.epoch();
  }
  while (epoch < epochs) {
    job.write(++epoch);
    must(job.checkpoint());
    must(store->retention_status());
  }
}

// Another process, so that the failpoint is armed when it is loaded. Returns its exit code.
int run_in_child(const std::string& dir, const std::string& failpoint) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SLUICE_FAILPOINT", failpoint.c_str(), 1);
    ::setenv("SLUICE_TEST_KILL_DIR", dir.c_str(), 1);
    ::execl("/proc/self/exe", "checkpoint_test", "[.run-of-a-killed-process]", static_cast<char*>(nullptr));
    ::_exit(99);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// With and without a checkpoint before the one that is cut off.
std::vector<int> passings(const std::string& failpoint) {
  if (failpoint == "checkpoint.in_cleanup") return {1};
  if (failpoint == "checkpoint.in_files") return {1, 7, 20};
  return {2};
}

}  // namespace

TEST_CASE("the process that is killed", "[.run-of-a-killed-process]") {
  const char* dir = ::getenv("SLUICE_TEST_KILL_DIR");
  REQUIRE(dir != nullptr);
  run(dir);
}

// RS-01
TEST_CASE("a process killed at any failpoint leaves a newest checkpoint that can be restored") {
  std::vector<std::string> names;
  for (const std::string& name : base::failpoint_names()) {
    if (name.rfind("checkpoint.", 0) == 0) names.push_back(name);
  }
  CHECK(names.size() >= 10);
  for (const std::string& name : names) {
    for (const int passing : passings(name)) {
      CAPTURE(name, passing);
      sluice::tests::TempFolder dir;
      uint64_t last_number = 0;
      if (name == "checkpoint.in_cleanup") {  // needs something to clean up
        REQUIRE(run_in_child(dir.path(), "checkpoint.after_manifest") == 137);
      }
      REQUIRE(run_in_child(dir.path(), name + ":" + std::to_string(passing)) == 137);
      {
        // What is there before anybody cleans up.
        auto reader = must(CheckpointStore::open_read_only(dir / "store"));
        for (const CheckpointInfo& info : reader->list()) {
          CHECK(info.health != CheckpointHealth::kDamaged);
          last_number = std::max(last_number, info.number);
          if (info.health == CheckpointHealth::kComplete) CHECK(must(reader->verify(info.number)).is_ok());
        }
        const Manifest latest = must(reader->latest());
        if (!complete_numbers(*reader).empty()) CHECK(latest.number == complete_numbers(*reader).back());
      }
      {
        auto store = must(CheckpointStore::open(dir / "store"));
        const Manifest latest = must(store->latest());
        CHECK(store->list().size() == complete_numbers(*store).size());  // leftovers are gone
        must(store->begin_run(latest.number != 0 ? &latest : nullptr));
        CHECK(must(store->reserve_number()) > last_number);
      }
      run(dir.path(), kEpochs + 1);  // goes on to the end
      auto store = must(CheckpointStore::open(dir / "store"));
      const Manifest latest = must(store->latest());
      Job job(dir / "final", *store);
      job.restore(latest);
      CHECK(job.epoch() == kEpochs + 1);
      CHECK(complete_numbers(*store).size() == 1);
      std::set<std::string> shared;
      for (const ManifestLane& lane : latest.lanes) {
        for (const ManifestFile& file : lane.files) {
          if (file.name.ends_with(".sst")) shared.insert(file.sha256);
        }
      }
      CHECK(files_in(dir / "store/shared") == shared.size());
    }
  }
}
