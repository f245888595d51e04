// Requests to the HTTP interface of ClickHouse servers.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::clickhouse {

struct HttpRules {
  std::string user, password, ca_file;
  bool verify = true;
  std::chrono::milliseconds connect_timeout{}, request_timeout{};
};

struct HttpAnswer {
  long status = 0;
  int exception_code = 0;  // X-ClickHouse-Exception-Code; 0: the server sends none
  std::string body;        // at most 64 MiB of it
};

// No complete answer came, and the request's outcome is unknown.
struct HttpFailure {
  std::string text;           // without secrets
  bool needs_person = false;  // it will be the same next time: the text says what to do
};

using Parameters = std::vector<std::pair<std::string, std::string>>;
std::string url_with(const std::string& server, const Parameters& parameters);

// What is wrong with a server's address, as the rest of a sentence ("has no host"); empty: nothing.
std::string address_problem(const std::string& server);

std::string gzipped(std::string_view data);

// One connection, kept open between requests. Used by one thread.
class HttpClient {
 public:
  // Asked about once a second and when data moves, with how long the request has been under way; true ends it.
  using GiveUp = std::function<bool(std::chrono::milliseconds under_way)>;
  HttpClient(HttpRules rules, GiveUp give_up);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False: see *failure. A kept connection that the server has closed in the meantime is replaced at once: that is no
  // failure.
  bool post(const std::string& url, std::string_view body, bool is_gzipped, HttpAnswer* answer, HttpFailure* failure);

 private:
  bool post_once(const std::string& url, std::string_view body, bool is_gzipped, HttpAnswer* answer,
                 HttpFailure* failure, bool* stale);

  HttpRules rules_;
  GiveUp give_up_;
  void* curl_;  // CURL
};

}  // namespace sluice::clickhouse
