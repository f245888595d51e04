#include "runtime/operator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "data/json_writer.h"
#include "data/made_value.h"
#include "data/text_view.h"
#include "sluice/ext/added_splits.h"
#include "sluice/ext/ended_splits.h"
#include "sluice/ext/plan.h"

namespace sluice::runtime {
namespace {

using data::view;
sluice_str str(std::string_view s) { return {s.data(), s.size()}; }

// The instance whose function this thread is running; how calls from a plugin's own threads are told apart.
thread_local const Operator* running_instance = nullptr;

sluice_code write_error(sluice_error* out, sluice_code code, std::string_view message, uint32_t retry_after_ms = 0) {
  if (out != nullptr) {
    out->code = code;
    out->retry_after_ms = retry_after_ms;
    out->message_size = static_cast<uint32_t>(std::min(message.size(), sizeof out->message));
    std::memcpy(out->message, message.data(), out->message_size);
  }
  return code;
}
sluice_code write_error(sluice_error* out, const base::Status& s) {
  return write_error(out, static_cast<sluice_code>(s.code()), s.message(), s.retry_after_ms());
}

}  // namespace

const char* running_operator() noexcept { return running_instance != nullptr ? running_instance->name_for_messages_.c_str() : nullptr; }

// ---- options -------------------------------------------------------------------------------------

sluice_str ConfigValue::keep(const std::string& s) {
  texts_.push_back(s);
  return str(texts_.back());
}

ConfigValue::ConfigValue(const config::OptionValues& options) {
  for (const auto& [name, option] : options) {
    sluice_value v{SLUICE_NULL, 0, {}};
    switch (option.type) {
      case config::OptionType::kBool:
        v.type = SLUICE_BOOL;
        v.as.i64 = option.as_bool() ? 1 : 0;
        break;
      case config::OptionType::kInt: case config::OptionType::kDuration: case config::OptionType::kSize:
        v.type = SLUICE_INT64;
        v.as.i64 = option.as_int();
        break;
      case config::OptionType::kDouble:
        v.type = SLUICE_DOUBLE;
        v.as.f64 = option.as_double();
        break;
      case config::OptionType::kString: case config::OptionType::kEnum:
        v.type = SLUICE_STRING;
        v.as.str = keep(option.as_string());
        break;
      case config::OptionType::kList: {
        auto& items = lists_.emplace_back();
        for (const auto& item : option.as_list()) items.push_back({SLUICE_STRING, 0, {.str = keep(item)}});
        v.type = SLUICE_LIST;
        v.as.list.items = items.data();
        v.as.list.size = items.size();
        break;
      }
      case config::OptionType::kMap: {
        auto& members = maps_.emplace_back();
        for (const auto& [k, text] : option.as_map()) {
          const sluice_str key = keep(k);
          members.push_back({key, {SLUICE_STRING, 0, {.str = keep(text)}}});
        }
        v.type = SLUICE_MAP;
        v.as.map.members = members.data();
        v.as.map.size = members.size();
        break;
      }
    }
    members_.push_back({keep(name), v});
  }
  root_ = {SLUICE_MAP, 0, {}};
  root_.as.map.members = members_.data();
  root_.as.map.size = members_.size();
}

std::shared_ptr<const Schema> Schema::copy(const sluice_schema& s) {
  auto out = std::make_shared<Schema>();
  out->table = view(s.table);
  out->extend = view(s.extend);
  out->origin = view(s.origin);
  for (size_t i = 0; i < s.column_count; ++i) out->columns.emplace_back(view(s.columns[i]));
  for (size_t i = 0; i < s.key_count; ++i) out->key.emplace_back(view(s.key[i]));
  return out;
}

// ---- what the plugin calls -------------------------------------------------------------------------

struct ContextFunctions {
  static Operator& self(const sluice_context* ctx) { return *static_cast<Operator*>(ctx->impl); }

  // Every [operator] function begins with this: the exception barrier and the thread check.
  template <class F>
  static sluice_code guarded(const sluice_context* ctx, sluice_error* err, const char* what, F&& body) noexcept {
    Operator& op = self(ctx);
    try {
      if (running_instance != &op) {
        const std::string text = std::string(what) + " was called from a thread in which the host is not calling this instance";
        {
          const std::lock_guard lock(op.shared_mutex_);
          op.misuse_ = text;
        }
        return write_error(err, SLUICE_BUG, text);
      }
      return write_error(err, body(op));
    } catch (const std::exception& e) {
      return write_error(err, SLUICE_BUG, std::string("host: ") + e.what());
    } catch (...) {
      return write_error(err, SLUICE_BUG, "host: unknown exception");
    }
  }

  // The plugin gives something to `what`. With --debug-plugins: is it memory that it had been handed in an earlier call?
  template <class T>
  static base::Status still_lives(Operator& op, const char* what, const T* given, size_t count) {
    if (op.handed_out_ == nullptr || given == nullptr) return base::Status::ok();
    for (size_t i = 0; i < count; ++i) {
      if (!op.handed_out_->is_dead(given[i])) continue;
      const std::string text = std::string(what) + " was given memory of an earlier call: what the host hands out dies when the call returns";
      const std::lock_guard lock(op.shared_mutex_);
      op.misuse_ = text;
      return base::Status::bug(text);
    }
    return base::Status::ok();
  }
  // What the plugin may look at until its call returns.
  static sluice_str hand_out(Operator& op, sluice_str s) { return op.handed_out_ != nullptr ? op.handed_out_->text(s) : s; }
  static sluice_value hand_out(Operator& op, const sluice_value& v) { return op.handed_out_ != nullptr ? op.handed_out_->value(v) : v; }

