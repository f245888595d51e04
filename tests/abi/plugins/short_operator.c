/* A plugin with an operator that ends before its create function. */
#include "sluice/abi.h"
const sluice_module* sluice_module_v0(void);
static const sluice_operator_desc op = {sizeof(sluice_operator_desc) - sizeof(void*), SLUICE_TRANSFORM, 0, 0, {"test.short", 10}, {"1", 1},
                                        {"", 0}, {"", 0}, NULL, 0, NULL, 0, NULL, 0, NULL};
static const sluice_operator_desc* const ops[] = {&op};
__attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) {
  static const sluice_module module = {sizeof(sluice_module), SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR, SLUICE_ABI_MINOR,
                                       {"short-operator", 14}, {"1", 1}, {"", 0}, {"", 0}, ops, 1, NULL};
  return &module;
}
