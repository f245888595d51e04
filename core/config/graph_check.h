// Do the operators of a pipeline fit together?
#pragma once
#include "config/diagnostic.h"
#include "config/operator_catalog.h"
#include "config/pipeline_document.h"

namespace sluice::config {

// Undefined and doubled ids, inputs of sources, operators nobody reads, unknown ports, cycles, broadcast and key.
// Operators whose type is unknown (spec == nullptr) are taken to be whatever fits. `parts_missing`: a file that is included
// could not be read, so that what is not defined may stand there.
void check_graph(const PipelineDocument& document, bool parts_missing, Diagnostics& diagnostics);

}  // namespace sluice::config
