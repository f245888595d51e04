// One column's way from a cell to JSON. Inner part of TableCodec.
#pragma once
#include <string>
#include <vector>

#include "table_codec.h"

namespace sluice_mysql {

// Writes a cell that is not NULL. Returns nullptr, or why the bytes are no such value.
using RenderCell = const char* (*)(const TableCodec::ColumnCodec& codec, const Cell& cell, std::string* out);

struct TableCodec::ColumnCodec {
  RenderCell render = nullptr;
  Format format = Format::kDebezium;
  Decimals decimals = Decimals::kText;
  bool nullable = true;
  bool shown = true;           // false: a column that the server made for itself
  bool compressed = false;     // the bytes are packed (MariaDB COMPRESSED)
  uint8_t precision = 0, scale = 0;
  uint8_t fraction_digits = 0;
  uint16_t bits = 0;
  uint32_t pad_to = 0;         // BINARY(n): its row images lack zeros at the end
  CharsetConverter charset;
  std::string why_not;              // no value of this column can be read; empty: they can
  std::vector<std::string> labels;  // ENUM, SET: UTF-8, as JSON without quotes
  mutable ZoneClock zone;           // of the values of TIMESTAMP
  mutable std::string scratch, unpacked;
};

// The renderer of a column's row image (`type`: as in the TABLE_MAP) or of its text field; nullptr: there is none.
RenderCell image_renderer(ColumnKind kind, uint8_t type, bool is_unsigned);
RenderCell text_renderer(ColumnKind kind);

}  // namespace sluice_mysql
