#include "checkpoint/checkpoint_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>

#include "base/failpoint.h"
#include "checkpoint/durable_file.h"
#include "checkpoint/store_directory.h"
#include "checkpoint/store_impl.h"

namespace sluice::checkpoint {
namespace {

namespace fs = std::filesystem;
using Kind = StoreDirectory::Kind;

std::string random_lineage() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", device());
  return id;
}

}  // namespace

const char* to_string(CheckpointHealth health) {
  switch (health) {
    case CheckpointHealth::kComplete:
      return "complete";
    case CheckpointHealth::kDamaged:
      return "damaged";
    case CheckpointHealth::kIncomplete:
      return "incomplete";
    case CheckpointHealth::kForeign:
      return "foreign";
  }
  return "unknown";
}

CheckpointStore::CheckpointStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointStore::~CheckpointStore() = default;
const std::string& CheckpointStore::dir() const noexcept { return impl_->dir.path(); }

base::Result<std::unique_ptr<CheckpointStore>> CheckpointStore::open(const std::string& dir, StoreOptions options) {
  auto impl = std::make_unique<Impl>(dir);
  impl->options = std::move(options);
  impl->options.keep = std::max(1u, impl->options.keep);
  impl->clock = impl->options.clock != nullptr ? impl->options.clock : &impl->system_clock;
  SLUICE_TRY(create_directory(dir));
  SLUICE_TRY(impl->lock.acquire(dir));
  SLUICE_TRY(create_directory(impl->dir.shared()));
  std::optional<StoreRecord> record;
  SLUICE_TRY(impl->dir.read_record(&record));
  if (record) impl->record = *record;
  SLUICE_TRY(impl->clean_up());
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(std::move(impl)));
}

base::Result<std::unique_ptr<CheckpointStore>> CheckpointStore::open_read_only(const std::string& dir) {
  auto impl = std::make_unique<Impl>(dir);
  impl->read_only = true;
  impl->clock = &impl->system_clock;
  std::optional<StoreRecord> record;
  std::error_code ec;
  if (!fs::is_directory(dir, ec))
    return base::Status::fatal(fmt::format("there are no checkpoints: {} is not a directory", dir));
  SLUICE_TRY(impl->dir.read_record(&record));
  if (record) impl->record = *record;
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(std::move(impl)));
}

base::Status CheckpointStore::Impl::writable() const {
  return read_only ? base::Status::bug("the checkpoint store was opened for reading") : base::Status::ok();
}

base::Status CheckpointStore::Impl::clean_up() {
  for (const Kind kind : {Kind::kPending, Kind::kRemoved}) {
    auto left = dir.numbers(kind);
    if (!left.is_ok()) return left.status();
    for (const uint64_t number : left.value()) {
      record.last_number = std::max(record.last_number, number);
      SLUICE_FAILPOINT("checkpoint.in_cleanup");
      SLUICE_TRY(remove_tree(kind == Kind::kPending ? dir.pending(number) : dir.removed(number)));
    }
  }
  bool unreadable = false;
  auto numbers = dir.numbers(Kind::kCheckpoint);
  if (!numbers.is_ok()) return numbers.status();
  for (const uint64_t number : numbers.value()) {
    record.last_number = std::max(record.last_number, number);
    if (auto manifest = dir.read_manifest(number); manifest.is_ok()) {
      shared_of.emplace(number, shared_names(manifest.value()));
    } else {
      unreadable = true;
    }
  }
  if (unreadable) {
    auto files = dir.shared_files();
    if (!files.is_ok()) return files.status();
    shared_of_unreadable.insert(files->begin(), files->end());
  }
  return remove_unreferenced();
}

base::Status CheckpointStore::Impl::remove_unreferenced() {
  auto files = dir.shared_files();
  if (!files.is_ok()) return files.status();
  for (const std::string& name : files.value()) {
    const bool used =
        shared_of_pending.contains(name) || shared_of_unreadable.contains(name) ||
        std::any_of(shared_of.begin(), shared_of.end(), [&](const auto& c) { return c.second.contains(name); });
    if (used) continue;
    const std::string path = dir.shared() + "/" + name;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error(errno, "cannot remove " + path);
  }
  return base::Status::ok();
}

// First the name goes, at once and durably; then the contents; shared files last: at no moment does a checkpoint that
// can be seen refer to something that was removed.
base::Status CheckpointStore::Impl::remove_checkpoint(uint64_t number, Pinned pinned) {
  SLUICE_TRY(rename_path(dir.checkpoint(number), dir.removed(number)));
  // Another process may have pinned it since it was looked at; from here on none can.
  if (pinned == Pinned::kStays && ::access((dir.removed(number) + "/" + kPinName).c_str(), F_OK) == 0)
    return rename_path(dir.removed(number), dir.checkpoint(number));
  SLUICE_TRY(sync_directory(dir.path()));
  shared_of.erase(number);
  SLUICE_FAILPOINT("checkpoint.in_retention");
  return remove_tree(dir.removed(number));
}