  static base::Status emit_source(Operator& op, const sluice_rows& rows) {
    SLUICE_TRY(still_lives(op, "emit", rows.raw, rows.size));
    SLUICE_TRY(still_lives(op, "emit", rows.raw_key, rows.size));
    SLUICE_TRY(still_lives(op, "emit", rows.position, rows.size));
    const auto arena = op.arena_();
    SourceRows& to = op.source_rows;
    for (uint32_t i = 0; i < rows.size; ++i) {
      to.event_time.push_back(rows.event_time != nullptr ? rows.event_time[i] : SLUICE_NO_TIME);
      to.change.push_back(rows.change != nullptr ? rows.change[i] : static_cast<uint8_t>(SLUICE_CHANGE_NONE));
      to.raw.push_back(arena->copy(rows.raw[i]));
      to.raw_key.push_back(rows.raw_key != nullptr ? arena->copy(rows.raw_key[i]) : sluice_str{nullptr, 0});
      to.position.push_back(arena->copy(rows.position[i]));
      to.split.push_back(rows.split);
    }
    return base::Status::ok();
  }

  // Instead of a row that has a value which is not what it says. `from`: the row that it was made of.
  static void reject_made(Operator& op, uint32_t from, const sluice_value& body, const std::string& why) {
    Rejected r{from, 0, "operator \"" + op.id() + "\" (" + op.node_.section->use + ") gave a row that is not valid JSON: " + why};
    if (from == SLUICE_NO_ROW) data::append_json(body, &r.made);
    op.rejected.push_back(std::move(r));
  }

  static sluice_code emit(const sluice_context* ctx, uint32_t port, const sluice_rows* rows, sluice_error* err) {
    return guarded(ctx, err, "emit", [&](Operator& op) -> base::Status {
      if (rows->size == 0) return base::Status::ok();
      if (op.node_.is_source()) {
        if (!op.polling_) return base::Status::bug("emit: a source gives rows in poll() only");
        if (rows->raw == nullptr || rows->position == nullptr) return base::Status::bug("a source's rows need raw and position");
        return emit_source(op, *rows);
      }
      if (op.node_.is_sink()) return base::Status::bug("a sink has no output");
      if (rows->body == nullptr) return base::Status::bug("a transform's rows need a body");
      if (port > op.node_.desc->output_port_count) return base::Status::bug("output port " + std::to_string(port) + " does not exist");
      SLUICE_TRY(still_lives(op, "emit", rows->body, rows->size));
      data::RowBatch out;
      out.arena = op.arena_();
      data::Arena& arena = *out.arena;
      const uint32_t n = rows->size;
      out.size = n;
      out.event_time = arena.array<int64_t>(n);
      out.watermark = arena.array<int64_t>(n);
      out.change = arena.array<uint8_t>(n);
      out.raw = arena.array<sluice_str>(n);
      out.raw_key = arena.array<sluice_str>(n);
      out.origin = arena.array<data::Origin>(n);
      out.body = arena.array<sluice_value>(n);
      const data::RowBatch* in = op.in_;
      std::vector<bool> bad;
      std::string why;
      for (uint32_t i = 0; i < n; ++i) {
        const uint32_t from = rows->from_row != nullptr ? rows->from_row[i] : SLUICE_NO_ROW;
        const bool inherits = from != SLUICE_NO_ROW;
        if (inherits && (in == nullptr || from >= in->size))
          return base::Status::bug("emit: from_row " + std::to_string(from) + " is no row of the batch");
        const sluice_value& body = rows->body[i];
        if (body.type != SLUICE_MAP && body.type != SLUICE_OBJECT) return base::Status::bug("emit: the body of a row must be a map or an object");
        out.body[i] = data::copy_value(body, arena);
        if (!data::check_made_value(out.body[i], *op.reader_, &why)) {
          bad.resize(n);
          bad[i] = true;
          reject_made(op, from, out.body[i], why);
        }
        out.event_time[i] = rows->event_time != nullptr && rows->event_time[i] != SLUICE_NO_TIME ? rows->event_time[i]
                            : inherits && in->event_time != nullptr                               ? in->event_time[from]
                                                                                                  : SLUICE_NO_TIME;
        out.watermark[i] = inherits && in->watermark != nullptr ? in->watermark[from] : op.watermark.load(std::memory_order_relaxed);
        out.change[i] = rows->change != nullptr && rows->change[i] != SLUICE_CHANGE_NONE ? rows->change[i]
                        : inherits && in->change != nullptr                               ? in->change[from]
                                                                                          : static_cast<uint8_t>(SLUICE_CHANGE_NONE);
        out.raw[i] = inherits && in->raw != nullptr ? in->raw[from] : sluice_str{nullptr, 0};
        out.raw_key[i] = inherits && in->raw_key != nullptr ? in->raw_key[from] : sluice_str{nullptr, 0};
        out.origin[i] = inherits && in->origin != nullptr ? in->origin[from] : data::Origin{};
      }
      if (!bad.empty()) out = data::without(out, bad);
      op.emissions.push_back({Emission::Kind::kRows, port, std::move(out), nullptr, 0});
      return base::Status::ok();
    });
  }

