// Both operators while their broker is killed and comes back. The broker is this test's own, so that nobody else
// loses his.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"
#include "test_cluster.h"
#include "waiting.h"

using namespace sluice;
using namespace sluice::kafka;
using namespace sluice::kafka::testing;
using SourceHarness = sluice::testing::Harness<KafkaSource>;
using SinkHarness = sluice::testing::Harness<KafkaSink>;

namespace {

// A broker with its data in a folder of its own, which goes with it.
class OwnBroker {
 public:
  OwnBroker() : data_("/tmp/sluice-kafka-outage-" + std::to_string(getpid())) {
    run("start");
    std::ifstream file(data_ + "/port");
    std::string port;
    file >> port;
    address_ = "127.0.0.1:" + port;
  }
  ~OwnBroker() { static_cast<void>(call("clean")); }
  OwnBroker(const OwnBroker&) = delete;
  OwnBroker& operator=(const OwnBroker&) = delete;
  const std::string& address() const { return address_; }
  void run(const std::string& command) const {
    if (call(command) != 0) throw std::runtime_error("kafka.sh " + command + " failed");
  }

 private:
  int call(const std::string& command) const {
    const std::string line = "KAFKA_HEAP=256m KAFKA_DATA=" + data_ +
                             " " SLUICE_SOURCE_DIR "/tests/services/kafka/kafka.sh " + command + " >/dev/null";
    return std::system(line.c_str());
  }
  std::string data_, address_;
};

OwnBroker& broker() {
  static OwnBroker b;
  return b;
}

TestCluster& cluster() {
  static TestCluster c(broker().address());
  return c;
}

bool caught_up(const SourceHarness& h) {
  for (const auto& s : h.splits())
    if ((s.flags & SLUICE_SPLIT_CAUGHT_UP) == 0) return false;
  return true;
}

}  // namespace

TEST_CASE("a broker that is killed in mid-read costs no row and repeats none") {
  const std::string topic = cluster().fresh_topic("outage", 3);
  for (int p = 0; p < 3; ++p) cluster().produce_numbered(topic, p, "p" + std::to_string(p) + "-", 3000);
  SourceHarness h("brokers: " + broker().address() + "\ntopic: " + topic +
                  "\nmax_queue: 16KiB\nproperties: {fetch.message.max.bytes: 4096, queued.min.messages: 100}");
  h.open();
  h.discover();
  h.assign();
  poll_rows(h, 1500);
  broker().run("kill");
  poll_until(h, "a note", [&] { return h.note().find("broker away") != std::string::npos; });
  CHECK_FALSE(caught_up(h));
  broker().run("start");
  poll_until(h, "all rows", [&] { return caught_up(h); });
  const auto rows = h.pull();
  for (int p = 0; p < 3; ++p)
    CHECK(names(rows, topic + "-" + std::to_string(p)) == numbered("p" + std::to_string(p) + "-", 0, 3000));
  CHECK(h.note().empty());

  // Read to the end, and quiet: not caught up while the broker is away, and again as soon as it is back.
  broker().run("kill");
  poll_until(h, "not caught up", [&] { return !caught_up(h); });
  CHECK(h.note().find("broker away") != std::string::npos);
  h.checkpoint();  // goes on meanwhile
  broker().run("start");
  poll_until(h, "caught up again", [&] { return caught_up(h); });
  CHECK(h.pull().empty());
  CHECK(h.note().empty());
}

TEST_CASE("a start without a broker is tried again until there is one") {
  const std::string topic = cluster().fresh_topic("outage-start", 1);
  cluster().produce_numbered(topic, 0, "m", 3);
  broker().run("kill");
  SourceHarness h("brokers: " + broker().address() + "\nuntil: end\ntopic: " + topic);
  const Status s = h.try_open();
  CHECK(s.code() == SLUICE_RETRY);
  CHECK(s.message().find("Connection refused") != std::string::npos);
  CHECK(h.note().find("broker away") != std::string::npos);
  broker().run("start");
  CHECK(retrying([&] { return h.try_open(); }).is_ok());
  std::vector<sluice::testing::DiscoveredSplit> found;
  CHECK(retrying([&] { return h.try_discover(&found); }).is_ok());
  CHECK(retrying([&] { return h.try_assign(); }).is_ok());
  h.poll_until_quiet();
  CHECK(names(h.pull()) == numbered("m", 0, 3));
}

TEST_CASE("a checkpoint waits for the sink's broker, and then everything is there once") {
  const std::string topic = cluster().fresh_topic("outage-sink", 1);
  SinkHarness h("brokers: " + broker().address() + "\ntopic: " + topic);
  h.open();
  h.push(R"({"n":"before"})");
  h.checkpoint();
  broker().run("kill");
  for (int i = 0; i < 100; ++i) h.push(R"({"n":)" + std::to_string(i) + "}");
  const Status s = h.try_checkpoint_uncommitted();
  CHECK(s.code() == SLUICE_RETRY);
  CHECK(s.message().find("100 messages are not confirmed") != std::string::npos);
  CHECK(h.note().find("broker away") != std::string::npos);
  broker().run("start");
  CHECK(retrying([&] { return h.try_checkpoint_uncommitted(); }).is_ok());
  CHECK(h.note().empty());
  CHECK(cluster().read_all(topic, 0).size() == 101);
}

TEST_CASE("delivery_timeout ends the job instead of waiting for ever") {
  const std::string topic = cluster().fresh_topic("outage-timeout", 1);
  SinkHarness h("brokers: " + broker().address() + "\ntopic: " + topic + "\ndelivery_timeout: 1s");
  h.open();
  broker().run("kill");
  h.push(R"({"n":1})");
  const Status s = retrying([&] { return h.try_checkpoint_uncommitted(); });
  CHECK(s.code() == SLUICE_FATAL);
  CHECK(s.message().find("delivery_timeout") != std::string::npos);
  broker().run("start");
}
