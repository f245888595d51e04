// A library whose static constructor ends the process without a word.
#include <unistd.h>

#include "sluice/abi.h"

namespace {

struct Exit {
  Exit() { _exit(3); }
} leave;

}  // namespace

extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) { return nullptr; }
