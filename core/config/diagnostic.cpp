#include "config/diagnostic.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace sluice::config {
namespace {

const char* severity_word(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

// Control characters, which must not get to a terminal, stand as the character that means one that cannot be shown.
std::string showable(std::string_view line) {
  std::string out;
  for (const char c : line) {
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
    if (control) {
      out += "\xEF\xBF\xBD";
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(showable(line));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// `http://user:password@host`, `user:password@host`.
bool has_user_in_address(std::string_view line) {
  for (size_t at = line.find('@'); at != std::string_view::npos; at = line.find('@', at + 1)) {
    const std::string_view before = line.substr(0, at);
    const size_t begin = before.find_last_of(" \t\"'[{,");
    const std::string_view user = begin == std::string_view::npos ? before : before.substr(begin + 1);
    if (user.find(':') != std::string_view::npos && user.find("${") == std::string_view::npos) return true;
  }
  return false;
}

// A line that could not be read into the tree, such as one with a syntax error, may still hold a secret.
bool speaks_of_a_secret(std::string_view line) {
  std::string lower;
  for (char c : line) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::string_view word : {"password", "passwd", "secret", "token", "credential", "private_key", "api_key"}) {
    const size_t at = lower.find(word);
    // A variable is not the secret itself.
    if (at != std::string::npos && lower.find("${", at) == std::string::npos) return true;
  }
  return has_user_in_address(line);
}

// Cells a character takes on a terminal; enough to put a caret under Chinese text.
int display_width(uint32_t code_point) {
  const bool wide = (code_point >= 0x1100 && code_point <= 0x115F) || (code_point >= 0x2E80 && code_point <= 0xA4CF) ||
                    (code_point >= 0xAC00 && code_point <= 0xD7A3) || (code_point >= 0xF900 && code_point <= 0xFAFF) ||
                    (code_point >= 0xFE30 && code_point <= 0xFE6F) || (code_point >= 0xFF00 && code_point <= 0xFF60) ||
                    (code_point >= 0xFFE0 && code_point <= 0xFFE6) ||
                    (code_point >= 0x1F300 && code_point <= 0x1FAFF) ||
                    (code_point >= 0x20000 && code_point <= 0x3FFFD);
  return wide ? 2 : 1;
}

// Spaces (and the tabs of the line itself) up to the character at `column`.
std::string caret_padding(std::string_view line, int column) {
  std::string out;
  size_t i = 0;
  for (int c = 1; c < column; ++c) {
    if (i >= line.size()) {
      out += ' ';
      continue;
    }
    const unsigned char lead = static_cast<unsigned char>(line[i]);
    if (lead == '\t') {
      out += '\t';
      ++i;
      continue;
    }
    size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t code_point = lead < 0x80 ? lead : lead & (0xFF >> (length + 1));
    length = std::min(length, line.size() - i);
    for (size_t k = 1; k < length; ++k) code_point = code_point << 6 | (static_cast<unsigned char>(line[i + k]) & 0x3F);
    out.append(static_cast<size_t>(display_width(code_point)), ' ');
    i += length;
  }
  return out;
}

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void write_string(Writer& writer, const char* key, const std::string& value) {
  writer.Key(key);
  writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void write_location(Writer& writer, const Location& at) {
  write_string(writer, "file", at.file);
  writer.Key("line");
  writer.Int(at.line);
  writer.Key("column");
  writer.Int(at.column);
}

}  // namespace

std::string message_with_suggestion(const Diagnostic& diagnostic) {
  if (diagnostic.suggestion.empty()) return diagnostic.message;
  return diagnostic.message + "; did you mean \"" + diagnostic.suggestion + "\"?";
}

void Diagnostics::add_source(const std::string& file, std::string_view text) { sources_[file] = split_lines(text); }

void Diagnostics::hide_lines(const std::string& file, int first_line, int last_line) {
  for (int line = first_line; line <= last_line; ++line) hidden_lines_.insert({file, line});
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (!seen_.insert({diagnostic.at, diagnostic.code + ' ' + diagnostic.message}).second) return;
  if (diagnostic.severity == Severity::kError) ++errors_;
  diagnostics_.push_back(std::move(diagnostic));
}

void Diagnostics::error(Location at, std::string code, std::string path, std::string message, std::string suggestion,
                        std::string hint) {
  add({Severity::kError,
       std::move(at),
       std::move(code),
       std::move(path),
       std::move(message),
       std::move(suggestion),
       std::move(hint),
       {}});
}

void Diagnostics::warning(Location at, std::string code, std::string path, std::string message, std::string suggestion,
                          std::string hint) {
  add({Severity::kWarning,
       std::move(at),
       std::move(code),
       std::move(path),
       std::move(message),
       std::move(suggestion),
       std::move(hint),
       {}});
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> out = diagnostics_;
  std::stable_sort(out.begin(), out.end(), [](const Diagnostic& a, const Diagnostic& b) { return a.at < b.at; });
  return out;
}

std::string Diagnostics::quoted_line(const Location& at) const {
  constexpr size_t kLongestLine = 400;
  const auto source = sources_.find(at.file);
  if (!at.known() || source == sources_.end() || static_cast<size_t>(at.line) > source->second.size()) return {};
  const std::string& line = source->second[static_cast<size_t>(at.line) - 1];
  if (line.size() > kLongestLine || hidden_lines_.count({at.file, at.line}) || speaks_of_a_secret(line)) return {};
  return "  " + line + "\n  " + caret_padding(line, at.column) + "^\n";
}

std::string Diagnostics::render_text() const {
  std::string out;
  for (const Diagnostic& d : sorted()) {
    const std::string place = d.at.text();
    if (!place.empty()) out += place + ": ";
    out += std::string(severity_word(d.severity)) + ": " + message_with_suggestion(d) + "\n";
    out += quoted_line(d.at);
    if (!d.hint.empty()) out += "  hint: " + d.hint + "\n";
    for (const Diagnostic::Note& note : d.notes) out += note.at.text() + ": note: " + note.message + "\n";
  }
  return out;
}

std::string Diagnostics::render_json() const {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartArray();
  for (const Diagnostic& d : sorted()) {
    writer.StartObject();
    write_location(writer, d.at);
    write_string(writer, "severity", severity_word(d.severity));
    write_string(writer, "path", d.path);
    write_string(writer, "code", d.code);
    write_string(writer, "message", d.message);
    write_string(writer, "suggestion", d.suggestion);
    write_string(writer, "hint", d.hint);
    writer.Key("notes");
    writer.StartArray();
    for (const Diagnostic::Note& note : d.notes) {
      writer.StartObject();
      write_location(writer, note.at);
      write_string(writer, "message", note.message);
      writer.EndObject();
    }
    writer.EndArray();
    writer.EndObject();
  }
  writer.EndArray();
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace sluice::config
