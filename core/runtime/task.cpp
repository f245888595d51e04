// The thread of a task: its loop, and what travels beside the rows.
#include "runtime/task.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "runtime/crash_report.h"

namespace sluice::runtime {
namespace {

constexpr int kTimersAtOnce = 1024;    // until the memory of what they gave goes back
constexpr std::chrono::seconds kLongWait{5};
constexpr int64_t kTickMs = 100;       // processing timers, idleness, progress

}  // namespace

Task::Task(JobContext& job, size_t index, size_t stage, uint32_t lane)
    : job_(job), plan_(*job.plan), index_(index), stage_(stage), lane_(lane), clock_([&]() -> int64_t {
        const PlanNode& first = job.plan->nodes[job.plan->stages[stage].nodes.front()];
        return first.event_time ? first.event_time->out_of_order_ms : 0;
      }()) {
  for (size_t n : plan_.stages[stage].nodes) {
    auto link = std::make_unique<Link>();
    link->node = n;
    link->plan = &plan_.nodes[n];
    for (size_t e : link->plan->out) (plan_.edges[e].route == Route::kChain ? link->children : link->channels).push_back(e);
    if (link->plan->is_source()) source_ = link.get();
    links_.push_back(std::move(link));
  }
  dead_letters_ = std::make_unique<DeadLetters>(job.dead_letters_dir, job.plan->document->name,
                                                plan_.nodes[plan_.stages[stage].nodes.front()].id() +
                                                    (plan_.nodes[plan_.stages[stage].nodes.front()].role == SLUICE_ROLE_MERGE ? ".merge" : "") + "." +
                                                    std::to_string(lane),
                                                job.dead_letters_to);
}

Task::~Task() = default;

size_t Task::add_input(size_t edge, Mailbox* sender) {
  inputs_.push_back({});
  inputs_.back().edge = edge;
  blocked_.push_back(false);
  return mailbox_.add_channel(sender);
}
void Task::add_output(size_t edge, uint32_t to_lane, Task* to, size_t channel) { outputs_.push_back({edge, to_lane, to, channel}); }

Task::Link* Task::link_of(size_t node) {
  for (const auto& l : links_)
    if (l->node == node) return l.get();
  return nullptr;
}
Operator* Task::operator_of(size_t node) {
  Link* l = link_of(node);
  return l != nullptr ? l->op.get() : nullptr;
}
void Task::set_store(size_t node, std::unique_ptr<state::LaneStore> store) { link_of(node)->store = std::move(store); }

base::Status Task::prepare(const sluice_host* host, const TaskRestore& restore) {
  host_ = host;
  dead_letters_->begin_epoch(job_.lineage, restore.manifest != nullptr ? restore.manifest->number : 0);
  for (const auto& link : links_) {
    link->op = std::make_unique<Operator>(job_, link->node, lane_, link->plan->lanes);
    link->op->bind_task([this] { return arena(); }, &reader_, [this] { mailbox_.wake(); });
    SLUICE_TRY(link->op->create(host));
    sluice_needs needs;
    SLUICE_TRY(link->op->needs(&needs));
    link->op->bind_state(link->store.get());
    if (restore.manifest == nullptr) continue;
    // The lowest of the old lanes: a lane that is new must not be ahead of what it is going to be given.
    int64_t lowest = SLUICE_END_OF_TIME, own = SLUICE_NO_TIME;
    bool any = false, has_own = false;
    uint32_t old_lanes = 0;
    for (const auto& w : restore.manifest->watermarks) {
      if (w.operator_id != link->plan->id()) continue;
      any = true;
      ++old_lanes;
      lowest = std::min(lowest, w.watermark_ms);
      if (w.lane == lane_) {
        own = w.watermark_ms;
        has_own = true;
      }
    }
    if (any) link->watermark = has_own && old_lanes == link->plan->lanes ? own : lowest;
    link->reached = link->watermark;
    link->op->watermark = link->watermark;
    if (link->store != nullptr && link->watermark != SLUICE_NO_TIME) link->store->set_event_time(link->watermark);
    if (link->plan->has_broadcast()) link->marker_seen = job_.gates[link->node]->is_open();
  }
  if (source_ == nullptr) return base::Status::ok();
  if (source_->plan->event_time) {
    auto made = EventTime::make(*source_->plan->event_time, plan_);
    if (!made.is_ok()) return made.status();
    event_time_ = std::move(made).value();
  }
  std::vector<bool> wanted = source_->plan->needed_below;
  if (event_time_) event_time_->mark_fields(&wanted);
  for (size_t f = 0; f < wanted.size(); ++f) {
    if (!wanted[f]) continue;
    source_set_.add(plan_.fields.path(f));
    source_set_to_plan_.push_back(f);
  }
  if (restore.manifest != nullptr) {
    for (const auto& w : restore.manifest->watermarks)
      if (w.operator_id == source_->plan->id()) restored_watermarks_[w.lane] = w.watermark_ms;
    if (const auto* op = restore.manifest->find_operator(source_->plan->id())) same_lanes_ = op->parallelism == source_->plan->lanes;
    if (const auto* s = restore.manifest->find_source(source_->plan->id())) {
      started_before_ = s->started;
      for (const auto& split : s->splits) {
        restored_splits_[split.id] = split;
        if (split.ended) job_.sources[source_->node]->ended(split.id);
      }
    }
  }
  return base::Status::ok();
}

void Task::start() {
  thread_ = std::thread([this] { run(); });
}
void Task::join() {
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<data::Arena> Task::arena() {
  if (arena_ == nullptr) arena_ = std::make_shared<data::Arena>(job_.chunks);
  return arena_;
}

bool Task::has_room() const {
  return std::all_of(outputs_.begin(), outputs_.end(), [](const Output& o) { return o.to->mailbox_.has_room(o.channel); });
}
void Task::push(const Output& to, Message message) { to.to->mailbox_.push(to.channel, std::move(message)); }
void Task::push_all(Link& link, const Message& message) {
  for (const Output& out : outputs_)
    if (std::find(link.channels.begin(), link.channels.end(), out.edge) != link.channels.end()) push(out, message);
}

void Task::run() {
  const AlternateStack stack;
  base::Status s;
  try {
    s = loop();
  } catch (const std::exception& e) {
    s = base::Status::bug(std::string("host: ") + e.what());
  } catch (...) {
    s = base::Status::bug("host: an exception of unknown type");
  }
  if (!s.is_ok() && s.code() != base::Code::kCancelled) job_.fail(std::move(s));
  finished_.store(true, std::memory_order_release);
  job_.notify();
}

// A wait that lasts is said in the log as well, once, and that it is over.
void Task::say_waiting(Operator& op, const base::Status& retry) {
  const auto now = std::chrono::steady_clock::now();
  if (waits_ != &op) {
    waits_ = &op;
    waits_since_ = now;
    wait_told_ = false;
  }
  waits_for_ = retry.message();
  op.set_last_error(waits_for_);
  if (!wait_told_ && now - waits_since_ >= kLongWait) {
    wait_told_ = true;
    spdlog::warn("operator \"{}\" (lane {}) cannot go on: {}; it tries again and again", op.id(), lane_, waits_for_);
  }
  const std::lock_guard lock(progress_mutex_);
  waiting_ = "operator " + op.id() + " cannot go on: " + waits_for_;
}

base::Status Task::pause(Operator& op, const base::Status& retry) {
  say_waiting(op, retry);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(retry.retry_after_ms());
  while (std::chrono::steady_clock::now() < until) {
    if (job_.hard_stop) return base::Status::cancelled();
    if (opening_ && job_.stopping) return base::Status::cancelled("stopped while waiting for operator \"" + op.id() + "\": " + retry.message());
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<uint32_t>(retry.retry_after_ms(), 20)));
  }
  return base::Status::ok();
}

