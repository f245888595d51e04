#include "tumbling_window/keyed_windows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice::tumbling_window {
namespace {

constexpr size_t kStartBytes = 8;

}  // namespace

void KeyedWindows::reset(std::string_view options, bool grouped, size_t most_in_memory) {
  options_ = options;
  grouped_ = grouped;
  most_in_memory_ = most_in_memory;
  slots_.clear();
  wanted_.clear();
  count_ = 0;
}

// Big-endian with the sign flipped, so that a key's windows are scanned in their order.
std::string KeyedWindows::subkey_of(int64_t start, std::string_view group) {
  const uint64_t bits = static_cast<uint64_t>(start) ^ (uint64_t{1} << 63);
  std::string out;
  out.reserve(kStartBytes + group.size());
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bits >> shift & 0xFF));
  out.append(group);
  return out;
}

KeyedWindows::Slot* KeyedWindows::find(std::string_view key, int64_t start, std::string_view group) {
  const auto it = slots_.find(key);
  if (it == slots_.end()) return nullptr;
  for (Slot& slot : it->second)
    if (slot.accumulator.window.start == start && slot.group == group) return &slot;
  return nullptr;
}

void KeyedWindows::add(std::string_view key, Slot slot) {
  auto it = slots_.find(key);
  if (it == slots_.end()) it = slots_.try_emplace(std::string(key)).first;
  ++count_;
  it->second.push_back(std::move(slot));
}

Status KeyedWindows::decode(std::string_view text, Accumulator* out) const {
  const std::string problem = out->read(text, options_, aggregates_->size());
  return problem.empty() ? Status::ok() : Status::fatal(problem);
}

void KeyedWindows::want(std::string_view key, const Window& window, std::string_view group) {
  wanted_.push_back({key, window, std::string(group)});
}

Status KeyedWindows::load_wanted(const SetTimer& set_timer) {
  std::vector<const Wanted*> missing;
  std::vector<sluice_str> keys, subkeys;
  const std::deque<Wanted> wanted = std::exchange(wanted_, {});
  std::deque<std::string> subkey_texts;
  for (const Wanted& w : wanted) {
    if (find(w.key, w.window.start, w.group) != nullptr) continue;
    missing.push_back(&w);
    keys.push_back(str(w.key));
    subkeys.push_back(str(subkey_texts.emplace_back(subkey_of(w.window.start, w.group))));
  }
  std::vector<sluice_str> values(missing.size(), sluice_str{nullptr, 0});
  if (!missing.empty()) SLUICE_CHECK_OK(state_->get_many(missing.size(), keys.data(), subkeys.data(), values.data()));
  for (size_t i = 0; i < missing.size(); ++i) {
    const Wanted& w = *missing[i];
    if (find(w.key, w.window.start, w.group) != nullptr) continue;  // wanted by two rows
    Slot slot;
    slot.group = w.group;
    slot.accumulator.window = w.window;
    slot.accumulator.cells.resize(aggregates_->size());
    slot.stored = values[i].data != nullptr;
    if (slot.stored) SLUICE_CHECK_OK(decode(view(values[i]), &slot.accumulator));
    if (!slot.stored) SLUICE_CHECK_OK(set_timer(w.key, slot.accumulator, true));
    add(w.key, std::move(slot));
  }
  for (const Wanted& w : wanted)
    SLUICE_CHECK_OK(set_timer(w.key, find(w.key, w.window.start, w.group)->accumulator, false));
  return Status::ok();
}

Accumulator& KeyedWindows::at(std::string_view key, int64_t start, std::string_view group) {
  Slot* slot = find(key, start, group);
  slot->dirty = true;
  return slot->accumulator;
}

Status KeyedWindows::of_key(std::string_view key, bool only_due, int64_t end, std::vector<Slot*>* out) {
  out->clear();
  const auto in_memory = [&] {
    const auto it = slots_.find(key);
    if (it == slots_.end()) return;
    for (Slot& slot : it->second)
      if (!only_due || slot.accumulator.window.end <= end) out->push_back(&slot);
  };
  in_memory();
  // Without groups a key has one window that ends at `end`: when it is in memory, nothing else can be due.
  if (!only_due || grouped_ || out->empty()) {
    std::vector<Slot> read;
    Status inner;
    SLUICE_CHECK_OK(state_->scan(key, [&](std::string_view subkey, const std::string& text) {
      Slot slot;
      inner = decode(text, &slot.accumulator);
      if (!inner.is_ok()) return false;
      if (only_due && slot.accumulator.window.end > end) return false;  // later ones follow
      slot.group = subkey.substr(std::min(kStartBytes, subkey.size()));
      slot.stored = true;
      if (find(key, slot.accumulator.window.start, slot.group) == nullptr) read.push_back(std::move(slot));
      return true;
    }));
    SLUICE_CHECK_OK(inner);
    for (Slot& slot : read) add(key, std::move(slot));
    out->clear();
    in_memory();
  }
  std::sort(out->begin(), out->end(), [](const Slot* a, const Slot* b) {
    return std::tie(a->accumulator.window.start, a->group) < std::tie(b->accumulator.window.start, b->group);
  });
  return Status::ok();
}

Status KeyedWindows::forget(std::string_view key, const std::vector<Slot*>& slots) {
  for (const Slot* slot : slots)
    if (slot->stored) SLUICE_CHECK_OK(state_->erase(key, subkey_of(slot->accumulator.window.start, slot->group)));
  const auto it = slots_.find(key);
  if (it == slots_.end()) return Status::ok();
  std::vector<Slot> rest;
  for (Slot& slot : it->second)
    if (std::find(slots.begin(), slots.end(), &slot) == slots.end()) rest.push_back(std::move(slot));
  count_ -= it->second.size() - rest.size();
  if (rest.empty())
    slots_.erase(it);
  else
    it->second = std::move(rest);
  return Status::ok();
}

Status KeyedWindows::save() {
  for (auto& [key, slots] : slots_)
    for (Slot& slot : slots) {
      if (!slot.dirty) continue;
      SLUICE_CHECK_OK(
          state_->put(key, subkey_of(slot.accumulator.window.start, slot.group), slot.accumulator.write(options_)));
      slot.stored = true;
      slot.dirty = false;
    }
  return Status::ok();
}

void KeyedWindows::shrink() {
  if (count_ <= most_in_memory_) return;
  // When the state does not take it now, it stays in memory; the barrier tries again and reports it.
  if (!save().is_ok()) return;
  slots_.clear();
  count_ = 0;
}

}  // namespace sluice::tumbling_window
