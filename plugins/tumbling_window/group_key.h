// The values that a row is grouped by, as one text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sluice/value.hpp"

namespace sluice::tumbling_window {

// Each value is a letter for its type, the length of its text, `:` and the text: `s3:abc`, `n2:17`, `z0:` for null.
// Printable when the values are; two rows are of one group when their texts are equal.

// Appends a value; false: it is none that can be grouped by (an array, an object).
bool append_group_value(const Value& value, std::string* key);
// The values of a key, as views of it.
std::vector<Value> group_values(std::string_view key);

}  // namespace sluice::tumbling_window
