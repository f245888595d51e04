#include "kafka/offset_queries.h"

namespace sluice::kafka {
namespace {

constexpr int kTimeoutMs = 5000;

PartitionList one(const std::string& topic, int32_t partition, int64_t offset) {
  PartitionList list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = offset;
  return list;
}

// *out stays as it is when nothing is committed.
rd_kafka_resp_err_t committed_in(rd_kafka_event_t* event, int64_t* out) {
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) return rd_kafka_event_error(event);
  size_t count = 0;
  const rd_kafka_group_result_t** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(event), &count);
  if (count != 1) return RD_KAFKA_RESP_ERR__FAIL;
  if (const rd_kafka_error_t* error = rd_kafka_group_result_error(groups[0]); error != nullptr)
    return rd_kafka_error_code(error);
  const rd_kafka_topic_partition_list_t* found = rd_kafka_group_result_partitions(groups[0]);
  if (found == nullptr || found->cnt != 1) return RD_KAFKA_RESP_ERR__FAIL;
  if (found->elems[0].err == RD_KAFKA_RESP_ERR_NO_ERROR) *out = found->elems[0].offset;
  return found->elems[0].err;
}

}  // namespace

Status query_range(Client& client, const std::string& topic, int32_t partition, OffsetRange* out) {
  const rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(client.handle(), topic.c_str(), partition,
                                                                    &out->earliest, &out->end, kTimeoutMs);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return Status::ok();
  return client.failure("the offsets of " + split_id(topic, partition) + " are not known", code);
}

// By an administrator's request: rd_kafka_committed() never returns when the login may not use the group.
Status query_committed(Client& client, const std::string& group, const std::string& topic, int32_t partition,
                       int64_t* out) {
  const PartitionList list = one(topic, partition, RD_KAFKA_OFFSET_INVALID);
  rd_kafka_ListConsumerGroupOffsets_t* request = rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), list.get());
  rd_kafka_AdminOptions_t* options =
      rd_kafka_AdminOptions_new(client.handle(), RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
  rd_kafka_AdminOptions_set_request_timeout(options, kTimeoutMs, nullptr, 0);
  const QueueHandle queue(rd_kafka_queue_new(client.handle()));
  rd_kafka_ListConsumerGroupOffsets(client.handle(), &request, 1, options, queue.get());
  rd_kafka_AdminOptions_destroy(options);
  rd_kafka_ListConsumerGroupOffsets_destroy(request);
  const EventHandle event(rd_kafka_queue_poll(queue.get(), 2 * kTimeoutMs));
  *out = RD_KAFKA_OFFSET_INVALID;
  const rd_kafka_resp_err_t code = event ? committed_in(event.get(), out) : RD_KAFKA_RESP_ERR__TIMED_OUT;
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return Status::ok();
  return client.failure("the offset of " + split_id(topic, partition) + " that group " + group +
                            " has committed is not known",
                        code);
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
