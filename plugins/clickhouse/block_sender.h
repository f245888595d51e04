// Sends blocks, one after the other, on a thread of its own: rows are turned into bytes while the server works, and a
// block that nothing is added to goes out when its time has come.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "block.h"
#include "server.h"

namespace sluice::clickhouse {

// Owned by one sink. The thread takes the mutex, never for the length of a request. Everything else is the sink's.
class BlockSender {
 public:
  struct Hooks {                                        // called by the thread
    std::function<void(const std::string& note)> note;  // empty: all is well again
    std::function<void(const char* metric, int64_t delta)> count;
    std::function<void(const std::string& text)> warn;
  };
  // `flush_interval` zero: open blocks wait until the sink seals them.
  BlockSender(const TargetRules& rules, HttpRules http, std::chrono::milliseconds flush_interval, Hooks hooks);
  ~BlockSender() { stop(); }
  BlockSender(const BlockSender&) = delete;
  BlockSender& operator=(const BlockSender&) = delete;

  void start(size_t server, std::shared_ptr<const ServerInfo> info);
  // Ends the request that is under way; blocks stay where they are.
  void stop();

  // ---- below: with the mutex held ----
  std::mutex& mutex() { return mutex_; }
  std::vector<std::unique_ptr<Block>>& open() { return open_; }
  std::deque<std::unique_ptr<Block>>& sealed() { return sealed_; }
  bool is_empty() const { return open_.empty() && sealed_.empty(); }
  size_t memory() const;
  void seal(size_t open_index);
  void seal_all();
  // Exactly once: blocks of these names are in the table, and are not sent again. For a new epoch.
  void forget_names() { names_in_.clear(); }
  // Everything that waits is forgotten. Ends the request that is under way and waits for its end.
  void discard(std::unique_lock<std::mutex>& lock);
  // Why the thread has stopped at the first sealed block; it goes on after resume().
  const std::optional<ServerError>& parked() const { return parked_; }
  void resume();
  // Waits for a change, at most so long.
  void wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds most) { changed_.wait_for(lock, most); }
  void wake() { changed_.notify_all(); }
  // Of the last try, when it failed and will be repeated; else empty.
  const std::string& trouble() const { return trouble_; }
  // Grows with each block that is in.
  uint64_t progress() const { return progress_; }
  size_t server() const { return server_; }
  void set_info(size_t server, std::shared_ptr<const ServerInfo> info) { infos_[server] = std::move(info); }
  // 0: nothing is kept.
  uint64_t first_origin() const;

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  bool seal_due(Clock::time_point now);
  Clock::time_point next_due() const;
  ServerError send(const Block& block, size_t server, bool* ok);
  bool is_known(const Block& block, size_t server, ServerError* error);
  Status learn(size_t server, std::shared_ptr<const ServerInfo>* info);

  const TargetRules& rules_;
  const std::chrono::milliseconds flush_interval_;
  const Hooks hooks_;
  std::atomic<bool> abort_{false};
  HttpClient client_;             // the thread's
  UnknownErrors unknown_errors_;  // the thread's
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Block>> open_;
  std::deque<std::unique_ptr<Block>> sealed_;
  std::vector<std::shared_ptr<const ServerInfo>> infos_;
  std::optional<ServerError> parked_;
  std::string trouble_;
  std::set<std::string> names_in_;
  size_t server_ = 0;
  uint64_t progress_ = 0;
  bool sending_ = false, stop_ = false;
};

}  // namespace sluice::clickhouse
