#include "state/rocksdb/lane_database.h"

#include <fmt/format.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "state/rocksdb/lane_database_impl.h"
#include "state/rocksdb/lane_meta.h"
#include "state/rocksdb/rocksdb_status.h"
#include "state/rocksdb/ttl_filter.h"

namespace sluice::state {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kMiB = 1ull << 20;
constexpr size_t kWriteBatchBytes = 1 * kMiB;

// RocksDB's own log says nothing that a user of sluice could act on; errors come back as statuses.
class NoLog final : public rocksdb::Logger {
 public:
  NoLog() : Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::Slice slice(std::string_view v) { return {v.data(), v.size()}; }
std::string_view view(const rocksdb::Slice& s) { return {s.data(), s.size()}; }

}  // namespace

rocksdb::DBOptions database_options(StateResources::Impl& resources) {
  rocksdb::DBOptions o;
  o.create_if_missing = true;
  o.write_buffer_manager = resources.write_buffers;
  o.info_log = std::make_shared<NoLog>();
  o.max_bgerror_resume_count = 0;
  o.max_open_files = 256;
  o.max_background_jobs = 2;
  o.max_manifest_file_size = 1 * kMiB;  // it is copied into every checkpoint
  o.stats_dump_period_sec = 0;
  o.stats_persist_period_sec = 0;
  o.skip_stats_update_on_db_open = true;
  o.avoid_flush_during_shutdown = true;  // a working directory is worthless after its run
  o.allow_concurrent_memtable_write = false;
  return o;
}

rocksdb::ColumnFamilyOptions family_options(StateResources::Impl& resources, const StateDecl* decl,
                                            const std::shared_ptr<LaneTime>& time) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = resources.block_cache;
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.format_version = 5;
  table.block_size = 8 << 10;

  rocksdb::ColumnFamilyOptions o;
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  o.compression = rocksdb::kLZ4Compression;
  o.write_buffer_size = std::clamp<uint64_t>(resources.hot.limit / 12, 1 * kMiB, 8 * kMiB);
  o.arena_block_size = 64 << 10;  // each lane has a column family per state, most of them small
  o.memtable_prefix_bloom_size_ratio = 0.02;
  o.memtable_whole_key_filtering = true;
  o.target_file_size_base = 16 * kMiB;
  o.max_bytes_for_level_base = 64 * kMiB;
  if (decl != nullptr) {
    o.compaction_filter_factory = std::make_shared<TtlFilterFactory>(time, decl->ttl_ms, decl->ttl_clock);
    // Files in which nothing is rewritten must be compacted too, or their expired entries stay.
    if (decl->ttl_ms > 0) {
      o.periodic_compaction_seconds = static_cast<uint64_t>(std::clamp<int64_t>(decl->ttl_ms / 2000, 300, 7 * 86400));
    }
  }
  return o;
}

rocksdb::WriteOptions write_options() {
  rocksdb::WriteOptions o;
  o.disableWAL = true;
  o.memtable_insert_hint_per_batch = true;
  return o;
}

Families::~Families() {
  if (db == nullptr) return;
  for (const auto& [name, handle] : handles) (void)db->DestroyColumnFamilyHandle(handle);
}

