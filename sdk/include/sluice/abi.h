/* sluice/abi.h - the contract between the Sluice host and its plugins. Everything else in the SDK is
 * header-only C++ over this file. C11 and C++17 clean; needs <stddef.h> and <stdint.h> only.
 *
 * ABI 0.x is not frozen: a host refuses a plugin that was built for any other minor. From 1.0 on a
 * plugin declares the oldest minor that it can live with (abi_min_minor).
 *
 * Growth. In a struct marked [growable] `struct_size` is first and is set by whoever fills the struct;
 * fields are only ever appended; a reader looks at a field only when struct_size covers it
 * (SLUICE_HAS). Arrays of growable structs are arrays of pointers. [frozen] structs never change.
 *
 * Lifetime. What the other side hands you during a call dies when that call returns; to keep it, copy
 * it. Exceptions: a module's descriptors live as long as the process; a context and the host table
 * outlive the instance they were given to. Nobody frees memory of the other side.
 *
 * Threads. [control]  one thread, before start or after stop, never together with [operator].
 *          [operator] any thread, but never two at once for one instance.
 *          [any]      any thread, those that the plugin started included.
 *
 * Times are milliseconds since 1970-01-01T00:00:00Z, sizes are bytes.
 */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ABI_MAJOR 0u
#define SLUICE_ABI_MINOR 2u
#define SLUICE_ENTRY_SYMBOL "sluice_module_v0" /* the one exported symbol; the major is in its name */

/* True when `ptr->field` exists in the struct that the other side built. */
#define SLUICE_HAS(ptr, type, field) \
  ((ptr) != NULL && (ptr)->struct_size >= offsetof(type, field) + sizeof((ptr)->field))

/* ---- leaf types [frozen] ------------------------------------------------------------------------ */

/* Text or bytes, not NUL-terminated. data == NULL means "none" where a comment says so. */
typedef struct sluice_str {
  const char* data;
  size_t size;
} sluice_str;

/* What the HOST does next, not what went wrong. */
typedef int32_t sluice_code;
enum {
  SLUICE_OK = 0,
  SLUICE_RETRY = 1,       /* transient: the host calls again after retry_after_ms, the input is kept        */
  SLUICE_BAD_RECORD = 2,  /* this input can never succeed: the pipeline's on_error applies                  */
  SLUICE_FATAL = 3,       /* stop the job and keep the last complete checkpoint; the message says a way out */
  SLUICE_CANCELLED = 4,   /* the callee saw the stop request and returned early                             */
  SLUICE_UNSUPPORTED = 5, /* this slot does not exist in this version                                       */
  SLUICE_BUG = 6          /* a contract was broken, or an exception reached the boundary: the job stops     */
};

typedef struct sluice_error { /* the caller allocates, the callee fills; nothing to free */
  uint32_t struct_size;
  sluice_code code;
  uint32_t retry_after_ms; /* with SLUICE_RETRY; 0: the host chooses */
  uint32_t message_size;   /* bytes used in message; longer text is cut */
  char message[1008];
} sluice_error;

/* JSON values keep their lexemes: a number crosses as it was written until somebody needs arithmetic. */
enum {
  SLUICE_ABSENT = 0,  /* the field is not there */
  SLUICE_NULL = 1,
  SLUICE_BOOL = 2,    /* as.i64 is 0 or 1 */
  SLUICE_NUMBER = 3,  /* as.str is the JSON number as it was written */
  SLUICE_STRING = 4,  /* as.str is the unescaped text, UTF-8 */
  SLUICE_ARRAY = 5,   /* as.str is the JSON text of the array  */
  SLUICE_OBJECT = 6,  /* as.str is the JSON text of the object */
  SLUICE_INT64 = 7,   /* as.i64; in options, and accepted from plugins in emitted rows */
  SLUICE_DOUBLE = 8,  /* as.f64; likewise */
  SLUICE_LIST = 9,    /* as.list: an array that is taken apart  */
  SLUICE_MAP = 10,    /* as.map: an object that is taken apart, members in their order */
  SLUICE_INVALID = 11 /* the text of this field is not valid JSON; as.str says why */
};
struct sluice_member;
typedef struct sluice_value {
  uint32_t type;
  uint32_t reserved;
  union {
    int64_t i64;
    double f64;
    sluice_str str;
    struct {
      const struct sluice_value* items;
      size_t size;
    } list;
    struct {
      const struct sluice_member* members;
      size_t size;
    } map;
  } as;
} sluice_value;
typedef struct sluice_member {
  sluice_str name;
  sluice_value value;
} sluice_member;

