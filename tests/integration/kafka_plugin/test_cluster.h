// What the tests do to a Kafka cluster beside the operator under test: topics, messages, transactions.
#pragma once
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::kafka::testing {

struct TestMessage {
  std::optional<std::string> value;
  std::optional<std::string> key = std::nullopt;
  int64_t timestamp = 0;  // 0: now
};

// One client. Every function throws std::runtime_error with the cluster's reason when it fails.
class TestCluster {
 public:
  explicit TestCluster(std::string brokers);
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  // The broker that ctest started: $KAFKA. Throws when there is none, so that the test fails.
  static std::string brokers_from_environment();
  const std::string& brokers() const { return brokers_; }

  // A name that no other test has.
  std::string fresh_name(const std::string& stem);
  std::string fresh_topic(const std::string& stem, int partitions,
                          const std::map<std::string, std::string>& config = {});
  void create_topic(const std::string& name, int partitions, const std::map<std::string, std::string>& config = {});
  void delete_topic(const std::string& name);
  void add_partitions(const std::string& name, int total);
  void delete_records_before(const std::string& topic, int32_t partition, int64_t offset);

  void produce(const std::string& topic, int32_t partition, const std::vector<TestMessage>& messages,
               const std::string& compression = "none");
  // count values PREFIX0, PREFIX1, … as JSON: {"n":"PREFIX0"}.
  void produce_numbered(const std::string& topic, int32_t partition, const std::string& prefix, int count);
  // One that is not ended; its messages are in the log. Its end must not outlive the cluster.
  using Transaction = std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)>;
  Transaction open_transaction(const std::string& topic, int32_t partition, const std::string& prefix, int count);
  // One transaction: committed, or aborted. Its control record is there when this returns.
  void transaction(const std::string& topic, int32_t partition, const std::string& prefix, int count, bool commit);

  // [low, high) of a partition.
  std::pair<int64_t, int64_t> range(const std::string& topic, int32_t partition);
  // What a group has committed; -1001: nothing.
  int64_t committed(const std::string& group, const std::string& topic, int32_t partition);
  void commit_for(const std::string& group, const std::string& topic, int32_t partition, int64_t offset);
  // Everything in a partition, by another consumer.
  std::vector<TestMessage> read_all(const std::string& topic, int32_t partition);

 private:
  rd_kafka_t* client(rd_kafka_type_t type, const std::map<std::string, std::string>& conf) const;
  std::string brokers_;
  rd_kafka_t* producer_ = nullptr;
};

}  // namespace sluice::kafka::testing
