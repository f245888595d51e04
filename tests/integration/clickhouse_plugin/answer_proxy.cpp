#include "answer_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace sluice::clickhouse::testing {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

void send_all(int fd, const std::string& data) {
  for (size_t at = 0; at < data.size();) {
    const ssize_t n = send(fd, data.data() + at, data.size() - at, MSG_NOSIGNAL);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

// Until `end` says that it is enough, or the other side closes.
template <class F>
std::string read_until(int fd, F&& end) {
  std::string data;
  char room[65536];
  while (!end(data)) {
    const ssize_t n = recv(fd, room, sizeof room, 0);
    if (n <= 0) break;
    data.append(room, static_cast<size_t>(n));
  }
  return data;
}

}  // namespace

std::string http_answer(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
         body;
}

AnswerProxy::AnswerProxy(const std::string& server_url)
    : server_port_(std::atoi(server_url.substr(server_url.rfind(':') + 1).c_str())) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a = loopback(0);
  socklen_t size = sizeof a;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&a), size) != 0 || listen(listener_, 16) != 0)
    throw std::runtime_error("cannot listen");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&a), &size);
  port_ = ntohs(a.sin_port);
  thread_ = std::thread([this] { run(); });
}

AnswerProxy::~AnswerProxy() {
  stop_ = true;
  thread_.join();
  for (const int client : held_) close(client);
  close(listener_);
}

void AnswerProxy::replace_next_answer(const std::string& answer) {
  const std::lock_guard lock(mutex_);
  plans_.push_back({true, false, false, answer});
}

void AnswerProxy::refuse_next(const std::string& answer) {
  const std::lock_guard lock(mutex_);
  plans_.push_back({false, false, false, answer});
}

void AnswerProxy::let_next_through() {
  const std::lock_guard lock(mutex_);
  plans_.push_back({true, false, true, ""});
}

void AnswerProxy::refuse_all(const std::string& answer) {
  const std::lock_guard lock(mutex_);
  answer_to_all_ = answer;
}

void AnswerProxy::hold_next() {
  const std::lock_guard lock(mutex_);
  plans_.push_back({false, true, false, ""});
}

std::vector<SeenRequest> AnswerProxy::all() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::vector<SeenRequest> AnswerProxy::inserts(size_t skip) const {
  std::vector<SeenRequest> out;
  for (const SeenRequest& r : all())
    if (r.is_insert()) out.push_back(r);
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min(skip, out.size())));
  return out;
}

void AnswerProxy::run() {
  while (!stop_) {
    pollfd p{listener_, POLLIN, 0};
    if (poll(&p, 1, 20) <= 0) continue;
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) continue;
    if (closes_)
      close(client);
    else
      serve(client);
  }
}

void AnswerProxy::serve(int client) {
  size_t head_size = 0, whole = 0;
  const std::string request = read_until(client, [&](const std::string& data) {
    if (head_size == 0) {
      const size_t at = data.find("\r\n\r\n");
      if (at == std::string::npos) return false;
      head_size = at + 4;
      const size_t length = data.find("Content-Length: ");
      whole = head_size + (length < at ? static_cast<size_t>(std::atoll(data.c_str() + length + 16)) : 0);
    }
    return data.size() >= whole;
  });
  if (head_size == 0) {
    close(client);
    return;
  }
  SeenRequest seen{request.substr(0, head_size), request.substr(head_size)};
  Plan plan;
  bool planned = false;
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(seen);
    if (seen.is_insert() && seen.body.size() > limit_) {
      plan = {false, false, false,
              http_answer("413 Request Entity Too Large",
                          "<html><head><title>413 Request Entity Too Large</title></head></html>\r\n")};
    } else if (seen.is_insert() && !plans_.empty()) {
      plan = plans_.front();
      plans_.pop_front();
      planned = true;
    } else if (seen.is_insert() && !answer_to_all_.empty()) {
      plan = {false, false, false, answer_to_all_};
    }
  }
  if (plan.held) {
    held_.push_back(client);
    return;
  }
  std::string answer = plan.answer;
  if (plan.reaches_server) {
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in a = loopback(server_port_);
    if (connect(server, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) {
      send_all(server, seen.head.substr(0, head_size - 2) + "Connection: close\r\n\r\n" + seen.body);
      const std::string real = read_until(server, [](const std::string&) { return false; });
      if (!planned || plan.answered) answer = real;
    }
    close(server);
  }
  send_all(client, answer);
  close(client);
}

}  // namespace sluice::clickhouse::testing
