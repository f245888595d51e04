// The operator's page, in Markdown.
#pragma once

namespace sluice::clickhouse {

inline constexpr char kClickHouseSinkDoc[] = R"md(
**The table** is there, or `create` makes it. Its columns, types and keys are read from the server; each member of a row goes into the
column of its name. `create` is one statement, as ClickHouse takes one in a request; it does nothing to a table that is there already,
so the columns are read after it all the same. When the table changes while the job runs, rows that wait are made to fit the new columns,
or become bad records where they do not. A row with a member that is no column makes the sink look at the table again, at most once a second
(every 30 seconds with `unknown_fields: ignore`), apart from the first few names. A table that is dropped while the job runs stops it;
it is not made again before the next start.

**Values are checked here**, because the server wraps, clamps or replaces what does not fit and answers that all is well. A row with a
value that does not fit is a bad record whose reason names column, value and type; the other rows go on.

| type | what it takes |
|---|---|
| `UInt8` … `Int256` | whole numbers in range, as numbers or text (`20.00` is one); `true` and `false` |
| `Float32`, `Float64` | numbers in range; `nan`, `inf` |
| `Decimal` | numbers that need no more digits than it has; see `excess_fraction` |
| `String`, `FixedString` | text as it is, numbers with their digits, arrays and objects as JSON |
| `DateTime`, `DateTime64` | `2024-05-01 10:00:00`, with `T`, a fraction, `Z` or an offset; numbers by `epoch_unit` |
| `Date`, `Date32` | `2024-05-01` |
| `Enum8`, `Enum16` | a name, or a number of the type's own |
| `Bool`, `UUID`, `IPv4`, `IPv6` | as they are usually written |
| `Nullable`, `LowCardinality`, `Array`, `Map`, `Tuple` | what they hold, from arrays and objects |

**Times.** Text without an offset is wall-clock time in the column's zone, or the server's when the type names none: the
table shows the same text, whatever zones server and job are in; the log names columns whose type has no zone. With `Z` or an offset, and as a number, it is a moment, which
the table shows in that zone. A time that clocks were put forward over is refused; of one that comes twice the first is meant.

**Zero dates** (`0000-00-00`, `0000-00-00 00:00:00`), MySQL's way to say that there is none, are NULL in a Nullable column, which the counter
`zero_dates` counts, unless `zero_dates: reject` refuses them. Without NULL there is no honest value for them: in other columns, and in those that rows
replace each other by, the row is a bad record. Dates with a zero month or day only (`2020-00-00`) are always refused: the rest of them would be lost.

**`delivery: upsert`** is for a `ReplacingMergeTree` with a version column that is read with `final`. Rows are written at once and confirmed
before a checkpoint is complete; what is written again after a crash replaces itself. The start fails when the table is none. The
version must not become smaller when a row is made anew, and the rows of one key must come through one lane (`key:` or
`parallelism: 1` before the sink), in their order. A row that lacks its version or a column of the sorting key (or has `null` there) is a
bad record, unless the column has a DEFAULT expression: with the type's default it would replace others. Of rows with one key and one
version the last one stays; for that an insert ends where rows of its partition have other columns than those before, so rows
that take turns in their columns make small inserts. Without `final`, rows that came twice can be seen until the server merges them.

**`delivery: exactly_once`** is for any `MergeTree` that remembers its inserts: on one server `non_replicated_deduplication_window` must
be set (`alter table t modify setting non_replicated_deduplication_window = 10000`); replicated tables do by default. The rows of a
checkpoint are written when it is complete, in blocks that depend on nothing but the rows, each with a token; after a crash the same blocks
are sent again, and the server leaves out those that it has. `_sluice_epochs` in the same database holds the newest checkpoint that is in,
and the one that was begun last. When the server is away for longer than `connect_timeout` and `request_timeout` together, the job goes on;
checkpoints that are not in wait one behind the other, in the order in which they were made.
The limits: one checkpoint must not need more inserts, in all lanes together, than the window (the job stops before that);
others who write to the table, and other lanes that go on while one is stuck, use up the window as well; replicated tables forget after
`replicated_deduplication_window_seconds` (one hour, a week before 25.10). Before a block that may be in is sent again, the sink
looks at the number of inserts and the time since (`system.parts`), and stops the job when the table may have forgotten it. Then rows of that
checkpoint may be in, or not: see the table, and make the window larger, which lets the job go on. All of this is tested, with kills, on plain
tables. What is special about replicated ones (their window and its seconds, several servers, the marker's replicated table) follows ClickHouse's
documentation and has not been run against a server with a Keeper. Neither the table nor the sink's options
(`batch_rows` apart) may be changed while a checkpoint is on its way. Needs a server that knows `insert_deduplication_token` (22.2).

**Materialized views** on the table get each insert from the server. With `exactly_once` their tables, and those of views on these, must remember
at least as many inserts as the table itself, or the start is refused with the statement that makes them; a view that is made while the job runs is
checked with the next checkpoint. With any delivery, a row that the server refuses then stops the job instead of becoming a bad record: it can be
a view that refuses it, and the table can have the whole insert already. With the other deliveries what is sent again is in the views twice,
also where it replaces itself in the table; the log names them.

**`delivery: at_least_once`** writes into anything; after a crash rows can be there twice.

**Inserts.** The rows of an insert belong to one partition and are fewer than the server's own block, so that an insert is in
as a whole or not at all, whatever happens to the server. It goes out when it has `batch_rows` or `batch_bytes`, `flush_interval` after its
first row, or with a checkpoint. Partition keys of columns, `toYYYYMMDD`, `toYYYYMM`, `toDate`, `toMonday`, `toYear` and `toStartOf…` are
evaluated; for others the log says that inserts can spread over partitions. Many partitions mean many small inserts: ClickHouse
wants few and large ones. `async_insert` is off: the server would confirm rows that it does not have yet.

**Errors** are told apart by the exception's code:

| what it means | what the sink does | codes |
|---|---|---|
| passes by itself: no memory, too many parts or queries, time is up, a replica or Keeper is away | sends the same bytes again, with growing pauses | 159, 201, 202, 203, 209, 210, 225, 236, 241, 242, 243, 252, 279, 285, 286, 319, 394, 473, 499, 733, 745, 999 |
| a row is to blame: its value, a constraint, an expression | halves the insert until the row is alone, a bad record | 6, 25, 26, 27, 28, 32, 34, 38, 41, 43, 69, 70, 72, 128, 131, 153, 158, 190, 321, 349, 376, 386, 395, 407, 441, 467, 469, 636, 675, 676, 677, 691 |
| the table has other columns or types | reads them again and makes the rows fit; when they are what they were, a row is to blame | 10, 16, 33, 47, 53, 117 |
| stays as it is: no table, no rights, wrong password, a statement or a setting that the server does not take | stops the job | 15, 36, 42, 44, 46, 48, 50, 56, 57, 60, 62, 73, 81, 89, 115, 122, 164, 192, 193, 194, 195, 218, 291, 344, 452, 497, 516 |
| all others | sends the same bytes again for two minutes, then stops the job with the server's text | |

Code 252 is too many partitions as well, when its text says so: then the insert is halved. In detail:

- what passes by itself, a lost connection and a server that starts: the same bytes go to the next of `servers`, for as long as it takes;
  the status line says why. Rows wait in `max_buffer`, then the pipeline is held back.
- an address where no HTTP is spoken, and a certificate that is not trusted: the job stops.
- an insert that is too large for the server's memory (code 241) three times in a row is halved. Not with `exactly_once`, whose inserts stay as
  they are: there it is sent until the server lets it have the memory (`max_memory_usage`). A smaller `batch_rows` is for the checkpoints after it.
- an insert that is too large for a gateway before the server (HTTP status 413; nginx takes 1 MiB unless `client_max_body_size` says more) is
  halved, and a row that is too large alone is a bad record. `batch_bytes` below the limit saves the detour. With `exactly_once` the job stops.
- a row that the server refuses (a constraint, an expression that fails): the insert is halved until the row is alone, which then is a bad
  record (on a table with materialized views the job stops). When it refuses `stop_after_refused` rows in succession for the same reason
  and takes none, the job stops.

Servers that know `input_format_with_types_use_header` (21.11) check themselves that the bytes are for the types that they have; for older
ones the sink looks at the columns before and after each insert. `settings` are sent along with inserts and `create`, the sink's own ones only to
servers that list them.

**Servers are talked to directly**: a proxy that the environment names (`http_proxy`, `https_proxy`, `all_proxy`) is not used.

**Several servers** are for replicas of one table (`Replicated…MergeTree` with the same path), or different ways to one server. Where they hold
different tables, rows are in both after a change of server, no longer replace each other, and no query of one server finds all: `upsert` and
`exactly_once` refuse that, at the start or, of a server that was away then, before its first row; `at_least_once` says so in the log.
)md";

}  // namespace sluice::clickhouse
