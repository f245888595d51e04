// JSON Schema of pipeline files, for editors that complete and check YAML while it is written.
#pragma once
#include <string>
#include <vector>

#include "config/operator_catalog.h"

namespace sluice::cli {

// Of a whole pipeline file that may use any of these operators (JSON Schema draft-07, which editors understand best).
std::string pipeline_schema(const std::vector<const config::OperatorSpec*>& specs);
// Of the section `with:` of one operator.
std::string operator_schema(const config::OperatorSpec& spec);

}  // namespace sluice::cli
