// Broadcast and operator state: small, read for every record, so all of it is in memory; the disk has a copy.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "state/entry_map.h"
#include "state/persistent_table.h"

namespace sluice::state {
namespace {

class MemoryTable final : public PersistentTable {
 public:
  MemoryTable(StateDecl decl, const TableContext& context)
      : PersistentTable(std::move(decl), context.db, context.id, context.time),
        current_(std::make_unique<EntryMap>()) {}

  base::Status load() override;
  base::Status flush() override;
  base::Status get_many(std::span<const std::string_view> keys, std::span<const std::string_view> subkeys,
                        std::string_view* values) override;
  base::Status get(std::string_view key, std::string_view subkey, std::string_view* value) override;
  base::Status put(std::string_view key, std::string_view subkey, std::string_view value) override;
  base::Status erase(std::string_view key, std::string_view subkey) override;
  base::Status scan(std::string_view key, const StateVisitor& visit) override;
  base::Status clear() override;
  base::Status begin_snapshot_load() override;
  base::Status end_snapshot_load() override;
  bool snapshot_load_in_progress() const noexcept override { return loading_ != nullptr; }
  void end_call() noexcept override;
  TableStats stats() const override;

 private:
  EntryMap& written() { return loading_ != nullptr ? *loading_ : *current_; }
  std::string_view read(Entry* entry);
  static void erase(EntryMap& map, Entry* entry);
  static std::vector<Entry*> all(const EntryMap& map);  // a map may not lose entries while for_each() walks it

