// Any bytes as a binlog of MySQL or MariaDB, through the whole decoder. The events' checksums would stop nearly everything at the
// door, so they are made right first. Seeds are the captured binlogs of the unit tests.
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace sluice_mysql {
int decode_any_bytes(const uint8_t* data, size_t size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHeader = 19, kChecksum = 4;
  std::vector<uint8_t> log(data, data + size);
  size_t at = size >= 4 && std::memcmp(data, "\xfe" "bin", 4) == 0 ? 4 : 0;
  while (size - at >= kHeader + kChecksum) {
    uint8_t* event = log.data() + at;
    uint32_t length = 0;
    std::memcpy(&length, event + 9, sizeof length);
    if (length < kHeader + kChecksum || length > size - at) {
      length = static_cast<uint32_t>(size - at);
      std::memcpy(event + 9, &length, sizeof length);
    }
    const auto sum = static_cast<uint32_t>(crc32(0, event, length - kChecksum));
    std::memcpy(event + length - kChecksum, &sum, sizeof sum);
    at += length;
  }
  return sluice_mysql::decode_any_bytes(log.data(), log.size());
}
