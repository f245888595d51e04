// A column's type, as the server writes it in system.columns.type.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zone_clock.h"

namespace sluice::clickhouse {

enum class TypeKind {
  kUInt,
  kInt,
  kFloat32,
  kFloat64,
  kDecimal,
  kBool,
  kString,
  kFixedString,
  kDate,
  kDate32,
  kDateTime,
  kDateTime64,
  kEnum,
  kUuid,
  kIpv4,
  kIpv6,
  kNullable,
  kArray,
  kTuple,
  kMap,
  kUnsupported
};

struct ColumnType {
  TypeKind kind = TypeKind::kUnsupported;
  std::string name;   // the whole type, for messages and for the header of a block
  size_t bytes = 0;   // integers, decimals, enums, FixedString: width of a value
  int precision = 0;  // decimals: digits in all
  int scale = 0;      // decimals: digits behind the point; DateTime64: digits of a second's fraction
  std::string zone;   // DateTime, DateTime64: empty when the type names none
  std::vector<std::pair<std::string, int>> enum_values;
  std::vector<ColumnType> inner;         // Nullable, Array: 1; Map: 2; Tuple: its elements
  std::vector<std::string> inner_names;  // Tuple: empty where an element has no name
  // Dates and times: of `zone`, or the server's. Set by resolve_zones().
  std::shared_ptr<ZoneClock> clock;
  int64_t last_day = 0;  // Date, DateTime: the last one that the server shows right, since 1970; 0: that of the type

  bool is_nullable() const noexcept { return kind == TypeKind::kNullable; }
  // Of a Nullable what it wraps, else itself.
  const ColumnType& bare() const noexcept { return is_nullable() ? inner[0] : *this; }
};

// Never fails: what this sink cannot write, or does not understand, is kUnsupported. LowCardinality(T) and
// SimpleAggregateFunction(f, T) are sent as T.
ColumnType parse_column_type(std::string_view text);

// The first unsupported type inside `type`, for messages; empty when there is none.
std::string unsupported_part(const ColumnType& type);

// A DateTime or DateTime64 in `type` names no zone: text without an offset is taken in the server's.
bool is_time_without_zone(const ColumnType& type);

// Gives every date and time its clock and last day. False: `*unknown` is a zone that this machine does not know.
bool resolve_zones(ColumnType* type, const std::string& server_zone, int64_t last_day, std::string* unknown);

}  // namespace sluice::clickhouse
