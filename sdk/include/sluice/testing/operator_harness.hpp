// sluice/testing/operator_harness.hpp - drives one operator, given by its descriptor. See harness.hpp.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/abi.h"
#include "sluice/status.hpp"
#include "sluice/testing/fake_host.hpp"
#include "sluice/testing/options_text.hpp"

namespace sluice::testing {

class Failure : public std::runtime_error {
 public:
  Failure(const std::string& where, Status status)
      : std::runtime_error(where + " answered code " + std::to_string(status.code()) + ": " + status.message()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};
class ContractBreach : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
class HarnessError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A schema record as a test writes it.
struct SchemaIn {
  std::string table;
  std::vector<std::string> columns, key;
  std::string extend = {}, origin = {};
};
struct DiscoveredSplit {
  std::string id;
  int64_t ordinal = -1;
};

// What check() reported.
struct FoundProblem {
  std::string option;  // that it is about; empty: none
  std::string text;
};

// One operator, one instance at a time. The test owns it; used by one thread. Times are milliseconds since 1970 UTC.
// Of a pair such as try_push() and push() the first gives the operator's answer, the second throws Failure unless that is OK.
// All throw ContractBreach for a broken rule, and HarnessError when the call cannot be made now (before open(), no such
// split). What they give is a copy, or a reference that lives until the next call on this object.
class OperatorHarness {
 public:
  // `options`: JSON, YAML flow style ({ttl: 1d}) or `name: value` lines; defaults are filled in.
  explicit OperatorHarness(const sluice_operator_desc* desc, std::string_view options = "")
      : desc_(desc), options_(read_options(*desc, options)), host_(desc) {
    host_.states = fresh_states();
  }
  ~OperatorHarness() { destroy(); }
  OperatorHarness(const OperatorHarness&) = delete;
  OperatorHarness& operator=(const OperatorHarness&) = delete;

  // ---- before open() ----
  // Defaults: "op", "test", lane 0 of 1, SLUICE_ROLE_COMPLETE.
  void set_id(std::string id) { host_.id = std::move(id); }
  void set_pipeline(std::string name) { host_.pipeline = std::move(name); }
  // Also between crash() and restore(): a restart with another pipeline file.
  void set_options(std::string_view options) { options_ = read_options(*desc_, options); }
  void set_lineage(std::string lineage) { lineage_ = std::move(lineage); }
  void set_lane(uint32_t lane, uint32_t lanes) { host_.lane = lane, host_.lanes = lanes; }
  void set_role(uint32_t role) { host_.role = role; }

  // create() and needs() the first time, then open(). After RETRY: call it again.
  Status try_open() {
    if (opened_) throw HarnessError("open(): the operator is open");
    if (self_ == nullptr)
      if (Status s = create(); !s.is_ok()) return s;
    context_->lineage = str(lineage_);
    Status s = call({"open"}, [&](sluice_error* e) { return slot(&sluice_operator_vtbl::open) ? vtbl_->open(self_, e) : SLUICE_OK; });
    opened_ = s.is_ok();
    return s;
  }
  void open() { check("open()", try_open()); }
  // What `sluice validate --connect` does: an instance of its own, check(), and away with it. Gives the problems, the
  // status that check() answered among them. Not while the operator is open.
  std::vector<FoundProblem> find_problems();
  // OK: the instance is gone, its state too.
  Status try_close() {
    need_open("close");
    Status s = call({"close"}, [&](sluice_error* e) { return slot(&sluice_operator_vtbl::close) ? vtbl_->close(self_, e) : SLUICE_OK; });
    if (s.is_ok()) destroy();
    return s;
  }
  void close() { check("close()", try_close()); }

  // ---- the clock; timers fire only when they are told to ----
  int64_t now() const { return host_.now(); }
  void set_now(int64_t ms) { host_.set_now(ms); }
  void advance(int64_t ms) { host_.set_now(host_.now() + ms); }

  // ---- rows in: one call of process() each, with as many rows as are given ----
  Status try_push(std::string_view json, RowMeta meta = {}) { return deliver(SLUICE_PORT_MAIN, {{std::string(json), std::move(meta), false}}); }
  void push(std::string_view json, RowMeta meta = {}) { check("push()", try_push(json, std::move(meta))); }
  Status try_push_batch(std::vector<InputRow> rows) { return deliver(SLUICE_PORT_MAIN, std::move(rows)); }
  void push_batch(std::vector<InputRow> rows) { check("push_batch()", try_push_batch(std::move(rows))); }
  void push_tombstone(RowMeta meta = {}) { check("push_tombstone()", deliver(SLUICE_PORT_MAIN, {{std::string(), std::move(meta), true}})); }
  Status try_push_broadcast(std::string_view json, RowMeta meta = {}) { return deliver(SLUICE_PORT_BROADCAST, {{std::string(json), std::move(meta), false}}); }
  void push_broadcast(std::string_view json, RowMeta meta = {}) { check("push_broadcast()", try_push_broadcast(json, std::move(meta))); }
  void push_broadcast_tombstone(RowMeta meta = {}) { check("push_broadcast_tombstone()", deliver(SLUICE_PORT_BROADCAST, {{std::string(), std::move(meta), true}})); }
  // Comes again with the rows that a RETRY left over.
  Status try_retry() {
    if (pending_.empty()) throw HarnessError("retry(): nothing waits for it");
    return process(pending_port_, std::exchange(pending_, {}));
  }
  void retry() { check("retry()", try_retry()); }
  size_t rows_waiting() const { return pending_.size(); }
  Status try_push_schema(const SchemaIn& in);
  void push_schema(const SchemaIn& in) { check("push_schema()", try_push_schema(in)); }

