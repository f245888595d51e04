// A library whose static constructor gives up.
#include <cstdlib>

#include "sluice/abi.h"

namespace {

struct Abort {
  Abort() { std::abort(); }
} give_up;

}  // namespace

extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) { return nullptr; }
