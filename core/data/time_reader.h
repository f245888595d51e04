// Text to event time. Patterns have fixed widths, so reading is a handful of digit checks; the zone's offset is cached
// for the span of local time in which it does not change.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::data {

// Not thread-safe: one for each task.
class TimeReader {
 public:
  enum class Kind { kPattern, kEpochMs, kEpochS, kIso8601 };
  struct Part {
    char field;           // y M d H m s S, or 0: literal text
    std::string literal;
  };
  // `zone` is an IANA name; it must exist.
  static base::Result<TimeReader> make(Kind kind, std::vector<Part> parts, const std::string& zone);

  // False: the text does not hold a time in this format. `is_number`: it was a JSON number.
  bool read(std::string_view text, bool is_number, int64_t* ms);

 private:
  bool read_pattern(std::string_view text, int64_t* ms);
  bool read_iso(std::string_view text, int64_t* ms);
  // Milliseconds of UTC for a local time in seconds; ambiguous local times take the earlier offset, times in a gap are
  // moved by the gap, as java.time does.
  int64_t to_utc_ms(int64_t local_s);

  Kind kind_ = Kind::kIso8601;
  std::vector<Part> parts_;
  const void* zone_ = nullptr;  // date::time_zone
  int64_t from_s_ = 0, until_s_ = 0, offset_s_ = 0;  // local seconds for which offset_s_ holds
};

bool zone_exists(std::string_view zone);
std::vector<std::string> zone_names();
// `yyyy-MM-dd HH:mm:ss` in UTC, for messages.
std::string format_utc(int64_t ms);

}  // namespace sluice::data
