#include "file_position.h"

#include <cstring>

namespace sluice::file {
namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kUnterminated = 1;
constexpr uint8_t kGone = 2;

template <class T>
void put(char* out, T value) {
  std::memcpy(out, &value, sizeof value);
}
template <class T>
T get(const char* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

}  // namespace

uint64_t stable_hash(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

void FilePosition::encode(Encoded& out) const {
  put<uint8_t>(out, kVersion);
  put<uint8_t>(out + 1, static_cast<uint8_t>((unterminated ? kUnterminated : 0) | (gone ? kGone : 0)));
  put<uint16_t>(out + 2, identity.head_size);
  put<uint32_t>(out + 4, 0);
  put<uint64_t>(out + 8, offset);
  put<uint64_t>(out + 16, row_start);
  put<uint64_t>(out + 24, line);
  put<uint64_t>(out + 32, identity.inode);
  put<uint64_t>(out + 40, identity.head_hash);
}

std::optional<FilePosition> FilePosition::decode(std::string_view bytes) {
  if (bytes.size() != kEncodedSize || get<uint8_t>(bytes.data()) != kVersion) return std::nullopt;
  FilePosition p;
  p.unterminated = (get<uint8_t>(bytes.data() + 1) & kUnterminated) != 0;
  p.gone = (get<uint8_t>(bytes.data() + 1) & kGone) != 0;
  p.identity.head_size = get<uint16_t>(bytes.data() + 2);
  p.offset = get<uint64_t>(bytes.data() + 8);
  p.row_start = get<uint64_t>(bytes.data() + 16);
  p.line = get<uint64_t>(bytes.data() + 24);
  p.identity.inode = get<uint64_t>(bytes.data() + 32);
  p.identity.head_hash = get<uint64_t>(bytes.data() + 40);
  if (p.row_start > p.offset || p.identity.head_size > FileIdentity::kMaxHeadSize) return std::nullopt;
  return p;
}

}  // namespace sluice::file
