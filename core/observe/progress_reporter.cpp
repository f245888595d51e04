#include "observe/progress_reporter.h"

#include <chrono>

#include "observe/progress_view.h"

namespace sluice::observe {
namespace {

constexpr std::chrono::milliseconds kLivePeriod{500};
constexpr std::chrono::milliseconds kPlainPeriod{10'000};
// Live rates over three seconds: steady enough to be read, quick enough to be believed.
constexpr size_t kLiveSamples = 7;
constexpr size_t kPlainSamples = 2;

}  // namespace

ProgressReporter::ProgressReporter(Options options) : options_(std::move(options)), thread_([this] { run(); }) {}

ProgressReporter::~ProgressReporter() { stop(); }

void ProgressReporter::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  stop_requested_.notify_all();
  thread_.join();
  if (options_.style == ProgressStyle::kLive) options_.area->clear();
}

void ProgressReporter::run() {
  const bool live = options_.style == ProgressStyle::kLive;
  const auto period = live ? kLivePeriod : kPlainPeriod;
  std::unique_lock lock(mutex_);
  // A log needs no line before there is something to tell; it has its first sample for the first rate, though.
  if (!live) samples_.push_back(options_.progress());
  while (!stopping_) {
    if (live) show();
    stop_requested_.wait_for(lock, period, [this] { return stopping_; });
    if (!live && !stopping_) show();
  }
}

void ProgressReporter::show() {
  const bool live = options_.style == ProgressStyle::kLive;
  samples_.push_back(options_.progress());
  if (samples_.size() > (live ? kLiveSamples : kPlainSamples)) samples_.pop_front();
  const Progress& now = samples_.back();
  const Progress* before = samples_.size() > 1 ? &samples_.front() : nullptr;
  if (!live) return options_.log_line(log_line(now, before, options_.graph));
  const StatusArea::Size size = options_.area->size();
  // The last column and the last row stay free: a terminal wraps or scrolls when they are written.
  options_.area->draw(live_lines(now, before, options_.graph, size.columns - 1, size.rows - 1));
}

}  // namespace sluice::observe
