// A library that cannot even be loaded: a static constructor goes through a null pointer.
#include "sluice/abi.h"

namespace {

volatile int* volatile nowhere = nullptr;
struct Crash {
  Crash() { *nowhere = 1; }
} crash;

}  // namespace

extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) { return nullptr; }
