#pragma once
#include <string_view>

#include "sluice/abi.h"

namespace sluice::data {

// The text of the plugin boundary as the host reads it. data() == nullptr stays so: "none".
inline std::string_view view(sluice_str s) noexcept { return {s.data, s.size}; }

}  // namespace sluice::data
