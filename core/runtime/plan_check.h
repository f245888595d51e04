// What can be seen of a pipeline before it runs, and where in the file it is shown.
#pragma once
#include <string>

#include "config/diagnostic.h"
#include "config/pipeline_document.h"
#include "runtime/plan.h"

namespace sluice::runtime {

// The first option that is given in the file and that the message names in backquotes: the place that it is about.
config::OptionValues::const_iterator option_named(const config::OperatorSection& section, const std::string& message);
// Shown at the option when it is given in the file, else at the operator.
void report_at(config::Diagnostics& diagnostics, const config::OperatorSection& section, config::OptionValues::const_iterator option,
               const char* code, const std::string& message);

// Operators that would refuse every row for want of an event time are errors. Outputs that are written and not read, or
// read and not written, are warned of. After the needs and facts of every node are known.
void check_plan(const Plan& plan, config::Diagnostics& diagnostics);

}  // namespace sluice::runtime
