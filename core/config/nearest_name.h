// Names in messages: in quotes, in lists, and which legal one a misspelt one was probably meant to be.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

// The text in double quotes, as messages show what the user wrote.
std::string quote(std::string_view text);

// Number of inserted, deleted, replaced and swapped neighbouring characters (restricted Damerau-Levenshtein, bytes).
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `names`, or empty when none is near enough to be a likely slip. Case, `-`, `_` and `.` count little.
std::string nearest_name(std::string_view wrong, const std::vector<std::string>& names);

// `a, b or c`, each in double quotes when `quoted`.
std::string list_names(const std::vector<std::string>& names, std::string_view last_word = "or", bool quoted = false);

}  // namespace sluice::config