#define SLUICE_NO_TIME INT64_MIN /* no event time, no watermark yet */
#define SLUICE_END_OF_TIME INT64_MAX /* the watermark after the last record of a bounded input */
#define SLUICE_NO_ROW UINT32_MAX

typedef enum sluice_change {
  SLUICE_CHANGE_NONE = 0, /* the source has no notion of change types */
  SLUICE_CHANGE_INSERT = 1,
  SLUICE_CHANGE_UPDATE = 2,
  SLUICE_CHANGE_DELETE = 3,
  SLUICE_CHANGE_SNAPSHOT = 4 /* a row of a snapshot: read, not changed */
} sluice_change;

/* ---- records ------------------------------------------------------------------------------------ */

/* Rows that go into an operator, as columns of `size` entries each. [growable] [operator]
 * A column that is NULL is not there for any row. */
typedef struct sluice_batch {
  uint32_t struct_size;
  uint32_t size;
  const int64_t* event_time;  /* SLUICE_NO_TIME where a row has none */
  const int64_t* watermark;   /* this operator's watermark just before each row: what is late does not depend
                                 on where batches end */
  const uint8_t* change;      /* sluice_change */
  const sluice_str* key;      /* the pipeline's `key:` of this operator; NULL when it has none */
  const sluice_str* raw;      /* the payload as the source gave it; data == NULL is a tombstone */
  const sluice_str* raw_key;  /* the source's own message key; data == NULL where there is none */
  /* fields[i][row]: the i-th field that this operator declared for this port (sluice_needs) */
  const sluice_value* const* fields;
  size_t field_count;
  void* impl;                 /* the host's */
} sluice_batch;

/* Rows that an operator gives to the host; the host copies them before emit returns. [growable]
 * A source fills raw, raw_key, position and split, and may fill change and event_time. A transform
 * fills body (values of type SLUICE_MAP, or SLUICE_OBJECT with JSON text that it vouches for) and
 * from_row. A column that is NULL takes its default for every row. */
typedef struct sluice_rows {
  uint32_t struct_size;
  uint32_t size;
  const int64_t* event_time;   /* default: that of from_row, else none */
  const uint8_t* change;       /* default: that of from_row, else none */
  const sluice_value* body;    /* transforms */
  const uint32_t* from_row;    /* row of the batch now in process() that each row was made of: its origin and its
                                  event time are inherited; SLUICE_NO_ROW: of none */
  const sluice_str* raw;       /* sources; data == NULL is a tombstone */
  const sluice_str* raw_key;   /* sources; data == NULL: no key */
  const sluice_str* position;  /* sources: opaque, not empty, where to go on after this row. What is restored is the
                                  position of the last row that a checkpoint covers */
  uint32_t split;              /* sources: index of the split, as given to assign() */
  uint32_t reserved;
} sluice_rows;

/* A column that is attached to forwarded rows; downstream sees it as a top-level field. [growable] */
typedef struct sluice_attached {
  uint32_t struct_size;
  uint32_t reserved;
  sluice_str name;
  const sluice_value* values; /* one for each forwarded row */
} sluice_attached;

/* What a table downstream must look like. Travels in-band before the first row that needs it and is
 * forwarded by default; sinks without tables ignore it; sent again after every restore. [growable] */
typedef struct sluice_schema {
  uint32_t struct_size;
  uint32_t reserved;
  sluice_str table;
  const sluice_str* columns; /* every column of the table, key columns included */
  size_t column_count;
  const sluice_str* key;     /* key columns, at least one */
  size_t key_count;
  sluice_str extend;         /* table options in the target's language; may be empty */
  sluice_str origin;         /* where it was said, for messages: the position of the configuration row */
} sluice_schema;

