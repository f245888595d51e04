#include "kafka/kafka_source.h"

#include <algorithm>
#include <cstdlib>

namespace sluice::kafka {
namespace {

constexpr int kMetadataTimeoutMs = 5000;
constexpr int kRefreshTimeoutMs = 1000;
// How long poll() waits for a message when there is none.
constexpr int kIdleWaitMs = 2;
// With its default of 1 MiB librdkafka 2.0.2 needs twice the CPU per message: each response is a fresh large allocation
// that is no longer in the cache when its messages are read. Measured on 500-byte messages: 0.35 against 0.67 µs.
constexpr const char* kFetchSize = "262144";
constexpr auto kLagInterval = std::chrono::seconds(1);
constexpr auto kWakeInterval = std::chrono::milliseconds(10);
constexpr auto kLastCommitWait = std::chrono::seconds(2);

const std::vector<ReservedProperty> kReserved = {
    {"group.id", "use the option `group`"},
    {"enable.auto.commit", "offsets are committed after checkpoints; see `commit_offsets`"},
    {"auto.commit.enable", "offsets are committed after checkpoints; see `commit_offsets`"},
    {"enable.auto.offset.store", "offsets are committed after checkpoints; see `commit_offsets`"},
    {"auto.offset.reset", "use the options `start` and `on_gap`"},
    {"enable.partition.eof", "the operator needs it to know when a partition is read to its end"},
    {"isolation.level", "use the option `isolation`"},
    {"queued.max.messages.kbytes", "use the option `max_queue`"},
    {"group.instance.id", "no consumer group is joined"},
    {"partition.assignment.strategy", "no consumer group is joined"},
};

bool is_unknown(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
         code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

std::string text_of(int64_t number) { return std::to_string(number); }

}  // namespace

Options<SourceConfig> KafkaSource::options() {
  using C = SourceConfig;
  Options<C> o;
  const auto add = [&](Option<C>&& option) { o.push_back(std::move(option)); };
  add(brokers_option<C>());
  add(opt("topic", &C::topic).doc("Topic to read. Either this or `topics`.").example("topic_db"));
  add(opt("topics", &C::topics).def("[]").doc("Topics to read."));
  add(opt("group", &C::group)
          .doc("Consumer group whose committed offsets are read (`start: committed`) and published (`commit_offsets`). "
               "Without it: the pipeline's name."));
  add(opt("start", &C::start,
          {{"earliest", Start::kEarliest},
           {"latest", Start::kLatest},
           {"committed", Start::kCommitted},
           {"timestamp", Start::kTimestamp},
           {"offsets", Start::kOffsets}})
          .def("earliest")
          .doc("Where a partition begins that has no position in the checkpoint. A checkpoint always wins."));
  add(opt("start_fallback", &C::start_fallback,
          {{"earliest", StartFallback::kEarliest}, {"latest", StartFallback::kLatest}, {"fail", StartFallback::kFail}})
          .doc("Where a partition begins for which the group has committed nothing (`start: committed`) or "
               "`start_offsets` says nothing (`start: offsets`). Without it: earliest."));
  add(opt("start_timestamp", &C::start_timestamp)
          .doc("With `start: timestamp`: the first message at or after this time. ISO 8601 with a zone, such as "
               "`2023-11-06T20:00:00+08:00`, or ms since 1970."));
  add(opt("start_offsets", &C::start_offsets)
          .def("{}")
          .doc("With `start: offsets`: the first offset by partition, or by topic-partition, such as "
               "`{ topic_db-0: 1200, topic_db-1: 980 }`."));
  add(opt("until", &C::until, {{"none", Until::kNone}, {"end", Until::kEnd}})
          .def("none")
          .doc("`end`: the source ends when everything has been read that was there at its first start."));
  add(opt("isolation", &C::isolation,
          {{"read_committed", Isolation::kReadCommitted}, {"read_uncommitted", Isolation::kReadUncommitted}})
          .def("read_committed")
          .doc("Whether messages of open and aborted transactions are left out."));
  add(opt("on_gap", &C::on_gap, {{"fail", OnGap::kFail}, {"earliest", OnGap::kEarliest}, {"latest", OnGap::kLatest}})
          .def("fail")
          .doc("When the offset to go on at does not exist any more (deleted by retention, topic made anew): stop, or "
               "go on at one end of what is there."));
  add(opt("discover_interval", &C::discover_interval)
          .def("30s")
          .doc("How often to look for new partitions. They are read from their beginning."));
  add(opt("allow_missing", &C::allow_missing)
          .def("false")
          .doc("Start although a topic does not exist; it is read once it does. Otherwise the start waits for it."));
  add(opt("commit_offsets", &C::commit_offsets)
          .def("true")
          .doc("After each checkpoint commit its offsets to `group`, for other tools to see."));
  add(opt("timestamps", &C::timestamps)
          .def("false")
          .doc("Take the messages' own time as event time, unless `event_time:` names a `field`."));
  add(opt("max_queue", &C::max_queue)
          .def("16MiB")
          .advanced()
          .doc("How much may be fetched ahead of the pipeline, for each lane."));
  append_connection_options(&o);
  return o;
}

KafkaSource::~KafkaSource() {
  if (queue_) rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr);
  for (Partition& p : partitions_) stop_fetching(&p);
  queue_.reset();
  topics_.clear();
}

void KafkaSource::build_conf(ClientConf* conf) const {
  const SourceConfig& c = config();
  conf->preset("client.id", "sluice." + std::string(pipeline()) + "." + std::string(id()));
  conf->preset("enable.auto.commit", "false");
  conf->preset("enable.auto.offset.store", "false");
  conf->preset("enable.partition.eof", "true");
  conf->preset("auto.offset.reset", "error");
  conf->preset("fetch.message.max.bytes", kFetchSize);
  conf->preset("fetch.error.backoff.ms", "100");
  conf->preset("check.crcs", "true");  // about 0.02 µs per message; without it damage would pass as data
  conf->preset("reconnect.backoff.max.ms", "2000");
  // No group is joined: it is how long a commit, and with it the end of the client, waits for the group's coordinator.
  conf->preset("session.timeout.ms", "6000");
  conf->preset_if_known("fetch.queue.backoff.ms", "10");  // from 2.2 on; see keep_fetching()
  conf->option("group", "group.id", c.group.value_or(std::string(pipeline())));
  conf->option("isolation", "isolation.level",
               c.isolation == Isolation::kReadCommitted ? "read_committed" : "read_uncommitted");
  conf->option("max_queue", "queued.max.messages.kbytes", text_of(std::max<int64_t>(1, c.max_queue.bytes / 1024)));
  conf->connection(c, kReserved);
}

Status KafkaSource::configure(Needs& needs) {
  const SourceConfig& c = config();
  if (c.timestamps) needs.gives_event_time();
  if (c.topic.has_value() == !c.topics.empty()) return Status::fatal("give either `topic` or `topics`");
  topic_names_ = c.topic ? std::vector<std::string>{*c.topic} : c.topics;
  for (size_t i = 0; i < topic_names_.size(); ++i) {
    if (topic_names_[i].empty()) return Status::fatal("`topic` is empty");
    if (std::find(topic_names_.begin(), topic_names_.begin() + static_cast<std::ptrdiff_t>(i), topic_names_[i]) !=
        topic_names_.begin() + static_cast<std::ptrdiff_t>(i))
      return Status::fatal("`topics` has " + topic_names_[i] + " twice");
  }
  if ((c.start == Start::kTimestamp) != c.start_timestamp.has_value())
    return Status::fatal(c.start_timestamp ? "`start_timestamp` is used with `start: timestamp` only"
                                           : "`start: timestamp` needs `start_timestamp`");
  if ((c.start == Start::kOffsets) == c.start_offsets.empty())
    return Status::fatal(c.start_offsets.empty() ? "`start: offsets` needs `start_offsets`"
                                                 : "`start_offsets` is used with `start: offsets` only");
  if (c.start_fallback && c.start != Start::kCommitted && c.start != Start::kOffsets)
    return Status::fatal("`start_fallback` is used with `start: committed` and `start: offsets` only");
  if (c.start_timestamp) {
    start_time_ = parse_instant(*c.start_timestamp);
    if (!start_time_)
      return Status::fatal("`start_timestamp`: `" + *c.start_timestamp +
                           "` is no time: write 2023-11-06T20:00:00+08:00, …T12:00:00Z, or ms since 1970");
  }
  start_offsets_.clear();
  SLUICE_CHECK_OK(parse_start_offsets(c.start_offsets, topic_names_, &start_offsets_));
  ClientConf conf;
  build_conf(&conf);
  return conf.status();
}

Status KafkaSource::start_client() {
  if (!client_) {
    ClientConf conf;
    build_conf(&conf);
    SLUICE_CHECK_OK(conf.status());
    char value[32] = "";
    size_t size = sizeof value;
    if (rd_kafka_conf_get(conf.get(), "queued.min.messages", value, &size) == RD_KAFKA_CONF_OK)
      fetch_limit_ = std::strtoull(value, nullptr, 10);
    client_.emplace(context());
    client_->on_commit = [this](rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list) {
      committed(code, list);
    };
    if (Status s = client_->start(RD_KAFKA_CONSUMER, &conf); !s.is_ok()) {
      client_.reset();
      return s;
    }
    queue_.reset(rd_kafka_queue_new(client_->handle()));
    rd_kafka_queue_cb_event_enable(
        queue_.get(),
        [](rd_kafka_t*, void* ctx) {
          static_cast<const sluice_context*>(ctx)->wake(static_cast<const sluice_context*>(ctx));
        },
        const_cast<sluice_context*>(context()));
    for (const std::string& name : topic_names_) {
      Topic& t = topics_.emplace_back();
      t.name = name;
      t.index = static_cast<int64_t>(topics_.size()) - 1;
      rd_kafka_topic_conf_t* topic_conf = rd_kafka_default_topic_conf_dup(client_->handle());
      rd_kafka_topic_conf_set_opaque(topic_conf, &t);
      t.handle.reset(rd_kafka_topic_new(client_->handle(), name.c_str(), topic_conf));
      if (!t.handle) return Status::fatal("topic " + name + ": " + rd_kafka_err2str(rd_kafka_last_error()));
    }
    run_ = std::make_unique<Run>();
    hands_.resize(kChunk);
  }
  return Status::ok();
}

Status KafkaSource::open() {
  SLUICE_CHECK_OK(start_client());
  if (Status s = read_metadata(kMetadataTimeoutMs); !s.is_ok()) {
    if (s.code() == SLUICE_RETRY) say_away(s.message(), "waiting for it");
    return s;
  }
  note("");
  if (away_) back_in_touch();
  return Status::ok();
}

// Connection, login, and the topics with their leaders. Whether the login may READ shows with the first fetch only.
Status KafkaSource::check(Problems& problems) {
  SLUICE_CHECK_OK(start_client());
  if (!problems.add_unless_ok(read_metadata(kMetadataTimeoutMs), "brokers")) return Status::ok();
  for (const Topic& t : topics_) {
    if (t.partition_count == 0 && !config().allow_missing)
      problems.add_to(config().topic ? "topic" : "topics", "topic " + t.name + " does not exist at " + config().brokers +
                                                               ": create it, or start without it with `allow_missing: true`");
    for (size_t p = 0; p < t.leaders.size(); ++p)
      if (t.leaders[p] < 0)
        problems.add_to(config().topic ? "topic" : "topics", "partition " + t.name + "-" + std::to_string(p) +
                                                                 " has no leader: a broker that holds it must come back");
  }
  return Status::ok();
}

Status KafkaSource::close() {
  if (!client_) return Status::ok();
  // What the last checkpoint's commit sent shall arrive.
  const auto deadline = Clock::now() + kLastCommitWait;
  while (commits_under_way_ > 0 && !away_ && Clock::now() < deadline) client_->serve(50);
  if (commits_under_way_ > 0 && !away_)
    warn("offsets were not committed to the group " + config().group.value_or(std::string(pipeline())) +
         ", which does not answer: this login may lack READ on it; grant it (kafka-acls), or set `commit_offsets: "
         "false`");
  for (Partition& p : partitions_) stop_fetching(&p);
  return Status::ok();
}

Status KafkaSource::read_metadata(int timeout_ms) {
  const rd_kafka_metadata_t* raw = nullptr;
  SLUICE_CHECK_OK(client_->metadata(nullptr, timeout_ms, &raw));
  const Metadata metadata(raw);
  for (Topic& t : topics_) {
    t.leaders.clear();
    for (int i = 0; i < metadata->topic_cnt; ++i) {
      const rd_kafka_metadata_topic_t& m = metadata->topics[i];
      if (t.name != m.topic) continue;
      if (const char* hint = way_out(m.err))
        return Status::fatal("topic " + t.name + ": " + rd_kafka_err2str(m.err) + ": " + hint);
      t.leaders.resize(static_cast<size_t>(m.partition_cnt), -1);
      for (int p = 0; p < m.partition_cnt; ++p)
        if (const int32_t number = m.partitions[p].id; number >= 0 && number < m.partition_cnt)
          t.leaders[static_cast<size_t>(number)] = m.partitions[p].leader;
    }
    t.partition_count = std::max(t.partition_count, static_cast<int32_t>(t.leaders.size()));
  }
  return Status::ok();
}

Status KafkaSource::discover(std::vector<Split>* splits) {
  const bool first = next_discover_ == Clock::time_point{};
  if (first || (Clock::now() >= next_discover_ && !away_)) {
    const Status s = read_metadata(first ? kMetadataTimeoutMs : kRefreshTimeoutMs);
    if (!s.is_ok() && (first || s.code() != SLUICE_RETRY)) return s;
    std::string missing;
    for (const Topic& t : topics_)
      if (t.partition_count == 0) missing += (missing.empty() ? "" : ", ") + t.name;
    if (!missing.empty() && (first || config().allow_missing)) {
      const std::string text = "topic " + missing + " does not exist at " + config().brokers + ": waiting for it";
      note(text);
      note_ = text;
      if (!config().allow_missing) return Status::retry(text + " (`allow_missing: true` starts without it)", 1000);
    } else if (missing.empty() && !note_.empty() && !away_) {
      note_what_is_gone();
    }
    next_discover_ = Clock::now() + config().discover_interval;
  }
  // Partitions are never taken away, so those that were seen once are still there.
  for (const Topic& t : topics_)
    for (int32_t number = 0; number < t.partition_count; ++number)
      splits->push_back({split_id(t.name, number), t.index + number});
  return Status::ok();
}

// ---- messages ---------------------------------------------------------------------------------------

Status KafkaSource::poll(uint32_t max_rows) {
  if (!broken_.is_ok()) return broken_;
  client_->serve(0);
  SLUICE_CHECK_OK(take_events());
  if (!gaps_.empty()) SLUICE_CHECK_OK(settle_gaps());
  size_t rows = 0;
  while (rows < max_rows) {
    const size_t wanted = std::min<size_t>(kChunk, max_rows - rows);
    ssize_t n = rd_kafka_consume_batch_queue(queue_.get(), 0, hands_.data(), wanted);
    if (n <= 0 && rows == 0) {
      hands_[0] = rd_kafka_consume_queue(queue_.get(), kIdleWaitMs);
      n = hands_[0] != nullptr ? 1 : 0;
    }
    if (n <= 0) break;
    Status s = take(hands_.data(), static_cast<size_t>(n));
    for (ssize_t i = 0; i < n; ++i) rd_kafka_message_destroy(hands_[static_cast<size_t>(i)]);
    rows += static_cast<size_t>(n);
    SLUICE_CHECK_OK(s);
    if (!broken_.is_ok()) return broken_;
    keep_fetching(false);
    if (static_cast<size_t>(n) < wanted) break;
  }
  if (rows == 0) keep_fetching(true);
  report_lag();
  return Status::ok();
}

Status KafkaSource::take(rd_kafka_message_t** messages, size_t count) {
  run_->partition = nullptr;
  run_->size = 0;
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_message_t& m = *messages[i];
    if (m.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      SLUICE_CHECK_OK(flush());
      SLUICE_CHECK_OK(take_error(m));
      continue;
    }
    Partition* p = run_->partition != nullptr && run_->partition->number == m.partition &&
                           run_->partition->topic->handle.get() == m.rkt
                       ? run_->partition
                       : partition_of(m);
    if (p == nullptr || m.offset < p->next || !p->fetching) continue;  // of a fetch that was called off
    if (p != run_->partition) {
      SLUICE_CHECK_OK(flush());
      run_->partition = p;
    }
    SLUICE_CHECK_OK(take_row(m, p));
  }
  return flush();
}

