// sluice/operator.hpp - the classes that plugin authors derive from: Transform, BroadcastTransform, Source, Sink.
// The host makes one instance for each lane and never calls two functions of one instance at once. Times are milliseconds
// since 1970 UTC. What a function is handed dies when it returns; sluice/abi.h has the rules of each call in full.
#pragma once
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/ext/plan.h"
#include "sluice/options.hpp"
#include "sluice/state.hpp"
#include "sluice/value.hpp"

namespace sluice {

// What an instance reads, said in needs() after its options are known. Fields that are declared are extracted by
// the host in one pass; everything else of a message is not even parsed.
class Needs {
 public:
  // A top-level field, or a path with dots: "data.id"; `\.` is a dot in a name. Gives what process() and write() read it by.
  Field field(std::string name) { fields_.push_back(std::move(name)); return {static_cast<uint32_t>(fields_.size() - 1)}; }
  // The same for process_broadcast().
  Field broadcast_field(std::string name) { broadcast_fields_.push_back(std::move(name)); return {static_cast<uint32_t>(broadcast_fields_.size() - 1)}; }
  // Batch::body() or Batch::json() will be called.
  void body() noexcept { body_ = true; }
  // Rows without payload come too; by default the host makes dead letters of them.
  void tombstones() noexcept { tombstones_ = true; }
  // SLUICE_DELIVERY_*, of sinks; at least once by default.
  void delivery(uint32_t d) noexcept { delivery_ = d; }
  // Names of the columns that Output::forward(row, values) attaches, in that order.
  void attaches(std::vector<std::string> names) { attached_ = std::move(names); }
  const std::vector<std::string>& attached() const noexcept { return attached_; }
  // Rows without event time are of no use: a pipeline whose sources give none is refused. `why` completes "rows have no
  // event time, and …"; an option that this comes from stands in backquotes, its place is shown.
  void event_time(std::string why) { event_time_for_ = std::move(why); }
  // The same for sources that are never idle (`idle_timeout: 0`): "… is never idle, and …".
  void idleness(std::string why) { idleness_for_ = std::move(why); }
  // Sources and transforms that give rows event times of their own, as they are set up, must say so.
  void gives_event_time() noexcept { gives_event_time_ = true; }
  // Two operators of one pipeline that say the same are refused. `what` completes "… and … both write "; an option to change
  // stands in backquotes.
  void writes_alone(std::string what) { writes_alone_ = std::move(what); }
  // Of output_ports(): those that are written to, as the operator is set up. Unless it is called, all may be: then
  // nobody is told that rows on one go unread, or that one that is read stays empty.
  void outputs(std::vector<std::string> ports) {
    outputs_ = std::move(ports);
    knows_outputs_ = true;
  }

  // Called by the SDK. What it fills in lives as long as this object.
  void fill(sluice_needs* out) {
    out->body = body_ ? 1 : 0;
    out->accepts_tombstones = tombstones_ ? 1 : 0;
    out->delivery = delivery_;
    views_.clear();
    for (const auto& f : fields_) views_.push_back(str(f));
    for (const auto& f : broadcast_fields_) views_.push_back(str(f));
    out->fields = views_.data();
    out->field_count = fields_.size();
    out->broadcast_fields = views_.data() + fields_.size();
    out->broadcast_field_count = broadcast_fields_.size();
  }
  void fill(sluice_plan_facts* out) {
    out->gives_event_time = gives_event_time_ ? 1 : 0;
    if (!event_time_for_.empty()) out->event_time_for = str(event_time_for_);
    if (!idleness_for_.empty()) out->idleness_for = str(idleness_for_);
    if (!writes_alone_.empty()) out->writes_alone = str(writes_alone_);
    output_views_.clear();
    for (const auto& port : outputs_) output_views_.push_back(str(port));
    out->outputs = output_views_.data();
    out->output_count = output_views_.size();
    out->knows_outputs = knows_outputs_ ? 1 : 0;
  }

