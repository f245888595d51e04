#include "server_error.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace sluice::clickhouse {
namespace {

bool is_one_of(int code, std::initializer_list<int> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

int code_at(std::string_view t) {
  constexpr std::string_view kCode = "Code: ";
  if (t.substr(0, kCode.size()) != kCode) return 0;
  int code = 0;
  std::from_chars(t.data() + kCode.size(), t.data() + t.size(), code);
  return code;
}

ErrorClass class_of(int code, std::string_view text) {
  // TOO_MANY_PARTS is also what an insert into too many partitions answers.
  if (code == 252)
    return text.find("Too many partitions") != std::string_view::npos ? ErrorClass::kTooManyPartitions
                                                                      : ErrorClass::kTransient;
  // TIMEOUT_EXCEEDED, QUOTA_EXCEEDED, TOO_MANY_SIMULTANEOUS_QUERIES, NO_FREE_CONNECTION, SOCKET_TIMEOUT, NETWORK_ERROR,
  // NO_ZOOKEEPER, ABORTED, MEMORY_LIMIT_EXCEEDED, TABLE_IS_READ_ONLY, NOT_ENOUGH_SPACE, TOO_FEW_LIVE_REPLICAS,
  // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE, ALL_CONNECTION_TRIES_FAILED, UNKNOWN_STATUS_OF_INSERT,
  // QUERY_WAS_CANCELLED, DEADLOCK_AVOIDED, S3_ERROR, TABLE_IS_BEING_RESTARTED, SERVER_OVERLOADED, KEEPER_EXCEPTION
  if (is_one_of(code, {159, 201, 202, 203, 209, 210, 225, 236, 241, 242, 243,
                       279, 285, 286, 319, 394, 473, 499, 733, 745, 999}))
    return ErrorClass::kTransient;
  // NOT_FOUND_COLUMN_IN_BLOCK, NO_SUCH_COLUMN_IN_TABLE, CANNOT_READ_ALL_DATA, UNKNOWN_IDENTIFIER, TYPE_MISMATCH,
  // INCORRECT_DATA
  if (is_one_of(code, {10, 16, 33, 47, 53, 117})) return ErrorClass::kSchema;
  // CANNOT_PARSE_*, ARGUMENT_OUT_OF_BOUND, DECIMAL_OVERFLOW, CANNOT_CONVERT_TYPE,
  // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, TOO_LARGE_STRING_SIZE, ILLEGAL_DIVISION,
  // FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, DECIMAL_OVERFLOW, VIOLATED_CONSTRAINT, UNKNOWN_ELEMENT_OF_ENUM, …
  if (is_one_of(code, {6,   25,  26,  27,  28,  32,  34,  38,  41,  43,  69,  70,  72,  128, 131, 153,
                       158, 190, 321, 349, 376, 386, 395, 407, 441, 467, 469, 636, 675, 676, 677, 691}))
    return ErrorClass::kBadRow;
  // DUPLICATE_COLUMN, BAD_ARGUMENTS, NUMBER_OF_ARGUMENTS_DOESNT_MATCH, ILLEGAL_COLUMN, UNKNOWN_FUNCTION,
  // NOT_IMPLEMENTED, UNKNOWN_TYPE, UNKNOWN_STORAGE, TABLE_ALREADY_EXISTS, UNKNOWN_TABLE, SYNTAX_ERROR, UNKNOWN_FORMAT,
  // UNKNOWN_DATABASE, UNKNOWN_COMPRESSION_METHOD, UNKNOWN_SETTING, INCOMPATIBLE_COLUMNS, READONLY, UNKNOWN_USER,
  // WRONG_PASSWORD, REQUIRED_PASSWORD, IP_ADDRESS_NOT_ALLOWED, TABLE_IS_DROPPED, DATABASE_ACCESS_DENIED,
  // SUPPORT_IS_DISABLED, SETTING_CONSTRAINT_VIOLATION, ACCESS_DENIED, AUTHENTICATION_FAILED
  if (is_one_of(code, {15,  36,  42,  44,  46,  48,  50,  56,  57,  60,  62,  73,  81, 89,
                       115, 122, 164, 192, 193, 194, 195, 218, 291, 344, 452, 497, 516}))
    return ErrorClass::kFatal;
  return ErrorClass::kUnknown;
}

std::string unwrapped(std::string_view t) {
  const auto drop_front = [&](std::string_view mark) {
    if (const size_t at = t.find(mark); at != std::string_view::npos && at < 40) t.remove_prefix(at + mark.size());
  };
  while (code_at(t) != 0) {
    const size_t before = t.size();
    drop_front("DB::Exception: ");
    if (t.size() == before) break;
  }
  if (const size_t at = t.find(", e.what() = "); at != std::string_view::npos) t = t.substr(0, at);
  while (!t.empty() && (t.back() == '\n' || t.back() == ' ')) t.remove_suffix(1);
  std::string out(t.substr(0, 600));
  std::replace(out.begin(), out.end(), '\n', ' ');
  while (!out.empty() && t.size() > 600 && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
  return out;
}

// What a gateway answers by itself, for people.
bool is_page(std::string_view body) {
  const size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '<';
}

}  // namespace

std::string shown_answer(std::string_view body) {
  return is_page(body) ? "a web page" : '"' + std::string(body.substr(0, 80)) + '"';
}

int exception_code(std::string_view body) {
  if (const int code = code_at(body); code != 0) return code;
  while (!body.empty() && body.back() == '\n') body.remove_suffix(1);
  const size_t line = body.rfind('\n');
  return line == std::string_view::npos ? 0 : code_at(body.substr(line + 1));
}

ServerError read_server_error(long status, int header_code, std::string_view body) {
  ServerError e;
  e.code = header_code != 0 ? header_code : exception_code(body);
  e.text = unwrapped(body);
  if (e.code != 0) {
    e.what = class_of(e.code, body);
    e.text = "code " + std::to_string(e.code) + ": " + e.text;
    e.unknown_outcome = e.what == ErrorClass::kTransient || e.what == ErrorClass::kUnknown;
    return e;
  }
  // No ClickHouse has spoken: something in between, or a server that is going away.
  const std::string http = "HTTP status " + std::to_string(status);
  if (status == 413) {
    e.what = ErrorClass::kTooLarge;
    e.text =
        http + " from a gateway, which takes no request of this size: raise its limit (of nginx: client_max_body_size)";
    return e;
  }
  e.unknown_outcome = status == 200 || status >= 500 || status == 408 || status == 429;
  e.what = e.unknown_outcome ? ErrorClass::kTransient : ErrorClass::kFatal;
  if (is_page(body))
    e.text = http + " with a web page, which is not from ClickHouse: check `servers` and what is in between";
  else
    e.text = http + (e.text.empty() ? "" : ": " + e.text.substr(0, 200));
  return e;
}

ServerError UnknownErrors::judge(ServerError error, Clock::time_point now) {
  if (error.what != ErrorClass::kUnknown) return error;
  constexpr int kFewestTries = 5;
  if (tries_++ == 0) first_ = now;
  if (tries_ < kFewestTries || now - first_ < patience_) {
    error.what = ErrorClass::kTransient;
    return error;
  }
  error.what = ErrorClass::kFatal;
  error.text += ": so said the server " + std::to_string(tries_) + " times in " +
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - first_).count()) +
                " s. This code is not known to pass by itself: see the server's log for its cause";
  return error;
}

std::string way_out(int code) {
  switch (code) {
    case 60:
      return "create the table, or give its statement in `create`";
    case 81:
      return "create the database, or name another one in `database`";
    case 115:
      return "a setting that the server does not know";
    case 164:
      return "the user may only read: give it the right to insert";
    case 192:
    case 193:
    case 194:
    case 195:
    case 516:
      return "check `user` and `password`";
    case 291:
    case 497:
      return "grant the user INSERT on the table and SELECT on system.columns, system.tables and system.settings";
    default:
      return {};
  }
}

}  // namespace sluice::clickhouse
