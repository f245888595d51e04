#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::checkpoint {

// 64 lower-case hex digits.
std::string sha256_of(std::string_view bytes);
base::Status sha256_of_file(const std::string& path, std::string* hex, uint64_t* size);
bool is_sha256(std::string_view text);

}  // namespace sluice::checkpoint
