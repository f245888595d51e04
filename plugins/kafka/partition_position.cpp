#include "kafka/partition_position.h"

#include <charconv>
#include <limits>

namespace sluice::kafka {
namespace {

enum Form : unsigned char { kBehindRow = 1, kBehindRowInSnapshot = 2, kStanding = 3, kStandingInSnapshot = 4 };

void put(int64_t number, char* out) noexcept {
  const auto bits = static_cast<uint64_t>(number);
  for (int i = 0; i < 8; ++i) out[i] = static_cast<char>(bits >> (8 * i));
}

int64_t get(const char* in) noexcept {
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits |= static_cast<uint64_t>(static_cast<unsigned char>(in[i])) << (8 * i);
  return static_cast<int64_t>(bits);
}

}  // namespace

size_t PartitionPosition::encode(char* out) const noexcept {
  const bool complete = snapshot_end == kComplete || next >= snapshot_end;
  out[0] = static_cast<char>(behind_row ? (complete ? kBehindRow : kBehindRowInSnapshot)
                                        : (complete ? kStanding : kStandingInSnapshot));
  put(next, out + 1);
  if (complete) return 9;
  put(snapshot_end, out + 9);
  return kMaxSize;
}

std::optional<PartitionPosition> PartitionPosition::decode(std::string_view bytes) noexcept {
  if (bytes.empty()) return std::nullopt;
  const auto form = static_cast<unsigned char>(bytes[0]);
  if (form < kBehindRow || form > kStandingInSnapshot) return std::nullopt;
  const bool in_snapshot = form == kBehindRowInSnapshot || form == kStandingInSnapshot;
  if (bytes.size() != (in_snapshot ? kMaxSize : 9)) return std::nullopt;
  PartitionPosition p;
  p.next = get(bytes.data() + 1);
  p.snapshot_end = in_snapshot ? get(bytes.data() + 9) : kComplete;
  p.behind_row = form == kBehindRow || form == kBehindRowInSnapshot;
  if (p.next < 0 || (in_snapshot && p.snapshot_end < 0)) return std::nullopt;
  return p;
}

std::string split_id(std::string_view topic, int32_t partition) {
  return std::string(topic) + "-" + std::to_string(partition);
}

std::optional<SplitName> parse_split_id(std::string_view id) {
  const size_t dash = id.rfind('-');  // topics may have dashes too
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  SplitName name{std::string(id.substr(0, dash)), 0};
  const std::string_view digits = id.substr(dash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), name.partition);
  if (error != std::errc() || end != digits.data() + digits.size() || name.partition < 0) return std::nullopt;
  return name;
}

std::string describe(std::string_view split, std::string_view position) {
  const auto name = parse_split_id(split);
  const std::string where = name ? name->topic + "[" + std::to_string(name->partition) + "]" : std::string(split);
  const auto p = PartitionPosition::decode(position);
  if (!p) return where + " at a position that this version cannot read";
  if (p->behind_row) return where + " offset " + std::to_string(p->next - 1);
  return where + " before offset " + std::to_string(p->next);
}

}  // namespace sluice::kafka