enum { /* markers of a source's snapshot, in-band, forwarded by default */
  SLUICE_SNAPSHOT_BEGIN = 1, /* a snapshot starts anew: what an earlier, cut-off one gave is void */
  SLUICE_SNAPSHOT_END = 2    /* the snapshot is complete */
};

/* ---- what a module says about itself (static data, readable without running it) ----------------- */

enum { SLUICE_OPT_REQUIRED = 1, SLUICE_OPT_SECRET = 2, SLUICE_OPT_DEPRECATED = 4, SLUICE_OPT_ADVANCED = 8 };
enum {                      /* in create(): */
  SLUICE_T_BOOL = 1,        /* SLUICE_BOOL */
  SLUICE_T_INT = 2,         /* SLUICE_INT64 */
  SLUICE_T_DOUBLE = 3,      /* SLUICE_DOUBLE */
  SLUICE_T_STRING = 4,      /* SLUICE_STRING */
  SLUICE_T_DURATION = 5,    /* SLUICE_INT64, milliseconds */
  SLUICE_T_SIZE = 6,        /* SLUICE_INT64, bytes */
  SLUICE_T_ENUM = 7,        /* SLUICE_STRING, one of choices */
  SLUICE_T_STRING_LIST = 8, /* SLUICE_LIST of SLUICE_STRING */
  SLUICE_T_STRING_MAP = 9   /* SLUICE_MAP of SLUICE_STRING */
};
typedef struct sluice_option { /* [growable] */
  uint32_t struct_size;
  uint32_t type;
  uint32_t flags;
  uint32_t reserved;
  sluice_str name;
  sluice_str default_yaml; /* data == NULL: no default, the option is then left out of the config */
  sluice_str unit, doc, example, since;
  const sluice_str* choices;
  size_t choice_count;
} sluice_option;

enum {
  SLUICE_STATE_VALUE = 1,     /* keyed: one value for each key                                   */
  SLUICE_STATE_MAP = 2,       /* keyed: a map for each key, iterable                             */
  SLUICE_STATE_BROADCAST = 3, /* one map, the same in every lane; written on the broadcast port only */
  SLUICE_STATE_OPERATOR = 4   /* one map for each lane, names unique over lanes; restored with other lanes old lane i goes to lane i mod n */
};
typedef struct sluice_state_decl { /* [growable] */
  uint32_t struct_size;
  uint32_t kind;
  sluice_str name;           /* with the YAML id the identity on disk; never reuse it for another meaning */
  uint32_t format_version;   /* of the values, kept beside each; the host refuses newer ones  */
  uint32_t compat_version;   /* the oldest format that still can be read */
  uint32_t ttl_required;     /* 1: a pipeline that gives no TTL is refused */
  uint32_t reserved;
  sluice_str ttl_option;     /* duration option that gives the TTL; empty: none */
  sluice_str ttl_clock_option; /* enum option, `processing` or `event`; empty: processing */
} sluice_state_decl;

enum { SLUICE_SOURCE = 1, SLUICE_TRANSFORM = 2, SLUICE_SINK = 3 };
enum {
  SLUICE_PORT_MAIN = 0,
  SLUICE_PORT_BROADCAST = 1
};
enum { /* sluice_operator_desc.flags */
  SLUICE_OP_BROADCAST = 1, /* has a broadcast input; main sources wait for its snapshot            */
  SLUICE_OP_KEYED = 2,     /* needs `key:`; rows of one key always reach the same lane, in order    */
  SLUICE_OP_TWO_PHASE = 4, /* without `key:` it works over all rows: with more than one lane the host makes
                              one instance a lane with role `partial` and one with role `merge` behind them */
  SLUICE_OP_KEY_OPTIONAL = 8
};

struct sluice_host;
struct sluice_context;
struct sluice_operator_vtbl;

enum { SLUICE_ROLE_COMPLETE = 0, SLUICE_ROLE_PARTIAL = 1, SLUICE_ROLE_MERGE = 2 };

