// Progress as JSON: what /progress answers and the dashboard reads. docs/operating.md lists the members.
#pragma once
#include <string>

#include "observe/graph.h"
#include "observe/progress.h"

namespace sluice::observe {

// One object on one line. Times are milliseconds since 1970; what is not known is null.
std::string progress_json(const Progress& progress, const Graph& graph);

}  // namespace sluice::observe
