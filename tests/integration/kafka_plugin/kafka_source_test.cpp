// kafka.source against a real broker.
#include "kafka/kafka_source.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "test_cluster.h"
#include "waiting.h"

using namespace sluice;
using namespace sluice::kafka;
using namespace sluice::kafka::testing;
using SourceHarness = sluice::testing::Harness<KafkaSource>;
using sluice::testing::Failure;
using sluice::testing::OutRow;

namespace {

TestCluster& cluster() {
  static TestCluster c(TestCluster::brokers_from_environment());
  return c;
}

std::string options(const std::string& topic, const std::string& more = "") {
  return "brokers: " + cluster().brokers() + "\ntopic: " + topic + "\ndiscover_interval: 100ms\n" + more;
}

void start(SourceHarness& h) {
  h.open();
  h.discover();
  h.assign();
}

// All rows of a bounded or quiet source.
std::vector<OutRow> read(SourceHarness& h) {
  h.poll_until_quiet();
  return h.pull();
}

bool has_log(const SourceHarness& h, const std::string& part) {
  const auto lines = h.log();
  return std::any_of(lines.begin(), lines.end(), [&](const auto& l) { return l.text.find(part) != std::string::npos; });
}

Status failure_of(SourceHarness& h) {
  try {
    start(h);
  } catch (const Failure& f) {
    return f.status();
  }
  return Status::ok();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("each start option begins where it says") {
  const std::string topic = cluster().fresh_topic("start", 1);
  std::vector<TestMessage> messages;
  for (int i = 0; i < 10; ++i)
    messages.push_back({R"({"n":"m)" + std::to_string(i) + R"("})", std::nullopt, 1700000000000 + i * 1000});
  cluster().produce(topic, 0, messages);
  const std::string group = cluster().fresh_name("group");

  SECTION("earliest") {
    SourceHarness h(options(topic, "until: end"));
    start(h);
    CHECK(names(read(h)) == numbered("m", 0, 10));
    CHECK((h.split(topic + "-0").flags & SLUICE_SPLIT_END) != 0);
  }
  SECTION("latest, and a restart before the first row goes on there") {
    SourceHarness h(options(topic, "start: latest"));
    start(h);
    CHECK(read(h).empty());
    h.checkpoint();
    h.crash();
    cluster().produce_numbered(topic, 0, "new", 3);
    h.restore();
    CHECK(names(read(h)) == numbered("new", 0, 3));
  }
  SECTION("timestamp") {
    SourceHarness h(options(topic, "start: timestamp\nstart_timestamp: \"1700000006500\"\nuntil: end"));
    start(h);
    CHECK(names(read(h)) == numbered("m", 7, 10));
  }
  SECTION("timestamp as ISO 8601") {
    SourceHarness h(options(topic, "start: timestamp\nstart_timestamp: \"2023-11-15T06:13:28+08:00\"\nuntil: end"));
    start(h);
    CHECK(names(read(h)) == numbered("m", 8, 10));
  }
  SECTION("timestamp behind the last message") {
    SourceHarness h(options(topic, "start: timestamp\nstart_timestamp: \"2033-01-01T00:00:00Z\"\nuntil: end"));
    start(h);
    CHECK(read(h).empty());
    CHECK((h.split(topic + "-0").flags & SLUICE_SPLIT_END) != 0);
  }
  SECTION("offsets") {
    SourceHarness h(options(topic, "start: offsets\nstart_offsets: {0: 4}\nuntil: end"));
    start(h);
    CHECK(names(read(h)) == numbered("m", 4, 10));
  }
  SECTION("offsets beyond the end") {
    SourceHarness h(options(topic, "start: offsets\nstart_offsets: {0: 500}"));
    const Status s = failure_of(h);
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(contains(s.message(), "500"));
    CHECK(contains(s.message(), "ends at 10"));
    CHECK(contains(s.message(), "on_gap"));
  }
  SECTION("committed; a checkpoint wins over the group and over start") {
    cluster().commit_for(group, topic, 0, 6);
    SourceHarness h(options(topic, "start: committed\ngroup: " + group));
    start(h);
    CHECK(has_log(h, "from offset 6 (start: committed by group " + group));
    CHECK(names(read(h)) == numbered("m", 6, 10));
    h.checkpoint();
    h.crash();
    cluster().commit_for(group, topic, 0, 0);
    cluster().produce_numbered(topic, 0, "later", 1);
    h.restore();
    CHECK(has_log(h, "from offset 10 (checkpoint)"));
    CHECK(names(read(h)) == numbered("later", 0, 1));
  }
  SECTION("committed without a committed offset") {
    SourceHarness earliest(options(topic, "start: committed\nuntil: end\ngroup: " + group));
    start(earliest);
    CHECK(read(earliest).size() == 10);
    SourceHarness latest(options(topic, "start: committed\nuntil: end\nstart_fallback: latest\ngroup: " + group + "x"));
    start(latest);
    CHECK(read(latest).empty());
    SourceHarness fail(options(topic, "start: committed\nstart_fallback: fail\ngroup: " + group + "x"));
    const Status s = failure_of(fail);
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(contains(s.message(), topic + "-0"));
    CHECK(contains(s.message(), "has committed no offset"));
  }
}

TEST_CASE("tombstones, empty values, keys and times come as they are") {
  const std::string topic = cluster().fresh_topic("rows", 1);
  cluster().produce(topic, 0,
                    {{R"({"a":1})", "k1", 1700000000123},
                     {std::nullopt, "k2"},
                     {std::string(), "k3"},
                     {R"({"a":2})", std::string()},
                     {R"({"a":3})"}});
  SourceHarness h(options(topic, "until: end\ntimestamps: true"));
  start(h);
  const auto rows = read(h);
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].json == R"({"a":1})");
  CHECK(rows[0].message_key == std::optional<std::string>("k1"));
  CHECK(rows[0].event_time == 1700000000123);
  CHECK(rows[1].tombstone);
  CHECK(rows[1].message_key == std::optional<std::string>("k2"));
  CHECK_FALSE(rows[2].tombstone);
  CHECK(rows[2].json.empty());
  CHECK(rows[3].message_key == std::optional<std::string>(""));
  CHECK_FALSE(rows[4].message_key.has_value());
  CHECK(h.describe_position(rows[3].split, rows[3].position) == topic + "[0] offset 3");
}