// Where one call after the other puts something out. Those below go on meanwhile.
base::Status Task::wait_for_room() {
  while (!has_room()) {
    if (job_.hard_stop) return base::Status::cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return base::Status::ok();
}

void Task::clear_waiting() {
  if (waits_ == nullptr) return;
  if (wait_told_) spdlog::info("operator \"{}\" (lane {}) goes on", waits_->id(), lane_);
  if (waits_->last_error() == waits_for_) waits_->set_last_error("");
  waits_ = nullptr;
  const std::lock_guard lock(progress_mutex_);
  waiting_.clear();
}

base::Status Task::open_all() {
  opening_ = true;
  for (const auto& link : links_) {
    const base::Status s = retrying(*link->op, [&] { return link->op->open(); });
    if (s.code() == base::Code::kCancelled && !job_.hard_stop) job_.fail(base::Status(s));  // no checkpoint can be made without it
    SLUICE_TRY(s);
    SLUICE_TRY(after_call(*link, nullptr));
  }
  opening_ = false;
  return base::Status::ok();
}

base::Status Task::close_all() {
  base::Status first;
  for (const auto& link : links_) {
    // Rows of a checkpoint that is durable: they belong into the target before the run calls itself done. A hard stop
    // leaves them in the checkpoint; the next start delivers them.
    while (!link->segments.empty() && !job_.hard_stop) {
      SLUICE_TRY(commit_epoch(*link, link->segments.back().checkpoint));
      if (!link->segments.empty()) SLUICE_TRY(pause(*link->op, base::Status::retry(link->op->last_error(), 200)));
    }
  }
  for (const auto& link : links_) {
    base::Status s = link->op->close();
    if (first.is_ok() && !s.is_ok() && s.code() != base::Code::kRetry) first = std::move(s);
  }
  return first;
}

base::Status Task::loop() {
  SLUICE_TRY(open_all());
  arena_ = nullptr;
  // What the operators below had heard before the restart. A source has it once it knows its splits.
  for (const auto& link : links_) {
    if (link.get() == source_ || link->watermark == SLUICE_NO_TIME) continue;
    push_all(*link, {Message::Kind::kWatermark, link->watermark, {}, nullptr});
    SLUICE_TRY(tell_children(*link, link->watermark));
  }
  for (;;) {
    bool progress = false;
    while (auto c = mailbox_.next_command()) {
      if (c->kind == Command::Kind::kFinish) return close_all();
      SLUICE_TRY(command(*c));
      progress = true;
    }
    while (!later_barriers_.empty() && (!is_aligning_ || later_barriers_.front().number == aligning_)) {
      const Command c = later_barriers_.front();
      later_barriers_.pop_front();
      SLUICE_TRY(command(c));
    }
    if (job_.hard_stop) {
      (void)close_all();  // the job has failed or was cut off already
      return base::Status::cancelled();
    }
    for (size_t c = 0; c < inputs_.size(); ++c) {
      for (int burst = 0; burst < 8 && !blocked_[c] && has_room(); ++burst) {
        auto message = mailbox_.pop(c);
        if (!message) break;
        progress = true;
        // A way that became idle before these rows were sent must not hold back the watermark that they are judged by.
        for (size_t other = 0; message->kind == Message::Kind::kRows && other < inputs_.size(); ++other) {
          Message idle{Message::Kind::kIdle, 0, {}, nullptr};
          if (other != c && !blocked_[other] && mailbox_.pop_idle(other)) SLUICE_TRY(handle(other, idle));
        }
        SLUICE_TRY(handle(c, *message));
      }
    }
    forget_times_ahead();
    if (source_ != nullptr && !source_done_ && !source_held_ && !source_stopped_ && has_room()) {
      const int64_t now = job_.clock->now_ms();
      if (now >= next_discover_ms_) SLUICE_TRY(discover());
      if (assigned_ && !clock_.slots().empty() && job_.sources[source_->node]->ready_lanes() == source_->plan->lanes)
        SLUICE_TRY(poll_source(&progress));
    }
    const int64_t now = job_.clock->now_ms();
    if (now >= next_tick_ms_) {
      next_tick_ms_ = now + kTickMs;
      SLUICE_TRY(idle_tick());
    }
    SLUICE_TRY(end_if_done());
    if (!progress) {
      const bool polls = source_ != nullptr && !source_done_ && !source_held_ && !source_stopped_;
      // Without room below nothing is read: messages are no reason to wake up, the receiver's wake() is.
      mailbox_.wait(std::chrono::milliseconds(polls ? 2 : 50), has_room() ? blocked_ : std::vector<bool>(inputs_.size(), true));
    }
  }
}

// A clock that was set back must not make what is due wait for as long as it was set back.
void Task::forget_times_ahead() {
  const int64_t now = job_.clock->now_ms();
  if (now < last_pass_ms_) next_discover_ms_ = next_poll_ms_ = next_tick_ms_ = now;
  last_pass_ms_ = now;
}

base::Status Task::command(const Command& c) {
  if (c.kind == Command::Kind::kCommit) return commit(c.number);
  if (source_ == nullptr) return base::Status::ok();
  if (is_aligning_ && c.number != aligning_) {
    later_barriers_.push_back(c);
    return base::Status::ok();
  }
  source_held_ = true;
  if (c.stop) source_stopped_ = true;
  return barrier_arrived(c.number);
}

base::Status Task::handle(size_t channel, Message& m) {
  Input& in = inputs_[channel];
  const PlanEdge& edge = plan_.edges[in.edge];
  Link& link = *link_of(edge.to);
  const bool main = edge.to_port == SLUICE_PORT_MAIN;
  switch (m.kind) {
    case Message::Kind::kRows: {
      data::RowBatch batch = std::move(m.rows);
      arena_ = std::make_shared<data::Arena>(job_.chunks);
      arena_->keep(std::move(batch.arena));
      batch.arena = arena_;
      if (batch.checked != nullptr) {
        auto* own = arena_->array<uint8_t>(batch.size);
        std::copy_n(batch.checked, batch.size, own);
        batch.checked = own;
      }
      if (main && batch.watermark != nullptr) {
        int64_t others = SLUICE_END_OF_TIME;
        for (size_t c = 0; c < inputs_.size(); ++c)
          if (c != channel && plan_.edges[inputs_[c].edge].to == edge.to && plan_.edges[inputs_[c].edge].to_port == SLUICE_PORT_MAIN && !inputs_[c].idle)
            others = std::min(others, inputs_[c].watermark);
        auto* own = arena_->array<int64_t>(batch.size);
        for (uint32_t r = 0; r < batch.size; ++r) own[r] = std::max(link.watermark, std::min(others, batch.watermark[r]));
        batch.watermark = own;
      }
      SLUICE_TRY(deliver(link, edge.to_port, std::move(batch)));
      break;
    }
    case Message::Kind::kWatermark:
      in.watermark = std::max(in.watermark, m.number);
      if (main) SLUICE_TRY(update_input_watermark(link));
      break;
    case Message::Kind::kIdle: case Message::Kind::kActive:
      in.idle = m.kind == Message::Kind::kIdle;
      if (main) SLUICE_TRY(update_input_watermark(link));
      break;
    case Message::Kind::kEnd:
      in.ended = true;
      in.idle = false;
      in.watermark = SLUICE_END_OF_TIME;
      if (main) SLUICE_TRY(update_input_watermark(link));
      break;
    case Message::Kind::kMarker:
      in.marker = m.number == SLUICE_SNAPSHOT_END;
      // On its way to a broadcast input a snapshot may come from several sources: it is complete when all are.
      if (main && in.marker && std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& other) {
            const PlanEdge& e = plan_.edges[other.edge];
            return e.to == edge.to && e.to_port == SLUICE_PORT_MAIN && !other.marker && !other.ended;
          }))
        break;
      SLUICE_TRY(marker(link, edge.to_port, static_cast<uint32_t>(m.number)));
      break;
    case Message::Kind::kSchema:
      SLUICE_TRY(schema(link, m.schema));
      break;
    case Message::Kind::kBarrier:
      blocked_[channel] = true;
      SLUICE_TRY(barrier_arrived(static_cast<uint64_t>(m.number)));
      break;
  }
  arena_ = nullptr;
  return base::Status::ok();
}