base::Status open_families(const std::string& dir, bool read_only, StateResources::Impl& resources,
                           const LaneOptions& options, const std::shared_ptr<LaneTime>& time, Families* families) {
  const std::string what = "state in " + dir;
  rocksdb::DBOptions db_options = database_options(resources);
  families->errors = std::make_shared<BackgroundErrors>();
  db_options.listeners.push_back(families->errors);
  std::vector<std::string> names;
  std::error_code ec;
  if (fs::exists(fs::path(dir) / "CURRENT", ec)) {
    if (auto s = rocksdb::DB::ListColumnFamilies(db_options, dir, &names); !s.ok()) return to_status(s, what);
  } else if (read_only) {
    return base::Status::fatal(what + " is damaged: file CURRENT is missing");
  } else {
    names.push_back(rocksdb::kDefaultColumnFamilyName);
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) {
    const auto decl = std::find_if(options.states.begin(), options.states.end(),
                                   [&](const StateDecl& d) { return family_name(d.operator_id, d.name) == name; });
    descriptors.emplace_back(name, family_options(resources, decl == options.states.end() ? nullptr : &*decl, time));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = read_only ? rocksdb::DB::OpenForReadOnly(db_options, dir, descriptors, &handles, &db)
                                           : rocksdb::DB::Open(db_options, dir, descriptors, &handles, &db);
  if (!status.ok()) return to_status(status, what);
  families->db.reset(db);
  for (size_t i = 0; i < names.size(); ++i) families->handles.emplace(names[i], handles[i]);
  return base::Status::ok();
}

base::Status read_records(const Families& families, const std::string& dir, uint32_t key_groups,
                          std::map<std::string, StoredState>* states) {
  const std::string what = "state in " + dir;
  std::unique_ptr<rocksdb::Iterator> it(families.db->NewIterator(rocksdb::ReadOptions(), families.default_family()));
  bool lane_seen = false;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string key = it->key().ToString();
    if (key == kLaneMetaKey) {
      SLUICE_TRY(check_lane_meta(view(it->value()), key_groups).in(what));
      lane_seen = true;
    } else if (StoredState state; read_state_meta(key, view(it->value()), &state)) {
      states->emplace(key, std::move(state));
    } else {
      return base::Status::fatal(fmt::format("{} is damaged: record \"{}\" cannot be read", what, key));
    }
  }
  if (!it->status().ok()) return to_status(it->status(), what);
  if (!lane_seen && !states->empty()) return base::Status::fatal(what + " is damaged: the lane's record is missing");
  // Every state has a record before its first entry is written.
  for (const auto& [name, handle] : families.handles) {
    if (name.rfind("state/", 0) == 0 && !states->contains(name)) {
      return base::Status::fatal(
          fmt::format("{} is damaged: the record of column family \"{}\" is missing", what, name));
    }
  }
  return base::Status::ok();
}

base::Status LaneDatabase::Impl::fail(const rocksdb::Status& status) {
  base::Status result = to_status(status, what);
  if (result.code() == base::Code::kRetry) must_resume = true;
  return result;
}

base::Status LaneDatabase::Impl::resume() {
  if (!must_resume) return base::Status::ok();
  families.errors->forget();
  if (auto s = db().Resume(); !s.ok()) return to_status(s, what);
  must_resume = false;
  return base::Status::ok();
}

