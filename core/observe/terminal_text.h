// Text from outside (names, positions, error messages) made fit for a terminal, a log line or a JSON document.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::observe {

// Bytes that are not UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);
// valid_utf8(), and control characters become spaces: a message cannot move the cursor or begin a new log line.
std::string printable(std::string_view text);

// Cells that printable text takes on a terminal: 2 for CJK and emoji, 0 for combining marks.
size_t display_width(std::string_view text);
// The text, or its beginning and `…`, so that it takes at most `width` cells.
std::string cut_to_width(std::string_view text, size_t width);
// cut_to_width() filled up with spaces to exactly `width` cells.
std::string pad_right(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

}  // namespace sluice::observe