  // ---- beside the rows ----
  // Of the snapshot on the broadcast side (of the main input, when there is no other).
  Status try_marker(uint32_t marker);
  void marker(uint32_t marker) { check("marker()", try_marker(marker)); }
  // Event timers that are due, then on_watermark.
  Status try_watermark(int64_t ms);
  void watermark(int64_t ms) { check("watermark()", try_watermark(ms)); }
  int64_t current_watermark() const { return host_.watermark; }
  // Processing-time timers that are due by the clock. Gives how many fired.
  size_t fire_timers() {
    need_open("fire_timers");
    return fire(SLUICE_CLOCK_PROCESSING, host_.now());
  }
  void idle(int64_t since) { tell_idle(1, since); }
  void busy() { tell_idle(0, 0); }
  // From now on Operator::stopping() is true.
  void stop() { host_.set_stopping(true); }

  // ---- sources ----
  Status try_discover(std::vector<DiscoveredSplit>* out);
  std::vector<DiscoveredSplit> discover() {
    std::vector<DiscoveredSplit> out;
    check("discover()", try_discover(&out));
    return out;
  }
  // Those of the last discover() that belong to this lane and are not assigned; restored ones with their position. The
  // first start is over with the first call, even if there are none.
  Status try_assign();
  void assign() { check("assign()", try_assign()); }
  Status try_poll(uint32_t max_rows = 1000, size_t* rows = nullptr);
  size_t poll(uint32_t max_rows = 1000) {
    size_t rows = 0;
    check("poll()", try_poll(max_rows, &rows));
    return rows;
  }
  // Polls until all splits have ended, or are caught up and gave nothing. Gives how many rows came.
  size_t poll_until_quiet(uint32_t max_rows = 1000, int most_polls = 100000);
  const std::vector<SplitInfo>& splits() const { return host_.splits; }
  const SplitInfo& split(std::string_view id) const {
    for (const SplitInfo& s : host_.splits)
      if (s.id == id) return s;
    throw HarnessError("split `" + std::string(id) + "` is not assigned");
  }
  std::string describe_position(std::string_view split_id, std::string_view position);

  // ---- what came out ----
  // Rows since the last pull, which takes them; pull_json() those of one port.
  std::vector<OutRow> pull() { return std::exchange(host_.out, {}); }
  std::vector<std::string> pull_json(uint32_t port = 0) {
    std::vector<std::string> out;
    std::vector<OutRow> others;
    for (OutRow& r : host_.out) {
      if (r.port == port) out.push_back(std::move(r.json));
      else others.push_back(std::move(r));
    }
    host_.out = std::move(others);
    return out;
  }
  // All since the harness was made.
  const std::vector<RejectedRow>& rejected() const { return host_.rejected; }
  const std::vector<SchemaOut>& schemas() const { return host_.schemas; }
  const std::vector<uint32_t>& markers() const { return host_.markers; }
  // Those that the operator does not ask for: dead letters of the host, which it never sees.
  size_t tombstones_dropped() const { return tombstones_dropped_; }
  int64_t counter(const std::string& metric) const {
    const auto all = host_.counters();
    const auto it = all.find(metric);
    return it == all.end() ? 0 : it->second;
  }
  std::map<std::string, int64_t> counters() const { return host_.counters(); }
  std::string note() const { return host_.note(); }
  std::vector<LogLine> log() const { return host_.log_lines(); }
  int wakes() const { return host_.wakes(); }
  size_t timers() const { return host_.timers.size(); }
  // Entries of a state that are alive; of a broadcast state what the main port reads.
  size_t state_size(std::string_view name) const {
    for (const FakeState& s : host_.states)
      if (s.name() == name) return s.visible(nullptr, host_.state_now(s)).size();
    throw HarnessError("state `" + std::string(name) + "` was not declared");
  }
  const sluice_needs& needs() const { return needs_; }

