// The operator's page: what `describe` prints and the book contains.
#pragma once

namespace sluice::daily_dedup {

inline constexpr char kPage[] = R"md(
Lets the first record of each key and day through, as it is, and drops the others. Needs `key:`.

### The rule

The operator keeps the date of the last record that it let through, per key. A record whose date differs, or whose key has none, goes
on and its date is kept; else it is dropped (`dropped_seen`). A kept date lives for `ttl`, counted from the last record
that was let through.

When events of two days interleave around midnight, a key passes again with every change of the date: A, B, A gives three
records. With `each_day: true` every date that was seen is kept for itself, and a key passes once for each day, whatever the
order: A, B, A gives two. Each date lives for `ttl` from the moment it was seen, so the state does not grow with the history.

### The date of a record

The first of `date_fields` that is neither missing nor null: a text that begins with `yyyy-MM-dd`, alone or followed by a blank or
`T` and a time, and that is a date of the calendar. It is compared as it stands, without a time zone. With
`date_fields: []` the date is that of the record's event time in `zone`; beside fields a `zone` is refused, since it would change nothing.

A record without a date, or with one that cannot be read, goes to the dead letters with the reason.

### Example

```yaml
- id: first_today
  use: daily_dedup
  input: cart_add
  key: user_id
  with: { ttl: 1d }
```

### Time to live

`ttl_clock: processing` (the default) counts in wall-clock time; then a stop and the reading again after it must take less
than `ttl`, or keys pass twice. `ttl_clock: event` counts in the watermark's time: what comes out does not depend on when it is run.
A `ttl` below one day lets keys pass more than once a day.

### Counters

`passed`, `dropped_seen`.

### Limits

State: one date of four bytes per key; with `each_day` one entry per key and day that is alive. Changing `each_day` between runs starts with no dates: the two
rules keep them in different states (`last_date`, `days`).
)md";

}  // namespace sluice::daily_dedup