// ---- beside the rows ---------------------------------------------------------------------------------

base::Status Task::update_input_watermark(Link& link) {
  int64_t lowest = SLUICE_END_OF_TIME;
  bool any = false;
  for (const Input& in : inputs_) {
    const PlanEdge& edge = plan_.edges[in.edge];
    if (edge.to != link.node || edge.to_port != SLUICE_PORT_MAIN || in.idle) continue;
    any = true;
    lowest = std::min(lowest, in.watermark);
  }
  if (!any) return set_idle(link, true);
  SLUICE_TRY(set_idle(link, false));
  return advance(link, lowest);
}

base::Status Task::advance(Link& link, int64_t watermark) {
  if (watermark <= link.watermark) return base::Status::ok();
  // Operators hear how far the rows came before they hear of the end.
  if (link.plan->is_source() && watermark == SLUICE_END_OF_TIME) SLUICE_TRY(advance(link, clock_.reached()));
  link.watermark = watermark;
  if (watermark != SLUICE_END_OF_TIME) link.reached = watermark;
  Operator& op = *link.op;
  op.watermark.store(watermark, std::memory_order_relaxed);
  if (!link.plan->is_source()) {
    if (link.store != nullptr && watermark != SLUICE_END_OF_TIME) link.store->set_event_time(watermark);
    SLUICE_TRY(fire_timers(link));
    SLUICE_TRY(retrying(op, [&] { return op.on_watermark(watermark); }));
    SLUICE_TRY(after_call(link, nullptr));
  }
  SLUICE_TRY(tell_children(link, watermark));
  push_all(link, {Message::Kind::kWatermark, watermark, {}, nullptr});
  return base::Status::ok();
}

