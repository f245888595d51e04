// Whether this host can work with a module: versions, and everything in its tables that the host will rely on.
#pragma once
#include <string>
#include <string_view>

#include "base/status.h"
#include "sluice/abi.h"

namespace sluice::plugin {

inline std::string_view view(sluice_str s) noexcept { return s.data == nullptr ? std::string_view() : std::string_view(s.data, s.size); }

// "0.2": of this host.
std::string host_abi();

// Kind of an operator or of a state, as people say it. "source", "value"; "?" for an unknown one.
std::string kind_name(uint32_t operator_kind);

// OK, or kFatal with the reason. Reads only what struct_size says is there. Knows nothing of files.
base::Status check_module(const sluice_module* module);

}  // namespace sluice::plugin