 private:
  std::vector<std::string> fields_, broadcast_fields_, attached_, outputs_;
  std::vector<sluice_str> views_, output_views_;
  std::string event_time_for_, idleness_for_, writes_alone_;
  bool body_ = false, tombstones_ = false, gives_event_time_ = false, knows_outputs_ = false;
  uint32_t delivery_ = SLUICE_DELIVERY_AT_LEAST_ONCE;
};

// A row that a transform makes. Names and values are views, which must live until the call into the operator returns.
class Row {
 public:
  // Appends a member. Set twice, a name is twice in the JSON, and readers take the last one.
  Row& set(std::string_view name, const Value& value) { members_.push_back({str(name), value.raw()}); return *this; }
  // Unless they are set, both are those of the row it was made of; of none: no time, no change type.
  Row& event_time(int64_t ms) noexcept { event_time_ = ms; return *this; }
  Row& change(sluice_change c) noexcept { change_ = static_cast<uint8_t>(c); return *this; }

 private:
  friend class Output;
  std::vector<sluice_member> members_;
  int64_t event_time_ = SLUICE_NO_TIME;
  uint32_t from_row_ = SLUICE_NO_ROW;
  uint8_t change_ = SLUICE_CHANGE_NONE;
};

// Where a transform puts its rows, in the order of the calls. Lives as long as the call into the operator. Nothing blocks, and
// nothing leaves before the call returns OK; a mistake (no such row or port, other columns than attaches() named) is then a
// Status::bug. `port`: 0 is the main output, 1 the first of output_ports().
class Output {
 public:
  Output(const sluice_context* ctx, const std::vector<std::string>* attached) noexcept : ctx_(ctx), attached_names_(attached) {}

  // Passes on a row of the batch now in process(), as it is. Not outside of it (timers, watermarks): there is no batch.
  void forward(uint32_t row, uint32_t port = 0) {
    if (!forwarded_.empty() && (forward_port_ != port || !attached_values_.empty())) flush_into_status();
    if (!made_.empty()) flush_into_status();
    forward_port_ = port;
    forwarded_.push_back(row);
  }
  // The same, with one value for each name given to Needs::attaches().
  void forward(uint32_t row, std::initializer_list<Value> values) {
    if (!made_.empty() || (!forwarded_.empty() && (forward_port_ != 0 || attached_values_.empty()))) flush_into_status();
    forward_port_ = 0;
    forwarded_.push_back(row);
    for (const Value& v : values) attached_values_.push_back(v.raw());
  }
  // A new row, made of `from_row` of the batch now in process() (SLUICE_NO_ROW: of none, as always in on_timer() and the
  // like): it inherits that row's origin, time and change type. The reference lives until the next call on this object.
  Row& emit(uint32_t from_row, uint32_t port = 0) {
    if (!forwarded_.empty() || (!made_.empty() && made_port_ != port)) flush_into_status();
    made_port_ = port;
    made_.emplace_back();
    made_.back().from_row_ = from_row;
    return made_.back();
  }
  // Keeps a text until the call into the operator returns, for Row::set.
  std::string_view keep(std::string text) { texts_.push_back(std::move(text)); return texts_.back(); }
  // This row of the batch now in process() can never succeed: the pipeline's on_error applies to it alone. Once for a row.
  Status reject(uint32_t row, std::string_view reason) {
    return detail::call([&](sluice_error* e) { return ctx_->reject(ctx_, row, str(reason), e); });
  }
  // A table that rows after this need, on every output. Sinks with tables create it. Send it again after a restore.
  Status schema(const sluice_schema& schema) {
    SLUICE_CHECK_OK(flush());
    return detail::call([&](sluice_error* e) { return ctx_->emit_schema(ctx_, &schema, e); });
  }

  // Called by the SDK after each call into the operator.
  Status flush() {
    flush_into_status();
    return std::exchange(status_, Status::ok());
  }

