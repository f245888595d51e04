#include "state/lane_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>
#include <set>

#include "state/persistent_table.h"
#include "state/rocksdb/lane_database.h"
#include "state/timer_persistence.h"

namespace sluice::state {
namespace {

std::string random_id() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", device());
  return id;
}

base::Status check(const LaneOptions& options) {
  if (options.key_groups == 0 || options.key_groups > kMaxKeyGroups) {
    return base::Status::fatal(fmt::format("{} key groups: 1 to {} are possible", options.key_groups, kMaxKeyGroups));
  }
  if (options.lanes == 0 || options.lane >= options.lanes || options.range.begin > options.range.end ||
      options.range.end > options.key_groups) {
    return base::Status::bug(fmt::format("lane {} of {} with key groups {} to {} of {}", options.lane, options.lanes,
                                         options.range.begin, options.range.end, options.key_groups));
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (const StateDecl& decl : options.states) {
    if (decl.operator_id.empty() || decl.name.empty() || decl.format_version == 0 || decl.format_version > 65535 ||
        decl.compat_version == 0 || decl.compat_version > decl.format_version || decl.ttl_ms < 0) {
      return base::Status::bug(
          fmt::format("operator \"{}\", state \"{}\": the declaration is not valid (format {}, compat {}, ttl {} ms)",
                      decl.operator_id, decl.name, decl.format_version, decl.compat_version, decl.ttl_ms));
    }
    if (!seen.emplace(decl.operator_id, decl.name).second) {
      return base::Status::bug(fmt::format("operator \"{}\" declares state \"{}\" twice", decl.operator_id, decl.name));
    }
  }
  return base::Status::ok();
}

}  // namespace

struct LaneStore::Impl {
  LaneOptions options;
  std::string incarnation = random_id();
  std::shared_ptr<LaneTime> time;
  std::unique_ptr<LaneDatabase> db;
  std::vector<std::unique_ptr<PersistentTable>> tables;  // before `db` is destroyed
  TimerTables timers;

  ~Impl() { tables.clear(); }
};

LaneStore::LaneStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LaneStore::~LaneStore() = default;

base::Result<std::unique_ptr<LaneStore>> LaneStore::open(const std::string& dir, StateResources& resources,
                                                         LaneOptions options) {
  return restore(dir, resources, std::move(options), {}, 0, nullptr);
}

base::Result<std::unique_ptr<LaneStore>> LaneStore::restore(const std::string& dir, StateResources& resources,
                                                            LaneOptions options, const std::vector<LaneSource>& sources,
                                                            uint32_t old_lanes, RestoreReport* report) {
  SLUICE_TRY(check(options));
  RestoreReport own_report;
  if (report == nullptr) report = &own_report;
  *report = {};
  const auto same = std::find_if(sources.begin(), sources.end(), [&](const LaneSource& source) {
    return old_lanes == options.lanes && source.lane == options.lane && source.range == options.range;
  });
  if (!sources.empty()) SLUICE_TRY(remove_working_dir(dir));
  if (same != sources.end()) {
    SLUICE_TRY(take_over_files(same->dir, dir));
    report->linked = true;
  }

  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->time = std::make_shared<LaneTime>();
  impl->time->clock = &resources.clock();
  auto db = LaneDatabase::open(dir, resources, impl->options, impl->time);
  if (!db.is_ok()) return base::Status(db.status());
  impl->db = std::move(db).value();
  if (same == sources.end()) {
    for (size_t i = 0; i < sources.size(); ++i) {
      const LaneSource& source = sources[i];
      SLUICE_TRY(impl->db->import(source, /*take_broadcast=*/i == 0,
                                  /*take_operator_state=*/source.lane % impl->options.lanes == impl->options.lane,
                                  report));
    }
  }

  const auto keyed = [](const StateDecl& decl) {
    return decl.kind == StateKind::kValue || decl.kind == StateKind::kMap;
  };
  const auto keyed_tables = std::count_if(impl->options.states.begin(), impl->options.states.end(), keyed);
  HotCacheBudget& budget = hot_cache_budget(resources);
  const size_t filter_bytes =
      std::max<size_t>(64 << 10, budget.limit / 2 / impl->options.lanes /
                                     static_cast<size_t>(std::max<std::ptrdiff_t>(1, keyed_tables)));
  for (uint32_t i = 0; i < impl->options.states.size(); ++i) {
    const StateDecl& decl = impl->options.states[i];
    const TableContext context{*impl->db, i, *impl->time, budget, impl->options.key_groups, filter_bytes};
    impl->tables.push_back(keyed(decl) ? make_keyed_table(decl, context) : make_memory_table(decl, context));
    SLUICE_TRY(impl->tables.back()->load());
  }
  for (const std::string& id : impl->options.timer_operators) {
    impl->timers.emplace(id, std::make_unique<TimerTable>(id, impl->options.key_groups));
  }
  SLUICE_TRY(TimerPersistence::load(*impl->db, impl->options, impl->timers, &report->timers_restored));
  return std::unique_ptr<LaneStore>(new LaneStore(std::move(impl)));
}

StateTable* LaneStore::table(std::string_view operator_id, std::string_view name) noexcept {
  for (const auto& table : impl_->tables) {
    if (table->decl().operator_id == operator_id && table->decl().name == name) return table.get();
  }
  return nullptr;
}

TimerTable* LaneStore::timers(std::string_view operator_id) noexcept {
  const auto it = impl_->timers.find(operator_id);
  return it == impl_->timers.end() ? nullptr : it->second.get();
}

void LaneStore::set_event_time(int64_t ms) noexcept {
  if (ms > impl_->time->event_time_ms.load(std::memory_order_relaxed)) {
    impl_->time->event_time_ms.store(ms, std::memory_order_relaxed);
  }
}

void LaneStore::end_call() noexcept {
  for (const auto& table : impl_->tables) table->end_call();
}

base::Status LaneStore::flush() {
  for (const auto& table : impl_->tables) SLUICE_TRY(table->flush());
  return TimerPersistence::flush(*impl_->db, impl_->timers);
}

base::Result<SnapshotFiles> LaneStore::snapshot(const std::string& dir) {
  SLUICE_TRY(flush());
  SnapshotFiles snapshot;
  snapshot.dir = dir;
  snapshot.lane = impl_->options.lane;
  snapshot.range = impl_->options.range;
  snapshot.incarnation = impl_->incarnation;
  SLUICE_TRY(impl_->db->snapshot(dir, &snapshot.files));
  return snapshot;
}

base::Status LaneStore::compact() {
  SLUICE_TRY(flush());
  return impl_->db->compact();
}

std::vector<TableStats> LaneStore::stats() const {
  std::vector<TableStats> all;
  for (const auto& table : impl_->tables) all.push_back(table->stats());
  return all;
}

std::vector<StoredState> LaneStore::stored_states() const { return impl_->db->stored_states(); }
const LaneOptions& LaneStore::options() const noexcept { return impl_->options; }
const std::string& LaneStore::incarnation() const noexcept { return impl_->incarnation; }

}  // namespace sluice::state
