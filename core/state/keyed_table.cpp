// Keyed state: a write-back cache of hot keys in front of RocksDB.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "state/entry_map.h"
#include "state/key_filter.h"
#include "state/persistent_table.h"

namespace sluice::state {
namespace {

constexpr size_t kLargestPart = (size_t{1} << 30);  // of key, subkey or value
constexpr size_t kUsageStep = 32 << 10;             // the shared counter is told of changes of this size
constexpr size_t kLookAhead = 16;

uint64_t hash_of_pair(uint64_t key, uint64_t subkey) {
  uint64_t h = (key ^ (subkey + 0x9E3779B97F4A7C15ull + (key << 6))) * 0xC2B2AE3D27D4EB4Full;
  h = (h ^ (h >> 32)) * 0x165667B19E3779F9ull;
  return h ^ (h >> 29);
}
// What KeyFilter knows a whole key of a map by, beside the pairs.
uint64_t hash_of_map(uint64_t key) { return hash_of_pair(key, 0x9FB21C651E98DF25ull) + 1; }

class KeyedTable final : public PersistentTable {
 public:
  KeyedTable(StateDecl decl, const TableContext& context)
      : PersistentTable(std::move(decl), context.db, context.id, context.time),
        is_map_(decl_.kind == StateKind::kMap),
        key_groups_(context.key_groups),
        filter_bytes_(context.filter_bytes),
        budget_(context.budget),
        filter_(context.filter_bytes) {
    budget_.tables.fetch_add(1);
  }
  ~KeyedTable() override {
    budget_.used.fetch_sub(published_);
    budget_.tables.fetch_sub(1);
  }

  base::Status load() override;
  base::Status flush() override;
  base::Status get_many(std::span<const std::string_view> keys, std::span<const std::string_view> subkeys,
                        std::string_view* values) override;
  base::Status get(std::string_view key, std::string_view subkey, std::string_view* value) override;
  base::Status put(std::string_view key, std::string_view subkey, std::string_view value) override;
  base::Status erase(std::string_view key, std::string_view subkey) override;
  base::Status scan(std::string_view key, const StateVisitor& visit) override;
  base::Status clear() override;
  void end_call() noexcept override;
  TableStats stats() const override;

 private:
  struct Row {  // of a scan; positions in its text
    size_t subkey = 0, subkey_size = 0, value = 0, value_size = 0;
    bool present = true;
  };
  struct Dirty {
    uint64_t order;  // first bytes of the key on disk
    Entry* entry;
    uint64_t hash;
  };

  uint64_t hash_of(uint64_t key_hash, std::string_view subkey) const {
    return is_map_ ? hash_of_pair(key_hash, state::key_hash(subkey)) : key_hash;
  }
  std::string disk_key(uint64_t key_hash, std::string_view key, std::string_view subkey) const {
    std::string out;
    out.reserve(key.size() + subkey.size() + 5);
    append_keyed_prefix(&out, key_group_of_hash(key_hash, key_groups_), key);
    out.append(subkey);
    return out;
  }
  base::Status take_deferred() {
    base::Status status = std::move(deferred_);
    deferred_ = base::Status::ok();
    return status;
  }
  bool has_deferred() const { return !deferred_.is_ok(); }

  std::string_view read(Entry* entry, uint64_t key_hash);
  Entry* insert(uint64_t hash, std::string_view key, std::string_view subkey);
  void mark_dirty(Entry* entry, uint64_t key_hash);
  void replace_in_index(Entry* from, Entry* to, uint64_t key_hash);
  base::Status read_missing(std::span<const size_t> rows, std::span<const uint64_t> key_hashes,
                            std::span<const std::string_view> keys, std::span<const std::string_view> subkeys,
                            std::string_view* values);
  void publish_usage(bool exactly) noexcept;
  void evict() noexcept;
  void add_to_filter(std::string_view key, std::string_view subkey);

