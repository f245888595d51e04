// Compiles when every header of the SDK is clean C++17.
#include <sluice/sdk.hpp>
#include <sluice/testing/harness.hpp>

static_assert(__cplusplus == 201703L);
