// A plugin whose init() says no.
#include "sluice/sdk.hpp"

namespace {

sluice_code no_create(const sluice_context*, const sluice_value*, const sluice_operator_vtbl**, void**, sluice_error* e) {
  return sluice::Status::bug("never called").write(e);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const sluice_module* sluice_module_v0(void) {
  static sluice_operator_desc op;
  op.struct_size = sizeof op;
  op.kind = SLUICE_TRANSFORM;
  op.type = sluice::str("test.init_fails");
  op.create = &no_create;
  static const sluice_operator_desc* const ops[] = {&op};
  static sluice_module module;
  module.struct_size = sizeof module;
  module.abi_major = SLUICE_ABI_MAJOR;
  module.abi_minor = module.abi_min_minor = SLUICE_ABI_MINOR;
  module.name = sluice::str("init-fails");
  module.operators = ops;
  module.operator_count = 1;
  module.init = [](const sluice_host*, sluice_error* e) { return sluice::Status::fatal("the licence server is away").write(e); };
  return &module;
}
