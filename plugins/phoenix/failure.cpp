#include "phoenix/failure.h"

#include <algorithm>
#include <charconv>

namespace sluice::phoenix {
namespace {

constexpr size_t kMaxText = 500;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// "ERROR 203 (22005): Type mismatch. …": takes it apart at the first place that looks so.
bool read_error(std::string_view text, Failure* out) {
  for (size_t at = text.find("ERROR "); at != std::string_view::npos; at = text.find("ERROR ", at + 1)) {
    const char* p = text.data() + at + 6;
    const char* end = text.data() + text.size();
    int code = 0;
    const auto [after, error] = std::from_chars(p, end, code);
    if (error != std::errc() || end - after < 4 || after[0] != ' ' || after[1] != '(') continue;
    const std::string_view rest(after + 2, static_cast<size_t>(end - after - 2));
    const size_t close = rest.find(')');
    if (close == std::string_view::npos || close > 10) continue;
    out->code = code;
    out->sql_state = std::string(rest.substr(0, close));
    out->text = std::string(text.substr(at));
    return true;
  }
  return false;
}

FailureKind kind_of_state(int code, std::string_view state) {
  if (code == 301)
    return FailureKind::kBusy;  // the table was changed by others at the same moment; its state is of class 23
  // Some versions of Phoenix do not write over a connection with a time; no row is to blame.
  if (code == 518) return FailureKind::kLogin;
  if (code == 726) return FailureKind::kUnfit;  // namespace mapping is on here and off there
  // A table, a column, a schema; a column family goes with its last column.
  if (state == "42M03" || state == "42703" || state == "43M05" || state == "42I01") return FailureKind::kNotThere;
  // Not enough memory, and a table's descriptions that are not the newest: of the moment.
  if (state == "50M01" || state == "410M1") return FailureKind::kBusy;
  if (state == "LIM03") return FailureKind::kBadValue;  // one value, however few rows are with it
  if (starts_with(state, "LIM")) return FailureKind::kTooMuch;
  const std::string_view state_class = state.substr(0, 2);
  if (state_class == "22" || state_class == "23") return FailureKind::kBadValue;
  if (state_class == "08" || state_class == "XC" || state_class == "TI" || state_class == "IN")
    return FailureKind::kBusy;
  return FailureKind::kRefused;
}

// Without an error number only the names of the exceptions tell.
FailureKind kind_of_exception(std::string_view text) {
  if (has(text, "NoSuchConnectionException") || has(text, "NoSuchStatementException")) return FailureKind::kLost;
  // A statement id of another kind than it was: the server has been started anew.
  if (has(text, "ClassCastException") && has(text, "PhoenixStatement")) return FailureKind::kLost;
  if (has(text, "KeyValue size too large") || has(text, "IllegalDataException")) return FailureKind::kBadValue;
  if (has(text, "Row length ") && has(text, " is > 32767")) return FailureKind::kBadValue;
  if (has(text, "ParserException") || has(text, "PhoenixParserException")) return FailureKind::kRefused;
  return FailureKind::kBusy;
}

// Where the refusal begins; npos: it is none. HBase's exceptions come without an error number of Phoenix.
size_t find_denial(std::string_view text) {
  for (const char* name : {"AccessDeniedException", "UnauthorizedException", "AuthorizationException"})
    if (const size_t at = text.find(name); at != std::string_view::npos) return at;
  return std::string_view::npos;
}

// One line, of one cause, not longer than somebody reads. HBase names columns by their bytes.
std::string readable(std::string_view text) {
  text = text.substr(0, std::min(text.find(" -> "), text.find('\n')));
  if (text.size() > kMaxText) {
    text = text.substr(0, kMaxText);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.remove_suffix(1);
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.remove_suffix(1);
  }
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return out;
}

}  // namespace

Failure failure_of_answer(std::string_view error_message, std::string_view first_exception, unsigned error_code) {
  const std::string_view text = error_message.empty() ? first_exception : error_message;
  Failure out;
  if (const size_t denial = find_denial(text); denial != std::string_view::npos) {
    out = Failure::of(FailureKind::kDenied, readable(text.substr(denial)));
  } else if (error_code == 1) {
    out = Failure::of(FailureKind::kLost, "the Query Server does not know the connection any more");
  } else if (read_error(text, &out) || read_error(first_exception.substr(0, 4000), &out)) {
    out.kind = kind_of_state(out.code, out.sql_state);
    if (out.kind != FailureKind::kBadValue && kind_of_exception(text) == FailureKind::kBadValue)
      out.kind = FailureKind::kBadValue;
    out.text = readable(out.text);
  } else {
    const FailureKind kind = kind_of_exception(text);
    out = Failure::of(kind == FailureKind::kBusy ? kind_of_exception(first_exception.substr(0, 4000)) : kind,
                      readable(text));
  }
  return out;
}

}  // namespace sluice::phoenix