 private:
  void flush_into_status() {
    if (!forwarded_.empty()) keep_first(flush_forwarded());
    if (!made_.empty()) keep_first(flush_made());
  }
  void keep_first(Status s) {
    if (status_.is_ok()) status_ = std::move(s);
  }
  Status flush_forwarded() {
    std::vector<sluice_attached> columns;
    std::vector<std::vector<sluice_value>> values;
    std::vector<const sluice_attached*> pointers;
    const size_t n = attached_values_.empty() ? 0 : attached_names_->size();
    if (attached_values_.size() != n * forwarded_.size()) return Status::bug("forward() was given other columns than attaches() named");
    values.resize(n);
    for (size_t c = 0; c < n; ++c) {
      for (size_t r = 0; r < forwarded_.size(); ++r) values[c].push_back(attached_values_[r * n + c]);
      columns.push_back({sizeof(sluice_attached), 0, str((*attached_names_)[c]), values[c].data()});
    }
    for (const auto& c : columns) pointers.push_back(&c);
    Status s = detail::call([&](sluice_error* e) {
      return ctx_->forward(ctx_, forward_port_, forwarded_.data(), forwarded_.size(), pointers.data(), pointers.size(), e);
    });
    forwarded_.clear();
    attached_values_.clear();
    return s;
  }
  // One emit() for each run of rows that say the same columns: a column that is there would stop the rows without a
  // value of their own from inheriting that of from_row.
  Status flush_made() {
    Status s;
    for (size_t begin = 0; begin < made_.size() && s.is_ok();) {
      const bool timed = made_[begin].event_time_ != SLUICE_NO_TIME, changed = made_[begin].change_ != SLUICE_CHANGE_NONE;
      size_t end = begin + 1;
      while (end < made_.size() && (made_[end].event_time_ != SLUICE_NO_TIME) == timed && (made_[end].change_ != SLUICE_CHANGE_NONE) == changed) ++end;
      s = emit_made(begin, end, timed, changed);
      begin = end;
    }
    made_.clear();
    return s;
  }
  Status emit_made(size_t begin, size_t end, bool timed, bool changed) {
    std::vector<sluice_value> bodies;
    std::vector<uint32_t> from;
    std::vector<int64_t> times;
    std::vector<uint8_t> changes;
    for (size_t i = begin; i < end; ++i) {
      const Row& r = made_[i];
      sluice_value v;
      v.type = SLUICE_MAP;
      v.reserved = 0;
      v.as.map.members = r.members_.data();
      v.as.map.size = r.members_.size();
      bodies.push_back(v);
      from.push_back(r.from_row_);
      times.push_back(r.event_time_);
      changes.push_back(r.change_);
    }
    sluice_rows rows;
    std::memset(&rows, 0, sizeof rows);
    rows.struct_size = sizeof rows;
    rows.size = static_cast<uint32_t>(end - begin);
    rows.body = bodies.data();
    rows.from_row = from.data();
    if (timed) rows.event_time = times.data();
    if (changed) rows.change = changes.data();
    return detail::call([&](sluice_error* e) { return ctx_->emit(ctx_, made_port_, &rows, e); });
  }

  const sluice_context* ctx_;
  const std::vector<std::string>* attached_names_;
  std::vector<uint32_t> forwarded_;
  std::vector<sluice_value> attached_values_;
  std::deque<Row> made_;
  std::deque<std::string> texts_;
  uint32_t forward_port_ = 0, made_port_ = 0;
  Status status_;
};

// Takes what check() finds, for `sluice validate --connect`. Lives as long as the call.
class Problems {
 public:
  Problems(sluice_report report, void* user) noexcept : report_(report), user_(user) {}

