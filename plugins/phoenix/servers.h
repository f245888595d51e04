// The Query Servers that a sink may use, and its two sessions with the one that it uses now.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "phoenix/session.h"

namespace sluice::phoenix {

// "http://host:port", from "host:port" or a URL; several in one text with commas. The result says what is wrong; empty:
// nothing.
std::string read_servers(const std::vector<std::string>& given, std::vector<std::string>* urls);

// Owned by one sink; one thread.
class Servers {
 public:
  // timed: rows are written with the time at which their session was opened (Session::open).
  // reconnected: there is a session for rows again after one was lost. Not told of those that are only too old.
  void configure(std::vector<std::string> urls, ChannelOptions options, bool timed,
                 std::function<void(const std::string&)> log, std::function<void()> reconnected);

  // Rows with times up to `newest` were written before a restart, and perhaps for as long as `unknown` after that. When
  // the servers' clock turns out to be behind it, rows have later times all the same.
  void go_on_after(int64_t newest, std::chrono::milliseconds unknown);
  // What new rows' time would be about now: not less than that of any row until now. 0: none yet.
  int64_t time_now() const;
  // For rows. Opened when there is none, over the first server that answers, beginning with the one that was used last;
  // HBase must answer, too. It is not older than five seconds when it is handed out, and newer than every table that
  // was changed over tables() before.
  Failure rows(Session** out);
  // For looking at tables and changing them.
  Failure tables(Session** out);
  // What is wrong with each server, HBase behind it included; for looking at all of them before anything runs.
  std::vector<Failure> check_all();
  bool timed() const noexcept { return timed_; }
  // From now on rows have the time at which they reach HBase.
  void write_without_time(const std::string& reason);
  // Whatever is not committed is gone.
  void drop_rows() noexcept { drop(&rows_); }
  void drop_all() noexcept;
  // The server that was used last did not answer: begin with the next one.
  void avoid_current() noexcept { ++current_; }
  size_t size() const noexcept { return urls_.size(); }
  bool ever_connected() const noexcept { return ever_connected_; }

 private:
  Failure connect();
  Failure connect_to(const std::string& url);
  int64_t next_time(int64_t server_time);
  void drop(std::unique_ptr<Session>* session) noexcept;

  std::vector<std::string> urls_;
  ChannelOptions options_;
  bool timed_ = true;
  std::function<void(const std::string&)> log_;
  size_t current_ = 0;
  std::string last_url_;
  int64_t last_time_ = 0;  // of the last session for rows
  std::chrono::steady_clock::time_point last_time_at_{};
  std::chrono::milliseconds unknown_{};  // of an earlier run, behind last_time_
  bool ever_connected_ = false, lost_ = false;
  std::function<void()> reconnected_;
  std::unique_ptr<Session> tables_, rows_;
};

}  // namespace sluice::phoenix
