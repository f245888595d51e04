// A task's part in checkpoints: barriers, its snapshot, and what a complete one allows to be committed.
#include "runtime/task.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "base/failpoint.h"
#include "runtime/epoch.h"

namespace sluice::runtime {

base::Status Task::barrier_arrived(uint64_t checkpoint) {
  if (!is_aligning_) {
    is_aligning_ = true;
    aligning_ = checkpoint;
    barriers_ = 0;
  }
  if (checkpoint != aligning_)
    return base::Status::bug("barrier " + std::to_string(checkpoint) + " while " + std::to_string(aligning_) + " is being aligned");
  if (++barriers_ < inputs_.size() + (source_ != nullptr ? 1 : 0)) return base::Status::ok();
  is_aligning_ = false;
  // Sent before this barrier, so they come first: a checkpoint must not name the rows of an earlier one whose file the
  // commit is about to remove.
  while (const auto earlier = mailbox_.next_commit()) SLUICE_TRY(commit(earlier->number));
  SLUICE_TRY(take_checkpoint(checkpoint));
  std::fill(blocked_.begin(), blocked_.end(), false);
  source_held_ = false;
  return base::Status::ok();
}

base::Status Task::take_checkpoint(uint64_t checkpoint) {
  SLUICE_FAILPOINT("task.barrier");
  TaskAck ack;
  ack.task = index_;
  ack.checkpoint = checkpoint;
  for (const auto& link : links_) {
    if (link->plan->delivery == SLUICE_DELIVERY_EPOCH && link->plan->is_sink()) {
      if (link->spool != nullptr) {
        SLUICE_TRY(until_there_is_space(*link->op, [&] { return link->spool->close(); }));
        link->segments.push_back({checkpoint, link->spool->path(), link->spool->rows()});
        link->spool = nullptr;
      }
      for (const auto& segment : link->segments) ack.spools.push_back({link->node, lane_, segment.checkpoint, segment.path, segment.rows});
      continue;
    }
    SLUICE_TRY(retrying(*link->op, [&] { return link->op->prepare(checkpoint); }));
    SLUICE_TRY(after_call(*link, nullptr));
  }
  SLUICE_FAILPOINT("task.prepared");
  for (const Output& out : outputs_) push(out, {Message::Kind::kBarrier, static_cast<int64_t>(checkpoint), {}, nullptr});
  SLUICE_TRY(dead_letters_->sync(checkpoint));
  dead_letters_->begin_epoch(job_.lineage, checkpoint);
  for (const auto& link : links_) {
    if (link->store == nullptr) continue;
    const std::string dir = job_.work_dir + "/snapshot-" + std::to_string(checkpoint) + "-" + std::to_string(link->node) + "-" + std::to_string(lane_);
    auto files = link->store->snapshot(dir);
    if (!files.is_ok()) {
      if (files.status().code() != base::Code::kRetry) return files.status();
      ack.failure = "operator \"" + link->plan->id() + "\": " + files.status().message();
      std::error_code ignored;
      std::filesystem::remove_all(dir, ignored);
      break;
    }
    state::TimerTable* timers = link->op->timers();
    ack.states.push_back({link->node, lane_, std::move(files).value(), link->store->stored_states(), link->store->stats(),
                          timers != nullptr ? timers->size() : 0});
  }
  SLUICE_FAILPOINT("task.snapshot_taken");
  for (const auto& link : links_) {
    // A lane without splits says nothing about time.
    if (link.get() != source_ || !assigned_ || !clock_.slots().empty()) ack.watermarks.emplace_back(link->node, link->reached);
    if (link->plan->has_broadcast()) ack.gates.emplace_back(link->node, link->marker_seen);
  }
  if (source_ != nullptr) {
    ack.starts.emplace_back(source_->node, started_before_ || assigned_);
    for (const auto& slot : clock_.slots()) {
      // Not read yet: a restored one stays as the last checkpoint has it, see Job::complete_checkpoint.
      if (!slot.assigned) continue;
      checkpoint::ManifestSplit split;
      split.id = slot.id;
      split.lane = lane_;
      split.position = slot.position;
      if (slot.has_position) split.position_text = position_text(static_cast<uint32_t>(source_->node), slot.id, slot.position);
      split.max_event_time_ms = slot.max_event_time;
      split.snapshot_complete = (slot.flags & SLUICE_SPLIT_SNAPSHOT_COMPLETE) != 0;
      split.ended = (slot.flags & SLUICE_SPLIT_END) != 0;
      ack.splits.emplace_back(source_->node, std::move(split));
    }
  }
  job_.ack(std::move(ack));
  return base::Status::ok();
}

base::Status Task::commit(uint64_t checkpoint) {
  SLUICE_FAILPOINT("task.before_commit");
  for (const auto& link : links_) {
    if (link->plan->is_sink() && link->plan->delivery == SLUICE_DELIVERY_EPOCH) {
      SLUICE_TRY(commit_epoch(*link, checkpoint));
      continue;
    }
    const base::Status s = link->op->commit(checkpoint);
    if (s.code() != base::Code::kRetry) SLUICE_TRY(s);
    say_commit(*link, s);
    SLUICE_TRY(after_call(*link, nullptr));
  }
  arena_ = nullptr;
  SLUICE_FAILPOINT("task.after_commit");
  return base::Status::ok();
}

// OK, or RETRY: the next checkpoint's commit stands for this one.
void Task::say_commit(Link& link, const base::Status& s) {
  Operator& op = *link.op;
  if (!s.is_ok()) {
    op.count("commits_failed", 1);
    op.set_last_error(s.message());
    if (!link.commit_failed) spdlog::warn("operator \"{}\" (lane {}) could not commit: {}; it tries again with the next checkpoint", op.id(), lane_, s.message());
  } else if (link.commit_failed) {
    op.set_last_error("");
    spdlog::info("operator \"{}\" (lane {}) commits again", op.id(), lane_);
  }
  link.commit_failed = !s.is_ok();
}

base::Status Task::commit_epoch(Link& link, uint64_t checkpoint) {
  while (!link.segments.empty() && link.segments.front().checkpoint <= checkpoint) {
    const base::Status s = commit_segment(link, link.segments.front());
    if (s.code() != base::Code::kRetry) SLUICE_TRY(s);
    say_commit(link, s);
    if (!s.is_ok()) return base::Status::ok();
    std::error_code ignored;
    std::filesystem::remove(link.segments.front().path, ignored);
    link.segments.pop_front();
  }
  return base::Status::ok();
}

// OK: its rows are in the target. Each attempt gives the same rows in the same order under the same number, whatever else
// has come to wait: a target may know by them what it has already.
base::Status Task::commit_segment(Link& link, Link::Segment& segment) {
  Operator& op = *link.op;
  EpochWriter writer{job_, op, lane_, reader_,
                     [this] {
                       arena_ = nullptr;
                       return arena();
                     },
                     [this](size_t source, const std::string& split, std::string_view position) {
                       return position_text(static_cast<uint32_t>(source), split, position);
                     }};
  bool holds_it = false;
  if (segment.tried) {  // the answer may have been lost, the rows not
    uint64_t last = 0;
    std::string lineage;
    SLUICE_TRY(op.last_committed(&last, &lineage));
    holds_it = lineage == job_.lineage && last >= segment.checkpoint;
  }
  segment.tried = true;
  if (!holds_it) SLUICE_TRY(writer.write(segment.checkpoint, segment.path, &segment.refused));
  writer.count_refused(segment.refused);
  return base::Status::ok();
}

}  // namespace sluice::runtime