  // ---- checkpoints ----
  // prepare(), then everything is durable, then commit(). Gives its number.
  uint64_t checkpoint() {
    const uint64_t n = checkpoint_uncommitted();
    commit();
    return n;
  }
  // The moment between the durable checkpoint and its commit: crash here to have the commit repeated.
  Status try_checkpoint_uncommitted(uint64_t* number = nullptr);
  uint64_t checkpoint_uncommitted() {
    uint64_t n = 0;
    check("prepare()", try_checkpoint_uncommitted(&n));
    return n;
  }
  // Commits the newest checkpoint; epoch sinks get the rows of all that are not yet committed. May be repeated.
  Status try_commit();
  void commit() { check("commit()", try_commit()); }
  // The instance is gone, without close(); what was not in a checkpoint is lost, output that was not pulled too.
  void crash() {
    destroy();
    host_.out.clear();
    pending_.clear();
    spools_.clear();
    host_.origins.clear();
    host_.states = fresh_states();
    host_.timers = FakeTimers();
    host_.watermark = SLUICE_NO_TIME;
    host_.splits.clear();
    started_ = false;
    ++next_number_;  // a number is never used twice
  }
  // A new instance from the newest checkpoint (empty, when there is none): open(), commit() once more, and for sources
  // discover() and assign() with the positions of the checkpoint.
  Status try_restore();
  void restore() { check("restore()", try_restore()); }
  // Epoch sinks: what the operator says of its target, number and lineage.
  std::pair<uint64_t, std::string> last_committed();

 private:
  struct Checkpoint {
    uint64_t number = 0;
    std::vector<FakeState> states;
    FakeTimers timers;
    int64_t watermark = SLUICE_NO_TIME;
    std::vector<SplitInfo> splits;
    bool started = false;
    std::map<uint64_t, std::vector<InputRow>> spools;
  };

  static void check(const std::string& where, Status s) {
    if (!s.is_ok()) throw Failure(where, std::move(s));
  }
  void need_open(const char* what) const {
    if (!opened_) throw HarnessError(std::string(what) + "(): the operator is not open");
  }
  template <class Slot>
  bool slot(Slot member) const {
    const char* field = static_cast<const char*>(static_cast<const void*>(&(vtbl_->*member)));
    const size_t end = static_cast<size_t>(field - static_cast<const char*>(static_cast<const void*>(vtbl_))) + sizeof(vtbl_->*member);
    return vtbl_ != nullptr && end <= vtbl_->struct_size && vtbl_->*member != nullptr;
  }
  // One call into the plugin. Output of a transform's call that failed is discarded, unless rows were done for.
  template <class F>
  Status call(FakeHost::Call c, F&& f, const uint32_t* consumed = nullptr) {
    sluice_error e;
    std::memset(&e, 0, sizeof e);
    e.struct_size = sizeof e;
    const size_t mark = host_.out.size();
    const char* name = c.name;
    sluice_code code = SLUICE_BUG;
    host_.begin_call(std::move(c));
    try {
      code = f(&e);
    } catch (const std::exception& x) {
      host_.add_breach(std::string("an exception left ") + name + "(): " + x.what());
    } catch (...) {
      host_.add_breach(std::string("an exception of unknown type left ") + name + "()");
    }
    host_.end_call();
    if (code < SLUICE_OK || code > SLUICE_BUG) host_.add_breach(std::string(name) + "() answered " + std::to_string(code) + ", which is no code");
    if (e.message_size > sizeof e.message) host_.add_breach(std::string(name) + "() wrote a message longer than its buffer");
    if (const std::string what = host_.take_breaches(); !what.empty()) throw ContractBreach(std::string(view(desc_->type)) + ": " + what);
    if (code != SLUICE_OK && desc_->kind == SLUICE_TRANSFORM && (consumed == nullptr || *consumed == 0)) {
      host_.rows_given -= host_.out.size() - mark;
      host_.out.resize(mark);
    }
    return Status::from(code, e);
  }
  const OptionValue* option(sluice_str name) const {
    for (const OptionValue& o : options_)
      if (name.size > 0 && o.name == view(name)) return &o;
    return nullptr;
  }
  std::vector<FakeState> fresh_states() const {
    std::vector<FakeState> out;
    for (size_t i = 0; i < desc_->state_count; ++i) {
      const sluice_state_decl& d = *desc_->states[i];
      const OptionValue* ttl = option(d.ttl_option);
      const OptionValue* clock = option(d.ttl_clock_option);
      if (d.ttl_required != 0 && (ttl == nullptr || ttl->integer <= 0))
        throw OptionError("state `" + std::string(view(d.name)) + "` needs a time to live: option `" + std::string(view(d.ttl_option)) + "`");
      out.emplace_back(std::string(view(d.name)), d.kind, ttl != nullptr ? ttl->integer : 0, clock != nullptr && clock->text == "event");
    }
    return out;
  }
  static std::vector<std::string> path_of(std::string_view text) {
    std::vector<std::string> path(1);
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '.' || text[i + 1] == '\\')) path.back().push_back(text[++i]);
      else if (text[i] == '.') path.emplace_back();
      else path.back().push_back(text[i]);
    }
    return path;
  }
  Status create();
  void destroy() noexcept {
    if (self_ != nullptr && slot(&sluice_operator_vtbl::destroy)) {
      host_.begin_call({"destroy", true});
      vtbl_->destroy(self_);
      host_.end_call();
    }
    self_ = nullptr;
    vtbl_ = nullptr;
    context_.reset();
    opened_ = false;
  }
  bool epoch_sink() const { return desc_->kind == SLUICE_SINK && needs_.delivery == SLUICE_DELIVERY_EPOCH; }
  Status deliver(uint32_t port, std::vector<InputRow> rows);
  Status process(uint32_t port, std::vector<InputRow> rows);
  size_t fire(uint32_t clock, int64_t until);
  void tell_idle(uint32_t idle, int64_t since) {
    need_open("idle");
    check("on_idle()", call({"on_idle"}, [&](sluice_error* e) { return slot(&sluice_operator_vtbl::on_idle) ? vtbl_->on_idle(self_, idle, since, e) : SLUICE_OK; }));
  }

  const sluice_operator_desc* desc_;
  std::vector<OptionValue> options_;
  FakeHost host_;
  std::string lineage_ = "lineage-1";
  std::unique_ptr<sluice_context> context_;  // of the instance
  const sluice_operator_vtbl* vtbl_ = nullptr;
  void* self_ = nullptr;
  bool opened_ = false, keyed_ = false;
  sluice_needs needs_{};
  std::vector<std::vector<std::string>> fields_[2];  // paths, by port
  std::vector<InputRow> pending_;
  uint32_t pending_port_ = SLUICE_PORT_MAIN;
  size_t tombstones_dropped_ = 0;
  std::vector<DiscoveredSplit> discovered_;
  std::map<std::string, std::string> restored_positions_;
  bool started_ = false;  // the source's first start is over
  std::map<uint64_t, std::vector<InputRow>> spools_;  // epoch sinks: by the checkpoint that covers them
  uint64_t tried_epoch_ = 0;                          // the last one that was begun
  std::optional<Checkpoint> saved_;
  uint64_t next_number_ = 1;
  int64_t reached_ = SLUICE_NO_TIME;  // the watermark, but not the end of time, which a checkpoint does not keep
};

