#include "kafka/kafka_sink.h"

#include <algorithm>

namespace sluice::kafka {
namespace {

constexpr int kMetadataTimeoutMs = 5000;
constexpr int kFullQueueWaitMs = 10;
constexpr int kFlushSliceMs = 100;
constexpr int kSettleMs = 2000;
constexpr int kCloseMs = 5000;
constexpr uint32_t kServeEvery = 256;  // rows
constexpr size_t kTopicsAtMost = 10000;

const std::vector<ReservedProperty> kReserved = {
    {"acks", "use the option `acks`"},
    {"request.required.acks", "use the option `acks`"},
    {"compression.codec", "use the option `compression`"},
    {"compression.type", "use the option `compression`"},
    {"linger.ms", "use the option `linger`"},
    {"queue.buffering.max.ms", "use the option `linger`"},
    {"message.timeout.ms", "use the option `delivery_timeout`"},
    {"delivery.timeout.ms", "use the option `delivery_timeout`"},
    {"queue.buffering.max.kbytes", "use the option `max_queue`"},
    {"enable.idempotence", "it is on with `acks: all`"},
    {"transactional.id", "this sink writes at least once, without transactions"},
};

const char* word(Acks a) { return a == Acks::kAll ? "all" : a == Acks::kLeader ? "1" : "0"; }
const char* word(Compression c) {
  switch (c) {
    case Compression::kGzip:
      return "gzip";
    case Compression::kSnappy:
      return "snappy";
    case Compression::kLz4:
      return "lz4";
    case Compression::kZstd:
      return "zstd";
    default:
      return "none";
  }
}

// The brokers' answer concerns this message (or its batch); the same message will get the same answer.
bool is_refusal(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
      return true;
    default:
      return false;
  }
}

}  // namespace

Options<SinkConfig> KafkaSink::options() {
  using C = SinkConfig;
  Options<C> o;
  const auto add = [&](Option<C>&& option) { o.push_back(std::move(option)); };
  add(brokers_option<C>());
  add(opt("topic", &C::topic)
          .doc("Topic to write to. It must exist, unless the brokers create topics by themselves.")
          .example("dws_cart_add"));
  add(opt("topic_field", &C::topic_field).doc("Field whose text names a row's topic; `topic` is for rows without it."));
  add(opt("key_field", &C::key_field).doc("Field whose text becomes the message key.").example("user_id"));
  add(opt("tombstone_on_delete", &C::tombstone_on_delete)
          .def("false")
          .doc("Write a delete as a message with key and no value. Needs `key_field`."));
  add(opt("acks", &C::acks, {{"all", Acks::kAll}, {"1", Acks::kLeader}, {"0", Acks::kNone}})
          .def("all")
          .doc("Which brokers must have a message before it counts as written. Anything but `all` can lose messages, "
               "and turns idempotence off."));
  add(opt("compression", &C::compression,
          {{"none", Compression::kNone},
           {"gzip", Compression::kGzip},
           {"snappy", Compression::kSnappy},
           {"lz4", Compression::kLz4},
           {"zstd", Compression::kZstd}})
          .def("none")
          .doc("How batches of messages are compressed."));
  add(opt("linger", &C::linger).def("20ms").doc("How long a message may wait for others to share a request with."));
  add(opt("delivery_timeout", &C::delivery_timeout)
          .def("0")
          .doc("Stop the job when a message has waited this long for its broker. 0: wait for ever."));
  add(opt("isolate_errors", &C::isolate_errors)
          .def("false")
          .doc("Remember every row until it is delivered, so that each that is refused becomes a bad record. Without "
               "it: only large rows."));
  add(opt("max_queue", &C::max_queue).def("32MiB").advanced().doc("How much may wait for the brokers, for each lane."));
  append_connection_options(&o);
  return o;
}

