// JSON text of values. Numbers leave with the digits they came with.
#pragma once
#include <string>
#include <string_view>

#include "sluice/abi.h"

namespace sluice::data {

// Appends the JSON text of `value`; SLUICE_ABSENT is written as null.
void append_json(const sluice_value& value, std::string* out);
void append_json_string(std::string_view text, std::string* out);

}  // namespace sluice::data
