// sluice/testing/fake_host.hpp - the host's side of one operator instance: everything that a plugin can call. It checks
// each call against the contract of sluice/abi.h and writes down every breach. Used through Harness (harness.hpp).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sluice/abi.h"
#include "sluice/ext/added_splits.h"
#include "sluice/status.hpp"
#include "sluice/testing/call_memory.hpp"
#include "sluice/testing/fake_state.hpp"
#include "sluice/testing/json.hpp"

namespace sluice::testing {

// What a test says about a row besides its payload: push(json, {"key", event_time, change}).
struct RowMeta {
  std::optional<std::string> key = std::nullopt;  // the pipeline's `key:`
  int64_t event_time = SLUICE_NO_TIME;
  sluice_change change = SLUICE_CHANGE_NONE;
  std::optional<int64_t> watermark = std::nullopt;  // just before this row; default: the harness's
  std::optional<std::string> message_key = std::nullopt;  // the source's own key
};
// A row that goes in. A plain value.
struct InputRow {
  std::string payload = {};
  RowMeta meta = {};
  bool tombstone = false;
};
// A row that came out. A plain value.
struct OutRow {
  uint32_t port = 0;
  std::string json = {};  // the payload, attached columns merged in; of a source the bytes that it emitted
  bool tombstone = false;
  int64_t event_time = SLUICE_NO_TIME;
  sluice_change change = SLUICE_CHANGE_NONE;
  uint32_t from_row = SLUICE_NO_ROW;  // row of its batch that it was made of
  std::optional<std::string> message_key = std::nullopt;  // sources
  std::string split = {}, position = {};                  // sources
};
struct RejectedRow {
  std::string json;  // the row as it came in
  std::string reason;
};
struct SchemaOut {
  std::string table;
  std::vector<std::string> columns, key;
  std::string extend, origin;
  size_t rows_before = 0;  // how many rows the operator had given since it was opened
};
struct LogLine {
  uint32_t level = 0;
  std::string text;
};
// A split that was assigned to the source.
struct SplitInfo {
  std::string id;
  uint32_t flags = 0;
  std::optional<int64_t> lag = std::nullopt;
  std::optional<std::string> position = std::nullopt;  // where to go on after a restore
  bool added = false;                                  // after the first start
};

// Owned by the harness, lives as long as it; its contexts belong to one instance each. Functions of the contract's
// [operator] class are refused from other threads than the one that is in a call; [any] functions may come from all.
class FakeHost {
 public:
  explicit FakeHost(const sluice_operator_desc* desc) : desc_(desc) {
    host_.struct_size = sizeof host_;
    host_.abi_minor = SLUICE_ABI_MINOR;
    host_.version = str("harness");
    host_.log = [](const sluice_host* h, uint32_t level, sluice_str text) noexcept {
      FakeHost& self = *static_cast<const HostTable*>(h)->owner;
      const std::lock_guard<std::mutex> lock(self.mutex_);
      self.logs.push_back({level, std::string(view(text))});
    };
    host_.get_extension = [](const sluice_host*, sluice_str extension) noexcept -> const void* {
      static const sluice_added_splits added_splits = {
          sizeof(sluice_added_splits), 0,
          [](const sluice_context* x, uint32_t split) noexcept -> int32_t { return split < of(x).splits.size() && of(x).splits[split].added ? 1 : 0; }};
      return view(extension) == SLUICE_EXT_ADDED_SPLITS ? &added_splits : nullptr;
    };
    host_.owner = this;
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  struct Call {
    const char* name = nullptr;  // null: none is running
    bool control = false;
    std::thread::id thread = {};
    uint32_t port = SLUICE_PORT_MAIN;
    const std::vector<InputRow>* rows = nullptr;
    const sluice_batch* batch = nullptr;
    uint32_t max_rows = 0, emitted = 0;
    std::set<uint32_t> refused = {};  // rows of a source, by their number in the call
  };

  // ---- the harness's side ----
  sluice_context make_context() {
    sluice_context c;
    std::memset(&c, 0, sizeof c);
    c.struct_size = sizeof c;
    c.role = role;
    c.host = &host_;
    c.impl = this;
    c.pipeline = str(pipeline);
    c.operator_id = str(id);
    c.lane = lane;
    c.lanes = lanes;
    fill_functions(&c);
    return c;
  }
  void begin_call(Call call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    call.thread = std::this_thread::get_id();
    call_ = std::move(call);
  }
  void end_call() {
    const std::lock_guard<std::mutex> lock(mutex_);
    call_ = Call();
    memory.end_call();
  }
  std::string take_breaches() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(breaches_, {});
  }
  void add_breach(const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    breaches_ += (breaches_.empty() ? "" : "; ") + what;
  }
  int64_t state_now(const FakeState& s) const { return s.event_time() ? watermark : now(); }
  int64_t now() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return now_;
  }
  void set_now(int64_t ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    now_ = ms;
  }
  void set_stopping(bool on) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = on;
  }
  // A copy: plugins count from any thread.
  std::map<std::string, int64_t> counters() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counters_;
  }
  std::string note() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return note_;
  }
  int wakes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return wakes_;
  }
  std::vector<LogLine> log_lines() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return logs;
  }

  // One member of a JSON value as the plugin sees it: numbers as lexemes, objects and arrays as text.
  sluice_value leaf(std::string_view text) {
    sluice_value v;
    std::memset(&v, 0, sizeof v);
    std::string problem = json::problem_of(text);
    if (!problem.empty()) {
      v.type = SLUICE_INVALID;
      v.as.str = memory.text(problem);
      return v;
    }
    switch (text.empty() ? '\0' : text[0]) {
      case 'n': v.type = SLUICE_NULL; return v;
      case 't': case 'f':
        v.type = SLUICE_BOOL;
        v.as.i64 = text[0] == 't' ? 1 : 0;
        return v;
      case '"': {
        std::string s;
        json::Scanner scanner(text);
        static_cast<void>(scanner.string(&s));  // checked above
        v.type = SLUICE_STRING;
        v.as.str = memory.text(s);
        return v;
      }
      case '{': v.type = SLUICE_OBJECT; break;
      case '[': v.type = SLUICE_ARRAY; break;
      default: v.type = SLUICE_NUMBER; break;
    }
    v.as.str = memory.text(text);
    return v;
  }
  // The value at a path of names; absent when any of them is missing or its parent is no object.
  sluice_value field(std::string_view text, const std::vector<std::string>& path) {
    sluice_value v;
    std::memset(&v, 0, sizeof v);
    v.type = SLUICE_ABSENT;
    for (size_t i = 0; i < path.size(); ++i) {
      std::vector<json::Part> parts;
      std::string problem;
      const size_t start = text.find_first_not_of(" \t\r\n");
      const bool object = start != std::string_view::npos && text[start] == '{';
      if (i > 0 && !object) return json::problem_of(text).empty() ? v : leaf(text);
      if (!json::take_apart(text, &parts, &problem) || !object) {
        v.type = SLUICE_INVALID;
        v.as.str = memory.text(problem.empty() ? "not a JSON object" : problem);
        return v;
      }
      const json::Part* found = nullptr;
      for (const json::Part& p : parts)
        if (found == nullptr && p.name == path[i]) found = &p;
      if (found == nullptr) return v;
      text = found->text;
    }
    return leaf(text);
  }

  // Settings and what came out; the harness reads and writes them between calls.
  std::string id = "op", pipeline = "test";
  uint32_t lane = 0, lanes = 1, role = SLUICE_ROLE_COMPLETE;
  bool needs_body = false;
  int64_t watermark = SLUICE_NO_TIME;
  std::vector<FakeState> states;
  FakeTimers timers;
  std::vector<OutRow> out;
  size_t rows_given = 0;
  std::vector<RejectedRow> rejected;
  std::vector<SchemaOut> schemas;
  std::vector<uint32_t> markers;
  std::vector<SplitInfo> splits;  // by index
  std::map<uint64_t, std::string> origins;  // handle → payload
  CallMemory memory;
  std::vector<LogLine> logs;

 private:
  struct HostTable : sluice_host {
    FakeHost* owner = nullptr;
    HostTable() { std::memset(static_cast<sluice_host*>(this), 0, sizeof(sluice_host)); }
  };
  static FakeHost& of(const sluice_context* c) { return *static_cast<FakeHost*>(c->impl); }

  static sluice_code fail(sluice_error* e, sluice_code code, const std::string& what) {
    return Status(code, what).write(e);
  }
  sluice_code breach(sluice_error* e, const std::string& what) {
    add_breach(what);
    return fail(e, SLUICE_BUG, what);
  }
  // Runs `body` when an [operator] function may be called now; nothing that it throws gets back into the plugin.
  template <class F>
  static sluice_code in_call(const sluice_context* c, sluice_error* e, const char* function, F&& body) noexcept {
    try {
      FakeHost& h = of(c);
      {
        const std::unique_lock<std::mutex> lock(h.mutex_);
        std::string what;
        if (h.call_.name == nullptr)
          what = std::string(function) + "() was called while the host was in no call of this instance";
        else if (h.call_.thread != std::this_thread::get_id())
          what = std::string(function) + "() was called from a foreign thread; only those marked [any] in abi.h may be";
        else if (h.call_.control)
          what = std::string(function) + "() was called in " + h.call_.name + "(), which is too early or too late";
        if (!what.empty()) {
          h.breaches_ += (h.breaches_.empty() ? "" : "; ") + what;
          return fail(e, SLUICE_BUG, what);
        }
      }
      return body(h);
    } catch (const std::exception& x) {
      return fail(e, SLUICE_BUG, std::string("the harness failed: ") + x.what());
    }
  }

  // Does anything in the value lie in memory of an earlier call?
  bool is_dead(sluice_str s) const { return s.data != nullptr && memory.is_dead(s.data); }
  bool is_dead(const sluice_value& v) const {
    switch (v.type) {
      case SLUICE_NUMBER: case SLUICE_STRING: case SLUICE_ARRAY: case SLUICE_OBJECT: case SLUICE_INVALID: return is_dead(v.as.str);
      case SLUICE_LIST:
        for (size_t i = 0; i < v.as.list.size; ++i)
          if (is_dead(v.as.list.items[i])) return true;
        return false;
      case SLUICE_MAP:
        for (size_t i = 0; i < v.as.map.size; ++i)
          if (is_dead(v.as.map.members[i].name) || is_dead(v.as.map.members[i].value)) return true;
        return false;
      default: return false;
    }
  }
  sluice_code kept_view(sluice_error* e, const char* function) {
    return breach(e, std::string(function) + "() was given memory of an earlier call: what the host hands out dies when the call returns");
  }

  sluice_code emit_from_source(const sluice_rows& r, sluice_error* e) {
    if (call_.max_rows == 0) return breach(e, std::string("emit() of a source in ") + call_.name + "(): rows are given in poll()");
    if (r.body != nullptr) return breach(e, "emit() of a source with a body: sources give raw");
    if (r.size > 0 && (r.raw == nullptr || r.position == nullptr)) return breach(e, "emit() of a source without raw or position");
    if (r.split >= splits.size()) return breach(e, "emit() for split " + std::to_string(r.split) + ", which was not assigned");
    call_.emitted += r.size;
    if (call_.emitted > call_.max_rows)
      return breach(e, "poll() emitted " + std::to_string(call_.emitted) + " rows; at most " + std::to_string(call_.max_rows) + " were asked for");
    for (uint32_t i = 0; i < r.size; ++i) {
      if (r.position[i].data == nullptr) return breach(e, "emit() of a row without a position");
      if (is_dead(r.raw[i]) || is_dead(r.position[i])) return kept_view(e, "emit");
      OutRow o;
      o.tombstone = r.raw[i].data == nullptr;
      o.json = std::string(view(r.raw[i]));
      if (r.event_time != nullptr) o.event_time = r.event_time[i];
      if (r.change != nullptr) o.change = static_cast<sluice_change>(r.change[i]);
      if (r.raw_key != nullptr && r.raw_key[i].data != nullptr) o.message_key = std::string(view(r.raw_key[i]));
      o.position = std::string(view(r.position[i]));
      splits[r.split].position = o.position;
      o.split = splits[r.split].id;
      add_out(std::move(o));
    }
    return SLUICE_OK;
  }
  sluice_code reject_of_source(uint32_t row, std::string_view reason, sluice_error* e) {
    if (row >= call_.emitted)
      return breach(e, "reject() of row " + std::to_string(row) + " in a poll() that emitted " + std::to_string(call_.emitted));
    if (!call_.refused.insert(row).second) return breach(e, "reject() of row " + std::to_string(row) + " twice");
    const auto before = static_cast<size_t>(std::distance(call_.refused.begin(), call_.refused.find(row)));
    const size_t first = out.size() - (call_.emitted - (call_.refused.size() - 1));
    const auto refused = out.begin() + static_cast<std::ptrdiff_t>(first + row - before);
    rejected.push_back({refused->json, std::string(reason)});
    out.erase(refused);
    return SLUICE_OK;
  }
  sluice_code emit_from_transform(uint32_t port, const sluice_rows& r, sluice_error* e) {
    if (r.raw != nullptr) return breach(e, "emit() of a transform with raw: transforms give a body");
    if (r.size > 0 && r.body == nullptr) return breach(e, "emit() of a transform without a body");
    for (uint32_t i = 0; i < r.size; ++i) {
      const sluice_value& body = r.body[i];
      if (body.type != SLUICE_MAP && body.type != SLUICE_OBJECT)
        return breach(e, "emit() of a body that is no map, but a value of type " + std::to_string(body.type));
      if (is_dead(body)) return kept_view(e, "emit");
      OutRow o;
      o.port = port;
      if (r.from_row != nullptr) o.from_row = r.from_row[i];
      const InputRow* from = nullptr;
      if (o.from_row != SLUICE_NO_ROW) {
        if (call_.rows == nullptr) return breach(e, std::string("emit() with from_row in ") + call_.name + "(), which has no batch");
        if (o.from_row >= call_.rows->size())
          return breach(e, "emit() with from_row " + std::to_string(o.from_row) + " of a batch of " + std::to_string(call_.rows->size()) + " rows");
        from = &(*call_.rows)[o.from_row];
      }
      o.event_time = r.event_time != nullptr ? r.event_time[i] : from != nullptr ? from->meta.event_time : SLUICE_NO_TIME;
      o.change = r.change != nullptr ? static_cast<sluice_change>(r.change[i]) : from != nullptr ? from->meta.change : SLUICE_CHANGE_NONE;
      if (std::string problem = json::write(body, &o.json); !problem.empty()) return breach(e, "emit() of " + problem);
      add_out(std::move(o));
    }
    return SLUICE_OK;
  }
  sluice_code forward_rows(uint32_t port, const uint32_t* rows, size_t count, const sluice_attached* const* attached, size_t attached_count,
                           sluice_error* e) {
    if (desc_->kind != SLUICE_TRANSFORM) return breach(e, "forward() of an operator that is no transform");
    if (port > desc_->output_port_count) return breach(e, "forward() to output port " + std::to_string(port) + ", which was not declared");
    if (call_.rows == nullptr) return breach(e, std::string("forward() in ") + call_.name + "(), which has no batch");
    for (size_t i = 0; i < count; ++i) {
      if (rows[i] >= call_.rows->size())
        return breach(e, "forward() of row " + std::to_string(rows[i]) + " of a batch of " + std::to_string(call_.rows->size()) + " rows");
      const InputRow& in = (*call_.rows)[rows[i]];
      OutRow o;
      o.port = port;
      o.json = in.payload;
      o.tombstone = in.tombstone;
      o.event_time = in.meta.event_time;
      o.change = in.meta.change;
      o.from_row = rows[i];
      std::vector<std::pair<std::string, std::string>> added;
      for (size_t c = 0; c < attached_count; ++c) {
        if (!SLUICE_HAS(attached[c], sluice_attached, values)) return breach(e, "forward() with a column that is too short");
        const sluice_value& v = attached[c]->values[i];
        if (is_dead(v) || is_dead(attached[c]->name)) return kept_view(e, "forward");
        added.emplace_back(std::string(view(attached[c]->name)), std::string());
        if (v.type == SLUICE_ABSENT) continue;  // the row has no such field
        if (std::string problem = json::write(v, &added.back().second); !problem.empty()) return breach(e, "forward() with " + problem);
      }
      if (!o.tombstone) {
        // A row that goes on is valid JSON throughout, whatever the operator looked at.
        if (std::string problem = json::problem_of(in.payload); !problem.empty()) {
          rejected.push_back({in.payload, "not valid JSON: " + problem});
          continue;
        }
        o.json = json::with_members(in.payload, added);
      }
      add_out(std::move(o));
    }
    return SLUICE_OK;
  }
  void add_out(OutRow o) {
    out.push_back(std::move(o));
    ++rows_given;
  }
  sluice_code check_row(const sluice_batch* b, uint32_t row, const char* function, sluice_error* e) {
    if (call_.batch == nullptr || b != call_.batch) return breach(e, std::string(function) + "() for a batch that is not the one in process()");
    if (row >= call_.rows->size())
      return breach(e, std::string(function) + "() of row " + std::to_string(row) + " of a batch of " + std::to_string(call_.rows->size()) + " rows");
    if (call_.port == SLUICE_PORT_MAIN && !needs_body)
      return breach(e, std::string(function) + "() of an operator that did not say in needs() that it reads whole bodies");
    const InputRow& in = (*call_.rows)[row];
    if (in.tombstone) return fail(e, SLUICE_BAD_RECORD, "a tombstone has no body");
    std::string problem = json::problem_of(in.payload);
    const size_t start = in.payload.find_first_not_of(" \t\r\n");
    if (problem.empty() && in.payload[start] != '{') problem = "not a JSON object";
    return problem.empty() ? SLUICE_OK : fail(e, SLUICE_BAD_RECORD, "not valid JSON: " + problem);
  }
  // One level of an object or array as a MAP or LIST. The text is checked by the caller.
  sluice_code take_apart(std::string_view text, sluice_value* v, sluice_error* e) {
    std::vector<json::Part> parts;
    std::string problem;
    if (!json::take_apart(text, &parts, &problem)) return fail(e, SLUICE_BAD_RECORD, problem);
    std::memset(v, 0, sizeof *v);
    const bool list = text[text.find_first_not_of(" \t\r\n")] == '[';
    v->type = list ? SLUICE_LIST : SLUICE_MAP;
    auto* items = list ? memory.array<sluice_value>(parts.size()) : nullptr;
    auto* members = list ? nullptr : memory.array<sluice_member>(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      (list ? items[i] : members[i].value) = leaf(parts[i].text);
      if (!list) members[i].name = memory.text(parts[i].name);
    }
    if (list) {
      v->as.list.items = items;
      v->as.list.size = parts.size();
    } else {
      v->as.map.members = members;
      v->as.map.size = parts.size();
    }
    return SLUICE_OK;
  }

  // The state and the keys of a state function, checked.
  template <class F>
  static sluice_code with_state(const sluice_context* c, uint32_t index, size_t count, const sluice_str* keys, const sluice_str* subkeys,
                                sluice_error* e, const char* function, bool writes, F&& body) noexcept {
    return in_call(c, e, function, [&](FakeHost& h) {
      if (index >= h.states.size()) return h.breach(e, std::string(function) + "() of state " + std::to_string(index) + ", which was not declared");
      FakeState& s = h.states[index];
      if (s.kind() == SLUICE_STATE_MAP && subkeys == nullptr) return h.breach(e, std::string(function) + "() of map state `" + s.name() + "` without subkeys");
      if (writes && s.kind() == SLUICE_STATE_BROADCAST && h.call_.port != SLUICE_PORT_BROADCAST)
        return h.breach(e, "broadcast state `" + s.name() + "` was written in " + h.call_.name + "(), which is not the broadcast port: lanes would differ");
      for (size_t i = 0; i < count; ++i) {
        if (h.is_dead(keys[i]) || (s.kind() == SLUICE_STATE_MAP && h.is_dead(subkeys[i]))) return h.kept_view(e, function);
        const FakeState::Key key(view(keys[i]), s.kind() == SLUICE_STATE_MAP ? view(subkeys[i]) : std::string_view());
        if (const sluice_code code = body(h, s, key, i); code != SLUICE_OK) return code;
      }
      return sluice_code{SLUICE_OK};
    });
  }

  void fill_functions(sluice_context* c) {
    c->emit = [](const sluice_context* x, uint32_t port, const sluice_rows* r, sluice_error* e) noexcept {
      return in_call(x, e, "emit", [&](FakeHost& h) {
        if (!SLUICE_HAS(r, sluice_rows, split)) return h.breach(e, "emit() of rows whose struct is too short");
        if (h.desc_->kind == SLUICE_SINK) return h.breach(e, "emit() of a sink");
        if (port > h.desc_->output_port_count) return h.breach(e, "emit() to output port " + std::to_string(port) + ", which was not declared");
        return h.desc_->kind == SLUICE_SOURCE ? h.emit_from_source(*r, e) : h.emit_from_transform(port, *r, e);
      });
    };
    c->forward = [](const sluice_context* x, uint32_t port, const uint32_t* rows, size_t count, const sluice_attached* const* attached,
                    size_t attached_count, sluice_error* e) noexcept {
      return in_call(x, e, "forward", [&](FakeHost& h) { return h.forward_rows(port, rows, count, attached, attached_count, e); });
    };
    c->emit_schema = [](const sluice_context* x, const sluice_schema* s, sluice_error* e) noexcept {
      return in_call(x, e, "emit_schema", [&](FakeHost& h) {
        if (!SLUICE_HAS(s, sluice_schema, origin)) return h.breach(e, "emit_schema() of a struct that is too short");
        if (s->table.size == 0 || s->key_count == 0) return h.breach(e, "emit_schema() without a table or without key columns");
        SchemaOut o{std::string(view(s->table)), {}, {}, std::string(view(s->extend)), std::string(view(s->origin)), h.rows_given};
        for (size_t i = 0; i < s->column_count; ++i) o.columns.emplace_back(view(s->columns[i]));
        for (size_t i = 0; i < s->key_count; ++i) {
          o.key.emplace_back(view(s->key[i]));
          bool known = false;
          for (const auto& column : o.columns) known = known || column == o.key.back();
          if (!known) return h.breach(e, "emit_schema() with key column `" + o.key.back() + "` that is not among the columns");
        }
        h.schemas.push_back(std::move(o));
        return sluice_code{SLUICE_OK};
      });
    };
    c->emit_marker = [](const sluice_context* x, uint32_t marker, sluice_error* e) noexcept {
      return in_call(x, e, "emit_marker", [&](FakeHost& h) {
        if (h.desc_->kind != SLUICE_SOURCE) return h.breach(e, "emit_marker() of an operator that is no source");
        h.markers.push_back(marker);
        return sluice_code{SLUICE_OK};
      });
    };
    c->body = [](const sluice_context* x, const sluice_batch* b, uint32_t row, sluice_value* v, sluice_error* e) noexcept {
      return in_call(x, e, "body", [&](FakeHost& h) {
        if (const sluice_code code = h.check_row(b, row, "body", e); code != SLUICE_OK) return code;
        return h.take_apart((*h.call_.rows)[row].payload, v, e);
      });
    };
    c->json = [](const sluice_context* x, const sluice_batch* b, uint32_t row, sluice_str* text, sluice_error* e) noexcept {
      return in_call(x, e, "json", [&](FakeHost& h) {
        if (const sluice_code code = h.check_row(b, row, "json", e); code != SLUICE_OK) return code;
        *text = h.memory.text((*h.call_.rows)[row].payload);
        return sluice_code{SLUICE_OK};
      });
    };
    c->parse = [](const sluice_context* x, const sluice_value* in, sluice_value* v, sluice_error* e) noexcept {
      return in_call(x, e, "parse", [&](FakeHost& h) {
        if (h.is_dead(*in)) return h.kept_view(e, "parse");
        if (in->type == SLUICE_MAP || in->type == SLUICE_LIST) {
          *v = *in;
          return sluice_code{SLUICE_OK};
        }
        if (in->type != SLUICE_OBJECT && in->type != SLUICE_ARRAY) return fail(e, SLUICE_BAD_RECORD, "neither an object nor an array");
        const std::string text(view(in->as.str));
        if (std::string problem = json::problem_of(text); !problem.empty()) return fail(e, SLUICE_BAD_RECORD, "not valid JSON: " + problem);
        return h.take_apart(text, v, e);
      });
    };
    c->to_json = [](const sluice_context* x, const sluice_value* in, sluice_str* text, sluice_error* e) noexcept {
      return in_call(x, e, "to_json", [&](FakeHost& h) {
        if (h.is_dead(*in)) return h.kept_view(e, "to_json");
        std::string t;
        if (std::string problem = json::write(*in, &t); !problem.empty()) return fail(e, SLUICE_BAD_RECORD, problem);
        *text = h.memory.text(t);
        return sluice_code{SLUICE_OK};
      });
    };
    c->reject = [](const sluice_context* x, uint32_t row, sluice_str reason, sluice_error* e) noexcept {
      return in_call(x, e, "reject", [&](FakeHost& h) {
        if (h.call_.max_rows > 0) return h.reject_of_source(row, view(reason), e);
        if (h.call_.rows == nullptr) return h.breach(e, std::string("reject() in ") + h.call_.name + "(), which has no batch");
        if (row >= h.call_.rows->size())
          return h.breach(e, "reject() of row " + std::to_string(row) + " of a batch of " + std::to_string(h.call_.rows->size()) + " rows");
        h.rejected.push_back({(*h.call_.rows)[row].payload, std::string(view(reason))});
        return sluice_code{SLUICE_OK};
      });
    };
    c->keep_origin = [](const sluice_context* x, uint32_t row, uint64_t* handle, sluice_error* e) noexcept {
      return in_call(x, e, "keep_origin", [&](FakeHost& h) {
        if (h.call_.rows == nullptr || row >= h.call_.rows->size()) return h.breach(e, "keep_origin() of a row that is not in the batch");
        *handle = ++h.last_origin_;
        h.origins[*handle] = (*h.call_.rows)[row].payload;
        return sluice_code{SLUICE_OK};
      });
    };
    c->reject_origin = [](const sluice_context* x, uint64_t handle, sluice_str reason, sluice_error* e) noexcept {
      return in_call(x, e, "reject_origin", [&](FakeHost& h) {
        const auto it = h.origins.find(handle);
        if (it == h.origins.end()) return h.breach(e, "reject_origin() of a handle that is not kept");
        h.rejected.push_back({it->second, std::string(view(reason))});
        h.origins.erase(it);
        return sluice_code{SLUICE_OK};
      });
    };
    c->drop_origins = [](const sluice_context* x, uint64_t up_to, sluice_error* e) noexcept {
      return in_call(x, e, "drop_origins", [&](FakeHost& h) {
        h.origins.erase(h.origins.begin(), h.origins.upper_bound(up_to));
        return sluice_code{SLUICE_OK};
      });
    };
    c->state_get = [](const sluice_context* x, uint32_t state, size_t n, const sluice_str* keys, const sluice_str* subkeys, sluice_str* values,
                      sluice_error* e) noexcept {
      return with_state(x, state, n, keys, subkeys, e, "state_get", false, [&](FakeHost& h, FakeState& s, const FakeState::Key& key, size_t i) {
        const std::string* v = s.get(key, h.state_now(s));
        values[i] = v == nullptr ? sluice_str{nullptr, 0} : h.memory.text(*v);
        return sluice_code{SLUICE_OK};
      });
    };
    c->state_put = [](const sluice_context* x, uint32_t state, size_t n, const sluice_str* keys, const sluice_str* subkeys, const sluice_str* values,
                      sluice_error* e) noexcept {
      return with_state(x, state, n, keys, subkeys, e, "state_put", true, [&](FakeHost& h, FakeState& s, const FakeState::Key& key, size_t i) {
        if (h.is_dead(values[i])) return h.kept_view(e, "state_put");
        if (values[i].data == nullptr) return h.breach(e, "state_put() of a value without data");
        s.put(key, view(values[i]), h.state_now(s));
        return sluice_code{SLUICE_OK};
      });
    };
    c->state_erase = [](const sluice_context* x, uint32_t state, size_t n, const sluice_str* keys, const sluice_str* subkeys, sluice_error* e) noexcept {
      return with_state(x, state, n, keys, subkeys, e, "state_erase", true, [&](FakeHost&, FakeState& s, const FakeState::Key& key, size_t) {
        s.erase(key);
        return sluice_code{SLUICE_OK};
      });
    };
    c->state_scan = [](const sluice_context* x, uint32_t state, sluice_str key, sluice_visit visit, void* user, sluice_error* e) noexcept {
      return in_call(x, e, "state_scan", [&](FakeHost& h) {
        if (state >= h.states.size()) return h.breach(e, "state_scan() of state " + std::to_string(state) + ", which was not declared");
        FakeState& s = h.states[state];
        if (s.kind() == SLUICE_STATE_VALUE) return fail(e, SLUICE_UNSUPPORTED, "value state `" + s.name() + "` cannot be scanned");
        if (h.is_dead(key)) return h.kept_view(e, "state_scan");
        const bool map = s.kind() == SLUICE_STATE_MAP;
        const std::string prefix(view(key));
        // A copy: the visitor may write to the state.
        for (const auto& entry : s.visible(map ? &prefix : nullptr, h.state_now(s)))
          if (visit(user, h.memory.text(map ? entry.first.second : entry.first.first), h.memory.text(entry.second.value)) == 0) break;
        return sluice_code{SLUICE_OK};
      });
    };
    c->timer_set = [](const sluice_context* x, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error* e) noexcept {
      return in_call(x, e, "timer_set", [&](FakeHost& h) { return h.change_timer(true, clock, key, at, tag, e); });
    };
    c->timer_erase = [](const sluice_context* x, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error* e) noexcept {
      return in_call(x, e, "timer_erase", [&](FakeHost& h) { return h.change_timer(false, clock, key, at, tag, e); });
    };
    c->split_status = [](const sluice_context* x, uint32_t split, uint32_t flags) noexcept {
      in_call(x, nullptr, "split_status", [&](FakeHost& h) {
        if (split >= h.splits.size()) return h.breach(nullptr, "split_status() of split " + std::to_string(split) + ", which was not assigned");
        constexpr uint32_t kStays = SLUICE_SPLIT_SNAPSHOT_COMPLETE | SLUICE_SPLIT_END;
        h.splits[split].flags = flags | (h.splits[split].flags & kStays);
        return sluice_code{SLUICE_OK};
      });
    };
    c->split_lag = [](const sluice_context* x, uint32_t split, int64_t rows) noexcept {
      in_call(x, nullptr, "split_lag", [&](FakeHost& h) {
        if (split >= h.splits.size()) return h.breach(nullptr, "split_lag() of split " + std::to_string(split) + ", which was not assigned");
        h.splits[split].lag = rows;
        return sluice_code{SLUICE_OK};
      });
    };
    c->split_position = [](const sluice_context* x, uint32_t split, sluice_str position) noexcept {
      in_call(x, nullptr, "split_position", [&](FakeHost& h) {
        if (split >= h.splits.size()) return h.breach(nullptr, "split_position() of split " + std::to_string(split) + ", which was not assigned");
        if (position.data == nullptr) return h.breach(nullptr, "split_position() without a position");
        if (h.is_dead(position)) return h.kept_view(nullptr, "split_position");
        h.splits[split].position = std::string(view(position));
        return sluice_code{SLUICE_OK};
      });
    };
    c->watermark = [](const sluice_context* x) noexcept -> int64_t {
      int64_t w = SLUICE_NO_TIME;
      in_call(x, nullptr, "watermark", [&](FakeHost& h) {
        w = h.watermark;
        return sluice_code{SLUICE_OK};
      });
      return w;
    };
    c->now = [](const sluice_context* x) noexcept { return of(x).now(); };
    c->count = [](const sluice_context* x, sluice_str metric, int64_t delta) noexcept {
      FakeHost& h = of(x);
      const std::lock_guard<std::mutex> lock(h.mutex_);
      h.counters_[std::string(view(metric))] += delta;
    };
    c->status_note = [](const sluice_context* x, sluice_str text) noexcept {
      FakeHost& h = of(x);
      const std::lock_guard<std::mutex> lock(h.mutex_);
      h.note_ = std::string(view(text));
    };
    c->wake = [](const sluice_context* x) noexcept {
      FakeHost& h = of(x);
      const std::lock_guard<std::mutex> lock(h.mutex_);
      ++h.wakes_;
    };
    c->stopping = [](const sluice_context* x) noexcept -> int32_t {
      FakeHost& h = of(x);
      const std::lock_guard<std::mutex> lock(h.mutex_);
      return h.stopping_ ? 1 : 0;
    };
  }
  sluice_code change_timer(bool set, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error* e) {
    if (clock != SLUICE_CLOCK_EVENT && clock != SLUICE_CLOCK_PROCESSING) return breach(e, "a timer of clock " + std::to_string(clock) + ", which does not exist");
    if (is_dead(key)) return kept_view(e, "timer_set");
    FakeTimers::Timer t{at, std::string(view(key)), tag};
    if (set) timers.set(clock, std::move(t));
    else timers.erase(clock, t);
    return SLUICE_OK;
  }

  const sluice_operator_desc* desc_;
  HostTable host_;
  Call call_;
  uint64_t last_origin_ = 0;
  mutable std::mutex mutex_;  // guards what [any] functions touch, breaches_, and call_ against foreign threads
  std::string breaches_, note_;
  std::map<std::string, int64_t> counters_;
  int64_t now_ = 1600000000000;  // 2020-09-13T12:26:40Z
  int wakes_ = 0;
  bool stopping_ = false;
};

}  // namespace sluice::testing
