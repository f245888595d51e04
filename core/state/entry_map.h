// Hash map from (key, subkey) to a value with its expiry: the hot cache of keyed state, and broadcast and operator
// state as a whole.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace sluice::state {

// One allocation: this header, key, subkey, value. 28 bytes before the key; there are many of them.
struct Entry {
  enum Flag : uint8_t {
    kPresent = 1,     // else: known to be absent
    kDirty = 2,       // the disk does not have this yet
    kReferenced = 4,  // used since the eviction's hand passed
    kOnDisk = 8,      // the disk may have an entry of this key
  };
  int64_t expiry_ms;  // 0: never
  uint32_t hash_high;
  uint32_t key_size;
  uint32_t subkey_size;
  uint32_t value_size;
  uint16_t handed_out;  // the call in which a view of the value was given away
  uint8_t flags;
  uint8_t size_class;  // of EntryPool

  char* data() noexcept { return reinterpret_cast<char*>(this) + kHeaderBytes; }
  const char* data() const noexcept { return reinterpret_cast<const char*>(this) + kHeaderBytes; }
  std::string_view key() const noexcept { return {data(), key_size}; }
  std::string_view subkey() const noexcept { return {data() + key_size, subkey_size}; }
  std::string_view value() const noexcept { return {data() + key_size + subkey_size, value_size}; }
  bool has(Flag flag) const noexcept { return (flags & flag) != 0; }
  void set(Flag flag) noexcept { flags = static_cast<uint8_t>(flags | flag); }
  void unset(Flag flag) noexcept { flags = static_cast<uint8_t>(flags & ~flag); }

  static constexpr size_t kHeaderBytes = 28;
};
static_assert(offsetof(Entry, value_size) == 20 && sizeof(Entry) == 32);

// Memory of one map's entries, in classes of 8 bytes; larger ones come from malloc. What is freed is used again for
// entries of the same class only; all goes back when the pool ends.
class EntryPool {
 public:
  EntryPool() = default;
  ~EntryPool();
  EntryPool(const EntryPool&) = delete;
  EntryPool& operator=(const EntryPool&) = delete;

  Entry* allocate(size_t bytes);  // header included; sets size_class
  void free(Entry* entry) noexcept;
  static size_t capacity(Entry* entry) noexcept;  // header included
  static size_t cost(Entry* entry) noexcept;      // capacity and what the allocator keeps beside it

 private:
  static constexpr size_t kClassBytes = 8;
  static constexpr size_t kClasses = 256;
  static constexpr size_t kBlockBytes = 64 << 10;

  void* free_[kClasses] = {};  // lists by class
  char* next_ = nullptr;       // the part of the last block that was never used
  size_t left_ = 0;
  std::vector<void*> blocks_;
};

// Owned by one table, used by one thread at a time. Entry pointers stay valid until set_value() returns another one,
// remove(), or the map's end; a value that was handed out keeps its bytes until end_call().
//
// Open addressing with linear probing; a slot is a pointer (48 bits) and 16 bits of the hash, so a hit costs two cache
// misses, and a batch can prefetch both.
class EntryMap {
 public:
  EntryMap() = default;
  ~EntryMap();
  EntryMap(const EntryMap&) = delete;
  EntryMap& operator=(const EntryMap&) = delete;

  Entry* find(uint64_t hash, std::string_view key, std::string_view subkey) const noexcept {
    if (slots_.empty()) return nullptr;
    const uint64_t tag = tag_of(hash);
    for (size_t i = home(static_cast<uint32_t>(hash >> 32));; i = (i + 1) & mask_) {
      const uint64_t slot = slots_[i];
      if (slot == 0) return nullptr;
      if ((slot & kTagMask) != tag) continue;
      Entry* entry = pointer(slot);
      if (entry->key_size == key.size() && entry->subkey_size == subkey.size() && same_bytes(entry->data(), key) &&
          same_bytes(entry->data() + key.size(), subkey)) {
        return entry;
      }
    }
  }
  void prefetch_slot(uint64_t hash) const noexcept {
    if (!slots_.empty()) __builtin_prefetch(&slots_[home(static_cast<uint32_t>(hash >> 32))]);
  }
  // After prefetch_slot() has had time to work.
  void prefetch_entry(uint64_t hash) const noexcept {
    if (slots_.empty()) return;
    const uint64_t slot = slots_[home(static_cast<uint32_t>(hash >> 32))];
    if (slot != 0) __builtin_prefetch(pointer(slot), 1);
  }

  // The key must not be there. The new entry is absent (no flags) with room for a value of `value_room` bytes.
  Entry* insert(uint64_t hash, std::string_view key, std::string_view subkey, size_t value_room);
  // Returns the entry, at another address when the value did not fit or its old bytes are still in use.
  Entry* set_value(Entry* entry, uint64_t hash, std::string_view value);
  void remove(Entry* entry);
  void clear();  // handed-out values stay until end_call()

  std::string_view hand_out(Entry* entry) noexcept {
    entry->handed_out = call_;
    return entry->value();
  }
  void end_call() noexcept;

  size_t size() const noexcept { return size_; }
  size_t bytes() const noexcept { return bytes_ + slots_.size() * sizeof(uint64_t); }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const uint64_t slot : slots_) {
      if (slot != 0) visit(pointer(slot));
    }
  }
  // Removes entries for which `may_go` is true and that were not used since the hand last passed them, until bytes() is
  // not above `target` or the hand went round twice.
  template <class MayGo>
  void evict(size_t target, MayGo&& may_go) {
    for (size_t steps = 2 * slots_.size(); steps > 0 && bytes() > target; --steps) {
      hand_ = (hand_ + 1) & mask_;
      const uint64_t slot = slots_[hand_];
      if (slot == 0) continue;
      Entry* entry = pointer(slot);
      if (entry->has(Entry::kReferenced)) {
        entry->unset(Entry::kReferenced);
      } else if (may_go(entry)) {
        remove(entry);
        hand_ = (hand_ - 1) & mask_;  // another entry may have moved here
      }
    }
    if (slots_.size() > kFirstSlots && size_ * 8 < slots_.size()) resize(std::max(kFirstSlots, slots_.size() / 4));
  }

 private:
  static constexpr size_t kFirstSlots = 64;  // a power of two, as all sizes
  static constexpr uint64_t kPointerMask = (uint64_t{1} << 48) - 1;
  static constexpr uint64_t kTagMask = ~kPointerMask;
  static bool same_bytes(const char* bytes, std::string_view wanted) noexcept {
    return wanted.empty() || std::memcmp(bytes, wanted.data(), wanted.size()) == 0;
  }
  static uint64_t tag_of(uint64_t hash) noexcept { return (hash << 32) & kTagMask; }
  static Entry* pointer(uint64_t slot) noexcept { return reinterpret_cast<Entry*>(slot & kPointerMask); }
  size_t home(uint32_t hash_high) const noexcept { return hash_high >> shift_; }
  size_t slot_of(const Entry* entry) const noexcept;
  void retire_or_free(Entry* entry);
  void resize(size_t slots);

  EntryPool pool_;
  std::vector<uint64_t> slots_;
  size_t mask_ = 0;
  uint32_t shift_ = 32;
  size_t size_ = 0;
  size_t bytes_ = 0;  // of the entries, as allocated
  size_t hand_ = 0;
  uint16_t call_ = 1;
  std::vector<Entry*> retired_;
};

}  // namespace sluice::state