TEST_CASE("a bounded read ends by position, whatever transactions left in the log") {
  const std::string topic = cluster().fresh_topic("txn", 2);
  cluster().transaction(topic, 0, "good", 5, true);      // 0-4, control record 5
  cluster().transaction(topic, 0, "aborted", 5, false);  // 6-10, control record 11
  cluster().transaction(topic, 0, "last", 3, true);      // 12-14, control record 15
  REQUIRE(cluster().range(topic, 0).second == 16);

  std::vector<std::string> expected = numbered("good", 0, 5);
  for (const auto& n : numbered("last", 0, 3)) expected.push_back(n);

  SECTION("to the end, which is a control record") {
    SourceHarness h(options(topic, "until: end"));
    start(h);
    // An empty partition has given everything that was there at once.
    CHECK((h.split(topic + "-1").flags & SLUICE_SPLIT_END) != 0);
    CHECK(names(read(h)) == expected);
    CHECK((h.split(topic + "-0").flags & SLUICE_SPLIT_END) != 0);
    h.checkpoint();
    h.crash();
    cluster().produce_numbered(topic, 0, "after", 5);
    h.restore();
    CHECK(read(h).empty());
    CHECK((h.split(topic + "-0").flags & SLUICE_SPLIT_END) != 0);
  }
  SECTION("an aborted transaction at the end") {
    cluster().transaction(topic, 0, "aborted", 5, false);
    SourceHarness h(options(topic, "until: end"));
    start(h);
    CHECK(names(read(h)) == expected);
  }
  SECTION("rows that come while it reads are left out, also after a crash") {
    SourceHarness h(options(topic, "until: end"));
    start(h);
    poll_rows(h, 2);
    h.pull();
    h.checkpoint();
    h.crash();
    cluster().produce_numbered(topic, 0, "after", 50);
    cluster().produce_numbered(topic, 1, "after", 50);
    h.restore();
    const auto rows = names(read(h));
    CHECK(rows.size() == expected.size() - 2);
    CHECK(std::equal(rows.rbegin(), rows.rend(), expected.rbegin()));
  }
  SECTION("read_uncommitted gives all of them") {
    SourceHarness h(options(topic, "until: end\nisolation: read_uncommitted"));
    start(h);
    CHECK(read(h).size() == 13);
  }
  SECTION("unbounded: caught up, snapshot complete, and the position is behind the control record") {
    SourceHarness h(options(topic));
    start(h);
    CHECK(names(read(h)) == expected);
    const auto& split = h.split(topic + "-0");
    CHECK((split.flags & SLUICE_SPLIT_CAUGHT_UP) != 0);
    CHECK((split.flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) != 0);
    REQUIRE(split.position.has_value());
    CHECK(h.describe_position(topic + "-0", *split.position) == topic + "[0] before offset 16");
    // So retention up to there is no gap.
    h.checkpoint();
    h.crash();
    cluster().delete_records_before(topic, 0, 16);
    cluster().produce_numbered(topic, 0, "new", 1);
    h.restore();
    CHECK(names(read(h)) == numbered("new", 0, 1));
  }
}

