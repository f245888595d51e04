// The operator's page: what `describe` prints and the book contains.
#pragma once

namespace sluice::kafka {

inline constexpr char kSinkPage[] = R"md(
Writes each row as one message: its whole body as JSON.

### Delivery

At least once. A checkpoint is complete only after the brokers have confirmed every message before it; after a crash, the rows
since the last checkpoint are written again. The producer is idempotent (`acks: all`), so retries inside librdkafka neither repeat
nor reorder messages.

- Brokers away: rows wait in the producer (`max_queue`), then the pipeline is held back. Nothing is given up unless
  `delivery_timeout` is set; then the job stops when a message has waited that long.
- A message that can never be delivered (larger than the topic takes, refused by the broker) is tried once more alone,
  because a broker refuses a whole batch for one message. So are the others of its batch, in their order and before any other row is
  taken; later messages of their keys that the broker had taken by then are written once more behind them, so that the newest value of
  a key stays the last. What is refused alone is a bad record of this operator, if its row is still known:
  that is so for large messages (64 KiB or more), and for all with `isolate_errors: true`, which costs about half a microsecond a row.
  Otherwise the job stops and names the reason.

- A login or certificate that is refused, or a missing permission, ends the job at once; needed is WRITE (and DESCRIBE) on the topics. SCRAM at
  Kafka 4.0 and newer needs librdkafka 2.6.1 or newer; with older ones use PLAIN over `sasl_ssl`, or a client certificate over `ssl`.

### Topic and key

- `topic` names the topic. With `topic_field` the row's field does, and `topic` is for rows without it; a row with neither is a
  bad record.
- `key_field` is a field, or a path with dots, whose text becomes the message key: a string's text, a number as it was
  written, an object or array as JSON. Rows without it get no key. Keyed messages go to the partition that Kafka's Java client would
  choose (murmur2), others are spread.
- With `tombstone_on_delete: true` a delete becomes a message with key and no value, which compaction understands; it
  needs `key_field`. Tombstones that come in go on as tombstones, under their own message key.

### Example

```yaml
- id: out
  use: kafka.sink
  input: windows
  with: { brokers: "${KAFKA:-localhost:9092}", topic: dws_cart_add, key_field: user_id, compression: lz4 }
```
)md";

}  // namespace sluice::kafka
