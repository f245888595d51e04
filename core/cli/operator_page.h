// What an operator says about itself, as a page: for the terminal, for the docs, for programs, for editors.
#pragma once
#include <string>
#include <vector>

#include "config/operator_catalog.h"

namespace sluice::cli {

std::string operator_text(const config::OperatorSpec& spec);
// docs/operators/<type>.md
std::string operator_markdown(const config::OperatorSpec& spec);
// docs/operators/README.md: every operator with its summary, by kind
std::string operator_index_markdown(const std::vector<const config::OperatorSpec*>& specs);
// One object; several are an array.
std::string operator_json(const config::OperatorSpec& spec);
std::string operators_json(const std::vector<const config::OperatorSpec*>& specs);

// A pipeline that uses the operator, ready to be filled in; the example of the pages.
std::string operator_example(const config::OperatorSpec& spec);

// `source`, `transform`, `sink`
const char* kind_name(config::OperatorSpec::Kind kind);
// `duration`, `choice: a, b or c`, `whole number (rows), 1 to 100`
std::string option_type_text(const config::OptionSpec& option);

}  // namespace sluice::cli
