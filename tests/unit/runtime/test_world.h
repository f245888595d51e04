// Sources, sinks and operators for tests of running jobs. What they read and what they wrote is in static memory: it is
// the outside world, which survives the crash of a job.
//
//   test.source   reads a script: splits of rows, replayable from any position; with `times: true` rows have times of their own
//   test.upsert   writes at once, by the field `id`
//   test.epoch    writes between epoch_begin() and commit(), with a marker
//   test.hook     forwards every row, unless the test gives it something else to do
//   test.state    the same, with state and timers
//   test.rules    the same, with a broadcast side
//   test.phases   the same, in two phases
//   test.seen     forwards the first row of each key, per time to live
//   test.format   test.seen without a time to live, whose state says numbers["compat"] as the oldest readable format
#pragma once
#include <catch2/catch.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "checkpoint/manifest.h"
#include "config/pipeline_document.h"
#include "plugin/registry.h"
#include "runtime/job.h"
#include "sluice/sdk.hpp"
#include "../../support/temp_folder.h"

namespace sluice::runtime::testing {

// ---- the outside world ---------------------------------------------------------------------------------

struct ScriptRow {
  std::optional<std::string> payload;  // none: a tombstone
  std::string key;
  int64_t time = SLUICE_NO_TIME;  // as the source gives it; test.source with `times: true`
};
struct ScriptSplit {
  std::vector<ScriptRow> rows;
  int64_t ordinal = -1;
  size_t released = SIZE_MAX;  // rows that there are for now
  bool ends = true;            // behind its last row
};
struct Script {
  std::map<std::string, ScriptSplit> splits;
  bool begins_snapshot = false;
  size_t begins_again = 0;  // how often the snapshot begins anew while it runs, from the first row
  std::function<Status()> on_discover, on_assign, on_poll;
  bool emits_when_assigned = false;
  std::function<std::string(const std::string& payload)> refuses;  // a reason: the source itself rejects the row
  std::vector<std::string> assigned;  // "split from position", "… from start", "… from its beginning", in order

  void add(const std::string& split, const std::string& payload, const std::string& key = "") {
    splits[split].rows.push_back({payload, key});
  }
};

struct Written {
  uint32_t lane = 0;
  std::string json, key;
};
struct SinkWorld {
  std::vector<Written> log;                  // every row, in the order of writing
  std::map<std::string, std::string> table;  // test.upsert: by `id`
  std::vector<std::string> committed;        // test.epoch
  struct Marker {
    std::string lineage;
    uint64_t checkpoint = 0;
  };
  std::map<uint32_t, Marker> markers;        // test.epoch: by lane
  // test.epoch: the rows of each commit that was tried, by lineage/lane/checkpoint, and how many attempts had others.
  std::map<std::string, std::vector<std::string>> tried;
  int tried_with_others = 0;
  std::vector<uint64_t> prepared, commits;
  // Called before the work is done, without the world's lock; anything but OK is what the host gets.
  std::function<Status(uint32_t lane, const Batch&, uint32_t* consumed)> on_write;
  std::function<Status()> on_open;
  std::function<Status(uint64_t checkpoint)> on_prepare, on_commit;
  std::function<Status(uint64_t checkpoint)> after_commit;  // its rows are in the target
  std::function<Status()> on_last_committed;
  std::function<std::string(const std::string& json)> refuses;  // a reason: the row is rejected
  bool refuses_late = false;                                    // test.epoch: only in commit()
};

struct Api {
  uint32_t lane, lanes, role;
  const sluice_context* context;
  ValueState<int64_t>* value = nullptr;
  MapState<std::string>* map = nullptr;
  OperatorState<int64_t>* shared = nullptr;
  BroadcastState<std::string>* rules = nullptr;
  const std::vector<Field>* fields = nullptr;
  const std::vector<Field>* broadcast_fields = nullptr;
  std::function<Status(uint32_t clock, std::string_view key, int64_t at, uint64_t tag)> set_timer;
};
struct Hooks {
  std::function<Status(Api&, const Batch&, Output&)> process, broadcast;
  std::function<Status(Api&, int64_t, Output&)> on_watermark;
  std::function<Status(Api&, uint32_t clock, std::string_view key, int64_t at, uint64_t tag, Output&)> on_timer;
  std::function<Status(Api&, bool idle, int64_t since)> on_idle;
  std::function<Status(Api&, uint32_t marker)> on_marker;
};
// What an operator was told, by lane.
struct Told {
  std::map<uint32_t, std::vector<int64_t>> watermarks;
  std::map<uint32_t, std::vector<bool>> idle;
  std::map<uint32_t, uint64_t> rows;
};

// Thread-safe by its lock: take it to look at or change anything.
class World {
 public:
  std::recursive_mutex mutex;
  std::map<std::string, Script> scripts;
  std::map<std::string, SinkWorld> sinks;
  std::map<std::string, Hooks> hooks;  // by operator id; set before the job starts
  std::map<std::string, Told> told;
  std::map<std::string, int64_t> numbers;  // whatever a test counts

