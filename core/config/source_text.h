// The characters of a YAML file, to look at again where the YAML library says too little. Used inside config/ only.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/location.h"

namespace sluice::config {

// Borrows the text: valid as long as it. Offsets and byte columns count from 0.
class SourceText {
 public:
  SourceText(std::string file, std::string_view text);

  std::string_view text() const { return text_; }
  // Beyond the end: '\0', which the text itself never holds.
  char at(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  size_t offset_of(int line0, int byte_column0) const;
  Location location(size_t offset) const;
  int line_of(size_t offset) const;  // from 1
  size_t line_start(size_t offset) const;
  std::string_view line_at(size_t offset) const;  // the whole line, without its end
  size_t next_line(size_t offset) const;          // start of the line after, or the end of the text
  // First character of the line that is neither space nor tab (may be its end).
  size_t first_visible(size_t offset) const;
  bool is_first_visible(size_t offset) const { return first_visible(offset) == offset; }
  // Offset of a tab before the first visible character of the line, or npos.
  size_t tab_in_indentation(size_t offset) const;
  // Start of the last line before this one that is neither blank nor a comment, or npos.
  size_t previous_content_line(size_t offset) const;
  size_t skip_spaces(size_t offset) const;
  // Offset of the quote that closes the one at `offset`, or npos.
  size_t closing_quote(size_t offset) const;
  // Last line (from 1) of the block text (`|`, `>`) whose indicator is at `offset`.
  int last_line_of_block(size_t offset) const;

 private:
  std::string file_;
  std::string_view text_;
  std::vector<size_t> line_starts_;
};

}  // namespace sluice::config