TEST_CASE("a restart goes on exactly behind the checkpoint, in every partition") {
  const std::string topic = cluster().fresh_topic("exact", 3);
  for (int p = 0; p < 3; ++p) cluster().produce_numbered(topic, p, "p" + std::to_string(p) + "-", 2000);
  SourceHarness h(options(topic));
  start(h);
  std::vector<OutRow> all;
  for (int crash = 0; crash < 4; ++crash) {
    // Rows up to the checkpoint count, those after it come again.
    poll_rows(h, 937);
    for (auto& r : h.pull()) all.push_back(std::move(r));
    h.checkpoint();
    for (int i = 0; i < 3; ++i) h.poll(100);
    h.crash();
    h.restore();
  }
  for (auto& r : read(h)) all.push_back(std::move(r));
  for (int p = 0; p < 3; ++p)
    CHECK(names(all, topic + "-" + std::to_string(p)) == numbered("p" + std::to_string(p) + "-", 0, 2000));
}

TEST_CASE("partitions that are added are read from their beginning, whatever start says") {
  const std::string topic = cluster().fresh_topic("grow", 1);
  cluster().produce_numbered(topic, 0, "old", 10);
  SourceHarness h(options(topic, "start: latest"));
  start(h);
  CHECK(read(h).empty());
  cluster().add_partitions(topic, 3);
  for (int p = 0; p < 3; ++p) cluster().produce_numbered(topic, p, "p" + std::to_string(p) + "-", 30);
  poll_until(h, "the new partitions", [&] {
    const size_t n = h.discover().size();
    h.poll();
    return n == 3;
  });
  h.assign();
  CHECK(has_log(h, topic + "-2: from offset 0 (new partition)"));
  auto rows = read(h);
  CHECK(rows.size() == 90);
  h.checkpoint();
  h.crash();
  h.restore();
  CHECK(read(h).empty());

  SECTION("also while the job was down") {
    h.checkpoint();
    h.crash();
    cluster().add_partitions(topic, 4);
    cluster().produce_numbered(topic, 3, "p3-", 7);
    h.restore();
    CHECK(names(read(h)) == numbered("p3-", 0, 7));
  }
}

