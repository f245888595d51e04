// Rows a second of CPU time from binlog bytes to records, one thread; printed, not asserted: machines differ. The table, the size of
// the events and the number of rows are those of a captured `insert .. select` of MariaDB 10.11.
#include <cstdio>
#include <cstring>
#include <ctime>

#include "captured.h"
#include "event_builder.h"

using namespace sluice_mysql;

namespace {

// ord(id bigint, user_id bigint, amount decimal(16,2), status varchar(20), name varchar(100), create_time datetime(6),
// ts timestamp, n int, r double)
std::string order_map() {
  built::TableText t;
  t.types = std::string("\x08\x08\xF6\x0F\x0F\x12\x11\x03\x05", 9);
  t.metas = std::string("\x10\x02\x50\x00\x90\x01\x06\x00\x08", 9);
  std::string names;
  for (const char* name : {"id", "user_id", "amount", "status", "name", "create_time", "ts", "n", "r"}) {
    names += built::packed(std::string_view(name).size()) + name;
  }
  t.optional = built::field(1, std::string(1, '\0')) + built::field(2, built::packed(45)) + built::field(4, names) +
               built::field(8, std::string(1, '\0'));
  return built::table_map(t);
}

std::string order_row(uint64_t i) {
  const std::string name = "商品 name " + std::to_string(i);
  const uint64_t cents = i;
  double r = static_cast<double>(i) / 7;
  uint64_t bits = 0;
  std::memcpy(&bits, &r, sizeof bits);
  // 14 digits before the point: 5 + 9; 2 behind it.
  const std::string amount = built::be((cents / 100 / 1000000000) | 0x800000, 3) + built::be(cents / 100 % 1000000000, 4) + built::be(cents % 100, 1);
  const uint64_t moment = (((2024ull * 13 + 2) << 5 | 29) << 17 | (23 << 12 | 59 << 6 | 58)) | 0x8000000000ull;
  return std::string(2, '\0') + built::le(i, 8) + built::le(i, 8) + amount + built::le(4, 1) + "PAID" + built::le(name.size(), 2) + name +
         built::be(moment, 5) + built::be(i % 1000000, 3) + built::be(1700000000 + i, 4) + built::le(i % 97, 4) + built::le(bits, 8);
}

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void measure(const char* name, const std::vector<std::string>& events, ValueStyle style) {
  EventParser parser(true);
  ChangeWriter writer(style, "speed");
  TableCodec codec;
  uint64_t serial = 0, rows = 0, bytes = 0, checked = 0;
  const double begin = cpu_seconds();
  for (const std::string& bytes_of_event : events) {
    Event event;
    REQUIRE(captured::parse(&parser, bytes_of_event, &event).is_ok());
    if (event.kind == EventKind::kTableMap && event.table->serial != serial) {
      REQUIRE(TableCodec::for_stream(*event.table, nullptr, Collations(), style, &codec).is_ok());
      serial = event.table->serial;
    }
    if (event.kind != EventKind::kRows) continue;
    RowReader reader;
    REQUIRE(reader.open(event.rows).is_ok());
    ChangePlace place;
    place.file = "binlog.000001";
    place.position = event.begin;
    place.gtid = "0-101-7";
    place.server_id = event.header.server_id;
    place.event_ms = event.header.timestamp * 1000ll;
    place.now_ms = place.event_ms + 5;
    for (bool found = true;;) {
      if (!reader.next(&found).is_ok() || !found) break;
      place.row = reader.index();
      if (!writer.row(codec, reader, place).is_ok()) break;
      writer.end_maxwell(&writer[0].body, 7, rows, false);
      bytes += writer[0].body.size();
      checked += writer[0].body.back() == '}';
      ++rows;
    }
  }
  const double s = cpu_seconds() - begin;
  std::printf("%s: %llu rows of 9 columns in %.3f s of CPU time: %.0f rows/s, %.0f bytes a record\n", name,
              static_cast<unsigned long long>(rows), s, static_cast<double>(rows) / s, static_cast<double>(bytes) / static_cast<double>(rows));
  CHECK(rows == checked);
  REQUIRE(rows == 1000000);
}

}  // namespace

TEST_CASE("1,000,000 rows of one transaction become records") {
  std::vector<std::string> events{built::format_description("10.11.19-MariaDB"), order_map()};
  std::string images;
  for (uint64_t i = 1; i <= 1000000; ++i) {
    images += order_row(i);
    if (images.size() > 8000 || i == 1000000) {
      events.push_back(built::rows(30, 9, images));
      images.clear();
    }
  }
  measure("debezium", events, {Format::kDebezium, Decimals::kText});
  measure("maxwell", events, {Format::kMaxwell, Decimals::kNumber});
}
