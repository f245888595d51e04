// Values that a plugin made, which may not be what they say. What was read by a JsonReader needs no look.
#pragma once
#include <string>

#include "data/json_reader.h"
#include "sluice/abi.h"

namespace sluice::data {

// Can the value be written as JSON? Texts of arrays and objects must have kPadding readable bytes behind them. False: *why
// says what is wrong: `field "a.b": "1e" is not a number`.
bool check_made_value(const sluice_value& value, JsonReader& reader, std::string* why);

}  // namespace sluice::data