typedef struct sluice_operator_desc { /* [growable] */
  uint32_t struct_size;
  uint32_t kind;
  uint32_t flags;
  uint32_t reserved;
  sluice_str type;    /* what YAML writes after `use:` */
  sluice_str version; /* of the operator; kept in checkpoints */
  sluice_str summary; /* one line */
  sluice_str doc;     /* Markdown, for `describe` and the operator's page */
  const sluice_option* const* options;
  size_t option_count;
  const sluice_state_decl* const* states;
  size_t state_count;
  const sluice_str* output_ports; /* ports after the first, by name: `input: id.late` reads one */
  size_t output_port_count;
  /* [control] `config` is a SLUICE_MAP, complete and checked against `options`. On SLUICE_OK *vtbl and
   * *self are set; self belongs to the plugin and dies in destroy. ctx outlives self. Must be cheap: no
   * connection, no file (validate creates instances too). */
  sluice_code (*create)(const struct sluice_context* ctx, const sluice_value* config,
                        const struct sluice_operator_vtbl** vtbl, void** self, sluice_error* err);
} sluice_operator_desc;

typedef struct sluice_module { /* [growable] */
  uint32_t struct_size;
  uint32_t abi_major, abi_minor; /* built against */
  uint32_t abi_min_minor;        /* the oldest host minor that will do (from 1.0 on) */
  sluice_str name, version, vendor, build;
  const sluice_operator_desc* const* operators;
  size_t operator_count;
  sluice_code (*init)(const struct sluice_host* host, sluice_error* err); /* [control]; may be NULL */
} sluice_module;

/* The one exported symbol. Cheap; starts no thread, opens no socket and no file. [control] */
typedef const sluice_module* (*sluice_module_fn)(void);

/* ---- what an instance asks for, after its options are known ------------------------------------- */

enum {
  SLUICE_DELIVERY_AT_LEAST_ONCE = 0, /* writes at once; after a crash some rows may come twice             */
  SLUICE_DELIVERY_UPSERT = 1,        /* writes at once, by key: writing again changes nothing               */
  SLUICE_DELIVERY_EPOCH = 2          /* the host keeps an epoch's rows in the checkpoint; after it is durable the
                                        sink gets them between epoch_begin(n) and commit(n)                  */
};
typedef struct sluice_needs { /* filled by vtbl->needs; pointers live until destroy [growable] */
  uint32_t struct_size;
  uint32_t body;             /* 1: body() or json() will be called for rows of the main port */
  const sluice_str* fields;  /* main port: top-level names, or paths with dots ("data.id"); a dot in a name is `\.` */
  size_t field_count;
  const sluice_str* broadcast_fields;
  size_t broadcast_field_count;
  uint32_t delivery;         /* sinks */
  uint32_t accepts_tombstones; /* 1: rows without payload come too; else they are dead letters, which the host sees to */
} sluice_needs;

/* ---- splits of a source -------------------------------------------------------------------------- */

typedef struct sluice_split { /* [growable] */
  uint32_t struct_size;
  uint32_t index;      /* assign(): the number that emit and split_status use; discover(): 0 */
  sluice_str id;       /* stable name, for example "topic_db-0"; identity in the checkpoint */
  int64_t ordinal;     /* >= 0: lane = ordinal mod lanes; -1: the host spreads by hash of the id */
  sluice_str position; /* assign(): where to go on; data == NULL: from the configured start */
} sluice_split;

enum { /* split_status flags; the host replaces the split's old flags by these */
  SLUICE_SPLIT_CAUGHT_UP = 1,         /* read to its present end, and its server is reachable */
  SLUICE_SPLIT_SNAPSHOT_COMPLETE = 2, /* everything that was there at the start has been emitted; stays set until SLUICE_SNAPSHOT_BEGIN */
  SLUICE_SPLIT_END = 4                /* will never give another row; stays set. Later runs: ext/ended_splits.h */
};

/* Takes one problem that check() found. `option` names the option that it is about, and may be empty. Both are copied.
 * Called during check() only. [operator] */
typedef void (*sluice_report)(void* user, sluice_str option, sluice_str problem);

