#pragma once
#include <string>

namespace sluice::cli {

// The version of this program, `0.1.0`.
std::string version_number();
// `sluice 0.1.0 (plugin ABI 0.2)`
std::string version_text();

}  // namespace sluice::cli
