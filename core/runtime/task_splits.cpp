// The splits of a source lane: found, given to the plugin, restored, ended.
#include "runtime/task.h"

#include <algorithm>

namespace sluice::runtime {
namespace {

constexpr int64_t kDiscoverMs = 1000;  // new splits

}  // namespace

base::Status Task::discover() {
  Operator& op = *source_->op;
  const int64_t now = job_.clock->now_ms();
  next_discover_ms_ = now + kDiscoverMs;
  const bool first = !assigned_;
  base::Status s = to_assign_.empty() ? find_splits() : base::Status::ok();
  if (s.is_ok() && !to_assign_.empty()) s = op.assign(to_assign_);
  if (s.code() == base::Code::kRetry) {  // barriers and a stop come through meanwhile
    op.discard_output();
    next_discover_ms_ = now + s.retry_after_ms();
    say_waiting(op, s);
    return split_changes();
  }
  SLUICE_TRY(s);
  clear_waiting();
  to_assign_.clear();
  for (auto& slot : clock_.slots()) slot.assigned = true;
  if (first) {
    restore_clock();
    if (const int64_t known = std::min(source_->watermark, clock_.watermark()); known != SLUICE_NO_TIME) {
      push_all(*source_, {Message::Kind::kWatermark, known, {}, nullptr});
      SLUICE_TRY(tell_children(*source_, known));
    }
    // A lane without splits says nothing about time.
    if (clock_.slots().empty()) SLUICE_TRY(set_idle(*source_, true));
    job_.sources[source_->node]->lane_ready();
  }
  assigned_.store(true, std::memory_order_release);
  if (first) job_.notify();
  return split_changes();
}

// Those that are new and this lane's get a slot, and go to to_assign_ unless they have ended. RETRY: nothing was done.
base::Status Task::find_splits() {
  Operator& op = *source_->op;
  std::vector<std::pair<std::string, int64_t>> found;
  SLUICE_TRY(op.discover(&found));
  std::set<std::string> there;  // found by the plugin itself: one that ended and is gone has ended for good
  for (const auto& [id, ordinal] : found) there.insert(id);
  if (!assigned_)  // what the checkpoint knows and the source no more: the plugin has to say what is to be done about it
    for (const auto& [id, split] : restored_splits_)
      if (!there.contains(id)) found.emplace_back(id, -1);
  std::erase_if(found, [&](const auto& f) { return known_splits_.contains(f.first); });
  std::set<std::string> ended;
  for (const auto& [id, ordinal] : found) {
    const auto restored = restored_splits_.find(id);
    if (restored == restored_splits_.end() || !restored->second.ended) continue;
    bool may_have_grown = false;
    if (there.contains(id)) SLUICE_TRY(op.may_have_grown(id, &may_have_grown));
    if (!may_have_grown) ended.insert(id);
  }
  SourceSplits& shared = *job_.sources[source_->node];
  for (const auto& [id, found_at] : found) {
    const auto restored = restored_splits_.find(id);
    const bool has_ended = ended.contains(id);
    if (restored != restored_splits_.end() && restored->second.ended && !has_ended) shared.read_on(id);
    known_splits_.insert(id);
    const int64_t ordinal = shared.ordinal_of(id, found_at);
    const uint32_t owner = ordinal >= 0 ? static_cast<uint32_t>(ordinal % source_->plan->lanes)
                                        : static_cast<uint32_t>(state::key_hash(id) % source_->plan->lanes);
    if (owner != lane_) continue;
    shared.taken(id);
    SplitClock::Slot slot;
    slot.id = id;
    slot.index = shared.index_of(id);
    slot.last_row_ms = job_.clock->now_ms();
    if (restored != restored_splits_.end()) {
      const auto& r = restored->second;
      slot.max_event_time = r.max_event_time_ms;
      slot.position = r.position;
      slot.has_position = !r.position.empty();
      if (r.snapshot_complete) slot.flags |= SLUICE_SPLIT_SNAPSHOT_COMPLETE;
      if (has_ended) slot.flags |= SLUICE_SPLIT_END;
    }
    slot.assigned = has_ended;
    if (!has_ended)
      to_assign_.push_back({slot.index, id, slot.has_position ? std::optional(slot.position) : std::nullopt,
                            !slot.has_position && (started_before_ || assigned_)});
    slot_of_[slot.index] = clock_.slots().size();
    clock_.slots().push_back(std::move(slot));
  }
  return base::Status::ok();
}

// A split must not find a time that the lane it was read in had not reached.
void Task::restore_clock() {
  std::set<uint32_t> lanes;
  if (same_lanes_) lanes.insert(lane_);
  for (const auto& slot : clock_.slots())
    if (const auto r = restored_splits_.find(slot.id); r != restored_splits_.end()) lanes.insert(r->second.lane);
  const auto lowest = [&](auto&& counts) {
    std::optional<int64_t> out;
    for (const auto& [lane, watermark] : restored_watermarks_)
      if (counts(lane)) out = std::min(out.value_or(watermark), watermark);
    return out;
  };
  auto reached = lowest([&](uint32_t lane) { return lanes.contains(lane); });
  if (!reached) reached = lowest([](uint32_t) { return true; });
  if (reached) clock_.restore(*reached);
}

base::Status Task::split_changes() {
  Operator& op = *source_->op;
  bool changed = false;
  const auto reports = std::exchange(op.split_reports, {});
  for (const SplitReport& r : reports) {
    const auto known = slot_of_.find(r.split);
    if (known == slot_of_.end()) return base::Status::bug("source \"" + op.id() + "\" reports on split " + std::to_string(r.split) + ", which it was not given");
    auto& slot = clock_.slots()[known->second];
    switch (r.kind) {
      case SplitReport::Kind::kStatus: {
        const uint32_t stays = slot.flags & (SLUICE_SPLIT_SNAPSHOT_COMPLETE | SLUICE_SPLIT_END);
        if ((r.flags & SLUICE_SPLIT_END) != 0 && (slot.flags & SLUICE_SPLIT_END) == 0) job_.sources[source_->node]->ended(slot.id);
        slot.flags = r.flags | stays;
        changed = true;
        break;
      }
      case SplitReport::Kind::kLag: slot.lag = r.lag; break;
      case SplitReport::Kind::kPosition: {
        // Rows of this split that came after the report are further on.
        bool later = false;
        for (size_t i = r.rows_before; i < op.source_rows.split.size(); ++i) later = later || op.source_rows.split[i] == r.split;
        if (!later) {
          slot.position = r.position;
          slot.has_position = true;
        }
        break;
      }
    }
  }
  if (changed) clock_.recompute();
  const auto& slots = clock_.slots();
  if (!assigned_) return base::Status::ok();
  const bool all_read = !slots.empty() && std::all_of(slots.begin(), slots.end(), [](const auto& s) {
    return (s.flags & (SLUICE_SPLIT_SNAPSHOT_COMPLETE | SLUICE_SPLIT_END)) != 0;
  });
  if (all_read && !snapshot_marked_) {
    snapshot_marked_ = true;
    SLUICE_TRY(marker(*source_, SLUICE_PORT_MAIN, SLUICE_SNAPSHOT_END));
  }
  const SourceSplits& shared = *job_.sources[source_->node];
  const bool all_ended = slots.empty() ? shared.ready_lanes() == source_->plan->lanes && shared.all_ended(known_splits_)
                                       : std::all_of(slots.begin(), slots.end(), [](const auto& s) { return (s.flags & SLUICE_SPLIT_END) != 0; });
  if (all_ended) source_done_ = true;
  return base::Status::ok();
}

base::Status Task::end_if_done() {
  if (end_sent_) return base::Status::ok();
  if (source_ != nullptr) {
    if (!source_done_ && assigned_ && clock_.slots().empty()) SLUICE_TRY(split_changes());
    if (!source_done_ || source_stopped_) return base::Status::ok();
    SLUICE_TRY(set_idle(*source_, false));
    SLUICE_TRY(advance(*source_, SLUICE_END_OF_TIME));
  }
  for (const Input& in : inputs_)
    if (plan_.edges[in.edge].to_port == SLUICE_PORT_MAIN && !in.ended) return base::Status::ok();
  end_sent_ = true;
  for (const Output& out : outputs_) push(out, {Message::Kind::kEnd, 0, {}, nullptr});
  ended_.store(true, std::memory_order_release);
  publish_splits();
  job_.notify();
  return base::Status::ok();
}

}  // namespace sluice::runtime
