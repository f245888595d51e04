// How a text field holds a time: `event_time.format`.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/scalar_values.h"

namespace sluice::config {

// A plain value. A pattern is a sequence of fixed-width fields and literal text.
struct TimeFormat {
  enum class Kind { kPattern, kEpochMs, kEpochS, kIso8601 };
  enum class Field { kLiteral, kYear, kMonth, kDay, kHour, kMinute, kSecond, kMilli };
  struct Part {
    Field field = Field::kLiteral;
    std::string literal;
    // Digits of a field: 4 for the year, 3 for milliseconds, 2 for the rest.
    size_t width() const { return field == Field::kYear ? 4 : field == Field::kMilli ? 3 : 2; }
  };

  Kind kind = Kind::kIso8601;
  std::string text;         // as written
  std::vector<Part> parts;  // of a pattern
};

struct TimeFormatResult : ScalarResult<TimeFormat> {
  size_t offset = 0;  // character of the text at which the problem is
};

// `epoch_ms`, `epoch_s`, `iso8601`, or a pattern of yyyy MM dd HH mm ss SSS and literals; letters that are meant
// literally stand in single quotes ('T'), '' is a quote.
TimeFormatResult parse_time_format(std::string_view text);

}  // namespace sluice::config
