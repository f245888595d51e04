// Where to go on in one partition: what the checkpoints hold of it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::kafka {

// Bytes, all numbers little endian:
//   u8 form
//   i64 next          offset of the first message that is still to be read
//   i64 snapshot_end  forms 2 and 4: the partition's end when it was first read; the snapshot is not complete yet
// Forms: 1, 2 behind a row (offset next-1); 3, 4 without one: a resolved start, or behind control records.
struct PartitionPosition {
  static constexpr int64_t kComplete = -1;
  static constexpr size_t kMaxSize = 17;

  int64_t next = 0;
  int64_t snapshot_end = kComplete;
  bool behind_row = false;

  // Gives how many bytes of `out` were used.
  size_t encode(char* out) const noexcept;
  // None: not bytes of this plugin, or of a newer version of it.
  static std::optional<PartitionPosition> decode(std::string_view bytes) noexcept;
};

// A split's id is "topic-partition".
struct SplitName {
  std::string topic;
  int32_t partition = 0;
};
std::string split_id(std::string_view topic, int32_t partition);
std::optional<SplitName> parse_split_id(std::string_view id);

// "topic_db[0] offset 17": of the row itself, where there is one; else "topic_db[0] before offset 18".
std::string describe(std::string_view split, std::string_view position);

}  // namespace sluice::kafka
