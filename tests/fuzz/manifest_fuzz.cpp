// Any text as a manifest. The checksum would stop nearly everything at the door, so it is made right first: what is
// behind it must read or refuse, and what it reads must come back the same when it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "checkpoint/manifest.h"
#include "checkpoint/sha256.h"

namespace checkpoint = sluice::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view inner(reinterpret_cast<const char*>(data), size);
  (void)checkpoint::read_manifest(inner);
  const std::string whole = "{\"sha256\":\"" + checkpoint::sha256_of(inner) + "\",\"manifest\":" + std::string(inner) + "}\n";
  auto read = checkpoint::read_manifest(whole);
  if (!read.is_ok()) {
    if (read.status().message().empty()) std::abort();
    return 0;
  }
  const std::string once = checkpoint::write_manifest(read.value());
  auto again = checkpoint::read_manifest(once);
  if (!again.is_ok() || checkpoint::write_manifest(again.value()) != once) std::abort();
  return 0;
}
