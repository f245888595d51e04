#include "phoenix/servers.h"

#include <algorithm>

namespace sluice::phoenix {
namespace {

constexpr std::chrono::seconds kOldestSession(5);
constexpr std::chrono::milliseconds kPatienceToConnect(10000);

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

std::string read_server(std::string text, std::string* url) {
  // Not shown: there can be a password in it.
  if (text.find('@') != std::string::npos)
    return "a server's address has a user in it: use `user` and `password`, which is kept out of logs";
  if (text.find_first_of("?#") != std::string::npos)
    return "a server's address has a ? or # in it: give host and port, and `user` and `password` as options";
  if (text.find("://") == std::string::npos) text = "http://" + text;
  const bool http = text.compare(0, 7, "http://") == 0, https = text.compare(0, 8, "https://") == 0;
  if (!http && !https) return "\"" + text + "\" is neither http:// nor https://";
  const size_t host = text.find("://") + 3;
  if (host == text.size() || text[host] == ':' || text[host] == '/') return "\"" + text + "\" has no host";
  if (std::any_of(text.begin(), text.end(), is_blank)) return "\"" + text + "\" has a blank in it";
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parts(curl_url(), curl_url_cleanup);
  if (const CURLUcode code = curl_url_set(parts.get(), CURLUPART_URL, text.c_str(), 0); code != CURLUE_OK)
    return "\"" + text + "\" is no address: " + curl_url_strerror(code);
  *url = text;
  return {};
}

}  // namespace

std::string read_servers(const std::vector<std::string>& given, std::vector<std::string>* urls) {
  urls->clear();
  for (std::string_view list : given) {
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      std::string_view item = list.substr(0, comma);
      list.remove_prefix(std::min(comma + 1, list.size()));
      while (!item.empty() && is_blank(item.front())) item.remove_prefix(1);
      while (!item.empty() && is_blank(item.back())) item.remove_suffix(1);
      if (item.empty()) continue;
      std::string url;
      if (std::string problem = read_server(std::string(item), &url); !problem.empty()) return problem;
      urls->push_back(url);
    }
  }
  return urls->empty() ? "no server is given" : std::string();
}

void Servers::configure(std::vector<std::string> urls, ChannelOptions options, bool timed,
                        std::function<void(const std::string&)> log, std::function<void()> reconnected) {
  urls_ = std::move(urls);
  options_ = std::move(options);
  timed_ = timed;
  log_ = std::move(log);
  reconnected_ = std::move(reconnected);
}

void Servers::go_on_after(int64_t newest, std::chrono::milliseconds unknown) {
  last_time_ = std::max(last_time_, newest);
  last_time_at_ = std::chrono::steady_clock::now();
  unknown_ = unknown;
}

int64_t Servers::time_now() const {
  if (last_time_ == 0) return 0;
  const auto since = std::chrono::steady_clock::now() - last_time_at_;
  return last_time_ + std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

int64_t Servers::next_time(int64_t server_time) {
  if (timed_ && server_time < last_time_ && unknown_.count() > 0) {
    last_time_ += unknown_.count();
    log_("finds the servers' clock " + std::to_string(last_time_ - server_time) +
         " ms behind the rows written before the restart; new rows get times from there on until it has caught up");
  }
  unknown_ = {};
  last_time_ = std::max(server_time, last_time_ + 1);
  last_time_at_ = std::chrono::steady_clock::now();
  return last_time_;
}

void Servers::drop(std::unique_ptr<Session>* session) noexcept {
  lost_ = lost_ || (*session != nullptr && (*session)->is_lost());
  session->reset();
}

void Servers::drop_all() noexcept {
  drop(&rows_);
  drop(&tables_);
}

Failure Servers::connect_to(const std::string& url) {
  std::unique_ptr<Session> session;
  if (Failure f = Session::open(url, &options_, 0, &session); !f.ok()) return f;
  int64_t time = 0;
  session->limit(std::min(options_.timeout, kPatienceToConnect));
  if (Failure f = session->server_time(&time); !f.ok()) {
    if (f.kind != FailureKind::kDenied) f.text = url + " answers, HBase behind it does not: " + f.text;
    return f;
  }
  session->limit(options_.timeout);
  tables_ = std::move(session);
  return {};
}

Failure Servers::connect() {
  Failure worst;
  for (size_t i = 0; i < urls_.size(); ++i) {
    const std::string& url = urls_[(current_ + i) % urls_.size()];
    Failure f = connect_to(url);
    if (f.ok()) {
      current_ = (current_ + i) % urls_.size();
      if (ever_connected_ && url != last_url_) log_("goes on with the Query Server " + url);
      last_url_ = url;
      ever_connected_ = true;
      return {};
    }
    const bool hopeful = f.kind != FailureKind::kLogin && f.kind != FailureKind::kNoPhoenix &&
                         f.kind != FailureKind::kRefused && f.kind != FailureKind::kDenied &&
                         f.kind != FailureKind::kUnfit;
    if (worst.ok() || hopeful) worst = std::move(f);
  }
  ++current_;
  return worst;
}

void Servers::write_without_time(const std::string& reason) {
  timed_ = false;
  drop(&rows_);
  log_("goes on with `write_time: server`: " + reason);
}

std::vector<Failure> Servers::check_all() {
  std::vector<Failure> problems;
  for (const std::string& url : urls_)
    if (Failure f = connect_to(url); !f.ok()) problems.push_back(std::move(f));
  return problems;
}

Failure Servers::tables(Session** out) {
  if (!tables_)
    if (Failure f = connect(); !f.ok()) return f;
  *out = tables_.get();
  return {};
}

Failure Servers::rows(Session** out) {
  if (rows_ && timed_ && std::chrono::steady_clock::now() - rows_->opened_at() > kOldestSession) drop(&rows_);
  if (!rows_) {
    // The other session may be older than the server's last restart; then it is no use, and another one is.
    for (int attempt = 0; !rows_; ++attempt) {
      Session* session = nullptr;
      if (Failure f = tables(&session); !f.ok()) return f;
      int64_t time = 0;
      session->limit(std::min(options_.timeout, kPatienceToConnect));
      Failure f = session->server_time(&time);
      session->limit(options_.timeout);
      if (f.ok()) {
        time = next_time(time);
        f = Session::open(session->url(), &options_, timed_ ? time : 0, &rows_);
      }
      if (f.ok()) break;
      drop(&tables_);
      if (attempt > 0 || (f.kind != FailureKind::kLost && f.kind != FailureKind::kAway)) return f;
      if (f.kind == FailureKind::kAway) ++current_;
    }
  }
  if (lost_) reconnected_();
  lost_ = false;
  *out = rows_.get();
  return {};
}

}  // namespace sluice::phoenix
