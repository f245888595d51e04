// Questions to the brokers about offsets. Each waits for its answer; RETRY when none comes in time.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "kafka/client.h"
#include "kafka/partition_position.h"

namespace sluice::kafka {

// What a partition holds now: [earliest, end).
struct OffsetRange {
  int64_t earliest = 0;
  int64_t end = 0;
};
Status query_range(Client& client, const std::string& topic, int32_t partition, OffsetRange* out);

// What the client's group has committed; RD_KAFKA_OFFSET_INVALID: nothing.
Status query_committed(Client& client, const std::string& group, const std::string& topic, int32_t partition,
                       int64_t* out);

// The first message whose time is at or after `ms`; RD_KAFKA_OFFSET_END: there is none.
Status query_time(Client& client, const std::string& topic, int32_t partition, int64_t ms, int64_t* out);

}  // namespace sluice::kafka
