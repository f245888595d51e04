// Progress as text. Pure functions: the same values give the same text, which is how they are tested.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "observe/graph.h"
#include "observe/progress.h"

namespace sluice::observe {

// Totals over the pipeline, and the split that everybody waits for.
struct Totals {
  uint64_t rows_in = 0;   // read by the sources
  uint64_t rows_out = 0;  // taken by the sinks
  uint64_t rejected = 0;
  int64_t lag = -1;  // sum over the splits; -1: no split knows it
  int64_t watermark_ms = kNoTime;
  const SplitProgress* holder = nullptr;  // into the Progress; null: nobody holds the watermark back
};
Totals totals_of(const Progress& progress, const Graph& graph);

// The split with the lowest watermark of one source, when the source has watermarks at all and the split is neither
// idle nor at its end. Null: none.
const SplitProgress* watermark_holder(const Progress& progress, const std::string& source_id);

// `before` is an earlier value of the same job, for the rates; null: no rates yet.

// The picture that is drawn again and again on a terminal; every line takes at most `width` cells and there are at most
// `height` of them (both at least 20 and 6).
std::vector<std::string> live_lines(const Progress& now, const Progress* before, const Graph& graph, size_t width,
                                    size_t height);

// One line for a log.
std::string log_line(const Progress& now, const Progress* before, const Graph& graph);

// What the command prints when the job has ended.
std::vector<std::string> summary_lines(const Progress& progress, const Graph& graph);

}  // namespace sluice::observe