// ---- the longer ones ----

inline Status OperatorHarness::create() {
  context_ = std::make_unique<sluice_context>(host_.make_context());
  auto text = [&](const std::string& s) { return host_.memory.text(s); };
  auto* members = host_.memory.array<sluice_member>(options_.size());
  for (size_t i = 0; i < options_.size(); ++i) {
    const OptionValue& o = options_[i];
    members[i].name = text(o.name);
    sluice_value& v = members[i].value;
    switch (o.type) {
      case SLUICE_T_BOOL: v.type = SLUICE_BOOL; v.as.i64 = o.integer; break;
      case SLUICE_T_INT: case SLUICE_T_DURATION: case SLUICE_T_SIZE: v.type = SLUICE_INT64; v.as.i64 = o.integer; break;
      case SLUICE_T_DOUBLE: v.type = SLUICE_DOUBLE; v.as.f64 = o.real; break;
      case SLUICE_T_STRING_LIST: {
        auto* items = host_.memory.array<sluice_value>(o.list.size());
        for (size_t k = 0; k < o.list.size(); ++k) items[k].type = SLUICE_STRING, items[k].as.str = text(o.list[k]);
        v.type = SLUICE_LIST;
        v.as.list.items = items;
        v.as.list.size = o.list.size();
        break;
      }
      case SLUICE_T_STRING_MAP: {
        auto* entries = host_.memory.array<sluice_member>(o.map.size());
        for (size_t k = 0; k < o.map.size(); ++k) {
          entries[k].name = text(o.map[k].first);
          entries[k].value.type = SLUICE_STRING;
          entries[k].value.as.str = text(o.map[k].second);
        }
        v.type = SLUICE_MAP;
        v.as.map.members = entries;
        v.as.map.size = o.map.size();
        break;
      }
      default: v.type = SLUICE_STRING; v.as.str = text(o.text); break;
    }
  }
  auto* config = host_.memory.array<sluice_value>(1);
  config->type = SLUICE_MAP;
  config->as.map.members = members;
  config->as.map.size = options_.size();
  Status s = call({"create", true}, [&](sluice_error* e) { return desc_->create(context_.get(), config, &vtbl_, &self_, e); });
  if (!s.is_ok()) {
    self_ = nullptr;
    return s;
  }
  if (self_ == nullptr || vtbl_ == nullptr) throw ContractBreach("create() answered OK without an instance");
  std::memset(&needs_, 0, sizeof needs_);
  needs_.struct_size = sizeof needs_;
  if (slot(&sluice_operator_vtbl::needs)) {
    s = call({"needs", true}, [&](sluice_error* e) { return vtbl_->needs(self_, &needs_, e); });
    if (!s.is_ok()) {
      destroy();
      return s;
    }
  }
  fields_[0].clear();
  fields_[1].clear();
  for (size_t i = 0; i < needs_.field_count; ++i) fields_[0].push_back(path_of(view(needs_.fields[i])));
  for (size_t i = 0; i < needs_.broadcast_field_count; ++i) fields_[1].push_back(path_of(view(needs_.broadcast_fields[i])));
  host_.needs_body = needs_.body != 0;
  return Status::ok();
}