  static sluice_code forward(const sluice_context* ctx, uint32_t port, const uint32_t* rows, size_t count,
                             const sluice_attached* const* attached, size_t attached_count, sluice_error* err) {
    return guarded(ctx, err, "forward", [&](Operator& op) -> base::Status {
      if (op.in_ == nullptr) return base::Status::bug("forward: there is no batch");
      if (port > op.node_.desc->output_port_count) return base::Status::bug("output port " + std::to_string(port) + " does not exist");
      if (count == 0) return base::Status::ok();
      bool all = count == op.in_->size;
      for (size_t i = 0; i < count; ++i) {
        if (rows[i] >= op.in_->size) return base::Status::bug("forward: row " + std::to_string(rows[i]) + " is no row of the batch");
        all = all && rows[i] == i;
      }
      data::RowBatch out = all ? *op.in_ : data::gather(*op.in_, {rows, count}, op.node_.needed_below);
      std::vector<bool> bad;
      std::string why;
      for (size_t a = 0; a < attached_count; ++a) {
        SLUICE_TRY(still_lives(op, "forward", attached[a]->values, count));
        const std::string_view name = view(attached[a]->name);
        auto* values = out.arena->array<sluice_value>(count);
        for (size_t i = 0; i < count; ++i) {
          const sluice_value& v = attached[a]->values[i];
          // Runs of one and the same text (a table's name, its columns) are copied once.
          const bool again = i > 0 && v.type == SLUICE_STRING && attached[a]->values[i - 1].type == SLUICE_STRING &&
                             attached[a]->values[i - 1].as.str.data == v.as.str.data && attached[a]->values[i - 1].as.str.size == v.as.str.size;
          values[i] = again ? values[i - 1] : data::copy_value(v, *out.arena);
          const bool known = again && (bad.empty() || !bad[i - 1]);
          if (known || data::check_made_value(values[i], *op.reader_, &why)) continue;
          const sluice_member named{attached[a]->name, values[i]};
          sluice_value body{SLUICE_MAP, 0, {}};
          body.as.map.members = &named;
          body.as.map.size = 1;
          data::check_made_value(body, *op.reader_, &why);  // says which field
          bad.resize(count);
          if (!bad[i]) reject_made(op, rows[i], body, why);
          bad[i] = true;
        }
        std::erase_if(out.attached, [&](const auto& old) { return view(old.name) == name; });
        out.attached.push_back({out.arena->copy(name), values});
        for (size_t f = 0; f < out.fields.size(); ++f)
          if (op.job_.plan->fields.names(f)[0] == name) out.fields[f] = nullptr;
      }
      if (!bad.empty()) out = data::without(out, bad);
      op.emissions.push_back({Emission::Kind::kRows, port, std::move(out), nullptr, 0});
      return base::Status::ok();
    });
  }

  static sluice_code emit_schema(const sluice_context* ctx, const sluice_schema* schema, sluice_error* err) {
    return guarded(ctx, err, "emit_schema", [&](Operator& op) -> base::Status {
      if (schema->table.size == 0 || schema->column_count == 0 || schema->key_count == 0)
        return base::Status::bug("emit_schema: a table needs a name, columns and a key");
      op.emissions.push_back({Emission::Kind::kSchema, 0, {}, Schema::copy(*schema), 0});
      return base::Status::ok();
    });
  }
  static sluice_code emit_marker(const sluice_context* ctx, uint32_t marker, sluice_error* err) {
    return guarded(ctx, err, "emit_marker", [&](Operator& op) -> base::Status {
      if (!op.node_.is_source()) return base::Status::bug("emit_marker: only sources have snapshots");
      op.emissions.push_back({Emission::Kind::kMarker, 0, {}, nullptr, marker});
      return base::Status::ok();
    });
  }

  static sluice_code body(const sluice_context* ctx, const sluice_batch*, uint32_t row, sluice_value* out, sluice_error* err) {
    return guarded(ctx, err, "body", [&](Operator& op) -> base::Status {
      std::string error;
      if (op.in_ == nullptr || row >= op.in_->size) return base::Status::bug("body: no such row");
      if (!data::row_body(*op.in_, row, *op.reader_, out, &error)) return base::Status::bad_record(error);
      *out = hand_out(op, *out);
      return base::Status::ok();
    });
  }
  static sluice_code json(const sluice_context* ctx, const sluice_batch*, uint32_t row, sluice_str* out, sluice_error* err) {
    return guarded(ctx, err, "json", [&](Operator& op) -> base::Status {
      std::string error;
      if (op.in_ == nullptr || row >= op.in_->size) return base::Status::bug("json: no such row");
      if (!data::row_json(*op.in_, row, *op.reader_, out, &error)) return base::Status::bad_record(error);
      *out = hand_out(op, *out);
      return base::Status::ok();
    });
  }
  static sluice_code parse(const sluice_context* ctx, const sluice_value* in, sluice_value* out, sluice_error* err) {
    return guarded(ctx, err, "parse", [&](Operator& op) -> base::Status {
      SLUICE_TRY(still_lives(op, "parse", in, 1));
      if (in->type == SLUICE_MAP || in->type == SLUICE_LIST) {
        *out = *in;
        return base::Status::ok();
      }
      if (in->type != SLUICE_OBJECT && in->type != SLUICE_ARRAY) return base::Status::bad_record("not an object and not an array");
      std::string error;
      // A text of the plugin's own has no padding behind it.
      const sluice_str text = op.owns(in->as.str) ? in->as.str : op.arena_()->copy(view(in->as.str));
      if (!op.reader_->parse(view(text), out, *op.arena_(), &error)) return base::Status::bad_record(error);
      *out = hand_out(op, *out);
      return base::Status::ok();
    });
  }
  static sluice_code to_json(const sluice_context* ctx, const sluice_value* in, sluice_str* out, sluice_error* err) {
    return guarded(ctx, err, "to_json", [&](Operator& op) -> base::Status {
      SLUICE_TRY(still_lives(op, "to_json", in, 1));
      std::string text;
      data::append_json(*in, &text);
      *out = hand_out(op, op.arena_()->copy(std::string_view(text)));
      return base::Status::ok();
    });
  }

