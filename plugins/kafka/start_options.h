// Where a partition without a position in the checkpoint begins: the texts of the options, read.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/sdk.hpp"

namespace sluice::kafka {

enum class Start { kEarliest, kLatest, kCommitted, kTimestamp, kOffsets };
enum class StartFallback { kEarliest, kLatest, kFail };

// "1699286400000" (ms since 1970) or ISO 8601 with a zone: "2023-11-06T20:00:00+08:00", "…T12:00:00.250Z". Gives ms.
std::optional<int64_t> parse_instant(std::string_view text);

// `start_offsets`: "topic-partition" or, with a single topic, "partition" → offset. By split id.
Status parse_start_offsets(const StringMap& given, const std::vector<std::string>& topics,
                           std::map<std::string, int64_t>* out);

}  // namespace sluice::kafka
