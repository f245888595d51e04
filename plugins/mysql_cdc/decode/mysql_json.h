// MySQL's binary JSON (type 245) → JSON text, spelled as SELECT spells it.
// Source: MySQL source documentation, "JSON binary format"; texts compared with MySQL 8.0.15 and 8.0.31.
#pragma once
#include <cstdint>
#include <string>

namespace sluice_mysql {

// False: it is broken. No bytes at all are the literal null.
bool append_mysql_json(const uint8_t* data, size_t size, std::string* out);

}  // namespace sluice_mysql