  void reset();
  void changed() { changed_.notify_all(); }
  // Until `condition` holds; called with the lock. False after a minute.
  bool wait(const std::function<bool()>& condition);

 private:
  std::condition_variable_any changed_;
};
World& world();
using Lock = std::unique_lock<std::recursive_mutex>;
inline Lock lock() { return Lock(world().mutex); }

void register_test_operators(plugin::PluginRegistry& registry);

// ---- jobs ----------------------------------------------------------------------------------------------

struct Settings {
  int parallelism = 1;
  int batch_rows = 1000;
  std::string interval = "0";  // of checkpoints, besides the first and the final one
  std::string timeout = "10m";
  std::string more;            // further lines of the file
  std::string dead_letters;    // further keys of `dead_letters:`, with a comma before
};

// A folder, a clock, and an empty world: one for each test case.
class Place {
 public:
  Place() { world().reset(); }
  tests::TempFolder folder;
  base::ManualClock clock{1'700'000'000'000};

  std::string yaml(const std::string& operators, const Settings& s = {}) const;
  struct Letter {
    std::string op, reason, source, position, raw;
    bool has_raw = false;
    std::string line;
  };
  std::vector<Letter> dead_letters() const;  // sorted by raw
  checkpoint::Manifest newest_checkpoint() const;
  checkpoint::Manifest checkpoint(uint64_t number) const;
  std::vector<uint64_t> checkpoints() const;  // the complete ones
  bool is_complete(uint64_t number) const;    // from any thread
};

// One run of a pipeline.
class TestJob {
 public:
  TestJob(Place& place, const std::string& operators, const Settings& settings = {}, JobOptions options = {});
  ~TestJob() { kill(); }

  Job& job() { return *job_; }
  void start();
  base::Result<Outcome> wait();
  base::Result<Outcome> run() {
    start();
    return wait();
  }
  base::Result<Outcome> stop() {
    job_->request_stop();
    return wait();
  }
  // As a crash: nothing is finished, the instances are gone.
  void kill();
  bool has_ended() const { return ended_; }
  observe::Progress progress() const { return job_->progress(); }
  const observe::OperatorProgress& operator_progress(const std::string& id);
  // Waits for the next checkpoints to be complete.
  bool wait_checkpoints(uint64_t more);
  // Waits for `condition`, or the end of the job: then false.
  bool wait_for(const std::function<bool()>& condition);

 private:
  plugin::PluginRegistry registry_;
  std::unique_ptr<config::OperatorCatalog> catalog_;
  config::PipelineDocument document_;
  std::unique_ptr<Job> job_;
  std::thread thread_;
  std::atomic<bool> ended_{false};
  std::optional<base::Result<Outcome>> result_;
  observe::Progress last_;
};

inline std::string row(const std::string& id, int64_t n, const std::string& more = "") {
  return "{\"id\":\"" + id + "\",\"n\":" + std::to_string(n) + more + "}";
}
// The rows of a sink's log or target, as text.
std::vector<std::string> written(const std::string& sink);
std::vector<std::string> committed(const std::string& sink);
std::map<std::string, std::string> table(const std::string& sink);
template <class T>
std::vector<T> sorted(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v;
}
// Value of a top-level field of a JSON object, as text.
std::string get(const std::string& json, const std::string& field);

}  // namespace sluice::runtime::testing
