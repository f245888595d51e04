// The operator's page: what `describe` prints and the book contains.
#pragma once

namespace sluice::tumbling_window {

inline constexpr char kPage[] = R"md(
Windows of one size that follow each other without gaps, in event time. For each window that has rows, and for each group in it,
one row comes out when the watermark has passed the window's end.

Without `key:` the operator works over all rows. With several lanes it then works in two phases: each lane accumulates its
rows and hands on what it has when the watermark passes, one instance puts the parts together. With `key:` each key has
windows of its own; name the key in `group_by` too when the result should say which one it is.

### The result

The columns are, in this order: `start_column`, `end_column`, the fields of `group_by` (a path under its last name: `id` for
`data.id`), the aggregates in the order in which
they are written, `version_column`. A column whose name is empty is left out. The row's event time is the last millisecond of its
window.

| aggregate | result |
|---|---|
| `count` | number of rows |
| `count(field)` | rows whose field is neither missing nor null |
| `sum(field)` | exact; as many digits behind the point as the longest summand: `20.00` and `0.1` are `20.10` |
| `min(field)`, `max(field)` | the number as it was written; of equal ones that with more digits |
| `avg(field)` | six digits more behind the point than the sum, halves away from zero |

Missing and null values are left out, as in SQL; `sum`, `min`, `max` and `avg` of none are null. Texts that hold a number count
as numbers. A row with anything else in an aggregated field goes to the dead letters. Numbers may have up to 100 digits before
the point and 100 behind it; nothing is rounded.

`version_column` is the wall clock in ms at which the row came out, and always larger than that of an earlier row for the same window
and group, also when the clock was set back: `ReplacingMergeTree` and upserts keep the right one.

Values that differ in how they are written (`1`, `1.0`, `"1"`) are different groups. Missing and null are one group. A sink whose key columns are
texts (`sqlite.sink`) does not tell the number `1` from the text `"1"`: the rows of two such groups write over each other there.

### Where windows begin

At multiples of `size` from local midnight of 1970-01-01 in `zone`, moved by `offset`: a day in `Asia/Shanghai` begins at 00:00 there. Weeks
begin on Thursday as 1970 did; `offset: 4d` makes it Monday. Where clocks are changed, windows longer than an hour begin and
end at their local times, so such a day has 23 or 25 hours; windows of up to an hour keep their length and do not
reach over the change. The machine's own zone never matters.

### Late rows

A row is late when the watermark had passed its window's end before the row came: this depends on the order of the rows
only, not on where batches end. Between several splits (files, partitions) there is no order, and after a kill they may be read in another one:
which rows are late may then differ from an undisturbed run. One split, or enough `out_of_order`, rules that out. `late: drop` counts it (`late_dropped`), `late: dead_letter` puts it there with the reason, `late: output`
passes it on as it is on the output `late` (`input: ID.late`).

### The end of the input

Input that ends closes every window. What the watermark itself had not closed yet is kept in the last checkpoint: when a later run is given more
rows for such a window, a corrected result with a larger version comes out, as if it had been one run.

### Idle sources

The last window stays open while no newer row comes. With `close_windows_when_idle: 30s` a window is also closed when all sources have
been idle for so long and the wall clock is as far past its end (with `key:`, within another such span). A source is idle once it has
given nothing for the `idle_timeout` of its `event_time:` (30s): after the last row it takes both, one after the other. Its state is kept
until the watermark passes its end; if a row comes for it after all, a corrected result with a larger version comes out when
it is closed next.

### Example

```yaml
- id: per_10s
  use: tumbling_window
  input: first_today
  with:
    size: 10s
    zone: Asia/Shanghai
    aggregates: { cart_add_uu_ct: count }
```
gives `{"stt":"2023-11-07 00:00:00","edt":"2023-11-07 00:00:10","cart_add_uu_ct":2,"ts":1699286415123}`.

### Counters

`results`, `corrections` (of them, for a window that had a result before), `closed_when_idle`, `late_dropped`, `late_output`,
`late_dead_letter`.

### State and limits

Open windows are in the checkpoint and go on after a restart, also with another parallelism; a closed window leaves
nothing behind. `size`, `offset`, `zone`, `group_by` and `aggregates` cannot be changed while windows are open: the start is refused. Without
`key:`, all groups of all open windows are in memory. A row needs an event time (`event_time:` at the source).
)md";

}  // namespace sluice::tumbling_window
