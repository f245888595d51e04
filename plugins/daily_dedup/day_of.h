// Calendar days of texts and of points in time.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace sluice::daily_dedup {

// Days since 1970-01-01.
using Day = int32_t;

// Reads `yyyy-MM-dd`, alone or followed by a blank or `T` and a time. Remembers the text of the last good day: events
// of one day mostly follow each other. Used by one thread.
class DayOfText {
 public:
  // False: `text` does not begin with a date that exists.
  bool read(std::string_view text, Day* day) noexcept {
    if (text.size() < kLength) return false;
    if (known_ && text.substr(0, kLength) == std::string_view(last_.data(), kLength))
      *day = last_day_;
    else if (!read_new(text, day))
      return false;
    return text.size() == kLength || text[kLength] == ' ' || text[kLength] == 'T';
  }

 private:
  static constexpr size_t kLength = 10;
  bool read_new(std::string_view text, Day* day) noexcept;

  std::array<char, kLength> last_{};
  Day last_day_ = 0;
  bool known_ = false;
};

// The local day of a point in time. Remembers the span of time that the last day covers. Used by one thread.
class DayOfTime {
 public:
  // False: there is no such zone. Must be called first.
  bool set_zone(const std::string& name);
  Day at(int64_t ms) {
    if (ms < begin_ || ms >= end_) look_up(ms);
    return day_;
  }

 private:
  void look_up(int64_t ms);

  const void* zone_ = nullptr;  // a date::time_zone, which lives as long as the process
  int64_t begin_ = std::numeric_limits<int64_t>::max(), end_ = std::numeric_limits<int64_t>::min();
  Day day_ = 0;
};

}  // namespace sluice::daily_dedup