Status KafkaSource::take_row(const rd_kafka_message_t& m, Partition* p) {
  if (p->snapshot_end != PartitionPosition::kComplete && m.offset >= p->snapshot_end) {
    // Control records, or what compaction left out, were between the last row and the snapshot's end.
    SLUICE_CHECK_OK(flush());
    run_->partition = p;
    p->next = std::max(p->next, p->snapshot_end);
    complete_snapshot(p);
    if (!p->fetching) return Status::ok();  // bounded: this row came after the start
  }
  Run& run = *run_;
  const uint32_t i = run.size++;
  char* bytes = run.position_bytes.data() + i * PartitionPosition::kMaxSize;
  const size_t size = PartitionPosition{m.offset + 1, p->snapshot_end, true}.encode(bytes);
  run.position[i] = {bytes, size};
  run.raw[i] = {static_cast<const char*>(m.payload), m.len};
  if (m.payload == nullptr) run.raw[i].size = 0;
  run.key[i] = {static_cast<const char*>(m.key), m.key != nullptr ? m.key_len : 0};
  if (config().timestamps) {
    rd_kafka_timestamp_type_t type;
    const int64_t ms = rd_kafka_message_timestamp(&m, &type);
    run.time[i] = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? SLUICE_NO_TIME : ms;
  }
  p->next = m.offset + 1;
  return Status::ok();
}