bool CheckpointStore::Impl::is_pinned(uint64_t number) const {
  return ::access((dir.checkpoint(number) + "/" + kPinName).c_str(), F_OK) == 0;
}

base::Status CheckpointStore::Impl::retain() {
  auto numbers = dir.numbers(Kind::kCheckpoint);
  if (!numbers.is_ok()) return numbers.status();
  uint32_t restorable = 0;
  uint32_t of_this_lineage = 0;
  bool removed = false;
  for (auto it = numbers->rbegin(); it != numbers->rend(); ++it) {
    if (!shared_of.contains(*it)) continue;  // what cannot be read is for people to remove
    if (restorable >= options.keep) {
      if (is_pinned(*it)) continue;
      // `--from` may name it again, and newer ones than it are still there.
      if (*it == record.parent_number && of_this_lineage < options.keep) continue;
      SLUICE_FAILPOINT("checkpoint.before_retention");
      SLUICE_TRY(remove_checkpoint(*it, Pinned::kStays));
      removed = true;
      continue;
    }
    Manifest manifest;
    bool foreign = false;
    if (!dir.verify(*it, /*with_contents=*/false, &manifest, &foreign).is_ok()) continue;
    ++restorable;
    if (manifest.lineage == record.lineage) ++of_this_lineage;
  }
  if (!removed) return base::Status::ok();
  SLUICE_FAILPOINT("checkpoint.before_shared_removal");
  return remove_unreferenced();
}

std::vector<CheckpointInfo> CheckpointStore::list() const {
  std::vector<CheckpointInfo> infos;
  if (auto numbers = impl_->dir.numbers(Kind::kPending); numbers.is_ok()) {
    for (const uint64_t number : numbers.value()) {
      CheckpointInfo info;
      info.number = number;
      info.problem = "is being written, or its process ended before it was complete";
      infos.push_back(std::move(info));
    }
  }
  if (auto numbers = impl_->dir.numbers(Kind::kCheckpoint); numbers.is_ok()) {
    for (const uint64_t number : numbers.value()) {
      CheckpointInfo info;
      Manifest manifest;
      bool foreign = false;
      const VerifyReport report = impl_->dir.verify(number, /*with_contents=*/false, &manifest, &foreign);
      if (!report.is_ok() && ::access(impl_->dir.checkpoint(number).c_str(), F_OK) != 0)
        continue;  // retention was quicker
      info.number = number;
      info.health = foreign          ? CheckpointHealth::kForeign
                    : report.is_ok() ? CheckpointHealth::kComplete
                                     : CheckpointHealth::kDamaged;
      info.problem = report.text();
      info.lineage = manifest.lineage;
      info.created_ms = manifest.created_ms;
      info.bytes = report.bytes;
      info.pinned = impl_->is_pinned(number);
      infos.push_back(std::move(info));
    }
  }
  std::sort(infos.begin(), infos.end(),
            [](const CheckpointInfo& a, const CheckpointInfo& b) { return a.number < b.number; });
  return infos;
}

base::Result<Manifest> CheckpointStore::load(uint64_t number) const {
  if (::access(impl_->dir.checkpoint(number).c_str(), F_OK) != 0) {
    return base::Status::fatal(fmt::format("there is no checkpoint {} in {}", number, dir()));
  }
  base::Result<Manifest> manifest = impl_->dir.read_manifest(number);
  if (manifest.is_ok()) return manifest;
  return base::Status(manifest.status().code(),
                      fmt::format("checkpoint {}: {}: {}", number, impl_->dir.relative(impl_->dir.manifest(number)),
                                  manifest.status().message()),
                      0);
}

base::Result<VerifyReport> CheckpointStore::verify(uint64_t number) const {
  if (::access(impl_->dir.checkpoint(number).c_str(), F_OK) != 0) {
    return base::Status::fatal(fmt::format("there is no checkpoint {} in {}", number, dir()));
  }
  Manifest manifest;
  bool foreign = false;
  VerifyReport report = impl_->dir.verify(number, /*with_contents=*/true, &manifest, &foreign);
  if (!report.is_ok() && ::access(impl_->dir.checkpoint(number).c_str(), F_OK) != 0) {
    return base::Status::fatal(fmt::format("checkpoint {} was removed while it was being verified", number));
  }
  return report;
}

