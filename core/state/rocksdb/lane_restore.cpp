// Bringing old lanes' snapshots into a lane's working directory, and the resources that lanes share.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "state/rocksdb/lane_database_impl.h"
#include "state/rocksdb/lane_meta.h"
#include "state/rocksdb/rocksdb_status.h"

namespace sluice::state {
namespace {

namespace fs = std::filesystem;

base::Status file_error(const std::error_code& ec, const std::string& what) {
  if (ec.value() == ENOSPC || ec.value() == EDQUOT || ec.value() == EFBIG) {
    return base::Status::retry(fmt::format("no space: {}: {}", what, ec.message()), 1000);
  }
  return base::Status::fatal(fmt::format("{}: {}", what, ec.message()));
}

base::Status list_files(const std::string& dir, std::vector<fs::path>* files) {
  std::error_code ec;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) files->push_back(it->path());
  return ec ? file_error(ec, "cannot read " + dir) : base::Status::ok();
}

std::string_view view(const rocksdb::Slice& s) { return {s.data(), s.size()}; }

// The operator that a timer's key on disk belongs to.
std::string_view timer_operator(std::string_view key) {
  uint64_t size = 0;
  if (key.size() < 2) return {};
  key.remove_prefix(2);
  if (!take_varint(&key, &size) || size > key.size()) return {};
  return key.substr(0, size);
}

bool has_value(std::string_view entry, std::string_view value) {
  Envelope envelope;
  std::string_view its;
  return Envelope::read(entry, &envelope, &its) && its == value;
}

base::Status two_values(const StateDecl& decl, std::string_view name) {
  std::string shown(name);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return base::Status::fatal(fmt::format(
      "operator \"{0}\", state \"{1}\": two lanes of the checkpoint have the entry \"{2}\" with different values, and one lane would take "
      "over both. Start with as many lanes as the checkpoint has, or give the state up with --drop-state {0}/{1}",
      decl.operator_id, decl.name, shown));
}

}  // namespace

StateResources::StateResources(StateResourcesOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->clock = options.clock != nullptr ? options.clock : &impl_->system_clock;
  impl_->hot.limit = options.memory_bytes / 4 * 3;
  impl_->block_cache = rocksdb::NewLRUCache(options.memory_bytes / 4, /*num_shard_bits=*/2);
  impl_->write_buffers = std::make_shared<rocksdb::WriteBufferManager>(options.memory_bytes / 8, impl_->block_cache);
}
StateResources::~StateResources() = default;
const base::Clock& StateResources::clock() const noexcept { return *impl_->clock; }
uint64_t StateResources::hot_cache_bytes() const noexcept { return impl_->hot.used.load(std::memory_order_relaxed); }
HotCacheBudget& hot_cache_budget(StateResources& resources) noexcept { return resources.impl().hot; }

base::Status take_over_files(const std::string& from, const std::string& to) {
  std::error_code ec;
  if (!fs::create_directories(to, ec) && ec) return file_error(ec, "cannot create " + to);
  std::vector<fs::path> files;
  SLUICE_TRY(list_files(from, &files));
  for (const fs::path& file : files) {
    const fs::path target = fs::path(to) / file.filename();
    // SST files are never changed, only unlinked; RocksDB goes on writing to the others.
    if (file.extension() == ".sst" && ::link(file.c_str(), target.c_str()) == 0) continue;
    if (!fs::copy_file(file, target, ec)) return file_error(ec, "cannot copy " + file.string() + " to " + to);
  }
  return base::Status::ok();
}

base::Status LaneStore::remove_working_dir(const std::string& dir) {
  std::error_code ec;
  if (!fs::exists(dir, ec)) return base::Status::ok();
  std::vector<fs::path> files;
  SLUICE_TRY(list_files(dir, &files));
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    const std::string extension = file.extension().string();
    const bool ours = extension == ".sst" || extension == ".log" || extension == ".dbtmp" || name == "CURRENT" ||
                      name == "IDENTITY" || name == "LOCK" || name.rfind("LOG", 0) == 0 ||
                      name.rfind("MANIFEST-", 0) == 0 || name.rfind("OPTIONS-", 0) == 0;
    if (!ours) {
      return base::Status::fatal(
          fmt::format("{} holds \"{}\", which is not state of a lane: it is left alone", dir, name));
    }
  }
  fs::remove_all(dir, ec);
  if (ec) return file_error(ec, "cannot remove " + dir);
  return base::Status::ok();
}

