// Where the metrics endpoint listens, as the user wrote it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::observe {

// A plain value.
struct ListenAddress {
  std::string host = "127.0.0.1";  // without brackets
  uint16_t port = 0;               // 0: any free one

  // `http://127.0.0.1:9464`; what listens everywhere is reachable as localhost.
  std::string url() const;
  bool loopback() const;
};

// `9464`, `:9464` and `localhost:9464` are this machine only; `0.0.0.0:9464`, `[::]:9464` or another address of this
// machine open it to others. Error (kFatal): says what is wrong with the text.
base::Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace sluice::observe
