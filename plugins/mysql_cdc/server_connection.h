// A connection to a MariaDB or MySQL server through libmariadb.
#pragma once
#include <mysql.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cdc_options.h"
#include "server_error.h"

namespace sluice_mysql {

// Ends what another thread waits for: reads of connections, and pauses. Outlives the connections. Thread-safe.
class Interrupter {
 public:
  // From now on every read ends with an error, and pauses end at once.
  void interrupt();
  bool interrupted() const noexcept { return interrupted_.load(std::memory_order_acquire); }
  // False: interrupted.
  bool pause(std::chrono::milliseconds time);

 private:
  friend class Connection;
  void add(int socket);
  void remove(int socket);

  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<int> sockets_;
};

using SqlValue = std::optional<std::string>;
using SqlRow = std::vector<SqlValue>;
using SqlRows = std::vector<SqlRow>;

// Owned and used by one thread at a time.
class Connection {
 public:
  explicit Connection(Interrupter* interrupter) : interrupter_(interrupter) {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // A session in utf8mb4 and UTC whose reads give up after `read_timeout`.
  Outcome open(const CdcConfig& config, std::chrono::seconds read_timeout);
  // For those who cannot be interrupted: gives up soon whatever the server does, on locks of tables as well.
  Outcome open_briefly(const CdcConfig& config);
  bool is_open() const noexcept { return handle_ != nullptr; }
  // Cuts it off; a server in the middle of sending is not waited for.
  void close();

  // `doing` for the message of an error: "read the rights of the user".
  Outcome query(const std::string& sql, const std::string& doing, SqlRows* rows = nullptr);
  // The rows of one statement, as they come. `row` gives false to stop. Views live during the call.
  Outcome stream(
      const std::string& sql, const std::string& doing,
      const std::function<Outcome(const char* const* values, const unsigned long* sizes, unsigned count)>& row);
  // Of the last call that failed.
  unsigned error_code() const { return code_; }
  Outcome failure(const std::string& doing);
  // `text` as an SQL literal, quoted.
  std::string quoted(std::string_view text);

  MYSQL* handle() const noexcept { return handle_; }

 private:
  Interrupter* interrupter_;
  MYSQL* handle_ = nullptr;
  int socket_ = -1;  // a second descriptor of the connection
  unsigned code_ = 0;
};

}  // namespace sluice_mysql
