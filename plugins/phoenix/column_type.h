// Types of Phoenix's columns, and a row's values as parameters for them.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "avatica.pb.h"
#include "sluice/value.hpp"

namespace sluice::phoenix {

struct ColumnType {
  int id = 12;     // java.sql.Types, or Phoenix's own number for the unsigned ones (SYSTEM.CATALOG.DATA_TYPE)
  int scale = -1;  // DECIMAL with digits after the point; -1: any number of them
};

// A type that the sink writes, as users write it in SQL or in the option `columns`: a word and perhaps lengths in
// brackets. The words of sqlite.sink (TEXT, REAL, NUMERIC) are taken for their counterparts. *problem: what is wrong,
// as the rest of a sentence ("is no type…"); then the result is empty.
std::string type_in_sql(std::string_view text, std::string* problem);

// MySQL's way to write that there is none (0000-00-00, alone or with 00:00:00 behind it), for a column of dates or
// times.
bool is_zero_date(const ColumnType& type, const Value& value);

// Binds a value; nothing is lost on the way: what does not fit is bad_record with the reason. JSON text of nested
// values comes from `to_json`.
Status bind_value(const ColumnType& type, const Value& value,
                  const std::function<Status(const Value&, std::string_view*)>& to_json, avatica::TypedValue* out);

}  // namespace sluice::phoenix
