// Pieces of JSON, appended to a text.
#pragma once
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice_mysql {

// In quotes, escaped as MySQL does it (\b \t \n \f \r \" \\, others below 0x20 as \u00xx). Bytes that are no UTF-8 become
// '?'.
void append_json_string(std::string_view text, std::string* out);
// In quotes.
void append_base64(const uint8_t* data, size_t size, std::string* out);

template <class Integer>
inline void append_integer(Integer value, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, static_cast<size_t>(end - digits));
}

// The shortest text that reads back as the same value; null if it is no number.
void append_double(double value, std::string* out);
void append_float(float value, std::string* out);

}  // namespace sluice_mysql
