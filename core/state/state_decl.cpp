#include "state/state_decl.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice::state {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ull;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Full;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ull;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ull;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ull;

inline uint64_t rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }
// Little endian; the supported platforms are.
inline uint64_t read64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint64_t read32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint64_t round(uint64_t lane, uint64_t input) { return rotate(lane + input * kPrime2, 31) * kPrime1; }
inline uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ round(0, lane)) * kPrime1 + kPrime4; }

}  // namespace

// XXH64 specification: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
uint64_t key_hash(std::string_view key) noexcept {
  const char* p = key.data();
  const char* const end = p + key.size();
  uint64_t hash;
  if (key.size() >= 32) {
    uint64_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
    for (; end - p >= 32; p += 32) {
      for (int i = 0; i < 4; ++i) lanes[i] = round(lanes[i], read64(p + 8 * i));
    }
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = merge(hash, lane);
  } else {
    hash = kPrime5;
  }
  hash += key.size();
  for (; end - p >= 8; p += 8) hash = rotate(hash ^ round(0, read64(p)), 27) * kPrime1 + kPrime4;
  if (end - p >= 4) {
    hash = rotate(hash ^ (read32(p) * kPrime1), 23) * kPrime2 + kPrime3;
    p += 4;
  }
  for (; p != end; ++p) hash = rotate(hash ^ (static_cast<unsigned char>(*p) * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

KeyGroupRange key_groups_of_lane(uint32_t lane, uint32_t lanes, uint32_t key_groups) noexcept {
  const auto boundary = [&](uint32_t l) { return static_cast<uint32_t>(uint64_t{l} * key_groups / lanes); };
  return {boundary(lane), boundary(lane + 1)};
}

uint32_t lane_of_key_group(uint32_t group, uint32_t lanes, uint32_t key_groups) noexcept {
  // The largest l with l*G/n <= group, that is l*G < (group+1)*n.
  return static_cast<uint32_t>(((uint64_t{group} + 1) * lanes - 1) / key_groups);
}

const char* to_string(StateKind kind) {
  switch (kind) {
    case StateKind::kValue:
      return "value";
    case StateKind::kMap:
      return "map";
    case StateKind::kBroadcast:
      return "broadcast";
    case StateKind::kOperator:
      return "operator";
  }
  return "unknown";
}

bool parse_state_kind(std::string_view text, StateKind* kind) {
  for (const StateKind k : {StateKind::kValue, StateKind::kMap, StateKind::kBroadcast, StateKind::kOperator}) {
    if (text == to_string(k)) {
      *kind = k;
      return true;
    }
  }
  return false;
}

std::string incompatibility(const StoredState& stored, const StateDecl& now) {
  if (stored.decl.kind != now.kind) {
    return fmt::format("it was stored as {} state, the operator now declares {} state", to_string(stored.decl.kind),
                       to_string(now.kind));
  }
  if (stored.max_compat > now.format_version) {
    return fmt::format("it was stored in format {}, readable since format {}, but this operator only knows format {}",
                       stored.decl.format_version, stored.max_compat, now.format_version);
  }
  if (stored.oldest_format < now.compat_version) {
    return fmt::format("it holds values of format {}, but this operator (format {}) reads only format {} and newer",
                       stored.oldest_format, now.format_version, now.compat_version);
  }
  return {};
}

}  // namespace sluice::state