// Once a full disk was met, RocksDB 7.8 does not wait for its flushes any more: they say OK while a memtable is still
// being written, and a checkpoint would be made without it.
base::Status LaneDatabase::Impl::flush_memtables() {
  std::vector<rocksdb::ColumnFamilyHandle*> all;
  for (const auto& [name, handle] : families.handles) all.push_back(handle);
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;  // its caller is the only one that writes
  if (auto s = db().Flush(options, all); !s.ok()) return fail(s);
  const auto is_written = [&](rocksdb::ColumnFamilyHandle* family) {
    uint64_t waiting = 0;
    db().GetIntProperty(family, rocksdb::DB::Properties::kNumImmutableMemTable, &waiting);
    return waiting == 0;
  };
  while (!std::all_of(all.begin(), all.end(), is_written)) {
    if (const rocksdb::Status s = families.errors->last(); !s.ok()) return fail(s);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return base::Status::ok();
}

base::Status LaneDatabase::Impl::write_records() {
  rocksdb::WriteBatch batch;
  rocksdb::Status s = batch.Put(families.default_family(), kLaneMetaKey, write_lane_meta(options.key_groups));
  for (const StoredState& state : stored) {
    if (s.ok()) {
      s = batch.Put(families.default_family(), family_name(state.decl.operator_id, state.decl.name),
                    write_state_meta(state));
    }
  }
  if (s.ok()) s = db().Write(write_options(), &batch);
  return s.ok() ? base::Status::ok() : fail(s);
}

LaneDatabase::LaneDatabase(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LaneDatabase::~LaneDatabase() = default;

base::Result<std::unique_ptr<LaneDatabase>> LaneDatabase::open(const std::string& dir, StateResources& resources,
                                                               const LaneOptions& options,
                                                               std::shared_ptr<LaneTime> time) {
  auto impl = std::make_unique<Impl>();
  impl->dir = dir;
  impl->what = fmt::format("state of lane {} in {}", options.lane, dir);
  impl->resources = &resources.impl();
  impl->options = options;
  impl->time = std::move(time);
  SLUICE_TRY(open_families(dir, /*read_only=*/false, resources.impl(), options, impl->time, &impl->families));

  std::map<std::string, StoredState> stored;
  SLUICE_TRY(read_records(impl->families, dir, options.key_groups, &stored));
  auto match = match_states(stored, options);
  if (!match.is_ok()) return base::Status(match.status());
  for (const std::string& name : match->dropped_families) {
    rocksdb::ColumnFamilyHandle* handle = impl->families.handles.at(name);
    rocksdb::Status s = impl->db().DropColumnFamily(handle);
    if (s.ok()) s = impl->db().Delete(write_options(), impl->families.default_family(), name);
    if (!s.ok()) return impl->fail(s);
    (void)impl->db().DestroyColumnFamilyHandle(handle);
    impl->families.handles.erase(name);
  }
  const auto family = [&](const std::string& name, const StateDecl* decl) -> base::Status {
    auto it = impl->families.handles.find(name);
    if (it == impl->families.handles.end()) {
      rocksdb::ColumnFamilyHandle* handle = nullptr;
      auto s = impl->db().CreateColumnFamily(family_options(resources.impl(), decl, impl->time), name, &handle);
      if (!s.ok()) return impl->fail(s);
      it = impl->families.handles.emplace(name, handle).first;
    }
    impl->tables.push_back(it->second);
    return base::Status::ok();
  };
  for (const StateDecl& decl : options.states) {
    const std::string name = family_name(decl.operator_id, decl.name);
    SLUICE_TRY(family(name, &decl));
    StoredState state{decl, decl.format_version, decl.compat_version};
    if (const auto it = match->kept.find(name); it != match->kept.end()) {
      state.oldest_format = std::min(state.oldest_format, it->second.oldest_format);
      state.max_compat = std::max(state.max_compat, it->second.max_compat);
    }
    impl->stored.push_back(std::move(state));
  }
  SLUICE_TRY(family(kTimersFamily, nullptr));
  SLUICE_TRY(impl->write_records());
  return std::unique_ptr<LaneDatabase>(new LaneDatabase(std::move(impl)));
}

LaneDatabase::TableId LaneDatabase::timers_table() const noexcept {
  return static_cast<TableId>(impl_->tables.size() - 1);
}

base::Status LaneDatabase::get_many(TableId table, std::span<const std::string> keys,
                                    const std::function<void(size_t, std::string_view)>& visit) {
  rocksdb::ColumnFamilyHandle* family = impl_->tables[table];
  const rocksdb::ReadOptions options;
  if (keys.size() == 1) {
    rocksdb::PinnableSlice value;
    const rocksdb::Status s = impl_->db().Get(options, family, keys[0], &value);
    if (s.ok()) visit(0, view(value));
    return s.ok() || s.IsNotFound() ? base::Status::ok() : impl_->fail(s);
  }
  constexpr size_t kBatch = 32;
  rocksdb::Slice slices[kBatch];
  rocksdb::PinnableSlice values[kBatch];
  rocksdb::Status statuses[kBatch];
  for (size_t start = 0; start < keys.size(); start += kBatch) {
    const size_t count = std::min(kBatch, keys.size() - start);
    for (size_t i = 0; i < count; ++i) slices[i] = keys[start + i];
    impl_->db().MultiGet(options, family, count, slices, values, statuses);
    for (size_t i = 0; i < count; ++i) {
      if (statuses[i].ok()) {
        visit(start + i, view(values[i]));
      } else if (!statuses[i].IsNotFound()) {
        return impl_->fail(statuses[i]);
      }
      values[i].Reset();
    }
  }
  return base::Status::ok();
}

base::Status LaneDatabase::scan(TableId table, std::string_view prefix, const EntryVisitor& visit) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) end.pop_back();
  rocksdb::ReadOptions options;
  rocksdb::Slice bound;
  if (!end.empty()) {
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    bound = end;
    options.iterate_upper_bound = &bound;
  }
  std::unique_ptr<rocksdb::Iterator> it(impl_->db().NewIterator(options, impl_->tables[table]));
  for (it->Seek(slice(prefix)); it->Valid(); it->Next()) {
    if (!visit(view(it->key()), view(it->value()))) break;
  }
  return it->status().ok() ? base::Status::ok() : impl_->fail(it->status());
}

base::Status LaneDatabase::clear(TableId table) {
  SLUICE_TRY(impl_->resume());
  const StateDecl& decl = impl_->options.states[table];
  const std::string name = family_name(decl.operator_id, decl.name);
  if (auto s = impl_->db().DropColumnFamily(impl_->tables[table]); !s.ok()) return impl_->fail(s);
  (void)impl_->db().DestroyColumnFamilyHandle(impl_->tables[table]);
  impl_->families.handles.erase(name);
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  auto s = impl_->db().CreateColumnFamily(family_options(*impl_->resources, &decl, impl_->time), name, &handle);
  if (!s.ok()) {
    // There is no table to go on with.
    impl_->tables[table] = impl_->families.default_family();
    return base::Status::fatal(impl_->fail(s).message());
  }
  impl_->families.handles.emplace(name, handle);
  impl_->tables[table] = handle;
  return base::Status::ok();
}

