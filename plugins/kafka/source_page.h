// The operator's page: what `describe` prints and the book contains.
#pragma once

namespace sluice::kafka {

inline constexpr char kSourcePage[] = R"md(
Reads one topic or several. Each partition is a split `topic-partition` with its own position in the checkpoint; partition
*p* is read by lane *p* modulo the number of lanes. No consumer group is joined: positions come from the checkpoint, so a
start takes no rebalance, and no other member of the group can take partitions away.

### Where a partition begins

The first line that applies decides. The log says for each partition what was decided, and why.

| the partition | begins |
|---|---|
| has a position in the checkpoint | there. `start` and the group's offsets do not matter |
| is new: it, or its topic, was added after the first start, also while the job was down | at its earliest message, whatever `start` says |
| `start: earliest` (default) | at its earliest message |
| `start: latest` | behind its last message. Once the first checkpoint is written (at start), a restart goes on from there |
| `start: committed` | at the offset that `group` has committed; if there is none, `start_fallback` |
| `start: timestamp` | at the first message whose time is at or after `start_timestamp`; behind the last one if there is none |
| `start: offsets` | at its offset in `start_offsets`; if it is not listed, `start_fallback` |

`start_fallback` is `earliest` (default), `latest`, or `fail`, which stops with the partition's name. Beside another `start` it is
refused, as `start_timestamp` and `start_offsets` are.

### When the offset is not there any more

Retention may have deleted it, or the topic was deleted and made anew. That is checked at start and while running, for
offsets out of the checkpoint, of the group and of `start_offsets` alike:

| `on_gap` | |
|---|---|
| `fail` (default) | the job stops. The message has the offset, what is available, and how many offsets are lost |
| `earliest` | goes on at the earliest message; the counters `gaps` and `lost_records` and the log tell |
| `latest` | goes on behind the last message; likewise |

A topic that was made anew and already holds more than the old position cannot be told apart from the old one.
While a topic is gone, the status line says so, and the job waits.

### Bounded reading

With `until: end` a partition ends where it ended when it was first read, also after a restart. It ends by position: gaps
of compaction, aborted transactions and control records do not matter. Messages of a transaction that is still open then
are not read. New partitions are not read either. A later run without `until` goes on behind that; another one with `until: end` finds
nothing left to read.

### Transactions, tombstones, keys

- `isolation: read_committed` (default) leaves out aborted transactions, and holds back everything behind an open one.
- A message without a value is a tombstone: a dead letter, unless the operator that reads it takes tombstones or
  `dead_letters: { tombstones: false }` says that they are only counted. An empty value is a record of no bytes, which is no JSON, and is treated as a
  bad record.
- A message's key goes along as message key; a dead letter keeps it.
- The message's time is not used unless `timestamps: true`. It is an event time like one of a field then: the keys `out_of_order`,
  `idle_timeout` and `max_ahead` of `event_time:` go for it, with their defaults when they are not given:

```yaml
  with: { brokers: "kafka:9092", topic: clicks, timestamps: true }
  event_time: { out_of_order: 5s }
```

### Brokers away

Transient: the job waits, goes on checkpointing, and shows `broker away` with the reason. Partitions are not idle meanwhile, so
windows are not closed by mistake. A login or certificate that is refused at start, or a missing permission, ends the job at once.

### Login

SCRAM needs librdkafka 2.6.1 or newer where the brokers are Kafka 4.0 or newer: they refuse older ones (Debian 12 has 2.0.2) as if the
password were wrong. There use PLAIN over `sasl_ssl`, or a client certificate over `ssl`. Rights: READ and DESCRIBE on the topics,
and for `start: committed` and `commit_offsets` READ on the group; without it nothing but the committing is missed, and the log says so at the end.

### Offsets of the group

After each checkpoint its positions are committed to `group` (default: the pipeline's name), so that lag monitors and
`kafka-consumer-groups` see the progress. They are for others: nothing is read from them while there is a checkpoint. A
failed commit is counted (`offset_commits_failed`) and tried again with the next checkpoint.

### Properties

Anything else that librdkafka can do goes into `properties`, by its own names. What an option or the operator itself decides is
refused, with the option to use. Values of ours that may be overridden there: `fetch.message.max.bytes` 262144 (the
library's 1 MiB needs twice the CPU per message; over a link of more than 10 ms round trip more is faster),
`fetch.error.backoff.ms` 100, `reconnect.backoff.max.ms` 2000, `client.id` `sluice.PIPELINE.ID`, `check.crcs`
true (a batch that is damaged ends the job with its place; the library's default is not to look).

### Example

```yaml
- id: orders
  use: kafka.source
  with:
    brokers: "${KAFKA:-localhost:9092}"
    topic: topic_db
    group: dim
    start: committed
    start_fallback: earliest
    security_protocol: sasl_ssl
    sasl_mechanism: PLAIN
    sasl_username: reader
    sasl_password: "${KAFKA_PASSWORD}"
```
)md";

}  // namespace sluice::kafka
