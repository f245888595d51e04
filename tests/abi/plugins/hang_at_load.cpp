// A library whose static constructor never returns.
#include <unistd.h>

#include "sluice/abi.h"

namespace {

struct Hang {
  Hang() {
    while (true) pause();
  }
} hang;

}  // namespace

extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) { return nullptr; }
