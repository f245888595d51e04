// An operator that was written without the SDK: its create() lets an exception out.
#include <stdexcept>

#include "sluice/sdk.hpp"

extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) {
  static sluice_operator_desc op;
  op.struct_size = sizeof op;
  op.kind = SLUICE_TRANSFORM;
  op.type = sluice::str("test.raw_throws");
  op.version = sluice::str("1.0.0");
  op.create = [](const sluice_context*, const sluice_value*, const sluice_operator_vtbl**, void**, sluice_error*) -> sluice_code {
    throw std::runtime_error("not caught by anybody");
  };
  static const sluice_operator_desc* const ops[] = {&op};
  static sluice_module module;
  module.struct_size = sizeof module;
  module.abi_major = SLUICE_ABI_MAJOR;
  module.abi_minor = module.abi_min_minor = SLUICE_ABI_MINOR;
  module.name = sluice::str("bad-raw-throws");
  module.version = sluice::str("1.0.0");
  module.operators = ops;
  module.operator_count = 1;
  return &module;
}
