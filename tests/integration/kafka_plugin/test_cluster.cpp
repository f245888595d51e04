#include "test_cluster.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace sluice::kafka::testing {
namespace {

constexpr int kTimeoutMs = 30000;

void check(rd_kafka_resp_err_t code, const std::string& what) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(what + ": " + rd_kafka_err2str(code));
}

void check(rd_kafka_error_t* error, const std::string& what) {
  if (error == nullptr) return;
  const std::string text = what + ": " + rd_kafka_error_string(error);
  rd_kafka_error_destroy(error);
  throw std::runtime_error(text);
}

// Runs an admin request and gives the topic results' first error.
template <class Request, class Results>
void admin(rd_kafka_t* rk, const std::string& what, Request&& request, Results&& results) {
  rd_kafka_queue_t* queue = rd_kafka_queue_new(rk);
  rd_kafka_AdminOptions_t* options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_ANY);
  char text[256];
  rd_kafka_AdminOptions_set_request_timeout(options, kTimeoutMs, text, sizeof text);
  request(options, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, kTimeoutMs);
  std::string problem = event == nullptr                   ? "no answer"
                        : rd_kafka_event_error(event) != 0 ? rd_kafka_event_error_string(event)
                                                           : results(event);
  if (event != nullptr) rd_kafka_event_destroy(event);
  rd_kafka_AdminOptions_destroy(options);
  rd_kafka_queue_destroy(queue);
  if (!problem.empty()) throw std::runtime_error(what + ": " + problem);
}

std::string first_error(const rd_kafka_topic_result_t** results, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (rd_kafka_topic_result_error(results[i]) != 0) return rd_kafka_err2str(rd_kafka_topic_result_error(results[i]));
  return {};
}

struct Partitions {
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  Partitions(const std::string& topic, int32_t partition, int64_t offset) {
    rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = offset;
  }
  ~Partitions() { rd_kafka_topic_partition_list_destroy(list); }
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;
};

}  // namespace

std::string TestCluster::brokers_from_environment() {
  const char* address = std::getenv("KAFKA");
  if (address == nullptr || *address == '\0')
    throw std::runtime_error(
        "no broker: run this test through ctest, or with `tests/services/kafka/kafka.sh exec`, which set KAFKA");
  return address;
}

TestCluster::TestCluster(std::string brokers) : brokers_(std::move(brokers)) {
  producer_ = client(RD_KAFKA_PRODUCER, {{"linger.ms", "5"}, {"message.max.bytes", "10000000"}});
}

TestCluster::~TestCluster() { rd_kafka_destroy(producer_); }

rd_kafka_t* TestCluster::client(rd_kafka_type_t type, const std::map<std::string, std::string>& given) const {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char text[512];
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers_.c_str(), text, sizeof text);
  rd_kafka_conf_set(conf, "log_level", "2", text, sizeof text);
  for (const auto& [name, value] : given)
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text, sizeof text) != RD_KAFKA_CONF_OK)
      throw std::runtime_error(text);
  rd_kafka_t* rk = rd_kafka_new(type, conf, text, sizeof text);
  if (rk == nullptr) throw std::runtime_error(text);
  return rk;
}

std::string TestCluster::fresh_name(const std::string& stem) {
  static int counter = 0;
  return "kp-" + stem + "-" + std::to_string(getpid()) + "-" + std::to_string(++counter);
}

std::string TestCluster::fresh_topic(const std::string& stem, int partitions,
                                     const std::map<std::string, std::string>& config) {
  std::string name = fresh_name(stem);
  create_topic(name, partitions, config);
  return name;
}

void TestCluster::create_topic(const std::string& name, int partitions,
                               const std::map<std::string, std::string>& config) {
  char text[256];
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, 1, text, sizeof text);
  for (const auto& [key, value] : config)
    check(rd_kafka_NewTopic_set_config(topic, key.c_str(), value.c_str()), "topic config " + key);
  admin(
      producer_, "create topic " + name,
      [&](auto* options, auto* queue) { rd_kafka_CreateTopics(producer_, &topic, 1, options, queue); },
      [](rd_kafka_event_t* e) {
        size_t n = 0;
        const rd_kafka_topic_result_t** results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(e), &n);
        return first_error(results, n);
      });
  rd_kafka_NewTopic_destroy(topic);
}

