// Both operators against librdkafka's mock cluster: what a real broker cannot be made to do on demand.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"
#include "sluice/testing/harness.hpp"

using namespace sluice;
using namespace sluice::kafka;

namespace {

constexpr int16_t kProduce = 0;

// Two brokers; partitions take turns in being led by them.
class MockCluster {
 public:
  MockCluster() {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    char text[512];
    rd_kafka_conf_set(conf, "log_level", "0", text, sizeof text);
    owner_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    cluster_ = rd_kafka_mock_cluster_new(owner_, 2);
  }
  ~MockCluster() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;
  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  rd_kafka_mock_cluster_t* get() const { return cluster_; }

 private:
  rd_kafka_t* owner_;
  rd_kafka_mock_cluster_t* cluster_;
};

template <class F>
bool within(std::chrono::seconds most, F&& done) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (!done())
    if (std::chrono::steady_clock::now() > deadline) return false;
  return true;
}

}  // namespace

TEST_CASE("what the sink writes the source reads") {
  const MockCluster mock;
  rd_kafka_mock_topic_create(mock.get(), "t", 2, 1);
  sluice::testing::Harness<KafkaSink> sink("brokers: \"" + mock.brokers() + "\"\ntopic: t\nkey_field: id");
  sink.open();
  for (int i = 0; i < 50; ++i) sink.push(R"({"id":)" + std::to_string(i) + "}");
  sink.checkpoint();
  sluice::testing::Harness<KafkaSource> source("brokers: \"" + mock.brokers() + "\"\ntopic: t\nuntil: end");
  source.open();
  CHECK(source.discover().size() == 2);
  source.assign();
  source.poll_until_quiet();
  CHECK(source.pull().size() == 50);
}

TEST_CASE("a broker that goes away takes its own partitions out of touch only, until it is back") {
  const MockCluster mock;
  rd_kafka_mock_topic_create(mock.get(), "t", 2, 1);
  rd_kafka_mock_partition_set_leader(mock.get(), "t", 0, 1);
  rd_kafka_mock_partition_set_leader(mock.get(), "t", 1, 2);
  sluice::testing::Harness<KafkaSource> h("brokers: \"" + mock.brokers() + "\"\ntopic: t");
  h.open();
  h.discover();
  h.assign();
  h.poll_until_quiet();
  const auto caught_up = [&](const char* split) { return (h.split(split).flags & SLUICE_SPLIT_CAUGHT_UP) != 0; };
  REQUIRE(caught_up("t-0"));
  rd_kafka_mock_broker_set_down(mock.get(), 2);
  CHECK(within(std::chrono::seconds(20), [&] {
    h.poll();
    return !caught_up("t-1");
  }));
  CHECK(caught_up("t-0"));
  CHECK(h.note().find("broker away") != std::string::npos);
  rd_kafka_mock_broker_set_up(mock.get(), 2);
  CHECK(within(std::chrono::seconds(20), [&] {
    h.poll();
    return caught_up("t-1");
  }));
  CHECK(h.note().empty());
}

TEST_CASE("a permission that is missing ends the job and says what to grant") {
  const MockCluster mock;
  rd_kafka_mock_topic_create(mock.get(), "t", 1, 1);
  sluice::testing::Harness<KafkaSource> h("brokers: \"" + mock.brokers() + "\"\ntopic: t");
  rd_kafka_mock_topic_set_error(mock.get(), "t", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  const Status s = h.try_open();
  CHECK(s.code() == SLUICE_FATAL);
  CHECK(s.message().find("may not use the topic") != std::string::npos);
}

TEST_CASE("passing errors of a broker cost the sink nothing") {
  const MockCluster mock;
  rd_kafka_mock_topic_create(mock.get(), "t", 1, 1);
  sluice::testing::Harness<KafkaSink> sink("brokers: \"" + mock.brokers() + "\"\ntopic: t");
  sink.open();
  rd_kafka_mock_push_request_errors(mock.get(), kProduce, 3, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                                    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
  for (int i = 0; i < 20; ++i) sink.push(R"({"id":)" + std::to_string(i) + "}");
  CHECK(within(std::chrono::seconds(30), [&] { return sink.try_checkpoint_uncommitted().is_ok(); }));
  sluice::testing::Harness<KafkaSource> source("brokers: \"" + mock.brokers() + "\"\ntopic: t\nuntil: end");
  source.open();
  source.discover();
  source.assign();
  source.poll_until_quiet();
  CHECK(source.pull().size() == 20);
}
