// Loads a file into a Kafka topic: one message per line, without key; an empty line becomes a tombstone (null value).
//
//   kload BROKERS TOPIC FILE [line|id|user_id] [PARTITIONS]
//
// The partition of a message:
//   line (default)  its line number mod PARTITIONS
//   id              the number in `"data":{"id":N` mod PARTITIONS, so that the changes of one row stay in order, as
//   with
//                   Maxwell's producer_partition_by=primary_key
//   user_id         the number in `"user_id":"N"` mod PARTITIONS, so that the rows of one user stay in order
//
// Ends with exit code 0 when the broker has acknowledged every message.
#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace {

struct ProducerDeleter {
  void operator()(rd_kafka_t* producer) const { rd_kafka_destroy(producer); }
};
struct TopicDeleter {
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
};
using Producer = std::unique_ptr<rd_kafka_t, ProducerDeleter>;
using Topic = std::unique_ptr<rd_kafka_topic_t, TopicDeleter>;

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "kload: %s\n", message.c_str());
  std::exit(1);
}

// Counts the messages that the broker refused. The opaque pointer is the counter.
void OnDelivery(rd_kafka_t* /*producer*/, const rd_kafka_message_t* message, void* opaque) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) ++*static_cast<long*>(opaque);
}

Producer MakeProducer(const char* brokers, long* refused) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char error[512];
  auto set = [&](const char* name, const char* value) {
    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) Fail(error);
  };
  set("bootstrap.servers", brokers);
  set("log_level", "3");  // errors only: a broker that has just started makes it retry, with a warning
  set("linger.ms", "20");
  set("batch.size", "1000000");
  set("message.max.bytes", "10485760");
  set("queue.buffering.max.messages", "500000");
  set("enable.idempotence", "true");  // keeps the order within a partition over retries
  rd_kafka_conf_set_opaque(conf, refused);
  rd_kafka_conf_set_dr_msg_cb(conf, OnDelivery);
  rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  if (producer == nullptr) Fail(error);
  return Producer(producer);
}

// The whole file, mapped until the process ends.
std::string_view MapFile(const char* path) {
  const int fd = open(path, O_RDONLY);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) Fail(std::string(path) + ": " + std::strerror(errno));
  if (info.st_size == 0) return {};
  const auto size = static_cast<size_t>(info.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) Fail(std::string(path) + ": " + std::strerror(errno));
  close(fd);
  return {static_cast<const char*>(bytes), size};
}

// What a line's partition is chosen by: the digits behind `marker`, or the line number when there is no marker.
long PartitionNumber(std::string_view line, std::string_view marker, long line_number) {
  if (marker.empty()) return line_number;
  const size_t at = line.find(marker);
  long number = 0;
  for (size_t i = at == std::string_view::npos ? line.size() : at + marker.size();
       i < line.size() && line[i] >= '0' && line[i] <= '9'; ++i) {
    number = (number * 10 + (line[i] - '0')) % 1'000'000'007;
  }
  return number;
}

void Produce(rd_kafka_t* producer, rd_kafka_topic_t* topic, int partition, std::string_view line) {
  void* value = line.empty() ? nullptr : const_cast<char*>(line.data());
  while (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, value, line.size(), nullptr, 0, nullptr) == -1) {
    const rd_kafka_resp_err_t error = rd_kafka_last_error();
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) Fail(rd_kafka_err2str(error));
    rd_kafka_poll(producer, 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) Fail("usage: kload BROKERS TOPIC FILE [line|id|user_id] [PARTITIONS]");
  const std::string_view by = argc > 4 ? argv[4] : "line";
  std::string_view marker;
  if (by == "id") {
    marker = R"("data":{"id":)";
  } else if (by == "user_id") {
    marker = R"("user_id":")";
  } else if (by != "line") {
    Fail("unknown partitioning: " + std::string(by));
  }
  const int partitions = argc > 5 ? std::atoi(argv[5]) : 2;
  if (partitions < 1) Fail("PARTITIONS must be 1 or more");

  long refused = 0;
  Producer producer = MakeProducer(argv[1], &refused);
  Topic topic(rd_kafka_topic_new(producer.get(), argv[2], nullptr));
  if (!topic) Fail(rd_kafka_err2str(rd_kafka_last_error()));

  const auto start = std::chrono::steady_clock::now();
  std::string_view rest = MapFile(argv[3]);
  long count = 0;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    Produce(producer.get(), topic.get(), static_cast<int>(PartitionNumber(line, marker, count) % partitions), line);
    if (++count % 1000 == 0) rd_kafka_poll(producer.get(), 0);
  }
  rd_kafka_flush(producer.get(), 60'000);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const int unsent = rd_kafka_outq_len(producer.get());
  std::printf("%ld messages, %ld refused, %d unsent, %.2f s, %.0f/s\n", count, refused, unsent, seconds,
              static_cast<double>(count) / seconds);
  return refused == 0 && unsent == 0 ? 0 : 1;
}