Status KafkaSource::flush() {
  Run& run = *run_;
  if (run.size == 0) return Status::ok();
  Partition& p = *run.partition;
  if ((p.flags & SLUICE_SPLIT_CAUGHT_UP) != 0) set_flags(&p, p.flags & ~static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP));
  if (p.gone) there_again(&p);
  if (away_) back_in_touch();
  mean_size_ = (mean_size_ * 15 + run.raw[0].size + run.key[0].size) / 16;
  sluice_rows rows;
  std::memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.size = run.size;
  rows.split = p.split;
  rows.raw = run.raw.data();
  rows.raw_key = run.key.data();
  rows.position = run.position.data();
  if (config().timestamps) rows.event_time = run.time.data();
  run.size = 0;
  SLUICE_CHECK_OK(emit_rows(rows));
  p.known_position = p.next;
  if (p.snapshot_end != PartitionPosition::kComplete && p.next >= p.snapshot_end) complete_snapshot(&p);
  return Status::ok();
}

KafkaSource::Partition* KafkaSource::partition_of(const rd_kafka_message_t& m) {
  if (m.rkt == nullptr) return nullptr;
  const auto& table = static_cast<const Topic*>(rd_kafka_topic_opaque(m.rkt))->by_number;
  return m.partition >= 0 && static_cast<size_t>(m.partition) < table.size() ? table[static_cast<size_t>(m.partition)]
                                                                             : nullptr;
}

