// Result of an operation inside the host. The code says what the caller does next, exactly as at the plugin
// boundary (sluice_code in sluice/abi.h has the same numbers).
#pragma once
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sluice::base {

enum class Code : int32_t {
  kOk = 0,
  kRetry = 1,        // transient: try again after retry_after_ms, the input is kept
  kBadRecord = 2,    // this input can never succeed: the pipeline's on_error applies
  kFatal = 3,        // stop; the message says what the user can do
  kCancelled = 4,    // a stop request was seen
  kUnsupported = 5,  // the other side does not provide this
  kBug = 6,          // a contract was broken
};

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  static Status ok() noexcept { return {}; }
  static Status retry(std::string message, uint32_t after_ms = 100) { return {Code::kRetry, std::move(message), after_ms}; }
  static Status bad_record(std::string message) { return {Code::kBadRecord, std::move(message), 0}; }
  static Status fatal(std::string message) { return {Code::kFatal, std::move(message), 0}; }
  static Status cancelled(std::string message = "stopped") { return {Code::kCancelled, std::move(message), 0}; }
  static Status unsupported(std::string message) { return {Code::kUnsupported, std::move(message), 0}; }
  static Status bug(std::string message) { return {Code::kBug, std::move(message), 0}; }
  Status(Code code, std::string message, uint32_t retry_after_ms)
      : code_(code), retry_after_ms_(retry_after_ms), message_(std::move(message)) {}

  bool is_ok() const noexcept { return code_ == Code::kOk; }
  Code code() const noexcept { return code_; }
  uint32_t retry_after_ms() const noexcept { return retry_after_ms_; }
  const std::string& message() const noexcept { return message_; }
  // Puts `context: ` before the message; an OK status stays as it is.
  Status&& in(const std::string& context) && {
    if (!is_ok()) message_ = context + ": " + message_;
    return std::move(*this);
  }

 private:
  Code code_ = Code::kOk;
  uint32_t retry_after_ms_ = 0;
  std::string message_;
};

// A value, or the status that says why there is none. value() may only be called when is_ok().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                           // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) { assert(!status_.is_ok()); }        // NOLINT(google-explicit-constructor)
  bool is_ok() const noexcept { return value_.has_value(); }
  const Status& status() const noexcept { return status_; }
  T& value() & { assert(is_ok()); return *value_; }
  const T& value() const& { assert(is_ok()); return *value_; }
  T&& value() && { assert(is_ok()); return std::move(*value_); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace sluice::base

#define SLUICE_TRY(expr)                                                              \
  do {                                                                                \
    if (::sluice::base::Status sluice_try_status = (expr); !sluice_try_status.is_ok()) \
      return sluice_try_status;                                                       \
  } while (0)