KafkaSink::~KafkaSink() {
  if (client_ && client_->is_started()) {
    // Without this, destroying the client would wait for the brokers.
    rd_kafka_purge(client_->handle(),
                   RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
  }
  topics_.clear();
}

void KafkaSink::build_conf(ClientConf* conf) const {
  const SinkConfig& c = config();
  conf->preset("client.id", "sluice." + std::string(pipeline()) + "." + std::string(id()));
  conf->preset("enable.idempotence", c.acks == Acks::kAll ? "true" : "false");
  conf->preset("partitioner", "murmur2_random");
  conf->preset("reconnect.backoff.max.ms", "2000");
  conf->preset("queue.buffering.max.messages", "1000000");  // max_queue is the bound
  conf->option("acks", "acks", word(c.acks));
  conf->option("compression", "compression.codec", word(c.compression));
  conf->option("linger", "linger.ms", std::to_string(c.linger.count()));
  conf->option("delivery_timeout", "message.timeout.ms", std::to_string(c.delivery_timeout.count()));
  conf->option("max_queue", "queue.buffering.max.kbytes",
               std::to_string(std::max<int64_t>(1, c.max_queue.bytes / 1024)));
  conf->connection(c, kReserved);
}

Status KafkaSink::configure(Needs& needs) {
  const SinkConfig& c = config();
  if (!c.topic && !c.topic_field) return Status::fatal("give `topic`, `topic_field`, or both");
  if (c.topic && c.topic->empty()) return Status::fatal("`topic` is empty");
  if (c.tombstone_on_delete && !c.key_field)
    return Status::fatal("`tombstone_on_delete` needs `key_field`: a tombstone is for its key");
  needs.body();
  needs.delivery(SLUICE_DELIVERY_AT_LEAST_ONCE);
  if (c.topic_field) topic_field_ = needs.field(*c.topic_field);
  if (c.key_field) key_field_ = needs.field(*c.key_field);
  if (c.tombstone_on_delete) needs.tombstones();
  ClientConf conf;
  build_conf(&conf);
  return conf.status();
}

Status KafkaSink::open() {
  if (!client_) {
    ClientConf conf;
    build_conf(&conf);
    SLUICE_CHECK_OK(conf.status());
    client_.emplace(context());
    client_->on_delivery = [this](const rd_kafka_message_t& m) { delivered(m); };
    if (Status s = client_->start(RD_KAFKA_PRODUCER, &conf); !s.is_ok()) {
      client_.reset();
      return s;
    }
  }
  rd_kafka_topic_t* only = nullptr;
  if (config().topic) SLUICE_CHECK_OK(topic_handle(*config().topic, &only));
  const rd_kafka_metadata_t* raw = nullptr;
  if (Status s = client_->metadata(only, kMetadataTimeoutMs, &raw); !s.is_ok()) {
    if (s.code() == SLUICE_RETRY) say_away(s.message(), "waiting for it");
    return s;
  }
  const Metadata metadata(raw);
  if (only != nullptr && metadata->topic_cnt > 0 && metadata->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    const std::string text = "topic " + *config().topic + ": " + rd_kafka_err2str(metadata->topics[0].err);
    if (const char* hint = way_out(metadata->topics[0].err)) return Status::fatal(text + ": " + hint);
    note(text);
    return Status::retry(text + ": create it; waiting for it", 1000);
  }
  note("");
  back_in_touch();
  return Status::ok();
}

// With a client of its own, of the kind whose questions do not make topics.
Status KafkaSink::check(Problems& problems) {
  ClientConf conf;
  conf.preset("client.id", "sluice." + std::string(pipeline()) + "." + std::string(id()));
  conf.preset("allow.auto.create.topics", "false");
  conf.connection(config(), kReserved);
  conf.preset("allow.auto.create.topics", "false");  // whatever `properties` say
  SLUICE_CHECK_OK(conf.status());
  Client client(context());
  SLUICE_CHECK_OK(client.start(RD_KAFKA_CONSUMER, &conf));
  TopicHandle topic;
  if (config().topic) topic.reset(rd_kafka_topic_new(client.handle(), config().topic->c_str(), nullptr));
  if (config().topic && !topic) {
    problems.add_to("topic", "`" + *config().topic + "` cannot be a topic's name");
    return Status::ok();
  }
  const rd_kafka_metadata_t* raw = nullptr;
  if (!problems.add_unless_ok(client.metadata(topic.get(), kMetadataTimeoutMs, &raw), "brokers")) return Status::ok();
  const Metadata metadata(raw);
  if (!topic || metadata->topic_cnt == 0) return Status::ok();
  const rd_kafka_metadata_topic_t& found = metadata->topics[0];
  if (const char* hint = way_out(found.err)) {
    problems.add_to("topic", "topic " + *config().topic + ": " + rd_kafka_err2str(found.err) + ": " + hint);
  } else if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR || found.partition_cnt == 0) {
    problems.add_to("topic", "topic " + *config().topic + " does not exist at " + config().brokers +
                                 ": create it (brokers with `auto.create.topics.enable` make it when the job starts)");
  }
  return Status::ok();
}