  // One whole statement: what is wrong, and what to do.
  void add(std::string_view problem) { add_to({}, problem); }
  // The same about the value of an option: shown at its place in the pipeline file.
  void add_to(std::string_view option, std::string_view problem) {
    report_(user_, str(option), str(problem));
    ++count_;
  }
  // An answer that is not OK is a problem; gives whether it was OK.
  bool add_unless_ok(const Status& status, std::string_view option = {}) {
    if (!status.is_ok()) add_to(option, status.message());
    return status.is_ok();
  }
  size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }

 private:
  sluice_report report_;
  void* user_;
  size_t count_ = 0;
};

// What all operators share. Config is any default-constructible struct; options() fills it.
template <class ConfigT>
class Operator : public StateOwner {
 public:
  using Config = ConfigT;
  virtual ~Operator() = default;

  // Options are known, nothing is open. Check what only you can check, declare fields; open nothing: `validate` calls it too.
  // Any Status but OK refuses the pipeline: name an option in backquotes, and its place in the file is shown.
  virtual Status configure(Needs&) { return Status::ok(); }
  // State is restored. Open connections here. Status::retry: called again, until a stop.
  virtual Status open() { return Status::ok(); }
  // The last call, once, and not after every failure: what must not be lost is written in prepare() or commit().
  virtual Status close() { return Status::ok(); }
  // For `sluice validate --connect`, instead of open(): look at everything outside that open() and the first reads and
  // writes need, change nothing, take ten seconds at most. All problems go to `problems`; a Status that is not OK is
  // one more. An operator that does not override this is not asked.
  virtual Status check(Problems& /*problems*/) { return Status::ok(); }
  // Barrier of a checkpoint: what was written before must be durable outside when this returns OK. Status::retry: called
  // again, rows wait meanwhile. The checkpoint may still fail; then one with a larger number comes. Not called for epoch sinks.
  virtual Status prepare(uint64_t /*checkpoint*/) { return Status::ok(); }
  // The checkpoint is durable, and so are all before it. May be left out (after a crash), and may come twice for one checkpoint.
  // Status::retry: the next one stands for it. Epoch sinks: the rows since epoch_begin() and the marker (lineage(), number)
  // go into the target in one transaction; Status::retry: all of it again, from epoch_begin() on.
  virtual Status commit(uint64_t /*checkpoint*/) { return Status::ok(); }

  // The four below are called by the SDK.
  void attach(const sluice_context* ctx, Config config) {
    ctx_ = ctx;
    config_ = std::move(config);
    for (StateHandle* h : state_handles()) h->bind(ctx);
  }
  Status run_needs(sluice_needs* out) {
    needs_ = Needs();
    SLUICE_CHECK_OK(configure(needs_));
    needs_.fill(out);
    return Status::ok();
  }
  void tell_planner(sluice_plan_facts* out) { needs_.fill(out); }
  Output output() const noexcept { return Output(ctx_, &needs_.attached()); }
  const sluice_context* context() const noexcept { return ctx_; }

