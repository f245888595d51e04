// Names of tables and columns: what is allowed, how they are written into SQL, when two are the same.
#pragma once
#include <string>
#include <string_view>

namespace sluice::sqlite {

// Empty: usable. Otherwise what is wrong. `what` is "table" or "column".
std::string name_problem(std::string_view what, std::string_view name);
// In double quotes, inner ones doubled: reserved words, blanks and any script are fine.
std::string quoted_name(std::string_view name);
// SQLite takes names as equal that differ in the case of ASCII letters only; equal names fold to equal text.
std::string folded_name(std::string_view name);

}  // namespace sluice::sqlite
