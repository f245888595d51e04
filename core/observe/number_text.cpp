#include "observe/number_text.h"

#include <fmt/format.h>

#include <chrono>

#include "observe/progress.h"

namespace sluice::observe {

std::string count_text(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string rate_text(double rows_per_second) {
  // Limits are where rounding would show one digit too many: 999.95k is written 1.0M.
  if (rows_per_second < 0.05) return "0/s";
  if (rows_per_second < 9.95) return fmt::format("{:.1f}/s", rows_per_second);
  if (rows_per_second < 999.5) return fmt::format("{:.0f}/s", rows_per_second);
  if (rows_per_second < 999'950) return fmt::format("{:.1f}k/s", rows_per_second / 1e3);
  return fmt::format("{:.1f}M/s", rows_per_second / 1e6);
}

std::string duration_text(int64_t ms) {
  if (ms < 0) ms = 0;
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 9950) return fmt::format("{:.1f}s", static_cast<double>(ms) / 1e3);
  const int64_t s = ms / 1000;
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
    value /= 1024;
    unit = next;
    if (value < 1023.95) break;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string time_text(int64_t ms) {
  if (ms == kNoTime) return "-";
  if (ms == kEndOfTime) return "end";
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(ms)};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<seconds>(time - day)};
  const int year = static_cast<int>(date.year());
  // A calendar year has 16 bits there; a broken time is shown as the number it is.
  constexpr int64_t kYear9999 = 253'402'300'799'999;
  if (ms > kYear9999 || ms < -kYear9999) return fmt::format("{} ms", ms);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", year, static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count());
}

std::string plural(uint64_t count, const char* one) { return count_text(count) + " " + one + (count == 1 ? "" : "s"); }

}  // namespace sluice::observe
