// A place in a file the user wrote.
#pragma once
#include <string>
#include <tuple>

namespace sluice::config {

// A plain value. Lines and columns count from 1; columns count characters (Unicode code points), not bytes.
// line == 0 means that there is no place to show, as for a default value.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;

  bool known() const { return line > 0; }
  std::string text() const { return known() ? file + ":" + std::to_string(line) + ":" + std::to_string(column) : file; }
  friend bool operator==(const Location&, const Location&) = default;
  friend bool operator<(const Location& a, const Location& b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  }
};

}  // namespace sluice::config
