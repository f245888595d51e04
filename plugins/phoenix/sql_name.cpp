#include "phoenix/sql_name.h"

#include <algorithm>

namespace sluice::phoenix {
namespace {
constexpr size_t kMaxNameSize = 255;
}

std::string phoenix_name(std::string_view name, Case letters) {
  std::string out(name);
  if (letters == Case::kUpper)
    for (char& c : out)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string name_problem(std::string_view what, std::string_view name) {
  const auto problem = [&](const char* why) {
    return "the " + std::string(what) + " name \"" + std::string(name.substr(0, 80)) + "\" " + why;
  };
  if (name.empty()) return "a " + std::string(what) + " name is empty";
  if (name.size() > kMaxNameSize) return problem("is longer than 255 bytes");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(name.begin(), name.end(), is_control))
    return "a " + std::string(what) + " name has control characters in it";
  // Phoenix has no way to write these inside quotes that all its parsers agree on.
  if (name.find_first_of("\"'\\") != std::string_view::npos) return problem("has a quote or a backslash in it");
  if (what != "column" && name.find_first_of(".:") != std::string_view::npos)
    return problem("has a dot or a colon in it: a schema is given by the option `schema`");
  return {};
}

std::string quoted_name(std::string_view name) { return '"' + std::string(name) + '"'; }

std::string text_literal(std::string_view name) { return '\'' + std::string(name) + '\''; }

}  // namespace sluice::phoenix
