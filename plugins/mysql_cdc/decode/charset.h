// Character sets of MariaDB and MySQL: which collation belongs to which, and their conversion to UTF-8.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "sluice/status.hpp"

namespace sluice_mysql {

// Collation id → character set. The row images name collations by number; the numbers are the server's.
//
// Made once after connecting, from
//   SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY  (MariaDB >= 10.10)
//   SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS                             (all others)
// leaving out rows with NULL. Without a call of add() the ids that are alike in all versions are known.
class Collations {
 public:
  Collations();
  void add(uint32_t id, std::string_view charset) { charsets_[id] = std::string(charset); }
  // Empty: not known.
  std::string_view charset(uint32_t id) const;

 private:
  std::map<uint32_t, std::string> charsets_;
};

// Bytes of one character set → UTF-8, as the server itself converts them: where glibc's tables differ from the server's,
// the server's hold. A plain value; converters of the same character set share their tables. Any thread.
class CharsetConverter {
 public:
  // bad_record: "character set 'x' is not supported, ..".
  static sluice::Status open(std::string_view charset, CharsetConverter* out);
  // utf8mb4 and its subsets need none.
  bool is_identity() const noexcept { return kind_ == Kind::kIdentity; }
  // Appends to *out. Bytes that are no character become '?', as in a SELECT.
  void convert(std::string_view bytes, std::string* out) const;

 private:
  enum class Kind : uint8_t { kIdentity, kUtf16, kUtf16Le, kUtf32, kTable };
  struct Table;
  static std::shared_ptr<const Table> make_table(std::string_view charset, const char* iconv_name, bool multi_byte);

  Kind kind_ = Kind::kIdentity;
  std::shared_ptr<const Table> table_;
};

}  // namespace sluice_mysql
