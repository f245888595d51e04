// Dates and times: from row images and from the text protocol, as text and as numbers since 1970.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice_mysql {

// Of the proleptic Gregorian calendar, as the servers count. Fields may be zero in part ("2000-00-00").
struct DateTime {
  int32_t year = 0;
  uint32_t month = 0, day = 0, hour = 0, minute = 0, second = 0, micros = 0;
  bool lacks_date() const noexcept { return month == 0 || day == 0; }
};

// -838:59:59.999999 .. 838:59:59.999999
struct TimeSpan {
  bool negative = false;
  uint32_t hour = 0, minute = 0, second = 0, micros = 0;
};

int64_t days_since_1970(int64_t year, uint32_t month, uint32_t day) noexcept;
void date_of_days(int64_t days, DateTime* out) noexcept;
int64_t seconds_since_1970(const DateTime& t) noexcept;

// Row images; the bytes are as many as the type and its fraction digits ask for. False: no such value.
bool unpack_date(const uint8_t* p, DateTime* out) noexcept;                              // 3 bytes
bool unpack_datetime(const uint8_t* p, unsigned fraction_digits, DateTime* out) noexcept;  // DATETIME2, 5 + fraction
bool unpack_timestamp(const uint8_t* p, unsigned fraction_digits, DateTime* out) noexcept;  // TIMESTAMP2, 4 + fraction
bool unpack_time(const uint8_t* p, unsigned fraction_digits, TimeSpan* out) noexcept;      // TIME2, 3 + fraction
bool unpack_old_datetime(const uint8_t* p, DateTime* out) noexcept;                      // before 5.6: 8 bytes
bool unpack_old_timestamp(const uint8_t* p, DateTime* out) noexcept;                     // 4 bytes
bool unpack_old_time(const uint8_t* p, TimeSpan* out) noexcept;                          // 3 bytes
// The 64-bit form within JSON and of the bits of DATETIME2: date and time << 24 | microseconds.
bool unpack_bits(uint64_t bits, DateTime* out) noexcept;

// "2024-02-29", "2024-02-29 23:59:58.5", "-12:00:00.5"
bool read_date(std::string_view text, DateTime* out) noexcept;
bool read_datetime(std::string_view text, DateTime* out) noexcept;
bool read_time(std::string_view text, TimeSpan* out) noexcept;

void append_date(const DateTime& t, std::string* out);
// `between`: ' ' or 'T'.
void append_datetime(const DateTime& t, unsigned fraction_digits, char between, std::string* out);
void append_time(const TimeSpan& t, unsigned fraction_digits, std::string* out);

}  // namespace sluice_mysql