  static sluice_code reject(const sluice_context* ctx, uint32_t row, sluice_str reason, sluice_error* err) {
    return guarded(ctx, err, "reject", [&](Operator& op) -> base::Status {
      const size_t rows = op.node_.is_source() ? op.source_rows.raw.size() : op.in_ != nullptr ? op.in_->size : 0;
      if (row >= rows) return base::Status::bug("reject: no such row");
      SLUICE_TRY(still_lives(op, "reject", &reason, 1));
      // A row of the broadcast input is given to every lane: one speaks for all.
      if (op.in_ != nullptr && op.port_ == SLUICE_PORT_BROADCAST && op.lane_ > 0) return base::Status::ok();
      op.rejected.push_back({row, 0, std::string(view(reason))});
      return base::Status::ok();
    });
  }
  static sluice_code keep_origin(const sluice_context* ctx, uint32_t row, uint64_t* handle, sluice_error* err) {
    return guarded(ctx, err, "keep_origin", [&](Operator& op) -> base::Status {
      if (op.in_ == nullptr || row >= op.in_->size) return base::Status::bug("keep_origin: no such row");
      KeptOrigin kept;
      kept.row = row;
      const data::RowBatch& in = *op.in_;
      std::string_view position;
      if (in.origin != nullptr) {
        kept.source = in.origin[row].source;
        kept.split = in.origin[row].split;
        position = view(in.origin[row].position);
      }
      kept.has_raw = in.raw != nullptr && in.raw[row].data != nullptr;
      kept.has_key = in.raw_key != nullptr && in.raw_key[row].data != nullptr;
      kept.set_texts(position, kept.has_raw ? view(in.raw[row]) : std::string_view(), kept.has_key ? view(in.raw_key[row]) : std::string_view());
      *handle = op.origins.keep(std::move(kept));
      return base::Status::ok();
    });
  }
  static sluice_code reject_origin(const sluice_context* ctx, uint64_t handle, sluice_str reason, sluice_error* err) {
    return guarded(ctx, err, "reject_origin", [&](Operator& op) -> base::Status {
      if (!op.origins.refuse(handle)) return base::Status::bug("reject_origin: unknown handle");
      op.rejected.push_back({SLUICE_NO_ROW, handle, std::string(view(reason))});
      return base::Status::ok();
    });
  }
  static sluice_code drop_origins(const sluice_context* ctx, uint64_t up_to, sluice_error* err) {
    return guarded(ctx, err, "drop_origins", [&](Operator& op) -> base::Status {
      op.origins.drop(up_to);
      return base::Status::ok();
    });
  }

  static base::Status table(Operator& op, uint32_t index, bool write, state::StateTable** out) {
    if (index >= op.tables_.size() || op.tables_[index] == nullptr) return base::Status::bug("state " + std::to_string(index) + " is not declared");
    *out = op.tables_[index];
    if (write && (*out)->decl().kind == state::StateKind::kBroadcast && op.in_ != nullptr && op.port_ != SLUICE_PORT_BROADCAST)
      return base::Status::bug("broadcast state `" + (*out)->decl().name + "` may be written on the broadcast port only");
    return base::Status::ok();
  }
  // Converts keys to views; small batches stay on the stack of the call.
  struct Views {
    std::vector<std::string_view> v;
    Views(const sluice_str* s, size_t n) {
      if (s == nullptr) return;
      v.reserve(n);
      for (size_t i = 0; i < n; ++i) v.push_back(s[i].data == nullptr ? std::string_view("", 0) : view(s[i]));
    }
  };
  static sluice_code state_get(const sluice_context* ctx, uint32_t state, size_t count, const sluice_str* keys, const sluice_str* subkeys,
                               sluice_str* values, sluice_error* err) {
    return guarded(ctx, err, "state_get", [&](Operator& op) -> base::Status {
      state::StateTable* t = nullptr;
      SLUICE_TRY(table(op, state, false, &t));
      SLUICE_TRY(still_lives(op, "state_get", keys, count));
      const Views k(keys, count), s(subkeys, count);
      std::vector<std::string_view> found(count);
      SLUICE_TRY(t->get_many(k.v, s.v, found.data()));
      for (size_t i = 0; i < count; ++i) values[i] = hand_out(op, str(found[i]));
      return base::Status::ok();
    });
  }
  static sluice_code state_put(const sluice_context* ctx, uint32_t state, size_t count, const sluice_str* keys, const sluice_str* subkeys,
                               const sluice_str* values, sluice_error* err) {
    return guarded(ctx, err, "state_put", [&](Operator& op) -> base::Status {
      state::StateTable* t = nullptr;
      SLUICE_TRY(table(op, state, true, &t));
      SLUICE_TRY(still_lives(op, "state_put", keys, count));
      SLUICE_TRY(still_lives(op, "state_put", values, count));
      for (size_t i = 0; i < count; ++i)
        SLUICE_TRY(t->put(view(keys[i]), subkeys != nullptr ? view(subkeys[i]) : std::string_view(), view(values[i])));
      return base::Status::ok();
    });
  }
  static sluice_code state_erase(const sluice_context* ctx, uint32_t state, size_t count, const sluice_str* keys, const sluice_str* subkeys,
                                 sluice_error* err) {
    return guarded(ctx, err, "state_erase", [&](Operator& op) -> base::Status {
      state::StateTable* t = nullptr;
      SLUICE_TRY(table(op, state, true, &t));
      for (size_t i = 0; i < count; ++i) SLUICE_TRY(t->erase(view(keys[i]), subkeys != nullptr ? view(subkeys[i]) : std::string_view()));
      return base::Status::ok();
    });
  }
  static sluice_code state_scan(const sluice_context* ctx, uint32_t state, sluice_str key, sluice_visit visit, void* user, sluice_error* err) {
    return guarded(ctx, err, "state_scan", [&](Operator& op) -> base::Status {
      state::StateTable* t = nullptr;
      SLUICE_TRY(table(op, state, false, &t));
      return t->scan(view(key), [&](std::string_view k, std::string_view v) { return visit(user, hand_out(op, str(k)), hand_out(op, str(v))) != 0; });
    });
  }
  static sluice_code timer_set(const sluice_context* ctx, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error* err) {
    return guarded(ctx, err, "timer_set", [&](Operator& op) -> base::Status {
      if (op.timers_ == nullptr) return base::Status::bug("timers need a key or a declared state");
      SLUICE_TRY(still_lives(op, "timer_set", &key, 1));
      op.timers_->set(clock == SLUICE_CLOCK_EVENT ? state::TimerClock::kEvent : state::TimerClock::kProcessing, view(key), at, tag);
      return base::Status::ok();
    });
  }
  static sluice_code timer_erase(const sluice_context* ctx, uint32_t clock, sluice_str key, int64_t at, uint64_t tag, sluice_error* err) {
    return guarded(ctx, err, "timer_erase", [&](Operator& op) -> base::Status {
      if (op.timers_ != nullptr)
        op.timers_->erase(clock == SLUICE_CLOCK_EVENT ? state::TimerClock::kEvent : state::TimerClock::kProcessing, view(key), at, tag);
      return base::Status::ok();
    });
  }