 protected:
  // Not in the constructor: all of these are there from configure() on. Those that are marked [any] may be called from the
  // operator's own threads, too, until close() returns.
  const Config& config() const noexcept { return config_; }
  uint32_t role() const noexcept { return ctx_->role; }  // SLUICE_ROLE_*
  uint32_t lane() const noexcept { return ctx_->lane; }
  uint32_t lanes() const noexcept { return ctx_->lanes; }
  std::string_view id() const noexcept { return view(ctx_->operator_id); }  // of the pipeline file
  std::string_view pipeline() const noexcept { return view(ctx_->pipeline); }
  std::string_view lineage() const noexcept { return view(ctx_->lineage); }  // of the checkpoints; from open() on
  int64_t now() const noexcept { return ctx_->now(ctx_); }  // wall clock [any]
  int64_t watermark() const noexcept { return ctx_->watermark(ctx_); }  // SLUICE_NO_TIME: none yet
  bool stopping() const noexcept { return ctx_->stopping(ctx_) != 0; }  // a stop was asked for: return early [any]
  // Adds to a counter of this operator, 0 at every start. [any]
  void count(std::string_view metric, int64_t delta = 1) const noexcept { ctx_->count(ctx_, str(metric), delta); }
  // Shown in the status line until the next one; empty: nothing. [any]
  void note(std::string_view text) const noexcept { ctx_->status_note(ctx_, str(text)); }
  // One line. [any]
  void log(uint32_t level, std::string_view text) const noexcept { ctx_->host->log(ctx_->host, level, str(text)); }
  void info(std::string_view text) const noexcept { log(SLUICE_LOG_INFO, text); }
  void warn(std::string_view text) const noexcept { log(SLUICE_LOG_WARNING, text); }
  // Takes a JSON object or array apart, one level. bad_record: it is neither, or no valid JSON. *out lives until the call into
  // the operator returns. From open() on, and in check().
  Status parse(const Value& in, Value* out) const {
    sluice_value v;
    Status s = detail::call([&](sluice_error* e) { return ctx_->parse(ctx_, &in.raw(), &v, e); });
    if (s.is_ok()) *out = v;
    return s;
  }
  // The JSON text of any value; it lives until the call into the operator returns. From open() on, and in check().
  Status to_json(const Value& in, std::string_view* out) const {
    sluice_str t{nullptr, 0};
    Status s = detail::call([&](sluice_error* e) { return ctx_->to_json(ctx_, &in.raw(), &t, e); });
    if (s.is_ok()) *out = view(t);
    return s;
  }
  // on_timer() is called once when `clock` (SLUICE_CLOCK_EVENT: the watermark, SLUICE_CLOCK_PROCESSING: the wall clock) has
  // come to `at_ms`; at once for a time that has passed. The same clock, key, time and tag set twice is one timer; to erase
  // one that is not there is OK. Timers are in the checkpoint: the operator needs `key:` or a declared state.
  Status set_timer(uint32_t clock, std::string_view key, int64_t at_ms, uint64_t tag = 0) const {
    return detail::call([&](sluice_error* e) { return ctx_->timer_set(ctx_, clock, str(key), at_ms, tag, e); });
  }
  Status erase_timer(uint32_t clock, std::string_view key, int64_t at_ms, uint64_t tag = 0) const {
    return detail::call([&](sluice_error* e) { return ctx_->timer_erase(ctx_, clock, str(key), at_ms, tag, e); });
  }

 private:
  const sluice_context* ctx_ = nullptr;
  Config config_{};
  Needs needs_;
};

// Rows in, rows out.
template <class ConfigT>
class Transform : public Operator<ConfigT> {
 public:
  static constexpr uint32_t kKind = SLUICE_TRANSFORM;
  static constexpr uint32_t kFlags = 0;
  // One row or more, in the order of their split or key. Status::retry: all of it comes again and `out` is discarded, but what
  // was written to state, timers and counters stays. A row that cannot be used is rejected by `out`, not by the Status.
  virtual Status process(const Batch& in, Output& out) = 0;
  // It has grown, after the timers that this makes due. SLUICE_END_OF_TIME: the input has ended.
  virtual Status on_watermark(int64_t /*watermark*/, Output&) { return Status::ok(); }
  // A timer is due, as it was set; it is gone. By time, then key, then tag. Status::retry: the same one again.
  virtual Status on_timer(uint32_t /*clock*/, std::string_view /*key*/, int64_t /*at*/, uint64_t /*tag*/, Output&) { return Status::ok(); }
  // All sources are idle since `since` (wall clock, ms), told again while that lasts; idle == false: not any more.
  virtual Status on_idle(bool /*idle*/, int64_t /*since*/, Output&) { return Status::ok(); }
};

