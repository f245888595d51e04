#include "observe/http_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "observe/dashboard.h"
#include "sample_progress.h"

using namespace sluice::observe;

namespace {

// A connection to the endpoint; the test closes it.
int connection(uint16_t port, bool* connected) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  *connected = ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  return fd;
}

// The whole answer to one request; empty when nobody answers.
std::string ask(uint16_t port, const std::string& request) {
  bool connected = false;
  const int fd = connection(port, &connected);
  std::string answer;
  if (connected && ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  return answer;
}
std::string get(uint16_t port, const std::string& path) {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}
std::string body(const std::string& answer) {
  const size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}
bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

}  // namespace

TEST_CASE("addresses: this machine only unless told otherwise") {
  const auto parsed = [](const char* text) {
    const auto address = parse_listen_address(text);
    return address.is_ok() ? address.value().host + " " + std::to_string(address.value().port)
                           : address.status().message();
  };
  CHECK(parsed("9464") == "127.0.0.1 9464");
  CHECK(parsed(":9464") == "127.0.0.1 9464");
  CHECK(parsed("0") == "127.0.0.1 0");
  CHECK(parsed("localhost:9464") == "localhost 9464");
  CHECK(parsed("0.0.0.0:9464") == "0.0.0.0 9464");
  CHECK(parsed("*:9464") == "0.0.0.0 9464");
  CHECK(parsed("[::1]:9464") == "::1 9464");
  const std::string examples = " (examples: 9464, 127.0.0.1:9464, 0.0.0.0:9464, [::1]:9464)";
  CHECK(parsed("") == "\"\" is not an address to listen on: the port is not a number" + examples);
  CHECK(parsed("localhost") == "\"localhost\" is not an address to listen on: the port is not a number" + examples);
  CHECK(parsed("localhost:") == "\"localhost:\" is not an address to listen on: the port is not a number" + examples);
  CHECK(parsed("70000") == "\"70000\" is not an address to listen on: a port is at most 65535" + examples);
  CHECK(parsed("::1:9464") ==
        "\"::1:9464\" is not an address to listen on: an IPv6 address stands in brackets" + examples);
  CHECK(parsed("[::1]") == "\"[::1]\" is not an address to listen on: \"]:\" and a port are missing" + examples);

  CHECK(ListenAddress{"0.0.0.0", 80}.url() == "http://localhost:80");
  CHECK(ListenAddress{"::1", 80}.url() == "http://[::1]:80");
  CHECK(ListenAddress{"127.0.0.1", 80}.loopback());
  CHECK_FALSE(ListenAddress{"0.0.0.0", 80}.loopback());
}

TEST_CASE("pages of the endpoint") {
  std::atomic<bool> failed{false};
  HttpEndpointOptions options;
  options.progress = [&] {
    Progress p = sample_progress();
    if (failed) p.phase = "failed";
    return p;
  };
  options.graph = sample_graph();
  options.health = {10'000, 60'000};
  options.sluice_version = "0.1.0";
  auto endpoint = HttpEndpoint::start({"127.0.0.1", 0}, options);
  REQUIRE(endpoint.is_ok());
  const uint16_t port = endpoint.value()->address().port;
  REQUIRE(port != 0);

  const std::string metrics = get(port, "/metrics");
  CHECK(starts_with(metrics, "HTTP/1.1 200"));
  CHECK(metrics.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != std::string::npos);
  CHECK(body(metrics).find("sluice_rows_in_total{pipeline=\"购物车\",operator=\"cart\"} 182340\n") !=
        std::string::npos);

  CHECK(starts_with(get(port, "/health"), "HTTP/1.1 200"));
  failed = true;
  const std::string health = get(port, "/health");
  CHECK(starts_with(health, "HTTP/1.1 503"));
  CHECK(body(health) == R"({"status":"failing","pipeline":"购物车","phase":"failed","problems":["the job has failed"],"waiting_for":["the watermark is held by split cart_add-1 of cart at 2022-06-01 09:00:00"]})"
                        "\n");

  CHECK(starts_with(body(get(port, "/progress")), R"({"pipeline":"购物车","phase":"failed",)"));

  const std::string page = get(port, "/");
  CHECK(starts_with(page, "HTTP/1.1 200"));
  CHECK(page.find("Content-Type: text/html; charset=utf-8\r\n") != std::string::npos);
  CHECK(page.find("Content-Security-Policy: default-src 'none';") != std::string::npos);
  CHECK(body(page) == dashboard_html());

  const std::string missing = get(port, "/nothing");
  CHECK(starts_with(missing, "HTTP/1.1 404"));
  CHECK(body(missing) == "no such page; there are /, /metrics, /health and /progress\n");
  CHECK(starts_with(ask(port, "POST /progress HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
                    "HTTP/1.1 404"));

  SECTION("a port that is taken is an error with its reason, not a shared port") {
    const auto second = HttpEndpoint::start({"127.0.0.1", port}, options);
    REQUIRE_FALSE(second.is_ok());
    CHECK(second.status().message() ==
          "cannot listen on 127.0.0.1:" + std::to_string(port) + " for metrics: Address already in use");
  }
  SECTION("after the end nobody answers") {
    endpoint.value().reset();
    CHECK(get(port, "/health").empty());
  }
}

TEST_CASE("connections that say nothing do not keep others waiting") {
  HttpEndpointOptions options;
  options.progress = [] { return sample_progress(); };
  options.health = {10'000, 60'000};
  auto endpoint = HttpEndpoint::start({"127.0.0.1", 0}, options);
  REQUIRE(endpoint.is_ok());
  const uint16_t port = endpoint.value()->address().port;
  std::vector<int> silent;
  for (int i = 0; i < 16; ++i) {
    bool connected = false;
    silent.push_back(connection(port, &connected));
    REQUIRE(connected);
  }
  CHECK(starts_with(get(port, "/health"), "HTTP/1.1 200"));
  // The endpoint has not given up the last of them before it answered.
  char byte = 0;
  CHECK((::recv(silent.back(), &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)));
  for (const int fd : silent) ::close(fd);
}

TEST_CASE("an endpoint whose progress throws stays up") {
  HttpEndpointOptions options;
  options.progress = []() -> Progress { throw std::runtime_error("broken"); };
  auto endpoint = HttpEndpoint::start({"127.0.0.1", 0}, options);
  REQUIRE(endpoint.is_ok());
  for (int i = 0; i < 3; ++i) CHECK(starts_with(get(endpoint.value()->address().port, "/progress"), "HTTP/1.1 500"));
}

TEST_CASE("the page loads nothing from elsewhere and puts no text in as HTML") {
  const std::string page(dashboard_html());
  CHECK(page.find("innerHTML") == std::string::npos);
  CHECK(page.find("document.write") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("url(") == std::string::npos);
  CHECK(page.find("@import") == std::string::npos);
  size_t links = 0;
  for (size_t at = page.find("http"); at != std::string::npos; at = page.find("http", at + 1)) ++links;
  CHECK(links == 1);  // the SVG namespace, which is a name and never fetched
}
