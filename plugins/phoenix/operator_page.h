// The operator's page, in Markdown.
#pragma once

namespace sluice::phoenix {

inline constexpr char kPhoenixSinkDoc[] = R"md(
**The same pipeline as with `sqlite.sink`.** The options that say which table a row goes to, its key and its columns have the same names
and do the same: replace `use: sqlite.sink` and `path` by `use: phoenix.sink`, `servers` and `schema`.

**Which table.** `table` names one table for all rows. Without it each row says its table in the member `table_field`
(`sink_table`, as the broadcast filter adds it), which is not written as a column. All other members are columns.

**Names** are in upper case (`case: upper`), as Phoenix takes names without quotes, so `select * from gmall.dim_x` finds what was written
as `dim_x`; they are always quoted, so reserved words and blanks are fine. Columns that differ in the case of letters only are refused, so
is a new table or column beside one whose name differs in that only, and so are names with quotes or backslashes, and dots in table names. `case: keep` leaves names alone; SQL then needs quotes around lower case.

**Tables are made** (`create: true`; with `create: false` a schema that is not there stops the start), and their schema with `create schema if not exists` (where namespace mapping is off, a schema
is only a part of the table's name), from schema records, which the broadcast filter sends before the first row of a table. A schema
record with more columns adds them, none are ever removed, and earlier rows have NULL there. Tables without a schema record are made from
their first row and get new columns from later rows. Every column is VARCHAR, unless `columns` gives it another type. The options in a schema
record's `extend` (`sink_extend`, for example `SALT_BUCKETS = 3`) stand behind `create table`; anything but NAME = value pairs is
refused. When a table cannot be made or does not fit (a view has its name, it has another key, Phoenix refuses the statement), that
table alone is quarantined: its rows become bad records with the reason until a better schema record comes. A table or column that
somebody drops while the job runs is made again; where that is not possible (`create: false`; HBase has lost a table that Phoenix
goes on listing), the rows of that table alone become bad records, after about ten seconds of looking for it, and all others are written.

**Values.** A VARCHAR column gets exactly what the row has: strings as they are, numbers with their digits (`20.00`,
`18446744073709551615`), `true` and `false`, arrays and objects as JSON. `null` is NULL, and for Phoenix an empty text is NULL, too.
Columns of other types get their own type, and what does not fit is a bad record rather than cut or rounded: whole numbers that
are too large, or that a DOUBLE or a FLOAT would round (`9007199254740993`), digits behind the point that a DECIMAL has no room for. DATE,
TIME and TIMESTAMP take text as Phoenix reads it
(`2024-01-02 03:04:05`), TIMESTAMP also milliseconds since 1970, which are written as the text of that moment in UTC. There MySQL's zero dates
(`0000-00-00`) are NULL, which the counter `zero_dates` counts; `zero_dates: reject` refuses them. Dates with a zero month or day only are always refused.

**By key.** `upsert into … values …`, only the columns that the row has. Writing a row again changes nothing, so after a crash the table is as
if nothing had happened. The key is that of the schema record, else `key`, else the row's member `key_field` (`sink_pk`: names with
commas between them), else the existing table's primary key. A row that is marked as deleted deletes by key. A row without its key, or with
null or an empty text there, is a bad record, and so is one whose key is longer than 32767 bytes, HBase's limit. Rows of one key are written in their order.

**Commits.** Each batch of rows is written and committed before the next one, in commits of at most `batch_rows` and
`batch_bytes`. Phoenix throws away all uncommitted rows of a connection when there are more than its `phoenix.mutate.maxSize`; when
that happens they are written again in smaller commits, which grow again while all is well. The same is done when a gateway before the Query
Server refuses a request as too large (HTTP status 413; nginx takes 1 MiB unless `client_max_body_size` says more): `batch_bytes` below its
limit saves the detour, and a row that is too large for it alone is a bad record. Every answer's update counts are compared with what was sent.
When a row of a batch is
refused, it is looked for, and goes alone to the dead letters.

**Outages.** When a server does not answer, or has forgotten a connection or a statement, everything since the last commit is written again
over a new connection, to the next of `servers` if need be; meanwhile the status line says `Phoenix away`, and
the counter `reconnects` says how often there was a connection again after a lost one. A commit that got no answer
within `timeout` may still end later, even after a restart of the job. That is why rows carry the time at which their connection was opened
(`write_time: connection`, Phoenix's `CurrentSCN`): in HBase the newer time wins, so what comes late changes nothing. Programs that write
into the same rows beside the sink should know that its rows can be dated up to five seconds back. The newest time is kept in the
checkpoints: when the servers' clock is behind it after a restart, the sink says so and goes on from that time until the clock has caught
up. Phoenix does not take such times for tables with indexes: as soon as there is one, the sink says so in the log and goes on with
`write_time: server`, where a commit that ends late can bring back an older value. Stop the job while you create the first index of a
table: rows that are written in the five seconds around it may be missing in the index (`alter index … rebuild` brings them in).

**Logging in** is by HTTP basic authentication and TLS, in front of or in the Query Server (`user`, `password`, `https://`, `ca_file`,
`certificate_file`). Kerberos (SPNEGO) is not supported. A Query Server without a login of its own ignores user and password.
A password that is refused stops the job, also while it runs.

**Rights.** Where HBase checks them, they are those of the Query Server's own user: RX on the schema SYSTEM, RWX on the tables; to make and
change tables also C and A on their schema, and RWX on SYSTEM.MUTEX; to make the schema, the rights of an administrator. A right that is missing,
or is taken away while rows come, stops the job with HBase's words; no row becomes a bad record for it. `sluice validate --connect` and the start
of a job look whether the catalog and the table of `table` can be read; that rows may be written is seen with the first one.

**Namespace mapping** (`phoenix.schema.isNamespaceMappingEnabled`) can be on or off, but in the Query Server as in HBase: where the two differ
the job does not start, and the message says so.

**Servers** must speak protobuf, which is the Query Server's default. They are talked to directly: a load balancer must keep a TCP
connection on one server.
)md";

}  // namespace sluice::phoenix
