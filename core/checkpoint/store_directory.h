// Names and contents of a store's directory; no locking, no policy.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/manifest.h"

namespace sluice::checkpoint {

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr char kPinName[] = "PINNED";

// What the store remembers beside its checkpoints: file STORE.
struct StoreRecord {
  uint64_t last_number = 0;    // given out
  uint64_t last_complete = 0;  // 0: none yet, or all were removed on purpose
  std::string lineage;         // of the current run; empty: there was no run yet
  std::string parent_lineage;
  uint64_t parent_number = 0;
};

// A store's directory. Plain value over a path; methods read what is there now. Thread-safe.
class StoreDirectory {
 public:
  explicit StoreDirectory(std::string dir) : dir_(std::move(dir)) {}

  const std::string& path() const noexcept { return dir_; }
  std::string shared() const { return dir_ + "/shared"; }
  std::string checkpoint(uint64_t number) const;  // chk-0000000012
  std::string pending(uint64_t number) const;     // .tmp-0000000012
  std::string removed(uint64_t number) const;     // .del-0000000012
  std::string manifest(uint64_t number) const { return checkpoint(number) + "/" + kManifestName; }
  static std::string lane_folder(uint32_t lane);  // lane-0000
  static bool is_shared(const ManifestFile& file);
  static std::string shared_name(const std::string& sha256, uint64_t size);
  std::string lane_file(uint64_t number, uint32_t lane, const ManifestFile& file) const;
  std::string relative(const std::string& path) const;

  enum class Kind { kCheckpoint, kPending, kRemoved };
  base::Result<std::vector<uint64_t>> numbers(Kind kind) const;  // ascending
  base::Result<std::vector<std::string>> shared_files() const;   // names

  base::Status read_record(std::optional<StoreRecord>* record) const;  // nullopt: there is no file
  base::Status write_record(const StoreRecord& record) const;

  // kFatal: damaged or missing, kUnsupported: foreign. The message does not name the file.
  base::Result<Manifest> read_manifest(uint64_t number) const;
  // Every file of a checkpoint: its path and what it must be. `visit(path, label, sha256, size)`.
  template <class Visit>
  void for_each_file(const Manifest& m, Visit&& visit) const {
    for (const ManifestLane& lane : m.lanes) {
      for (const ManifestFile& file : lane.files) {
        const std::string path = lane_file(m.number, lane.lane, file);
        visit(path, is_shared(file) ? " (lane " + std::to_string(lane.lane) + ": " + file.name + ")" : std::string(),
              file.sha256, file.size);
      }
    }
    const std::string folder = checkpoint(m.number) + "/";
    for (const ManifestSpool& spool : m.spools) visit(folder + spool.file, std::string(), spool.sha256, spool.size);
    for (const ManifestExtraFile& file : m.files) visit(folder + file.file, std::string(), file.sha256, file.size);
  }
  // with_contents: reads every byte; else existence and sizes only.
  VerifyReport verify(uint64_t number, bool with_contents, Manifest* manifest, bool* foreign) const;

 private:
  std::string dir_;
};

std::set<std::string> shared_names(const Manifest& manifest);

}  // namespace sluice::checkpoint
