// The operator's page: what `describe` prints and the book contains.
#pragma once

namespace sluice_mysql {

inline constexpr char kSourcePage[] = R"md(
Reads tables of a MariaDB (10.5 and later) or MySQL 8 server and then every change of them, as a replica does: from the binary log, in
row format. One split, `binlog`, read by one lane; rows come in the order in which their transactions were committed.

### What a first start does

| `start` | |
|---|---|
| `initial` (default) | a snapshot of the tables, of one moment, then the binlog from that very moment on. Between the two stands the marker that a broadcast filter's gate waits for |
| `latest` | changes from now on; the marker comes at once |
| `earliest` | the oldest binlog that the server still has; the marker comes when all has been read that was there at the start |
| `position` | `start_position: binlog.000003:4567`; the marker as with `earliest` |
| `gtid` | behind `start_gtid`; the marker as with `earliest` |

What `start_position` and `start_gtid` name must be there: a place in a binlog where an event begins, GTIDs that the server has had. A start and
`sluice validate --connect` look (with another `on_gap` than `fail` they only warn).

A checkpoint always wins. It holds file and offset, when that file was begun (one of the same name that was made anew is another file), the GTIDs
before them, and the row inside the transaction: a restart goes on with
the next row also in the middle of a transaction of any size, and no transaction is ever held in memory. A snapshot that was cut off
starts anew, with its marker; before its rows come the deletes of rows that have been deleted since the first attempt, so that a target
that was given them lets go of them. (Records of those deletes may name rows that were never given; and a job that was killed before its first
checkpoint knows of no attempt.) A restart behind the snapshot does not need the server to be there.

How a snapshot begins: on MariaDB nothing is locked, the transaction itself says where it is in the binlog. On MySQL the tables are locked
(`LOCK TABLES … READ`) for the few milliseconds in which the transaction begins. That waits for transactions that have written to
them, and others wait behind it: after `snapshot_lock_timeout` it lets go and tries again. `snapshot_lock: global` uses `FLUSH TABLES
WITH READ LOCK` instead, which waits for every running statement. An `ALTER TABLE` during a snapshot makes it start anew. Tables
without transactions (MyISAM) may give rows twice that were written while the snapshot ran: in the snapshot, and as changes.

A snapshot does not begin while XA transactions are prepared and not finished: their rows came into the binlog when they were prepared,
and are in the tables when they are committed. It waits and says which (`XA RECOVER` lists them); one that was left behind needs an `XA
COMMIT` or `XA ROLLBACK`. On MySQL the lock on the tables waits for them; with `snapshot_lock: global` it looks itself, which needs XA_RECOVER_ADMIN.
`start: latest` warns of those whose rows it passes over (MySQL: with that right).

### A new list of tables

`tables` and `databases` take effect at a restart. Tables that the list did not name before are read first, in a snapshot of their own
(`op: r`, without markers); then reading goes on where it was, and their changes come from the place of their snapshot on. As with a snapshot that
was cut off, deletes of theirs since the checkpoint come first. With another `start` than `initial` their rows are not read,
and a warning says so. A table that comes to match a pattern while the job runs is not new in the list: all its changes come.

### Records

`format: debezium`: `{before, after, source{…}, op, ts_ms}`; `op` is `r` (snapshot), `c`, `u`, `d`, or `t` (table truncated: `before`
and `after` are null). `format: maxwell`: `{database, table, type, ts, xid, xoffset or commit, data, old}`; a snapshot is
`bootstrap-start`, `bootstrap-insert` …, `bootstrap-complete`; `xid` is a number of the transaction that is known at its
beginning: that of its GTID (without GTIDs: its offset in the file). With `output_ddl` there are `table-create`, `table-alter`, `table-drop`,
`database-create`, `database-alter` and `database-drop` as well: `{type, database, table, ts, sql, position, gtid}`, without Maxwell's `old` and `def`. A row's key is its primary key as JSON; a table without one gives no keys. An update that changes
the key is in Debezium's shape a delete and a create. The change type of a row is set, so sinks know deletes. Values are alike from
snapshot and binlog; TIMESTAMP is in UTC (Maxwell's shape: in `time_zone`); `decimals` says how DECIMAL is written.

A row with a value that cannot be read (a character set that is not supported, bytes that are no such value) is refused, and the others go on:
`on_error` applies to it. The dead letter holds the reason with table, column and place, and the record with that value as its bytes: `"0x1f00"`.

### Rights

```sql
-- MariaDB
GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO cdc@'%';
-- MySQL
GRANT SELECT, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO cdc@'%';
```

SELECT and LOCK TABLES may be given for the databases or tables alone. `snapshot_lock: global` needs RELOAD instead of LOCK TABLES. On MariaDB
BINLOG MONITOR serves only to see whether `binlog_do_db` or `binlog_ignore_db` keep tables out; without it a warning says so. MySQL's
default login, `caching_sha2_password`, needs the plugins of libmariadb3 (Debian: `/usr/lib/*/libmariadb3/plugin`; elsewhere say where with
`MARIADB_PLUGIN_DIR`).

### Settings of the server

Looked at before the snapshot and after each connect; each one that is wrong is named. `sluice validate --connect` names the same, and warns
of the same.

| setting | |
|---|---|
| `log_bin` | on |
| `binlog_format` | ROW; with any other changes would be missing |
| `binlog_row_image` | FULL |
| `binlog_row_metadata` | FULL. With less it works, with a warning; see below |
| `binlog_row_value_options` | empty (MySQL) |
| `binlog_transaction_compression` | OFF (MySQL). `log_bin_compress` of MariaDB may be on |
| `log_slave_updates` | ON if the server is a replica |
| `binlog_do_db`, `binlog_ignore_db` | the databases of the tables must be logged |
| `server_id` | not that of this client |
| `binlog_expire_logs_seconds` | longer than the job may ever be away |

**Without full metadata** the binlog does not say what columns are called: names, labels, and on MariaDB signs and character sets come from
`information_schema` as it is when rows of the table are met, which may be long after they were written. When the table has been altered, exchanged
or dropped in between, that is a gap: number, type, length, precision, NOT NULL, sign and character set of the columns are compared, and the binlog is
searched ahead for statements that change columns before a row gets their names. What remains: far behind the binlog's end (64 MiB, or another
file) it is searched only if the table is not older than the rows, so a table that was exchanged under its name there, or rows with a
time of their own (`SET TIMESTAMP`), may come under the new names until the statement itself is met; the job then stops and says which rows these
were. The time is also that of a replica's own table, so one that lags may be searched for nothing. With FULL nothing of this is needed, and alterations are followed without a stop.

A session can set format and image for itself. When changes of a captured table come that way, there is a gap. Changes that are logged as statements
(`STATEMENT`, `MIXED`) are one also where they may have reached a captured table without naming it: the statement changes a view, a table with triggers, one
that a foreign key of a captured table follows, or one that is not there any more; it reads a view or calls a stored function. This is
looked up at the server when the statement is read. Without the right TRIGGER for a table nobody knows whether it has triggers, and that is a gap, too:
`GRANT TRIGGER` for the tables that such sessions change (a tool's own, mostly), and start again.

Where the server does not tell names by the case of their letters (`lower_case_table_names`), `databases` and `tables` do not either.

### When changes are lost

A gap: the binlog behind the position was deleted, was made anew (`RESET MASTER`), or lost its end in a crash; changes came as statements or
with missing columns; the binlog says itself that events were lost; a compressed transaction came.

| `on_gap` | |
|---|---|
| `fail` (default) | the job stops, with the reason, the place that is needed and the binlogs that the server has. Start it again with `snapshot` |
| `snapshot` | a new snapshot is taken, with its markers, and the changes after it follow; the counter `gaps` and the log tell. Rows of an upsert sink that were deleted in the gap stay |
| `earliest` | goes on at the oldest binlog there is; likewise. When it comes to the same place again and cannot read it, the job stops |

Nothing ever goes on at the end of the binlog without being told to.

### Another server

GTIDs are in the checkpoint. When the address leads to another server of the same replication (a failover), reading goes on behind
them, also inside a transaction if that is the next one there; otherwise, without GTIDs, or when it lacks transactions that were read (MySQL: after 5 s for it to apply them), that is a gap.
MariaDB: so is a server whose binlog has none of the GTID domains that were read, because it was filled by a copy of the data (a dump), unless its
`gtid_slave_pos` is exactly where reading stopped. When it lacks only some of them, a warning names them, and reading goes on.

### Server away

Transient, as is a lock that somebody holds on a table: the job waits, goes on checkpointing, and shows `mysql away` with the reason; `reconnects` counts. A lost connection is
made anew at once, then every 0.05 to 5 s. A server that says nothing at all for three `heartbeat`s is given up the same way. While it is away
the split is not idle. A refused login, a missing right, a wrong certificate stops the job at once.

All readers of a server's binlog, replicas included, need numbers of their own. Without `server_id` the number is made of the machine's
name, the pipeline's and the operator's: the same after a restart, so that the server ends what is left of the run before. When the server
says that another reader has the number, the job stops: two that throw each other out would go on for ever.

### DDL

With full metadata altered tables are followed without a stop. `TRUNCATE`, `DROP` (also by `CREATE OR REPLACE`) and `RENAME` of captured tables are in the log and are
counted (`truncates`, `drops`, `renames`, `alters`). Debezium's shape has a record for a truncate, `op: t`. Maxwell's has none, as Maxwell has none: rows
that were truncated stay in a target. Its records of DDL come when `output_ddl` asks for them. Dropped tables and partitions give no deletes.
`ALTER TABLE … DROP`, `TRUNCATE`, `EXCHANGE` or `CONVERT PARTITION`, and `DISCARD` or `IMPORT TABLESPACE` are warned of and counted in `drops`, for the table at
the other side as well: rows that go or come with them are in no record. So is MariaDB's `ALTER IGNORE TABLE`, which drops rows that a new unique key does
not allow. Values that a `MODIFY` has converted and those that `ADD COLUMN … DEFAULT` gives to rows that are there do not come as changes: a target
has them when the row changes next, or after a new snapshot.

A table that is described with a type or a character set which is not supported (`geostd8`, `keybcs2`) stops a start, with table and column: leave it
out of `tables`, or convert the column. (Another `start` than `initial` only warns of the character set; changes with a value there are refused, as above.)

Columns that `SELECT *` does not show are in the records: INVISIBLE ones, and the primary keys `my_row_id` that MySQL makes for itself
(`sql_generate_invisible_primary_key`), which are the rows' keys then.

### MariaDB's other tables

**System-versioned tables** are read as the rows that hold now. The old rows that the server keeps are no rows and no changes; a row that becomes old is a
delete. `row_start` and `row_end` are in the records if the table declares them. Tables that keep their history by transaction ids (BIGINT)
are refused: MariaDB logs their changes as statements.

**Sequences** are not read: one that is named is refused, one that a pattern catches is warned of.

### What a binlog does not have

- Rows that a foreign key deletes or changes (`ON DELETE CASCADE`, `SET NULL`): the parent's change is there, the children's are not, on
  either server. Delete the children yourself, or read the children's table again.
- Which rows an XA transaction gave whose rollback comes after its prepare: they were given at the prepare. `xa_rollbacks` counts.
- Updates that change nothing.

### TLS

`tls: required` encrypts or stops; the certificate is not looked at. `tls: verified` also checks it and the server's name, against `tls_ca` or
the system's authorities.

### Example

```yaml
- id: table_process
  use: mysql.cdc
  with:
    host: mysql1.internal
    user: cdc
    password: "${MYSQL_PASSWORD}"
    tables: [gmall.table_process]
```

### Counters

`snapshot_rows`, `inserts`, `updates`, `deletes`, `truncates`, `drops`, `renames`, `alters`, `xa_rollbacks`, `reconnects`, `gaps`.
)md";

}  // namespace sluice_mysql
