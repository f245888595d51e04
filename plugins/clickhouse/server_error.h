// What a server says when it refuses: `Code: 60, e.displayText() = DB::Exception: …` (up to 20.x) or
// `Code: 60. DB::Exception: … (UNKNOWN_TABLE)`, and what is to be done about it.
// Codes: src/Common/ErrorCodes.cpp of ClickHouse; the same numbers in all versions.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::clickhouse {

enum class ErrorClass {
  kTransient,          // the same bytes again, later, or to another server
  kBadRow,             // a row of the block is to blame
  kTooManyPartitions,  // a smaller block will do
  kTooLarge,           // for the server's memory, again and again, or for a gateway: a smaller block will do
  kSchema,             // the table is not what it was when the block was made
  kUnknown,            // of a code that says nothing to us: see UnknownErrors
  kFatal               // nothing but a person can help
};

struct ServerError {
  ErrorClass what = ErrorClass::kFatal;
  int code = 0;      // 0: the answer names none
  std::string text;  // for messages: without the exception's wrapping, at most 600 bytes
  // Nothing is known about the request's outcome.
  bool unknown_outcome = false;
};

// Of an answer that is no success. `header_code`: X-ClickHouse-Exception-Code, or 0.
ServerError read_server_error(long status, int header_code, std::string_view body);

// What a code that nobody thought of means shows in time: it is tried again for a while. Used by one thread.
class UnknownErrors {
 public:
  using Clock = std::chrono::steady_clock;
  explicit UnknownErrors(std::chrono::milliseconds patience) : patience_(patience) {}
  // kUnknown becomes kTransient, or kFatal when such errors have come for so long; others stay as they are.
  ServerError judge(ServerError error, Clock::time_point now = Clock::now());
  void forget() { tries_ = 0; }  // something went well

 private:
  const std::chrono::milliseconds patience_;
  Clock::time_point first_{};
  int tries_ = 0;
};

// The beginning of an answer, in quotes; of a page for people, what it is.
std::string shown_answer(std::string_view body);

// The number in `Code: 60…` at the beginning of a text, or of its last line; 0: there is none.
int exception_code(std::string_view body);

// What to do about a fatal code; empty when there is nothing to add.
std::string way_out(int code);

}  // namespace sluice::clickhouse
