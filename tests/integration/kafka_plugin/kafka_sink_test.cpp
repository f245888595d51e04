// kafka.sink against a real broker.
#include "kafka/kafka_sink.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "test_cluster.h"
#include "waiting.h"

using namespace sluice;
using namespace sluice::kafka;
using namespace sluice::kafka::testing;
using SinkHarness = sluice::testing::Harness<KafkaSink>;

namespace {

TestCluster& cluster() {
  static TestCluster c(TestCluster::brokers_from_environment());
  return c;
}

std::string options(const std::string& more) { return "brokers: " + cluster().brokers() + "\n" + more; }

}  // namespace

TEST_CASE("rows become messages, and a checkpoint means that they are there") {
  const std::string topic = cluster().fresh_topic("sink", 1);
  SinkHarness h(options("topic: " + topic + "\nkey_field: user.id\ncompression: lz4"));
  h.open();
  h.push(R"({"user":{"id":18446744073709551615},"price":20.00,"名":"值"})");
  h.push(R"({"user":{"id":"u 2"}})");
  h.push(R"({"user":{}})");
  h.push(R"({"user":{"id":""}})");
  h.checkpoint();
  const auto messages = cluster().read_all(topic, 0);
  REQUIRE(messages.size() == 4);
  CHECK(messages[0].value ==
        std::optional<std::string>(R"({"user":{"id":18446744073709551615},"price":20.00,"名":"值"})"));
  CHECK(messages[0].key == std::optional<std::string>("18446744073709551615"));
  CHECK(messages[1].key == std::optional<std::string>("u 2"));
  CHECK_FALSE(messages[2].key.has_value());
  CHECK(messages[3].key == std::optional<std::string>(""));
  h.close();
}

TEST_CASE("deletes and tombstones") {
  const std::string topic = cluster().fresh_topic("sink-delete", 1);
  SinkHarness h(options("topic: " + topic + "\nkey_field: id\ntombstone_on_delete: true"));
  h.open();
  sluice::testing::RowMeta removed, keyed;
  removed.change = SLUICE_CHANGE_DELETE;
  keyed.message_key = "9";
  h.push(R"({"id":7,"a":1})");
  h.push(R"({"id":7,"a":1})", removed);
  h.push_tombstone(keyed);
  h.push(R"({"a":1})", removed);
  h.checkpoint();
  const auto messages = cluster().read_all(topic, 0);
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].value.has_value());
  CHECK_FALSE(messages[1].value.has_value());
  CHECK(messages[1].key == std::optional<std::string>("7"));
  CHECK_FALSE(messages[2].value.has_value());
  CHECK(messages[2].key == std::optional<std::string>("9"));
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.rejected()[0].reason.find("`id`") != std::string::npos);
}

TEST_CASE("a field names the topic") {
  const std::string a = cluster().fresh_topic("sink-a", 1), b = cluster().fresh_topic("sink-b", 1);
  SinkHarness h(options("topic: " + a + "\ntopic_field: to"));
  h.open();
  h.push(R"({"to":")" + b + R"(","n":1})");
  h.push(R"({"n":2})");
  h.push(R"({"to":5})");
  h.checkpoint();
  CHECK(cluster().read_all(a, 0).size() == 1);
  CHECK(cluster().read_all(b, 0).size() == 1);
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.rejected()[0].reason.find("names no topic") != std::string::npos);
}

TEST_CASE("a message that the topic refuses is refused alone") {
  const std::string topic = cluster().fresh_topic("sink-large", 1, {{"max.message.bytes", "20000"}});
  const std::string large = R"({"large":")" + std::string(30000, 'x') + R"("})";
  SECTION("its row is known") {
    SinkHarness h(options("topic: " + topic + "\nisolate_errors: true"));
    h.open();
    std::vector<sluice::testing::InputRow> rows;
    for (int i = 0; i < 10; ++i) rows.push_back({i == 4 ? large : R"({"n":)" + std::to_string(i) + "}"});
    h.push_batch(rows);
    h.checkpoint();
    CHECK(cluster().read_all(topic, 0).size() == 9);
    REQUIRE(h.rejected().size() == 1);
    CHECK(h.rejected()[0].json == large);
    CHECK(h.rejected()[0].reason.find(topic) != std::string::npos);
    h.push(R"({"n":10})");
    h.checkpoint();
    CHECK(cluster().read_all(topic, 0).size() == 10);
  }
  SECTION("its row is not known") {
    SinkHarness h(options("topic: " + topic));
    h.open();
    h.push(large);
    const Status s = h.try_checkpoint_uncommitted();
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(s.message().find("isolate_errors") != std::string::npos);
  }
  SECTION("too large for the client") {
    SinkHarness h(options("topic: " + topic));
    h.open();
    h.push(R"({"large":")" + std::string(2000000, 'x') + R"("})");
    REQUIRE(h.rejected().size() == 1);
    CHECK(h.rejected()[0].reason.find("message.max.bytes") != std::string::npos);
    h.checkpoint();
  }
}

