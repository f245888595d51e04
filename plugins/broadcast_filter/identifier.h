// Names that may stand in a statement for a table or a column.
#pragma once
#include <string>
#include <string_view>

namespace sluice::broadcast_filter {

inline constexpr size_t kMaxIdentifierBytes = 128;

// Empty: `name` is safe: letters of any script, digits, `_` and `$`, at most 128 bytes. Else what is wrong with it, as
// the end of a sentence: "is empty", "contains ` `".
std::string unsafe_identifier(std::string_view name);

// The same for a table name, which may have a schema before one dot.
std::string unsafe_table_name(std::string_view name);

// Table options go into a statement as they are: a statement's end, a comment, an open quote or a control character
// would change what the statement means.
std::string unsafe_table_options(std::string_view text);

// `text` cut to a length that fits a message, with control characters made visible.
std::string printable(std::string_view text);

}  // namespace sluice::broadcast_filter
