// One TCP (or TLS) connection to one Phoenix Query Server, by libcurl.
#pragma once
#include <curl/curl.h>

#include <chrono>
#include <functional>
#include <string>

#include "phoenix/failure.h"

namespace sluice::phoenix {

struct ChannelOptions {
  std::string user, password;                       // HTTP basic authentication; an empty user: none
  std::string ca_file, certificate_file, key_file;  // PEM; empty: the system's authorities; no certificate of our own
  std::chrono::milliseconds connect_timeout{}, timeout{};
  std::function<bool()> stopping;  // a stop was asked for: waiting for an answer is cut short
};

// Owned by one Session; one thread. Statement ids of a Query Server mean something else after its restart, and the
// server does not check them: so a channel never goes on over another TCP connection than the one that it began with.
// When that one is gone, every later post answers kLost.
class Channel {
 public:
  Channel(std::string url, const ChannelOptions* options);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // kAway, kLost: the server may have got it or not. kLogin: its certificate is not to be trusted.
  Failure post(const std::string& body, std::string* answer, long* http_status);
  // Of later posts, instead of the options'.
  void limit(std::chrono::milliseconds timeout);
  const std::string& url() const noexcept { return url_; }

 private:
  static size_t on_body(char* data, size_t size, size_t count, void* self);
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  static int before_request(void* self, char*, char*, int, int local_port);
  Failure failure(CURLcode code, const char* text) const;

  std::string url_;
  const ChannelOptions* options_;
  CURL* curl_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::string* answer_ = nullptr;
  int local_port_ = 0;  // of the TCP connection; 0: none yet
  bool moved_ = false;
  bool too_long_ = false;
  std::chrono::steady_clock::time_point stop_seen_{};
};

}  // namespace sluice::phoenix
