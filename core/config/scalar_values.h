// Text to numbers, durations and sizes. Own parsing because YAML's rules guess: `010` is 8 there, `yes` is true.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::config {

// What came out: a value, or what is wrong with the text. `problem` continues a sentence (`"010" has a leading zero
// …`).
template <class T>
struct ScalarResult {
  T value{};
  std::string problem;     // empty = the value is good
  std::string suggestion;  // what was probably meant, may be empty
  bool ok() const { return problem.empty(); }
};

ScalarResult<bool> parse_bool(std::string_view text);         // true, false
ScalarResult<int64_t> parse_int(std::string_view text);       // decimal, no leading zero
ScalarResult<double> parse_double(std::string_view text);     // decimal, finite
ScalarResult<int64_t> parse_duration(std::string_view text);  // milliseconds: 250ms 10s 5m 2h 1d 0
ScalarResult<int64_t> parse_size(std::string_view text);      // bytes: 512 512KiB 10MB 64MiB 1GiB

std::string format_duration(int64_t ms);  // the largest unit that is exact: 90s, 5m
std::string format_size(int64_t bytes);   // the same: 64MiB, 1000

}  // namespace sluice::config
