// A YAML syntax error in the user's words. Used inside config/ only.
#pragma once
#include <string>
#include <vector>

#include "config/diagnostic.h"
#include "config/source_text.h"

namespace sluice::config {

// Thrown inside the parser, caught by parse_source: a file that cannot be read to its end.
struct SyntaxProblem {
  Location at;
  std::string code;
  std::string message;
  std::string suggestion;
  std::string hint;
  std::vector<Diagnostic::Note> notes;
};

// How far the parser had come when the YAML library gave up.
struct ParseProgress {
  struct Opened {
    size_t offset = 0;
    bool flow = false;  // { } or [ ]
    bool list = false;
  };
  std::vector<Opened> open;                     // from the outside in
  std::vector<Opened> open_at_scalar;           // the same when the last scalar was read
  size_t last_scalar = std::string_view::npos;  // offset of the last scalar that was read
  size_t wide_quote = std::string_view::npos;   // the same, when it is in quotes and runs over several lines
};

// Translates the library's message `reason` at `offset`, and moves it to where the slip is most likely.
SyntaxProblem explain_syntax_error(const SourceText& source, const ParseProgress& progress, size_t offset,
                                   const std::string& reason);
SyntaxProblem tab_problem(const SourceText& source, size_t tab);
// A plain value at `scalar` that goes on in a later line.
SyntaxProblem several_lines_problem(const SourceText& source, const ParseProgress& progress, size_t scalar);
// The text ends while brackets are open.
SyntaxProblem unclosed_bracket_problem(const SourceText& source, const ParseProgress& progress);
// A bracket at `offset` where a key should stand: mostly because it is never closed.
SyntaxProblem bracket_as_key_problem(const SourceText& source, size_t offset);
// A key at `key` with no colon behind it.
SyntaxProblem missing_colon_problem(const SourceText& source, size_t key);

}  // namespace sluice::config
