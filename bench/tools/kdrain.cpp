// Reads a Kafka topic from its first to its last message and does nothing with them: what librdkafka alone costs.
//
//   kdrain BROKERS TOPIC [NAME=VALUE...]      NAME=VALUE: librdkafka properties
//
// Prints one JSON object: records, bytes, seconds (from the first fetch to the end), first_message_ms (wall clock, Unix
// epoch).
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

struct ConsumerDeleter {
  void operator()(rd_kafka_t* consumer) const { rd_kafka_destroy(consumer); }
};
struct TopicDeleter {
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
};
struct QueueDeleter {
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
};
using Consumer = std::unique_ptr<rd_kafka_t, ConsumerDeleter>;
using Topic = std::unique_ptr<rd_kafka_topic_t, TopicDeleter>;
using Queue = std::unique_ptr<rd_kafka_queue_t, QueueDeleter>;

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "kdrain: %s\n", message.c_str());
  std::exit(1);
}

Consumer MakeConsumer(const char* brokers, char** properties, int property_count) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char error[512];
  auto set = [&](const std::string& name, const std::string& value) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK) Fail(error);
  };
  set("bootstrap.servers", brokers);
  set("enable.partition.eof", "true");
  for (int i = 0; i < property_count; ++i) {
    const std::string property = properties[i];
    const size_t equals = property.find('=');
    if (equals == std::string::npos) Fail("not NAME=VALUE: " + property);
    set(property.substr(0, equals), property.substr(equals + 1));
  }
  rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
  if (consumer == nullptr) Fail(error);
  return Consumer(consumer);
}

int CountPartitions(rd_kafka_t* consumer, rd_kafka_topic_t* topic) {
  const struct rd_kafka_metadata* metadata = nullptr;
  const rd_kafka_resp_err_t error = rd_kafka_metadata(consumer, 0, topic, &metadata, 10'000);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) Fail(rd_kafka_err2str(error));
  const int count = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
  rd_kafka_metadata_destroy(metadata);
  if (count == 0) Fail("no such topic");
  return count;
}

struct Totals {
  int64_t records = 0;
  int64_t bytes = 0;
  int64_t first_message_ms = 0;
};

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// One message at a time: measured about twice as fast as librdkafka's batch call.
Totals Drain(rd_kafka_queue_t* queue, int partitions) {
  Totals totals;
  int open = partitions;
  while (open > 0) {
    rd_kafka_message_t* message = rd_kafka_consume_queue(queue, 1000);
    if (message == nullptr) continue;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      --open;
    } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      Fail(rd_kafka_message_errstr(message));
    } else {
      if (totals.records++ == 0) totals.first_message_ms = NowMs();
      totals.bytes += static_cast<int64_t>(message->len);
    }
    rd_kafka_message_destroy(message);
  }
  return totals;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) Fail("usage: kdrain BROKERS TOPIC [NAME=VALUE...]");
  Consumer consumer = MakeConsumer(argv[1], argv + 3, argc - 3);
  Topic topic(rd_kafka_topic_new(consumer.get(), argv[2], nullptr));
  const int partitions = CountPartitions(consumer.get(), topic.get());
  Queue queue(rd_kafka_queue_new(consumer.get()));

  const auto start = std::chrono::steady_clock::now();
  for (int p = 0; p < partitions; ++p) {
    rd_kafka_consume_start_queue(topic.get(), p, RD_KAFKA_OFFSET_BEGINNING, queue.get());
  }
  const Totals totals = Drain(queue.get(), partitions);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(R"({"records":%lld,"bytes":%lld,"seconds":%.3f,"first_message_ms":%lld})"
              "\n",
              static_cast<long long>(totals.records), static_cast<long long>(totals.bytes), seconds,
              static_cast<long long>(totals.first_message_ms));
  for (int p = 0; p < partitions; ++p) rd_kafka_consume_stop(topic.get(), p);
  return 0;
}
