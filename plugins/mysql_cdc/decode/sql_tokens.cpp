#include "sql_tokens.h"

#include <algorithm>

namespace sluice_mysql {
namespace {

bool is_word_byte(char c) {
  const auto u = static_cast<unsigned char>(c);
  return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u == '_' || u == '$' || u >= 0x80;
}

}  // namespace

bool SqlToken::is(std::string_view upper) const noexcept {
  if (kind != Kind::kWord || text.size() != upper.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'a' && text[i] <= 'z' ? static_cast<char>(text[i] - 32) : text[i];
    if (c != upper[i]) return false;
  }
  return true;
}

bool SqlTokens::take(std::string_view upper) {
  if (!is(upper)) return false;
  advance();
  return true;
}

bool SqlTokens::take_sign(char c) {
  if (!is_sign(c)) return false;
  advance();
  return true;
}

void SqlTokens::advance() {
  skip_blanks();
  now_ = SqlToken();
  if (at_ >= sql_.size()) return;
  const char c = sql_[at_];
  if (c == '`' || c == '"' || c == '\'') {
    const bool name = c == '`' || (c == '"' && mode_.ansi_quotes);
    now_.kind = name ? SqlToken::Kind::kQuotedName : SqlToken::Kind::kText;
    quoted(c);
  } else if (is_word_byte(c)) {
    now_.kind = SqlToken::Kind::kWord;
    while (at_ < sql_.size() && is_word_byte(sql_[at_])) now_.text += sql_[at_++];
  } else {
    now_.kind = SqlToken::Kind::kSign;
    now_.text = c;
    ++at_;
  }
}

// Blanks and comments. What is in /*! .. */ and /*M! .. */ is not a comment: the server runs it.
void SqlTokens::skip_blanks() {
  while (at_ < sql_.size()) {
    const char c = sql_[at_];
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++at_;
    } else if (starts("/*!") || starts("/*M!")) {
      at_ += starts("/*!") ? 3 : 4;
      while (at_ < sql_.size() && sql_[at_] >= '0' && sql_[at_] <= '9') ++at_;
      ++open_;
    } else if (open_ > 0 && starts("*/")) {
      at_ += 2;
      --open_;
    } else if (starts("/*")) {
      const size_t end = sql_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? sql_.size() : end + 2;
    } else if (c == '#' || starts("-- ") || starts("--\n") || starts("--\t")) {
      at_ = std::min(sql_.find('\n', at_), sql_.size());
    } else {
      return;
    }
  }
}

void SqlTokens::quoted(char quote) {
  const bool escapes = now_.kind == SqlToken::Kind::kText && mode_.backslash_escapes;
  for (++at_; at_ < sql_.size(); ++at_) {
    if (sql_[at_] == quote) {
      if (at_ + 1 >= sql_.size() || sql_[at_ + 1] != quote) break;
      ++at_;
    } else if (sql_[at_] == '\\' && escapes && at_ + 1 < sql_.size()) {
      ++at_;
    }
    now_.text += sql_[at_];
  }
  if (at_ < sql_.size()) ++at_;
}

}  // namespace sluice_mysql