TEST_CASE("a refused batch does not put an older value of a key behind a newer one") {
  const std::string topic = cluster().fresh_topic("sink-order", 1, {{"max.message.bytes", "2000"}});
  const auto of_a = [](const std::string& value) { return sluice::testing::InputRow{R"({"k":"A","v":")" + value + R"("})"}; };
  const sluice::testing::InputRow too_large{R"({"k":"B","v":")" + std::string(3000, 'x') + R"("})"};
  const auto values = [&] {
    std::vector<std::string> out;
    for (const auto& m : cluster().read_all(topic, 0))
      if (m.key == std::optional<std::string>("A")) out.push_back(m.value->substr(14, m.value->size() - 16));
    return out;
  };
  SinkHarness h(options("topic: " + topic + "\nkey_field: k\nisolate_errors: true\nproperties: { batch.num.messages: 4 }"));
  h.open();
  SECTION("the newer one comes when the refusal is known") {
    h.push_batch({of_a("0"), of_a("1"), of_a("2"), too_large});
    for (const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
         h.rejected().empty() && std::chrono::steady_clock::now() < deadline;)
      h.push(R"({"k":"C"})");
    CHECK(values() == std::vector<std::string>{"0", "1", "2"});
    h.push_batch({of_a("new")});
    h.checkpoint();
    CHECK(values() == std::vector<std::string>{"0", "1", "2", "new"});
  }
  SECTION("the newer ones are under way by then") {
    h.push_batch({of_a("0"), of_a("1"), of_a("2"), too_large, of_a("3"), of_a("new")});
    h.checkpoint();
    const auto written = values();
    REQUIRE(written.size() >= 5);
    CHECK(std::vector<std::string>(written.end() - 5, written.end()) == std::vector<std::string>{"0", "1", "2", "3", "new"});
  }
  REQUIRE(h.rejected().size() == 1);
  CHECK(h.rejected()[0].json == too_large.payload);
}

TEST_CASE("a full queue holds the pipeline back and loses nothing") {
  const std::string topic = cluster().fresh_topic("sink-full", 1);
  SinkHarness h(options("topic: " + topic + "\nmax_queue: 64KiB\nlinger: 200ms"));
  h.open();
  std::vector<sluice::testing::InputRow> rows;
  for (int i = 0; i < 500; ++i)
    rows.push_back({R"({"n":)" + std::to_string(i) + R"(,"pad":")" + std::string(500, 'p') + R"("})"});
  Status s = h.try_push_batch(rows);
  CHECK(s.code() == SLUICE_RETRY);
  CHECK(retrying([&] { return h.rows_waiting() > 0 ? h.try_retry() : Status::ok(); }).is_ok());
  h.checkpoint();
  const auto messages = cluster().read_all(topic, 0);
  REQUIRE(messages.size() == 500);
  for (int i = 0; i < 500; ++i)
    CHECK(messages[static_cast<size_t>(i)].value->rfind(R"({"n":)" + std::to_string(i) + ",", 0) == 0);
}

TEST_CASE("a topic that is missing is waited for") {
  const std::string topic = cluster().fresh_name("sink-missing");
  SinkHarness h(options("topic: " + topic));
  const Status s = h.try_open();
  CHECK(s.code() == SLUICE_RETRY);
  CHECK(s.message().find(topic) != std::string::npos);
  cluster().create_topic(topic, 1);
  CHECK(retrying([&] { return h.try_open(); }).is_ok());
  h.push(R"({"n":1})");
  h.checkpoint();
  CHECK(cluster().read_all(topic, 0).size() == 1);
}

TEST_CASE("check: brokers and topic; a topic that is missing is not made by asking") {
  const std::string topic = cluster().fresh_topic("sink-check", 1);
  CHECK(SinkHarness(options("topic: " + topic)).find_problems().empty());
  CHECK(SinkHarness(options("topic_field: to")).find_problems().empty());
  const std::string missing = cluster().fresh_name("sink-check-missing");
  for (int again = 0; again < 2; ++again) {
    const auto found = SinkHarness(options("topic: " + missing + "\nproperties: { allow.auto.create.topics: true }")).find_problems();
    REQUIRE(found.size() == 1);
    CHECK(found[0].option == "topic");
    CHECK(found[0].text == "topic " + missing + " does not exist at " + cluster().brokers() +
                               ": create it (brokers with `auto.create.topics.enable` make it when the job starts)");
  }
  const auto away = SinkHarness("brokers: 127.0.0.1:1\ntopic: any").find_problems();
  REQUIRE(away.size() == 1);
  CHECK(away[0].option == "brokers");
  CHECK_THAT(away[0].text, Catch::Contains("failed: Connection refused"));
}
