// What configurations are refused, and in which words.
#include "kafka/connection_options.h"

#include <catch2/catch.hpp>

#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"
#include "sluice/testing/harness.hpp"

using namespace sluice;
using namespace sluice::kafka;

namespace {

// The harness asks for needs() at open(): nothing is connected before that is refused.
template <class Op>
std::string refusal(const std::string& options, const std::string& brokers = "localhost:1") {
  sluice::testing::Harness<Op> h("brokers: '" + brokers + "'\n" + options);
  try {
    h.open();
  } catch (const sluice::testing::Failure& f) {
    CHECK(f.status().code() == SLUICE_FATAL);
    return f.status().message();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("properties are librdkafka's, checked by it") {
  CHECK(has(refusal<KafkaSource>("topic: t\nproperties: {fetch.wait.max.msec: 5}"),
            "No such configuration property: \"fetch.wait.max.msec\""));
  CHECK(has(refusal<KafkaSource>("topic: t\nproperties: {fetch.wait.max.ms: soon}"), "fetch.wait.max.ms"));
  CHECK(has(refusal<KafkaSink>("topic: t\nproperties: {batch.size: -1}"), "batch.size"));
}

TEST_CASE("properties that belong to an option name it") {
  CHECK(has(refusal<KafkaSource>("topic: t\nproperties: {enable.auto.commit: true}"), "`commit_offsets`"));
  CHECK(has(refusal<KafkaSource>("topic: t\nproperties: {group.id: g}"), "use the option `group`"));
  CHECK(has(refusal<KafkaSource>("topic: t\nproperties: {auto.offset.reset: latest}"), "`start` and `on_gap`"));
  CHECK(has(refusal<KafkaSink>("topic: t\nproperties: {acks: 1}"), "use the option `acks`"));
  const std::string secret = refusal<KafkaSink>("topic: t\nproperties: {sasl.password: sesame}");
  CHECK(has(secret, "`sasl_password`"));
  CHECK_FALSE(has(secret, "sesame"));
}

TEST_CASE("a password in the brokers' address is not shown") {
  const std::string refused = "`brokers` has a user in it: use `sasl_username` and `sasl_password`";
  CHECK(refusal<KafkaSource>("topic: t", "me:sesame@k:9092") == refused);
  CHECK(refusal<KafkaSink>("topic: t", "k:9092,SASL_SSL://me:sesame@k2:9092") == refused);
}

TEST_CASE("all problems come at once") {
  const std::string text =
      refusal<KafkaSource>("topic: t\nsecurity_protocol: tls\nproperties: {no.such: 1, group.id: g}");
  CHECK(has(text, "`security_protocol`"));
  CHECK(has(text, "no.such"));
  CHECK(has(text, "group.id"));
}

TEST_CASE("a login that cannot work is refused before anything is connected") {
  CHECK(has(refusal<KafkaSource>("topic: t\nsasl_username: me\nsasl_password: sesame"), "set it to sasl_ssl"));
  CHECK(has(refusal<KafkaSource>("topic: t\nsecurity_protocol: sasl_ssl"), "needs `sasl_mechanism`"));
  const std::string text =
      refusal<KafkaSource>("topic: t\nsecurity_protocol: sasl_ssl\nsasl_mechanism: PLAIN\nsasl_password: sesame");
  CHECK(has(text, "needs `sasl_username` and `sasl_password`"));
  CHECK_FALSE(has(text, "sesame"));
  CHECK(has(refusal<KafkaSource>(
                "topic: t\nsecurity_protocol: sasl_ssl\nsasl_mechanism: WISH\nsasl_username: a\nsasl_password: b"),
            "librdkafka refuses"));
  CHECK(has(refusal<KafkaSource>("topic: t\nsecurity_protocol: ssl\nssl_ca_location: /no/such/file.pem"),
            "librdkafka refuses"));
}

TEST_CASE("options that do not fit each other") {
  CHECK(has(refusal<KafkaSource>(""), "either `topic` or `topics`"));
  CHECK(has(refusal<KafkaSource>("topic: t\ntopics: [a]"), "either `topic` or `topics`"));
  CHECK(has(refusal<KafkaSource>("topics: [a, b, a]"), "a twice"));
  CHECK(has(refusal<KafkaSource>("topic: t\nstart: timestamp"), "needs `start_timestamp`"));
  CHECK(has(refusal<KafkaSource>("topic: t\nstart_timestamp: \"5\""), "`start: timestamp` only"));
  for (const char* start : {"", "\nstart: earliest", "\nstart: latest", "\nstart: timestamp\nstart_timestamp: \"5\""})
    CHECK(has(refusal<KafkaSource>(std::string("topic: t\nstart_fallback: latest") + start),
              "`start_fallback` is used with"));
  CHECK(has(refusal<KafkaSource>("topic: t\nstart: timestamp\nstart_timestamp: noon"), "`noon` is no time"));
  CHECK(has(refusal<KafkaSource>("topic: t\nstart: offsets"), "needs `start_offsets`"));
  CHECK(has(refusal<KafkaSink>(""), "`topic`, `topic_field`, or both"));
  CHECK(has(refusal<KafkaSink>("topic: t\ntombstone_on_delete: true"), "needs `key_field`"));
}
