// Binlog events, byte by byte: what no server would write, and as many rows as a test wants.
#pragma once
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace built {

inline std::string le(uint64_t v, int bytes) {
  std::string s;
  for (int i = 0; i < bytes; ++i) s += static_cast<char>(i < 8 ? v >> (8 * i) : 0);
  return s;
}

inline std::string be(uint64_t v, int bytes) {
  std::string s;
  for (int i = bytes - 1; i >= 0; --i) s += static_cast<char>(v >> (8 * i));
  return s;
}

inline std::string packed(uint64_t v) {
  if (v < 251) return le(v, 1);
  if (v < 65536) return '\xFC' + le(v, 2);
  return '\xFD' + le(v, 3);
}

inline std::string field(uint8_t type, const std::string& value) { return le(type, 1) + packed(value.size()) + value; }

// `body` between header and checksum.
inline std::string event(uint8_t type, const std::string& body, uint16_t flags = 0, uint32_t next = 1000) {
  std::string e = le(1700000000, 4) + le(type, 1) + le(1, 4) + le(19 + body.size() + 4, 4) + le(next, 4) + le(flags, 2) + body;
  return e + le(crc32(0, reinterpret_cast<const Bytef*>(e.data()), static_cast<uInt>(e.size())), 4);
}

inline std::string format_description(std::string version = "8.0.31", uint8_t checksum = 1) {
  version.resize(50, '\0');
  std::string e = event(15, le(4, 2) + version + le(0, 4) + le(19, 1) + std::string(41, '\0') + le(checksum, 1));
  return e;
}

struct TableText {
  std::string types, metas, nullable, optional;
  uint64_t columns = 0;
};

inline std::string table_map(const TableText& t, uint64_t id = 7, const std::string& name = "t") {
  const uint64_t columns = t.columns != 0 ? t.columns : t.types.size();
  std::string nullable = t.nullable.empty() ? std::string((t.types.size() + 7) / 8, '\xFF') : t.nullable;
  return event(19, le(id, 6) + le(1, 2) + le(2, 1) + "db" + le(0, 1) + le(name.size(), 1) + name + le(0, 1) + packed(columns) + t.types +
                       packed(t.metas.size()) + t.metas + nullable + t.optional);
}

// One event of `kind` (30 write, 31 update, 32 delete).
inline std::string rows(uint8_t kind, uint64_t columns, const std::string& images, uint64_t id = 7) {
  const std::string all((columns + 7) / 8, '\xFF');
  return event(kind, le(id, 6) + le(1, 2) + le(2, 2) + packed(columns) + all + (kind == 31 ? all : "") + images);
}

}  // namespace built
