// A small job of two lanes with a store: what the tests of checkpoints have in common.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>

#include "checkpoint/checkpoint_store.h"
#include "lane_fixture.h"

namespace sluice::checkpoint {

using state::get;
using state::must;
namespace fs = std::filesystem;

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
inline std::string folder_of(const CheckpointStore& store, uint64_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "/chk-%010llu", static_cast<unsigned long long>(number));
  return store.dir() + name;
}
inline size_t files_in(const std::string& dir) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}
inline std::vector<uint64_t> complete_numbers(const CheckpointStore& store) {
  std::vector<uint64_t> numbers;
  for (const CheckpointInfo& info : store.list()) {
    if (info.health == CheckpointHealth::kComplete) numbers.push_back(info.number);
  }
  return numbers;
}

// Two lanes with keyed state, and a spool per checkpoint. `work` holds the lanes' directories.
class Job {
 public:
  static constexpr uint32_t kLanes = 2;
  static constexpr int kKeys = 200;

  Job(std::string work, CheckpointStore& store) : work_(std::move(work)), store_(store) {
    fs::create_directories(work_);
  }

  void start() {
    must(store_.begin_run(nullptr));
    for (uint32_t l = 0; l < kLanes; ++l)
      lanes_.push_back(must(state::LaneStore::open(lane_dir(l), resources_, options(l))));
  }
  void restore(const Manifest& manifest) {
    must(store_.begin_run(&manifest));
    lanes_.clear();
    ++incarnation_;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const std::string from = work_ + "/from" + std::to_string(incarnation_) + "-" + std::to_string(l);
      fs::remove_all(from);
      must(store_.materialize_lane(manifest, l, from));
      const ManifestLane& lane = *manifest.find_lane(l);
      lanes_.push_back(must(state::LaneStore::restore(lane_dir(l), resources_, options(l),
                                                      {{from, l, {lane.key_group_begin, lane.key_group_end}}},
                                                      manifest.parallelism)));
      fs::remove_all(from);
    }
  }
  // Every key gets the value `epoch`; some keys are new in each epoch.
  void write(int epoch) {
    for (int i = 0; i < kKeys; ++i) put_one("k" + std::to_string(i), std::to_string(epoch));
    put_one("epoch " + std::to_string(epoch), std::string(2000, 'e'));
    for (auto& lane : lanes_) lane->end_call();
  }
  // The epoch that the state is of, after a check of every key; -1: empty.
  int epoch() {
    std::optional<std::string> value;
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = "k" + std::to_string(i);
      const auto found = get(table_of(key), key);
      if (i == 0) value = found;
      REQUIRE(found == value);
    }
    return value ? std::stoi(*value) : -1;
  }
  Manifest describe() const {
    Manifest m;
    m.pipeline = "job";
    m.parallelism = kLanes;
    ManifestOperator op;
    op.id = "dedup";
    op.type = "daily_dedup";
    op.states.push_back({.name = "seen", .kind = "value"});
    m.operators.push_back(op);
    return m;
  }
  // The steps of a checkpoint, as the runtime takes them.
  base::Result<Manifest> checkpoint() {
    base::Result<uint64_t> number = store_.reserve_number();
    if (!number.is_ok()) return number.status();
    base::Result<PendingCheckpoint> pending = store_.begin(number.value());
    if (!pending.is_ok()) return pending.status();
    for (auto& lane : lanes_) {
      const std::string dir = work_ + "/snapshot" + std::to_string(lane->options().lane);
      fs::remove_all(dir);
      base::Result<state::SnapshotFiles> snapshot = lane->snapshot(dir);
      if (!snapshot.is_ok()) return snapshot.status();
      SLUICE_TRY(pending->add_lane_state(snapshot.value()));
      fs::remove_all(dir);
    }
    const std::string spool = work_ + "/spool";
    write_text(spool, "rows of checkpoint " + std::to_string(number.value()));
    SLUICE_TRY(pending->add_spool("sink/1", 0, number.value(), 1, spool));
    fs::remove(spool);  // it may have been linked
    write_text(spool, "note");
    SLUICE_TRY(pending->add_file("notes", "note.txt", spool));
    fs::remove(spool);
    return pending->complete(describe());
  }
  state::LaneStore& lane(uint32_t l) { return *lanes_[l]; }

 private:
  std::string lane_dir(uint32_t l) const {
    return work_ + "/lane" + std::to_string(incarnation_) + "-" + std::to_string(l);
  }
  static state::LaneOptions options(uint32_t l) {
    return state::lane_options(l, kLanes, {state::declare("dedup", "seen", state::StateKind::kValue)});
  }
  state::StateTable& table_of(const std::string& key) {
    return *lanes_[state::lane_of_key_group(state::key_group(key, 128), kLanes, 128)]->table("dedup", "seen");
  }
  void put_one(const std::string& key, const std::string& value) { state::put(table_of(key), key, value); }

  const std::string work_;
  CheckpointStore& store_;
  state::StateResources resources_;
  int incarnation_ = 0;
  std::vector<std::unique_ptr<state::LaneStore>> lanes_;
};

}  // namespace sluice::checkpoint
