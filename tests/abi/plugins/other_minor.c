/* A plugin that was built for the next minor. */
#include "sluice/abi.h"
const sluice_module* sluice_module_v0(void);
__attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) {
  static const sluice_module module = {sizeof(sluice_module), SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR + 1, SLUICE_ABI_MINOR + 1,
                                       {"newer", 5}, {"3.1", 3}, {"", 0}, {"", 0}, NULL, 0, NULL};
  return &module;
}
