// Captured bytes, damaged at random: they give records or errors, never a crash. The sanitizer builds of this test are the
// ones that see most; a fuzzer can drive the same function.
#include <random>

#include "captured.h"
#include "event_builder.h"

namespace {

// Puts the checksum right again, so that what lies behind it is reached.
void set_checksum(std::string* event) {
  const size_t size = event->size();
  if (size < 23) return;
  const std::string sum = built::le(crc32(0, reinterpret_cast<const Bytef*>(event->data()), static_cast<uInt>(size - 4)), 4);
  event->replace(size - 4, 4, sum);
}

std::string damage(const std::string& event, std::mt19937* random) {
  std::string bad = event;
  const auto any = [&](size_t below) { return static_cast<size_t>((*random)() % below); };
  const size_t body = bad.size() - 19;
  if (body <= 4) return bad;
  for (size_t n = any(3) + 1; n > 0; --n) {
    const size_t at = 19 + any(body - 4);
    switch (any(4)) {
      case 0:
        bad[at] = static_cast<char>(bad[at] ^ 1 << any(8));
        break;
      case 1:
        bad[at] = static_cast<char>((*random)());
        break;
      case 2:
        bad[at] = static_cast<char>(0xFF);
        break;
      default:
        if (bad.size() > 24) bad.erase(std::min(at, bad.size() - 5), 1);
    }
    if (bad.size() <= 23) break;
  }
  bad.replace(9, 4, built::le(bad.size(), 4));
  set_checksum(&bad);
  return bad;
}

}  // namespace

TEST_CASE("damaged binlogs of each server") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const char* name : {"mariadb.types.binlog.gz", "mysql-8.0.31.types.binlog.gz", "mysql-8.0.15.transactions.binlog.gz"}) {
    const std::vector<std::string> events = captured::events_of(name);
    // The table map and the rows that follow it, one of them damaged each time.
    for (size_t i = 1; i + 1 < events.size(); ++i) {
      if (events[i].size() > 4000 || events[i + 1].size() > 4000) continue;
      for (int round = 0; round < 12; ++round) {
        const bool first = round % 2 == 0;
        const std::string file = events[0] + (first ? damage(events[i], &random) : events[i]) + (first ? events[i + 1] : damage(events[i + 1], &random));
        CHECK(sluice_mysql::decode_any_bytes(reinterpret_cast<const uint8_t*>(file.data()), file.size()) == 0);
      }
    }
  }
}

TEST_CASE("noise") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    CHECK(sluice_mysql::decode_any_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) == 0);
  }
  CHECK(sluice_mysql::decode_any_bytes(nullptr, 0) == 0);
}