  static void report(const sluice_context* ctx, const char* what, SplitReport r) {
    guarded(ctx, nullptr, what, [&](Operator& op) -> base::Status {
      r.rows_before = op.source_rows.raw.size();
      op.split_reports.push_back(std::move(r));
      return base::Status::ok();
    });
  }
  static void split_status(const sluice_context* ctx, uint32_t split, uint32_t flags) {
    report(ctx, "split_status", {SplitReport::Kind::kStatus, split, flags, 0, {}, 0});
  }
  static void split_lag(const sluice_context* ctx, uint32_t split, int64_t rows) {
    report(ctx, "split_lag", {SplitReport::Kind::kLag, split, 0, rows, {}, 0});
  }
  static void split_position(const sluice_context* ctx, uint32_t split, sluice_str position) {
    report(ctx, "split_position", {SplitReport::Kind::kPosition, split, 0, 0, std::string(view(position)), 0});
  }
  static int64_t watermark(const sluice_context* ctx) { return self(ctx).watermark.load(std::memory_order_relaxed); }
  static int64_t now(const sluice_context* ctx) { return self(ctx).job_.clock->now_ms(); }
  // From any thread. They have no answer: what fails is left out, and no exception gets into the plugin.
  template <class F>
  static void quietly(F&& body) noexcept {
    try {
      body();
    } catch (...) {
    }
  }
  static void count(const sluice_context* ctx, sluice_str metric, int64_t delta) {
    quietly([&] { self(ctx).count(view(metric), delta); });
  }
  static void status_note(const sluice_context* ctx, sluice_str text) {
    quietly([&] {
      Operator& op = self(ctx);
      const std::lock_guard lock(op.shared_mutex_);
      op.note_ = view(text);
    });
  }
  static void wake(const sluice_context* ctx) {
    quietly([&] {
      Operator& op = self(ctx);
      if (op.wake_) op.wake_();
    });
  }
  static int32_t is_added(const sluice_context* ctx, uint32_t split) { return self(ctx).added_splits_.contains(split) ? 1 : 0; }
  static int32_t stopping(const sluice_context* ctx) { return self(ctx).job_.hard_stop || self(ctx).job_.stopping ? 1 : 0; }
};

const sluice_host* host_table(const std::string& version) {
  static const std::string text = version;
  static const sluice_host table = [] {
    sluice_host h{};
    h.struct_size = sizeof h;
    h.abi_minor = SLUICE_ABI_MINOR;
    h.version = str(text);
    h.log = [](const sluice_host*, uint32_t level, sluice_str message) {
      try {
        const auto l = level <= SLUICE_LOG_DEBUG ? spdlog::level::debug
                       : level == SLUICE_LOG_INFO ? spdlog::level::info
                       : level == SLUICE_LOG_WARNING ? spdlog::level::warn
                                                     : spdlog::level::err;
        spdlog::log(l, "{}", view(message));
      } catch (...) {  // logging never fails a plugin's call
      }
    };
    h.get_extension = [](const sluice_host*, sluice_str extension) -> const void* {
      static const sluice_added_splits added_splits = {sizeof(sluice_added_splits), 0, &ContextFunctions::is_added};
      return view(extension) == SLUICE_EXT_ADDED_SPLITS ? &added_splits : nullptr;
    };
    return h;
  }();
  return &table;
}

// ---- the instance -----------------------------------------------------------------------------------

// One call into the plugin: a fresh error, the thread mark, the time spent.
struct Operator::Call {
  Operator& op;
  const Operator* outer;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  sluice_error error;

  explicit Call(Operator& o) : op(o), outer(std::exchange(running_instance, &o)) {
    error.struct_size = sizeof error;
    error.code = SLUICE_OK;
    error.retry_after_ms = 0;
    error.message_size = 0;
  }
  ~Call() {
    running_instance = outer;
    if (op.handed_out_ != nullptr) op.handed_out_->end_call();
    const auto spent = std::chrono::steady_clock::now() - begin;
    op.busy_ns.fetch_add(static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count()), std::memory_order_relaxed);
    if (op.store_ != nullptr) op.store_->end_call();
  }
};

