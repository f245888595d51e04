// What the tests do to a MariaDB or MySQL server beside the operator under test.
#pragma once
#include <mysql.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/testing/harness.hpp"

namespace sluice_mysql::testing {

using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;

// A connection as root. Every function throws std::runtime_error with the server's reason when it fails. One thread.
class Session {
 public:
  Session(const std::string& host, int port, const std::string& user = "root", const std::string& password = "");
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Rows sql(const std::string& statement);
  // The first value of the first row.
  std::string value(const std::string& statement);

 private:
  MYSQL* handle_;
};

// The server that ctest started: $FLAVOR, and $MARIADB or $MYSQL8.
class TestServer {
 public:
  TestServer();
  bool mariadb() const { return flavor_ == "mariadb"; }
  const std::string& host() const { return host_; }
  int port() const { return port_; }
  Session& root();
  Rows sql(const std::string& statement) { return root().sql(statement); }
  std::string value(const std::string& statement) { return root().value(statement); }

  // An empty database that no other test has.
  std::string fresh_database();
  // mysql.sh FLAVOR command, with server options for a start.
  void script(const std::string& command, const std::string& options = "");
  pid_t pid() const;
  // "binlog.000003:4567"
  std::string position();
  // What stands before the next transaction.
  std::string gtids();
  // Ends all binlog dumps. Gives how many.
  int kill_dumps();
  // A user `name` with the password `x` who comes from here, with these rights.
  void make_user(const std::string& name, const std::string& rights, const std::string& plugin = "");

  // Options of an operator that reads `tables`: "db.t", several with commas; `more`: further lines.
  std::string options(const std::string& tables, const std::string& more = "", const std::string& user = "cdc",
                      const std::string& password = "cdcpw") const;

 private:
  std::string flavor_, host_;
  int port_ = 0;
  std::optional<Session> root_;
};

// One for the process.
TestServer& server();

// The server with other options, until it ends: then it has its own again.
class OtherOptions {
 public:
  explicit OtherOptions(const std::string& options) { set(options); }
  ~OtherOptions();
  void set(const std::string& options);
};

// Polls until `done`; throws when that takes longer than `seconds`.
void poll_until(sluice::testing::OperatorHarness& h, const std::string& what, const std::function<bool()>& done,
                int seconds = 60);
// Polls until all is read that the server has now.
void poll_to_end(sluice::testing::OperatorHarness& h, int seconds = 60);
// The first status of poll() that is not OK.
sluice::Status poll_to_failure(sluice::testing::OperatorHarness& h, int seconds = 30);
// open, discover, assign.
void begin(sluice::testing::OperatorHarness& h);
// The status of assign() of a fresh start.
sluice::Status try_begin(sluice::testing::OperatorHarness& h);

// What stands between the record's "source" and the rest is different each time: before, after and op.
std::string essence(const std::string& debezium);
std::vector<std::string> essences(const std::vector<sluice::testing::OutRow>& rows);

// A copy of tables that is kept by Debezium records: rows by table and by "after" itself, with how often they are
// there.
class Replica {
 public:
  // Throws when the record does not fit: a delete of what is not there.
  void apply(const std::vector<sluice::testing::OutRow>& rows);
  void clear() { rows_.clear(); }
  // The first difference to what a snapshot gives now; empty: none.
  std::string difference_to_server(const std::string& tables) const;
  size_t size() const;

 private:
  std::map<std::string, std::map<std::string, int>> rows_;
};

}  // namespace sluice_mysql::testing
