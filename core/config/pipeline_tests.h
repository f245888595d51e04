// The `tests:` of a pipeline file: rows in, rows out. `sluice test` runs them; docs/testing-pipelines.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.h"
#include "config/pipeline_document.h"

namespace sluice::config {

struct TestRow {
  std::optional<std::string> payload;  // as the source gives it; none: a tombstone
  Location at;
};

// What happens next. Everything before it has been processed.
struct TestStep {
  struct Rows {
    std::string source;
    std::vector<TestRow> rows;
  };
  std::vector<Rows> input;  // at the same time
  int64_t advance_ms = 0;   // the clock, before the rows
};

struct ExpectedRows {
  std::string id, port;  // of the operator; port empty: main output, or what a sink is given
  Location at;
  bool contains = false;  // these are among them, in any order; else these and no others, in this order
  struct Row {
    std::string json;
    Location at;
  };
  std::vector<Row> rows;
};

struct ExpectedLetter {
  Location at;
  std::optional<std::string> operator_id, raw;
  std::optional<std::string> reason;  // a part of it
};

struct PipelineTest {
  std::string name;
  Location at;
  std::optional<std::string> clock;  // where the wall clock stands; none: at the time of the run
  Location clock_at;
  std::vector<TestStep> steps;
  std::vector<ExpectedRows> expected;
  std::vector<std::string> ignore;        // columns that are not compared
  std::optional<size_t> letter_count;     // none and no letters: 0
  std::vector<ExpectedLetter> letters;    // exactly these, in any order
};

struct PipelineTests {
  std::vector<PipelineTest> valid;
  size_t invalid = 0;  // have errors, which are in the diagnostics
};

// Checks each test by itself. The document has no errors.
PipelineTests read_tests(const PipelineDocument& document, Diagnostics& diagnostics);

}  // namespace sluice::config
