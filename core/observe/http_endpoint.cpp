#include "observe/http_endpoint.h"

#include <httplib.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include "observe/dashboard.h"
#include "observe/metrics.h"
#include "observe/process_usage.h"
#include "observe/progress_json.h"

namespace sluice::observe {
namespace {

// A connection has a thread until its request has come and is answered, one without a request for so long. There are enough
// of both that a few that are open and say nothing do not keep /health waiting.
constexpr size_t kServerThreads = 32;
constexpr time_t kIdleS = 1;
constexpr time_t kSocketTimeoutS = 5;
constexpr const char* kJson = "application/json";

// The page may run its own script and ask its own server, nothing else.
constexpr const char* kPagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

}  // namespace

struct HttpEndpoint::Impl {
  ListenAddress address;
  HttpEndpointOptions options;
  httplib::Server server;
  std::thread listener;

  void route();
};

void HttpEndpoint::Impl::route() {
  server.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(metrics_text(options.progress(), read_process_usage(), options.sluice_version),
                         kMetricsContentType);
  });
  server.Get("/health", [this](const httplib::Request&, httplib::Response& response) {
    const Progress progress = options.progress();
    const Health health = health_of(progress, options.health);
    response.status = health.ok() ? 200 : 503;
    response.set_content(health_json(progress, health) + "\n", kJson);
  });
  server.Get("/progress", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(progress_json(options.progress(), options.graph) + "\n", kJson);
  });
  server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_header("Content-Security-Policy", kPagePolicy);
    const std::string_view page = dashboard_html();
    response.set_content(page.data(), page.size(), "text/html; charset=utf-8");
  });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.status == 404 && response.body.empty())
      response.set_content("no such page; there are /, /metrics, /health and /progress\n", "text/plain");
  });
  server.set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
    response.status = 500;
    response.set_content("internal error\n", "text/plain");
  });
}

base::Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::start(const ListenAddress& address,
                                                                HttpEndpointOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->address = address;
  impl->options = std::move(options);
  httplib::Server& server = impl->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kServerThreads); };
  // The library's default sets SO_REUSEPORT, with which a second job would silently share the port.
  server.set_socket_options([](socket_t socket) {
    int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_read_timeout(kSocketTimeoutS, 0);
  server.set_write_timeout(kSocketTimeoutS, 0);
  server.set_keep_alive_timeout(kIdleS);
  // One request per connection: an open connection would keep one of the few threads, and the stop, waiting.
  server.set_keep_alive_max_count(1);
  server.set_payload_max_length(64 * 1024);
  server.set_default_headers({{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}});
  impl->route();

  errno = 0;
  bool bound = true;
  if (address.port == 0) {
    const int port = server.bind_to_any_port(address.host);
    bound = port > 0;
    if (bound) impl->address.port = static_cast<uint16_t>(port);
  } else {
    bound = server.bind_to_port(address.host, address.port);
  }
  if (!bound) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "the address cannot be resolved";
    return base::Status::fatal("cannot listen on " + address.host + ":" + std::to_string(address.port) +
                               " for metrics: " + reason);
  }
  impl->listener = std::thread([&server] { server.listen_after_bind(); });
  // stop() has no effect before the loop runs.
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(impl)));
}

HttpEndpoint::HttpEndpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpEndpoint::~HttpEndpoint() {
  impl_->server.stop();
  impl_->listener.join();
}

const ListenAddress& HttpEndpoint::address() const { return impl_->address; }

}  // namespace sluice::observe
