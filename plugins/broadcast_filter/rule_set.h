// The rules that are in force, found by a main row's table.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadcast_filter/config_row.h"

namespace sluice::broadcast_filter {

// Owned by one filter instance and used by its thread. A pointer that find() gave lives until the next change.
class RuleSet {
 public:
  struct Entry {
    ConfigRow row;
    Rule rule;
  };

  // By source_table as it was written, in its order: what is announced does not depend on the order of arrival.
  const std::map<std::string, Entry>& entries() const noexcept { return entries_; }
  const Entry* find_row(const std::string& source_table) const;
  void put(ConfigRow row, Rule rule);
  bool erase(const std::string& source_table);
  void clear();
  bool empty() const noexcept { return entries_.empty(); }

  // The rule for a main row: one that names the row's database goes before one that names none.
  Rule* find(std::string_view database, std::string_view table) noexcept {
    if (entries_.empty()) return nullptr;
    if (stale_) rebuild();
    Rule* any = nullptr;
    const uint64_t hash = hash_of(table);
    for (size_t i = hash & mask_; slots_[i].rule != nullptr; i = (i + 1) & mask_) {
      if (slots_[i].hash != hash || slots_[i].rule->table != table) continue;
      if (slots_[i].rule->database.empty())
        any = slots_[i].rule;
      else if (slots_[i].rule->database == database)
        return slots_[i].rule;
    }
    return any;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    Rule* rule = nullptr;
  };
  static uint64_t hash_of(std::string_view table) noexcept { return std::hash<std::string_view>()(table); }
  void rebuild();

  std::map<std::string, Entry> entries_;
  std::vector<Slot> slots_;  // open addressing, at most half full; one slot for each rule
  size_t mask_ = 0;
  bool stale_ = false;  // entries_ changed since slots_ were filled
};

}  // namespace sluice::broadcast_filter
