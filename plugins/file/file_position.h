// Where a split of file.source goes on, as it is kept in checkpoints.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::file {

// Tells one file from another that has the same name: its inode and a hash of its first bytes.
struct FileIdentity {
  static constexpr uint16_t kMaxHeadSize = 256;

  uint64_t inode = 0;
  uint64_t head_hash = 0;
  uint16_t head_size = 0;  // how many first bytes went into head_hash
};

// FNV-1a, 64 bits: the same in every build.
uint64_t stable_hash(std::string_view bytes);

// A value. Bytes on disk (48, little-endian): version u8 = 1, flags u8 (bit 0: unterminated, bit 1: gone), head_size
// u16, zero u32, offset u64, row_start u64, line u64, inode u64, head_hash u64.
struct FilePosition {
  static constexpr size_t kEncodedSize = 48;
  using Encoded = char[kEncodedSize];

  uint64_t offset = 0;        // first byte that has not been read
  uint64_t row_start = 0;     // first byte of the last row
  uint64_t line = 0;          // of the last row, counted from 1
  bool unterminated = false;  // the last row ended with the file, not with a newline
  // The file was read to its end, and after that no file had its name: whatever has it later is a new one.
  bool gone = false;
  FileIdentity identity;

  void encode(Encoded& out) const;
  // Empty: bytes of another version, or damaged.
  static std::optional<FilePosition> decode(std::string_view bytes);
};

}  // namespace sluice::file
