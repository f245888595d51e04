// What is known so far of one window and group.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tumbling_window/aggregate.h"
#include "tumbling_window/exact_number.h"

namespace sluice::tumbling_window {

// A window in time: [start, end), ms.
struct Window {
  int64_t start = 0, end = 0;
  bool contains(int64_t time) const noexcept { return time >= start && time < end; }
};

// The value of an aggregate's field in one row.
struct Argument {
  bool present = false;  // neither missing nor null
  ExactNumber number;    // not of counts
};

inline constexpr int64_t kNeverEmitted = INT64_MIN;
inline constexpr const char* kOtherOptions =
    "its window state was written with other options (size, offset, zone, group_by or aggregates). Set them back, or give up the "
    "open windows with --drop-state and the operator's id";

// A plain value; owned by the table that keeps it.
struct Accumulator {
  struct Cell {
    int64_t count = 0;   // of values that are not null
    ExactNumber number;  // sum, smallest or largest
  };
  Window window;
  int64_t version = kNeverEmitted;  // of the last result that was emitted
  bool changed = false;             // by a row since then
  std::vector<Cell> cells;          // one for each aggregate

  // `arguments`: one for each aggregate; null when every aggregate is a count of rows.
  void add(const std::vector<Aggregate>& aggregates, const Argument* arguments);
  // What another lane, or this one before a restart, knows of the same window and group.
  void merge(const std::vector<Aggregate>& aggregates, const Accumulator& other);
  // JSON number; empty: null.
  std::string result(const std::vector<Aggregate>& aggregates, size_t i) const;

  // Text, version 1: "1 <options> <start> <end> <version or -> <changed 0|1>" and for each aggregate " <count>
  // <number>". `options`: what tells state of other options apart.
  std::string write(std::string_view options) const;
  // Empty, or why it cannot be read.
  std::string read(std::string_view text, std::string_view options, size_t aggregates);
};

}  // namespace sluice::tumbling_window