// A transform with a second input whose rows reach every lane, in one order. It writes BroadcastState there; process()
// only reads it. The main sources wait until the broadcast side's snapshot is complete.
template <class ConfigT>
class BroadcastTransform : public Transform<ConfigT> {
 public:
  static constexpr uint32_t kFlags = SLUICE_OP_BROADCAST;
  // As process(), for rows of the broadcast side. Fields are those of Needs::broadcast_field(), and there is no key.
  virtual Status process_broadcast(const Batch& in, Output& out) = 0;
  // SLUICE_SNAPSHOT_BEGIN, SLUICE_SNAPSHOT_END of the broadcast side. The host swaps the broadcast state itself.
  virtual Status on_marker(uint32_t /*marker*/, Output&) { return Status::ok(); }
};

// Rows out of the pipeline.
template <class ConfigT>
class Sink : public Operator<ConfigT> {
 public:
  static constexpr uint32_t kKind = SLUICE_SINK;
  static constexpr uint32_t kFlags = 0;
  // One row or more. On Status::retry, *consumed (0 at the call) is how many rows from the first on are done for: the rest
  // comes again. Other answers do not read it, nor do those of epoch sinks, whose rows come again from epoch_begin() on.
  // A row may be written later, up to prepare(), or commit() of an epoch. One that cannot be written is rejected below.
  virtual Status write(const Batch& in, uint32_t* consumed) = 0;
  // A table that rows after this need; may come again unchanged. bad_record: refused, with the reason; reject its rows until
  // a better one comes. Sinks without tables ignore it.
  virtual Status on_schema(const sluice_schema&) { return Status::ok(); }
  // Epoch delivery only. Checkpoint n comes with the same rows in the same order until its commit was OK or last_committed()
  // gives n. What was begun earlier and not committed is void.
  virtual Status epoch_begin(uint64_t /*checkpoint*/) { return Status::ok(); }
  // Epoch delivery only. The newest checkpoint whose rows of this operator's id and lane are in the target, and the lineage of
  // its marker; 0 and empty: none is. Asked of the target, after open() and before an attempt is repeated.
  virtual Status last_committed(uint64_t* checkpoint, std::string* lineage) {
    *checkpoint = 0;
    lineage->clear();
    return Status::ok();
  }

 protected:
  // This row of the batch now in write() can never succeed: the pipeline's on_error applies to it alone. Once for a row.
  Status reject(uint32_t row, std::string_view reason) const {
    return detail::call([&](sluice_error* e) { return this->context()->reject(this->context(), row, str(reason), e); });
  }
  // For rows that are written later: copies raw bytes and position of a row of the batch now in write(). Handles are 1, 2, 3 …
  Status keep_origin(uint32_t row, uint64_t* handle) const {
    return detail::call([&](sluice_error* e) { return this->context()->keep_origin(this->context(), row, handle, e); });
  }
  // As reject(), in this call or any later one. Once for a handle, which is gone then.
  Status reject_origin(uint64_t handle, std::string_view reason) const {
    return detail::call([&](sluice_error* e) { return this->context()->reject_origin(this->context(), handle, str(reason), e); });
  }
  // All rows up to this handle are written: frees what was kept of them, but for those that were rejected. Without it they
  // are held for ever; a commit() of an epoch that is OK drops all.
  Status drop_origins(uint64_t up_to_handle) const {
    return detail::call([&](sluice_error* e) { return this->context()->drop_origins(this->context(), up_to_handle, e); });
  }
};

// A piece of a source that is read in order: a partition, a file.
struct Split {
  std::string id;        // stable: its identity in the checkpoint
  int64_t ordinal = -1;  // >= 0: lane = ordinal mod lanes
};
struct AssignedSplit {
  uint32_t index = 0;  // for emit and split_status
  std::string id;
  bool restored = false;  // go on at `position`; else at the configured start
  std::string position;
  bool added = false;  // no position, and found after the source's first start: nothing of it may be skipped
};

