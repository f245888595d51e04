#include "block_sender.h"

#include <algorithm>

#include "exactly_once.h"

namespace sluice::clickhouse {
namespace {
constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{5000};
constexpr int kMemoryLimitExceeded = 241, kTooManyParts = 252;
// The same block may fit when others need less; one that is too large by itself never does.
constexpr int kTriesOfLargeBlock = 3;
constexpr const char* kMoreMemory =
    ". Inserts of a checkpoint stay as they are (`delivery: exactly_once`): let the server have more memory for it "
    "(max_memory_usage); a smaller `batch_rows` is for the checkpoints after it";
}  // namespace

BlockSender::BlockSender(const TargetRules& rules, HttpRules http, std::chrono::milliseconds flush_interval,
                         Hooks hooks)
    : rules_(rules),
      flush_interval_(flush_interval),
      hooks_(std::move(hooks)),
      client_(std::move(http), [this](std::chrono::milliseconds) { return abort_.load(std::memory_order_relaxed); }),
      unknown_errors_(rules.unknown_error_patience),
      infos_(rules.servers.size()) {}

void BlockSender::start(size_t server, std::shared_ptr<const ServerInfo> info) {
  server_ = server;
  infos_[server] = std::move(info);
  thread_ = std::thread([this] { run(); });
}

void BlockSender::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    abort_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

size_t BlockSender::memory() const {
  size_t sum = 0;
  for (const auto& b : open_) sum += b->memory();
  for (const auto& b : sealed_) sum += b->memory();
  return sum;
}

uint64_t BlockSender::first_origin() const {
  uint64_t first = 0;
  const auto see = [&](const Block& b) {
    if (b.first_origin() != 0 && (first == 0 || b.first_origin() < first)) first = b.first_origin();
  };
  for (const auto& b : open_) see(*b);
  for (const auto& b : sealed_) see(*b);
  return first;
}

void BlockSender::seal(size_t index) {
  sealed_.push_back(std::move(open_[index]));
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
  changed_.notify_all();
}

void BlockSender::seal_all() {
  for (auto& b : open_) sealed_.push_back(std::move(b));
  open_.clear();
  changed_.notify_all();
}

void BlockSender::discard(std::unique_lock<std::mutex>& lock) {
  abort_ = true;
  while (sending_) changed_.wait(lock);
  abort_ = false;
  open_.clear();
  sealed_.clear();
  parked_.reset();
  trouble_.clear();
  changed_.notify_all();  // the thread waits for the end of the abort
}

void BlockSender::resume() {
  parked_.reset();
  changed_.notify_all();
}

BlockSender::Clock::time_point BlockSender::next_due() const {
  auto due = Clock::time_point::max();
  if (flush_interval_.count() > 0)
    for (const auto& b : open_) due = std::min(due, b->since + flush_interval_);
  return due;
}

bool BlockSender::seal_due(Clock::time_point now) {
  bool any = false;
  for (size_t i = 0; i < open_.size();) {
    if (open_[i]->since + flush_interval_ <= now) {
      seal(i);
      any = true;
    } else {
      ++i;
    }
  }
  return any;
}

void BlockSender::run() {
  std::unique_lock lock(mutex_);
  auto pause = kFirstPause;
  int too_large = 0;  // how often the first block was
  while (!stop_) {
    if (abort_) {  // discard() is at work, and needs the mutex
      pause = kFirstPause;
      too_large = 0;
      changed_.wait(lock);
      continue;
    }
    if (parked_ || sealed_.empty()) {
      const auto due = parked_ ? Clock::time_point::max() : next_due();
      if (due == Clock::time_point::max()) {
        changed_.wait(lock);
      } else if (!seal_due(Clock::now())) {
        changed_.wait_until(lock, due);
      }
      continue;
    }
    const Block& block = *sealed_.front();
    if (names_in_.count(block.token) > 0) {
      sealed_.pop_front();
      ++progress_;
      changed_.notify_all();
      continue;
    }
    const size_t server = server_;
    sending_ = true;
    lock.unlock();
    bool ok = false;
    ServerError error = send(block, server, &ok);
    if (ok) {
      hooks_.count("inserts", 1);
      hooks_.count("inserted_rows", block.size());
      hooks_.count("inserted_bytes", static_cast<int64_t>(block.rows.size()));
    } else {
      error = unknown_errors_.judge(std::move(error));
    }
    lock.lock();
    sending_ = false;
    changed_.notify_all();
    if (abort_) continue;
    if (ok) {
      if (rules_.exactly_once) names_in_.insert(block.token);
      sealed_.pop_front();
      ++progress_;
      unknown_errors_.forget();
      pause = kFirstPause;
      too_large = 0;
      if (!trouble_.empty()) {
        trouble_.clear();
        hooks_.note("");
      }
      continue;
    }
    if (error.unknown_outcome) sealed_.front()->sent_before = true;
    too_large = error.code == kMemoryLimitExceeded ? too_large + 1 : 0;
    if (too_large >= kTriesOfLargeBlock && block.size() > 1) {
      // Exactly once: what was sent under a name stays as it is, or the server would not know it again.
      if (rules_.exactly_once) {
        error.text += kMoreMemory;
      } else {
        too_large = 0;
        error.what = ErrorClass::kTooLarge;
      }
    }
    if (error.what != ErrorClass::kTransient) {
      parked_ = std::move(error);
      continue;
    }
    hooks_.count("retries", 1);
    const std::string text = rules_.servers[server] + ": " + error.text;
    if (trouble_.empty()) hooks_.warn("waiting for ClickHouse: " + text);
    if (trouble_ != text) hooks_.note("ClickHouse: " + text);
    trouble_ = text;
    server_ = (server_ + 1) % rules_.servers.size();
    // One round through the list without a pause; the rows wait, whatever happens.
    if (server_ != 0 && rules_.servers.size() > 1) continue;
    const auto until = Clock::now() + pause;
    pause = std::min(pause * 2, kLongestPause);
    while (!stop_ && !abort_ && Clock::now() < until) changed_.wait_until(lock, until);
  }
}

Status BlockSender::learn(size_t server, std::shared_ptr<const ServerInfo>* info) {
  SLUICE_CHECK_OK(read_server(rules_, server, client_, info));
  const std::lock_guard lock(mutex_);
  for (size_t other = 0; other < infos_.size(); ++other) {
    if (infos_[other] == nullptr) continue;
    const Status s = check_same_table(rules_, other, *infos_[other], server, **info);
    if (!s.is_ok() && rules_.one_table) return s;
    if (!s.is_ok()) hooks_.warn(s.message());
    break;
  }
  infos_[server] = *info;
  return Status::ok();
}

// A block that may be in is sent again only as long as the server would know it.
bool BlockSender::is_known(const Block& block, size_t server, ServerError* error) {
  if (block.attempt == nullptr || !(block.sent_before || block.attempt->is_repeat)) return true;
  Answer a = check_remembered(rules_, server, client_, *block.attempt);
  if (!a.ok) *error = std::move(a.error);
  return a.ok;
}

// Not under the mutex. The sink does not touch a block that is being sent.
ServerError BlockSender::send(const Block& block, size_t server, bool* ok) {
  std::shared_ptr<const ServerInfo> info;
  {
    const std::lock_guard lock(mutex_);
    info = infos_[server];
  }
  if (info == nullptr) {
    Status s = learn(server, &info);
    if (!s.is_ok())
      return {s.code() == SLUICE_RETRY ? ErrorClass::kTransient : ErrorClass::kFatal, 0, s.message(), true};
  }
  if (info->layout->signature != block.layout->signature)
    return {ErrorClass::kSchema, 0, "the table has changed", false};
  // A server that does not look at the types would store the bytes as something else.
  const auto unchanged = [&](ServerError* error) {
    if (info->checks_types) return true;
    Answer now = read_columns(rules_, server, client_);
    if (!now.ok) {
      *error = now.error;
      return false;
    }
    if (now.body == info->columns_answer) return true;
    *error = {ErrorClass::kSchema, 0, "the table has changed", false};
    return false;
  };
  ServerError error;
  if (!unchanged(&error) || !is_known(block, server, &error)) return error;
  Answer a = insert_block(rules_, server, *info, client_, block);
  if (!a.ok) {
    // Said before anything is written, unless it is about a view's table.
    if (a.error.code == kTooManyParts && info->views.empty()) a.error.unknown_outcome = false;
    return a.error;
  }
  if (!unchanged(&error)) return error;
  *ok = true;
  return error;
}

}  // namespace sluice::clickhouse