struct Operator::WithoutTask {
  const std::shared_ptr<data::Arena> arena = std::make_shared<data::Arena>(std::make_shared<data::ChunkPool>());
  data::JsonReader reader;
};

Operator::Operator(const JobContext& job, size_t node, uint32_t lane, uint32_t lanes)
    : Operator(job, job.plan->nodes[node], lane, lanes) {}

Operator::Operator(const JobContext& job, const PlanNode& node, uint32_t lane, uint32_t lanes)
    : job_(job),
      node_(node),
      lane_(lane),
      lanes_(lanes),
      name_for_messages_("operator \"" + node.id() + "\" (plugin " + node.plugin + ", lane " + std::to_string(lane) + ")"),
      handed_out_(debug_plugins() ? std::make_unique<HandedOut>() : nullptr) {
  auto own = std::make_unique<WithoutTask>();
  bind_task([arena = own->arena] { return arena; }, &own->reader, [] {});
  without_task_ = std::move(own);
  ctx_ = {};
  ctx_.struct_size = sizeof ctx_;
  ctx_.role = node_.role;
  ctx_.impl = this;
  ctx_.pipeline = str(job.plan->document->name);
  ctx_.operator_id = str(node_.section->id);
  ctx_.lineage = str(job.lineage);
  ctx_.lane = lane;
  ctx_.lanes = lanes;
  ctx_.emit = &ContextFunctions::emit;
  ctx_.forward = &ContextFunctions::forward;
  ctx_.emit_schema = &ContextFunctions::emit_schema;
  ctx_.emit_marker = &ContextFunctions::emit_marker;
  ctx_.body = &ContextFunctions::body;
  ctx_.json = &ContextFunctions::json;
  ctx_.parse = &ContextFunctions::parse;
  ctx_.to_json = &ContextFunctions::to_json;
  ctx_.reject = &ContextFunctions::reject;
  ctx_.keep_origin = &ContextFunctions::keep_origin;
  ctx_.reject_origin = &ContextFunctions::reject_origin;
  ctx_.drop_origins = &ContextFunctions::drop_origins;
  ctx_.state_get = &ContextFunctions::state_get;
  ctx_.state_put = &ContextFunctions::state_put;
  ctx_.state_erase = &ContextFunctions::state_erase;
  ctx_.state_scan = &ContextFunctions::state_scan;
  ctx_.timer_set = &ContextFunctions::timer_set;
  ctx_.timer_erase = &ContextFunctions::timer_erase;
  ctx_.split_status = &ContextFunctions::split_status;
  ctx_.split_lag = &ContextFunctions::split_lag;
  ctx_.split_position = &ContextFunctions::split_position;
  ctx_.watermark = &ContextFunctions::watermark;
  ctx_.now = &ContextFunctions::now;
  ctx_.count = &ContextFunctions::count;
  ctx_.status_note = &ContextFunctions::status_note;
  ctx_.wake = &ContextFunctions::wake;
  ctx_.stopping = &ContextFunctions::stopping;
}

Operator::~Operator() {
  if (self_ == nullptr || vtbl_.destroy == nullptr) return;
  const Operator* outer = std::exchange(running_instance, this);
  try {
    vtbl_.destroy(self_);
  } catch (...) {
    spdlog::error("operator \"{}\" ({}): the plugin let an exception out of destroy", id(), node_.section->use);
  }
  running_instance = outer;
}

base::Status Operator::finish(sluice_code code, const sluice_error& error, const char* what) {
  {
    const std::lock_guard lock(shared_mutex_);
    if (!misuse_.empty()) {
      const std::string text = std::exchange(misuse_, {});
      return base::Status::bug("operator \"" + id() + "\" (" + node_.section->use + "): the plugin broke the contract: " + text);
    }
  }
  if (code == SLUICE_OK) return base::Status::ok();
  std::string message(error.message, std::min<size_t>(error.message_size, sizeof error.message));
  if (message.empty()) message = "no reason given";
  switch (code) {
    case SLUICE_RETRY: return base::Status::retry(message, error.retry_after_ms != 0 ? error.retry_after_ms : 200);
    case SLUICE_BAD_RECORD: return base::Status::bad_record(message);
    case SLUICE_FATAL: return base::Status::fatal("operator \"" + id() + "\" (" + node_.section->use + "): " + message);
    case SLUICE_CANCELLED:
      // Before a stop at once the rows still have to get through: the stop's barrier is behind them.
      return job_.hard_stop ? base::Status::cancelled(message) : base::Status::retry(message, 20);
    case SLUICE_UNSUPPORTED: return base::Status::unsupported("operator \"" + id() + "\": " + what + ": " + message);
    default: return base::Status::bug("operator \"" + id() + "\" (" + node_.section->use + "): bug in the plugin, in " + what + ": " + message);
  }
}

// Plugins that are not built on the SDK may let an exception out; it must not get further than this.
template <class F>
base::Status Operator::invoke(const char* what, F&& call_plugin) {
  Call call(*this);
  try {
    return finish(call_plugin(&call.error), call.error, what);
  } catch (const std::exception& e) {
    return base::Status::bug("operator \"" + id() + "\" (" + node_.section->use + "): the plugin let an exception out of " + what + ": " + e.what());
  } catch (...) {
    return base::Status::bug("operator \"" + id() + "\" (" + node_.section->use + "): the plugin let an exception of unknown type out of " + what);
  }
}