void TestCluster::delete_topic(const std::string& name) {
  rd_kafka_DeleteTopic_t* topic = rd_kafka_DeleteTopic_new(name.c_str());
  admin(
      producer_, "delete topic " + name,
      [&](auto* options, auto* queue) { rd_kafka_DeleteTopics(producer_, &topic, 1, options, queue); },
      [](rd_kafka_event_t* e) {
        size_t n = 0;
        const rd_kafka_topic_result_t** results =
            rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(e), &n);
        return first_error(results, n);
      });
  rd_kafka_DeleteTopic_destroy(topic);
}

void TestCluster::add_partitions(const std::string& name, int total) {
  char text[256];
  rd_kafka_NewPartitions_t* partitions =
      rd_kafka_NewPartitions_new(name.c_str(), static_cast<size_t>(total), text, sizeof text);
  admin(
      producer_, "add partitions to " + name,
      [&](auto* options, auto* queue) { rd_kafka_CreatePartitions(producer_, &partitions, 1, options, queue); },
      [](rd_kafka_event_t* e) {
        size_t n = 0;
        const rd_kafka_topic_result_t** results =
            rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(e), &n);
        return first_error(results, n);
      });
  rd_kafka_NewPartitions_destroy(partitions);
}

void TestCluster::delete_records_before(const std::string& topic, int32_t partition, int64_t offset) {
  const Partitions where(topic, partition, offset);
  rd_kafka_DeleteRecords_t* request = rd_kafka_DeleteRecords_new(where.list);
  admin(
      producer_, "delete records of " + topic,
      [&](auto* options, auto* queue) { rd_kafka_DeleteRecords(producer_, &request, 1, options, queue); },
      [](rd_kafka_event_t* e) {
        const auto* offsets = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(e));
        return offsets->elems[0].err != 0 ? std::string(rd_kafka_err2str(offsets->elems[0].err)) : std::string();
      });
  rd_kafka_DeleteRecords_destroy(request);
}

namespace {

void produce_with(rd_kafka_t* rk, const std::string& topic, int32_t partition,
                  const std::vector<TestMessage>& messages) {
  for (const TestMessage& m : messages) {
    static char empty[1];
    void* value = !m.value ? nullptr : m.value->empty() ? empty : const_cast<char*>(m.value->data());
    const void* key = !m.key ? nullptr : m.key->empty() ? empty : m.key->data();
    const size_t value_size = m.value ? m.value->size() : 0, key_size = m.key ? m.key->size() : 0;
    while (true) {
      const rd_kafka_resp_err_t code =
          rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition),
                            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(value, value_size),
                            RD_KAFKA_V_KEY(key, key_size), RD_KAFKA_V_TIMESTAMP(m.timestamp), RD_KAFKA_V_END);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      if (code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION) {  // a new one: the client's list is old
        rd_kafka_topic_t* handle = rd_kafka_topic_new(rk, topic.c_str(), nullptr);
        const rd_kafka_metadata_t* metadata = nullptr;
        check(rd_kafka_metadata(rk, 0, handle, &metadata, kTimeoutMs), "metadata of " + topic);
        rd_kafka_metadata_destroy(metadata);
        rd_kafka_topic_destroy(handle);
      } else if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        check(code, "produce to " + topic);
      }
      rd_kafka_poll(rk, 100);
    }
  }
  check(rd_kafka_flush(rk, kTimeoutMs), "flush to " + topic);
}

std::vector<TestMessage> numbered(const std::string& prefix, int count) {
  std::vector<TestMessage> messages;
  for (int i = 0; i < count; ++i) messages.push_back({R"({"n":")" + prefix + std::to_string(i) + R"("})"});
  return messages;
}

}  // namespace

void TestCluster::produce(const std::string& topic, int32_t partition, const std::vector<TestMessage>& messages,
                          const std::string& compression) {
  if (compression == "none") {
    produce_with(producer_, topic, partition, messages);
    return;
  }
  rd_kafka_t* rk = client(RD_KAFKA_PRODUCER, {{"compression.codec", compression}, {"linger.ms", "20"}});
  produce_with(rk, topic, partition, messages);
  rd_kafka_destroy(rk);
}

