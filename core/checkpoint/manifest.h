// What a checkpoint consists of; manifest.json. Format: docs/on-disk-formats.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::checkpoint {

inline constexpr uint32_t kManifestFormat = 1;  // what this version writes
inline constexpr uint32_t kManifestCompat = 1;  // the oldest reader that can read what this version writes

struct ManifestState {
  std::string name;
  std::string kind;  // value, map, broadcast, operator
  uint32_t format = 1;
  uint32_t compat = 1;
  uint32_t oldest_format = 1;  // entries may still have it (state::StoredState)
  int64_t ttl_ms = 0;
  uint64_t entries = 0;  // approximate, for people
};

struct ManifestOperator {
  std::string id;
  std::string type;     // "tumbling_window"
  std::string version;  // of the plugin
  uint32_t parallelism = 1;
  std::string key;      // text of the key declaration; empty: none
  uint64_t timers = 0;  // pending, all lanes
  std::string inputs;   // ids of the operators it reads, with commas between them; empty: none, or not known
  std::vector<ManifestState> states;
};

struct ManifestSplit {
  std::string id;
  std::string position;       // opaque bytes (base64 in JSON)
  std::string position_text;  // for people
  uint32_t position_version = 1;
  uint32_t lane = 0;  // that read it
  int64_t max_event_time_ms = INT64_MIN;  // INT64_MIN: none seen
  bool snapshot_complete = false;
  bool ended = false;
};
struct ManifestSource {
  std::string operator_id;
  std::vector<ManifestSplit> splits;
  bool started = false;  // each lane had been given its splits, in this run or before: what comes later was added
};

struct ManifestWatermark {
  std::string operator_id;
  uint32_t lane = 0;
  int64_t watermark_ms = INT64_MIN;
};

struct ManifestGate {
  std::string operator_id;
  bool open = false;
};

struct ManifestFile {
  std::string name;  // a lane's files: as RocksDB names them
  std::string sha256;
  uint64_t size = 0;
};
struct ManifestLane {
  uint32_t lane = 0;
  uint32_t key_group_begin = 0;  // half-open
  uint32_t key_group_end = 0;
  std::vector<ManifestFile> files;
};

// Whose state the lane with this number holds: each stateful operator has a store of its own in each of its lanes.
struct ManifestStore {
  uint32_t lane = 0;  // ManifestLane::lane
  std::string operator_id;
  uint32_t phase = 0;  // 0: the whole operator, 1: first phase of two, 2: second phase
  uint32_t operator_lane = 0;
  uint32_t operator_lanes = 1;
};

struct ManifestSpool {
  std::string operator_id;
  uint32_t lane = 0;
  uint64_t checkpoint = 0;  // whose barrier ended it, and under whose number the sink gets it: this one or an earlier one
  std::string file;  // relative to the checkpoint's folder
  std::string sha256;
  uint64_t size = 0;
  uint64_t rows = 0;
};
struct ManifestExtraFile {
  std::string kind;
  std::string file;  // relative to the checkpoint's folder
  std::string sha256;
  uint64_t size = 0;
};

// Plain value.
struct Manifest {
  uint64_t number = 0;
  std::string lineage;
  std::string parent_lineage;  // of the checkpoint the run started from; empty: from scratch
  uint64_t parent_number = 0;  // meaningful when parent_lineage is not empty
  int64_t created_ms = 0;
  std::string pipeline;
  std::string sluice_version;
  uint32_t parallelism = 1;
  uint32_t key_groups = 128;
  std::vector<ManifestOperator> operators;
  std::vector<ManifestSource> sources;
  std::vector<ManifestWatermark> watermarks;
  std::vector<ManifestGate> gates;
  std::vector<ManifestStore> stores;     // one for each of `lanes`
  std::vector<ManifestLane> lanes;       // filled by PendingCheckpoint
  std::vector<ManifestSpool> spools;     // filled by PendingCheckpoint; those of a lane oldest first
  std::vector<ManifestExtraFile> files;  // filled by PendingCheckpoint

  const ManifestOperator* find_operator(std::string_view id) const;
  const ManifestSource* find_source(std::string_view operator_id) const;
  const ManifestLane* find_lane(uint32_t lane) const;
};

std::string base64_encode(std::string_view bytes);
bool base64_decode(std::string_view text, std::string* bytes);

// The whole file: {"sha256":"…","manifest":{…}}\n; the checksum covers the bytes of the inner object.
std::string write_manifest(const Manifest& manifest);
// kUnsupported: written by a newer version that this one cannot read. kFatal: damaged; says how.
base::Result<Manifest> read_manifest(std::string_view text);

}  // namespace sluice::checkpoint
