// The operator's page: what `describe` prints and the book contains.
#pragma once

namespace sluice::column_pruner {

inline constexpr char kPage[] = R"md(
Makes a new row of an object, with only the columns that are listed. The list is the same for all rows (`columns`), or
each row brings its own (`columns_field`), as those of `broadcast_filter` do.

- The object is the whole record, or with `from` one of its fields.
- Columns are compared as whole names: `name` does not pass because `tm_name` is listed. With `match: ignore_case` a column
  for which there is no exact match takes the member that differs in case only (of ASCII letters), under the name that is listed.
- The row's columns stand in the object's order; the fields of `add` follow. A dotted path in `add` goes on under its last name.
- Values are not touched: numbers keep their digits, nested objects stay as they are. Of a name that occurs twice in one
  object the last one counts.
- The change type of the record (insert, update, delete) goes on with the row.

### Example

```yaml
- id: columns
  use: column_pruner
  input: configured
  with: { from: data, columns_field: sink_columns, add: [sink_table, sink_pk], key_field: sink_pk }
```
`{"table":"base_trademark","data":{"id":1,"tm_name":"alpha","logo_url":"/a.jpg"}}` with `sink_columns` = `id,tm_name` becomes
`{"id":1,"tm_name":"alpha","sink_table":"dim_base_trademark","sink_pk":"id"}`.

### Refused rows

A row in which no listed column occurs, whose `from` is not an object, or that has no column list goes to the dead letters. With
`key_field` also one whose key columns are missing or null: no row without a key reaches a sink. The reason names the
column, and the member that differs from it in case when there is one.

### Counters

`kept`: rows that went on.

### Limits

Up to 4096 different column lists are remembered; with more the operator works, but slower.
)md";

}  // namespace sluice::column_pruner
