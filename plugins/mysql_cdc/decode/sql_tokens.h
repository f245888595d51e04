// A statement's words, names, texts and signs, past blanks and comments.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice_mysql {

// What of the session's sql_mode says how a statement is read.
struct SqlMode {
  bool ansi_quotes = false;       // "t" is a name, not a text
  bool backslash_escapes = true;  // in texts
};

struct SqlToken {
  enum class Kind : uint8_t { kEnd, kWord, kQuotedName, kText, kSign } kind = Kind::kEnd;
  std::string text;  // words as written; quoted names and texts without their quotes

  bool is_name() const noexcept { return kind == Kind::kWord || kind == Kind::kQuotedName; }
  // `upper`: a word in capitals.
  bool is(std::string_view upper) const noexcept;
  bool is_sign(char c) const noexcept { return kind == Kind::kSign && text[0] == c; }
};

// Views `sql`.
class SqlTokens {
 public:
  explicit SqlTokens(std::string_view sql, SqlMode mode = {}) : sql_(sql), mode_(mode) { advance(); }

  const SqlToken& now() const noexcept { return now_; }
  bool at_end() const noexcept { return now_.kind == SqlToken::Kind::kEnd; }
  bool is(std::string_view upper) const noexcept { return now_.is(upper); }
  bool is_sign(char c) const noexcept { return now_.is_sign(c); }
  bool take(std::string_view upper);
  bool take_sign(char c);
  void advance();

 private:
  bool starts(std::string_view s) const { return sql_.substr(at_, s.size()) == s; }
  void skip_blanks();
  void quoted(char quote);

  std::string_view sql_;
  SqlMode mode_;
  size_t at_ = 0;
  int open_ = 0;
  SqlToken now_;
};

}  // namespace sluice_mysql
