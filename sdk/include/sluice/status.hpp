// sluice/status.hpp - results of plugin code, the exception barrier, and text views.
// Everything in sluice/*.hpp is header-only, C++17, and lives in the plugin alone: nothing here crosses
// the boundary, so any release of the SDK may change it.
#pragma once
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/abi.h"

namespace sluice {

// Views of the same bytes; data == nullptr (none) stays so.
inline sluice_str str(std::string_view s) noexcept { return {s.data(), s.size()}; }
inline std::string_view view(sluice_str s) noexcept { return s.data == nullptr ? std::string_view() : std::string_view(s.data, s.size); }

// What the host does next. Ignoring one does not compile.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(sluice_code code, std::string message, uint32_t retry_after_ms = 0)
      : code_(code), retry_after_ms_(retry_after_ms), message_(std::move(message)) {}

  static Status ok() noexcept { return {}; }
  // Transient: the host calls again, after `after_ms` (0: it chooses), with the same input.
  static Status retry(std::string message, uint32_t after_ms = 0) { return {SLUICE_RETRY, std::move(message), after_ms}; }
  // Stop the job. The message says what is wrong and how to get out.
  static Status fatal(std::string message) { return {SLUICE_FATAL, std::move(message)}; }
  // A schema that a sink refuses. A row is refused by reject(): this for a batch of several is a bug.
  static Status bad_record(std::string message) { return {SLUICE_BAD_RECORD, std::move(message)}; }
  // The stop request was seen (Operator::stopping) and the call ended early: it comes again unless the job ends at once.
  static Status cancelled() { return {SLUICE_CANCELLED, "stopped"}; }
  // Stop the job: the plugin or the host is wrong, not the data and not the set-up.
  static Status bug(std::string message) { return {SLUICE_BUG, std::move(message)}; }
  // What a function of the host answered.
  static Status from(sluice_code code, const sluice_error& e) {
    if (code == SLUICE_OK) return {};
    return {code, std::string(e.message, std::min<size_t>(e.message_size, sizeof e.message)), e.retry_after_ms};
  }

  bool is_ok() const noexcept { return code_ == SLUICE_OK; }
  sluice_code code() const noexcept { return code_; }
  uint32_t retry_after_ms() const noexcept { return retry_after_ms_; }
  const std::string& message() const noexcept { return message_; }

  // Copies the status into what the host allocated; longer messages are cut at a UTF-8 boundary.
  sluice_code write(sluice_error* out) const noexcept {
    if (code_ != SLUICE_OK && out != nullptr) {
      size_t n = std::min(message_.size(), sizeof out->message);
      while (n < message_.size() && n > 0 && (static_cast<unsigned char>(message_[n]) & 0xC0) == 0x80) --n;
      out->code = code_;
      out->retry_after_ms = retry_after_ms_;
      out->message_size = static_cast<uint32_t>(n);
      std::memcpy(out->message, message_.data(), n);
    }
    return code_;
  }

 private:
  sluice_code code_ = SLUICE_OK;
  uint32_t retry_after_ms_ = 0;
  std::string message_;
};

// Returns early when `expr` is not OK.
#define SLUICE_CHECK_OK(expr)                                                             \
  do {                                                                                    \
    if (::sluice::Status sluice_check_status = (expr); !sluice_check_status.is_ok())      \
      return sluice_check_status;                                                         \
  } while (0)

namespace detail {

// The exception barrier: every function pointer that the host can reach goes through here.
template <class F>
sluice_code guard(sluice_error* err, F&& body) noexcept {
  try {
    return body().write(err);
  } catch (const std::exception& e) {
    try {
      return Status::bug(std::string("uncaught exception: ") + e.what()).write(err);
    } catch (...) {
    }
  } catch (...) {
    try {
      return Status::bug("uncaught exception of unknown type").write(err);
    } catch (...) {
    }
  }
  if (err != nullptr) {
    err->code = SLUICE_BUG;
    err->message_size = 0;
  }
  return SLUICE_BUG;
}

// Calls a function of the host with a fresh error buffer.
template <class F>
Status call(F&& f) {
  sluice_error e;
  e.struct_size = sizeof e;
  e.code = SLUICE_OK;
  e.retry_after_ms = 0;
  e.message_size = 0;
  return Status::from(f(&e), e);
}

}  // namespace detail
}  // namespace sluice
