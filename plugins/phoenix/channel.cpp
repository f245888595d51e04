#include "phoenix/channel.h"

#include <mutex>

namespace sluice::phoenix {
namespace {

constexpr size_t kMaxAnswer = 64 << 20;
constexpr std::chrono::seconds kPatienceWhenStopping(3);

void start_library() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

Channel::Channel(std::string url, const ChannelOptions* options) : url_(std::move(url)), options_(options) {
  start_library();
  curl_ = curl_easy_init();
  if (curl_ == nullptr) return;
  headers_ = curl_slist_append(headers_, "Content-Type: application/x-google-protobuf");
  headers_ = curl_slist_append(headers_, "Expect:");  // no round trip before large bodies
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl_, option, value); };
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_HTTPHEADER, headers_);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROXY, "");  // of the environment: it is for the internet
  set(CURLOPT_MAXCONNECTS, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_->connect_timeout.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_->timeout.count()));
  set(CURLOPT_WRITEFUNCTION, &Channel::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_XFERINFOFUNCTION, &Channel::on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_PREREQFUNCTION, &Channel::before_request);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  if (!options_->user.empty()) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, options_->user.c_str());
    set(CURLOPT_PASSWORD, options_->password.c_str());
  }
  if (!options_->ca_file.empty()) set(CURLOPT_CAINFO, options_->ca_file.c_str());
  if (!options_->certificate_file.empty()) set(CURLOPT_SSLCERT, options_->certificate_file.c_str());
  if (!options_->key_file.empty()) set(CURLOPT_SSLKEY, options_->key_file.c_str());
}

Channel::~Channel() {
  if (curl_ != nullptr) curl_easy_cleanup(curl_);
  curl_slist_free_all(headers_);
}

size_t Channel::on_body(char* data, size_t size, size_t count, void* self) {
  auto* channel = static_cast<Channel*>(self);
  channel->too_long_ = channel->answer_->size() + size * count > kMaxAnswer;
  if (channel->too_long_) return 0;
  channel->answer_->append(data, size * count);
  return size * count;
}

int Channel::on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto* channel = static_cast<Channel*>(self);
  if (!channel->options_->stopping || !channel->options_->stopping()) return 0;
  const auto now = std::chrono::steady_clock::now();
  if (channel->stop_seen_ == std::chrono::steady_clock::time_point()) channel->stop_seen_ = now;
  return now - channel->stop_seen_ > kPatienceWhenStopping ? 1 : 0;
}

// Called when there is a connection and nothing has been sent.
int Channel::before_request(void* self, char*, char*, int, int local_port) {
  auto* channel = static_cast<Channel*>(self);
  if (channel->local_port_ == 0) channel->local_port_ = local_port;
  channel->moved_ = channel->moved_ || channel->local_port_ != local_port;
  return channel->moved_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

Failure Channel::post(const std::string& body, std::string* answer, long* http_status) {
  if (curl_ == nullptr) return Failure::of(FailureKind::kAway, "libcurl cannot be used");
  if (moved_) return Failure::of(FailureKind::kLost, url_ + " has closed the connection");
  answer->clear();
  answer_ = answer;
  stop_seen_ = {};
  char text[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, text);
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
  const CURLcode code = curl_easy_perform(curl_);
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, nullptr);
  answer_ = nullptr;
  if (code != CURLE_OK) return failure(code, text);
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, http_status);
  return {};
}

void Channel::limit(std::chrono::milliseconds timeout) {
  if (curl_ != nullptr) curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
}

Failure Channel::failure(CURLcode code, const char* text) const {
  if (moved_) return Failure::of(FailureKind::kLost, url_ + " has closed the connection");
  const std::string message = url_ + ": " + (*text != '\0' ? text : curl_easy_strerror(code));
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return Failure::of(FailureKind::kLogin, message);
    case CURLE_UNSUPPORTED_PROTOCOL:  // also what is no HTTP
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_URL_MALFORMAT:
      return Failure::of(FailureKind::kNoPhoenix, message);
    case CURLE_SSL_CONNECT_ERROR:
      // Other failures of a handshake come while a server goes down. The words are OpenSSL's.
      if (message.find("wrong version number") == std::string::npos) return Failure::of(FailureKind::kAway, message);
      return Failure::of(FailureKind::kNoPhoenix,
                         message + ": no TLS is spoken there, write http:// instead of https://");
    default:
      return Failure::of(FailureKind::kAway, too_long_ ? url_ + ": an answer of more than 64 MiB" : message);
  }
}

}  // namespace sluice::phoenix
