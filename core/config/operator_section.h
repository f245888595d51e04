// Reads one item of `operators:`. Used by pipeline_document.cpp only.
#pragma once
#include <cstddef>

#include "config/pipeline_document.h"

namespace sluice::config {

// Checks everything that can be said about one operator by itself; how it fits to the others is graph_check.h.
// `node` is the item, `index` its place in the list.
OperatorSection read_operator(const Node& node, size_t index, const OperatorCatalog& catalog,
                              const Environment& environment, Diagnostics& diagnostics);

// A sink that is no part of the graph: `use` and `with` of the block `node` at `path`. Other keys are not looked at.
OperatorSection read_sink(const Node& node, const std::string& path, const OperatorCatalog& catalog,
                          const Environment& environment, Diagnostics& diagnostics);

OnError on_error_of(const OptionValue& value);
bool is_operator_id(std::string_view text);

}  // namespace sluice::config