inline std::vector<FoundProblem> OperatorHarness::find_problems() {
  if (opened_) throw HarnessError("find_problems(): the operator is open");
  if (self_ == nullptr) check("create()", create());
  if (!slot(&sluice_operator_vtbl::check)) throw HarnessError("find_problems(): the operator has no check()");
  std::vector<FoundProblem> found;
  const sluice_report report = [](void* user, sluice_str option, sluice_str problem) {
    static_cast<std::vector<FoundProblem>*>(user)->push_back({std::string(view(option)), std::string(view(problem))});
  };
  const size_t given = host_.rows_given;
  const Status s = call({"check"}, [&](sluice_error* e) { return vtbl_->check(self_, report, &found, e); });
  if (!s.is_ok()) found.push_back({"", s.message()});
  if (host_.rows_given != given) throw ContractBreach("check() gave rows");
  for (const FoundProblem& p : found)
    if (p.text.empty()) throw ContractBreach("check() reported a problem without a text");
  destroy();
  return found;
}

inline Status OperatorHarness::deliver(uint32_t port, std::vector<InputRow> rows) {
  need_open("push");
  if (desc_->kind == SLUICE_SOURCE) throw HarnessError("push(): a source has no input");
  if (port == SLUICE_PORT_BROADCAST && (desc_->flags & SLUICE_OP_BROADCAST) == 0) throw HarnessError("push_broadcast(): the operator has no broadcast input");
  if (!pending_.empty()) throw HarnessError("push(): rows of an earlier batch wait for retry()");
  int64_t w = host_.watermark;
  std::vector<InputRow> kept;
  for (InputRow& r : rows) {
    if (r.meta.watermark) {
      if (*r.meta.watermark < w) throw HarnessError("push(): a row's watermark goes back");
      w = *r.meta.watermark;
    }
    keyed_ = keyed_ || r.meta.key.has_value();
    constexpr uint32_t kMayBeWithout = SLUICE_OP_KEY_OPTIONAL | SLUICE_OP_TWO_PHASE;
    if (port == SLUICE_PORT_MAIN && (desc_->flags & SLUICE_OP_KEYED) != 0 && (desc_->flags & kMayBeWithout) == 0 && !r.meta.key)
      throw HarnessError("push(): the operator is keyed: give a key, push(json, {\"key\"})");
    if (r.tombstone && needs_.accepts_tombstones == 0) {
      ++tombstones_dropped_;
      continue;
    }
    // The host looks at the structure of every record before an operator sees it.
    if (std::string problem = r.tombstone ? std::string() : json::record_problem(r.payload); !problem.empty())
      host_.rejected.push_back({std::move(r.payload), "not valid JSON: " + problem});
    else
      kept.push_back(std::move(r));
  }
  if (kept.empty()) return Status::ok();
  if (epoch_sink()) {
    auto& spool = spools_[next_number_];
    for (InputRow& r : kept) spool.push_back(std::move(r));
    return Status::ok();
  }
  return process(port, std::move(kept));
}

