/* A plugin for another major of the ABI: another entry symbol. */
#include "sluice/abi.h"
const void* sluice_module_v1(void);
__attribute__((visibility("default"))) const void* sluice_module_v1(void) { return NULL; }
