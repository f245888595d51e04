#include "observe/listen_address.h"

#include <charconv>

namespace sluice::observe {

std::string ListenAddress::url() const {
  const bool everywhere = host == "0.0.0.0" || host == "::";
  const std::string name = everywhere ? "localhost" : host.find(':') != std::string::npos ? "[" + host + "]" : host;
  return "http://" + name + ":" + std::to_string(port);
}

bool ListenAddress::loopback() const { return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0; }

base::Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto problem = [&](const std::string& what) {
    return base::Status::fatal("\"" + std::string(text) + "\" is not an address to listen on: " + what +
                               " (examples: 9464, 127.0.0.1:9464, 0.0.0.0:9464, [::1]:9464)");
  };
  ListenAddress address;
  std::string_view host, port = text;
  if (!text.empty() && text[0] == '[') {
    const size_t close = text.find("]:");
    if (close == std::string_view::npos) return problem("\"]:\" and a port are missing");
    host = text.substr(1, close - 1);
    port = text.substr(close + 2);
    if (host.empty()) return problem("there is nothing between the brackets");
  } else if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (host.find(':') != std::string_view::npos) return problem("an IPv6 address stands in brackets");
  }
  if (!host.empty()) address.host = host;
  if (address.host == "*") address.host = "0.0.0.0";
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port.empty() || error != std::errc() || end != port.data() + port.size())
    return problem("the port is not a number");
  if (number > 65535) return problem("a port is at most 65535");
  address.port = static_cast<uint16_t>(number);
  return address;
}

}  // namespace sluice::observe