TEST_CASE("a topic that is gone keeps nobody from finding the new partitions of another") {
  const std::string goes = cluster().fresh_topic("goes", 1), grows = cluster().fresh_topic("grows", 1);
  SourceHarness h("brokers: " + cluster().brokers() + "\ntopics: [" + goes + ", " + grows + "]\ndiscover_interval: 100ms");
  start(h);
  CHECK(read(h).empty());
  cluster().delete_topic(goes);
  const std::string gone = goes + "-0 does not exist any more: waiting for it";
  poll_until(h, "the topic is gone", [&] { return h.note() == gone; });
  cluster().add_partitions(grows, 2);
  cluster().produce_numbered(grows, 1, "m", 3);
  poll_until(h, "the new partition", [&] {
    const size_t n = h.discover().size();
    h.poll();
    return n == 3;
  });
  h.assign();
  poll_rows(h, 3);
  CHECK(names(h.pull()) == numbered("m", 0, 3));
  CHECK(h.note() == gone);
  cluster().create_topic(goes, 1);
  cluster().produce_numbered(goes, 0, "back", 1);
  poll_rows(h, 1);
  CHECK(h.note().empty());
  CHECK(has_log(h, goes + "-0 is there again"));
}

TEST_CASE("an offset that retention deleted stops the job, or is bridged when told so") {
  const std::string topic = cluster().fresh_topic("gap", 1);
  cluster().produce_numbered(topic, 0, "m", 100);
  const auto to_the_checkpoint = [&](SourceHarness& h) {
    start(h);
    poll_rows(h, 50);
    h.pull();
    h.checkpoint();
    h.crash();
  };
  SECTION("fail") {
    SourceHarness h(options(topic));
    to_the_checkpoint(h);
    cluster().delete_records_before(topic, 0, 80);
    const Status s = h.try_restore();
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(contains(s.message(), topic + "-0: checkpoint offset 50, earliest available 80, 30 offsets lost"));
    CHECK(contains(s.message(), "on_gap: earliest"));
  }
  SECTION("earliest") {
    SourceHarness h(options(topic, "on_gap: earliest"));
    to_the_checkpoint(h);
    cluster().delete_records_before(topic, 0, 80);
    h.restore();
    CHECK(names(read(h)) == numbered("m", 80, 100));
    CHECK(h.counter("lost_records") == 30);
    CHECK(has_log(h, "going on at 80"));
  }
  SECTION("latest") {
    SourceHarness h(options(topic, "on_gap: latest"));
    to_the_checkpoint(h);
    cluster().delete_records_before(topic, 0, 80);
    h.restore();
    CHECK(read(h).empty());
    CHECK(h.counter("lost_records") == 50);
  }
  SECTION("while it runs") {
    // A small queue, so that little is fetched ahead.
    const std::string more = "max_queue: 1KiB\nproperties: {fetch.message.max.bytes: 1000, queued.min.messages: 1}\n";
    const std::string large = cluster().fresh_topic("gap-running", 1);
    std::vector<TestMessage> messages(3000, TestMessage{R"({"n":")" + std::string(2000, 'x') + R"("})"});
    cluster().produce(large, 0, messages);
    SourceHarness fail(options(large, more)), earliest(options(large, more + "on_gap: earliest"));
    for (SourceHarness* h : {&fail, &earliest}) {
      start(*h);
      poll_rows(*h, 1);
    }
    cluster().delete_records_before(large, 0, 2990);
    const Status s = poll_until_failure(fail);
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(contains(s.message(), "earliest available 2990"));
    earliest.poll_until_quiet();
    const auto rows = earliest.pull();
    CHECK(rows.size() < 3000);
    CHECK(earliest.describe_position(rows.back().split, rows.back().position) == large + "[0] offset 2999");
    CHECK(earliest.counter("lost_records") + static_cast<int64_t>(rows.size()) == 3000);
  }
}

