// Do the operators of a pipeline fit together?
#pragma once
#include "config/diagnostic.h"
#include "config/operator_catalog.h"
#include "config/pipeline_document.h"

namespace sluice::config {

// Undefined and doubled ids, inputs of sources, operators nobody reads, unknown ports, cycles, broadcast and key.
// Operators whose type is unknown (spec == nullptr) are taken to be whatever fits.
void check_graph(const PipelineDocument& document, Diagnostics& diagnostics);

}  // namespace sluice::config
