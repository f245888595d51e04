// Operator `kafka.sink`: each row becomes a message. At least once.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kafka/client.h"
#include "kafka/connection_options.h"
#include "kafka/sink_page.h"
#include "sluice/sdk.hpp"

namespace sluice::kafka {

enum class Acks { kAll, kLeader, kNone };
enum class Compression { kNone, kGzip, kSnappy, kLz4, kZstd };

struct SinkConfig : ConnectionOptions {
  std::optional<std::string> topic, topic_field, key_field;
  bool tombstone_on_delete = false, isolate_errors = false;
  Acks acks = Acks::kAll;
  Compression compression = Compression::kNone;
  std::chrono::milliseconds linger{}, delivery_timeout{};
  Size max_queue;
};

// One producer for each instance. All callbacks run inside write(), prepare() and close().
class KafkaSink final : public Sink<SinkConfig> {
 public:
  static constexpr const char* kType = "kafka.sink";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Writes rows to a topic of a Kafka cluster.";
  static constexpr const char* kDoc = kSinkPage;
  // Rows of this size or more can be refused one by one: remembering their origin costs little beside sending them.
  static constexpr size_t kLargeRow = 64 * 1024;
  static Options<SinkConfig> options();

  ~KafkaSink() override;
  Status configure(Needs& needs) override;
  Status open() override;
  Status check(Problems& problems) override;
  Status close() override;
  Status write(const Batch& in, uint32_t* consumed) override;
  Status prepare(uint64_t checkpoint) override;

 private:
  // A message that the brokers refused, or that overtook such a one: to be sent alone.
  struct Refused {
    std::string topic, value, key;
    bool tombstone = false, has_key = false;
    uint64_t origin = 0;  // 0: its row is not known any more
  };

  void build_conf(ClientConf* conf) const;
  // *done: the row is queued, or refused for good.
  Status write_row(const Batch& in, uint32_t row, bool* done);
  Status topic_of(const Batch& in, uint32_t row, std::string_view* name, bool* known);
  Status key_of(const Value& value, std::string_view* key) const;
  Status topic_handle(std::string_view name, rd_kafka_topic_t** out);
  Status enqueue(uint32_t row, std::string_view topic, std::optional<std::string_view> key,
                 std::optional<std::string_view> value, bool* done);
  void delivered(const rd_kafka_message_t& m);
  // Waits until nothing is under way. RETRY: the brokers have not confirmed all.
  Status flush(int timeout_ms);
  Status take_reports(int timeout_ms);
  // Until everything that was given is written or refused for good. RETRY: the brokers have not confirmed all.
  Status settle_all();
  Status settle_refused();
  void say_away(const std::string& reason, const char* consequence);
  void back_in_touch();
  Status take_events();
  Status give_up(rd_kafka_resp_err_t code, std::string_view topic);

  std::optional<Field> topic_field_, key_field_;
  std::optional<Client> client_;  // the topics die before it
  std::map<std::string, TopicHandle, std::less<>> topics_;
  std::deque<Refused> refused_;                              // in the order that they were given
  std::set<std::pair<std::string, std::string>> refused_keys_;  // topic and key of each
  std::optional<rd_kafka_resp_err_t> alone_result_;  // of the one message that settle_refused() has sent
  bool alone_ = false;
  Status broken_;
  uint64_t last_origin_ = 0;
  bool away_ = false;
};

}  // namespace sluice::kafka