void TestCluster::produce_numbered(const std::string& topic, int32_t partition, const std::string& prefix, int count) {
  produce(topic, partition, numbered(prefix, count));
}

TestCluster::Transaction TestCluster::open_transaction(const std::string& topic, int32_t partition,
                                                       const std::string& prefix, int count) {
  Transaction open(client(RD_KAFKA_PRODUCER, {{"transactional.id", fresh_name("txn")}}), &rd_kafka_destroy);
  check(rd_kafka_init_transactions(open.get(), kTimeoutMs), "init transactions");
  check(rd_kafka_begin_transaction(open.get()), "begin");
  produce_with(open.get(), topic, partition, numbered(prefix, count));
  check(rd_kafka_flush(open.get(), kTimeoutMs), "flush of the transaction");
  return open;
}

void TestCluster::transaction(const std::string& topic, int32_t partition, const std::string& prefix, int count,
                              bool commit) {
  const int64_t end = range(topic, partition).second + count + 1;
  const Transaction open = open_transaction(topic, partition, prefix, count);
  check(commit ? rd_kafka_commit_transaction(open.get(), kTimeoutMs) : rd_kafka_abort_transaction(open.get(), kTimeoutMs),
        "end of the transaction");
  // The control record is written after the answer.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
  while (range(topic, partition).second < end)
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no control record in " + topic);
}

std::pair<int64_t, int64_t> TestCluster::range(const std::string& topic, int32_t partition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
  while (true) {
    int64_t low = 0, high = 0;
    const rd_kafka_resp_err_t code =
        rd_kafka_query_watermark_offsets(producer_, topic.c_str(), partition, &low, &high, kTimeoutMs);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {low, high};
    // Right after its creation a topic may have no leader yet.
    if (code != RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION || std::chrono::steady_clock::now() > deadline)
      check(code, "offsets of " + topic);
  }
}

int64_t TestCluster::committed(const std::string& group, const std::string& topic, int32_t partition) {
  rd_kafka_t* rk = client(RD_KAFKA_CONSUMER, {{"group.id", group}});
  const Partitions where(topic, partition, RD_KAFKA_OFFSET_INVALID);
  const rd_kafka_resp_err_t code = rd_kafka_committed(rk, where.list, kTimeoutMs);
  rd_kafka_destroy(rk);
  check(code, "committed offset of " + group);
  return where.list->elems[0].offset;
}

void TestCluster::commit_for(const std::string& group, const std::string& topic, int32_t partition, int64_t offset) {
  rd_kafka_t* rk = client(RD_KAFKA_CONSUMER, {{"group.id", group}});
  const Partitions where(topic, partition, offset);
  const rd_kafka_resp_err_t code = rd_kafka_commit(rk, where.list, 0);
  rd_kafka_destroy(rk);
  check(code, "commit for " + group);
}

std::vector<TestMessage> TestCluster::read_all(const std::string& topic, int32_t partition) {
  rd_kafka_t* rk = client(RD_KAFKA_CONSUMER,
                          {{"group.id", "reader"}, {"enable.partition.eof", "true"}, {"enable.auto.commit", "false"}});
  const Partitions where(topic, partition, RD_KAFKA_OFFSET_BEGINNING);
  check(rd_kafka_assign(rk, where.list), "assign");
  std::vector<TestMessage> out;
  bool end = false;
  for (const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs); !end;) {
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("the end of " + topic + " was not reached");
    rd_kafka_message_t* m = rd_kafka_consumer_poll(rk, 100);
    if (m == nullptr) continue;
    end = m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      TestMessage t;
      if (m->payload != nullptr) t.value = std::string(static_cast<const char*>(m->payload), m->len);
      if (m->key != nullptr) t.key = std::string(static_cast<const char*>(m->key), m->key_len);
      out.push_back(std::move(t));
    }
    rd_kafka_message_destroy(m);
  }
  rd_kafka_destroy(rk);
  return out;
}

}  // namespace sluice::kafka::testing
