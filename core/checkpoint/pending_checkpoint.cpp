#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <mutex>

#include "base/failpoint.h"
#include "checkpoint/durable_file.h"
#include "checkpoint/sha256.h"
#include "checkpoint/store_impl.h"

namespace sluice::checkpoint {
namespace {

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name.find("..") == std::string::npos && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// Operator ids are the user's: only letters that are safe in a file name stay.
std::string file_name_of(const std::string& operator_id) {
  std::string out = operator_id.substr(0, 64);
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  }
  return out;
}

}  // namespace

struct PendingCheckpoint::Impl {
  CheckpointStore::Impl* store = nullptr;
  uint64_t number = 0;
  std::string folder;
  bool ended = false;

  std::mutex mutex;  // over all below
  base::Status failed;
  std::vector<ManifestLane> lanes;
  std::vector<ManifestSpool> spools;
  std::vector<ManifestExtraFile> files;
  std::set<std::string> folders;  // below `folder`, to be synced
  uint32_t spool_count = 0;

  ~Impl() {
    if (!ended) abandon();
  }
  void abandon();
  base::Status remember(base::Status status);
  base::Status add_lane(const state::SnapshotFiles& snapshot, ManifestLane* lane);
  base::Status add_shared(const std::string& path, const ManifestFile& file);
  base::Status take(const std::string& from, const std::string& name, bool may_link, std::string* sha256,
                    uint64_t* size);
  base::Status write(const Manifest& manifest);
};

PendingCheckpoint::PendingCheckpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PendingCheckpoint::PendingCheckpoint(PendingCheckpoint&&) noexcept = default;
PendingCheckpoint& PendingCheckpoint::operator=(PendingCheckpoint&&) noexcept = default;
PendingCheckpoint::~PendingCheckpoint() = default;
uint64_t PendingCheckpoint::number() const noexcept { return impl_->number; }

base::Result<PendingCheckpoint> CheckpointStore::begin(uint64_t number) {
  SLUICE_TRY(impl_->writable());
  {
    const std::lock_guard guard(impl_->mutex);
    if (impl_->has_pending) return base::Status::bug("another checkpoint is being written");
    if (number == 0 || number > impl_->record.last_number) {
      return base::Status::bug(fmt::format("checkpoint number {} was not reserved", number));
    }
    if (::access(impl_->dir.checkpoint(number).c_str(), F_OK) == 0) {
      return base::Status::bug(fmt::format("checkpoint {} exists already", number));
    }
    impl_->has_pending = true;
  }
  auto pending = std::make_unique<PendingCheckpoint::Impl>();
  pending->store = impl_.get();
  pending->number = number;
  pending->folder = impl_->dir.pending(number);
  SLUICE_FAILPOINT("checkpoint.before_files");
  SLUICE_TRY(remove_tree(pending->folder));
  SLUICE_TRY(create_directory(pending->folder));
  return PendingCheckpoint(std::move(pending));
}

void PendingCheckpoint::Impl::abandon() {
  ended = true;
  (void)remove_tree(folder);  // what is left is removed at the next start
  const std::lock_guard guard(store->mutex);
  store->has_pending = false;
  store->shared_of_pending.clear();
  (void)store->remove_unreferenced();
}

base::Status PendingCheckpoint::Impl::remember(base::Status status) {
  if (!status.is_ok()) {
    const std::lock_guard guard(mutex);
    if (failed.is_ok()) failed = status;
  }
  return status;
}

base::Status PendingCheckpoint::Impl::take(const std::string& from, const std::string& name, bool may_link,
                                           std::string* sha256, uint64_t* size) {
  const std::string to = folder + "/" + name;
  const std::string parent = to.substr(0, to.rfind('/'));
  SLUICE_TRY(create_directory(parent));
  {
    const std::lock_guard guard(mutex);
    for (std::string f = parent; f.size() > folder.size(); f = f.substr(0, f.rfind('/'))) folders.insert(f);
  }
  SLUICE_TRY(may_link ? link_or_copy(from, to) : copy_file(from, to));
  return sha256_of_file(to, sha256, size);
}

