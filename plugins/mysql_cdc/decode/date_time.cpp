#include "date_time.h"

namespace sluice_mysql {
namespace {

uint64_t big_endian(const uint8_t* p, unsigned bytes) noexcept {
  uint64_t v = 0;
  for (unsigned i = 0; i < bytes; ++i) v = v << 8 | p[i];
  return v;
}

constexpr uint32_t kFractionUnit[] = {0, 10000, 100, 1};  // microseconds, by bytes

bool read_fraction(const uint8_t* p, unsigned digits, uint32_t* micros) noexcept {
  const unsigned bytes = (digits + 1) / 2;
  const uint64_t v = big_endian(p, bytes) * kFractionUnit[bytes];
  *micros = static_cast<uint32_t>(v);
  return v < 1000000;
}

bool is_clock(uint32_t hour, uint32_t minute, uint32_t second) noexcept {
  return hour < 24 && minute < 60 && second < 60;
}

// Writes into a buffer; one append for the whole value.
class Writer {
 public:
  void digits(uint32_t value, int count) noexcept {
    for (int i = count - 1; i >= 0; --i, value /= 10) at_[i] = static_cast<char>('0' + value % 10);
    at_ += count;
  }
  void put(char c) noexcept { *at_++ = c; }
  void fraction(uint32_t micros, unsigned count) noexcept {
    if (count == 0) return;
    put('.');
    digits(micros, 6);
    at_ -= 6 - count;
  }
  void date(const DateTime& t) noexcept {
    digits(static_cast<uint32_t>(t.year), t.year > 9999 ? 5 : 4);
    put('-');
    digits(t.month, 2);
    put('-');
    digits(t.day, 2);
  }
  void clock(uint32_t hour, uint32_t minute, uint32_t second) noexcept {
    digits(hour, hour > 99 ? 3 : 2);
    put(':');
    digits(minute, 2);
    put(':');
    digits(second, 2);
  }
  void append_to(std::string* out) const { out->append(buffer_, static_cast<size_t>(at_ - buffer_)); }

 private:
  char buffer_[40];
  char* at_ = buffer_;
};

class TextReader {
 public:
  explicit TextReader(std::string_view s) : s_(s) {}
  bool done() const noexcept { return i_ == s_.size(); }
  bool take(char c) noexcept {
    if (i_ == s_.size() || s_[i_] != c) return false;
    ++i_;
    return true;
  }
  bool number(unsigned least, unsigned most, uint32_t* out) noexcept {
    uint32_t v = 0;
    unsigned n = 0;
    for (; n < most && i_ < s_.size() && s_[i_] >= '0' && s_[i_] <= '9'; ++n) v = v * 10 + static_cast<uint32_t>(s_[i_++] - '0');
    *out = v;
    return n >= least;
  }
  bool fraction(uint32_t* micros) noexcept {
    *micros = 0;
    if (!take('.')) return true;
    const size_t begin = i_;
    if (!number(1, 6, micros)) return false;
    for (size_t n = i_ - begin; n < 6; ++n) *micros *= 10;
    return true;
  }