Status KafkaSink::close() {
  if (!client_ || !client_->is_started()) return Status::ok();
  Status s = flush(kCloseMs);
  if (!s.is_ok())
    warn(std::string(id()) + ": closed before all was delivered (" + s.message() +
         "); the rows since the last checkpoint will be written again");
  return Status::ok();
}

// ---- rows -------------------------------------------------------------------------------------------

Status KafkaSink::write(const Batch& in, uint32_t* consumed) {
  for (uint32_t row = 0; row < in.size(); ++row) {
    *consumed = row;
    if (row % kServeEvery == 0) SLUICE_CHECK_OK(take_reports(0));
    bool done = false;
    SLUICE_CHECK_OK(write_row(in, row, &done));
    if (done) continue;
    SLUICE_CHECK_OK(take_reports(kFullQueueWaitMs));
    SLUICE_CHECK_OK(write_row(in, row, &done));
    if (!done)
      return Status::retry(
          away_ ? "broker away: " + client_->last_failure() : "the brokers take messages more slowly than they come",
          20);
  }
  *consumed = in.size();
  return Status::ok();
}

Status KafkaSink::write_row(const Batch& in, uint32_t row, bool* done) {
  std::string_view topic;
  bool known = false;
  SLUICE_CHECK_OK(topic_of(in, row, &topic, &known));
  if (!known) {
    *done = true;
    return Status::ok();
  }
  if (in.is_tombstone(row)) {
    const sluice_str own = in.raw().raw_key != nullptr ? in.raw().raw_key[row] : sluice_str{nullptr, 0};
    if (own.data == nullptr) {
      *done = true;
      return reject(row, "a tombstone without a message key");
    }
    return enqueue(row, topic, view(own), std::nullopt, done);
  }
  std::optional<std::string_view> key;
  if (key_field_) {
    const Value value = in(*key_field_, row);
    if (!value.is_missing()) {
      std::string_view text;
      SLUICE_CHECK_OK(key_of(value, &text));
      key = text;
    }
  }
  if (config().tombstone_on_delete && in.change(row) == SLUICE_CHANGE_DELETE) {
    if (!key) {
      *done = true;
      return reject(row, "a delete without `" + *config().key_field + "`, which is its key");
    }
    return enqueue(row, topic, key, std::nullopt, done);
  }
  std::string_view json;
  if (Status s = in.json(row, &json); !s.is_ok()) {
    if (s.code() != SLUICE_BAD_RECORD) return s;
    *done = true;
    return reject(row, s.message());
  }
  return enqueue(row, topic, key, json, done);
}

Status KafkaSink::topic_of(const Batch& in, uint32_t row, std::string_view* name, bool* known) {
  *known = true;
  if (topic_field_) {
    const Value value = in(*topic_field_, row);
    if (value.is_string() && !value.text().empty()) {
      *name = value.text();
      return Status::ok();
    }
    if (!value.is_missing() || !config().topic) {
      *known = false;
      return reject(row, std::string("`").append(*config().topic_field) + "` is " + (value.is_string() ? "empty" : value.type_name()) +
                             ": it names no topic");
    }
  }
  *name = *config().topic;
  return Status::ok();
}

Status KafkaSink::key_of(const Value& value, std::string_view* key) const {
  if (value.is_string() || value.type() == SLUICE_NUMBER || value.is_bool() || value.type() == SLUICE_OBJECT ||
      value.type() == SLUICE_ARRAY) {
    *key = value.text();
    return Status::ok();
  }
  return to_json(value, key);
}