base::Status PendingCheckpoint::Impl::add_shared(const std::string& path, const ManifestFile& file) {
  const std::string name = StoreDirectory::shared_name(file.sha256, file.size);
  const std::string target = store->dir.shared() + "/" + name;
  {
    const std::lock_guard guard(store->mutex);
    store->shared_of_pending.insert(name);  // before it is looked for: it must not be removed in between
  }
  struct stat info;
  if (::stat(target.c_str(), &info) == 0) {
    if (static_cast<uint64_t>(info.st_size) == file.size) return base::Status::ok();
    if (::unlink(target.c_str()) != 0)
      return file_error(errno, "cannot replace " + target);  // damaged: a whole one is here
  }
  if (::link(path.c_str(), target.c_str()) == 0) return sync_file(target);
  if (errno == EEXIST) return base::Status::ok();  // another lane had the same bytes
  if (errno == ENOSPC || errno == EDQUOT) return file_error(errno, "cannot link " + target);
  const std::string temporary = fmt::format("{}.{}.tmp", target, ::gettid());
  base::Status status = copy_file(path, temporary);
  if (status.is_ok()) status = rename_path(temporary, target);
  if (!status.is_ok()) ::unlink(temporary.c_str());
  return status;
}

base::Status PendingCheckpoint::Impl::add_lane(const state::SnapshotFiles& snapshot, ManifestLane* lane) {
  lane->lane = snapshot.lane;
  lane->key_group_begin = snapshot.range.begin;
  lane->key_group_end = snapshot.range.end;
  std::map<std::string, CheckpointStore::Impl::Known> known;
  {
    const std::lock_guard guard(store->mutex);
    known = store->checksums[snapshot.incarnation];
  }
  std::map<std::string, CheckpointStore::Impl::Known> seen;
  for (const state::SnapshotFile& snapshot_file : snapshot.files) {
    ManifestFile file{snapshot_file.name, {}, snapshot_file.size};
    const std::string path = snapshot.dir + "/" + file.name;
    if (!StoreDirectory::is_shared(file)) {
      // Copied: RocksDB links OPTIONS files of several snapshots to one, and damage of one would be damage of all.
      SLUICE_TRY(take(path, StoreDirectory::lane_folder(lane->lane) + "/" + file.name, /*may_link=*/false, &file.sha256,
                      &file.size));
    } else {
      const auto it = known.find(file.name);
      if (it != known.end() && it->second.size == file.size) {
        file.sha256 = it->second.sha256;
      } else {
        SLUICE_TRY(sha256_of_file(path, &file.sha256, &file.size));
      }
      seen[file.name] = {file.size, file.sha256};
      SLUICE_TRY(add_shared(path, file));
    }
    SLUICE_FAILPOINT("checkpoint.in_files");
    lane->files.push_back(std::move(file));
  }
  const std::lock_guard guard(store->mutex);
  store->checksums[snapshot.incarnation] = std::move(seen);  // files that are gone do not come back
  return base::Status::ok();
}

base::Status PendingCheckpoint::add_lane_state(const state::SnapshotFiles& snapshot) {
  ManifestLane lane;
  SLUICE_TRY(impl_->remember(impl_->add_lane(snapshot, &lane)));
  const std::lock_guard guard(impl_->mutex);
  impl_->lanes.push_back(std::move(lane));
  return base::Status::ok();
}

base::Status PendingCheckpoint::add_spool(const std::string& operator_id, uint32_t lane, uint64_t checkpoint, uint64_t rows,
                                          const std::string& path) {
  ManifestSpool spool;
  spool.operator_id = operator_id;
  spool.lane = lane;
  spool.checkpoint = checkpoint;
  spool.rows = rows;
  {
    const std::lock_guard guard(impl_->mutex);
    spool.file = fmt::format("spools/{:04}-{}-{:04}", impl_->spool_count++, file_name_of(operator_id), lane);
  }
  SLUICE_TRY(impl_->remember(impl_->take(path, spool.file, /*may_link=*/true, &spool.sha256, &spool.size)));
  const std::lock_guard guard(impl_->mutex);
  impl_->spools.push_back(std::move(spool));
  return base::Status::ok();
}

