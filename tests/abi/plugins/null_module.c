/* A plugin whose entry function has nothing to say. */
#include "sluice/abi.h"
const sluice_module* sluice_module_v0(void);
__attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) { return NULL; }