/* ---- what the host calls on an instance [growable]; any slot may be NULL -------------------------
 * Order: create, needs, open, the others as they come, close, destroy. Some instances get create and needs only, then
 * describe_position or check or nothing, then destroy. A job that ends by a failure may leave close out.
 *
 * Answers. SLUICE_RETRY: the lane waits retry_after_ms (0: 200 ms) and makes the same call again; what the call put out is
 * discarded, what it wrote to state, timers and counters stays. Slots that differ say so. SLUICE_CANCELLED is the same, after
 * 20 ms, until the job is cut off. SLUICE_BAD_RECORD is for process() with one row and for on_schema. Any other answer stops
 * the job; its newest complete checkpoint stays. */
typedef struct sluice_operator_vtbl {
  uint32_t struct_size;
  uint32_t reserved;
  void (*destroy)(void* self);                                           /* [control]  */
  /* Checks what only the plugin can check of its options. Any code but SLUICE_OK refuses the pipeline, with the message. */
  sluice_code (*needs)(void* self, sluice_needs* out, sluice_error* err); /* [control] before open */
  /* Connections and files are opened here; state is already restored. SLUICE_RETRY: the host calls again, until a stop. */
  sluice_code (*open)(void* self, sluice_error* err);                    /* [operator] */
  /* Last call before destroy, once. SLUICE_RETRY is not heard: what must be durable was written in prepare or commit. */
  sluice_code (*close)(void* self, sluice_error* err);                   /* [operator] */

  /* Transforms and sinks: 1 or more rows, in the order of their split, or of their key. With SLUICE_RETRY *consumed (0 at
   * the call) says how many rows of the batch, from the first on, are done for: the host comes again with the rest, and
   * what was put out stays when it is not 0. Otherwise *consumed is ignored; epoch sinks: always, the attempt comes again
   * from epoch_begin on. SLUICE_BAD_RECORD refuses a batch of one row, and is a bug for more: use reject. */
  sluice_code (*process)(void* self, uint32_t port, const sluice_batch* in, uint32_t* consumed, sluice_error* err); /* [operator] */
  /* The watermark has grown to `watermark` (ms), after the event timers that it makes due. SLUICE_END_OF_TIME: the input
   * has ended; the value before that comes first. Never sources. */
  sluice_code (*on_watermark)(void* self, int64_t watermark, sluice_error* err);                      /* [operator] */
  /* A timer is due: its clock (SLUICE_CLOCK_*), key, time (ms) and tag as it was set. It is gone, and can be set anew.
   * Timers of one clock come by time, then key, then tag. There is no batch: from_row is SLUICE_NO_ROW, no row can be
   * forwarded or rejected. */
  sluice_code (*on_timer)(void* self, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error* err); /* [operator] */
  /* In-band, before the first row that needs the table; may come again unchanged. NULL: forwarded; else it goes no further.
   * SLUICE_BAD_RECORD: refused, with the reason; then the operator itself rejects the rows of that table. */
  sluice_code (*on_schema)(void* self, const sluice_schema* schema, sluice_error* err);  /* [operator] */
  /* SLUICE_SNAPSHOT_* of the broadcast port; the host has begun or swapped the broadcast state already. */
  sluice_code (*on_marker)(void* self, uint32_t port, uint32_t marker, sluice_error* err); /* [operator] */
  /* All splits of all sources are idle since `since` (wall clock, ms); called again while that lasts, then
   * once with idle == 0. Never sources. */
  sluice_code (*on_idle)(void* self, uint32_t idle, int64_t since, sluice_error* err);   /* [operator] */

  /* Barrier of checkpoint n: all rows before it were processed, none behind it. Flush what was written, so that it is
   * durable outside when this answers SLUICE_OK. Checkpoint n may still fail: then one with
   * a larger number comes. Epoch sinks are not called. */
  sluice_code (*prepare)(void* self, uint64_t checkpoint, sluice_error* err); /* [operator] */
  /* Checkpoint n is durable, and so is all before it. May be left out (a crash, SLUICE_RETRY: the next one stands for it)
   * and may come again after a restore: must be idempotent. Epoch sinks write here, in one outside transaction, the rows
   * since epoch_begin(n) and the marker (lineage, n); SLUICE_RETRY: the attempt comes again from epoch_begin on. */
  sluice_code (*commit)(void* self, uint64_t checkpoint, sluice_error* err);  /* [operator] */
  /* Epoch sinks: rows of checkpoint n follow through process(), then commit(n). What an earlier epoch_begin
   * without commit left behind is void. An attempt that did not end well comes again before anything later, over a
   * restart too: the same n, lineage and rows in the same order, unless last_committed() tells that n is in. */
  sluice_code (*epoch_begin)(void* self, uint64_t checkpoint, sluice_error* err); /* [operator] */
  /* Epoch sinks: the newest checkpoint whose rows of this operator and lane are in the target, read from the target. Asked
   * after open and before an attempt is repeated. *lineage is that of the marker and lives until the next call; size 0 and
   * *checkpoint 0: the target holds nothing of this operator and lane. */
  sluice_code (*last_committed)(void* self, uint64_t* checkpoint, sluice_str* lineage, sluice_error* err); /* [operator] */

  /* Sources. */
  /* All splits that there are now, in every lane the same; once a second. Structs and texts live until the next call.
   * SLUICE_RETRY: again after that time, splits that are assigned are polled meanwhile. */
  sluice_code (*discover)(void* self, const sluice_split* const** splits, size_t* count, sluice_error* err); /* [operator] */
  /* Splits that this instance reads from now on, beside those that it has. None is ever taken away. */
  sluice_code (*assign)(void* self, const sluice_split* const* splits, size_t count, sluice_error* err); /* [operator] */
  /* Emits at most max_rows rows and returns soon (a few ms) when there are none. Not called while a barrier waits, there is no
   * room below or the gate is closed. With SLUICE_RETRY and SLUICE_CANCELLED rows that were emitted stay. SLUICE_BAD_RECORD
   * is a bug: use reject. */
  sluice_code (*poll)(void* self, uint32_t max_rows, sluice_error* err);      /* [operator] */
  /* Readable form of a position: "topic_db[0] offset 17". The text lives until the next call. Also asked of instances that
   * were never opened. Any code but SLUICE_OK: the split's id is shown. */
  sluice_code (*describe_position)(void* self, sluice_str split_id, sluice_str position, sluice_str* text, sluice_error* err); /* [operator] */

  /* "sluice.NAME/REV"; NULL: no. What it gives lives as long as the instance. [operator] */
  const void* (*get_extension)(void* self, sluice_str id);

  /* Instead of open, after needs; only destroy comes after it. Connects and looks at everything outside that open and
   * the first reads and writes need, changes nothing there, and returns within about ten seconds. Each problem goes to
   * `report`, so that several are found in one run; any other code than SLUICE_OK is one more, with its message.
   * SLUICE_OK without a report: nothing is wrong. Since 0.2. */
  sluice_code (*check)(void* self, sluice_report report, void* user, sluice_error* err); /* [operator] */
} sluice_operator_vtbl;