// Rows into the pipeline.
template <class ConfigT>
class Source : public Operator<ConfigT> {
 public:
  static constexpr uint32_t kKind = SLUICE_SOURCE;
  static constexpr uint32_t kFlags = 0;
  // All splits that there are now, whoever reads them. Called in every lane, at start and once a second. Status::retry: the
  // server is away; what is assigned is polled meanwhile.
  virtual Status discover(std::vector<Split>* splits) = 0;
  // Splits that this instance reads from now on, beside those that it has; none is ever taken away. Once for each split.
  virtual Status assign(const std::vector<AssignedSplit>& splits) = 0;
  // A split of discover() that had ended in an earlier run: true: assign it again with its position, for it may have more
  // by now; false: it has ended for good.
  virtual bool may_have_grown(std::string_view split_id) {
    (void)split_id;
    return false;
  }
  // Emits at most max_rows rows; returns within a few ms when there are none. Status::retry: called again after that time;
  // rows that were emitted stay emitted.
  virtual Status poll(uint32_t max_rows) = 0;
  // Readable form of a position, for messages and dead letters. Also asked of instances that were never opened.
  virtual std::string describe_position(std::string_view split_id, std::string_view position) = 0;

 protected:
  // One row, in poll(). payload.data() == nullptr is a tombstone. `position`: where to go on after it, not empty. All copied.
  Status emit(uint32_t split, std::string_view payload, std::string_view position, std::string_view message_key = {},
              int64_t event_time = SLUICE_NO_TIME, sluice_change change = SLUICE_CHANGE_NONE) const {
    const sluice_str raw = str(payload), pos = str(position), key = str(message_key);
    const uint8_t c = static_cast<uint8_t>(change);
    sluice_rows rows;
    std::memset(&rows, 0, sizeof rows);
    rows.struct_size = sizeof rows;
    rows.size = 1;
    rows.split = split;
    rows.raw = &raw;
    rows.raw_key = &key;
    rows.position = &pos;
    rows.event_time = &event_time;
    rows.change = &c;
    return detail::call([&](sluice_error* e) { return this->context()->emit(this->context(), 0, &rows, e); });
  }
  // Many rows in one call: the fast way. See sluice_rows.
  Status emit_rows(const sluice_rows& rows) const {
    return detail::call([&](sluice_error* e) { return this->context()->emit(this->context(), 0, &rows, e); });
  }
  // A row that this poll() has emitted cannot be used: on_error applies to it alone, with its payload and its position.
  // `row`: its number among all that this poll() has emitted, from 0.
  Status reject(uint32_t row, std::string_view reason) const {
    return detail::call([&](sluice_error* e) { return this->context()->reject(this->context(), row, str(reason), e); });
  }
  // In poll(). SLUICE_SNAPSHOT_BEGIN goes before all rows of this poll, SLUICE_SNAPSHOT_END behind them. The host says the end
  // itself once all splits of the lane have SLUICE_SPLIT_SNAPSHOT_COMPLETE or SLUICE_SPLIT_END.
  Status emit_marker(uint32_t marker) const {
    return detail::call([&](sluice_error* e) { return this->context()->emit_marker(this->context(), marker, e); });
  }
  // SLUICE_SPLIT_*: replaces what was said before, except what stays set (sluice/abi.h). `split`: AssignedSplit::index.
  void split_status(uint32_t split, uint32_t flags) const noexcept { this->context()->split_status(this->context(), split, flags); }
  // How many rows are not read yet, for progress and metrics; negative: unknown, as at the start.
  void split_lag(uint32_t split, int64_t rows) const noexcept { this->context()->split_lag(this->context(), split, rows); }
  // Where to go on, without a row: the resolved start position (say it in assign() or the first poll(): a checkpoint
  // before the first row then holds it), positions behind control records. Behind all rows emitted so far; not empty.
  void move_position(uint32_t split, std::string_view position) const noexcept {
    this->context()->split_position(this->context(), split, str(position));
  }
};

}  // namespace sluice
