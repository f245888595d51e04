#include "runtime/dead_letter_target.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice::runtime {

DeadLetterTarget::DeadLetterTarget(const JobContext& job, const PlanNode& node, std::function<bool()> gives_up)
    : job_(job), node_(node), gives_up_(std::move(gives_up)) {}

base::Status DeadLetterTarget::until_taken(const std::function<base::Status()>& attempt) {
  const auto say = [&](const std::string& text) {
    const std::lock_guard lock(waiting_mutex_);
    waiting_ = text;
  };
  for (bool waited = false;; waited = true) {
    const base::Status s = [&] {
      const std::lock_guard lock(mutex_);
      return attempt();
    }();
    if (s.code() != base::Code::kRetry) {
      if (waited) say("");
      return s;
    }
    say(s.message());
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(s.retry_after_ms());
    do {
      if (gives_up_()) return base::Status::cancelled("stopped while the dead letters could not be written: " + s.message());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (std::chrono::steady_clock::now() < until);
  }
}

base::Status DeadLetterTarget::open(const sluice_host* host) {
  op_.emplace(job_, node_, 0, 1);
  op_->bind_task(
      [this] {
        if (arena_ == nullptr) arena_ = std::make_shared<data::Arena>(job_.chunks);
        return arena_;
      },
      &reader_, [] {});
  SLUICE_TRY(op_->create(host));
  sluice_needs needs{};
  SLUICE_TRY(op_->needs(&needs));
  SLUICE_TRY(until_taken([&] { return op_->open(); }));
  open_ = true;
  return base::Status::ok();
}

base::Status DeadLetterTarget::write(std::string_view line, std::vector<Refused>* refused) {
  return until_taken([&] { return give(line, refused); });
}

base::Status DeadLetterTarget::give(std::string_view line, std::vector<Refused>* refused) {
  arena_ = std::make_shared<data::Arena>(job_.chunks);
  data::RowBatch batch;
  batch.arena = arena_;
  batch.size = 1;
  sluice_str raw = arena_->copy(line);
  int64_t time = SLUICE_NO_TIME;
  uint8_t change = SLUICE_CHANGE_NONE, checked = 1;  // written by the host
  batch.raw = &raw;
  batch.event_time = &time;
  batch.change = &change;
  batch.checked = &checked;
  batch.fields.assign(job_.plan->fields.size(), nullptr);
  for (size_t f : node_.fields) data::ensure_field(batch, job_.plan->fields, f, reader_);
  unflushed_ = true;
  uint32_t consumed = 0;
  const base::Status s = op_->process(SLUICE_PORT_MAIN, batch, &consumed);
  op_->emissions.clear();
  if (s.code() == base::Code::kBadRecord) {
    op_->rejected.clear();
    refused->push_back({std::string(line), s.message()});
    return base::Status::ok();
  }
  const bool done = s.is_ok() || (s.code() == base::Code::kRetry && consumed > 0);
  take_refused(std::string(line), done, refused);
  return done ? base::Status::ok() : s;
}

void DeadLetterTarget::take_refused(const std::string& line, bool done, std::vector<Refused>* refused) {
  for (const Rejected& r : std::exchange(op_->rejected, {})) {
    if (r.row != SLUICE_NO_ROW) {
      if (done) refused->push_back({line, r.reason});
    } else if (const auto kept = op_->origins.take(r.origin)) {
      refused->push_back({std::string(kept->raw()), r.reason});
    }
  }
}

base::Status DeadLetterTarget::flush(uint64_t checkpoint, std::vector<Refused>* refused) {
  return until_taken([&]() -> base::Status {
    if (!unflushed_) return base::Status::ok();
    const base::Status s = op_->prepare(checkpoint);
    take_refused({}, false, refused);
    if (s.is_ok()) unflushed_ = false;
    return s;
  });
}

base::Status DeadLetterTarget::commit(uint64_t checkpoint) {
  const std::lock_guard lock(mutex_);
  const base::Status s = op_->commit(checkpoint);
  return s.code() == base::Code::kRetry ? base::Status::ok() : s;  // nothing depends on it: the letters are durable
}

base::Status DeadLetterTarget::close() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(open_, false)) return base::Status::ok();
  return op_->close();
}

std::string DeadLetterTarget::waiting() const {
  const std::lock_guard lock(waiting_mutex_);
  return waiting_.empty() ? std::string() : "dead letters (" + node_.section->use + "): " + waiting_;
}

}  // namespace sluice::runtime
