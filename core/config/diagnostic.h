// What is wrong with a file the user wrote: where, what, and what was probably meant.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/location.h"

namespace sluice::config {

enum class Severity { kError, kWarning };

// A plain value. `message` is a complete statement in the words of the user, without the suggestion.
struct Diagnostic {
  struct Note {  // another place that belongs to the problem, such as the first of two equal keys
    Location at;
    std::string message;
  };

  Severity severity = Severity::kError;
  Location at;
  std::string code;        // stable word for scripts: "unknown-option", "undefined-variable", …
  std::string path;        // "operators[2].with.topic"; empty when the file could not be read that far
  std::string message;     // `unknown option "topik" of kafka.source`
  std::string suggestion;  // the nearest legal text, `topic`; shown as `; did you mean "topic"?`
  std::string hint;        // how to get out, shown on a line of its own
  std::vector<Note> notes;
};

// Collects the problems of one run. Owned by whoever starts the run, lives as long as its results are shown. Not
// thread-safe. Text put into a Diagnostic must never hold the value of a secret; add() cannot check that.
class Diagnostics {
 public:
  // The text that render_text() quotes below a message. Later calls for the same file replace the earlier text.
  void add_source(const std::string& file, std::string_view text);
  // Lines that hold a secret: they are never quoted.
  void hide_lines(const std::string& file, int first_line, int last_line);

  // A second report that is equal in place, code and message is dropped (an alias is checked wherever it is used).
  void add(Diagnostic diagnostic);
  void error(Location at, std::string code, std::string path, std::string message, std::string suggestion = {},
             std::string hint = {});
  void warning(Location at, std::string code, std::string path, std::string message, std::string suggestion = {},
               std::string hint = {});

  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  size_t warning_count() const { return diagnostics_.size() - errors_; }
  bool empty() const { return diagnostics_.empty(); }
  // Sorted by file, line and column.
  std::vector<Diagnostic> sorted() const;

  // `pipeline.yaml:12:5: error: unknown option "topik" of kafka.source; did you mean "topic"?`, the line of the file
  // with a caret below, then hint and notes. Ends with a line break unless there is nothing to say.
  std::string render_text() const;
  // A JSON array of objects: file, line, column, severity, path, code, message, suggestion, hint, notes.
  std::string render_json() const;

 private:
  std::string quoted_line(const Location& at) const;

  std::vector<Diagnostic> diagnostics_;
  std::set<std::pair<Location, std::string>> seen_;  // place, code + message
  size_t errors_ = 0;
  std::map<std::string, std::vector<std::string>> sources_;  // file → lines
  std::set<std::pair<std::string, int>> hidden_lines_;
};

// `message; did you mean "x"?`: what stands behind `error: `.
std::string message_with_suggestion(const Diagnostic& diagnostic);

}  // namespace sluice::config