TEST_CASE("an offset within an open transaction is no gap") {
  const std::string topic = cluster().fresh_topic("open-txn", 1);
  cluster().produce_numbered(topic, 0, "m", 5);
  const auto open = cluster().open_transaction(topic, 0, "txn", 3);
  const auto goes_on_behind = [&](SourceHarness& h) {
    CHECK(read(h).empty());
    CHECK(h.counter("gaps") == 0);
    REQUIRE(rd_kafka_commit_transaction(open.get(), 30000) == nullptr);
    cluster().produce_numbered(topic, 0, "after", 2);
    poll_rows(h, 2);
    CHECK(names(h.pull()) == numbered("after", 0, 2));
  };
  SECTION("of a checkpoint that was made with read_uncommitted") {
    SourceHarness h(options(topic, "isolation: read_uncommitted"));
    start(h);
    CHECK(read(h).size() == 8);
    h.checkpoint();
    h.crash();
    h.set_options(options(topic));
    h.restore();
    CHECK(has_log(h, topic + "-0: from offset 8 (checkpoint), it holds 0 to 5"));
    goes_on_behind(h);
  }
  SECTION("of another reader's group") {
    const std::string group = cluster().fresh_name("group");
    cluster().commit_for(group, topic, 0, 7);
    SourceHarness h(options(topic, "start: committed\ngroup: " + group));
    start(h);
    CHECK(read(h).empty());
    REQUIRE(rd_kafka_commit_transaction(open.get(), 30000) == nullptr);
    poll_rows(h, 1);
    CHECK(names(h.pull()) == numbered("txn", 2, 3));
  }
  SECTION("behind it there is one, and the message has the end of all messages") {
    const std::string group = cluster().fresh_name("group");
    cluster().commit_for(group, topic, 0, 9);
    SourceHarness h(options(topic, "start: committed\ngroup: " + group));
    CHECK(failure_of(h).message() ==
          topic + "-0: committed offset 9, but the partition ends at 8: the topic was made anew or cut off; set `on_gap: "
                  "earliest` to go on at 0 or `on_gap: latest` to go on at 5");
  }
}

TEST_CASE("a topic that was made anew is noticed") {
  const std::string topic = cluster().fresh_topic("anew", 1);
  cluster().produce_numbered(topic, 0, "m", 1000);

  SECTION("while the job was down") {
    SourceHarness h(options(topic));
    start(h);
    CHECK(read(h).size() == 1000);
    h.checkpoint();
    h.crash();
    cluster().delete_topic(topic);
    cluster().create_topic(topic, 1);
    cluster().produce_numbered(topic, 0, "new", 10);
    const Status s = h.try_restore();
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(contains(s.message(), topic + "-0: checkpoint offset 1000, but the partition ends at 10"));
  }
  SECTION("while it runs") {
    SourceHarness fail(options(topic)), earliest(options(topic, "on_gap: earliest"));
    for (SourceHarness* h : {&fail, &earliest}) {
      start(*h);
      CHECK(read(*h).size() == 1000);
    }
    cluster().delete_topic(topic);
    poll_until(fail, "the topic is gone", [&] { return contains(fail.note(), "does not exist any more"); });
    CHECK((fail.split(topic + "-0").flags & SLUICE_SPLIT_CAUGHT_UP) == 0);
    cluster().create_topic(topic, 1);
    cluster().produce_numbered(topic, 0, "new", 10);
    const Status s = poll_until_failure(fail);
    CHECK(s.code() == SLUICE_FATAL);
    CHECK(contains(s.message(), "offset 1000, but the partition ends at"));
    poll_until(earliest, "the new rows", [&] {
      return (earliest.split(topic + "-0").flags & SLUICE_SPLIT_CAUGHT_UP) != 0 && earliest.counter("gaps") > 0;
    });
    CHECK(names(earliest.pull()) == numbered("new", 0, 10));
    CHECK(earliest.note().empty());
  }
}

