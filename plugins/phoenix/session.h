// A connection of a Phoenix Query Server (Avatica's word) over a TCP connection of its own.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "avatica.pb.h"
#include "phoenix/channel.h"

namespace sluice::phoenix {

// Owned by the sink; one thread. Good until a call answers kAway, kLost or kTooMuch: then the rows that were not
// committed are gone, or may be, and the session is to be thrown away.
class Session {
 public:
  using Updates = std::vector<const avatica::UpdateBatch*>;

  // Opens a connection with a new id. write_time > 0: all that it writes has this time (Phoenix's CurrentSCN, ms); it
  // sees tables as they were then.
  static Failure open(const std::string& url, const ChannelOptions* options, int64_t write_time,
                      std::unique_ptr<Session>* out);
  // Tells the server, without waiting long.
  ~Session();

  // All rows of a short result; NULL is a value of type NULL. rows == nullptr: for `create`, `alter` and the like.
  Failure query(const std::string& sql, std::vector<avatica::Row>* rows);
  // The server's clock in ms. HBase itself is asked: when this answers, it is up.
  Failure server_time(int64_t* ms);
  // Runs a statement with parameters for each of `updates`; nothing is written before commit(). A success means that
  // the server has said so for every single one of them: one row each, for `upserts`. After any failure the statement
  // is prepared anew when it is used again.
  Failure execute_batch(const std::string& sql, bool upserts, const Updates& updates);
  Failure commit();
  // Forgets what was not committed. When even that fails the session is no good.
  Failure rollback();

  // How long later calls wait, instead of the options' timeout.
  void limit(std::chrono::milliseconds timeout) { channel_.limit(timeout); }
  const std::string& url() const noexcept { return channel_.url(); }
  // A call did not get its answer, or the server has forgotten the connection or a statement.
  bool is_lost() const noexcept { return lost_; }
  int64_t write_time() const noexcept { return write_time_; }
  std::chrono::steady_clock::time_point opened_at() const noexcept { return opened_at_; }

 private:
  Session(const std::string& url, const ChannelOptions* options, int64_t write_time);
  template <class Request, class Response>
  Failure call(const char* name, const Request& request, Response* response);
  Failure prepare(const std::string& sql, uint32_t* statement);
  Failure plain_statement();
  Failure lost(std::string text);

  Channel channel_;
  std::string id_;
  int64_t write_time_ = 0;
  std::chrono::steady_clock::time_point opened_at_;
  bool opened_ = false, has_statement_ = false, lost_ = false;
  uint32_t statement_ = 0;  // for SQL without parameters
  std::map<std::string, uint32_t> prepared_;
  std::string body_, answer_;
};

}  // namespace sluice::phoenix
