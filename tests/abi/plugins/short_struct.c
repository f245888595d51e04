/* A plugin whose description ends before its versions. */
#include "sluice/abi.h"
const sluice_module* sluice_module_v0(void);
__attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) {
  static const sluice_module module = {8, SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR, SLUICE_ABI_MINOR,
                                       {"short", 5}, {"1", 1}, {"", 0}, {"", 0}, NULL, 0, NULL};
  return &module;
}
