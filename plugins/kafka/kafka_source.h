// Operator `kafka.source`: reads topics of a Kafka cluster; each partition is a split with a position of our own.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kafka/client.h"
#include "kafka/connection_options.h"
#include "kafka/offset_queries.h"
#include "kafka/partition_position.h"
#include "kafka/source_page.h"
#include "kafka/start_options.h"
#include "sluice/sdk.hpp"

namespace sluice::kafka {

enum class Until { kNone, kEnd };
enum class Isolation { kReadCommitted, kReadUncommitted };
enum class OnGap { kFail, kEarliest, kLatest };

struct SourceConfig : ConnectionOptions {
  std::optional<std::string> topic;
  std::vector<std::string> topics;
  std::optional<std::string> group;
  Start start = Start::kEarliest;
  std::optional<StartFallback> start_fallback;
  std::optional<std::string> start_timestamp;
  StringMap start_offsets;
  Until until = Until::kNone;
  Isolation isolation = Isolation::kReadCommitted;
  OnGap on_gap = OnGap::kFail;
  bool allow_missing = false, commit_offsets = true, timestamps = false;
  std::chrono::milliseconds discover_interval{};
  Size max_queue;
};

// Uses librdkafka's simple consumer: no group is joined, each partition is started at an offset and fills one queue
// that poll() empties. Messages are taken in chunks and held until the host has copied them. (The callback call of the
// library empties the whole queue into private memory first, which takes the bound off what it prefetches.)
class KafkaSource final : public Source<SourceConfig> {
 public:
  static constexpr const char* kType = "kafka.source";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Reads topics of a Kafka cluster.";
  static constexpr const char* kDoc = kSourcePage;
  static Options<SourceConfig> options();

  ~KafkaSource() override;
  Status configure(Needs& needs) override;
  Status open() override;
  Status check(Problems& problems) override;
  Status close() override;
  Status discover(std::vector<Split>* splits) override;
  Status assign(const std::vector<AssignedSplit>& splits) override;
  // A partition that `until: end` ended goes on where there is no end any more.
  bool may_have_grown(std::string_view /*split*/) override { return config().until == Until::kNone; }
  Status poll(uint32_t max_rows) override;
  Status prepare(uint64_t checkpoint) override;
  Status commit(uint64_t checkpoint) override;
  std::string describe_position(std::string_view split, std::string_view position) override;

 private:
  static constexpr size_t kChunk = 256;
  using Clock = std::chrono::steady_clock;

  struct Partition;
  struct Topic {
    std::string name;
    int64_t index = 0;
    TopicHandle handle;
    std::vector<Partition*> by_number;
    int32_t partition_count = 0;  // the largest that was seen
    std::vector<int32_t> leaders;
  };
  // A split of this instance.
  struct Partition {
    Topic* topic = nullptr;
    int32_t number = 0;
    uint32_t split = 0;
    std::string id;
    int64_t next = 0;                                     // the first offset that was not given to the host
    int64_t snapshot_end = PartitionPosition::kComplete;  // see PartitionPosition
    int64_t known_position = -1;                          // what the host has been told
    uint32_t flags = 0;
    bool fetching = false, gone = false;
  };
  // Rows of one partition on their way to one emit call.
  struct Run {
    Partition* partition = nullptr;
    uint32_t size = 0;
    std::array<sluice_str, kChunk> raw, key, position;
    std::array<int64_t, kChunk> time;
    std::array<char, kChunk * PartitionPosition::kMaxSize> position_bytes;
  };

  void build_conf(ClientConf* conf) const;
  Status start_client();
  Status take_events();
  Status read_metadata(int timeout_ms);

  // Where a split begins.
  Status place(const AssignedSplit& given, Partition* p);
  Status place_at_start(const OffsetRange& range, Partition* p, std::string* why);
  Status resolve_start(const Partition& p, const OffsetRange& range, int64_t* next, std::string* why);
  Status fall_back(const Partition& p, const OffsetRange& range, const std::string& missing, int64_t* next,
                   std::string* why) const;
  Status query_high_watermark(const Partition& p, int64_t* out) const;
  // If `p` stands where nothing is: what on_gap says. Moves it.
  Status bridge_gap(const OffsetRange& range, const std::string& what, Partition* p);
  Status start_fetching(Partition* p);
  void stop_fetching(Partition* p);
  Status settle_gaps();

  // Messages.
  Status take(rd_kafka_message_t** messages, size_t count);
  Status take_row(const rd_kafka_message_t& m, Partition* p);
  Status take_error(const rd_kafka_message_t& m);
  Status flush();
  Partition* partition_of(const rd_kafka_message_t& m);
  Partition* partition_named_in(const std::string& reason);
  void at_end(int64_t offset, Partition* p);
  void gone(const std::string& reason, Partition* p);
  void complete_snapshot(Partition* p);
  void end_if_bounded(Partition* p);
  void set_flags(Partition* p, uint32_t flags);
  void say_position(Partition* p);
  void there_again(Partition* p);
  void note_what_is_gone();
  void say_away(const std::string& reason, const char* consequence);
  void back_in_touch();
  void out_of_touch(const ClientEvent& e);
  void keep_fetching(bool idle);
  void report_lag();
  void committed(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list);

  std::vector<std::string> topic_names_;
  std::map<std::string, int64_t> start_offsets_;  // by split id
  std::optional<int64_t> start_time_;

  std::optional<Client> client_;  // the handles below die before it
  QueueHandle queue_;
  std::deque<Topic> topics_;
  std::deque<Partition> partitions_;
  Clock::time_point next_discover_{};

  std::unique_ptr<Run> run_;
  std::vector<rd_kafka_message_t*> hands_;
  std::vector<Partition*> gaps_;  // the broker says that their offset does not exist
  Status broken_;                 // ends the job; found while rows were in hand
  bool away_ = false;             // brokers, not partitions
  std::string note_;

  // How the library's prefetching is kept going: see keep_fetching().
  size_t mean_size_ = 512;
  size_t fetch_limit_ = 100000;
  bool was_full_ = false, was_busy_ = false;
  Clock::time_point next_wake_{};

  Clock::time_point next_lag_{};
  std::map<uint64_t, std::vector<std::pair<const Partition*, int64_t>>> to_commit_;  // by checkpoint
  std::map<const Partition*, int64_t> committed_;  // what the group is known to have
  int commits_under_way_ = 0;
};

}  // namespace sluice::kafka