// After a restart some may not have heard of it: those of a window's first phase have no watermark in the checkpoint.
base::Status Task::tell_children(const Link& link, int64_t watermark) {
  for (size_t e : link.children)
    if (plan_.edges[e].to_port == SLUICE_PORT_MAIN) SLUICE_TRY(advance(*link_of(plan_.edges[e].to), watermark));
  return base::Status::ok();
}

base::Status Task::fire_timers(Link& link) {
  state::TimerTable* timers = link.op->timers();
  if (timers == nullptr) return base::Status::ok();
  const auto fire = [&](state::TimerClock clock, uint32_t abi_clock, int64_t now) -> base::Status {
    std::optional<state::Timer> last;
    std::vector<state::Timer> set_again;
    int fired = 0;
    while (auto due = timers->pop_due(clock, now)) {
      if (now == SLUICE_END_OF_TIME && last && *due <= *last) {
        set_again.push_back(std::move(*due));
        continue;
      }
      last = due;
      SLUICE_TRY(retrying(*link.op, [&] { return link.op->on_timer(abi_clock, *due); }));
      SLUICE_TRY(after_call(link, nullptr));
      // One watermark can make very many due.
      if (++fired % kTimersAtOnce == 0) arena_ = nullptr;
      SLUICE_TRY(wait_for_room());
    }
    for (const state::Timer& t : set_again) timers->set(clock, t.key, t.at_ms, t.tag);
    return base::Status::ok();
  };
  if (link.watermark != SLUICE_NO_TIME && !link.has_ended) SLUICE_TRY(fire(state::TimerClock::kEvent, SLUICE_CLOCK_EVENT, link.watermark));
  link.has_ended = link.watermark == SLUICE_END_OF_TIME;
  return fire(state::TimerClock::kProcessing, SLUICE_CLOCK_PROCESSING, job_.clock->now_ms());
}

