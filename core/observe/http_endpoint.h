// The HTTP server a running job shows itself on: /metrics, /health, /progress and a page for people at /.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "observe/graph.h"
#include "observe/health.h"
#include "observe/listen_address.h"
#include "observe/progress.h"

namespace sluice::observe {

struct HttpEndpointOptions {
  std::function<Progress()> progress;  // called from the server's threads, also several at once
  Graph graph;
  HealthLimits health;
  std::string sluice_version;
};

// Owned by whoever runs the job and destroyed before what `progress` refers to. Read-only: no request changes anything.
// Starts and stops on one thread; has threads of its own.
class HttpEndpoint {
 public:
  // kFatal: the address cannot be listened on; says why.
  static base::Result<std::unique_ptr<HttpEndpoint>> start(const ListenAddress& address, HttpEndpointOptions options);
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // With the port that was really taken.
  const ListenAddress& address() const;

 private:
  struct Impl;
  explicit HttpEndpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::observe
