#include "test_server.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "http_client.h"

namespace sluice::clickhouse::testing {

std::string TestServer::from_environment(const char* name) {
  const char* address = std::getenv(name);
  if (address == nullptr || *address == '\0')
    throw std::runtime_error(std::string("no server: run this test through ctest, or with "
                                         "`tests/services/clickhouse/clickhouse.sh exec`, which set ") +
                             name);
  return address;
}

std::string TestServer::run(const std::string& sql, const Parameters& settings) const {
  HttpRules rules;
  rules.connect_timeout = std::chrono::seconds(10);
  rules.request_timeout = std::chrono::seconds(120);
  HttpClient client(rules, [](std::chrono::milliseconds) { return false; });
  HttpAnswer answer;
  HttpFailure failure;
  if (!client.post(url_with(url_, settings), sql, false, &answer, &failure))
    throw std::runtime_error(url_ + ": " + failure.text);
  if (answer.status != 200 || exception_code(answer.body) != 0)
    throw std::runtime_error(sql.substr(0, 200) + ": " + answer.body);
  return answer.body;
}

Lines TestServer::rows(const std::string& sql) const {
  const std::string body = run(sql);
  Lines out;
  for (size_t begin = 0; begin < body.size();) {
    size_t end = body.find('\n', begin);
    if (end == std::string::npos) end = body.size();
    out.push_back(body.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string fresh_name() {
  static int counter = 0;
  return "t_" + std::to_string(getpid()) + "_" + std::to_string(++counter);
}

std::string TestServer::table(const std::string& columns, const std::string& engine, const Parameters& settings) const {
  const std::string name = fresh_name();
  run("create table " + name + " (" + columns + ") engine = " + engine, settings);
  return name;
}

std::string TestServer::window_table() const { return table(kWindowColumns, kWindowEngine); }

std::string TestServer::options(const std::string& table, const std::string& more) const {
  return options_of({url_}, table, more);
}

std::string options_of(const Lines& servers, const std::string& table, const std::string& more) {
  std::string list;
  for (const std::string& s : servers) list += (list.empty() ? "'" : ", '") + s + "'";
  return "{servers: [" + list + "], table: " + table + (more.empty() ? "" : ", " + more) + "}";
}

std::vector<TestServer> both() { return {TestServer::utc(), TestServer::engine()}; }

Status checkpoint(SinkHarness& h, std::chrono::seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  Status s = h.try_checkpoint_uncommitted();
  while (s.code() == SLUICE_RETRY && std::chrono::steady_clock::now() < end) s = h.try_checkpoint_uncommitted();
  return s;
}

std::string window_row(const std::string& stt, const std::string& edt, int count, int64_t ts) {
  return R"({"stt":")" + stt + R"(","edt":")" + edt + R"(","cart_add_uu_ct":)" + std::to_string(count) + R"(,"ts":)" +
         std::to_string(ts) + "}";
}

void check_once(const TestServer& s, const std::string& table, int numbers) {
  Lines want;
  for (int n = 0; n < numbers; ++n) want.push_back(std::to_string(n));
  CHECK(s.rows("select n from " + table + " order by n") == want);
}

Lines reasons(const SinkHarness& h) {
  Lines out;
  for (const auto& r : h.rejected()) out.push_back(r.reason);
  return out;
}

std::string clickhouse_sh(const std::string& arguments, const std::string& home) {
  const std::string command = "CLICKHOUSE_HOME='" + home +
                              "' " SLUICE_SOURCE_DIR "/tests/services/clickhouse/clickhouse.sh " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string out;
  char room[4096];
  for (size_t n = 0; (n = std::fread(room, 1, sizeof room, pipe)) > 0;) out.append(room, n);
  if (pclose(pipe) != 0) throw std::runtime_error(command + ": " + out);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace sluice::clickhouse::testing
