#include "cli/test_clock.h"

#include "base/clock.h"
#include "data/time_reader.h"

namespace sluice::cli {

std::optional<int64_t> clock_of(const config::PipelineTest& test, config::Diagnostics& diagnostics) {
  if (!test.clock) return base::SystemClock().now_ms();
  auto reader = data::TimeReader::make(data::TimeReader::Kind::kIso8601, {}, "UTC");
  int64_t ms = 0;
  if (reader.is_ok() && reader.value().read(*test.clock, false, &ms)) return ms;
  diagnostics.error(test.clock_at, "bad-time", "tests", "\"" + *test.clock + "\" is no time: write it as 2022-06-01T00:00:00+08:00");
  return std::nullopt;
}

}  // namespace sluice::cli