  std::unique_ptr<EntryMap> current_;
  std::unique_ptr<EntryMap> loading_;                // null: no load in progress
  std::vector<std::unique_ptr<EntryMap>> replaced_;  // views of them may still be in use
  uint64_t expired_ = 0;
};

base::Status MemoryTable::load() {
  base::Status damaged;
  SLUICE_TRY(db_.scan(id_, {}, [&](std::string_view key, std::string_view bytes) {
    int64_t expiry_ms = 0;
    std::string_view value;
    damaged = open_envelope(bytes, &expiry_ms, &value);
    if (!damaged.is_ok()) return false;
    const uint64_t hash = key_hash(key);
    Entry* entry = current_->set_value(current_->insert(hash, key, {}, value.size()), hash, value);
    entry->expiry_ms = expiry_ms;
    entry->set(Entry::kPresent);
    entry->set(Entry::kOnDisk);
    return true;
  }));
  return damaged;
}

std::string_view MemoryTable::read(Entry* entry) {
  if (entry == nullptr || !entry->has(Entry::kPresent)) return {};
  if (clock_.expired(entry->expiry_ms)) {
    ++expired_;
    erase(*current_, entry);
    return {};
  }
  if (entry->expiry_ms == 0 && clock_.has_ttl()) {
    entry->expiry_ms = clock_.expiry_of_write();
    if (entry->expiry_ms != 0) entry->set(Entry::kDirty);
  }
  return current_->hand_out(entry);
}

base::Status MemoryTable::get(std::string_view key, std::string_view /*subkey*/, std::string_view* value) {
  *value = read(current_->find(key_hash(key), key, {}));
  return base::Status::ok();
}

base::Status MemoryTable::get_many(std::span<const std::string_view> keys,
                                   std::span<const std::string_view> /*subkeys*/, std::string_view* values) {
  for (size_t i = 0; i < keys.size(); ++i) values[i] = read(current_->find(key_hash(keys[i]), keys[i], {}));
  return base::Status::ok();
}

base::Status MemoryTable::put(std::string_view key, std::string_view /*subkey*/, std::string_view value) {
  if (key.size() > (size_t{1} << 30) || value.size() > (size_t{1} << 30)) {
    return base::Status::bad_record(name_for_messages() + ": a key or value is larger than 1 GiB");
  }
  const uint64_t hash = key_hash(key);
  EntryMap& map = written();
  Entry* entry = map.find(hash, key, {});
  if (entry == nullptr) entry = map.insert(hash, key, {}, value.size());
  entry = map.set_value(entry, hash, value);
  entry->expiry_ms = clock_.expiry_of_write();
  entry->set(Entry::kPresent);
  entry->set(Entry::kDirty);
  return base::Status::ok();
}

std::vector<Entry*> MemoryTable::all(const EntryMap& map) {
  std::vector<Entry*> entries;
  entries.reserve(map.size());
  map.for_each([&](Entry* entry) { entries.push_back(entry); });
  return entries;
}

// What the disk has is remembered until flush() has deleted it there.
void MemoryTable::erase(EntryMap& map, Entry* entry) {
  if (!entry->has(Entry::kOnDisk)) return map.remove(entry);
  entry->unset(Entry::kPresent);
  entry->set(Entry::kDirty);
}

base::Status MemoryTable::erase(std::string_view key, std::string_view /*subkey*/) {
  EntryMap& map = written();
  Entry* entry = map.find(key_hash(key), key, {});
  if (entry != nullptr) erase(map, entry);
  return base::Status::ok();
}

base::Status MemoryTable::scan(std::string_view /*key*/, const StateVisitor& visit) {
  std::vector<std::pair<std::string_view, std::string_view>> entries;
  for (Entry* entry : all(*current_)) {
    if (const std::string_view value = read(entry); value.data() != nullptr) entries.emplace_back(entry->key(), value);
  }
  std::sort(entries.begin(), entries.end());
  for (const auto& [key, value] : entries) {
    if (!visit(key, value)) break;
  }
  return base::Status::ok();
}

base::Status MemoryTable::clear() {
  EntryMap& map = written();
  for (Entry* entry : all(map)) erase(map, entry);
  return base::Status::ok();
}

base::Status MemoryTable::begin_snapshot_load() {
  if (decl_.kind != StateKind::kBroadcast) return StateTable::begin_snapshot_load();
  loading_ = std::make_unique<EntryMap>();
  return base::Status::ok();
}

base::Status MemoryTable::end_snapshot_load() {
  if (decl_.kind != StateKind::kBroadcast) return StateTable::end_snapshot_load();
  if (loading_ == nullptr) return base::Status::bug(name_for_messages() + ": no snapshot load is in progress");
  // What the old map has on disk is overwritten, or deleted when the new map does not have it.
  current_->for_each([&](Entry* old) {
    if (!old->has(Entry::kOnDisk)) return;
    const uint64_t hash = key_hash(old->key());
    Entry* entry = loading_->find(hash, old->key(), {});
    if (entry == nullptr) entry = loading_->insert(hash, old->key(), {}, 0);
    entry->set(Entry::kOnDisk);
    entry->set(Entry::kDirty);
  });
  replaced_.push_back(std::move(current_));
  current_ = std::move(loading_);
  return base::Status::ok();
}

void MemoryTable::end_call() noexcept {
  current_->end_call();
  replaced_.clear();
  clock_.end_call();
}

base::Status MemoryTable::flush() {
  LaneDatabase::Writer writer(db_);
  std::vector<Entry*> dirty;
  current_->for_each([&](Entry* entry) {
    if (entry->has(Entry::kDirty)) dirty.push_back(entry);
  });
  std::sort(dirty.begin(), dirty.end(), [](const Entry* a, const Entry* b) { return a->key() < b->key(); });
  for (Entry* entry : dirty) {
    if (entry->has(Entry::kPresent)) {
      entry->set(Entry::kOnDisk);  // before it is known: an earlier batch may stay when a later one fails
      SLUICE_TRY(writer.put(id_, entry->key(), envelope_for(entry->value(), entry->expiry_ms), entry->value()));
    } else if (entry->has(Entry::kOnDisk)) {
      SLUICE_TRY(writer.erase(id_, entry->key()));
    }
  }
  SLUICE_TRY(writer.commit());
  for (Entry* entry : dirty) {
    entry->unset(Entry::kDirty);
    if (!entry->has(Entry::kPresent)) current_->remove(entry);
  }
  return base::Status::ok();
}

TableStats MemoryTable::stats() const {
  TableStats s;
  s.operator_id = decl_.operator_id;
  s.name = decl_.name;
  s.kind = decl_.kind;
  current_->for_each([&](const Entry* entry) {
    s.entries += entry->has(Entry::kPresent) ? 1 : 0;
    s.dirty_entries += entry->has(Entry::kDirty) ? 1 : 0;
  });
  s.disk_bytes = db_.disk_bytes(id_);
  s.cached_entries = current_->size();
  s.cached_bytes = current_->bytes() + (loading_ != nullptr ? loading_->bytes() : 0);
  s.expired = expired_;
  return s;
}

}  // namespace

std::unique_ptr<PersistentTable> make_memory_table(StateDecl decl, const TableContext& context) {
  return std::make_unique<MemoryTable>(std::move(decl), context);
}

}  // namespace sluice::state