// That a partition is gone comes as an event of the client, with the partition in the text only: "topic [0]: reason".
KafkaSource::Partition* KafkaSource::partition_named_in(const std::string& reason) {
  const auto it = std::find_if(partitions_.begin(), partitions_.end(), [&](const Partition& p) {
    return reason.rfind(p.topic->name + " [" + std::to_string(p.number) + "]:", 0) == 0;
  });
  return it == partitions_.end() ? nullptr : &*it;
}

Status KafkaSource::take_error(const rd_kafka_message_t& m) {
  Partition* p = partition_of(m);
  const std::string reason = rd_kafka_message_errstr(&m);
  if (p == nullptr) {
    warn("librdkafka: " + reason);
    return Status::ok();
  }
  if (!p->fetching) return Status::ok();
  switch (m.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      if (p->gone) there_again(p);
      if (away_) back_in_touch();
      at_end(m.offset, p);
      return Status::ok();
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      set_flags(p, p->flags & ~static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP));
      if (std::find(gaps_.begin(), gaps_.end(), p) == gaps_.end()) gaps_.push_back(p);
      return Status::ok();
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      gone(reason, p);
      return Status::ok();
    case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE:
      broken_ = Status::fatal(p->id + " after offset " + text_of(p->next - 1) + ": cannot be decompressed: " + reason +
                              "; this librdkafka has: " + builtin_features());
      return Status::ok();
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
      broken_ = Status::fatal(
          p->id + " after offset " + text_of(p->next - 1) + ": what the broker gives is damaged: " + reason +
          "; check the broker's disk, or skip it with a start behind it (`start: offsets`, without the checkpoint)");
      return Status::ok();
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      broken_ = Status::fatal(p->id + " after offset " + text_of(p->next - 1) + ": " + reason +
                              "; raise fetch.max.bytes and receive.message.max.bytes in `properties`");
      return Status::ok();
    default:
      break;
  }
  if (const char* hint = way_out(m.err)) {
    broken_ = Status::fatal(p->id + ": " + reason + ": " + hint);
    return Status::ok();
  }
  set_flags(p, p->flags & ~static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP));
  warn(p->id + ": " + reason);
  return Status::ok();
}