base::Result<Manifest> CheckpointStore::load_verified(uint64_t number) const {
  auto report = verify(number);
  if (!report.is_ok()) return report.status();
  if (!report->is_ok()) return base::Status::fatal(fmt::format("checkpoint {} is damaged: {}", number, report->text()));
  return load(number);
}

base::Result<Manifest> CheckpointStore::latest(std::vector<uint64_t>* abandoned) const {
  return impl_->newest(/*skip_damaged=*/false, nullptr, abandoned);
}
base::Result<Manifest> CheckpointStore::latest_usable(std::vector<std::string>* skipped) const {
  return impl_->newest(/*skip_damaged=*/true, skipped, nullptr);
}

std::string CheckpointStore::Impl::parent_is_gone(const StoreRecord& now, uint64_t newest) const {
  return fmt::format(
      "checkpoint {}, from which the last run started, is not in {} any more; checkpoint {} is of the run before that "
      "one: --from {} goes on from it",
      now.parent_number, dir.path(), newest, newest);
}

bool CheckpointStore::Impl::is_abandoned(uint64_t number, const StoreRecord& now) const {
  if (now.lineage.empty() || number <= now.parent_number) return false;
  const auto manifest = dir.read_manifest(number);
  return manifest.is_ok() && manifest->lineage != now.lineage;
}

base::Result<Manifest> CheckpointStore::Impl::newest(bool skip_damaged, std::vector<std::string>* skipped,
                                                     std::vector<uint64_t>* abandoned) const {
  auto numbers = dir.numbers(Kind::kCheckpoint);
  if (!numbers.is_ok()) return numbers.status();
  std::vector<std::string> problems;
  StoreRecord now;
  {
    const std::lock_guard guard(mutex);
    now = record;
  }
  if (now.last_complete > (numbers->empty() ? 0 : numbers->back())) {
    problems.push_back(
        fmt::format("checkpoint {} was completed but is not in {} any more", now.last_complete, dir.path()));
  }
  std::vector<uint64_t> passed_over;
  for (auto it = numbers->rbegin(); it != numbers->rend(); ++it) {
    if (problems.empty() && is_abandoned(*it, now)) {
      passed_over.push_back(*it);
      continue;
    }
    if (problems.empty() && !passed_over.empty() && *it < now.parent_number)
      problems.push_back(parent_is_gone(now, passed_over.front()));
    Manifest manifest;
    bool foreign = false;
    const VerifyReport report = dir.verify(*it, /*with_contents=*/true, &manifest, &foreign);
    if (!report.is_ok()) {
      problems.push_back(
          fmt::format("checkpoint {} {}: {}", *it, foreign ? "cannot be read" : "is damaged", report.text()));
      continue;
    }
    if (problems.empty() || skip_damaged) {
      if (skipped != nullptr) *skipped = std::move(problems);
      if (abandoned != nullptr) *abandoned = std::move(passed_over);
      return manifest;
    }
    return base::Status::fatal(
        fmt::format("{}\nthe newest usable checkpoint before it is {}: --from {}", fmt::join(problems, "\n"), *it, *it));
  }
  if (problems.empty() && !passed_over.empty() && now.parent_number != 0)
    problems.push_back(parent_is_gone(now, passed_over.front()));
  if (problems.empty()) {
    if (abandoned != nullptr) *abandoned = std::move(passed_over);
    return Manifest{};
  }
  return base::Status::fatal(fmt::format("{}\nthere is no usable checkpoint before it", fmt::join(problems, "\n")));
}

base::Status CheckpointStore::begin_run(const Manifest* restored) {
  SLUICE_TRY(impl_->writable());
  auto numbers = impl_->dir.numbers(Kind::kCheckpoint);
  if (!numbers.is_ok()) return numbers.status();
  const std::lock_guard guard(impl_->mutex);
  StoreRecord record = impl_->record;
  const bool goes_on = restored != nullptr && !numbers->empty() && restored->number == numbers->back() &&
                       restored->lineage == record.lineage;
  if (!goes_on) {
    record.lineage = random_lineage();
    record.parent_lineage = restored != nullptr ? restored->lineage : "";
    record.parent_number = restored != nullptr ? restored->number : 0;
  }
  impl_->record = std::move(record);
  impl_->run_began = true;
  return base::Status::ok();
}

base::Status CheckpointStore::confirm_run() {
  SLUICE_TRY(impl_->writable());
  const std::lock_guard guard(impl_->mutex);
  return impl_->dir.write_record(impl_->record);
}

std::string CheckpointStore::lineage() const {
  const std::lock_guard guard(impl_->mutex);
  return impl_->record.lineage;
}