base::Status LaneDatabase::import(const LaneSource& source, bool take_broadcast, bool take_operator_state,
                                  RestoreReport* report) {
  Families old;
  SLUICE_TRY(open_families(source.dir, /*read_only=*/true, *impl_->resources, impl_->options, impl_->time, &old));
  std::map<std::string, StoredState> stored;
  SLUICE_TRY(read_records(old, source.dir, impl_->options.key_groups, &stored));
  auto match = match_states(stored, impl_->options);
  if (!match.is_ok()) return base::Status(match.status());

  const KeyGroupRange range = impl_->options.range;
  Writer writer(*this);
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  // Copies what `accept` lets through; keyed tables only within the range.
  const auto copy = [&](rocksdb::ColumnFamilyHandle* family, TableId table, bool keyed,
                        const auto& accept) -> base::Status {
    std::string begin;
    std::string end;
    append_u16_be(&begin, range.begin);
    append_u16_be(&end, range.end);
    std::unique_ptr<rocksdb::Iterator> it(old.db->NewIterator(options, family));
    for (keyed ? it->Seek(begin) : it->SeekToFirst(); it->Valid(); it->Next()) {
      if (keyed && it->key().compare(end) >= 0) break;
      if (!accept(view(it->key()), view(it->value()))) continue;
      SLUICE_TRY(writer.put_raw(table, view(it->key()), view(it->value())));
    }
    return to_status(it->status(), "state in " + source.dir);
  };

  for (TableId table = 0; table < impl_->options.states.size(); ++table) {
    const StateDecl& decl = impl_->options.states[table];
    const std::string name = family_name(decl.operator_id, decl.name);
    const auto kept = match->kept.find(name);
    if (kept == match->kept.end()) continue;
    impl_->stored[table].oldest_format = std::min(impl_->stored[table].oldest_format, kept->second.oldest_format);
    impl_->stored[table].max_compat = std::max(impl_->stored[table].max_compat, kept->second.max_compat);
    if (decl.kind == StateKind::kBroadcast && !take_broadcast) continue;
    if (decl.kind == StateKind::kOperator && !take_operator_state) continue;
    const bool keyed = decl.kind == StateKind::kValue || decl.kind == StateKind::kMap;
    std::vector<std::string> one(1);
    base::Status failed;
    SLUICE_TRY(copy(old.handles.at(name), table, keyed, [&](std::string_view key, std::string_view bytes) {
      Envelope envelope;
      std::string_view value;
      if (!Envelope::read(bytes, &envelope, &value)) {
        failed = base::Status::fatal(
            fmt::format("state in {} is damaged: operator \"{}\", state \"{}\": an entry cannot be read", source.dir,
                        decl.operator_id, decl.name));
        return false;
      }
      if (envelope.clock() == TtlClock::kProcessing &&
          is_expired(envelope.expiry_ms, impl_->time->now_ms(TtlClock::kProcessing))) {
        return false;
      }
      if (decl.kind == StateKind::kOperator) {
        bool there = false;
        bool same = false;
        one[0] = key;
        if (failed.is_ok()) failed = writer.commit();
        if (failed.is_ok()) {
          failed = get_many(table, one, [&](size_t, std::string_view other) {
            there = true;
            same = has_value(other, value);
          });
        }
        if (failed.is_ok() && there && !same) failed = two_values(decl, key);
        if (there || !failed.is_ok()) return false;
      }
      ++report->entries_copied;
      return true;
    }));
    SLUICE_TRY(std::move(failed));
  }
  if (const auto timers = old.handles.find(kTimersFamily); timers != old.handles.end()) {
    SLUICE_TRY(copy(timers->second, timers_table(), /*keyed=*/true, [&](std::string_view key, std::string_view) {
      return !is_dropped(impl_->options, timer_operator(key));
    }));
  }
  SLUICE_TRY(writer.commit());
  return impl_->write_records();
}

}  // namespace sluice::state