TEST_CASE("large messages and all compressions") {
  const std::string topic = cluster().fresh_topic("large", 1, {{"max.message.bytes", "5000000"}});
  const std::string big = R"({"n":")" + std::string(1024 * 1024, 'x') + R"("})";
  cluster().produce(topic, 0, {{big}, {R"({"n":"small"})"}, {big}});
  for (const char* codec : {"gzip", "snappy", "lz4", "zstd"}) {
    std::vector<TestMessage> messages;
    for (int i = 0; i < 100; ++i) messages.push_back({R"({"n":")" + std::string(codec) + std::to_string(i) + R"("})"});
    cluster().produce(topic, 0, messages, codec);
  }
  SourceHarness h(options(topic, "until: end"));
  start(h);
  const auto rows = read(h);
  REQUIRE(rows.size() == 403);
  CHECK(rows[0].json == big);
  CHECK(rows[2].json == big);
  CHECK(names({rows[402]}) == std::vector<std::string>{"zstd99"});
}

TEST_CASE("offsets of a checkpoint are there for others, and only those") {
  const std::string topic = cluster().fresh_topic("offsets", 2);
  for (int p = 0; p < 2; ++p) cluster().produce_numbered(topic, p, "m", 40);
  const std::string group = cluster().fresh_name("group");
  SECTION("after each checkpoint") {
    SourceHarness h(options(topic, "group: " + group));
    start(h);
    CHECK(read(h).size() == 80);
    CHECK(cluster().committed(group, topic, 0) == RD_KAFKA_OFFSET_INVALID);
    h.checkpoint_uncommitted();
    cluster().produce_numbered(topic, 0, "later", 5);
    CHECK(read(h).size() == 5);
    h.commit();
    h.close();
    CHECK(cluster().committed(group, topic, 0) == 40);
    CHECK(cluster().committed(group, topic, 1) == 40);
  }
  SECTION("not at all when switched off") {
    SourceHarness h(options(topic, "commit_offsets: false\ngroup: " + group));
    start(h);
    CHECK(read(h).size() == 80);
    h.checkpoint();
    h.close();
    CHECK(cluster().committed(group, topic, 0) == RD_KAFKA_OFFSET_INVALID);
  }
}

TEST_CASE("an offset that one partition's commit did not bring is committed with the next checkpoint") {
  const std::string stays = cluster().fresh_topic("stays", 1), goes = cluster().fresh_topic("goes", 1);
  for (const auto& topic : {stays, goes}) cluster().produce_numbered(topic, 0, "m", 10);
  const std::string group = cluster().fresh_name("group");
  SourceHarness h("brokers: " + cluster().brokers() + "\ntopics: [" + stays + ", " + goes + "]\ngroup: " + group);
  start(h);
  CHECK(read(h).size() == 20);
  cluster().delete_topic(goes);
  h.checkpoint();
  poll_until(h, "the answer", [&] { return h.counter("offset_commits_failed") > 0; });
  CHECK(cluster().committed(group, stays, 0) == 10);
  cluster().create_topic(goes, 1);
  cluster().produce_numbered(goes, 0, "m", 10);  // so it stands where it stood
  poll_until(h, "the commit", [&] {
    h.checkpoint();
    h.poll();
    return cluster().committed(group, goes, 0) == 10;
  });
}

TEST_CASE("several topics, lanes by partition") {
  const std::string a = cluster().fresh_topic("a", 2), b = cluster().fresh_topic("b-1", 1);
  cluster().produce_numbered(a, 0, "a0-", 5);
  cluster().produce_numbered(a, 1, "a1-", 5);
  cluster().produce_numbered(b, 0, "b-", 5);
  SourceHarness h("brokers: " + cluster().brokers() + "\nuntil: end\ntopics: [" + a + ", " + b + "]");
  h.open();
  const auto found = h.discover();
  REQUIRE(found.size() == 3);
  CHECK(found[0].ordinal == 0);
  CHECK(found[1].ordinal == 1);
  CHECK(found[2].id == b + "-0");
  CHECK(found[2].ordinal == 1);
  h.assign();
  const auto rows = read(h);
  CHECK(names(rows, a + "-1") == numbered("a1-", 0, 5));
  CHECK(names(rows, b + "-0") == numbered("b-", 0, 5));
}