void KafkaSource::gone(const std::string& reason, Partition* p) {
  set_flags(p, p->flags & ~static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP));
  if (!p->gone) warn(p->id + " does not exist any more (" + reason + "): waiting for it at offset " + text_of(p->next));
  p->gone = true;
  note_what_is_gone();
}

void KafkaSource::there_again(Partition* p) {
  p->gone = false;
  note_what_is_gone();
  info(p->id + " is there again");
}

void KafkaSource::note_what_is_gone() {
  const auto p = std::find_if(partitions_.begin(), partitions_.end(), [](const Partition& each) { return each.gone; });
  note_ = p == partitions_.end() ? "" : p->id + " does not exist any more: waiting for it";
  note(note_);
}

// `p` is read to `offset`, its end for now.
void KafkaSource::at_end(int64_t offset, Partition* p) {
  p->next = std::max(p->next, offset);
  complete_snapshot(p);
  if ((p->flags & SLUICE_SPLIT_END) == 0) set_flags(p, p->flags | SLUICE_SPLIT_CAUGHT_UP);
  split_lag(p->split, 0);
}

// Everything before p->next has been given to the host, and with it all that was there at the start.
void KafkaSource::complete_snapshot(Partition* p) {
  p->snapshot_end = PartitionPosition::kComplete;
  say_position(p);
  set_flags(p, p->flags | SLUICE_SPLIT_SNAPSHOT_COMPLETE);
  end_if_bounded(p);
}

