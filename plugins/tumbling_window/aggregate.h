// What a window computes: `count`, `sum(field)` and the like.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::tumbling_window {

struct Aggregate {
  enum class Kind { kCount, kSum, kMin, kMax, kAvg };
  std::string column;  // of the result
  Kind kind = Kind::kCount;
  std::string field;  // empty: count of all rows
};

// Reads the right side of an entry of option `aggregates`. Empty and *out is filled (but for the column), or the
// problem.
std::string read_aggregate(std::string_view text, Aggregate* out);
// Its normal form: "sum(amount)".
std::string text_of(const Aggregate& aggregate);

}  // namespace sluice::tumbling_window
