// Names of schemas, tables and columns: what is allowed, how they are written into SQL, when two are the same.
#pragma once
#include <string>
#include <string_view>

namespace sluice::phoenix {

enum class Case { kUpper, kKeep };

// As Phoenix takes a name that stands in SQL without quotes: dim_x is DIM_X (ASCII letters; kKeep: as it is).
std::string phoenix_name(std::string_view name, Case letters);
// Empty: usable. Otherwise what is wrong. `what` is "schema", "table" or "column".
std::string name_problem(std::string_view what, std::string_view name);
// In double quotes: reserved words, blanks and any script are fine. Only for names without a problem.
std::string quoted_name(std::string_view name);
// As a text literal. Only for names without a problem.
std::string text_literal(std::string_view name);

}  // namespace sluice::phoenix