void KafkaSource::end_if_bounded(Partition* p) {
  if (config().until != Until::kEnd || p->snapshot_end != PartitionPosition::kComplete) return;
  stop_fetching(p);
  set_flags(p, SLUICE_SPLIT_CAUGHT_UP | SLUICE_SPLIT_SNAPSHOT_COMPLETE | SLUICE_SPLIT_END);
}

void KafkaSource::set_flags(Partition* p, uint32_t flags) {
  if (flags == p->flags) return;
  p->flags = flags;
  split_status(p->split, flags);
}

void KafkaSource::say_position(Partition* p) {
  if (p->known_position == p->next) return;
  char bytes[PartitionPosition::kMaxSize];
  const size_t size = PartitionPosition{p->next, p->snapshot_end, false}.encode(bytes);
  move_position(p->split, {bytes, size});
  p->known_position = p->next;
}

// ---- the brokers come and go ------------------------------------------------------------------------

Status KafkaSource::take_events() {
  for (const ClientEvent& e : client_->take_events()) {
    if (is_connection_failure(e.code) || e.code == RD_KAFKA_RESP_ERR__SSL ||
        e.code == RD_KAFKA_RESP_ERR__AUTHENTICATION)
      out_of_touch(e);
    else if (e.code == RD_KAFKA_RESP_ERR__FATAL)
      return Status::fatal("librdkafka gave up: " + e.text);
    else if (Partition* p = partition_named_in(e.text); p != nullptr && is_unknown(e.code))
      gone(e.text, p);
    else
      warn("librdkafka: " + e.text);
  }
  return Status::ok();
}

// A partition that is read to its end hears nothing of a lost broker and nothing of its return. So it is made to ask
// again: the answer, messages or the end, can only come from a broker that is there.
void KafkaSource::out_of_touch(const ClientEvent& e) {
  const bool all = e.code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
  if (!all && e.broker_id < 0) return;
  bool any = false;
  for (Partition& p : partitions_) {
    if (!p.fetching) continue;
    const int32_t leader =
        static_cast<size_t>(p.number) < p.topic->leaders.size() ? p.topic->leaders[static_cast<size_t>(p.number)] : -1;
    if (!all && leader >= 0 && leader != e.broker_id) continue;
    any = true;
    if ((p.flags & SLUICE_SPLIT_CAUGHT_UP) == 0) continue;
    set_flags(&p, p.flags & ~static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP));
    if (rd_kafka_seek(p.topic->handle.get(), p.number, p.next, 0) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      stop_fetching(&p);
      if (Status s = start_fetching(&p); !s.is_ok()) broken_ = s;
    }
  }
  if (!any) return;
  say_away(client_->last_failure().empty() ? e.text : client_->last_failure(), "reading goes on when it is back");
}

void KafkaSource::say_away(const std::string& reason, const char* consequence) {
  note_ = "broker away: " + reason;
  if (!away_) warn(note_ + "; " + consequence);
  away_ = true;
  note(note_);
}

