#include "config/source_text.h"

#include <algorithm>

namespace sluice::config {

SourceText::SourceText(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

size_t SourceText::offset_of(int line0, int byte_column0) const {
  if (line0 < 0) return 0;
  if (static_cast<size_t>(line0) >= line_starts_.size()) return text_.size();
  return std::min(text_.size(),
                  line_starts_[static_cast<size_t>(line0)] + static_cast<size_t>(std::max(0, byte_column0)));
}

int SourceText::line_of(size_t offset) const {
  return static_cast<int>(std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - line_starts_.begin());
}

size_t SourceText::line_start(size_t offset) const { return line_starts_[static_cast<size_t>(line_of(offset)) - 1]; }

Location SourceText::location(size_t offset) const {
  offset = std::min(offset, text_.size());
  // The end of the text is shown behind its last line, not on the empty one that follows the last line break.
  if (offset == text_.size() && offset > 0 && text_[offset - 1] == '\n') {
    --offset;
    if (offset > 0 && text_[offset - 1] == '\r') --offset;
  }
  int column = 1;
  for (size_t i = line_start(offset); i < offset; ++i) {
    if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) ++column;
  }
  return {file_, line_of(offset), column};
}

std::string_view SourceText::line_at(size_t offset) const {
  const size_t start = line_start(offset);
  std::string_view line = text_.substr(start, text_.find('\n', start) - start);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

size_t SourceText::next_line(size_t offset) const {
  const size_t end = text_.find('\n', offset);
  return end == std::string_view::npos ? text_.size() : end + 1;
}

size_t SourceText::first_visible(size_t offset) const {
  size_t i = line_start(offset);
  while (at(i) == ' ' || at(i) == '\t') ++i;
  return i;
}

size_t SourceText::tab_in_indentation(size_t offset) const {
  const size_t start = line_start(offset);
  const size_t tab = text_.substr(start, first_visible(offset) - start).find('\t');
  return tab == std::string_view::npos ? tab : start + tab;
}

size_t SourceText::previous_content_line(size_t offset) const {
  size_t start = line_start(offset);
  while (start > 0) {
    start = line_start(start - 1);
    const char first = at(first_visible(start));
    if (first != '\n' && first != '\r' && first != '#' && first != '\0') return start;
  }
  return std::string_view::npos;
}

size_t SourceText::skip_spaces(size_t offset) const {
  while (at(offset) == ' ' || at(offset) == '\t') ++offset;
  return offset;
}

size_t SourceText::closing_quote(size_t offset) const {
  const char quote = at(offset);
  for (size_t i = offset + 1; i < text_.size(); ++i) {
    if (quote == '"' && text_[i] == '\\') {
      ++i;
    } else if (text_[i] == quote) {
      if (quote == '\'' && at(i + 1) == '\'') {
        ++i;
      } else {
        return i;
      }
    }
  }
  return std::string_view::npos;
}

int SourceText::last_line_of_block(size_t offset) const {
  const size_t indentation = first_visible(offset) - line_start(offset);
  int last = line_of(offset);
  for (size_t start = next_line(offset); start < text_.size(); start = next_line(start)) {
    const size_t visible = first_visible(start);
    const bool blank = at(visible) == '\n' || at(visible) == '\r' || at(visible) == '\0';
    if (!blank && visible - start <= indentation) break;
    if (!blank) last = line_of(start);
  }
  return last;
}

}  // namespace sluice::config