Status KafkaSink::topic_handle(std::string_view name, rd_kafka_topic_t** out) {
  const auto found = topics_.find(name);
  if (found != topics_.end()) {
    *out = found->second.get();
    return Status::ok();
  }
  if (topics_.size() >= kTopicsAtMost)
    return Status::fatal("`topic_field` has given more than " + std::to_string(kTopicsAtMost) +
                         " topics, the newest `" + std::string(name) + "`: it should hold a topic's name");
  TopicHandle handle(rd_kafka_topic_new(client_->handle(), std::string(name).c_str(), nullptr));
  *out = handle.get();
  if (handle) topics_.emplace(std::string(name), std::move(handle));
  return Status::ok();
}

Status KafkaSink::enqueue(uint32_t row, std::string_view topic, std::optional<std::string_view> key,
                          std::optional<std::string_view> value, bool* done) {
  rd_kafka_topic_t* handle = nullptr;
  SLUICE_CHECK_OK(topic_handle(topic, &handle));
  if (handle == nullptr) {
    *done = true;
    return reject(row, std::string("`").append(topic) + "` cannot be a topic's name");
  }
  uint64_t origin = 0;
  if (config().isolate_errors || (value && value->size() >= kLargeRow)) SLUICE_CHECK_OK(keep_origin(row, &origin));
  // An empty value is no tombstone: librdkafka tells them apart by the pointer.
  static char empty[1];
  char* data = !value ? nullptr : value->empty() ? empty : const_cast<char*>(value->data());
  const void* key_data = !key ? nullptr : key->empty() ? empty : key->data();
  if (rd_kafka_produce(handle, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, data, value ? value->size() : 0, key_data,
                       key ? key->size() : 0,
                       reinterpret_cast<void*>(static_cast<uintptr_t>(origin))) ==
      0) {  // NOLINT(performance-no-int-to-ptr)
    if (origin != 0) last_origin_ = origin;
    *done = true;
    return Status::ok();
  }
  const rd_kafka_resp_err_t code = rd_kafka_last_error();
  if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
    *done = false;  // the row comes again, and gets another handle; this one is dropped with the rest
    if (origin != 0) last_origin_ = origin;
    return Status::ok();
  }
  *done = true;
  if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
    return reject(row, "too large for a message: " + std::to_string(value ? value->size() : 0) +
                           " bytes (message.max.bytes in `properties`)");
  if (is_refusal(code)) return reject(row, "topic " + std::string(topic) + ": " + rd_kafka_err2str(code));
  return give_up(code, topic);
}

Status KafkaSink::give_up(rd_kafka_resp_err_t code, std::string_view topic) {
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    char text[512] = "";
    rd_kafka_fatal_error(client_->handle(), text, sizeof text);
    return Status::fatal(std::string("the producer gave up: ") + text +
                         "; start again: rows since the last checkpoint are written again");
  }
  const char* hint = way_out(code);
  std::string text = "topic " + std::string(topic) + ": a message was not delivered: " + rd_kafka_err2str(code);
  if (code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
    text +=
        " (`delivery_timeout`)" + (client_->last_failure().empty() ? std::string() : "; " + client_->last_failure());
  else if (hint != nullptr)
    text += std::string(": ") + hint;
  else
    text += "; `isolate_errors: true` makes such rows bad records";
  return Status::fatal(text);
}

// ---- what became of them ----------------------------------------------------------------------------

// In serve() and flush(), so inside a call of the host.
void KafkaSink::delivered(const rd_kafka_message_t& m) {
  if (m.err == RD_KAFKA_RESP_ERR_NO_ERROR) back_in_touch();
  if (alone_) {
    alone_result_ = m.err;
    return;
  }
  if (m.err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || m.err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) return;
  const char* topic = rd_kafka_topic_name(m.rkt);
  // One that was under way when others of its key were refused has overtaken them: it is sent again behind them.
  const bool overtook = m.err == RD_KAFKA_RESP_ERR_NO_ERROR && m.key != nullptr && !refused_.empty() &&
                        refused_keys_.contains({topic, std::string(static_cast<const char*>(m.key), m.key_len)});
  if (m.err == RD_KAFKA_RESP_ERR_NO_ERROR && !overtook) return;
  if (!overtook && !is_refusal(m.err)) {
    if (broken_.is_ok()) broken_ = give_up(m.err, topic);
    return;
  }
  Refused r;
  r.topic = topic;
  r.tombstone = m.payload == nullptr;
  if (!r.tombstone) r.value.assign(static_cast<const char*>(m.payload), m.len);
  r.has_key = m.key != nullptr;
  if (r.has_key) r.key.assign(static_cast<const char*>(m.key), m.key_len);
  if (r.has_key) refused_keys_.emplace(r.topic, r.key);
  r.origin = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(m._private));
  refused_.push_back(std::move(r));
}