uint64_t LaneDatabase::estimated_entries(TableId table) const {
  uint64_t n = 0;
  impl_->db().GetIntProperty(impl_->tables[table], rocksdb::DB::Properties::kEstimateNumKeys, &n);
  return n;
}

uint64_t LaneDatabase::disk_bytes(TableId table) const {
  uint64_t files = 0;
  uint64_t memory = 0;
  impl_->db().GetIntProperty(impl_->tables[table], rocksdb::DB::Properties::kLiveSstFilesSize, &files);
  impl_->db().GetIntProperty(impl_->tables[table], rocksdb::DB::Properties::kCurSizeAllMemTables, &memory);
  return files + memory;
}

struct LaneDatabase::Writer::Impl {
  LaneDatabase::Impl* db = nullptr;
  rocksdb::WriteBatch batch;
  std::string value;

  base::Status after(const rocksdb::Status& s, Writer& writer) {
    if (!s.ok()) return db->fail(s);
    return batch.GetDataSize() >= kWriteBatchBytes ? writer.commit() : base::Status::ok();
  }
};

LaneDatabase::Writer::Writer(LaneDatabase& db) : impl_(std::make_unique<Impl>()) { impl_->db = db.impl_.get(); }
LaneDatabase::Writer::~Writer() = default;

base::Status LaneDatabase::Writer::put(TableId table, std::string_view key, const Envelope& envelope,
                                       std::string_view value) {
  char header[Envelope::kBytes];
  envelope.write(header);
  rocksdb::Slice key_part = slice(key);
  rocksdb::Slice value_parts[2] = {{header, sizeof header}, slice(value)};
  return impl_->after(impl_->batch.Put(impl_->db->tables[table], {&key_part, 1}, {value_parts, 2}), *this);
}

base::Status LaneDatabase::Writer::put_raw(TableId table, std::string_view key, std::string_view bytes) {
  return impl_->after(impl_->batch.Put(impl_->db->tables[table], slice(key), slice(bytes)), *this);
}

base::Status LaneDatabase::Writer::erase(TableId table, std::string_view key) {
  return impl_->after(impl_->batch.Delete(impl_->db->tables[table], slice(key)), *this);
}

base::Status LaneDatabase::Writer::commit() {
  if (impl_->batch.Count() == 0) return base::Status::ok();
  SLUICE_TRY(impl_->db->resume());
  const rocksdb::Status s = impl_->db->db().Write(write_options(), &impl_->batch);
  if (!s.ok()) return impl_->db->fail(s);
  impl_->batch.Clear();
  return base::Status::ok();
}

base::Status LaneDatabase::snapshot(const std::string& dir, std::vector<SnapshotFile>* files) {
  std::error_code ec;
  if (fs::exists(dir, ec)) return base::Status::bug(fmt::format("a snapshot in {} was asked for, which exists", dir));
  SLUICE_TRY(impl_->resume());
  SLUICE_TRY(impl_->flush_memtables());
  rocksdb::Checkpoint* raw = nullptr;
  rocksdb::Status s = rocksdb::Checkpoint::Create(&impl_->db(), &raw);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  // Log size 0 makes it flush the memtables; with the WAL off any other value leaves their data out and returns OK.
  if (s.ok()) s = checkpoint->CreateCheckpoint(dir, 0);
  if (!s.ok()) {
    fs::remove_all(dir, ec);
    fs::remove_all(dir + ".tmp", ec);
    return impl_->fail(s);
  }
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    files->push_back({it->path().filename().string(), static_cast<uint64_t>(it->file_size(ec))});
    if (ec) break;
  }
  if (ec) return base::Status::fatal(fmt::format("cannot read {}: {}", dir, ec.message()));
  std::sort(files->begin(), files->end(), [](const SnapshotFile& a, const SnapshotFile& b) { return a.name < b.name; });
  return base::Status::ok();
}

base::Status LaneDatabase::compact() {
  SLUICE_TRY(impl_->resume());
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  for (rocksdb::ColumnFamilyHandle* table : impl_->tables) {
    if (auto s = impl_->db().CompactRange(options, table, nullptr, nullptr); !s.ok()) return impl_->fail(s);
  }
  return base::Status::ok();
}

std::vector<StoredState> LaneDatabase::stored_states() const { return impl_->stored; }

}  // namespace sluice::state
