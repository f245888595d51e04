// A library that ends its process while it is loaded.
#include <cstdlib>

namespace {
struct Crash {
  Crash() { std::abort(); }
} crash;
}  // namespace