inline Status OperatorHarness::process(uint32_t port, std::vector<InputRow> rows) {
  const size_t n = rows.size();
  CallMemory& m = host_.memory;
  auto* times = m.array<int64_t>(n);
  auto* watermarks = m.array<int64_t>(n);
  auto* changes = m.array<uint8_t>(n);
  auto* keys = m.array<sluice_str>(n);
  auto* raws = m.array<sluice_str>(n);
  auto* raw_keys = m.array<sluice_str>(n);
  const auto& paths = fields_[port];
  auto** columns = m.array<const sluice_value*>(paths.size());
  std::vector<sluice_value*> cells;
  for (size_t f = 0; f < paths.size(); ++f) columns[f] = cells.emplace_back(m.array<sluice_value>(n));
  int64_t w = host_.watermark;
  for (size_t i = 0; i < n; ++i) {
    const InputRow& r = rows[i];
    w = r.meta.watermark.value_or(w);
    times[i] = r.meta.event_time;
    watermarks[i] = w;
    changes[i] = static_cast<uint8_t>(r.meta.change);
    keys[i] = m.text(r.meta.key.value_or(std::string()));
    if (!r.tombstone) raws[i] = m.text(r.payload);
    if (r.meta.message_key) raw_keys[i] = m.text(*r.meta.message_key);
    for (size_t f = 0; f < paths.size(); ++f)
      if (!r.tombstone) cells[f][i] = host_.field(r.payload, paths[f]);
  }
  auto* batch = m.array<sluice_batch>(1);
  batch->struct_size = sizeof *batch;
  batch->size = static_cast<uint32_t>(n);
  batch->event_time = times;
  batch->watermark = watermarks;
  batch->change = changes;
  batch->key = keyed_ && port == SLUICE_PORT_MAIN ? keys : nullptr;
  batch->raw = raws;
  batch->raw_key = raw_keys;
  batch->fields = columns;
  batch->field_count = paths.size();
  batch->impl = &host_;
  if (!slot(&sluice_operator_vtbl::process)) throw ContractBreach("the operator has no process()");
  uint32_t consumed = 0;
  FakeHost::Call c{"process"};
  c.port = port;
  c.rows = &rows;
  c.batch = batch;
  Status s = call(std::move(c), [&](sluice_error* e) { return vtbl_->process(self_, port, batch, &consumed, e); }, &consumed);
  if (s.code() != SLUICE_RETRY) return s;
  if (consumed > n) throw ContractBreach("process() answered RETRY with " + std::to_string(consumed) + " rows done for, of " + std::to_string(n));
  pending_.assign(std::make_move_iterator(rows.begin() + consumed), std::make_move_iterator(rows.end()));
  pending_port_ = port;
  return s;
}

inline Status OperatorHarness::try_push_schema(const SchemaIn& in) {
  need_open("push_schema");
  if (!slot(&sluice_operator_vtbl::on_schema)) {
    host_.schemas.push_back({in.table, in.columns, in.key, in.extend, in.origin, host_.rows_given});
    return Status::ok();
  }
  CallMemory& m = host_.memory;
  auto* s = m.array<sluice_schema>(1);
  auto* columns = m.array<sluice_str>(in.columns.size());
  auto* key = m.array<sluice_str>(in.key.size());
  for (size_t i = 0; i < in.columns.size(); ++i) columns[i] = m.text(in.columns[i]);
  for (size_t i = 0; i < in.key.size(); ++i) key[i] = m.text(in.key[i]);
  s->struct_size = sizeof *s;
  s->table = m.text(in.table);
  s->columns = columns;
  s->column_count = in.columns.size();
  s->key = key;
  s->key_count = in.key.size();
  s->extend = m.text(in.extend);
  s->origin = m.text(in.origin);
  return call({"on_schema"}, [&](sluice_error* e) { return vtbl_->on_schema(self_, s, e); });
}

inline Status OperatorHarness::try_marker(uint32_t marker) {
  need_open("marker");
  const bool broadcast = (desc_->flags & SLUICE_OP_BROADCAST) != 0;
  const uint32_t port = broadcast ? SLUICE_PORT_BROADCAST : SLUICE_PORT_MAIN;
  for (FakeState& s : host_.states) {
    if (!broadcast || s.kind() != SLUICE_STATE_BROADCAST) continue;
    if (marker == SLUICE_SNAPSHOT_BEGIN) s.begin_load();
    if (marker == SLUICE_SNAPSHOT_END) s.end_load();
  }
  if (!slot(&sluice_operator_vtbl::on_marker)) {
    if (!broadcast) host_.markers.push_back(marker);
    return Status::ok();
  }
  FakeHost::Call c{"on_marker"};
  c.port = port;
  return call(std::move(c), [&](sluice_error* e) { return vtbl_->on_marker(self_, port, marker, e); });
}

inline size_t OperatorHarness::fire(uint32_t clock, int64_t until) {
  size_t fired = 0;
  FakeTimers::Timer t, last;
  std::vector<FakeTimers::Timer> set_again;
  while (host_.timers.pop_due(clock, until, &t)) {
    if (until == SLUICE_END_OF_TIME && fired > 0 && !(last < t)) {
      set_again.push_back(t);
      continue;
    }
    last = t;
    if (!slot(&sluice_operator_vtbl::on_timer)) throw ContractBreach("a timer was set, and the operator has no on_timer()");
    const sluice_str key = host_.memory.text(t.key);
    check("on_timer()", call({"on_timer"}, [&](sluice_error* e) { return vtbl_->on_timer(self_, clock, key, t.at, t.tag, e); }));
    if (++fired > 1000000) throw ContractBreach("timers set timers that are due, without end");
  }
  for (FakeTimers::Timer& again : set_again) host_.timers.set(clock, std::move(again));
  return fired;
}