base::Status PendingCheckpoint::add_file(const std::string& kind, const std::string& name, const std::string& path) {
  if (!is_plain_name(kind) || !is_plain_name(name)) {
    return impl_->remember(base::Status::bug(fmt::format("\"{}\" of kind \"{}\" cannot be a file's name", name, kind)));
  }
  ManifestExtraFile file;
  file.kind = kind;
  file.file = "files/" + kind + "/" + name;
  SLUICE_TRY(impl_->remember(impl_->take(path, file.file, /*may_link=*/true, &file.sha256, &file.size)));
  const std::lock_guard guard(impl_->mutex);
  impl_->files.push_back(std::move(file));
  return base::Status::ok();
}

base::Status PendingCheckpoint::Impl::write(const Manifest& manifest) {
  SLUICE_FAILPOINT("checkpoint.after_files");
  for (const std::string& f : folders) SLUICE_TRY(sync_directory(f));
  SLUICE_TRY(sync_directory(store->dir.shared()));
  SLUICE_FAILPOINT("checkpoint.before_manifest");
  SLUICE_TRY(write_file(folder + "/" + kManifestName, write_manifest(manifest)));
  SLUICE_TRY(sync_directory(folder));
  SLUICE_FAILPOINT("checkpoint.after_manifest");
  SLUICE_TRY(rename_path(folder, store->dir.checkpoint(number)));
  SLUICE_FAILPOINT("checkpoint.after_rename");
  base::Status status = sync_directory(store->dir.path());
  // Whether it is there after a power failure is not known: then it must not be there now.
  if (!status.is_ok()) (void)rename_path(store->dir.checkpoint(number), folder);
  return status;
}

base::Result<Manifest> PendingCheckpoint::complete(Manifest manifest) {
  CheckpointStore::Impl& store = *impl_->store;
  {
    const std::lock_guard guard(impl_->mutex);
    if (!impl_->failed.is_ok()) return base::Status(impl_->failed);
    const auto by_lane = [](const auto& a, const auto& b) { return a.lane < b.lane; };
    std::sort(impl_->lanes.begin(), impl_->lanes.end(), by_lane);
    std::sort(impl_->spools.begin(), impl_->spools.end(), [](const ManifestSpool& a, const ManifestSpool& b) {
      return std::tie(a.operator_id, a.lane, a.checkpoint) < std::tie(b.operator_id, b.lane, b.checkpoint);
    });
    manifest.lanes = impl_->lanes;
    manifest.spools = impl_->spools;
    manifest.files = impl_->files;
  }
  manifest.number = impl_->number;
  manifest.created_ms = store.clock->now_ms();
  if (!store.options.sluice_version.empty()) manifest.sluice_version = store.options.sluice_version;
  {
    const std::lock_guard guard(store.mutex);
    manifest.lineage = store.record.lineage;
    manifest.parent_lineage = store.record.parent_lineage;
    manifest.parent_number = store.record.parent_number;
  }
  if (base::Status s = impl_->write(manifest); !s.is_ok()) {
    impl_->abandon();
    return s;
  }
  impl_->ended = true;

  const std::lock_guard guard(store.mutex);
  store.has_pending = false;
  store.shared_of.emplace(impl_->number, shared_names(manifest));
  store.shared_of_pending.clear();
  StoreRecord record = store.record;
  record.last_complete = impl_->number;
  base::Status status = store.dir.write_record(record);
  store.record = std::move(record);
  if (status.is_ok()) status = store.retain();
  store.retention_status = std::move(status);
  return manifest;
}

}  // namespace sluice::checkpoint