base::Status Task::set_idle(Link& link, bool idle) {
  if (link.idle == idle) return base::Status::ok();
  link.idle = idle;
  link.op->idle.store(idle, std::memory_order_relaxed);
  if (idle) idle_since_ms_ = job_.clock->now_ms();
  if (!link.plan->is_source()) {
    SLUICE_TRY(retrying(*link.op, [&] { return link.op->on_idle(idle, idle_since_ms_); }));
    SLUICE_TRY(after_call(link, nullptr));
  }
  for (size_t e : link.children)
    if (plan_.edges[e].to_port == SLUICE_PORT_MAIN) SLUICE_TRY(set_idle(*link_of(plan_.edges[e].to), idle));
  push_all(link, {idle ? Message::Kind::kIdle : Message::Kind::kActive, 0, {}, nullptr});
  return base::Status::ok();
}

base::Status Task::marker(Link& link, uint32_t port, uint32_t which) {
  if (port == SLUICE_PORT_BROADCAST) {
    Operator& op = *link.op;
    if (which == SLUICE_SNAPSHOT_BEGIN) {
      for (Input& in : inputs_)
        if (plan_.edges[in.edge].to == link.node) in.marker = false;
      for (state::StateTable* t : op.tables())
        if (t != nullptr && t->decl().kind == state::StateKind::kBroadcast) SLUICE_TRY(t->begin_snapshot_load());
      link.snapshot_loading = true;
    } else {
      for (const Input& in : inputs_) {
        const PlanEdge& edge = plan_.edges[in.edge];
        if (edge.to == link.node && edge.to_port == SLUICE_PORT_BROADCAST && !in.marker) return base::Status::ok();
      }
      if (link.snapshot_loading) {
        for (state::StateTable* t : op.tables())
          if (t != nullptr && t->decl().kind == state::StateKind::kBroadcast) SLUICE_TRY(t->end_snapshot_load());
        link.snapshot_loading = false;
      }
    }
    SLUICE_TRY(retrying(op, [&] { return op.on_marker(port, which); }));
    SLUICE_TRY(after_call(link, nullptr));
    if (which == SLUICE_SNAPSHOT_END && !link.marker_seen) {
      link.marker_seen = true;
      if (job_.gates[link.node]->arrive()) job_.notify();
    }
    return base::Status::ok();
  }
  for (size_t e : link.children) SLUICE_TRY(marker(*link_of(plan_.edges[e].to), plan_.edges[e].to_port, which));
  push_all(link, {Message::Kind::kMarker, static_cast<int64_t>(which), {}, nullptr});
  return base::Status::ok();
}

