// What an operator declares about its state, and how keys map to key groups and lanes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::state {

enum class StateKind : uint8_t {
  kValue = 1,      // keyed: one value for each key
  kMap = 2,        // keyed: one map for each key
  kBroadcast = 3,  // one map, the same in every lane; not partitioned
  kOperator = 4,   // one map for each lane; not partitioned
};
enum class TtlClock : uint8_t { kProcessing = 1, kEvent = 2 };

const char* to_string(StateKind kind);  // "value", "map", "broadcast", "operator"
bool parse_state_kind(std::string_view text, StateKind* kind);

// One declared state. Its identity on disk is operator_id + name. Plain value.
struct StateDecl {
  std::string operator_id;  // the YAML id; must not be empty
  std::string name;         // must not be empty
  StateKind kind = StateKind::kValue;
  uint32_t format_version = 1;  // of the values that are written now, 1..65535
  uint32_t compat_version = 1;  // the oldest format that still can be read, 1..format_version
  int64_t ttl_ms = 0;           // 0: entries never expire
  TtlClock ttl_clock = TtlClock::kProcessing;
};

// A stored state: the declaration of its last writer, and the formats its entries may still have.
struct StoredState {
  StateDecl decl;
  uint32_t oldest_format = 1;  // smallest format_version any entry may have
  uint32_t max_compat = 1;     // largest compat_version any writer declared
};

// Empty when code that declares `now` can read what is stored; else the reason, for people.
std::string incompatibility(const StoredState& stored, const StateDecl& now);

// Half-open range of key groups.
struct KeyGroupRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool contains(uint32_t group) const { return group >= begin && group < end; }
  bool operator==(const KeyGroupRange&) const = default;
};

inline constexpr uint32_t kDefaultKeyGroups = 128;
inline constexpr uint32_t kMaxKeyGroups = 32768;

// XXH64 with seed 0 of the key's bytes. Part of the on-disk format: never change it (docs/on-disk-formats.md).
uint64_t key_hash(std::string_view key) noexcept;
inline uint32_t key_group_of_hash(uint64_t hash, uint32_t key_groups) noexcept {
  return static_cast<uint32_t>(hash % key_groups);
}
inline uint32_t key_group(std::string_view key, uint32_t key_groups) noexcept {
  return key_group_of_hash(key_hash(key), key_groups);
}
// Lane l of n owns the groups [l*G/n, (l+1)*G/n). n <= key_groups.
KeyGroupRange key_groups_of_lane(uint32_t lane, uint32_t lanes, uint32_t key_groups) noexcept;
uint32_t lane_of_key_group(uint32_t group, uint32_t lanes, uint32_t key_groups) noexcept;

// For metrics; sizes in bytes.
struct TableStats {
  std::string operator_id;
  std::string name;
  StateKind kind = StateKind::kValue;
  uint64_t entries = 0;         // approximate; may count entries twice that were written again and not yet compacted
  uint64_t disk_bytes = 0;      // approximate
  uint64_t cached_entries = 0;  // exact, in the hot cache (kValue, kMap) or in memory (kBroadcast, kOperator)
  uint64_t cached_bytes = 0;
  uint64_t dirty_entries = 0;
  uint64_t hits = 0, misses = 0;  // of the hot cache
  uint64_t expired = 0;           // reads that met an expired entry
};

}  // namespace sluice::state
