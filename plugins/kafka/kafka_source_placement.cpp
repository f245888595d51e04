// kafka.source: where a split begins, and what is done when its offset does not exist any more.
#include <algorithm>

#include "kafka/kafka_source.h"

namespace sluice::kafka {
namespace {

std::string text_of(int64_t number) { return std::to_string(number); }

}  // namespace

Status KafkaSource::assign(const std::vector<AssignedSplit>& splits) {
  std::deque<Partition> placed;
  for (const AssignedSplit& given : splits) {
    if (stopping()) return Status::cancelled();
    SLUICE_CHECK_OK(place(given, &placed.emplace_back()));
  }
  for (Partition& from : placed) {
    Partition& p = partitions_.emplace_back(std::move(from));
    auto& table = p.topic->by_number;
    if (table.size() <= static_cast<size_t>(p.number)) table.resize(static_cast<size_t>(p.number) + 1, nullptr);
    table[static_cast<size_t>(p.number)] = &p;
    say_position(&p);
    if (p.snapshot_end == PartitionPosition::kComplete) set_flags(&p, p.flags | SLUICE_SPLIT_SNAPSHOT_COMPLETE);
    end_if_bounded(&p);
    if ((p.flags & SLUICE_SPLIT_END) == 0) SLUICE_CHECK_OK(start_fetching(&p));
  }
  return Status::ok();
}

Status KafkaSource::place(const AssignedSplit& given, Partition* p) {
  const auto name = parse_split_id(given.id);
  const auto topic =
      std::find_if(topics_.begin(), topics_.end(), [&](const Topic& t) { return name && t.name == name->topic; });
  if (topic == topics_.end())
    return Status::fatal("the checkpoint holds " + given.id +
                         ", which is none of this operator's topics: put the topic back, or start without this "
                         "operator's state (--drop-state " +
                         std::string(id()) + ")");
  p->topic = &*topic;
  p->number = name->partition;
  p->split = given.index;
  p->id = given.id;
  OffsetRange range;
  SLUICE_CHECK_OK(query_range(*client_, topic->name, p->number, &range));

  std::string why;
  if (given.restored) {
    const auto position = PartitionPosition::decode(given.position);
    if (!position)
      return Status::fatal("the checkpoint's position of " + given.id +
                           " was written by a newer version of kafka.source: use that version");
    p->next = position->next;
    p->snapshot_end = position->snapshot_end;
    p->known_position = p->next;
    why = "checkpoint";
    SLUICE_CHECK_OK(bridge_gap(range, "checkpoint offset", p));
  } else if (given.added) {
    p->next = range.earliest;
    why = "new partition";
  } else {
    SLUICE_CHECK_OK(place_at_start(range, p, &why));
  }
  if (p->snapshot_end != PartitionPosition::kComplete && p->next >= p->snapshot_end)
    p->snapshot_end = PartitionPosition::kComplete;
  info(p->id + ": from offset " + text_of(p->next) + " (" + why + "), it holds " + text_of(range.earliest) + " to " +
       text_of(range.end));
  return Status::ok();
}

Status KafkaSource::place_at_start(const OffsetRange& range, Partition* p, std::string* why) {
  SLUICE_CHECK_OK(resolve_start(*p, range, &p->next, why));
  p->snapshot_end = range.end;
  return bridge_gap(range, config().start == Start::kCommitted ? "committed offset" : "`start_offsets`: offset", p);
}

Status KafkaSource::resolve_start(const Partition& p, const OffsetRange& range, int64_t* next, std::string* why) {
  switch (config().start) {
    case Start::kEarliest:
      *next = range.earliest;
      *why = "start: earliest";
      return Status::ok();
    case Start::kLatest:
      *next = range.end;
      *why = "start: latest";
      return Status::ok();
    case Start::kTimestamp:
      *why = "start: timestamp " + *config().start_timestamp;
      SLUICE_CHECK_OK(query_time(*client_, p.topic->name, p.number, *start_time_, next));
      if (*next < 0) *next = range.end;
      return Status::ok();
    case Start::kOffsets: {
      const auto found = start_offsets_.find(p.id);
      if (found == start_offsets_.end()) return fall_back(p, range, "`start_offsets` has no offset", next, why);
      *next = found->second;
      *why = "start: offsets";
      return Status::ok();
    }
    case Start::kCommitted: {
      const std::string group = config().group.value_or(std::string(pipeline()));
      SLUICE_CHECK_OK(query_committed(*client_, group, p.topic->name, p.number, next));
      if (*next < 0) return fall_back(p, range, "group " + group + " has committed no offset", next, why);
      *why = "start: committed by group " + group;
      return Status::ok();
    }
  }
  return Status::bug("unknown start");
}

Status KafkaSource::fall_back(const Partition& p, const OffsetRange& range, const std::string& missing, int64_t* next,
                              std::string* why) const {
  const StartFallback fallback = config().start_fallback.value_or(StartFallback::kEarliest);
  if (fallback == StartFallback::kFail)
    return Status::fatal(p.id + ": " + missing +
                         " for it; set `start_fallback: earliest` or `latest`, or another `start`");
  const bool earliest = fallback == StartFallback::kEarliest;
  *next = earliest ? range.earliest : range.end;
  *why = missing + ", start_fallback: " + (earliest ? "earliest" : "latest");
  return Status::ok();
}

// With `isolation: read_committed` the end that a client is told is that of the last finished transaction. Behind it may be
// offsets that were read with read_uncommitted, or committed by a reader that did.
Status KafkaSource::query_high_watermark(const Partition& p, int64_t* out) const {
  ClientConf conf;
  build_conf(&conf);
  conf.preset("isolation.level", "read_uncommitted");
  SLUICE_CHECK_OK(conf.status());
  Client client(context());
  SLUICE_CHECK_OK(client.start(RD_KAFKA_CONSUMER, &conf));
  OffsetRange range;
  SLUICE_CHECK_OK(query_range(client, p.topic->name, p.number, &range));
  *out = range.end;
  return Status::ok();
}

Status KafkaSource::bridge_gap(const OffsetRange& range, const std::string& what, Partition* p) {
  int64_t last = range.end;
  if (p->next > last && config().isolation == Isolation::kReadCommitted) SLUICE_CHECK_OK(query_high_watermark(*p, &last));
  if (p->next >= range.earliest && p->next <= last) {
    // Until the transaction ends there is nothing to read, and librdkafka does not say so where it is not the end.
    if (p->next > range.end) set_flags(p, p->flags | SLUICE_SPLIT_CAUGHT_UP);
    return Status::ok();
  }
  std::string text = p->id + ": " + what + " " + text_of(p->next);
  int64_t lost = 0;
  if (p->next < range.earliest) {
    lost = range.earliest - p->next;
    text += ", earliest available " + text_of(range.earliest) + ", " + text_of(lost) +
            " offsets lost (deleted by retention)";
  } else {
    text += ", but the partition ends at " + text_of(last) + ": the topic was made anew or cut off";
  }
  if (config().on_gap == OnGap::kFail)
    return Status::fatal(text + "; set `on_gap: earliest` to go on at " + text_of(range.earliest) +
                         " or `on_gap: latest` to go on at " + text_of(range.end));
  const bool earliest = config().on_gap == OnGap::kEarliest;
  const int64_t to = earliest ? range.earliest : range.end;
  if (p->next < range.earliest || !earliest) lost = std::max<int64_t>(0, to - std::min(p->next, range.earliest));
  warn(text + "; going on at " + text_of(to) + " (on_gap: " + (earliest ? "earliest" : "latest") + ")");
  count("gaps");
  if (lost > 0) count("lost_records", lost);
  // A snapshot that was cut off this way ends at what is there now.
  if (p->snapshot_end != PartitionPosition::kComplete) p->snapshot_end = range.end;
  p->next = to;
  return Status::ok();
}

Status KafkaSource::start_fetching(Partition* p) {
  if (rd_kafka_consume_start_queue(p->topic->handle.get(), p->number, p->next, queue_.get()) == -1)
    return Status::fatal(p->id + ": cannot be read: " + rd_kafka_err2str(rd_kafka_last_error()));
  p->fetching = true;
  return Status::ok();
}

void KafkaSource::stop_fetching(Partition* p) {
  if (p->fetching) rd_kafka_consume_stop(p->topic->handle.get(), p->number);
  p->fetching = false;
}

Status KafkaSource::settle_gaps() {
  while (!gaps_.empty()) {
    Partition* p = gaps_.back();
    OffsetRange range;
    SLUICE_CHECK_OK(query_range(*client_, p->topic->name, p->number, &range));
    SLUICE_CHECK_OK(bridge_gap(range, "offset", p));  // none after all: a leader that lagged behind answered
    stop_fetching(p);
    SLUICE_CHECK_OK(start_fetching(p));
    say_position(p);
    gaps_.pop_back();
  }
  return Status::ok();
}

}  // namespace sluice::kafka
