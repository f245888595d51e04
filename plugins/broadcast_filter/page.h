// The operator's page: what `describe` prints and the book contains.
#pragma once

namespace sluice::broadcast_filter {

inline constexpr char kPage[] = R"md(
Two inputs. The **main** input brings change records as Maxwell writes them (`database`, `table`, `type`, `data`, `old`). The
**broadcast** input brings the configuration: which tables are wanted, and where each goes. A main record is kept when its
table is configured and its type is one of `keep_types`; everything else is dropped and counted.

### Configuration rows

| field | meaning |
|---|---|
| `source_table` | table of the main records, `cart_info`; or `gmall.cart_info` for those of one database |
| `sink_table` | target table; may have a schema before a dot |
| `sink_columns` | columns to keep, separated by commas |
| `sink_pk` | key columns, separated by commas; empty: `id` |
| `sink_extend` | table options for the target's DDL, `SALT_BUCKETS = 4`; may be empty |

They come as plain rows of these fields, in the Debezium shape `{before, after, source, op, ts_ms}` (`op` is `r`, `c`, `u`, `d`
or `t`), or in Debezium's envelope `{schema, payload}`. Insert and update replace the rule, also when `source_table` itself was
changed; a delete removes it. A truncate (`op: t`) removes the rules that came from that table, as `source.db` and `source.table` say;
one of another table removes nothing and is counted. A row that says what is already known changes nothing. The rules are kept as broadcast state
`config` and are there again after a restart.

A row that cannot be used (no columns, no table, an unsafe name, a key column that is not listed, a default key `id` that is not
listed) goes to the dead letters with the reason. The rule that was in force before it stays in force. Names are letters
of any script, digits, `_` and `$`, up to 128 bytes. The word `null` in a field counts as NULL unless a column has that name.

The main sources wait until the configuration's first snapshot is complete. A later snapshot (a source that has lost its
position) replaces all rules at its end; until then the old ones hold.

### What a kept record carries

The record goes on as it is, with three more fields: `sink_table`, `sink_columns` (trimmed, without repetitions) and `sink_pk`.
`column_pruner` with `from: data`, `columns_field: sink_columns`, `add: [sink_table, sink_pk]` makes the row for the sink of it. Before the first
record that needs a table, the filter sends a schema record with the table, its columns, key and options; sinks that have tables
create them. After a restart all are sent again.

### Deletes

With `on_delete: ignore` deletes are dropped and counted. With `on_delete: apply` they go on with the change type *delete*. An update
of the primary key has the old key in `old` only; with `apply` a delete of the old key goes before the row, with `ignore` the
row of the old key stays in the target; `primary_key_changes` counts it, and the log says it once for each table.

### Example

```yaml
- id: configured
  use: broadcast_filter
  input: topic_db
  broadcast: table_process
  with: { database: gmall }
```

### Counters

`kept`, `dropped_not_configured`, `dropped_other_database`, `dropped_delete`, `dropped_control` (`bootstrap-start`,
`bootstrap-complete`, DDL records), `dropped_type` (a row type that `keep_types` leaves out), `dropped_unknown_type`, `deletes_applied`,
`primary_key_changes`; of the configuration `rules_added`, `rules_changed`, `rules_unchanged`, `rules_removed`, `rules_invalid`,
`truncates_ignored` (of tables that no rule came from).

### Limits

Tables are compared as whole names, with case. A rule without database takes the table from every database unless `database` is set; a
warning in the log says when that mixes two. A changed `sink_columns` is not filled in for rows that went by before.
)md";

}  // namespace sluice::broadcast_filter