#define SLUICE_CALL(slot, ...)                          \
  if (vtbl_.slot == nullptr) return base::Status::ok(); \
  return invoke(#slot, [&](sluice_error* e) { return vtbl_.slot(self_, __VA_ARGS__ __VA_OPT__(, ) e); })

base::Status Operator::create(const sluice_host* host) {
  ctx_.host = host;
  const ConfigValue config(node_.section->options);
  const sluice_operator_vtbl* given = nullptr;
  SLUICE_TRY(invoke("create", [&](sluice_error* e) { return node_.desc->create(&ctx_, &config.value(), &given, &self_, e); }));
  if (given == nullptr || self_ == nullptr) return base::Status::bug("operator \"" + id() + "\": create() gave no instance");
  std::memcpy(&vtbl_, given, std::min<size_t>(given->struct_size, sizeof vtbl_));
  if (given->struct_size < offsetof(sluice_operator_vtbl, destroy) + sizeof vtbl_.destroy)
    return base::Status::bug("operator \"" + id() + "\": create() gave a table of functions without struct_size");
  return base::Status::ok();
}

base::Status Operator::needs(sluice_needs* out) {
  *out = {};
  out->struct_size = sizeof *out;
  if (vtbl_.needs == nullptr) return base::Status::ok();
  return invoke("needs", [&](sluice_error* e) { return vtbl_.needs(self_, out, e); });
}

base::Status Operator::plan_facts(PlanFacts* out) {
  *out = {};
  if (vtbl_.get_extension == nullptr) return base::Status::ok();
  sluice_plan_facts facts{};
  facts.struct_size = sizeof facts;
  bool told = false;
  SLUICE_TRY(invoke("plan facts", [&](sluice_error* e) -> sluice_code {
    const auto* plan = static_cast<const sluice_plan*>(vtbl_.get_extension(self_, str(SLUICE_EXT_PLAN)));
    if (!SLUICE_HAS(plan, sluice_plan, facts) || plan->facts == nullptr) return SLUICE_OK;
    told = true;
    return plan->facts(self_, &facts, e);
  }));
  if (!told) return base::Status::ok();
  out->known = true;
  out->gives_event_time = facts.gives_event_time != 0;
  out->event_time_for = view(facts.event_time_for);
  out->idleness_for = view(facts.idleness_for);
  out->writes_alone = view(facts.writes_alone);
  if (facts.knows_outputs == 0) return base::Status::ok();
  out->outputs.emplace();
  for (size_t i = 0; i < facts.output_count; ++i) out->outputs->emplace_back(view(facts.outputs[i]));
  return base::Status::ok();
}

void Operator::bind_state(state::LaneStore* store) {
  store_ = store;
  tables_.clear();
  for (size_t i = 0; i < node_.desc->state_count; ++i)
    tables_.push_back(store != nullptr ? store->table(id(), view(node_.desc->states[i]->name)) : nullptr);
  timers_ = store != nullptr ? store->timers(id()) : nullptr;
}

void Operator::bind_task(std::function<std::shared_ptr<data::Arena>()> arena, data::JsonReader* reader, std::function<void()> wake) {
  arena_ = std::move(arena);
  reader_ = reader;
  wake_ = std::move(wake);
  without_task_.reset();
}

base::Status Operator::check(std::vector<Problem>* problems) {
  const sluice_report report = [](void* user, sluice_str option, sluice_str text) {
    try {
      static_cast<std::vector<Problem>*>(user)->push_back({std::string(view(option)), std::string(view(text))});
    } catch (...) {  // no memory for one more line: those before it are told
    }
  };
  SLUICE_CALL(check, report, problems);
}
base::Status Operator::open() { SLUICE_CALL(open); }
base::Status Operator::close() { SLUICE_CALL(close); }
base::Status Operator::on_watermark(int64_t w) { SLUICE_CALL(on_watermark, w); }
base::Status Operator::on_timer(uint32_t clock, const state::Timer& t) { SLUICE_CALL(on_timer, clock, ContextFunctions::hand_out(*this, str(t.key)), t.at_ms, t.tag); }
base::Status Operator::on_schema(const Schema& schema) {
  return schema.with_abi([&](const sluice_schema* s) -> base::Status { SLUICE_CALL(on_schema, s); });
}
base::Status Operator::on_marker(uint32_t port, uint32_t marker) { SLUICE_CALL(on_marker, port, marker); }
base::Status Operator::on_idle(bool idle, int64_t since) { SLUICE_CALL(on_idle, idle ? 1u : 0u, since); }
base::Status Operator::prepare(uint64_t n) { SLUICE_CALL(prepare, n); }
base::Status Operator::commit(uint64_t n) { SLUICE_CALL(commit, n); }
base::Status Operator::epoch_begin(uint64_t n) { SLUICE_CALL(epoch_begin, n); }
base::Status Operator::poll(uint32_t max_rows) {
  if (vtbl_.poll == nullptr) return base::Status::bug("source \"" + id() + "\" has no poll()");
  polling_ = true;
  base::Status s = invoke("poll", [&](sluice_error* e) { return vtbl_.poll(self_, max_rows, e); });
  polling_ = false;
  return s;
}

base::Status Operator::process(uint32_t port, data::RowBatch& in, uint32_t* consumed) {
  if (vtbl_.process == nullptr) return base::Status::bug("operator \"" + id() + "\" has no process()");
  const std::vector<size_t>& fields = port == SLUICE_PORT_BROADCAST ? node_.broadcast_fields : node_.fields;
  std::vector<const sluice_value*> columns;
  columns.reserve(fields.size());
  for (size_t f : fields) columns.push_back(in.fields[f]);
  sluice_batch batch{};
  batch.struct_size = sizeof batch;
  batch.size = in.size;
  batch.event_time = in.event_time;
  batch.watermark = in.watermark;
  batch.change = in.change;
  batch.key = port == SLUICE_PORT_MAIN ? key_column_ : nullptr;
  batch.raw = in.raw;
  batch.raw_key = in.raw_key;
  if (in.body != nullptr && in.raw != nullptr) {  // what a transform made has no payload of its own, and is no tombstone
    auto* raw = in.arena->array<sluice_str>(in.size);
    for (uint32_t r = 0; r < in.size; ++r) raw[r] = in.is_made(r) ? sluice_str{"", 0} : in.raw[r];
    batch.raw = raw;
  }
  batch.fields = columns.data();
  batch.field_count = columns.size();
  if (handed_out_ != nullptr) {
    HandedOut& out = *handed_out_;
    batch.event_time = out.column(batch.event_time, in.size);
    batch.watermark = out.column(batch.watermark, in.size);
    batch.change = out.column(batch.change, in.size);
    batch.key = out.column(batch.key, in.size);
    batch.raw = out.column(batch.raw, in.size);
    batch.raw_key = out.column(batch.raw_key, in.size);
    for (const sluice_value*& column : columns) column = out.column(column, in.size);
  }
  in_ = &in;
  port_ = port;
  *consumed = 0;
  base::Status s = invoke("process", [&](sluice_error* e) { return vtbl_.process(self_, port, &batch, consumed, e); });
  in_ = nullptr;
  return s;
}

base::Status Operator::last_committed(uint64_t* checkpoint, std::string* lineage) {
  *checkpoint = 0;
  lineage->clear();
  if (vtbl_.last_committed == nullptr) return base::Status::ok();
  sluice_str text{nullptr, 0};
  return invoke("last_committed", [&](sluice_error* e) {
    const sluice_code code = vtbl_.last_committed(self_, checkpoint, &text, e);
    if (code == SLUICE_OK) *lineage = view(text);
    return code;
  });
}

base::Status Operator::discover(std::vector<std::pair<std::string, int64_t>>* splits) {
  splits->clear();
  if (vtbl_.discover == nullptr) return base::Status::bug("source \"" + id() + "\" has no discover()");
  const sluice_split* const* found = nullptr;
  size_t count = 0;
  return invoke("discover", [&](sluice_error* e) {
    const sluice_code code = vtbl_.discover(self_, &found, &count, e);
    if (code == SLUICE_OK)
      for (size_t i = 0; i < count; ++i) splits->emplace_back(view(found[i]->id), found[i]->ordinal);
    return code;
  });
}

base::Status Operator::assign(const std::vector<GivenSplit>& splits) {
  if (vtbl_.assign == nullptr) return base::Status::bug("source \"" + id() + "\" has no assign()");
  std::vector<sluice_split> structs;
  std::vector<const sluice_split*> pointers;
  added_splits_.clear();
  for (const GivenSplit& s : splits) {
    structs.push_back({sizeof(sluice_split), s.index, str(s.id), -1, s.position ? str(*s.position) : sluice_str{nullptr, 0}});
    if (s.added) added_splits_.insert(s.index);
  }
  for (const auto& s : structs) pointers.push_back(&s);
  return invoke("assign", [&](sluice_error* e) { return vtbl_.assign(self_, pointers.data(), pointers.size(), e); });
}

base::Status Operator::may_have_grown(const std::string& split, bool* yes) {
  *yes = false;
  if (vtbl_.get_extension == nullptr) return base::Status::ok();
  uint32_t answer = 0;
  SLUICE_TRY(invoke("may_have_grown", [&](sluice_error* e) -> sluice_code {
    const auto* splits = static_cast<const sluice_ended_splits*>(vtbl_.get_extension(self_, str(SLUICE_EXT_ENDED_SPLITS)));
    if (!SLUICE_HAS(splits, sluice_ended_splits, may_have_grown) || splits->may_have_grown == nullptr) return SLUICE_OK;
    return splits->may_have_grown(self_, str(split), &answer, e);
  }));
  *yes = answer != 0;
  return base::Status::ok();
}

std::string Operator::describe_position(const std::string& split, std::string_view position) {
  if (vtbl_.describe_position == nullptr) return split;
  sluice_str text{nullptr, 0};
  std::string words;
  const base::Status s = invoke("describe_position", [&](sluice_error* e) {
    const sluice_code code = vtbl_.describe_position(self_, str(split), str(position), &text, e);
    if (code == SLUICE_OK) words = view(text);
    return code;
  });
  return s.is_ok() ? words : split;
}

bool Operator::owns(sluice_str text) const {
  // Texts inside the batch of the running call were extracted from payloads in its arena.
  return in_ != nullptr && in_->arena->contains(text.data, text.size);
}

void Operator::count(std::string_view metric, int64_t delta) {
  const std::lock_guard lock(shared_mutex_);
  const auto it = counters_.find(metric);
  if (it != counters_.end()) it->second += delta;
  else counters_.emplace(metric, delta);
}
std::map<std::string, int64_t> Operator::counters() const {
  const std::lock_guard lock(shared_mutex_);
  return {counters_.begin(), counters_.end()};
}
std::string Operator::note() const {
  const std::lock_guard lock(shared_mutex_);
  return note_;
}
std::string Operator::last_error() const {
  const std::lock_guard lock(shared_mutex_);
  return last_error_;
}
void Operator::set_last_error(const std::string& text) {
  const std::lock_guard lock(shared_mutex_);
  last_error_ = text;
}

}  // namespace sluice::runtime
