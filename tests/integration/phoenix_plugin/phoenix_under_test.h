// What the tests of phoenix.sink share: the real server that ctest started, a look into it that is not the plugin's own
// code (tests/services/phoenix/query.py), and a gate before it that loses answers on demand (gate.py).
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "phoenix/phoenix_sink.h"
#include "sluice/testing/harness.hpp"

namespace sluice::tests {

using Sink = sluice::testing::Harness<phoenix::PhoenixSink>;
using Rows = std::vector<std::string>;

// $PHOENIX. Throws when there is none, so that the test fails.
std::string server();
// Rows of SQL, values with `|` between them; NULL is `~`. Throws with the server's reason.
Rows query(const std::string& sql, const std::string& server = tests::server());
void execute(const std::string& sql);
// phoenix.sh with these arguments; throws when it fails. `environment`: NAME=VALUE, with blanks between them.
void phoenix_sh(const std::string& arguments, const std::string& environment = "");
// What it prints, without the line's end.
std::string phoenix_sh_says(const std::string& arguments, const std::string& environment = "");
// A second Query Server, until the end of the scope.
class SecondServer {
 public:
  explicit SecondServer(const std::string& properties = "", const std::string& environment = "");
  ~SecondServer();
  SecondServer(const SecondServer&) = delete;
  SecondServer& operator=(const SecondServer&) = delete;
  const std::string& address() const { return address_; }

 private:
  std::string address_;
};
// A schema that no other test has.
class Schema {
 public:
  Schema();
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;
  std::string name;  // upper case
  // Options of a sink that writes into it; `more` without braces.
  std::string options(const std::string& more = "", const std::string& servers = server()) const;
  std::string table(const std::string& t) const { return name + "." + t; }
};

// A process of gate.py before the server.
class Gate {
 public:
  explicit Gate(const std::string& arguments = "");
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // The line that it answers with.
  std::string tell(const std::string& command);

 private:
  int port_ = 0, pid_ = 0;
  std::FILE *in_ = nullptr, *out_ = nullptr;
};

inline sluice::testing::SchemaIn trademark_schema() { return {"dim_base_trademark", {"id", "tm_name"}, {"id"}}; }
inline std::string trademark(const std::string& id, const std::string& name) {
  return R"({"sink_table":"dim_base_trademark","id":)" + id + R"(,"tm_name":")" + name + "\"}";
}

// Pushes, and comes again while the sink asks for it. Gives how many times it came again.
int push_through(Sink& h, std::vector<sluice::testing::InputRow> rows, int most = 60);

}  // namespace sluice::tests
