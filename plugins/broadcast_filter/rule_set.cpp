#include "broadcast_filter/rule_set.h"

namespace sluice::broadcast_filter {

const RuleSet::Entry* RuleSet::find_row(const std::string& source_table) const {
  const auto it = entries_.find(source_table);
  return it == entries_.end() ? nullptr : &it->second;
}

void RuleSet::put(ConfigRow row, Rule rule) {
  std::string name = row.source_table;
  entries_.insert_or_assign(std::move(name), Entry{std::move(row), std::move(rule)});
  stale_ = true;
}

bool RuleSet::erase(const std::string& source_table) {
  if (entries_.erase(source_table) == 0) return false;
  stale_ = true;
  return true;
}

void RuleSet::clear() {
  entries_.clear();
  stale_ = true;
}

void RuleSet::rebuild() {
  size_t size = 16;
  while (size < 2 * entries_.size()) size *= 2;
  slots_.assign(size, Slot());
  mask_ = size - 1;
  stale_ = false;
  for (auto& [name, entry] : entries_) {
    const uint64_t hash = hash_of(entry.rule.table);
    size_t i = hash & mask_;
    while (slots_[i].rule != nullptr) i = (i + 1) & mask_;
    slots_[i] = {hash, &entry.rule};
  }
}

}  // namespace sluice::broadcast_filter
