// The table options that a schema record brings (`sink_extend`): text that goes into a `create table` statement, so
// nothing but options may be in it.
#pragma once
#include <string>
#include <string_view>

namespace sluice::phoenix {

// NAME = value, with commas between them; a name may have a column family before it (F.NAME), a value is a number, a
// word, or a text in single quotes without backslashes. *out is the same in one way of writing; empty for blank text.
// The result says what is wrong; empty: nothing.
std::string read_table_options(std::string_view text, std::string* out);

}  // namespace sluice::phoenix
