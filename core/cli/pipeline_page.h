// Every key of a pipeline file, as a page: from the tables that files are checked against.
#pragma once
#include <string>

namespace sluice::cli {

std::string pipeline_text();
// docs/pipeline-files.md
std::string pipeline_markdown();

}  // namespace sluice::cli
