// The misbehaving plugins that the build makes for these tests.
#pragma once
#include <string>

namespace sluice::test {

// "missing_symbol" → …/test-plugins/bad_missing_symbol/libbad_missing_symbol.so
inline std::string bad_plugin(const std::string& name) {
  return std::string(SLUICE_BINARY_DIR "/lib/sluice/test-plugins/bad_") + name + "/libbad_" + name + ".so";
}

}  // namespace sluice::test
