// What a batch has let through so far: the state that was read before it does not know of it.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "daily_dedup/day_of.h"

namespace sluice::daily_dedup {

// An open-addressing table that is emptied for each batch and keeps its memory. Holds views of the batch's keys.
class PassedInBatch {
 public:
  void reset(size_t most_entries) {
    size_t size = 16;
    while (size < 2 * most_entries) size *= 2;
    slots_.assign(size, Slot());
    used_ = 0;
  }
  // The day with which `key` passed; null: it did not. When `only` is given, of that day alone.
  Day* find(std::string_view key, const Day* only) noexcept {
    if (used_ == 0) return nullptr;
    const size_t hash = hash_of(key, only);
    for (size_t i = hash & mask(); slots_[i].used; i = (i + 1) & mask())
      if (slots_[i].hash == hash && slots_[i].key == key && (only == nullptr || slots_[i].day == *only))
        return &slots_[i].day;
    return nullptr;
  }
  // Not there yet. `one_of_many`: the key may pass with other days too.
  void add(std::string_view key, Day day, bool one_of_many) {
    const size_t hash = hash_of(key, one_of_many ? &day : nullptr);
    size_t i = hash & mask();
    while (slots_[i].used) i = (i + 1) & mask();
    slots_[i] = {key, hash, day, true};
    ++used_;
  }

 private:
  struct Slot {
    std::string_view key;
    size_t hash = 0;
    Day day = 0;
    bool used = false;
  };
  size_t mask() const noexcept { return slots_.size() - 1; }
  static size_t hash_of(std::string_view key, const Day* day) noexcept {
    const size_t hash = std::hash<std::string_view>()(key);
    return day == nullptr ? hash : hash ^ (static_cast<size_t>(static_cast<uint32_t>(*day)) * 0x9E3779B97F4A7C15u);
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace sluice::daily_dedup