Status KafkaSink::flush(int timeout_ms) {
  for (int waited = 0;; waited += kFlushSliceMs) {
    const rd_kafka_resp_err_t code = rd_kafka_flush(client_->handle(), kFlushSliceMs);
    SLUICE_CHECK_OK(take_events());
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return Status::ok();
    if (waited + kFlushSliceMs >= timeout_ms || stopping()) break;
  }
  const std::string text = std::to_string(rd_kafka_outq_len(client_->handle())) + " messages are not confirmed";
  return Status::retry(
      away_ && !client_->last_failure().empty() ? text + ", broker away: " + client_->last_failure() : text, 500);
}

// Before another row is taken what was refused is settled, or a later row of its key would come before it.
Status KafkaSink::take_reports(int timeout_ms) {
  client_->serve(timeout_ms);
  SLUICE_CHECK_OK(take_events());
  return refused_.empty() ? Status::ok() : settle_all();
}

Status KafkaSink::settle_all() {
  SLUICE_CHECK_OK(flush(kSettleMs));
  return settle_refused();
}

// One by one: a broker refuses a whole batch for one of its messages.
Status KafkaSink::settle_refused() {
  while (!refused_.empty()) {
    Refused& r = refused_.front();
    rd_kafka_topic_t* handle = nullptr;
    SLUICE_CHECK_OK(topic_handle(r.topic, &handle));
    alone_ = true;
    alone_result_.reset();
    static char empty[1];
    const int sent = rd_kafka_produce(handle, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
                                      r.tombstone       ? nullptr
                                      : r.value.empty() ? empty
                                                        : r.value.data(),
                                      r.value.size(), r.has_key ? (r.key.empty() ? empty : r.key.data()) : nullptr,
                                      r.key.size(), nullptr);
    Status s;
    if (sent != 0) alone_result_ = rd_kafka_last_error();
    // A flush that is cut off leaves the message under way: it must not be sent again next to itself.
    while (!alone_result_ && s.is_ok()) {
      s = flush(kSettleMs);
      if (s.code() == SLUICE_RETRY && !stopping()) s = Status::ok();
    }
    alone_ = false;
    SLUICE_CHECK_OK(s);
    if (*alone_result_ != RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (r.origin == 0 || !is_refusal(*alone_result_)) return give_up(*alone_result_, r.topic);
      SLUICE_CHECK_OK(reject_origin(r.origin, "topic " + r.topic + ": " + rd_kafka_err2str(*alone_result_)));
    }
    refused_.pop_front();
  }
  refused_keys_.clear();
  return Status::ok();
}

Status KafkaSink::prepare(uint64_t) {
  SLUICE_CHECK_OK(settle_all());
  if (last_origin_ != 0) {
    SLUICE_CHECK_OK(drop_origins(last_origin_));
    last_origin_ = 0;
  }
  return Status::ok();
}

void KafkaSink::say_away(const std::string& reason, const char* consequence) {
  const std::string text = "broker away: " + reason;
  if (!away_) warn(text + "; " + consequence);
  away_ = true;
  note(text);
}

void KafkaSink::back_in_touch() {
  if (!away_) return;
  away_ = false;
  note("");
  info("the brokers answer again");
}

Status KafkaSink::take_events() {
  for (const ClientEvent& e : client_->take_events()) {
    if (is_connection_failure(e.code) || e.code == RD_KAFKA_RESP_ERR__SSL ||
        e.code == RD_KAFKA_RESP_ERR__AUTHENTICATION) {
      say_away(client_->last_failure().empty() ? e.text : client_->last_failure(), "messages wait");
    } else if (e.code == RD_KAFKA_RESP_ERR__FATAL) {
      return Status::fatal("the producer gave up: " + e.text +
                           (e.way_out != nullptr ? std::string(": ") + e.way_out
                                                 : "; start again: rows since the last checkpoint are written again"));
    } else {
      warn("librdkafka: " + e.text);
    }
  }
  return broken_;
}

}  // namespace sluice::kafka
