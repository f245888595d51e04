#include "state/timer_persistence.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::state {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;  // flipped, so that the bytes sort as the signed number does

std::string disk_key(const TimerTable& table, TimerClock clock, const Timer& timer, uint32_t key_groups) {
  std::string key;
  append_keyed_prefix(&key, key_group(timer.key, key_groups), table.operator_id());
  key.push_back(static_cast<char>(clock));
  append_u64_be(&key, static_cast<uint64_t>(timer.at_ms) ^ kSign);
  append_u64_be(&key, timer.tag);
  key += timer.key;
  return key;
}

bool parse(std::string_view bytes, std::string_view* operator_id, TimerClock* clock, Timer* timer) {
  KeyedKey parsed;
  if (!parse_keyed_key(bytes, &parsed) || parsed.subkey.size() < 17) return false;
  const auto which = static_cast<uint8_t>(parsed.subkey[0]);
  if (which > static_cast<uint8_t>(TimerClock::kProcessing)) return false;
  *operator_id = parsed.key;
  *clock = static_cast<TimerClock>(which);
  timer->at_ms = static_cast<int64_t>(read_u64_be(parsed.subkey.data() + 1) ^ kSign);
  timer->tag = read_u64_be(parsed.subkey.data() + 9);
  timer->key = parsed.subkey.substr(17);
  return true;
}

}  // namespace

base::Status TimerPersistence::load(LaneDatabase& db, const LaneOptions& options, TimerTables& tables,
                                    uint64_t* loaded) {
  base::Status failed;
  std::vector<std::string> dropped;
  SLUICE_TRY(db.scan(db.timers_table(), {}, [&](std::string_view key, std::string_view) {
    std::string_view operator_id;
    TimerClock clock;
    Timer timer;
    if (!parse(key, &operator_id, &clock, &timer)) {
      failed = base::Status::fatal("the stored timers are damaged: an entry cannot be read");
      return false;
    }
    if (std::find(options.drop_states.begin(), options.drop_states.end(), operator_id) != options.drop_states.end()) {
      dropped.emplace_back(key);
      return true;
    }
    const auto table = tables.find(operator_id);
    if (table == tables.end()) {
      failed = base::Status::fatal(fmt::format(
          "operator \"{}\" has stored timers, but nothing in the pipeline takes them; --drop-state {} gives them up",
          operator_id, operator_id));
      return false;
    }
    table->second->pending_[static_cast<size_t>(clock)].insert(std::move(timer));
    ++*loaded;
    return true;
  }));
  SLUICE_TRY(std::move(failed));
  LaneDatabase::Writer writer(db);
  for (const std::string& key : dropped) SLUICE_TRY(writer.erase(db.timers_table(), key));
  return writer.commit();
}

base::Status TimerPersistence::flush(LaneDatabase& db, TimerTables& tables) {
  LaneDatabase::Writer writer(db);
  for (const auto& [id, table] : tables) {
    for (const TimerClock clock : {TimerClock::kEvent, TimerClock::kProcessing}) {
      for (auto& [timer, change] : table->changed_[static_cast<size_t>(clock)]) {
        const std::string key = disk_key(*table, clock, timer, table->key_groups_);
        const bool present = change != TimerTable::Change::kGone;
        if (present) change = TimerTable::Change::kSet;  // before it is known: an earlier batch may stay when a later one fails
        SLUICE_TRY(present ? writer.put_raw(db.timers_table(), key, {}) : writer.erase(db.timers_table(), key));
      }
    }
  }
  SLUICE_TRY(writer.commit());
  for (const auto& [id, table] : tables) {
    for (auto& changed : table->changed_) changed.clear();
  }
  return base::Status::ok();
}

}  // namespace sluice::state