base::Result<uint64_t> CheckpointStore::reserve_number() {
  SLUICE_TRY(impl_->writable());
  const std::lock_guard guard(impl_->mutex);
  if (!impl_->run_began) return base::Status::bug("a checkpoint number was asked for before the run began");
  StoreRecord record = impl_->record;
  ++record.last_number;
  SLUICE_TRY(impl_->dir.write_record(record));
  SLUICE_FAILPOINT("checkpoint.after_number");
  impl_->record = std::move(record);
  return impl_->record.last_number;
}

base::Status CheckpointStore::materialize_lane(const Manifest& manifest, uint32_t lane,
                                               const std::string& target) const {
  const ManifestLane* files = manifest.find_lane(lane);
  if (files == nullptr) return base::Status::fatal(fmt::format("checkpoint {} has no lane {}", manifest.number, lane));
  std::error_code ec;
  if (fs::exists(target, ec)) return base::Status::bug(target + " exists already");
  SLUICE_TRY(create_directory(target));
  for (const ManifestFile& file : files->files) {
    const std::string from = impl_->dir.lane_file(manifest.number, lane, file);
    const std::string to = target + "/" + file.name;
    // Only SST files are never written to again.
    base::Status status = StoreDirectory::is_shared(file) ? link_or_copy(from, to) : copy_file(from, to);
    if (!status.is_ok()) {
      (void)remove_tree(target);
      return std::move(status).in(fmt::format("checkpoint {}, lane {}", manifest.number, lane));
    }
  }
  return base::Status::ok();
}

std::string CheckpointStore::path_of(const Manifest& manifest, std::string_view file) const {
  return impl_->dir.checkpoint(manifest.number) + "/" + std::string(file);
}

base::Status CheckpointStore::pin(uint64_t number) const {
  const std::lock_guard guard(impl_->mutex);
  if (::access(impl_->dir.checkpoint(number).c_str(), F_OK) != 0) {
    return base::Status::fatal(fmt::format("there is no checkpoint {} in {}", number, dir()));
  }
  SLUICE_TRY(write_file(impl_->dir.checkpoint(number) + "/" + kPinName, ""));
  return sync_directory(impl_->dir.checkpoint(number));
}

base::Status CheckpointStore::unpin(uint64_t number) const {
  const std::lock_guard guard(impl_->mutex);
  if (::access(impl_->dir.checkpoint(number).c_str(), F_OK) != 0) {
    return base::Status::fatal(fmt::format("there is no checkpoint {} in {}", number, dir()));
  }
  const std::string path = impl_->dir.checkpoint(number) + "/" + kPinName;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error(errno, "cannot remove " + path);
  return base::Status::ok();
}

base::Status CheckpointStore::remove(uint64_t number) {
  SLUICE_TRY(impl_->writable());
  const std::lock_guard guard(impl_->mutex);
  if (::access(impl_->dir.checkpoint(number).c_str(), F_OK) != 0) {
    return base::Status::fatal(fmt::format("there is no checkpoint {} in {}", number, dir()));
  }
  // Recorded first: a newest checkpoint that was removed on purpose is not missed at the next start.
  if (impl_->record.last_complete == number) {
    auto numbers = impl_->dir.numbers(Kind::kCheckpoint);
    if (!numbers.is_ok()) return numbers.status();
    std::erase(numbers.value(), number);
    StoreRecord record = impl_->record;
    record.last_complete = numbers->empty() ? 0 : numbers->back();
    SLUICE_TRY(impl_->dir.write_record(record));
    impl_->record = std::move(record);
  }
  SLUICE_TRY(impl_->remove_checkpoint(number, Impl::Pinned::kGoes));
  // Files kept for a manifest that cannot be read are free when the last such manifest is gone.
  auto left = impl_->dir.numbers(Kind::kCheckpoint);
  if (!left.is_ok()) return left.status();
  if (std::all_of(left->begin(), left->end(), [&](uint64_t n) { return impl_->shared_of.contains(n); })) {
    impl_->shared_of_unreadable.clear();
  }
  return impl_->remove_unreferenced();
}

base::Status CheckpointStore::retention_status() const {
  const std::lock_guard guard(impl_->mutex);
  return impl_->retention_status;
}

uint64_t CheckpointStore::shared_bytes() const {
  uint64_t bytes = 0;
  auto files = impl_->dir.shared_files();
  if (!files.is_ok()) return 0;
  for (const std::string& name : files.value()) {
    struct stat info;
    if (::stat((impl_->dir.shared() + "/" + name).c_str(), &info) == 0) bytes += static_cast<uint64_t>(info.st_size);
  }
  return bytes;
}

}  // namespace sluice::checkpoint
