// The operator's page, in Markdown.
#pragma once

namespace sluice::sqlite {

inline constexpr char kSqliteSinkDoc[] = R"md(
**Which table.** `table` names one table for all rows. Without it each row says its table in the member `table_field`
(`sink_table`, as the broadcast filter adds it), which is not written as a column. All other members are columns.

**Tables are made** (`create: true`) from schema records, which the broadcast filter sends before the first row of a table; a schema
record with more columns adds them, none are ever removed, and earlier rows have NULL there. Tables without a schema record
are made from their first row and get new columns from later rows; a row that is refused changes no table. A table has no more
columns than SQLite allows (2000, unless it was built otherwise): a row with more is a bad record. Every column is TEXT, unless `columns` gives it another
type. The options in a schema record's `extend` (`sink_extend`) are for other databases: they are logged and ignored. When a
table cannot be made or does not fit (a view has its name, it has another key, it has no columns or too many), that table alone is
quarantined: its rows become bad records with the reason until a better schema record comes.

**Values.** A TEXT column gets exactly what the row has: strings as they are, numbers with their digits (`20.00`,
`18446744073709551615`), `true` and `false`, arrays and objects as JSON; `null` is NULL. In INTEGER, REAL and NUMERIC columns SQLite
converts numbers, and texts that are numbers; a row whose number would not come back equal is refused rather than rounded: in INTEGER and
NUMERIC columns a whole number that does not fit into 64 bits, and in all three what a double has not enough digits for
(`12345678901234567.89`; `12345678901234567890` in a REAL column) or is infinite (`1e400`). TEXT keeps them all.

**`mode: upsert`** writes by key: `insert … on conflict (key) do update`, only the columns that the row has. Writing a row again
changes nothing, so after a crash the table is as if nothing had happened. The key is that of the schema record, else `key`, else
the row's member `key_field` (`sink_pk`: names with commas between them), else the existing table's primary key. A
row that is marked as deleted deletes by key. In a TEXT column the number `1` and the text `"1"` are the same key, so two groups of a
window that differ in that alone write over each other. A row without its key, or with null there, is a bad record. Each batch is one
short transaction, so several lanes and other programs can write to the same file; at a checkpoint the log is synced.

**`mode: append`** only adds rows, exactly once: the rows of a checkpoint and the marker that they are in (table `_sluice_epochs`) are
one transaction, made when the checkpoint is complete. Rows can be seen after each checkpoint. Deletes are bad records.

The file is in write-ahead-log mode: readers see whole batches and are never in the way. While another writer holds it longer than
`busy_timeout`, and while the disk is full, the sink waits and the status line says so. A file that is read-only, damaged or no
database stops the job.
)md";

}  // namespace sluice::sqlite
