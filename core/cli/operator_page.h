// What an operator says about itself, as a page: for the terminal, for the docs, for programs, for editors.
#pragma once
#include <string>
#include <vector>

#include "config/operator_catalog.h"

namespace sluice::cli {

// `doc`: the operator's own text, Markdown; may be empty.
struct DescribedOperator {
  const config::OperatorSpec* spec = nullptr;  // never null
  std::string doc;
};

std::string operator_text(const DescribedOperator& op);
// docs/operators/<type>.md
std::string operator_markdown(const DescribedOperator& op);
// docs/operators/README.md: every operator with its summary, by kind
std::string operator_index_markdown(const std::vector<DescribedOperator>& operators);
// One object; several are an array.
std::string operator_json(const DescribedOperator& op);
std::string operators_json(const std::vector<DescribedOperator>& operators);

// Options as lines of text, and as rows of a table with the columns key, type, default, meaning. Required ones come first,
// advanced ones last.
std::string options_text(const std::vector<config::OptionSpec>& options);
std::string options_markdown(const std::vector<config::OptionSpec>& options);
// One cell of a Markdown table.
std::string markdown_cell(const std::string& text);

// A pipeline that uses the operator, ready to be filled in; the example of the pages.
std::string operator_example(const config::OperatorSpec& spec);

// `source`, `transform`, `sink`
const char* kind_name(config::OperatorSpec::Kind kind);
// `duration`, `choice: a, b or c`, `whole number (rows), 1 to 100`
std::string option_type_text(const config::OptionSpec& option);

}  // namespace sluice::cli
