// What the tasks of one job share.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "data/arena.h"
#include "runtime/plan.h"
#include "state/lane_store.h"

namespace sluice::runtime {

// Main sources below which a broadcast operator lies give no rows until every lane of that operator has seen the end
// of the broadcast side's snapshot. Once open it stays open, over restarts too. Thread-safe.
class Gate {
 public:
  explicit Gate(uint32_t lanes) : missing_(lanes) {}
  bool is_open() const { return open_.load(std::memory_order_acquire); }
  void open() { open_.store(true, std::memory_order_release); }
  // One lane has seen the marker. True: that was the last one.
  bool arrive() {
    if (missing_.fetch_sub(1) != 1) return false;
    open();
    return true;
  }

 private:
  std::atomic<uint32_t> missing_;
  std::atomic<bool> open_{false};
};

// The splits of one source, over all lanes. Thread-safe.
class SourceSplits {
 public:
  // The index that rows carry; the same id always gives the same index.
  uint32_t index_of(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto [it, added] = index_.try_emplace(id, static_cast<uint32_t>(ids_.size()));
    if (added) ids_.push_back(id);
    return it->second;
  }
  std::string id_of(uint32_t index) const {
    const std::lock_guard lock(mutex_);
    return index < ids_.size() ? ids_[index] : std::string();
  }
  void ended(const std::string& id) {
    const std::lock_guard lock(mutex_);
    ended_.insert(id);
  }
  // One that had ended before this run is read on. The first lane that finds that out counts: it may end again before
  // the last one does.
  void read_on(const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (read_on_.insert(id).second) ended_.erase(id);
  }
  bool has_ended(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    return ended_.contains(id);
  }
  // A lane knows its splits, and one that has none has said that it is idle. No lane gives rows before all have: else a
  // lane that is merely slow to start would hold the watermark back, and which rows are late would depend on it.
  void lane_ready() { ready_lanes_.fetch_add(1, std::memory_order_release); }
  uint32_t ready_lanes() const { return ready_lanes_.load(std::memory_order_acquire); }
  // Lanes look for splits at different moments, and what comes in between moves the others' places: the first lane that
  // finds a split settles whose it is.
  int64_t ordinal_of(const std::string& id, int64_t found) {
    const std::lock_guard lock(mutex_);
    return ordinals_.try_emplace(id, found).first->second;
  }
  void taken(const std::string& id) {
    const std::lock_guard lock(mutex_);
    taken_.insert(id);
  }
  // There are splits, and all of them that a lane has taken have ended. One that its own lane has not found is for a later run.
  bool all_ended(const std::set<std::string>& ids) const {
    const std::lock_guard lock(mutex_);
    return !ids.empty() && std::all_of(ids.begin(), ids.end(), [&](const auto& id) { return !taken_.contains(id) || ended_.contains(id); });
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint32_t> index_;
  std::vector<std::string> ids_;
  std::map<std::string, int64_t> ordinals_;
  std::set<std::string> taken_, ended_, read_on_;
  std::atomic<uint32_t> ready_lanes_{0};
};

// What one task contributes to a checkpoint.
struct StateSnapshot {
  size_t node = 0;
  uint32_t lane = 0;
  state::SnapshotFiles files;
  std::vector<state::StoredState> states;
  std::vector<state::TableStats> stats;
  uint64_t timers = 0;
};
struct SpoolSegment {
  size_t node = 0;
  uint32_t lane = 0;
  uint64_t checkpoint = 0;  // whose barrier ended it
  std::string path;
  uint64_t rows = 0;
};
struct TaskAck {
  size_t task = 0;
  uint64_t checkpoint = 0;
  std::string failure;  // not empty: this task could not take part; the checkpoint is given up
  std::vector<StateSnapshot> states;
  std::vector<SpoolSegment> spools;
  std::vector<std::pair<size_t, checkpoint::ManifestSplit>> splits;  // node, split
  std::vector<std::pair<size_t, int64_t>> watermarks;                // node
  std::vector<std::pair<size_t, bool>> gates;                        // node, marker seen in this lane
  std::vector<std::pair<size_t, bool>> starts;                       // node, the source's first start is over in this lane
};

class DeadLetterTarget;

struct JobContext {
  const Plan* plan = nullptr;
  const base::Clock* clock = nullptr;
  std::shared_ptr<data::ChunkPool> chunks;
  state::StateResources* state = nullptr;
  std::string lineage, work_dir, dead_letters_dir;
  DeadLetterTarget* dead_letters_to = nullptr;  // null: to files in dead_letters_dir
  uint32_t key_groups = 128;
  std::vector<std::unique_ptr<Gate>> gates;           // by node; null where there is none
  std::vector<std::unique_ptr<SourceSplits>> sources;  // by node; null where there is none
  std::atomic<bool> stopping{false};   // a stop was asked for
  std::atomic<bool> hard_stop{false};  // end at once, without a checkpoint
  std::atomic<uint64_t> dead_letter_count{0};
  std::atomic<uint64_t> last_barrier{0};

  // From any task: the job ends with this; the first one counts.
  void fail(base::Status status) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(status);
    }
    hard_stop = true;
    changed_.notify_all();
  }
  std::optional<base::Status> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void ack(TaskAck ack) {
    {
      const std::lock_guard lock(mutex_);
      acks_.push_back(std::move(ack));
    }
    changed_.notify_all();
  }
  std::vector<TaskAck> take_acks() {
    const std::lock_guard lock(mutex_);
    return std::exchange(acks_, {});
  }
  // Anything else that the coordinator should look at.
  void notify() { changed_.notify_all(); }
  void wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!acks_.empty() || failure_) return;
    changed_.wait_for(lock, timeout);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TaskAck> acks_;
  std::optional<base::Status> failure_;
};

}  // namespace sluice::runtime
