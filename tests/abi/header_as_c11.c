/* Compiles when abi.h and the extensions are clean C11; says what must never change. */
#include "sluice/abi.h"
#include "sluice/ext/added_splits.h"
#include "sluice/ext/ended_splits.h"
#include "sluice/ext/plan.h"

_Static_assert(sizeof(sluice_str) == 16, "sluice_str is frozen");
_Static_assert(sizeof(sluice_value) == 24, "sluice_value is frozen");
_Static_assert(sizeof(sluice_member) == 40, "sluice_member is frozen");
_Static_assert(sizeof(sluice_error) == 1024, "sluice_error is frozen");
_Static_assert(offsetof(sluice_module, struct_size) == 0, "struct_size is first");
_Static_assert(offsetof(sluice_operator_desc, struct_size) == 0, "struct_size is first");
_Static_assert(offsetof(sluice_operator_vtbl, struct_size) == 0, "struct_size is first");
_Static_assert(offsetof(sluice_context, struct_size) == 0, "struct_size is first");

const sluice_module* sluice_module_v0(void);
const sluice_module* sluice_module_v0(void) {
  static const sluice_module module = {sizeof(sluice_module), SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR, SLUICE_ABI_MINOR,
                                       {"c", 1}, {"1", 1}, {NULL, 0}, {NULL, 0}, NULL, 0, NULL};
  return SLUICE_HAS(&module, sluice_module, init) ? &module : NULL;
}
