// Dates and times as text: `2024-05-01`, `2024-05-01 10:00:00`, `2024-05-01T10:00:00.123Z`, `… +08:00`.
#pragma once
#include <cstdint>
#include <string_view>

namespace sluice::clickhouse {

struct TimeText {
  int64_t seconds = 0;  // since 1970-01-01 00:00:00, as written (no zone applied)
  uint32_t nanos = 0;
  bool has_time = false;
  bool has_offset = false;
  int32_t offset = 0;  // seconds east of UTC
};

// Null: read. Otherwise what is wrong, as the rest of a sentence ("is no date…").
const char* read_time_text(std::string_view text, TimeText* out);

// MySQL's way to write that there is none: 0000-00-00, alone or with 00:00:00 behind it.
bool is_zero_date(std::string_view text);

// Days since 1970-01-01 of a date of the Gregorian calendar, and back.
int64_t days_of_date(int year, int month, int day);
void date_of_days(int64_t days, int* year, int* month, int* day);

}  // namespace sluice::clickhouse