base::Status Task::forward_schema(Link& link, const std::shared_ptr<const Schema>& s) {
  for (size_t e : link.children) SLUICE_TRY(schema(*link_of(plan_.edges[e].to), s));
  push_all(link, {Message::Kind::kSchema, 0, {}, s});
  return base::Status::ok();
}

base::Status Task::schema(Link& link, const std::shared_ptr<const Schema>& s) {
  if (!link.op->handles_schema()) return forward_schema(link, s);
  base::Status status = retrying(*link.op, [&] { return link.op->on_schema(*s); });
  if (status.code() == base::Code::kBadRecord) {
    // The sink keeps the table in quarantine: its rows are refused one by one until a better schema comes.
    link.op->count("schemas_refused", 1);
    link.op->set_last_error(status.message());
    spdlog::warn("operator \"{}\": table {} is refused: {}; its rows go to the dead letters until a better configuration row comes (from {})",
                 link.op->id(), s->table, status.message(), s->origin);
    status = base::Status::ok();
  }
  SLUICE_TRY(status);
  return after_call(link, nullptr);
}

// While nobody asks, a split that gives nothing may have rows all the same: that is not being idle.
bool Task::polled_lately(int64_t idle_timeout_ms) const {
  return last_poll_ms_ != SLUICE_NO_TIME && last_poll_ms_ <= job_.clock->now_ms() &&
         std::chrono::steady_clock::now() - last_poll_ <= std::chrono::milliseconds(std::max<int64_t>(idle_timeout_ms / 10, kTickMs));
}

