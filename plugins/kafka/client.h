// A librdkafka client and what it says about itself.
#pragma once
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kafka/connection_options.h"
#include "kafka/log_limit.h"
#include "sluice/sdk.hpp"

namespace sluice::kafka {

// Something that went wrong in the client as a whole. Served to the operator's thread.
struct ClientEvent {
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string text;
  // Of a connection to a broker that is known by its node id; -1: any other.
  int32_t broker_id = -1;
  // What to do, if the cause is known; null: it is not.
  const char* way_out = nullptr;
};

// Owns one rd_kafka_t. Belongs to an operator, whose thread makes all calls; the library's own threads only write
// log lines. Everything that was made from handle() (topics, queues) must be destroyed before it.
class Client {
 public:
  explicit Client(const sluice_context* context) : context_(context) {}
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Starts it. Takes `conf` over when it succeeds. Fatal with the library's reason: no connection is made here.
  Status start(rd_kafka_type_t type, ClientConf* conf);
  rd_kafka_t* handle() const { return handle_; }
  bool is_started() const { return handle_ != nullptr; }

  // Runs callbacks that are due: events, delivery reports, results of commits. Waits up to `timeout_ms` for one.
  void serve(int timeout_ms) { rd_kafka_poll(handle_, timeout_ms); }
  // Events since the last call.
  std::vector<ClientEvent> take_events() { return std::exchange(events_, {}); }
  // Why the last connection failed; empty: none has.
  const std::string& last_failure() const { return last_failure_; }

  // Asks for the topics' metadata. The caller destroys *out. Fatal where waiting cannot help (login refused).
  Status metadata(rd_kafka_topic_t* only, int timeout_ms, const rd_kafka_metadata_t** out);
  // "127.0.0.1:9092: Connection refused" after a call that failed with `error`, or the fatal reason behind it.
  Status failure(std::string_view what, rd_kafka_resp_err_t error);

  // Where the results of rd_kafka_commit go: that of the request, and the partitions (or null) with theirs. Set before start().
  std::function<void(rd_kafka_resp_err_t, const rd_kafka_topic_partition_list_t*)> on_commit;
  // Delivery reports of a producer. Set before start().
  std::function<void(const rd_kafka_message_t&)> on_delivery;

 private:
  static void log_line(const rd_kafka_t* rk, int level, const char* facility, const char* text);
  static void error(rd_kafka_t* rk, int code, const char* reason, void* opaque);
  void log(uint32_t level, std::string_view text) const;
  // What else may be behind a refused login.
  std::string scram_hint() const;

  const sluice_context* context_;
  rd_kafka_t* handle_ = nullptr;
  std::vector<ClientEvent> events_;
  std::string last_failure_;
  std::optional<ClientEvent> hopeless_;
  bool scram_ = false;
  LogLimit limits_[SLUICE_LOG_ERROR + 1];
};

// Connections come and go by themselves after these.
bool is_connection_failure(rd_kafka_resp_err_t code);
// Waiting does not help against these. Gives what to do; null: it may help.
const char* way_out(rd_kafka_resp_err_t code);

struct TopicDeleter {
  void operator()(rd_kafka_topic_t* t) const { rd_kafka_topic_destroy(t); }
};
struct QueueDeleter {
  void operator()(rd_kafka_queue_t* q) const { rd_kafka_queue_destroy(q); }
};
struct PartitionListDeleter {
  void operator()(rd_kafka_topic_partition_list_t* l) const { rd_kafka_topic_partition_list_destroy(l); }
};
struct MetadataDeleter {
  void operator()(const rd_kafka_metadata_t* m) const { rd_kafka_metadata_destroy(m); }
};
struct EventDeleter {
  void operator()(rd_kafka_event_t* e) const { rd_kafka_event_destroy(e); }
};
using EventHandle = std::unique_ptr<rd_kafka_event_t, EventDeleter>;
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, TopicDeleter>;
using QueueHandle = std::unique_ptr<rd_kafka_queue_t, QueueDeleter>;
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, PartitionListDeleter>;
using Metadata = std::unique_ptr<const rd_kafka_metadata_t, MetadataDeleter>;

}  // namespace sluice::kafka
