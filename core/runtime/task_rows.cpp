// How rows move through a task: from the source or a channel, operator by operator, to channels and sinks.
#include <algorithm>
#include <cmath>

#include "runtime/task.h"

#include "data/json_writer.h"
#include "data/text_view.h"

namespace sluice::runtime {
namespace {

using data::view;

data::Origin origin_of(const data::RowBatch& batch, uint32_t row) { return batch.origin != nullptr ? batch.origin[row] : data::Origin{}; }

// data() == nullptr: none.
std::string_view message_key(const data::RowBatch& batch, uint32_t row) {
  return batch.raw_key != nullptr && batch.raw_key[row].data != nullptr ? view(batch.raw_key[row]) : std::string_view();
}

}  // namespace

base::Status Task::poll_source(bool* progress) {
  Operator& op = *source_->op;
  const int64_t now = job_.clock->now_ms();
  if (now < next_poll_ms_) return base::Status::ok();
  for (size_t gate : source_->plan->gates) {
    const bool closed = !job_.gates[gate]->is_open();
    for (auto& slot : clock_.slots()) slot.gated = closed;
    if (closed) return base::Status::ok();
  }
  arena_ = nullptr;
  const base::Status s = op.poll(static_cast<uint32_t>(plan_.document->limits.batch_rows));
  if (s.is_ok()) count_silence(now);
  if (s.code() == base::Code::kRetry) {
    next_poll_ms_ = now + s.retry_after_ms();
    op.set_last_error(s.message());
  } else if (!s.is_ok() && s.code() != base::Code::kCancelled) {
    return s.code() == base::Code::kBadRecord ? base::Status::bug("source \"" + op.id() + "\" answered BAD_RECORD: " + s.message()) : s;
  }
  *progress = !op.source_rows.raw.empty();
  SLUICE_TRY(source_batch());
  arena_ = nullptr;
  return base::Status::ok();
}

// The source was asked at `now`. Time in which it was not asked is no silence of its splits, and the clock may have been set back.
void Task::count_silence(int64_t now) {
  const auto& event_time = source_->plan->event_time;
  if (!polled_lately(event_time ? event_time->idle_timeout_ms : 0))
    for (auto& slot : clock_.slots()) slot.last_row_ms = last_poll_ms_ == SLUICE_NO_TIME ? now : std::min(now, slot.last_row_ms + (now - last_poll_ms_));
  last_poll_ms_ = now;
  last_poll_ = std::chrono::steady_clock::now();
}

base::Status Task::source_batch() {
  Operator& op = *source_->op;
  SourceRows& rows = op.source_rows;
  const auto n = static_cast<uint32_t>(rows.raw.size());
  std::vector<Emission> markers = std::exchange(op.emissions, {});
  for (const Emission& e : markers) {
    if (e.kind == Emission::Kind::kMarker && e.marker == SLUICE_SNAPSHOT_BEGIN) SLUICE_TRY(begin_snapshot());
    if (e.kind == Emission::Kind::kSchema) SLUICE_TRY(forward_schema(*source_, e.schema));
  }
  if (n > 0) {
    const int64_t now = job_.clock->now_ms();
    data::RowBatch batch;
    batch.arena = arena();
    data::Arena& memory = *batch.arena;
    batch.size = n;
    batch.event_time = rows.event_time.data();
    batch.change = rows.change.data();
    batch.raw = rows.raw.data();
    batch.raw_key = rows.raw_key.data();
    batch.watermark = memory.array<int64_t>(n);
    batch.origin = memory.array<data::Origin>(n);
    batch.fields.assign(plan_.fields.size(), nullptr);
    std::vector<sluice_value*> columns(source_set_.size());
    for (size_t f = 0; f < source_set_.size(); ++f) {
      columns[f] = memory.array<sluice_value>(n);
      batch.fields[source_set_to_plan_[f]] = columns[f];
    }
    const auto max_size = static_cast<size_t>(plan_.document->limits.max_record_size);
    const auto source_index = static_cast<uint32_t>(source_->node);
    std::vector<bool> bad;
    uint64_t bytes = 0;
    uint32_t last_split = UINT32_MAX;
    SplitClock::Slot* slot = nullptr;
    std::string error;
    std::map<size_t, uint32_t> last_row;  // by slot
    std::map<uint32_t, std::string> refused;  // by the source itself: row, reason
    for (Rejected& r : std::exchange(op.rejected, {})) refused.insert_or_assign(r.row, std::move(r.reason));
    for (uint32_t r = 0; r < n; ++r) {
      if (rows.split[r] != last_split) {
        const auto known = slot_of_.find(rows.split[r]);
        if (known == slot_of_.end()) return base::Status::bug("source \"" + op.id() + "\" emitted a row of split " + std::to_string(rows.split[r]) + ", which it was not given");
        if (slot != nullptr) last_row[slot_of_[last_split]] = r - 1;
        last_split = rows.split[r];
        slot = &clock_.slots()[known->second];
        slot->last_row_ms = now;
        if (slot->idle) {
          slot->idle = false;
          clock_.recompute();
        }
      }
      batch.origin[r] = {source_index, rows.split[r], rows.position[r]};
      batch.watermark[r] = clock_.watermark();
      const sluice_str raw = rows.raw[r];
      bytes += raw.size;
      const auto by_source = refused.find(r);
      bool good = by_source == refused.end();
      if (!good) {
        error = by_source->second;
      } else if (raw.data == nullptr) {
        for (auto* c : columns) c[r] = {SLUICE_ABSENT, 0, {}};
        continue;
      } else if (raw.size > max_size) {
        error = "a record of " + std::to_string(raw.size) + " bytes; limits.max_record_size is " + std::to_string(max_size);
        good = false;
      } else if (!reader_.read(view(raw), source_set_, columns.data(), r, memory, &error)) {
        good = false;
      } else if (event_time_) {
        const auto t = event_time_->read(batch, r, now, &error);
        if (t) batch.event_time[r] = *t;
        else good = false;
      }
      if (!good) {
        if (bad.empty()) bad.resize(n);
        bad[r] = true;
        SLUICE_TRY(reject(op, batch, r, error));
        continue;
      }
      clock_.observe(*slot, batch.event_time[r]);
    }
    last_row[slot_of_[last_split]] = n - 1;
    for (const auto& [s, row] : last_row) {
      clock_.slots()[s].position = view(rows.position[row]);
      clock_.slots()[s].has_position = true;
    }
    op.rows_in.fetch_add(n, std::memory_order_relaxed);
    op.bytes_in.fetch_add(bytes, std::memory_order_relaxed);
    if (source_->idle) SLUICE_TRY(set_idle(*source_, false));
    // The vectors move into memory that lives as long as the rows.
    const auto persist = [&](auto& column, auto& vector) {
      using T = std::remove_reference_t<decltype(vector[0])>;
      T* copy = memory.array<T>(n);
      std::copy(vector.begin(), vector.end(), copy);
      column = copy;
    };
    persist(batch.event_time, rows.event_time);
    persist(batch.change, rows.change);
    persist(batch.raw, rows.raw);
    persist(batch.raw_key, rows.raw_key);
    if (!bad.empty()) batch = data::without(batch, bad);
    op.rows_out.fetch_add(batch.size, std::memory_order_relaxed);
    std::vector<uint32_t> split_of_row = std::exchange(rows.split, {});
    rows.clear();
    SLUICE_TRY(route(*source_, 0, batch));
    rows.split = std::move(split_of_row);
  }
  bool complete = false;
  for (const Emission& e : markers) complete = complete || (e.kind == Emission::Kind::kMarker && e.marker == SLUICE_SNAPSHOT_END && !snapshot_marked_);
  snapshot_marked_ = snapshot_marked_ || complete;
  SLUICE_TRY(split_changes());
  rows.clear();
  if (complete) SLUICE_TRY(marker(*source_, SLUICE_PORT_MAIN, SLUICE_SNAPSHOT_END));
  return advance(*source_, source_done_ ? SLUICE_END_OF_TIME : clock_.watermark());
}

// The first snapshot, or one that a source takes because it has lost its place: then all that was complete is not any more.
base::Status Task::begin_snapshot() {
  snapshot_marked_ = false;
  for (auto& slot : clock_.slots()) slot.flags &= ~static_cast<uint32_t>(SLUICE_SPLIT_SNAPSHOT_COMPLETE);
  return marker(*source_, SLUICE_PORT_MAIN, SLUICE_SNAPSHOT_BEGIN);
}

base::Status Task::deliver(Link& link, uint32_t port, data::RowBatch batch) {
  SLUICE_TRY(check_rows(link, port, batch));
  if (batch.size == 0) return base::Status::ok();
  link.op->rows_in.fetch_add(batch.size, std::memory_order_relaxed);
  if (link.plan->is_sink() && link.plan->delivery == SLUICE_DELIVERY_EPOCH) return spool_rows(link, batch);
  return run_operator(link, port, batch);
}

base::Status Task::check_rows(Link& link, uint32_t port, data::RowBatch& batch) {
  const PlanNode& plan = *link.plan;
  std::vector<bool> bad;
  const auto drop = [&](uint32_t r) {
    if (bad.empty()) bad.resize(batch.size);
    bad[r] = true;
  };
  const auto is_bad = [&](uint32_t r) { return !bad.empty() && bad[r]; };
  const bool reports = port != SLUICE_PORT_BROADCAST || lane_ == 0;  // every lane is given the same rows: one speaks for all
  if (!plan.accepts_tombstones) {
    int64_t tombstones = 0;
    for (uint32_t r = 0; r < batch.size; ++r) {
      if (!batch.is_tombstone(r)) continue;
      drop(r);
      ++tombstones;
      if (reports) SLUICE_TRY(keep_tombstone(*link.op, batch, r));
    }
    if (reports && tombstones > 0) link.op->count("tombstones", tombstones);
  }
  const auto& fields = port == SLUICE_PORT_BROADCAST ? plan.broadcast_fields : plan.fields;
  for (size_t f : fields) {
    data::ensure_field(batch, plan_.fields, f, reader_);
    for (uint32_t r = 0; r < batch.size; ++r) {
      if (batch.fields[f][r].type != SLUICE_INVALID || is_bad(r)) continue;
      if (reports) SLUICE_TRY(reject(*link.op, batch, r, "field \"" + plan_.fields.path(f) + "\": " + std::string(view(batch.fields[f][r].as.str))));
      drop(r);
    }
  }
  if (plan.needs_body && port == SLUICE_PORT_MAIN && batch.raw != nullptr) {
    if (batch.checked == nullptr) {
      batch.checked = batch.arena->array<uint8_t>(batch.size);
      std::fill_n(batch.checked, batch.size, uint8_t{0});
    }
    std::string error;
    for (uint32_t r = 0; r < batch.size; ++r) {
      if (batch.is_made(r) || batch.raw[r].data == nullptr || batch.checked[r] != 0 || is_bad(r)) continue;
      if (!reader_.check(view(batch.raw[r]), &error)) {
        SLUICE_TRY(reject(*link.op, batch, r, error));
        drop(r);
        continue;
      }
      batch.checked[r] = 1;
    }
  }
  if (!plan.key_fields.empty() && port == SLUICE_PORT_MAIN) {
    for (size_t f : plan.key_fields) data::ensure_field(batch, plan_.fields, f, reader_);
    auto* keys = batch.arena->array<sluice_str>(batch.size);
    std::string error;
    uint32_t kept = 0;
    for (uint32_t r = 0; r < batch.size; ++r) {
      if (is_bad(r)) continue;
      if (!key_of(batch, plan, r, &keys[kept], &error).is_ok()) {
        SLUICE_TRY(reject(*link.op, batch, r, error));
        drop(r);
        continue;
      }
      ++kept;
    }
    link.op->set_key_column(keys);
  }
  if (!bad.empty()) batch = data::without(batch, bad);
  return base::Status::ok();
}

base::Status Task::key_of(const data::RowBatch& batch, const PlanNode& to, uint32_t row, sluice_str* key, std::string* error) {
  const auto text = [&](size_t f, sluice_str* out) {
    const sluice_value& v = batch.fields[f][row];
    switch (v.type) {
      case SLUICE_STRING: case SLUICE_NUMBER: *out = v.as.str; return true;
      case SLUICE_BOOL: *out = v.as.i64 != 0 ? sluice_str{"true", 4} : sluice_str{"false", 5}; return true;
      case SLUICE_INT64: *out = batch.arena->copy(std::to_string(v.as.i64)); return true;
      case SLUICE_DOUBLE: {
        if (!std::isfinite(v.as.f64)) break;
        std::string number;
        data::append_json(v, &number);
        *out = batch.arena->copy(number);
        return true;
      }
      default: break;
    }
    *error = "key field \"" + plan_.fields.path(f) + "\" of operator \"" + to.id() + "\" is " +
             (v.type == SLUICE_ABSENT ? "missing" : v.type == SLUICE_NULL ? "null" : v.type == SLUICE_INVALID ? "no valid JSON" : "not a text and not a number");
    return false;
  };
  const auto missing = [&] { return base::Status::bad_record(*error); };
  if (to.key_fields.size() == 1) return text(to.key_fields[0], key) ? base::Status::ok() : missing();
  std::string joined;  // each part with its length before it: no two keys give the same bytes
  for (size_t f : to.key_fields) {
    sluice_str part;
    if (!text(f, &part)) return missing();
    joined += std::to_string(part.size) + ':';
    joined += view(part);
  }
  *key = batch.arena->copy(std::string_view(joined));
  return base::Status::ok();
}

base::Status Task::run_operator(Link& link, uint32_t port, data::RowBatch& batch) {
  Operator& op = *link.op;
  for (bool waited = false;; waited = true) {
    uint32_t consumed = 0;
    base::Status s = op.process(port, batch, &consumed);
    if (waited && s.code() != base::Code::kRetry) clear_waiting();
    switch (s.code()) {
      case base::Code::kOk: return after_call(link, &batch);
      case base::Code::kRetry: {
        // Rows that are not done for come again, and so does what became of them.
        std::erase_if(op.rejected, [&](const Rejected& r) { return r.row != SLUICE_NO_ROW && r.row >= consumed; });
        if (consumed == 0) op.discard_output();
        SLUICE_TRY(after_call(link, &batch));
        if (consumed >= batch.size) {
          clear_waiting();
          return base::Status::ok();
        }
        if (consumed > 0) {
          std::vector<uint32_t> rest;
          for (uint32_t r = consumed; r < batch.size; ++r) rest.push_back(r);
          batch = data::gather(batch, rest, std::vector<bool>(batch.fields.size(), true));
          op.advance_key_column(consumed);
        }
        SLUICE_TRY(pause(op, s));
        continue;
      }
      case base::Code::kBadRecord:
        op.emissions.clear();
        op.rejected.clear();
        if (batch.size == 1) return reject(op, batch, 0, s.message());
        return base::Status::bug("operator \"" + op.id() + "\": process() answered BAD_RECORD for a batch; a row is refused by reject(): " + s.message());
      default: return s;
    }
  }
}

base::Status Task::after_call(Link& link, const data::RowBatch* batch) {
  Operator& op = *link.op;
  for (const Rejected& r : std::exchange(op.rejected, {})) {
    if (r.row != SLUICE_NO_ROW) {
      if (batch != nullptr) SLUICE_TRY(reject(op, *batch, r.row, r.reason));
    } else if (!r.made.empty()) {
      DeadLetter letter;
      letter.reason = r.reason;
      letter.raw = r.made;
      SLUICE_TRY(apply_on_error(op, letter, data::kNoSource, {}, {}));
    } else if (const auto kept = op.origins.take(r.origin)) {
      SLUICE_TRY(reject_kept(op, *kept, r.reason));
    }
  }
  for (Emission& e : std::exchange(op.emissions, {})) {
    if (e.kind == Emission::Kind::kSchema) {
      SLUICE_TRY(forward_schema(link, e.schema));
      continue;
    }
    if (e.kind != Emission::Kind::kRows) continue;
    op.rows_out.fetch_add(e.rows.size, std::memory_order_relaxed);
    SLUICE_TRY(route(link, e.port, e.rows));
  }
  return base::Status::ok();
}

base::Status Task::route(Link& link, uint32_t port, const data::RowBatch& batch) {
  if (batch.size == 0) return base::Status::ok();
  bool read = false;
  for (size_t e : link.plan->out) {
    const PlanEdge& edge = plan_.edges[e];
    if (edge.from_port != port) continue;
    read = true;
    switch (edge.route) {
      case Route::kChain:
        SLUICE_TRY(deliver(*link_of(edge.to), edge.to_port, batch));
        break;
      case Route::kKeyed:
        SLUICE_TRY(route_keyed(link, e, batch));
        break;
      case Route::kForward: case Route::kBroadcast:
        for (const Output& out : outputs_) {
          if (out.edge != e) continue;
          if (edge.route == Route::kForward && out.to_lane != lane_ % plan_.nodes[edge.to].lanes) continue;
          push(out, {Message::Kind::kRows, 0, batch, nullptr});
        }
        break;
    }
  }
  if (!read) link.op->count("unread_output", batch.size);
  return base::Status::ok();
}

base::Status Task::route_keyed(Link& link, size_t e, const data::RowBatch& in) {
  const PlanEdge& edge = plan_.edges[e];
  const PlanNode& to = plan_.nodes[edge.to];
  data::RowBatch batch = in;
  for (size_t f : to.key_fields) data::ensure_field(batch, plan_.fields, f, reader_);
  std::vector<std::vector<uint32_t>> rows(to.lanes);
  std::string error;
  for (uint32_t r = 0; r < batch.size; ++r) {
    sluice_str key;
    // A row without a key can go to any lane: the operator refuses it there, as it does when there is only one.
    const uint32_t lane = key_of(batch, to, r, &key, &error).is_ok()
                              ? state::lane_of_key_group(state::key_group(view(key), job_.key_groups), to.lanes, job_.key_groups)
                              : lane_ % to.lanes;
    rows[lane].push_back(r);
  }
  for (const Output& out : outputs_) {
    if (out.edge != e || rows[out.to_lane].empty()) continue;
    push(out, {Message::Kind::kRows, 0, data::gather(batch, rows[out.to_lane], link.plan->needed_below), nullptr});
  }
  return base::Status::ok();
}

base::Status Task::spool_rows(Link& link, const data::RowBatch& batch) {
  if (link.spool == nullptr) link.spool = new_spool(link);
  const sluice_str* keys = link.op->key_column();
  std::string error;
  for (uint32_t r = 0; r < batch.size; ++r) {
    sluice_str json;
    if (!data::row_json(batch, r, reader_, &json, &error)) {
      SLUICE_TRY(reject(*link.op, batch, r, error));
      continue;
    }
    SpoolRow row{view(json), keys != nullptr ? view(keys[r]) : std::string_view(), {}, batch.event_time != nullptr ? batch.event_time[r] : SLUICE_NO_TIME,
                 batch.change != nullptr ? batch.change[r] : static_cast<uint8_t>(SLUICE_CHANGE_NONE)};
    std::string split;
    if (batch.origin != nullptr && batch.origin[r].source != data::kNoSource) {
      const data::Origin& o = batch.origin[r];
      split = job_.sources[o.source]->id_of(o.split);
      row.origin = {plan_.nodes[o.source].id(), split, view(o.position)};
    }
    SLUICE_TRY(link.spool->append(row));
    if (link.spool->is_full()) SLUICE_TRY(until_there_is_space(*link.op, [&] { return link.spool->flush(); }));
  }
  return base::Status::ok();
}

std::unique_ptr<SpoolWriter> Task::new_spool(Link& link) {
  return std::make_unique<SpoolWriter>(job_.work_dir + "/spool-" + std::to_string(link.node) + "-" + std::to_string(lane_) + "-" +
                                       std::to_string(link.spool_count++));
}

base::Status Task::until_there_is_space(Operator& op, const std::function<base::Status()>& write) {
  for (bool waited = false;; waited = true) {
    const base::Status s = write();
    if (s.code() != base::Code::kRetry) {
      if (waited) clear_waiting();
      return s;
    }
    SLUICE_TRY(pause(op, s));
  }
}

std::string Task::position_text(uint32_t source, const std::string& split, std::string_view position) {
  if (source == data::kNoSource) return {};
  auto& describer = describers_[source];
  if (describer == nullptr) {
    describer = std::make_unique<Operator>(job_, source, 0, 1);
    sluice_needs needs;
    if (!describer->create(host_).is_ok() || !describer->needs(&needs).is_ok()) return split;
  }
  return describer->describe_position(split, position);
}

std::string Task::split_name(uint32_t source, uint32_t split) const {
  return source == data::kNoSource ? std::string() : job_.sources[source]->id_of(split);
}

base::Status Task::reject(Operator& op, const data::RowBatch& batch, uint32_t row, const std::string& reason) {
  DeadLetter letter;
  letter.reason = reason;
  letter.is_tombstone = batch.is_tombstone(row);
  const data::Origin origin = origin_of(batch, row);
  std::string made;  // a row of no source row: what it holds is all there is to show
  if (batch.raw != nullptr && batch.raw[row].data != nullptr) {
    letter.raw = view(batch.raw[row]);
  } else if (batch.is_made(row)) {
    sluice_str json;
    if (data::row_json(batch, row, reader_, &json, &made)) letter.raw = view(json);
  }
  letter.key = message_key(batch, row);
  return apply_on_error(op, letter, origin.source, split_name(origin.source, origin.split), view(origin.position));
}

base::Status Task::reject_kept(Operator& op, const KeptOrigin& kept, const std::string& reason) {
  DeadLetter letter;
  letter.reason = reason;
  if (kept.has_raw) letter.raw = kept.raw();
  letter.is_tombstone = !kept.has_raw && kept.source != data::kNoSource;
  if (kept.has_key) letter.key = kept.key();
  return apply_on_error(op, letter, kept.source, split_name(kept.source, kept.split), kept.position());
}

config::OnError Task::policy_of(const Operator& op) const { return op.plan().section->on_error.value_or(plan_.document->on_error); }

base::Status Task::apply_on_error(Operator& op, const DeadLetter& letter, uint32_t source, const std::string& split, std::string_view position) {
  op.rejected_count.fetch_add(1, std::memory_order_relaxed);
  if (policy_of(op) == config::OnError::kDrop) return base::Status::ok();
  const std::string text = position_text(source, split, position);
  op.set_last_error(std::string(letter.reason) + (text.empty() ? "" : " (" + text + ")"));
  if (policy_of(op) == config::OnError::kFail) return stopped_by_row(op.id(), letter.reason, text);
  return write_letter(op, letter, source, text);
}

// Deletes of a compacted topic are no mistake of anybody: no policy stops the job for one.
base::Status Task::keep_tombstone(Operator& op, const data::RowBatch& batch, uint32_t row) {
  if (!plan_.document->tombstone_letters || policy_of(op) == config::OnError::kDrop) return base::Status::ok();
  DeadLetter letter;
  letter.code = "TOMBSTONE";
  letter.reason = "a tombstone: the message has no value";
  letter.is_tombstone = true;
  letter.key = message_key(batch, row);
  const data::Origin origin = origin_of(batch, row);
  return write_letter(op, letter, origin.source, position_text(origin.source, split_name(origin.source, origin.split), view(origin.position)));
}

base::Status Task::write_letter(const Operator& op, DeadLetter letter, uint32_t source, const std::string& position) {
  letter.operator_id = op.id();
  if (source != data::kNoSource) letter.source = plan_.nodes[source].id();
  letter.position = position;
  letter.time_ms = job_.clock->now_ms();
  SLUICE_TRY(dead_letters_->write(letter));
  job_.dead_letter_count.fetch_add(1, std::memory_order_relaxed);
  return base::Status::ok();
}

}  // namespace sluice::runtime