base::Status Task::idle_tick() {
  const int64_t now = job_.clock->now_ms();
  if (source_ != nullptr && assigned_ && !source_done_) {
    const int64_t timeout = source_->plan->event_time ? source_->plan->event_time->idle_timeout_ms : 0;
    bool changed = false;
    const bool asked = polled_lately(timeout);
    std::vector<SplitClock::Slot*> become_idle;
    for (auto& s : clock_.slots()) {
      const bool idle = (asked || s.idle) && timeout > 0 && (s.flags & SLUICE_SPLIT_CAUGHT_UP) != 0 && (s.flags & SLUICE_SPLIT_END) == 0 && !s.gated &&
                        now - s.last_row_ms >= timeout;
      if (idle == s.idle) continue;
      changed = true;
      if (idle) become_idle.push_back(&s);
      else s.idle = false;
    }
    // In the order in which they fell silent, those that never gave a row first: what the last one says of the time must
    // not depend on whether one tick finds them all.
    const auto silent_before = [](const auto* a, const auto* b) {
      return std::pair(a->last_row_ms, a->max_event_time != SLUICE_NO_TIME) < std::pair(b->last_row_ms, b->max_event_time != SLUICE_NO_TIME);
    };
    std::sort(become_idle.begin(), become_idle.end(), silent_before);
    for (size_t i = 0; i < become_idle.size(); ++i) {
      if (i > 0 && silent_before(become_idle[i - 1], become_idle[i])) clock_.recompute();
      become_idle[i]->idle = true;
    }
    if (changed) clock_.recompute();
    // A lane without splits says nothing about time.
    const bool all_idle = clock_.all_idle();
    if (!all_idle) SLUICE_TRY(set_idle(*source_, false));
    if (changed) SLUICE_TRY(advance(*source_, clock_.watermark()));
    SLUICE_TRY(set_idle(*source_, all_idle));
  }
  for (const auto& link : links_) {
    if (link->plan->is_source()) continue;
    SLUICE_TRY(fire_timers(*link));
    if (!link->idle) continue;
    SLUICE_TRY(retrying(*link->op, [&] { return link->op->on_idle(true, idle_since_ms_); }));
    SLUICE_TRY(after_call(*link, nullptr));
  }
  publish_splits();
  arena_ = nullptr;
  return base::Status::ok();
}

// ---- what others see ----------------------------------------------------------------------------------------

void Task::publish_splits() {
  if (source_ == nullptr) return;
  std::vector<observe::SplitProgress> splits;
  for (const auto& s : clock_.slots()) {
    observe::SplitProgress p;
    p.source_id = source_->plan->id();
    p.split = s.id;
    p.lane = lane_;
    if (s.has_position) p.position = position_text(static_cast<uint32_t>(source_->node), s.id, s.position);
    p.lag = s.lag;
    p.watermark_ms = clock_.split_watermark(s);
    p.idle = s.idle;
    p.caught_up = (s.flags & SLUICE_SPLIT_CAUGHT_UP) != 0;
    p.ended = (s.flags & SLUICE_SPLIT_END) != 0;
    p.gated = s.gated;
    splits.push_back(std::move(p));
  }
  const std::lock_guard lock(progress_mutex_);
  split_progress_ = std::move(splits);
}

void Task::add_progress(std::map<size_t, NodeProgress>* by_node, std::vector<observe::SplitProgress>* splits,
                        std::vector<std::string>* waiting) const {
  for (const auto& link : links_) {
    if (link->op == nullptr) continue;
    const Operator& op = *link->op;
    auto& p = (*by_node)[link->node];
    p.rows_in += op.rows_in.load(std::memory_order_relaxed);
    p.rows_out += op.rows_out.load(std::memory_order_relaxed);
    p.rejected += op.rejected_count.load(std::memory_order_relaxed);
    p.bytes_in += op.bytes_in.load(std::memory_order_relaxed);
    p.busy_ns += op.busy_ns.load(std::memory_order_relaxed);
    const int64_t w = op.watermark.load(std::memory_order_relaxed);
    if (op.idle.load(std::memory_order_relaxed)) {
      if (!p.any_active) p.watermark_ms = std::max(p.watermark_ms, w);
    } else {
      p.watermark_ms = p.any_active ? std::min(p.watermark_ms, w) : w;
      p.any_active = true;
    }
    for (const auto& [name, value] : op.counters()) p.counters[name] += value;
    if (const std::string note = op.note(); !note.empty()) p.note = note;
    if (const std::string error = op.last_error(); !error.empty()) p.last_error = error;
  }
  const std::lock_guard lock(progress_mutex_);
  splits->insert(splits->end(), split_progress_.begin(), split_progress_.end());
  if (!waiting_.empty()) waiting->push_back(waiting_);
}

}  // namespace sluice::runtime