void KafkaSource::back_in_touch() {
  away_ = false;
  note_what_is_gone();
  info("the brokers answer again");
}

// librdkafka 2.0.2 stops fetching when its queue is full and looks again only when something wakes its broker thread,
// up to a second later: a pipeline that is slower than the broker would starve most of the time (measured: 55,000
// messages/s instead of 430,000). Setting the login anew to what it was wakes the broker threads and does nothing else;
// connections keep the login that they were made with.
void KafkaSource::keep_fetching(bool idle) {
  const size_t length = rd_kafka_queue_length(queue_.get());
  const size_t limit = std::min<size_t>(
      fetch_limit_,
      std::max<size_t>(1, static_cast<size_t>(config().max_queue.bytes) / std::max<size_t>(1, mean_size_)));
  if (length >= limit - limit / 4) was_full_ = true;
  bool wake = was_full_ && length < limit / 2;
  if (wake) was_full_ = false;
  if (!idle) was_busy_ = true;
  if (idle && was_busy_) {  // the sizes are an estimate
    was_busy_ = false;
    const auto now = Clock::now();
    if (now >= next_wake_) {
      next_wake_ = now + kWakeInterval;
      wake = true;
    }
  }
  if (!wake) return;
  rd_kafka_error_t* error = rd_kafka_sasl_set_credentials(
      client_->handle(), config().sasl_username.value_or("").c_str(), config().sasl_password.value_or("").c_str());
  if (error != nullptr) rd_kafka_error_destroy(error);
}

void KafkaSource::report_lag() {
  const auto now = Clock::now();
  if (now < next_lag_) return;
  next_lag_ = now + kLagInterval;
  for (const Partition& p : partitions_) {
    int64_t low = 0, high = 0;  // as of the last fetch: no question to the broker
    if (!p.fetching || (p.flags & SLUICE_SPLIT_CAUGHT_UP) != 0) continue;
    if (rd_kafka_get_watermark_offsets(client_->handle(), p.topic->name.c_str(), p.number, &low, &high) !=
            RD_KAFKA_RESP_ERR_NO_ERROR ||
        high < 0)
      continue;
    split_lag(p.split, std::max<int64_t>(0, high - p.next));
  }
}

// ---- offsets for others to see ----------------------------------------------------------------------

Status KafkaSource::prepare(uint64_t checkpoint) {
  if (!config().commit_offsets) return Status::ok();
  auto& offsets = to_commit_[checkpoint];
  offsets.clear();
  for (const Partition& p : partitions_) {
    const auto known = committed_.find(&p);
    if (known == committed_.end() || known->second != p.next) offsets.emplace_back(&p, p.next);
  }
  return Status::ok();
}

Status KafkaSource::commit(uint64_t checkpoint) {
  const auto found = to_commit_.find(checkpoint);
  if (found == to_commit_.end()) return Status::ok();  // of an instance before this one
  const auto offsets = std::move(found->second);
  to_commit_.erase(to_commit_.begin(), std::next(found));
  if (offsets.empty()) return Status::ok();
  const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
  for (const auto& [p, next] : offsets)
    rd_kafka_topic_partition_list_add(list.get(), p->topic->name.c_str(), p->number)->offset = next;
  if (rd_kafka_commit(client_->handle(), list.get(), 1) == RD_KAFKA_RESP_ERR_NO_ERROR)
    ++commits_under_way_;
  else
    count("offset_commits_failed");
  return Status::ok();
}

// Of the partitions whose offset did not arrive nothing is noted: the next checkpoint tries again.
void KafkaSource::committed(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list) {
  --commits_under_way_;
  bool failed = code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR__NO_OFFSET;
  for (int i = 0; list != nullptr && i < list->cnt; ++i) {
    const rd_kafka_topic_partition_t& of = list->elems[i];
    const auto p = std::find_if(partitions_.begin(), partitions_.end(), [&](const Partition& each) {
      return each.number == of.partition && each.topic->name == of.topic;
    });
    if (of.err != RD_KAFKA_RESP_ERR_NO_ERROR)
      failed = true;
    else if (code == RD_KAFKA_RESP_ERR_NO_ERROR && p != partitions_.end())
      committed_[&*p] = of.offset;
  }
  if (failed) count("offset_commits_failed");
}

std::string KafkaSource::describe_position(std::string_view split, std::string_view position) {
  return describe(split, position);
}

}  // namespace sluice::kafka