 private:
  std::string_view s_;
  size_t i_ = 0;
};

bool date_part(TextReader* r, DateTime* out) noexcept {
  uint32_t year = 0;
  if (!r->number(4, 4, &year) || !r->take('-') || !r->number(2, 2, &out->month) || !r->take('-') ||
      !r->number(2, 2, &out->day)) {
    return false;
  }
  out->year = static_cast<int32_t>(year);
  return out->month <= 12 && out->day <= 31;
}

}  // namespace

// Days of the civil calendar, by eras of 400 years that begin in March.
int64_t days_since_1970(int64_t year, uint32_t month, uint32_t day) noexcept {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t of_era = year - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3LL : 9LL)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void date_of_days(int64_t days, DateTime* out) noexcept {
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const int64_t of_era = days - era * 146097;
  const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month = (5 * of_year + 2) / 153;
  out->day = static_cast<uint32_t>(of_year - (153 * month + 2) / 5 + 1);
  out->month = static_cast<uint32_t>(month < 10 ? month + 3 : month - 9);
  out->year = static_cast<int32_t>(year_of_era + era * 400 + (out->month <= 2));
}

int64_t seconds_since_1970(const DateTime& t) noexcept {
  return days_since_1970(t.year, t.month, t.day) * 86400 + t.hour * 3600 + t.minute * 60 + t.second;
}

bool unpack_date(const uint8_t* p, DateTime* out) noexcept {
  const uint32_t v = static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16;
  out->day = v & 31;
  out->month = v >> 5 & 15;
  out->year = static_cast<int32_t>(v >> 9);
  return out->month <= 12 && out->year <= 9999;
}

bool unpack_bits(uint64_t bits, DateTime* out) noexcept {
  out->micros = static_cast<uint32_t>(bits & 0xFFFFFF);
  const uint64_t clock = bits >> 24 & 0x1FFFF, date = bits >> 41;
  out->second = clock & 63;
  out->minute = clock >> 6 & 63;
  out->hour = static_cast<uint32_t>(clock >> 12);
  out->day = date & 31;
  const uint64_t months = date >> 5;
  out->month = static_cast<uint32_t>(months % 13);
  out->year = static_cast<int32_t>(months / 13);
  return out->year <= 9999 && is_clock(out->hour, out->minute, out->second) && out->micros < 1000000;
}

bool unpack_datetime(const uint8_t* p, unsigned fraction_digits, DateTime* out) noexcept {
  const uint64_t v = big_endian(p, 5);
  uint32_t micros = 0;
  if ((v & 0x8000000000) == 0 || !read_fraction(p + 5, fraction_digits, &micros)) return false;
  return unpack_bits((v & 0x7FFFFFFFFF) << 24 | micros, out);
}

bool unpack_timestamp(const uint8_t* p, unsigned fraction_digits, DateTime* out) noexcept {
  const auto seconds = static_cast<uint32_t>(big_endian(p, 4));
  *out = DateTime();
  if (!read_fraction(p + 4, fraction_digits, &out->micros)) return false;
  if (seconds == 0 && out->micros == 0) return true;  // '0000-00-00 00:00:00'
  date_of_days(seconds / 86400, out);
  out->hour = seconds % 86400 / 3600;
  out->minute = seconds % 3600 / 60;
  out->second = seconds % 60;
  return true;
}

// One signed number of hours, minutes, seconds and fraction, plus an offset that makes it positive.
bool unpack_time(const uint8_t* p, unsigned fraction_digits, TimeSpan* out) noexcept {
  const unsigned bytes = (fraction_digits + 1) / 2;
  const int64_t v = static_cast<int64_t>(big_endian(p, 3 + bytes)) - (int64_t{0x800000} << (8 * bytes));
  out->negative = v < 0;
  const auto size = static_cast<uint64_t>(v < 0 ? -v : v);
  out->micros = static_cast<uint32_t>((size & ((uint64_t{1} << (8 * bytes)) - 1)) * kFractionUnit[bytes]);
  const uint64_t clock = size >> (8 * bytes);
  out->hour = static_cast<uint32_t>(clock >> 12);
  out->minute = clock >> 6 & 63;
  out->second = clock & 63;
  return out->hour <= 838 && out->minute < 60 && out->second < 60 && out->micros < 1000000;
}

bool unpack_old_datetime(const uint8_t* p, DateTime* out) noexcept {
  uint64_t v = 0;
  for (int i = 7; i >= 0; --i) v = v << 8 | p[i];
  const uint64_t date = v / 1000000, clock = v % 1000000;
  if (date > 99999999) return false;
  out->year = static_cast<int32_t>(date / 10000);
  out->month = static_cast<uint32_t>(date / 100 % 100);
  out->day = static_cast<uint32_t>(date % 100);
  out->hour = static_cast<uint32_t>(clock / 10000);
  out->minute = static_cast<uint32_t>(clock / 100 % 100);
  out->second = static_cast<uint32_t>(clock % 100);
  out->micros = 0;
  return out->month <= 12 && out->day <= 31 && is_clock(out->hour, out->minute, out->second);
}

bool unpack_old_timestamp(const uint8_t* p, DateTime* out) noexcept {
  const uint8_t big[] = {p[3], p[2], p[1], p[0]};
  return unpack_timestamp(big, 0, out);
}

bool unpack_old_time(const uint8_t* p, TimeSpan* out) noexcept {
  int32_t v = static_cast<int32_t>(p[0]) | static_cast<int32_t>(p[1]) << 8 | static_cast<int32_t>(p[2]) << 16;
  if (v >= 0x800000) v -= 0x1000000;
  out->negative = v < 0;
  const auto size = static_cast<uint32_t>(v < 0 ? -v : v);
  out->hour = size / 10000;
  out->minute = size / 100 % 100;
  out->second = size % 100;
  out->micros = 0;
  return out->hour <= 838 && out->minute < 60 && out->second < 60;
}

bool read_date(std::string_view text, DateTime* out) noexcept {
  TextReader r(text);
  *out = DateTime();
  return date_part(&r, out) && r.done();
}

bool read_datetime(std::string_view text, DateTime* out) noexcept {
  TextReader r(text);
  *out = DateTime();
  return date_part(&r, out) && r.take(' ') && r.number(2, 2, &out->hour) && r.take(':') && r.number(2, 2, &out->minute) &&
         r.take(':') && r.number(2, 2, &out->second) && r.fraction(&out->micros) && r.done() &&
         is_clock(out->hour, out->minute, out->second);
}

bool read_time(std::string_view text, TimeSpan* out) noexcept {
  TextReader r(text);
  *out = TimeSpan();
  out->negative = r.take('-');
  return r.number(2, 3, &out->hour) && r.take(':') && r.number(2, 2, &out->minute) && r.take(':') &&
         r.number(2, 2, &out->second) && r.fraction(&out->micros) && r.done() && out->hour <= 838 && out->minute < 60 &&
         out->second < 60;
}

void append_date(const DateTime& t, std::string* out) {
  Writer w;
  w.date(t);
  w.append_to(out);
}

void append_datetime(const DateTime& t, unsigned fraction_digits, char between, std::string* out) {
  Writer w;
  w.date(t);
  w.put(between);
  w.clock(t.hour, t.minute, t.second);
  w.fraction(t.micros, fraction_digits);
  w.append_to(out);
}

void append_time(const TimeSpan& t, unsigned fraction_digits, std::string* out) {
  Writer w;
  if (t.negative) w.put('-');
  w.clock(t.hour, t.minute, t.second);
  w.fraction(t.micros, fraction_digits);
  w.append_to(out);
}

}  // namespace sluice_mysql
