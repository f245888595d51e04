// What the tests do on a ClickHouse server beside the sink under test.
#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "clickhouse_sink.h"
#include "sluice/testing/harness.hpp"

namespace sluice::clickhouse::testing {

using SinkHarness = sluice::testing::Harness<ClickHouseSink>;
using Lines = std::vector<std::string>;

// Every function throws std::runtime_error with the server's reason when it fails.
class TestServer {
 public:
  explicit TestServer(std::string address) : url_("http://" + std::move(address)) {}
  // Those that ctest started: 18.16 in UTC and in Asia/Shanghai, 26.9 in Asia/Shanghai.
  static TestServer utc() { return TestServer(from_environment("CLICKHOUSE_UTC")); }
  static TestServer shanghai() { return TestServer(from_environment("CLICKHOUSE_SHANGHAI")); }
  static TestServer engine() { return TestServer(from_environment("CLICKHOUSE_ENGINE")); }
  static std::string from_environment(const char* name);

  const std::string& url() const { return url_; }
  std::string run(const std::string& sql, const Parameters& settings = {}) const;
  // Lines of a TabSeparated answer, as they come.
  Lines rows(const std::string& sql) const;
  // A table that no other test has; its name.
  std::string table(const std::string& columns, const std::string& engine, const Parameters& settings = {}) const;
  // The table that job DWS writes to.
  std::string window_table() const;
  // Options of a sink into `table`.
  std::string options(const std::string& table, const std::string& more = "") const;

 private:
  std::string url_;
};

std::string fresh_name();

inline constexpr const char* kWindowColumns = "stt DateTime, edt DateTime, cart_add_uu_ct UInt64, ts UInt64";
inline constexpr const char* kWindowEngine = "ReplacingMergeTree(ts) partition by toYYYYMMDD(stt) order by (stt, edt)";

std::string window_row(const std::string& stt, const std::string& edt, int count, int64_t ts);

// A sink into `table` by way of these addresses.
std::string options_of(const Lines& servers, const std::string& table, const std::string& more = "");

// An old server and a modern one.
std::vector<TestServer> both();

// Checkpoints, calling again while the sink asks for it.
Status checkpoint(SinkHarness& h, std::chrono::seconds most = std::chrono::seconds(60));

// Appends exactly once into `table`, whose name is its id, through `url` if there is one, else to the server itself.
class OnceSink : public SinkHarness {
 public:
  OnceSink(const TestServer& s, const std::string& table, const std::string& more = "", const std::string& url = "")
      : SinkHarness(options_of({url.empty() ? s.url() : url}, table,
                               "delivery: exactly_once" + (more.empty() ? "" : ", " + more))) {
    set_id(table);
    set_lineage("line");
  }
};

// Every number from 0 on, each once, is what column n of the table holds.
void check_once(const TestServer& s, const std::string& table, int numbers);

// Reasons of the rejected rows, in order.
Lines reasons(const SinkHarness& h);

// Runs tests/services/clickhouse/clickhouse.sh; its output. Throws when it fails.
std::string clickhouse_sh(const std::string& arguments, const std::string& home);

}  // namespace sluice::clickhouse::testing
