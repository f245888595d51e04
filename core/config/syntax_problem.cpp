#include "config/syntax_problem.h"

#include <algorithm>

#include "config/nearest_name.h"

namespace sluice::config {
namespace {

constexpr size_t kNone = std::string_view::npos;

std::string at_line(const Location& at) { return "line " + std::to_string(at.line); }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The colon that ends the key of a line: followed by a space or the end of the line, not inside quotes.
size_t key_colon(std::string_view line) {
  char quoted = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c == quoted) quoted = '\0';
    } else if ((c == '"' || c == '\'') && (i == 0 || line[i - 1] == ' ')) {
      quoted = c;
    } else if (c == '#' && i > 0 && line[i - 1] == ' ') {
      return kNone;
    } else if (c == ':' && (i + 1 == line.size() || line[i + 1] == ' ' || line[i + 1] == '\t')) {
      return i;
    }
  }
  return kNone;
}

// `"b c"`, `"topic:x"`: the text of the line without list dashes and comment.
std::string_view key_text(const SourceText& source, size_t key) {
  std::string_view text = source.line_at(key).substr(key - source.line_start(key));
  text = text.substr(0, text.find(" #"));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

size_t after_dashes(const SourceText& source, size_t offset) {
  while (source.at(offset) == '-' && (source.at(offset + 1) == ' ')) offset = source.skip_spaces(offset + 1);
  return offset;
}

// The innermost bracket that is open; a single pair inside a list opens a map without one.
const ParseProgress::Opened* innermost_bracket(const SourceText& source, const ParseProgress& progress) {
  if (progress.open.empty() || !progress.open.back().flow) return nullptr;
  for (size_t i = progress.open.size(); i-- > 0;) {
    const char c = source.at(progress.open[i].offset);
    if (c == '[' || c == '{') return &progress.open[i];
  }
  return nullptr;
}

SyntaxProblem unclosed_bracket(const SourceText& source, const ParseProgress::Opened& opened, size_t noticed) {
  const char bracket = source.at(opened.offset);
  SyntaxProblem problem{
      source.location(opened.offset),
      "unclosed-bracket",
      std::string("the \"") + bracket + "\" opened here is not closed with \"" + (bracket == '[' ? "]" : "}") + "\"",
      {},
      {},
      {}};
  const Location at = source.location(noticed);
  if (at.line != problem.at.line) problem.notes.push_back({at, "noticed here"});
  return problem;
}

SyntaxProblem flow_problem(const SourceText& source, const ParseProgress& progress, size_t offset) {
  const size_t line_begin = source.line_start(offset);
  const size_t dollar =
      offset > line_begin && source.at(offset) == '{' && source.at(offset - 1) == '$' ? offset - 1 : kNone;
  if (dollar != kNone) {
    return {source.location(dollar),
            "unquoted-variable",
            "a variable inside { } or [ ] must stand in quotes: \"${…}\"",
            {},
            {},
            {}};
  }
  const ParseProgress::Opened* opened = innermost_bracket(source, progress);
  if (opened == nullptr) return {source.location(offset), "syntax", "a \"{\" or \"[\" is not closed", {}, {}, {}};
  const bool at_end = offset >= source.text().size();
  const size_t visible = source.first_visible(offset);
  // A line that starts left of the bracket's own line belongs to the block around it.
  const bool outside = visible == offset && source.line_of(offset) != source.line_of(opened->offset) &&
                       visible - line_begin <= source.first_visible(opened->offset) - source.line_start(opened->offset);
  if (at_end || outside) return unclosed_bracket(source, *opened, offset);
  return {source.location(offset),
          "syntax",
          std::string("\",\" or \"") + (source.at(opened->offset) == '[' ? "]" : "}") + "\" is missing before this",
          {},
          {},
          {}};
}

SyntaxProblem endless_text(const SourceText& source, const ParseProgress& progress, size_t offset) {
  for (size_t i = progress.last_scalar == kNone ? 0 : progress.last_scalar; i < source.text().size(); ++i) {
    const char c = source.at(i);
    const char before = i == 0 ? '\n' : source.at(i - 1);
    if ((c != '"' && c != '\'') || std::string_view(" \n[{,").find(before) == kNone) continue;
    const size_t close = source.closing_quote(i);
    if (close == kNone) {
      return {source.location(i), "unclosed-quote", "the quote opened here is never closed", {}, {}, {}};
    }
    i = close;
  }
  return {source.location(offset), "syntax", "the file ends in the middle of a text", {}, {}, {}};
}

SyntaxProblem indentation_problem(const SourceText& source, const ParseProgress& progress, size_t offset) {
  if (source.at(offset) == '-' && source.at(offset + 1) != ' ' && source.at(offset + 1) != '-') {
    return {source.location(offset), "syntax", "a space is missing after \"-\"", {}, {}, {}};
  }
  const int column_here = source.location(offset).column;
  std::string columns;
  int last = 0;
  for (const ParseProgress::Opened& opened : progress.open_at_scalar) {
    const int column = source.location(opened.offset).column;
    if (opened.flow || column == last) continue;
    // It does fit, so something else is wrong with it.
    if (column == column_here && !opened.list && key_colon(source.line_at(offset)) == kNone &&
        source.at(offset) != '-') {
      return missing_colon_problem(source, offset);
    }
    columns += (columns.empty() ? "" : ", ") + std::to_string(column);
    last = column;
  }
  return {source.location(offset),
          "indentation",
          "the indentation of this line fits no line above it",
          {},
          columns.empty() ? "" : "lines above start in column " + columns,
          {}};
}

SyntaxProblem unexpected_colon(const SourceText& source, const ParseProgress& progress, size_t offset) {
  // `a: b: c`
  const size_t line_begin = source.line_start(offset);
  const size_t first = after_dashes(source, source.first_visible(offset));
  const std::string_view before = source.text().substr(line_begin, offset - line_begin);
  const size_t earlier_colon = key_colon(before.substr(std::min(before.size(), first - line_begin)));
  if (earlier_colon != kNone && progress.last_scalar != kNone) {
    const size_t value = source.skip_spaces(first + earlier_colon + 1);
    return {source.location(value), "syntax", "a value with \": \" in it must stand in quotes", {}, {}, {}};
  }
  // A line without colon above becomes the beginning of this key.
  const size_t above = source.previous_content_line(offset);
  if (above != kNone && key_colon(source.line_at(above)) == kNone) {
    const size_t key = after_dashes(source, source.first_visible(above));
    if (source.at(key) != '"' && source.at(key) != '\'') return missing_colon_problem(source, key);
  }
  return {source.location(source.first_visible(offset)),
          "indentation",
          "this line does not fit the lines above it: check its indentation and theirs",
          {},
          {},
          {}};
}

}  // namespace

