// Bytes of keys and values on disk: docs/on-disk-formats.md.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "state/state_decl.h"

namespace sluice::state {

inline void append_u16_be(std::string* out, uint32_t v) {
  out->push_back(static_cast<char>(v >> 8));
  out->push_back(static_cast<char>(v));
}
inline void append_u64_be(std::string* out, uint64_t v) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift));
}
inline uint64_t read_u64_be(const char* p) {
  uint64_t v = 0;
  for (int i = 0; i < 8; ++i) v = v << 8 | static_cast<unsigned char>(p[i]);
  return v;
}
// LEB128, as protocol buffers write it.
inline void append_varint(std::string* out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out->push_back(static_cast<char>(v | 0x80));
  out->push_back(static_cast<char>(v));
}
// Takes a varint off the front; false: there is none.
inline bool take_varint(std::string_view* in, uint64_t* v) {
  *v = 0;
  for (int shift = 0; shift < 64 && !in->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in->front());
    in->remove_prefix(1);
    *v |= uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

// kValue, kMap: key group, key length, key; the subkey follows.
inline void append_keyed_prefix(std::string* out, uint32_t group, std::string_view key) {
  append_u16_be(out, group);
  append_varint(out, key.size());
  out->append(key);
}
struct KeyedKey {
  uint32_t group = 0;
  std::string_view key, subkey;
};
inline bool parse_keyed_key(std::string_view in, KeyedKey* out) {
  if (in.size() < 3) return false;
  out->group = static_cast<uint32_t>(static_cast<unsigned char>(in[0])) << 8 | static_cast<unsigned char>(in[1]);
  in.remove_prefix(2);
  uint64_t size = 0;
  if (!take_varint(&in, &size) || size > in.size()) return false;
  out->key = in.substr(0, size);
  out->subkey = in.substr(size);
  return true;
}

// Around every value.
struct Envelope {
  static constexpr size_t kBytes = 18;
  static constexpr uint8_t kLayout = 1;
  static constexpr uint8_t kEventTime = 1;  // flag: expiry is in event time

  uint8_t flags = 0;
  uint16_t format_version = 0;
  uint16_t compat_version = 0;
  int64_t expiry_ms = 0;
  uint32_t size = 0;

  TtlClock clock() const noexcept { return (flags & kEventTime) != 0 ? TtlClock::kEvent : TtlClock::kProcessing; }
  void write(char out[kBytes]) const noexcept {
    out[0] = static_cast<char>(kLayout);
    out[1] = static_cast<char>(flags);
    std::memcpy(out + 2, &format_version, 2);
    std::memcpy(out + 4, &compat_version, 2);
    std::memcpy(out + 6, &size, 4);
    std::memcpy(out + 10, &expiry_ms, 8);
  }
  // False: not an envelope with a whole value behind it.
  static bool read(std::string_view in, Envelope* envelope, std::string_view* value) noexcept {
    if (in.size() < kBytes || static_cast<uint8_t>(in[0]) != kLayout) return false;
    envelope->flags = static_cast<uint8_t>(in[1]);
    std::memcpy(&envelope->format_version, in.data() + 2, 2);
    std::memcpy(&envelope->compat_version, in.data() + 4, 2);
    std::memcpy(&envelope->size, in.data() + 6, 4);
    std::memcpy(&envelope->expiry_ms, in.data() + 10, 8);
    if (in.size() - kBytes != envelope->size) return false;
    *value = in.substr(kBytes);
    return true;
  }
};

}  // namespace sluice::state
