// DECIMAL values: packed → digits → bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice_mysql {

// Room for 65 digits, sign, point and a leading zero.
struct DecimalText {
  char text[72];
  size_t size = 0;
  std::string_view view() const noexcept { return {text, size}; }
};

// The packed form: groups of nine digits in four bytes, big endian, the sign in the top bit, all bytes inverted when
// negative. `data` has the bytes that precision and scale ask for. False: a group has too many digits.
bool unpack_decimal(const uint8_t* data, unsigned precision, unsigned scale, DecimalText* out);

// Digits as SELECT gives them, without the zeros that ZEROFILL adds. False: it is no decimal.
bool read_decimal(std::string_view text, DecimalText* out);

// The unscaled value ("-1.50" → -150), two's complement, big endian, as few bytes as it needs
// (org.apache.kafka.connect.data.Decimal). Returns the number of bytes.
size_t unscaled_bytes(std::string_view decimal, uint8_t (&out)[40]);

}  // namespace sluice_mysql
