// Times in the form that results carry them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tumbling_window/local_zone.h"

namespace sluice::tumbling_window {

// `epoch_ms`, or a pattern of yyyy MM dd HH mm ss SSS and other characters; letters that are meant literally stand in
// single quotes ('T'), '' is a quote. The same patterns as `event_time.format` of a source.
class TimeText {
 public:
  // Empty, or the problem.
  std::string set(std::string_view format);
  bool is_epoch_ms() const noexcept { return epoch_ms_; }
  std::string write(int64_t time, LocalZone* zone) const;

 private:
  enum class Field { kLiteral, kYear, kMonth, kDay, kHour, kMinute, kSecond, kMilli };
  struct Part {
    Field field = Field::kLiteral;
    std::string literal;
  };
  bool epoch_ms_ = false;
  std::vector<Part> parts_;
};

}  // namespace sluice::tumbling_window
