// What an error of a server or of libmariadb means for a reader of its changes, and what its user can do.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/status.hpp"

namespace sluice_mysql {

enum class Trouble : uint8_t {
  kAway,   // wait and connect again
  kLost,   // the server cannot give what comes after the position: see the option `on_gap`
  kWrong,  // stop: only a person can heal it
};

// The result of talking to a server. A plain value.
class [[nodiscard]] Outcome {
 public:
  Outcome() noexcept = default;
  static Outcome ok() noexcept { return {}; }
  static Outcome away(std::string message) { return {Trouble::kAway, std::move(message)}; }
  static Outcome lost(std::string message) { return {Trouble::kLost, std::move(message)}; }
  static Outcome wrong(std::string message) { return {Trouble::kWrong, std::move(message)}; }

  bool is_ok() const noexcept { return ok_; }
  Trouble trouble() const noexcept { return trouble_; }
  const std::string& message() const noexcept { return message_; }

 private:
  Outcome(Trouble trouble, std::string message) : ok_(false), trouble_(trouble), message_(std::move(message)) {}

  bool ok_ = true;
  Trouble trouble_ = Trouble::kAway;
  std::string message_;
};

#define SLUICE_MYSQL_CHECK(expr)                                                                      \
  do {                                                                                                \
    if (::sluice_mysql::Outcome check_outcome = (expr); !check_outcome.is_ok()) return check_outcome; \
  } while (0)

// `doing`: "connect to 10.0.0.1:3306", "read the binlog". The message has the server's own words and, where a person
// must act, what to do.
Outcome diagnose(unsigned code, std::string_view text, const std::string& doing);

}  // namespace sluice_mysql
