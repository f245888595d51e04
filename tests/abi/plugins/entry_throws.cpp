// A plugin that was written without the SDK and lets an exception out of its entry function.
#include <stdexcept>

#include "sluice/abi.h"

extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) {
  throw std::runtime_error("no licence");
}
