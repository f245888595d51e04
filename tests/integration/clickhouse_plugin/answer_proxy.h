// Stands between the sink and a server: sees every request, and can keep an answer to itself or give another.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::clickhouse::testing {

// An answer of a server, or of something before it.
std::string http_answer(const std::string& status, const std::string& body);

struct SeenRequest {
  std::string head, body;
  bool is_insert() const { return head.find("query=insert%20into") != std::string::npos; }
};

// One connection at a time, closed after one request. Used by the test's thread beside its own.
class AnswerProxy {
 public:
  explicit AnswerProxy(const std::string& server_url);
  ~AnswerProxy();
  AnswerProxy(const AnswerProxy&) = delete;
  AnswerProxy& operator=(const AnswerProxy&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // The next insert is done by the server, and the connection is closed without its answer.
  void lose_next_answer() { replace_next_answer(""); }
  void let_next_through();
  // As if nobody were there: connections are closed before anything is read.
  void close_at_once(bool on) { closes_ = on; }
  // The next insert does not reach the server; this is its answer, status line and all.
  void refuse_next(const std::string& answer);
  // The same for every insert from now on that nothing else is planned for; empty: they reach the server again.
  void refuse_all(const std::string& answer);
  // Larger inserts do not reach the server from now on: a gateway answers that they are too large.
  void limit(size_t bytes) { limit_ = bytes; }
  // The next insert does not reach the server, and there is no answer as long as the proxy lives.
  void hold_next();
  // Those that came after the first `skip` ones.
  std::vector<SeenRequest> inserts(size_t skip = 0) const;
  std::vector<SeenRequest> all() const;

 private:
  struct Plan {
    bool reaches_server = true, held = false, answered = false;
    std::string answer;
  };
  void replace_next_answer(const std::string& answer);
  void run();
  void serve(int client);  // closes it

  int server_port_ = 0, listener_ = -1, port_ = 0;
  std::atomic<bool> stop_{false}, closes_{false};
  std::atomic<size_t> limit_{SIZE_MAX};
  mutable std::mutex mutex_;
  std::deque<Plan> plans_;
  std::string answer_to_all_;
  std::vector<SeenRequest> seen_;
  std::vector<int> held_;  // the thread's
  std::thread thread_;
};

}  // namespace sluice::clickhouse::testing
