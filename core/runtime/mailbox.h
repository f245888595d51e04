// The way into a task: messages of other tasks by channel, and commands of the coordinator.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/message.h"

namespace sluice::runtime {

struct Command {
  enum class Kind {
    kBarrier,  // sources: put the barrier of checkpoint `number` into the stream
    kCommit,   // checkpoint `number` is durable
    kFinish,   // close and end the thread
  };
  Kind kind = Kind::kFinish;
  uint64_t number = 0;
  bool stop = false;  // kBarrier: no rows after it
};

// Thread-safe. Owned by its task; senders keep pointers to it, so all mailboxes of a job live until all threads ended.
class Mailbox {
 public:
  // Batches that may wait in one channel before its sender is asked to stop.
  static constexpr size_t kRoom = 4;

  // Before any thread starts. Returns the channel's index.
  size_t add_channel(Mailbox* sender) {
    channels_.emplace_back();
    channels_.back().sender = sender;
    return channels_.size() - 1;
  }
  size_t channel_count() const { return channels_.size(); }

  void push(size_t channel, Message message) {
    {
      const std::lock_guard lock(mutex_);
      if (message.kind == Message::Kind::kRows) channels_[channel].batches.fetch_add(1, std::memory_order_relaxed);
      channels_[channel].queue.push_back(std::move(message));
    }
    wakeup_.notify_one();
  }
  bool has_room(size_t channel) const { return channels_[channel].batches.load(std::memory_order_relaxed) < kRoom; }
  std::optional<Message> pop(size_t channel) {
    Channel& c = channels_[channel];
    std::optional<Message> out;
    bool made_room = false;
    {
      const std::lock_guard lock(mutex_);
      if (c.queue.empty()) return out;
      out = std::move(c.queue.front());
      c.queue.pop_front();
      if (out->kind == Message::Kind::kRows) made_room = c.batches.fetch_sub(1, std::memory_order_relaxed) == kRoom;
    }
    if (made_room && c.sender != nullptr) c.sender->wake();
    return out;
  }
  // Takes the channel's next message if it is a kIdle.
  bool pop_idle(size_t channel) {
    const std::lock_guard lock(mutex_);
    auto& queue = channels_[channel].queue;
    if (queue.empty() || queue.front().kind != Message::Kind::kIdle) return false;
    queue.pop_front();
    return true;
  }
  void command(Command c) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(c);
      has_command_.store(true, std::memory_order_relaxed);
    }
    wakeup_.notify_one();
  }
  std::optional<Command> next_command() {
    if (!has_command_.load(std::memory_order_relaxed)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return commands_.empty() ? std::nullopt : std::optional(take_command());
  }
  // The next command if it is a kCommit.
  std::optional<Command> next_commit() {
    const std::lock_guard lock(mutex_);
    return commands_.empty() || commands_.front().kind != Command::Kind::kCommit ? std::nullopt : std::optional(take_command());
  }
  // From any thread: ends a wait().
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    wakeup_.notify_one();
  }
  // Returns when there is something in a channel that is not `blocked`, a command, a wake(), or after `timeout`.
  void wait(std::chrono::milliseconds timeout, const std::vector<bool>& blocked) {
    std::unique_lock lock(mutex_);
    wakeup_.wait_for(lock, timeout, [&] {
      if (woken_ || !commands_.empty()) return true;
      for (size_t i = 0; i < channels_.size(); ++i)
        if (!blocked[i] && !channels_[i].queue.empty()) return true;
      return false;
    });
    woken_ = false;
  }

 private:
  // With the mutex held, and when there is one.
  Command take_command() {
    const Command c = commands_.front();
    commands_.pop_front();
    has_command_.store(!commands_.empty(), std::memory_order_relaxed);
    return c;
  }
  struct Channel {
    std::deque<Message> queue;
    std::atomic<size_t> batches{0};
    Mailbox* sender = nullptr;
  };
  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::deque<Channel> channels_;
  std::deque<Command> commands_;
  std::atomic<bool> has_command_{false};
  bool woken_ = false;
};

}  // namespace sluice::runtime