SyntaxProblem tab_problem(const SourceText& source, size_t tab) {
  return {source.location(tab), "tab", "a tab is used for indentation; YAML allows only spaces there", {}, {}, {}};
}

SyntaxProblem unclosed_bracket_problem(const SourceText& source, const ParseProgress& progress) {
  const ParseProgress::Opened* opened = innermost_bracket(source, progress);
  if (opened == nullptr)
    return {source.location(source.text().size()), "syntax", "the file ends too early", {}, {}, {}};
  return unclosed_bracket(source, *opened, source.text().size());
}

SyntaxProblem bracket_as_key_problem(const SourceText& source, size_t offset) {
  int depth = 0;
  for (size_t i = offset; i < source.text().size(); ++i) {
    const char c = source.at(i);
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) {
      return {source.location(offset), "syntax", "a key must be a plain text", {}, {}, {}};
    }
  }
  return unclosed_bracket(source, {offset, true, source.at(offset) == '['}, source.text().size());
}

SyntaxProblem missing_colon_problem(const SourceText& source, size_t key) {
  const std::string_view text = key_text(source, key);
  const size_t colon = text.find(':');
  if (colon != kNone && colon > 0 && colon + 1 < text.size()) {
    return {source.location(key),
            "missing-space",
            "a space is missing after the \":\" of " + quote(text),
            std::string(text.substr(0, colon + 1)) + " " + std::string(text.substr(colon + 1)),
            {},
            {}};
  }
  return {source.location(key), "missing-colon", "\":\" is missing after " + quote(text), {}, {}, {}};
}

