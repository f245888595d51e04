#include "state/entry_map.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace sluice::state {
namespace {

// With a sanitizer every entry is an allocation of its own, so that a view that is used too long is noticed.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooled = false;
#else
constexpr bool kPooled = true;
#endif
constexpr size_t kMallocBytes = 8;  // what glibc keeps beside each allocation

void* malloc_or_throw(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

EntryPool::~EntryPool() {
  for (void* block : blocks_) std::free(block);
}

Entry* EntryPool::allocate(size_t bytes) {
  bytes = std::max(bytes, sizeof(Entry));
  const size_t size_class = (bytes + kClassBytes - 1) / kClassBytes;
  Entry* entry;
  if (!kPooled || size_class >= kClasses) {
    entry = static_cast<Entry*>(malloc_or_throw(bytes));
    entry->size_class = 0;
    return entry;
  }
  if (void* reused = free_[size_class]; reused != nullptr) {
    std::memcpy(&free_[size_class], reused, sizeof(void*));
    entry = static_cast<Entry*>(reused);
  } else {
    bytes = size_class * kClassBytes;
    if (left_ < bytes) {
      blocks_.push_back(malloc_or_throw(kBlockBytes));
      next_ = static_cast<char*>(blocks_.back());
      left_ = kBlockBytes;
    }
    entry = reinterpret_cast<Entry*>(next_);
    next_ += bytes;
    left_ -= bytes;
  }
  entry->size_class = static_cast<uint8_t>(size_class);
  return entry;
}

void EntryPool::free(Entry* entry) noexcept {
  const size_t size_class = entry->size_class;
  if (size_class == 0) {
    std::free(entry);
    return;
  }
  std::memcpy(static_cast<void*>(entry), &free_[size_class], sizeof(void*));
  free_[size_class] = entry;
}

size_t EntryPool::capacity(Entry* entry) noexcept {
  return entry->size_class != 0 ? entry->size_class * kClassBytes : malloc_usable_size(entry);
}
size_t EntryPool::cost(Entry* entry) noexcept {
  return entry->size_class != 0 ? entry->size_class * kClassBytes : malloc_usable_size(entry) + kMallocBytes;
}

EntryMap::~EntryMap() {
  for (Entry* entry : retired_) pool_.free(entry);
  for_each([this](Entry* entry) { pool_.free(entry); });
}

Entry* EntryMap::insert(uint64_t hash, std::string_view key, std::string_view subkey, size_t value_room) {
  if ((size_ + 1) * 4 > slots_.size() * 3) resize(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  Entry* entry = pool_.allocate(Entry::kHeaderBytes + key.size() + subkey.size() + value_room);
  entry->expiry_ms = 0;
  entry->hash_high = static_cast<uint32_t>(hash >> 32);
  entry->key_size = static_cast<uint32_t>(key.size());
  entry->subkey_size = static_cast<uint32_t>(subkey.size());
  entry->value_size = 0;
  entry->handed_out = 0;
  entry->flags = Entry::kReferenced;
  if (!key.empty()) std::memcpy(entry->data(), key.data(), key.size());
  if (!subkey.empty()) std::memcpy(entry->data() + key.size(), subkey.data(), subkey.size());
  size_t i = home(entry->hash_high);
  while (slots_[i] != 0) i = (i + 1) & mask_;
  slots_[i] = tag_of(hash) | reinterpret_cast<uint64_t>(entry);
  ++size_;
  bytes_ += EntryPool::cost(entry);
  return entry;
}

Entry* EntryMap::set_value(Entry* entry, uint64_t hash, std::string_view value) {
  const size_t key_bytes = size_t{entry->key_size} + entry->subkey_size;
  const size_t needed = Entry::kHeaderBytes + key_bytes + value.size();
  if (entry->handed_out == call_ || needed > EntryPool::capacity(entry)) {
    Entry* bigger = pool_.allocate(needed);
    const uint8_t size_class = bigger->size_class;
    std::memcpy(static_cast<void*>(bigger), entry, Entry::kHeaderBytes + key_bytes);
    bigger->size_class = size_class;
    bigger->handed_out = 0;
    slots_[slot_of(entry)] = tag_of(hash) | reinterpret_cast<uint64_t>(bigger);
    bytes_ += EntryPool::cost(bigger);
    // `value` may be a view of the old bytes: they go last.
    if (!value.empty()) std::memcpy(bigger->data() + key_bytes, value.data(), value.size());
    bigger->value_size = static_cast<uint32_t>(value.size());
    retire_or_free(entry);
    return bigger;
  }
  if (!value.empty()) std::memmove(entry->data() + key_bytes, value.data(), value.size());
  entry->value_size = static_cast<uint32_t>(value.size());
  return entry;
}

void EntryMap::remove(Entry* entry) {
  size_t hole = slot_of(entry);
  slots_[hole] = 0;
  // Entries behind the hole that probed past it move up, or they could not be found any more.
  for (size_t i = (hole + 1) & mask_; slots_[i] != 0; i = (i + 1) & mask_) {
    const size_t wanted = home(pointer(slots_[i])->hash_high);
    if (((i - wanted) & mask_) < ((i - hole) & mask_)) continue;
    slots_[hole] = slots_[i];
    slots_[i] = 0;
    hole = i;
  }
  --size_;
  retire_or_free(entry);
}

void EntryMap::clear() {
  for_each([this](Entry* entry) { retire_or_free(entry); });
  slots_.clear();
  mask_ = 0;
  shift_ = 32;
  size_ = 0;
  hand_ = 0;
}

void EntryMap::end_call() noexcept {
  if (!retired_.empty()) {
    for (Entry* entry : retired_) pool_.free(entry);
    retired_.clear();
  }
  if (++call_ == 0) call_ = 1;  // after a wrap an entry may look handed out: harmless
}

size_t EntryMap::slot_of(const Entry* entry) const noexcept {
  size_t i = home(entry->hash_high);
  while (pointer(slots_[i]) != entry) i = (i + 1) & mask_;
  return i;
}

void EntryMap::retire_or_free(Entry* entry) {
  bytes_ -= EntryPool::cost(entry);
  if (entry->handed_out == call_) {
    retired_.push_back(entry);
  } else {
    pool_.free(entry);
  }
}

void EntryMap::resize(size_t slots) {
  std::vector<uint64_t> old(slots, 0);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  shift_ = 32 - static_cast<uint32_t>(__builtin_ctzll(slots_.size()));
  hand_ = 0;
  for (const uint64_t slot : old) {
    if (slot == 0) continue;
    size_t i = home(pointer(slot)->hash_high);
    while (slots_[i] != 0) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
}

}  // namespace sluice::state