inline Status OperatorHarness::try_watermark(int64_t ms) {
  need_open("watermark");
  if (ms < host_.watermark) throw HarnessError("watermark(): it never goes back");
  host_.watermark = ms;
  if (ms != SLUICE_END_OF_TIME) reached_ = ms;
  fire(SLUICE_CLOCK_EVENT, ms);
  if (!slot(&sluice_operator_vtbl::on_watermark)) return Status::ok();
  return call({"on_watermark"}, [&](sluice_error* e) { return vtbl_->on_watermark(self_, ms, e); });
}

inline Status OperatorHarness::try_discover(std::vector<DiscoveredSplit>* out) {
  need_open("discover");
  if (!slot(&sluice_operator_vtbl::discover)) throw HarnessError("discover(): the operator is no source");
  const sluice_split* const* splits = nullptr;
  size_t count = 0;
  Status s = call({"discover"}, [&](sluice_error* e) { return vtbl_->discover(self_, &splits, &count, e); });
  if (!s.is_ok()) return s;
  discovered_.clear();
  for (size_t i = 0; i < count; ++i) {
    discovered_.push_back({std::string(view(splits[i]->id)), splits[i]->ordinal});
    for (size_t k = 0; k < i; ++k)
      if (discovered_[k].id == discovered_[i].id) throw ContractBreach("discover() gave the split `" + discovered_[i].id + "` twice");
  }
  *out = discovered_;
  return s;
}

inline Status OperatorHarness::try_assign() {
  need_open("assign");
  if (!slot(&sluice_operator_vtbl::assign)) throw HarnessError("assign(): the operator is no source");
  std::vector<const DiscoveredSplit*> mine;
  for (const DiscoveredSplit& d : discovered_) {
    bool assigned = false;
    for (const SplitInfo& s : host_.splits) assigned = assigned || s.id == d.id;
    const uint64_t spread = d.ordinal >= 0 ? static_cast<uint64_t>(d.ordinal) : std::hash<std::string>()(d.id);
    if (!assigned && spread % host_.lanes == host_.lane) mine.push_back(&d);
  }
  auto** pointers = host_.memory.array<const sluice_split*>(mine.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    auto* s = host_.memory.array<sluice_split>(1);
    s->struct_size = sizeof *s;
    s->index = static_cast<uint32_t>(host_.splits.size());
    s->id = host_.memory.text(mine[i]->id);
    s->ordinal = mine[i]->ordinal;
    SplitInfo info{mine[i]->id};
    if (const auto it = restored_positions_.find(mine[i]->id); it != restored_positions_.end()) {
      s->position = host_.memory.text(it->second);
      info.position = it->second;
    } else {
      info.added = started_;
    }
    host_.splits.push_back(std::move(info));
    pointers[i] = s;
  }
  const size_t before = host_.splits.size() - mine.size();
  Status s = mine.empty() ? Status::ok() : call({"assign"}, [&](sluice_error* e) { return vtbl_->assign(self_, pointers, mine.size(), e); });
  if (s.is_ok()) started_ = true;
  else host_.splits.resize(before);
  return s;
}

inline Status OperatorHarness::try_poll(uint32_t max_rows, size_t* rows) {
  need_open("poll");
  if (!slot(&sluice_operator_vtbl::poll)) throw HarnessError("poll(): the operator is no source");
  const size_t before = host_.rows_given;
  FakeHost::Call c{"poll"};
  c.max_rows = max_rows;
  Status s = call(std::move(c), [&](sluice_error* e) { return vtbl_->poll(self_, max_rows, e); });
  if (rows != nullptr) *rows = host_.rows_given - before;
  return s;
}

inline size_t OperatorHarness::poll_until_quiet(uint32_t max_rows, int most_polls) {
  size_t total = 0;
  for (int i = 0; i < most_polls; ++i) {
    const size_t rows = poll(max_rows);
    total += rows;
    bool ended = true, caught_up = true;
    for (const SplitInfo& s : host_.splits) {
      ended = ended && (s.flags & SLUICE_SPLIT_END) != 0;
      caught_up = caught_up && (s.flags & (SLUICE_SPLIT_END | SLUICE_SPLIT_CAUGHT_UP)) != 0;
    }
    if (ended || (caught_up && rows == 0)) return total;
  }
  throw HarnessError("poll_until_quiet(): the source is still busy after " + std::to_string(most_polls) + " polls");
}

inline std::string OperatorHarness::describe_position(std::string_view split_id, std::string_view position) {
  need_open("describe_position");
  if (!slot(&sluice_operator_vtbl::describe_position)) throw HarnessError("describe_position(): the operator has none");
  const sluice_str id = host_.memory.text(split_id), pos = host_.memory.text(position);
  std::string out;
  check("describe_position()", call({"describe_position"}, [&](sluice_error* e) {
    sluice_str text{nullptr, 0};
    const sluice_code code = vtbl_->describe_position(self_, id, pos, &text, e);
    out = std::string(view(text));
    return code;
  }));
  return out;
}