TEST_CASE("a topic that is missing is waited for") {
  const std::string topic = cluster().fresh_name("missing");
  SECTION("at start") {
    SourceHarness h(options(topic, "until: end"));
    h.open();
    std::vector<sluice::testing::DiscoveredSplit> found;
    const Status s = h.try_discover(&found);
    CHECK(s.code() == SLUICE_RETRY);
    CHECK(contains(s.message(), "topic " + topic + " does not exist"));
    CHECK(contains(h.note(), "does not exist"));
    cluster().create_topic(topic, 1);
    cluster().produce_numbered(topic, 0, "m", 3);
    CHECK(retrying([&] { return h.try_discover(&found); }).is_ok());
    h.assign();
    CHECK(read(h).size() == 3);
  }
  SECTION("beside the job") {
    SourceHarness h(options(topic, "allow_missing: true\nstart: latest"));
    start(h);
    CHECK(h.splits().empty());
    cluster().create_topic(topic, 1);
    cluster().produce_numbered(topic, 0, "m", 3);
    poll_until(h, "the topic", [&] { return !h.discover().empty(); });
    h.assign();
    CHECK(names(read(h)) == numbered("m", 0, 3));
  }
}

TEST_CASE("a login that the listener does not know ends the start with what to do") {
  SourceHarness h(options(
      "any", "security_protocol: sasl_plaintext\nsasl_mechanism: PLAIN\nsasl_username: me\nsasl_password: sesame\n"));
  const Status s = retrying([&] { return h.try_open(); });
  CHECK(s.code() == SLUICE_FATAL);
  CHECK(contains(s.message(), "sasl_mechanism"));
  CHECK_FALSE(contains(s.message(), "sesame"));
  for (const auto& line : h.log()) CHECK_FALSE(contains(line.text, "sesame"));
}

TEST_CASE("check: brokers, login and topics, without reading") {
  const std::string topic = cluster().fresh_topic("check", 2);
  CHECK(SourceHarness(options(topic)).find_problems().empty());
  const std::string missing = cluster().fresh_name("check-missing"), other = cluster().fresh_name("check-other");
  const auto found = SourceHarness("brokers: " + cluster().brokers() + "\ntopics: [" + missing + ", " + topic + ", " + other + "]").find_problems();
  REQUIRE(found.size() == 2);
  CHECK(found[0].option == "topics");
  CHECK(found[0].text == "topic " + missing + " does not exist at " + cluster().brokers() +
                             ": create it, or start without it with `allow_missing: true`");
  CHECK(contains(found[1].text, "topic " + other + " does not exist"));
  CHECK(SourceHarness(options(missing, "allow_missing: true")).find_problems().empty());

  const auto away = SourceHarness("brokers: 127.0.0.1:1\ntopic: any").find_problems();
  REQUIRE(away.size() == 1);
  CHECK(away[0].option == "brokers");
  CHECK(contains(away[0].text, "the brokers give no metadata: 127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused"));

  const auto refused = SourceHarness(options(
      "any", "security_protocol: sasl_plaintext\nsasl_mechanism: PLAIN\nsasl_username: me\nsasl_password: sesame\n")).find_problems();
  REQUIRE(refused.size() == 1);
  CHECK(contains(refused[0].text, "check security_protocol, sasl_mechanism, sasl_username and sasl_password"));
  CHECK_FALSE(contains(refused[0].text, "sesame"));
}