SyntaxProblem several_lines_problem(const SourceText& source, const ParseProgress& progress, size_t scalar) {
  size_t line = source.next_line(scalar);
  while (line < source.text().size()) {
    const char first = source.at(source.first_visible(line));
    if (first != '\n' && first != '\r') break;
    line = source.next_line(line);
  }
  if (const size_t tab = source.tab_in_indentation(line); tab != kNone) return tab_problem(source, tab);
  const size_t visible = source.first_visible(line);
  if (innermost_bracket(source, progress)) return flow_problem(source, progress, visible);
  const Location at = source.location(visible);
  const std::string above = at_line(source.location(scalar));
  if (source.at(visible) == '-' && source.at(visible + 1) == ' ') {
    return {at,
            "indentation",
            "this \"-\" stands deeper than the list it belongs to and would become part of the value in " + above,
            {},
            {},
            {}};
  }
  return {at,
          "indentation",
          "this line stands too deep: it would become part of the value in " + above,
          {},
          "a text of several lines must stand in quotes or follow a \"|\"",
          {}};
}

SyntaxProblem explain_syntax_error(const SourceText& source, const ParseProgress& progress, size_t offset,
                                   const std::string& reason) {
  if (const size_t tab = source.tab_in_indentation(offset); tab != kNone) return tab_problem(source, tab);
  if (progress.wide_quote != kNone) {
    const size_t close = source.closing_quote(progress.wide_quote);
    SyntaxProblem problem{source.location(progress.wide_quote),
                          "unclosed-quote",
                          "the quote opened here is not closed on its line",
                          {},
                          {},
                          {}};
    if (close != kNone) problem.notes.push_back({source.location(close), "it ends only here"});
    return problem;
  }
  const Location at = source.location(offset);
  const std::string_view rest = source.text().substr(offset);
  if (contains(reason, "flow not found")) return flow_problem(source, progress, offset);
  if (contains(reason, "illegal map value")) return unexpected_colon(source, progress, offset);
  if (contains(reason, "end of map not found") || contains(reason, "end of sequence not found")) {
    if (source.is_first_visible(offset)) return indentation_problem(source, progress, offset);
    return {at, "syntax", "unexpected text after the value", {}, {}, {}};
  }
  if (contains(reason, "illegal block entry")) {
    return {at, "indentation", "a list item (\"- \") is not possible here: check the indentation", {}, {}, {}};
  }
  if (contains(reason, "illegal flow end")) {
    return {at, "syntax", "\"" + std::string(rest.substr(0, 1)) + "\" closes nothing: it was never opened", {}, {}, {}};
  }
  if (contains(reason, "unknown token")) {
    return {at, "syntax", "a value that starts with \"" + std::string(rest.substr(0, 1)) + "\" must stand in quotes",
            {}, {},       {}};
  }
  if (contains(reason, "unknown escape character")) {
    return {at,
            "syntax",
            "unknown escape \"\\" + reason.substr(reason.size() - 1) + "\" in a text in double quotes",
            {},
            "write \"\\\\\" for a backslash, or use single quotes",
            {}};
  }
  if (contains(reason, "anchor is not defined")) {
    const size_t end = rest.find_first_of(" ,]}\r\n");
    return {at, "unknown-alias", "the alias " + quote(rest.substr(0, end)) + " has no anchor above it", {}, {}, {}};
  }
  if (contains(reason, "EOF")) return endless_text(source, progress, offset);
  return {at, "syntax", "this is not valid YAML (" + reason + ")", {}, {}, {}};
}

}  // namespace sluice::config
