#include "sql_name.h"

#include <algorithm>

namespace sluice::sqlite {
namespace {
constexpr size_t kMaxNameSize = 255;
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
  if (what == "table") {
    const std::string folded = folded_name(name);
    if (folded.compare(0, 7, "sqlite_") == 0) return problem("is reserved by SQLite");
    if (folded.compare(0, 8, "_sluice_") == 0) return problem("is reserved for the sink's own tables");
  }
  return {};
}

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string folded_name(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace sluice::sqlite