/* ---- what a plugin may call [growable] ------------------------------------------------------------
 * The host copies what it is given before it returns, and texts that it gives live until the plugin's call returns.
 * Functions that are marked [operator] are for calls from open on; parse and to_json for check, too. A breach of a rule is
 * answered with SLUICE_BUG; in a function without an answer it stops the job. Return what is not SLUICE_OK to the host,
 * unless its meaning here is known. */

enum { SLUICE_LOG_DEBUG = 1, SLUICE_LOG_INFO = 2, SLUICE_LOG_WARNING = 3, SLUICE_LOG_ERROR = 4 };
enum { SLUICE_CLOCK_EVENT = 1, SLUICE_CLOCK_PROCESSING = 2 };

typedef struct sluice_host { /* lives as long as the process */
  uint32_t struct_size;
  uint32_t abi_minor;
  sluice_str version;
  void (*log)(const struct sluice_host*, uint32_t level, sluice_str text); /* [any] one line, UTF-8 */
  const void* (*get_extension)(const struct sluice_host*, sluice_str id);  /* [any] "sluice.NAME/REV"; NULL: no */
} sluice_host;

/* Return 0 to end the scan. Must not throw; may write to the state that is scanned, and is not shown what it writes. */
typedef int32_t (*sluice_visit)(void* user, sluice_str key, sluice_str value);

