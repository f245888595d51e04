#include "kafka/offset_queries.h"

namespace sluice::kafka {
namespace {

constexpr int kTimeoutMs = 5000;

PartitionList one(const std::string& topic, int32_t partition, int64_t offset) {
  PartitionList list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = offset;
  return list;
}

}  // namespace

Status query_range(Client& client, const std::string& topic, int32_t partition, OffsetRange* out) {
  const rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(client.handle(), topic.c_str(), partition,
                                                                    &out->earliest, &out->end, kTimeoutMs);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return Status::ok();
  return client.failure("the offsets of " + split_id(topic, partition) + " are not known", code);
}

Status query_committed(Client& client, const std::string& topic, int32_t partition, int64_t* out) {
  const PartitionList list = one(topic, partition, RD_KAFKA_OFFSET_INVALID);
  rd_kafka_resp_err_t code = rd_kafka_committed(client.handle(), list.get(), kTimeoutMs);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = list->elems[0].err;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return client.failure("the group's committed offset of " + split_id(topic, partition) + " is not known", code);
  *out = list->elems[0].offset;
  return Status::ok();
}

Status query_time(Client& client, const std::string& topic, int32_t partition, int64_t ms, int64_t* out) {
  const PartitionList list = one(topic, partition, ms);
  rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(client.handle(), list.get(), kTimeoutMs);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = list->elems[0].err;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return client.failure("the offset by time of " + split_id(topic, partition) + " is not known", code);
  *out = list->elems[0].offset;
  return Status::ok();
}

}  // namespace sluice::kafka
