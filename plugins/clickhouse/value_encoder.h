// Values of rows as the bytes of ClickHouse's RowBinary format. The server takes whatever bytes come and wraps or
// clamps what text does not fit; so every value is checked here. Format:
// https://clickhouse.com/docs/interfaces/formats/RowBinary
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "column_type.h"
#include "sluice/value.hpp"

namespace sluice::clickhouse {

// Of a second's fraction, since 1970; wider than any column.
__extension__ typedef __int128 Ticks;

struct EncodingRules {
  // Digits behind the point of a second that a plain number has: 0 seconds, 3 milliseconds, 6, 9.
  int epoch_scale = 0;
  // Digits behind the point that the column has no room for are cut off; else the value is refused.
  bool cut_fractions = false;
  // Zero dates are NULL in Nullable columns; else, and in others, they are refused.
  bool zero_dates_are_null = false;
};

// Used by one thread.
class ValueEncoder {
 public:
  // Takes the JSON text of an array or object apart; the result lives until the row is done.
  using Parse = std::function<Status(const Value&, Value*)>;
  // JSON text of any value; likewise.
  using ToJson = std::function<Status(const Value&, std::string_view*)>;
  ValueEncoder(EncodingRules rules, Parse parse, ToJson to_json)
      : rules_(rules), parse_(std::move(parse)), to_json_(std::move(to_json)) {}

  // Appends `value`, which is not absent, to `out`. False: it does not fit into the type; *problem says why, and what
  // was appended is for the caller to take back.
  bool encode(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  // How many zero dates have become NULL until now.
  int64_t zero_dates() const noexcept { return zero_dates_; }

 private:
  bool integer(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool real(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool decimal(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool boolean(const Value& value, std::string* out, std::string* problem);
  bool text(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool date(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool date_time(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool enumeration(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool uuid(const Value& value, std::string* out, std::string* problem);
  bool address(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool array(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool tuple(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  bool map(const ColumnType& type, const Value& value, std::string* out, std::string* problem);
  // Ticks of 10^-scale seconds since 1970.
  bool instant(const ColumnType& type, const Value& value, int scale, Ticks* ticks, std::string* problem);
  bool take_apart(const ColumnType& type, const Value& value, Value* out, std::string* problem);
  static bool misfit(const ColumnType& type, const Value& value, std::string* problem);

  EncodingRules rules_;
  Parse parse_;
  ToJson to_json_;
  std::string digits_;
  int64_t zero_dates_ = 0;
};

void append_varint(uint64_t value, std::string* out);

// A value as messages show it, at most 80 bytes of it.
std::string shown(const Value& value);

}  // namespace sluice::clickhouse
