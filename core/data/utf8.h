#pragma once
#include <string_view>

namespace sluice::data {

bool is_utf8(std::string_view bytes) noexcept;

}  // namespace sluice::data