inline Status OperatorHarness::try_checkpoint_uncommitted(uint64_t* number) {
  need_open("checkpoint");
  if (!pending_.empty()) throw HarnessError("checkpoint(): rows of an earlier batch wait for retry()");
  const uint64_t n = next_number_;
  Status s = call({"prepare"}, [&](sluice_error* e) { return slot(&sluice_operator_vtbl::prepare) ? vtbl_->prepare(self_, n, e) : SLUICE_OK; });
  if (!s.is_ok()) return s;
  ++next_number_;
  if (epoch_sink()) spools_[n];  // an epoch without rows is committed too
  saved_ = Checkpoint{n, host_.states, host_.timers, reached_, host_.splits, started_, spools_};
  for (FakeState& state : saved_->states) state.forget_load();  // an unfinished load is not part of a checkpoint
  if (number != nullptr) *number = n;
  return s;
}

inline Status OperatorHarness::try_commit() {
  need_open("commit");
  if (!saved_) throw HarnessError("commit(): there is no checkpoint");
  const auto commit_one = [&](uint64_t n) {
    return call({"commit"}, [&](sluice_error* e) { return slot(&sluice_operator_vtbl::commit) ? vtbl_->commit(self_, n, e) : SLUICE_OK; });
  };
  if (!epoch_sink()) return commit_one(saved_->number);
  while (!spools_.empty() && spools_.begin()->first <= saved_->number) {
    const uint64_t n = spools_.begin()->first;
    if (std::exchange(tried_epoch_, n) == n) {  // the answer may have been lost, the rows not
      const auto [last, lineage] = last_committed();
      if (lineage == lineage_ && last >= n) {
        spools_.erase(spools_.begin());
        continue;
      }
    }
    Status s = call({"epoch_begin"}, [&](sluice_error* e) { return slot(&sluice_operator_vtbl::epoch_begin) ? vtbl_->epoch_begin(self_, n, e) : SLUICE_OK; });
    if (!s.is_ok()) return s;
    // In two batches, so that a sink that takes a batch for an epoch is found out.
    const std::vector<InputRow>& rows = spools_.begin()->second;
    const auto half = rows.begin() + static_cast<std::ptrdiff_t>((rows.size() + 1) / 2);
    for (std::vector<InputRow> part : {std::vector<InputRow>(rows.begin(), half), std::vector<InputRow>(half, rows.end())}) {
      if (part.empty()) continue;
      s = process(SLUICE_PORT_MAIN, std::move(part));
      pending_.clear();  // after a RETRY the epoch begins again
      if (!s.is_ok()) return s;
    }
    s = commit_one(n);
    if (!s.is_ok()) return s;
    spools_.erase(spools_.begin());
  }
  return Status::ok();
}

inline std::pair<uint64_t, std::string> OperatorHarness::last_committed() {
  need_open("last_committed");
  if (!slot(&sluice_operator_vtbl::last_committed)) throw HarnessError("last_committed(): the operator has none");
  uint64_t n = 0;
  std::string lineage;
  check("last_committed()", call({"last_committed"}, [&](sluice_error* e) {
    sluice_str text{nullptr, 0};
    const sluice_code code = vtbl_->last_committed(self_, &n, &text, e);
    lineage = std::string(view(text));
    return code;
  }));
  return {n, lineage};
}

inline Status OperatorHarness::try_restore() {
  if (self_ != nullptr && opened_) throw HarnessError("restore(): the operator is open; crash() or close() it first");
  host_.states = fresh_states();
  host_.timers = FakeTimers();
  host_.watermark = reached_ = SLUICE_NO_TIME;
  host_.splits.clear();
  restored_positions_.clear();
  started_ = saved_ && saved_->started;
  if (saved_) {
    host_.states = saved_->states;
    host_.timers = saved_->timers;
    host_.watermark = reached_ = saved_->watermark;
    spools_ = saved_->spools;
    for (const SplitInfo& s : saved_->splits)
      if (s.position) restored_positions_[s.id] = *s.position;
  }
  if (Status s = try_open(); !s.is_ok()) return s;
  if (saved_ && epoch_sink()) {
    const auto [n, lineage] = last_committed();
    if (n > 0 && lineage != lineage_) return Status::fatal("the target holds the marker of lineage `" + lineage + "`, not of `" + lineage_ + "`");
    if (n > saved_->number)
      return Status::fatal("the target holds checkpoint " + std::to_string(n) + ", newer than the restored " + std::to_string(saved_->number));
    while (!spools_.empty() && spools_.begin()->first <= n) spools_.erase(spools_.begin());
  }
  if (saved_)
    if (Status s = try_commit(); !s.is_ok()) return s;
  if (desc_->kind == SLUICE_SOURCE) {
    std::vector<DiscoveredSplit> found;
    if (Status s = try_discover(&found); !s.is_ok()) return s;
    return try_assign();
  }
  return Status::ok();
}

}  // namespace sluice::testing
