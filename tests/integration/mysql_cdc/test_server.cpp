#include "test_server.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "mysql_cdc/mysql_cdc_source.h"

namespace sluice_mysql::testing {
namespace {

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr)
    throw std::runtime_error("$" + name + " is not set: run the test by ctest, or by mysql.sh exec");
  return value;
}

std::string json_of(const rapidjson::Value& v) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  v.Accept(writer);
  return buffer.GetString();
}

}  // namespace

Session::Session(const std::string& host, int port, const std::string& user, const std::string& password)
    : handle_(mysql_init(nullptr)) {
  mysql_options(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (mysql_real_connect(handle_, host.c_str(), user.c_str(), password.c_str(), nullptr, static_cast<unsigned>(port),
                         nullptr, 0) == nullptr) {
    const std::string why = mysql_error(handle_);
    mysql_close(handle_);
    throw std::runtime_error("cannot connect: " + why);
  }
}

Session::~Session() { mysql_close(handle_); }

Rows Session::sql(const std::string& statement) {
  if (mysql_real_query(handle_, statement.data(), statement.size()) != 0)
    throw std::runtime_error(statement.substr(0, 200) + ": " + mysql_error(handle_));
  Rows out;
  MYSQL_RES* result = mysql_store_result(handle_);
  if (result == nullptr) return out;
  const unsigned count = mysql_num_fields(result);
  while (MYSQL_ROW r = mysql_fetch_row(result)) {
    const unsigned long* sizes = mysql_fetch_lengths(result);
    Row row;
    for (unsigned i = 0; i < count; ++i)
      row.push_back(r[i] != nullptr ? std::optional<std::string>(std::string(r[i], sizes[i])) : std::nullopt);
    out.push_back(std::move(row));
  }
  mysql_free_result(result);
  return out;
}

std::string Session::value(const std::string& statement) {
  const Rows rows = sql(statement);
  if (rows.empty()) throw std::runtime_error(statement + ": no row");
  return rows[0][0].value_or("");
}

TestServer::TestServer() : flavor_(environment("FLAVOR")) {
  const std::string address = environment(mariadb() ? "MARIADB" : "MYSQL8");
  host_ = address.substr(0, address.rfind(':'));
  port_ = std::stoi(address.substr(address.rfind(':') + 1));
}

Session& TestServer::root() {
  if (!root_) root_.emplace(host_, port_);
  return *root_;
}

std::string TestServer::fresh_database() {
  static int number = 0;
  const std::string name = "d" + std::to_string(getpid()) + "_" + std::to_string(++number);
  sql("CREATE DATABASE " + name);
  return name;
}

void TestServer::script(const std::string& command, const std::string& options) {
  root_.reset();
  const std::string variable = mariadb() ? "MARIADB_OPTIONS" : "MYSQL8_OPTIONS";
  const char* const own = std::getenv(variable.c_str());
  const std::string line =
      variable + "='" + (own != nullptr ? own : "") + " " + options + "' " + environment("MYSQL_SH") + " " + flavor_ + " " + command + " >/dev/null 2>&1";
  if (std::system(line.c_str()) != 0) throw std::runtime_error("mysql.sh " + flavor_ + " " + command + " failed");
}

pid_t TestServer::pid() const {
  std::ifstream file(environment(mariadb() ? "MARIADB_DATA" : "MYSQL8_DATA") + "/pid");
  pid_t out = 0;
  if (!(file >> out) || out < 2) throw std::runtime_error("the server's process is not known");
  return out;
}

std::string TestServer::position() {
  const Rows rows = sql("SHOW MASTER STATUS");
  return *rows.at(0)[0] + ":" + *rows[0][1];
}

std::string TestServer::gtids() {
  std::string out;
  for (const char c : value(mariadb() ? "SELECT @@gtid_binlog_pos" : "SELECT @@global.gtid_executed"))
    if (c != '\n') out.push_back(c);
  return out;
}

int TestServer::kill_dumps() {
  int killed = 0;
  for (const Row& r : sql("SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'")) {
    try {
      sql("KILL " + *r[0]);
      ++killed;
    } catch (const std::runtime_error&) {  // it has gone already
    }
  }
  return killed;
}

void TestServer::make_user(const std::string& name, const std::string& rights, const std::string& plugin) {
  const std::string user = name + "@'127.0.0.1'";
  const std::string with = mariadb() ? "" : " WITH " + (plugin.empty() ? "mysql_native_password" : plugin);
  sql("DROP USER IF EXISTS " + user);
  sql("CREATE USER " + user + " IDENTIFIED" + with + " BY 'x'");
  if (!rights.empty()) sql("GRANT " + rights + " ON *.* TO " + user);
}

std::string TestServer::options(const std::string& tables, const std::string& more, const std::string& user,
                                const std::string& password) const {
  return "host: " + host_ + "\nport: " + std::to_string(port_) + "\nuser: " + user + "\npassword: " + password +
         "\ntables: [" + tables + "]\nheartbeat: 2s\n" + more;
}

TestServer& server() {
  static TestServer s;
  return s;
}

OtherOptions::~OtherOptions() { set(""); }
void OtherOptions::set(const std::string& options) {
  server().script("stop");
  server().script("start", options);
}

void poll_until(sluice::testing::OperatorHarness& h, const std::string& what, const std::function<bool()>& done,
                int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("waited in vain: " + what + "; note: " + h.note() + "; at " +
                               h.splits().at(0).position.value_or("nowhere") + ", flags " +
                               std::to_string(h.splits().at(0).flags));
    if (h.poll() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void poll_to_end(sluice::testing::OperatorHarness& h, int seconds) {
  const auto end = parse_file_position(server().position());
  poll_until(
      h, "the end of the binlog",
      [&] {
        const auto& s = h.split(MysqlCdcSource::kSplit);
        const auto at = BinlogPosition::decode(s.position.value_or(""));
        return at && (s.flags & SLUICE_SPLIT_CAUGHT_UP) != 0 &&
               (at->file == end->file ? at->begin >= end->position : file_before(end->file, at->file));
      },
      seconds);
}

sluice::Status poll_to_failure(sluice::testing::OperatorHarness& h, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < deadline) {
    if (sluice::Status s = h.try_poll(); !s.is_ok()) return s;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("poll() never failed; note: " + h.note());
}

void begin(sluice::testing::OperatorHarness& h) {
  h.open();
  h.discover();
  h.assign();
}

sluice::Status try_begin(sluice::testing::OperatorHarness& h) {
  if (sluice::Status s = h.try_open(); !s.is_ok()) return s;
  h.discover();
  return h.try_assign();
}

std::string essence(const std::string& debezium) {
  rapidjson::Document d;
  if (d.Parse(debezium.c_str()).HasParseError()) throw std::runtime_error("no JSON: " + debezium);
  return std::string(d["op"].GetString()) + " " + json_of(d["before"]) + " " + json_of(d["after"]);
}

std::vector<std::string> essences(const std::vector<sluice::testing::OutRow>& rows) {
  std::vector<std::string> out;
  for (const auto& r : rows) out.push_back(essence(r.json));
  return out;
}

void Replica::apply(const std::vector<sluice::testing::OutRow>& rows) {
  for (const auto& r : rows) {
    rapidjson::Document d;
    if (d.Parse(r.json.c_str()).HasParseError()) throw std::runtime_error("no JSON: " + r.json);
    const std::string table = std::string(d["source"]["db"].GetString()) + "." + d["source"]["table"].GetString();
    const std::string op = d["op"].GetString();
    auto& held = rows_[table];
    if (op == "t") held.clear();
    if (!d["before"].IsNull()) {
      const auto it = held.find(json_of(d["before"]));
      if (it == held.end()) throw std::runtime_error("before is not there: " + r.json);
      if (--it->second == 0) held.erase(it);
    }
    if (!d["after"].IsNull()) ++held[json_of(d["after"])];
  }
}

std::string Replica::difference_to_server(const std::string& tables) const {
  sluice::testing::Harness<MysqlCdcSource> h(server().options(tables));
  h.set_id("fresh");
  begin(h);
  poll_until(
      h, "a snapshot", [&] { return !h.markers().empty() && h.markers().back() == SLUICE_SNAPSHOT_END; }, 120);
  Replica fresh;
  fresh.apply(h.pull());
  for (const auto& [table, want] : fresh.rows_) {
    const auto mine = rows_.find(table);
    for (const auto& [row, n] : want) {
      const int have = mine != rows_.end() && mine->second.count(row) > 0 ? mine->second.at(row) : 0;
      if (have != n)
        return table + " has " + row + " " + std::to_string(n) + " times, the replica " + std::to_string(have);
    }
  }
  for (const auto& [table, have] : rows_) {
    const auto there = fresh.rows_.find(table);
    for (const auto& [row, n] : have)
      if (there == fresh.rows_.end() || there->second.count(row) == 0)
        return "only the replica of " + table + " has " + row;
  }
  return "";
}

size_t Replica::size() const {
  size_t n = 0;
  for (const auto& [table, rows] : rows_)
    for (const auto& [row, count] : rows) n += static_cast<size_t>(count);
  return n;
}

}  // namespace sluice_mysql::testing
