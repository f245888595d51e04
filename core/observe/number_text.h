// Numbers as people read them.
#pragma once
#include <cstdint>
#include <string>

namespace sluice::observe {

std::string count_text(uint64_t count);         // 1,234,567
std::string rate_text(double rows_per_second);  // 0/s 3.2/s 250/s 25.3k/s 1.2M/s
std::string duration_text(int64_t ms);          // 35ms 4.2s 1m05s 2h03m 3d04h
std::string bytes_text(uint64_t bytes);         // 512 B, 1.2 KiB, 64.0 MiB
// 2022-06-01 10:00:00 in UTC; `-` for kNoTime, `end` for kEndOfTime.
std::string time_text(int64_t ms);
std::string plural(uint64_t count, const char* one);  // `1 row`, `2 rows`, `1,234 rows`

}  // namespace sluice::observe
