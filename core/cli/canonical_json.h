// JSON in a form in which equal values are equal texts.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// No spaces, members by name, of a name that is there twice the last one, numbers with the digits they were written with.
// Top-level members in `without` are left out. What is no JSON comes back as it is.
std::string canonical_json(std::string_view json, const std::vector<std::string>& without);

}  // namespace sluice::cli