  const bool is_map_;
  const uint32_t key_groups_;
  const size_t filter_bytes_;
  HotCacheBudget& budget_;
  EntryMap map_;
  KeyFilter filter_;
  std::unordered_map<uint64_t, std::vector<Entry*>> dirty_of_key_;  // kMap: by key_hash, so that scan() finds them
  std::deque<std::string> scans_;                                   // texts of this call's scans
  base::Status deferred_;                                           // of an eviction
  uint64_t published_ = 0;
  size_t dirty_ = 0;
  size_t new_entries_ = 0;  // dirty, present, not on disk
  size_t value_room_ = 16;  // for a key that is looked up and will probably be put
  bool touched_ = false;    // since the last end_call()
  uint64_t hits_ = 0, misses_ = 0, expired_ = 0;
};

base::Status KeyedTable::load() {
  const uint64_t estimate = db_.estimated_entries(id_);
  if (estimate > filter_bytes_ / KeyFilter::kBytesPerKey) {
    filter_.give_up();
    return base::Status::ok();
  }
  base::Status damaged;
  SLUICE_TRY(db_.scan(id_, {}, [&](std::string_view key, std::string_view) {
    KeyedKey parsed;
    if (!parse_keyed_key(key, &parsed)) {
      damaged = base::Status::fatal(name_for_messages() + " is damaged: a key cannot be read");
      return false;
    }
    add_to_filter(parsed.key, parsed.subkey);
    return !filter_.gave_up();
  }));
  publish_usage(true);
  return damaged;
}

void KeyedTable::add_to_filter(std::string_view key, std::string_view subkey) {
  const uint64_t key_hash = state::key_hash(key);
  filter_.add(hash_of(key_hash, subkey));
  if (is_map_) filter_.add(hash_of_map(key_hash));
}

// The entry's value as it is now. It may have expired, or have been stored without an expiry.
std::string_view KeyedTable::read(Entry* entry, uint64_t key_hash) {
  if (!entry->has(Entry::kReferenced)) entry->set(Entry::kReferenced);
  if (!entry->has(Entry::kPresent)) return {};
  if (entry->expiry_ms != 0) {
    if (clock_.expired(entry->expiry_ms)) {
      ++expired_;
      entry->unset(
          Entry::kPresent);  // a dirty one becomes a deletion: the disk may have an older one that lives longer
      if (entry->has(Entry::kDirty) && !entry->has(Entry::kOnDisk)) --new_entries_;
      return {};
    }
  } else if (clock_.has_ttl()) {
    entry->expiry_ms = clock_.expiry_of_write();
    if (entry->expiry_ms != 0) mark_dirty(entry, key_hash);
  }
  return map_.hand_out(entry);
}

Entry* KeyedTable::insert(uint64_t hash, std::string_view key, std::string_view subkey) {
  return map_.insert(hash, key, subkey, value_room_);
}

void KeyedTable::mark_dirty(Entry* entry, uint64_t key_hash) {
  if (entry->has(Entry::kDirty)) return;
  entry->set(Entry::kDirty);
  ++dirty_;
  if (is_map_) dirty_of_key_[key_hash].push_back(entry);
}

void KeyedTable::replace_in_index(Entry* from, Entry* to, uint64_t key_hash) {
  std::vector<Entry*>& entries = dirty_of_key_[key_hash];
  std::replace(entries.begin(), entries.end(), from, to);
}

base::Status KeyedTable::get(std::string_view key, std::string_view subkey, std::string_view* value) {
  if (has_deferred()) return take_deferred();
  touched_ = true;
  if (!is_map_) subkey = {};
  const uint64_t key_hash = state::key_hash(key);
  const uint64_t hash = hash_of(key_hash, subkey);
  if (Entry* entry = map_.find(hash, key, subkey); entry != nullptr) {
    ++hits_;
    *value = read(entry, key_hash);
    return base::Status::ok();
  }
  const size_t row = 0;
  return read_missing({&row, 1}, {&key_hash, 1}, {&key, 1}, {&subkey, 1}, value);
}

base::Status KeyedTable::get_many(std::span<const std::string_view> keys, std::span<const std::string_view> subkeys,
                                  std::string_view* values) {
  if (has_deferred()) return take_deferred();
  if (is_map_ && subkeys.size() != keys.size())
    return base::Status::bug(name_for_messages() + ": one subkey per key is needed");
  touched_ = true;
  uint64_t key_hashes[kLookAhead];
  uint64_t hashes[kLookAhead];
  std::string_view parts[kLookAhead];
  size_t missing[kLookAhead];
  for (size_t start = 0; start < keys.size(); start += kLookAhead) {
    const size_t count = std::min(kLookAhead, keys.size() - start);
    for (size_t i = 0; i < count; ++i) {
      parts[i] = is_map_ ? subkeys[start + i] : std::string_view{};
      key_hashes[i] = state::key_hash(keys[start + i]);
      hashes[i] = hash_of(key_hashes[i], parts[i]);
      map_.prefetch_slot(hashes[i]);
    }
    for (size_t i = 0; i < count; ++i) map_.prefetch_entry(hashes[i]);
    size_t misses = 0;
    for (size_t i = 0; i < count; ++i) {
      Entry* entry = map_.find(hashes[i], keys[start + i], parts[i]);
      if (entry != nullptr) {
        ++hits_;
        values[start + i] = read(entry, key_hashes[i]);
      } else {
        missing[misses++] = i;
      }
    }
    if (misses > 0) {
      SLUICE_TRY(read_missing({missing, misses}, {key_hashes, count}, keys.subspan(start, count), {parts, count},
                              values + start));
    }
  }
  return base::Status::ok();
}

// Puts an entry into the cache for each row that is not there, present or absent.
base::Status KeyedTable::read_missing(std::span<const size_t> rows, std::span<const uint64_t> key_hashes,
                                      std::span<const std::string_view> keys, std::span<const std::string_view> subkeys,
                                      std::string_view* values) {
  misses_ += rows.size();
  std::vector<std::string> wanted;
  size_t wanted_rows[kLookAhead];
  for (const size_t row : rows) {
    const uint64_t hash = hash_of(key_hashes[row], subkeys[row]);
    values[row] = {};
    if (filter_.may_contain(hash)) {
      wanted_rows[wanted.size()] = row;
      wanted.push_back(disk_key(key_hashes[row], keys[row], subkeys[row]));
    } else if (map_.find(hash, keys[row], subkeys[row]) == nullptr) {  // a key may be in the batch twice
      insert(hash, keys[row], subkeys[row]);
    }
  }
  if (wanted.empty()) return base::Status::ok();
  base::Status damaged;
  bool found[kLookAhead] = {};
  SLUICE_TRY(db_.get_many(id_, wanted, [&](size_t i, std::string_view bytes) {
    const size_t row = wanted_rows[i];
    const uint64_t hash = hash_of(key_hashes[row], subkeys[row]);
    int64_t expiry_ms = 0;
    std::string_view value;
    if (base::Status s = open_envelope(bytes, &expiry_ms, &value); !s.is_ok()) {
      damaged = std::move(s);
      return;
    }
    found[i] = true;
    Entry* entry = map_.find(hash, keys[row], subkeys[row]);
    if (entry == nullptr) {
      entry = map_.insert(hash, keys[row], subkeys[row], value.size());
      entry->expiry_ms = expiry_ms;
      entry->set(Entry::kPresent);
      entry->set(Entry::kOnDisk);
      entry = map_.set_value(entry, hash, value);
    }
    values[row] = read(entry, key_hashes[row]);
  }));
  if (!damaged.is_ok()) return damaged;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t row = wanted_rows[i];
    const uint64_t hash = hash_of(key_hashes[row], subkeys[row]);
    if (!found[i] && map_.find(hash, keys[row], subkeys[row]) == nullptr) insert(hash, keys[row], subkeys[row]);
  }
  return base::Status::ok();
}

base::Status KeyedTable::put(std::string_view key, std::string_view subkey, std::string_view value) {
  if (has_deferred()) return take_deferred();
  if (key.size() > kLargestPart || subkey.size() > kLargestPart || value.size() > kLargestPart) {
    return base::Status::bad_record(name_for_messages() + ": a key or value is larger than 1 GiB");
  }
  touched_ = true;
  if (!is_map_) subkey = {};
  const uint64_t key_hash = state::key_hash(key);
  const uint64_t hash = hash_of(key_hash, subkey);
  Entry* entry = map_.find(hash, key, subkey);
  if (entry == nullptr) {
    entry = map_.insert(hash, key, subkey, value.size());
    if (filter_.may_contain(hash)) entry->set(Entry::kOnDisk);
  }
  value_room_ = std::min<size_t>(value.size(), 64);
  Entry* moved = map_.set_value(entry, hash, value);
  if (moved != entry && is_map_ && moved->has(Entry::kDirty)) replace_in_index(entry, moved, key_hash);
  entry = moved;
  if (!entry->has(Entry::kOnDisk) && !(entry->has(Entry::kDirty) && entry->has(Entry::kPresent))) ++new_entries_;
  entry->set(Entry::kPresent);
  entry->set(Entry::kReferenced);
  entry->expiry_ms = clock_.expiry_of_write();
  mark_dirty(entry, key_hash);
  return base::Status::ok();
}

base::Status KeyedTable::erase(std::string_view key, std::string_view subkey) {
  if (has_deferred()) return take_deferred();
  touched_ = true;
  if (!is_map_) subkey = {};
  const uint64_t key_hash = state::key_hash(key);
  const uint64_t hash = hash_of(key_hash, subkey);
  Entry* entry = map_.find(hash, key, subkey);
  if (entry == nullptr) {
    if (!filter_.may_contain(hash)) return base::Status::ok();
    entry = map_.insert(hash, key, subkey, 0);
    entry->set(Entry::kOnDisk);
  } else if (!entry->has(Entry::kOnDisk) && entry->has(Entry::kDirty) && entry->has(Entry::kPresent)) {
    --new_entries_;
  }
  entry->unset(Entry::kPresent);
  if (entry->has(Entry::kOnDisk)) mark_dirty(entry, key_hash);
  return base::Status::ok();
}

base::Status KeyedTable::scan(std::string_view key, const StateVisitor& visit) {
  if (has_deferred()) return take_deferred();
  if (!is_map_) return base::Status::unsupported(name_for_messages() + ": value state cannot be scanned");
  touched_ = true;
  const uint64_t key_hash = state::key_hash(key);
  std::string text;
  std::vector<Row> rows;
  const auto append = [&](std::string_view subkey, std::string_view value, bool present) {
    Row row{text.size(), subkey.size(), text.size() + subkey.size(), value.size(), present};
    text.append(subkey).append(value);
    rows.push_back(row);
  };
  if (filter_.may_contain(hash_of_map(key_hash))) {
    const std::string prefix = disk_key(key_hash, key, {});
    base::Status damaged;
    SLUICE_TRY(db_.scan(id_, prefix, [&](std::string_view found, std::string_view bytes) {
      int64_t expiry_ms = 0;
      std::string_view value;
      damaged = open_envelope(bytes, &expiry_ms, &value);
      if (!damaged.is_ok()) return false;
      if (!clock_.expired(expiry_ms)) append(found.substr(prefix.size()), value, true);
      return true;
    }));
    if (!damaged.is_ok()) return damaged;
  }
  const size_t from_disk = rows.size();
  if (const auto dirty = dirty_of_key_.find(key_hash); dirty != dirty_of_key_.end()) {
    for (const Entry* entry : dirty->second) {
      if (entry->key() != key) continue;  // another key with the same hash
      append(entry->subkey(), entry->value(), entry->has(Entry::kPresent) && !clock_.expired(entry->expiry_ms));
    }
  }
  const std::string& kept = scans_.emplace_back(std::move(text));
  const auto subkey_of = [&](const Row& row) { return std::string_view(kept.data() + row.subkey, row.subkey_size); };
  const auto by_subkey = [&](const Row& a, const Row& b) { return subkey_of(a) < subkey_of(b); };
  std::sort(rows.begin() + static_cast<std::ptrdiff_t>(from_disk), rows.end(), by_subkey);
  size_t disk = 0;
  size_t cached = from_disk;
  while (disk < from_disk || cached < rows.size()) {
    const bool take_cached = cached < rows.size() && (disk == from_disk || !by_subkey(rows[disk], rows[cached]));
    // What is cached and dirty is newer than the same subkey on disk.
    if (take_cached && disk < from_disk && subkey_of(rows[disk]) == subkey_of(rows[cached])) ++disk;
    const Row& row = take_cached ? rows[cached++] : rows[disk++];
    if (row.present && !visit(subkey_of(row), std::string_view(kept.data() + row.value, row.value_size))) break;
  }
  return base::Status::ok();
}

base::Status KeyedTable::clear() {
  if (has_deferred()) return take_deferred();
  touched_ = true;
  if (!filter_.empty()) SLUICE_TRY(db_.clear(id_));
  map_.clear();
  filter_.clear();
  dirty_of_key_.clear();
  dirty_ = 0;
  new_entries_ = 0;
  return base::Status::ok();
}

base::Status KeyedTable::flush() {
  if (has_deferred()) SLUICE_TRY(take_deferred());
  if (dirty_ == 0) return base::Status::ok();
  std::vector<Dirty> dirty;
  dirty.reserve(dirty_);
  map_.for_each([&](Entry* entry) {
    if (!entry->has(Entry::kDirty)) return;
    const uint64_t key_hash = state::key_hash(entry->key());
    uint64_t order = uint64_t{key_group_of_hash(key_hash, key_groups_)} << 48 | uint64_t{entry->key_size & 0xFFu} << 40;
    char first[8] = {};
    std::memcpy(first, entry->data(), std::min<size_t>(5, entry->key_size));
    order |= read_u64_be(first) >> 24;
    dirty.push_back({order, entry, key_hash});
  });
  // RocksDB's memtable takes sorted keys much faster. Ties are rare; any order is correct.
  std::sort(dirty.begin(), dirty.end(), [](const Dirty& a, const Dirty& b) {
    if (a.order != b.order) return a.order < b.order;
    const int keys = a.entry->key().compare(b.entry->key());
    return keys != 0 ? keys < 0 : a.entry->subkey() < b.entry->subkey();
  });
  LaneDatabase::Writer writer(db_);
  std::string key;
  for (const Dirty& d : dirty) {
    Entry* entry = d.entry;
    const bool present = entry->has(Entry::kPresent) && !clock_.expired(entry->expiry_ms);
    if (!present && !entry->has(Entry::kOnDisk)) continue;
    if (present) {  // before it is known: an earlier batch may stay when a later one fails
      if (!entry->has(Entry::kOnDisk)) --new_entries_;
      entry->set(Entry::kOnDisk);
      filter_.add(hash_of(d.hash, entry->subkey()));
      if (is_map_) filter_.add(hash_of_map(d.hash));
    }
    key.clear();
    append_keyed_prefix(&key, key_group_of_hash(d.hash, key_groups_), entry->key());
    key.append(entry->subkey());
    SLUICE_TRY(present ? writer.put(id_, key, envelope_for(entry->value(), entry->expiry_ms), entry->value())
                       : writer.erase(id_, key));
  }
  SLUICE_TRY(writer.commit());
  for (const Dirty& d : dirty) {
    const bool present = d.entry->has(Entry::kPresent) && !clock_.expired(d.entry->expiry_ms);
    d.entry->unset(Entry::kDirty);
    if (present) continue;
    d.entry->unset(Entry::kPresent);
    d.entry->unset(Entry::kOnDisk);
  }
  dirty_of_key_.clear();
  dirty_ = 0;
  new_entries_ = 0;
  clock_.end_call();  // or the next call would see the time of this flush
  return base::Status::ok();
}

void KeyedTable::publish_usage(bool exactly) noexcept {
  const uint64_t now = map_.bytes() + filter_.bytes();
  const uint64_t change = now > published_ ? now - published_ : published_ - now;
  if (!exactly && change < kUsageStep) return;
  if (now > published_) {
    budget_.used.fetch_add(change, std::memory_order_relaxed);
  } else {
    budget_.used.fetch_sub(change, std::memory_order_relaxed);
  }
  published_ = now;
}

void KeyedTable::evict() noexcept {
  // A quarter at a time, so that the flush before it pays.
  const size_t filter = filter_.bytes();
  const size_t share = static_cast<size_t>(budget_.share());
  const uint64_t used = budget_.used.load(std::memory_order_relaxed);
  const uint64_t excess = std::min(published_, used > budget_.limit ? used - budget_.limit : 0);
  const size_t own = std::max<size_t>(share, published_ - excess);
  const size_t target = own > filter ? (own - filter) / 4 * 3 : 0;
  if (map_.bytes() <= target) return;
  if (dirty_ > 0) {
    if (base::Status s = flush(); !s.is_ok()) {
      deferred_ = std::move(s);
      return;
    }
  }
  map_.evict(target, [](const Entry* entry) { return !entry->has(Entry::kDirty); });
  publish_usage(true);
}

void KeyedTable::end_call() noexcept {
  if (!touched_) return;
  touched_ = false;
  map_.end_call();
  scans_.clear();
  clock_.end_call();
  publish_usage(false);
  if (budget_.must_evict(published_)) evict();
}

TableStats KeyedTable::stats() const {
  TableStats s;
  s.operator_id = decl_.operator_id;
  s.name = decl_.name;
  s.kind = decl_.kind;
  s.entries = db_.estimated_entries(id_) + new_entries_;
  s.disk_bytes = db_.disk_bytes(id_);
  s.cached_entries = map_.size();
  s.cached_bytes = map_.bytes() + filter_.bytes();
  s.dirty_entries = dirty_;
  s.hits = hits_;
  s.misses = misses_;
  s.expired = expired_;
  return s;
}

}  // namespace

std::unique_ptr<PersistentTable> make_keyed_table(StateDecl decl, const TableContext& context) {
  return std::make_unique<KeyedTable>(std::move(decl), context);
}

}  // namespace sluice::state
