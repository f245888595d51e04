// A table as information_schema describes it: what the row images of the binlog do not say about themselves.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/status.hpp"

namespace sluice_mysql {

// How values of a column are read and written; several SQL types share one.
enum class ColumnKind : uint8_t {
  kInteger,  // TINYINT .. BIGINT, BOOLEAN
  kDecimal,
  kFloat,
  kDouble,
  kBit,
  kYear,
  kDate,
  kTime,
  kDateTime,
  kTimestamp,
  kText,   // CHAR, VARCHAR, TEXT, MariaDB's JSON (an alias of LONGTEXT)
  kBytes,  // BINARY, VARBINARY, BLOB
  kEnum,
  kSet,
  kJson,  // MySQL's own type
  kGeometry,
  kUuid,   // MariaDB
  kInet6,  // MariaDB
  kInet4,  // MariaDB
};

// A plain value.
struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kText;
  std::string data_type;    // DATA_TYPE, lower case: "varchar"
  std::string column_type;  // COLUMN_TYPE as the server writes it: "varchar(20)", "enum('a','b')"
  std::string charset;      // CHARACTER_SET_NAME; empty: none (numbers, dates, bytes)
  std::string collation;    // COLLATION_NAME
  bool nullable = true;
  bool is_unsigned = false;
  bool generated = false;         // virtual or stored; both are in the row images
  bool invisible = false;         // in the row images, not in SELECT *
  bool compressed = false;        // MariaDB COMPRESSED; plain in a SELECT
  uint32_t integer_bytes = 0;     // kInteger: 1, 2, 3, 4 or 8
  uint32_t length = 0;            // BINARY(n): n bytes; BIT(n): n bits; CHAR(n), VARCHAR(n): n characters
  uint64_t octets = 0;            // of characters and bytes: the longest value; 0: not said
  uint8_t precision = 0;          // kDecimal
  uint8_t scale = 0;              // kDecimal
  uint8_t fraction_digits = 0;    // kTime, kDateTime, kTimestamp: 0 to 6
  bool fixed_point = false;       // FLOAT(m,d), DOUBLE(m,d): SELECT pads and rounds them
  std::vector<std::string> labels;  // kEnum, kSet, in order, UTF-8
};

// A plain value. Columns stand in ORDINAL_POSITION order, invisible and generated ones included.
struct Table {
  std::string database, name;
  std::vector<Column> columns;
  std::vector<uint32_t> primary_key;  // indexes into columns, in key order; empty: no primary key
  // MariaDB: the server keeps old rows in the table itself. `row_end`: the column that tells them apart, if it is one of
  // `columns`; else it and its twin are the last two of a row image, hidden.
  bool versioned = false;
  std::string row_end;
};

// One row of information_schema.COLUMNS, as text of the session's character set (utf8mb4). NULL is an empty view.
struct ColumnFields {
  std::string_view name;         // COLUMN_NAME
  std::string_view data_type;    // DATA_TYPE
  std::string_view column_type;  // COLUMN_TYPE
  std::string_view charset;      // CHARACTER_SET_NAME
  std::string_view collation;    // COLLATION_NAME
  std::string_view is_nullable;  // IS_NULLABLE: YES, NO
  std::string_view extra;        // EXTRA: "VIRTUAL GENERATED", "INVISIBLE", ..
  std::string_view octets = {};  // CHARACTER_OCTET_LENGTH
};

// bad_record, with the column's name and type: the type is not known, or its text cannot be read.
sluice::Status make_column(const ColumnFields& fields, Column* out);

// The SELECT list for a snapshot of the table: every column by name, in order, each in the form of which
// TableCodec::for_snapshot makes the same JSON as the row images give. FLOAT is multiplied by 1e0: the text protocol
// rounds a FLOAT to 6 digits, and a DOUBLE not at all. Names are quoted with backquotes.
std::string select_list(const Table& table);

// `name` in backquotes, those within doubled.
std::string quote_name(std::string_view name);

}  // namespace sluice_mysql
