// Progress as Prometheus text. Names, labels and units are an interface: docs/operating.md lists them.
#pragma once
#include <string>

#include "observe/process_usage.h"
#include "observe/progress.h"

namespace sluice::observe {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// Prometheus text exposition format 0.0.4. Values that are not known (no watermark yet, unknown lag) are left out;
// the watermark after the end of the input is +Inf.
std::string metrics_text(const Progress& progress, const ProcessUsage& usage, const std::string& sluice_version);

}  // namespace sluice::observe
