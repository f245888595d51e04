#include "phoenix/table_options.h"

namespace sluice::phoenix {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) { skip_blanks(); }

  bool at_end() const { return rest_.empty(); }
  std::string where() const { return at_end() ? "at its end" : "before \"" + std::string(rest_.substr(0, 40)) + "\""; }
  bool take(char c) {
    if (at_end() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    skip_blanks();
    return true;
  }
  // Letters, digits and underscores after a first letter; for names with single dots in between.
  bool word(bool dots, std::string* out) {
    size_t n = 0;
    while (n < rest_.size()) {
      const bool first = n == 0 || rest_[n - 1] == '.';
      if (!is_letter(rest_[n]) && (first || (!is_digit(rest_[n]) && !(dots && rest_[n] == '.')))) break;
      ++n;
    }
    if (n == 0 || rest_[n - 1] == '.') return false;
    return move_on(n, out);
  }
  bool number(std::string* out) {
    size_t n = !at_end() && rest_.front() == '-' ? 1 : 0;
    const size_t digits = n;
    while (n < rest_.size() && is_digit(rest_[n])) ++n;
    if (n == digits) return false;
    if (n + 1 < rest_.size() && rest_[n] == '.' && is_digit(rest_[n + 1])) {
      ++n;
      while (n < rest_.size() && is_digit(rest_[n])) ++n;
    }
    if (n < rest_.size() && (is_letter(rest_[n]) || rest_[n] == '.')) return false;
    return move_on(n, out);
  }
  bool text(std::string* out) {
    if (at_end() || rest_.front() != '\'') return false;
    const size_t close = rest_.find('\'', 1);
    if (close == std::string_view::npos) return false;
    for (const char c : rest_.substr(1, close - 1))
      if (c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
    if (close + 1 < rest_.size() && rest_[close + 1] == '\'') return false;
    return move_on(close + 1, out);
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\n' || rest_.front() == '\r'))
      rest_.remove_prefix(1);
  }
  bool move_on(size_t n, std::string* out) {
    *out = std::string(rest_.substr(0, n));
    rest_.remove_prefix(n);
    skip_blanks();
    return true;
  }

  std::string_view rest_;
};

}  // namespace

std::string read_table_options(std::string_view text, std::string* out) {
  out->clear();
  Reader reader(text);
  if (reader.at_end()) return {};
  const auto problem = [&](const char* expected) {
    return "the table options \"" + std::string(text.substr(0, 120)) + "\" are refused: " + expected + " is expected " +
           reader.where() + "; only NAME = value, with commas between them, is taken";
  };
  do {
    std::string name, value;
    if (!reader.word(true, &name)) return problem("a name");
    if (!reader.take('=')) return problem("=");
    if (!reader.number(&value) && !reader.text(&value) && !reader.word(false, &value))
      return problem("a number, a word or a text");
    *out += (out->empty() ? "" : ", ") + name + " = " + value;
  } while (reader.take(','));
  return reader.at_end() ? std::string() : problem("a comma");
}

}  // namespace sluice::phoenix
