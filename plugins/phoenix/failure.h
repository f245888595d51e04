// What went wrong between the sink and a Phoenix Query Server, as what the sink does next.
#pragma once
#include <string>
#include <string_view>
#include <utility>

namespace sluice::phoenix {

enum class FailureKind {
  kNone,
  kAway,      // no answer, or none of Phoenix's: what was asked may have been done or not
  kLost,      // the connection or the statement is no more; what was asked last may have been done or not
  kBusy,      // Phoenix could not do it now
  kTooMuch,   // more uncommitted rows than the server allows: it has thrown away all of them; or a request that is too
              // large for a gateway
  kBadValue,  // some value of these rows can never be written
  kNotThere,  // no such table, column, column family or schema
  kRefused,   // a statement that will never be done: syntax, a contradiction to what is there
  kDenied,    // HBase gives the Query Server's user no right to it: no row is to blame
  kUnfit,     // the Query Server's configuration does not fit HBase's
  kLogin,  // the server does not take the user, the password, the certificate, or this kind of connection for writing
  kNoPhoenix,  // whatever answers at this address, it is no Query Server that speaks protobuf
};

// Ignoring one does not compile.
struct [[nodiscard]] Failure {
  FailureKind kind = FailureKind::kNone;
  int code = 0;           // Phoenix's own error number; 0: none
  std::string sql_state;  // empty: none
  std::string text;       // for people

  bool ok() const noexcept { return kind == FailureKind::kNone; }
  static Failure of(FailureKind kind, std::string text) { return {kind, 0, {}, std::move(text)}; }
};

// Reads what Phoenix says in an ErrorResponse. Its error number and SQL state stand in the text only ("ERROR 203
// (22005): …", a chain of causes with " -> " between them); the fields made for them hold -1 and 00000.
// `first_exception` is the beginning of the server's first stack trace, the only place where a lost connection is
// named. `error_code` 1: no such connection.
Failure failure_of_answer(std::string_view error_message, std::string_view first_exception, unsigned error_code);

}  // namespace sluice::phoenix
