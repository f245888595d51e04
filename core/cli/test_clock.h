// Where the clock of a pipeline's test stands: the same for `sluice test` and for `sluice validate`.
#pragma once
#include <cstdint>
#include <optional>

#include "config/pipeline_tests.h"

namespace sluice::cli {

// In ms since 1970; now, when the test does not say. Nothing: what it says is no time; reported.
std::optional<int64_t> clock_of(const config::PipelineTest& test, config::Diagnostics& diagnostics);

}  // namespace sluice::cli