typedef struct sluice_context {
  uint32_t struct_size;
  uint32_t role;           /* SLUICE_ROLE_* */
  const sluice_host* host;
  void* impl;
  sluice_str pipeline;     /* name of the pipeline */
  sluice_str operator_id;  /* the YAML id: names state on disk and markers in targets */
  sluice_str lineage;      /* of the checkpoints; epoch sinks store it with their marker. Empty before open */
  uint32_t lane, lanes;    /* this instance, of how many */

  /* Output. emit copies (sources: in poll only); forward passes on rows of the batch that is now in process(), without a
   * copy, with `attached` columns. Neither blocks: when there is no room the host stops calling process and poll.
   * Port 0 is the main output, port 1 the first of output_ports. Sinks have none. What goes out leaves when the call
   * returns, in the order of these functions' calls. [operator] */
  sluice_code (*emit)(const struct sluice_context*, uint32_t port, const sluice_rows*, sluice_error*);
  sluice_code (*forward)(const struct sluice_context*, uint32_t port, const uint32_t* rows, size_t count,
                         const sluice_attached* const* attached, size_t attached_count, sluice_error*);
  /* A table, its columns and key: at least one of each. On every output. */
  sluice_code (*emit_schema)(const struct sluice_context*, const sluice_schema*, sluice_error*);
  /* Sources, in poll(): SLUICE_SNAPSHOT_BEGIN goes before all rows of that poll and takes SLUICE_SPLIT_SNAPSHOT_COMPLETE away
   * from the lane's splits, SLUICE_SNAPSHOT_END goes behind all of them. The end is also said by the host, once all splits of
   * the lane have SLUICE_SPLIT_SNAPSHOT_COMPLETE or SLUICE_SPLIT_END. */
  sluice_code (*emit_marker)(const struct sluice_context*, uint32_t marker, sluice_error*);
  /* Row of the batch now in process(): its whole body as a SLUICE_MAP, or as JSON text. needs() must have said `body`.
   * SLUICE_BAD_RECORD: it is no valid JSON object; reject the row. [operator] */
  sluice_code (*body)(const struct sluice_context*, const sluice_batch*, uint32_t row, sluice_value*, sluice_error*);
  sluice_code (*json)(const struct sluice_context*, const sluice_batch*, uint32_t row, sluice_str*, sluice_error*);
  /* Takes a SLUICE_OBJECT or SLUICE_ARRAY apart into a SLUICE_MAP or SLUICE_LIST, one level. SLUICE_BAD_RECORD: it is
   * neither, or no valid JSON. [operator] */
  sluice_code (*parse)(const struct sluice_context*, const sluice_value*, sluice_value*, sluice_error*);
  /* JSON text of any value. What is no value (SLUICE_ABSENT, SLUICE_INVALID, a double that is not finite) is null. What the
   * plugin made is not checked, as it is in emitted rows and attached columns: there a number that is none, a text that is not
   * UTF-8 and the like refuse the row, with a reason that names the operator. [operator] */
  sluice_code (*to_json)(const struct sluice_context*, const sluice_value*, sluice_str*, sluice_error*);

  /* This row can never succeed: the pipeline's on_error applies to it alone, with `reason` (UTF-8). At most once for a row,
   * which is then not put out. Of a source: the row of that number, from 0, among those that this poll has emitted.
   * Also for a row that is written later: keep_origin during process() copies raw bytes and position to *handle (1, 2, 3 …,
   * of this instance); reject_origin, in this or a later call, uses the handle up; drop_origins gives up all handles up
   * to this one that were not rejected. What is neither rejected nor dropped is held for ever, except that a good commit of
   * an epoch drops all. To reject a handle that is not there (any more) is a bug. [operator] */
  sluice_code (*reject)(const struct sluice_context*, uint32_t row, sluice_str reason, sluice_error*);
  sluice_code (*keep_origin)(const struct sluice_context*, uint32_t row, uint64_t* handle, sluice_error*);
  sluice_code (*reject_origin)(const struct sluice_context*, uint64_t handle, sluice_str reason, sluice_error*);
  sluice_code (*drop_origins)(const struct sluice_context*, uint64_t up_to_handle, sluice_error*);

  /* State, by the index of its declaration. key: the key (VALUE, MAP), the map's key (BROADCAST), a name
   * (OPERATOR). subkey: the map's key, MAP only, else `subkeys` is NULL. All may hold any bytes and be empty, up to 1 GiB. Keys of
   * VALUE and MAP are those of rows and timers of this instance: others are found in another lane when parallelism changes.
   * get: a value whose data is NULL is absent or expired; values live until the plugin's call returns, whatever is
   * written meanwhile. put writes or replaces, and begins the time to live anew; erase of what is not there is SLUICE_OK. Reads
   * see earlier writes of the instance at once, except that BROADCAST shows the old map until its new snapshot is complete.
   * BROADCAST is written on the broadcast port only. SLUICE_RETRY: no space; SLUICE_FATAL: an entry cannot be read;
   * SLUICE_BAD_RECORD: larger than 1 GiB. [operator] */
  sluice_code (*state_get)(const struct sluice_context*, uint32_t state, size_t count, const sluice_str* keys,
                           const sluice_str* subkeys, sluice_str* values, sluice_error*);
  sluice_code (*state_put)(const struct sluice_context*, uint32_t state, size_t count, const sluice_str* keys,
                           const sluice_str* subkeys, const sluice_str* values, sluice_error*);
  sluice_code (*state_erase)(const struct sluice_context*, uint32_t state, size_t count, const sluice_str* keys,
                             const sluice_str* subkeys, sluice_error*);
  /* MAP: entries of `key`, by the bytes of their subkeys. BROADCAST, OPERATOR: all entries, by the bytes of their keys (key
   * is ignored). VALUE: SLUICE_UNSUPPORTED. Those that exist at the call are visited. */
  sluice_code (*state_scan)(const struct sluice_context*, uint32_t state, sluice_str key, sluice_visit, void* user,
                            sluice_error*);
  /* [operator] A timer is its clock, key, `at` (ms since 1970) and tag: the same one set twice is one. It fires once, in
   * on_timer, when its clock has come to `at`; one that is set for the past fires next. Timers are part of the checkpoint, so the
   * operator needs `key:` or a declared state; without, SLUICE_BUG. When the input ends all event timers fire; one that is set
   * then for a time that has fired already waits for a run that is given more. Erasing one that is not there does nothing. */
  sluice_code (*timer_set)(const struct sluice_context*, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error*);
  sluice_code (*timer_erase)(const struct sluice_context*, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error*);

  /* Sources. */
  void (*split_status)(const struct sluice_context*, uint32_t split, uint32_t flags); /* [operator] SLUICE_SPLIT_* */
  /* How many rows of the split are not read yet, for progress and metrics only; negative: unknown, as at the start. */
  void (*split_lag)(const struct sluice_context*, uint32_t split, int64_t rows);      /* [operator] */
  /* Where to go on, without a row: the resolved start position (in assign or the first poll, so that a checkpoint
   * before the first row holds it), positions behind control records and heartbeats. Behind all rows emitted so far.
   * Not empty. */
  void (*split_position)(const struct sluice_context*, uint32_t split, sluice_str position); /* [operator] */

  int64_t (*watermark)(const struct sluice_context*); /* [operator] of this operator, ms; SLUICE_NO_TIME: none yet */
  int64_t (*now)(const struct sluice_context*);       /* [any] wall clock, ms; manual in tests */
  void (*count)(const struct sluice_context*, sluice_str metric, int64_t delta); /* [any] from 0 at every start */
  void (*status_note)(const struct sluice_context*, sluice_str text); /* [any] shown in the status line: "broker away"; empty clears */
  void (*wake)(const struct sluice_context*);  /* [any] asks for a poll: the only way in from a plugin's thread */
  int32_t (*stopping)(const struct sluice_context*); /* [any] 1 after a stop request: return early */
} sluice_context;

#ifdef __cplusplus
}
#endif
#endif
