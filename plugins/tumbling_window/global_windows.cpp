#include "tumbling_window/global_windows.h"

#include <algorithm>

namespace sluice::tumbling_window {
namespace {

char letter_of(uint32_t role) { return role == SLUICE_ROLE_PARTIAL ? 'p' : role == SLUICE_ROLE_MERGE ? 'm' : 'c'; }

// Whose entries an instance goes on with. With one lane now and several before, or the other way round, what a first
// phase has counted is the business of what now counts rows.
bool goes_on_with(uint32_t role, char letter) {
  if (role == SLUICE_ROLE_COMPLETE) return true;
  return role == SLUICE_ROLE_MERGE ? letter == 'm' : letter != 'm';
}

}  // namespace

Status GlobalWindows::load(uint32_t role, uint32_t lane, std::string_view options) {
  windows_.clear();
  erased_.clear();
  last_ = nullptr;
  suffix_ = "#" + std::string(1, letter_of(role)) + std::to_string(lane);
  options_ = options;
  Status inner;
  SLUICE_CHECK_OK(state_->scan([&](std::string_view name, const std::string& text) {
    inner = load_entry(name, text, role, options);
    return inner.is_ok();
  }));
  return inner;
}

Status GlobalWindows::load_entry(std::string_view name, std::string_view text, uint32_t role,
                                 std::string_view options) {
  const size_t slash = name.find('/'), mark = name.rfind('#');
  if (slash == std::string_view::npos || mark == std::string_view::npos || mark < slash || mark + 1 >= name.size())
    return Status::fatal("operator state `windows` has an entry of unknown form");
  if (!goes_on_with(role, name[mark + 1])) return Status::ok();
  Accumulator read;
  if (const std::string problem = read.read(text, options, aggregates_->size()); !problem.empty())
    return Status::fatal(problem);

  const std::string_view group = name.substr(slash + 1, mark - slash - 1);
  Groups& groups = windows_[read.window.start];
  const auto [it, created] = groups.try_emplace(std::string(group));
  Entry& entry = it->second;
  if (created)
    entry.accumulator = read;
  else
    entry.accumulator.merge(*aggregates_, read);
  if (name.substr(mark) == suffix_) {
    entry.stored = true;
  } else {
    entry.others.emplace_back(name);
  }
  entry.dirty = entry.dirty || !created || !entry.others.empty();
  return Status::ok();
}

void GlobalWindows::find(const Window& window, std::string_view group) {
  Groups& groups = windows_[window.start];
  auto it = groups.find(group);
  if (it == groups.end()) {
    it = groups.try_emplace(std::string(group)).first;
    it->second.accumulator.window = window;
    it->second.accumulator.cells.resize(aggregates_->size());
  }
  last_ = &it->second;
  last_group_ = group;
}

std::vector<GlobalWindows::Groups::value_type*> GlobalWindows::ordered(Groups* groups) {
  std::vector<Groups::value_type*> out;
  out.reserve(groups->size());
  for (auto& group : *groups) out.push_back(&group);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  return out;
}

void GlobalWindows::emit_until(int64_t time, Then then, const Emit& emit) {
  for (auto it = windows_.begin(); it != windows_.end();) {
    Groups& groups = it->second;
    if (groups.begin()->second.accumulator.window.end > time) return;  // the groups of a window are never none
    for (Groups::value_type* group : ordered(&groups)) {
      Entry& entry = group->second;
      if (entry.accumulator.changed || then == Then::kHandedOn) {
        emit(group->first, entry.accumulator);
        entry.accumulator.changed = false;
        entry.dirty = true;
      }
      if (then != Then::kKeep) forget(group->first, &entry);
    }
    if (then == Then::kKeep) {
      ++it;
      continue;
    }
    last_ = nullptr;
    it = windows_.erase(it);
  }
}

void GlobalWindows::forget(const std::string& group, Entry* entry) {
  if (entry->stored) erased_.push_back(name_of(entry->accumulator.window.start, group));
  for (std::string& name : entry->others) erased_.push_back(std::move(name));
}

Status GlobalWindows::save() {
  // Names first: one of them may be written again below, when a window that was handed on has got another row.
  for (const std::string& name : erased_) SLUICE_CHECK_OK(state_->erase(name));
  erased_.clear();
  for (auto& [start, groups] : windows_)
    for (auto& [group, entry] : groups) {
      if (!entry.dirty) continue;
      SLUICE_CHECK_OK(state_->put(name_of(start, group), entry.accumulator.write(options_)));
      entry.stored = true;
      for (const std::string& name : entry.others) SLUICE_CHECK_OK(state_->erase(name));
      entry.others.clear();
      entry.dirty = false;
    }
  return Status::ok();
}

std::string GlobalWindows::name_of(int64_t start, std::string_view group) const {
  return std::to_string(start).append("/").append(group).append(suffix_);
}

}  // namespace sluice::tumbling_window
