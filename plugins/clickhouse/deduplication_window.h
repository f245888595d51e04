// What a table remembers of its inserts, and whether it still knows one that was made a while ago.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "server.h"

namespace sluice::clickhouse {

struct DeduplicationWindow {
  std::string setting;  // that holds `inserts`
  bool replicated = false;
  uint64_t inserts = 0;  // the newest ones of the table, whoever made them; 0: none
  uint64_t seconds = 0;  // that it remembers them for; 0: for ever
};

// Of a table of that engine; `engine` is one of the MergeTree family.
Answer read_window(const TargetRules& rules, size_t server, HttpClient& client, std::string_view engine,
                   std::string_view engine_full, DeduplicationWindow* out);

// A moment in the life of the table, as its server counts.
struct InsertCount {
  uint64_t inserts = 0;
  uint64_t seconds = 0;  // the server's clock
};

// `table_id`: equal, and it is the table that it was, unaltered and with the same views.
Answer read_insert_count(const TargetRules& rules, size_t server, HttpClient& client, bool replicated, InsertCount* out,
                         std::string* table_id = nullptr);

// Empty: an insert that was not made before `then` is still known, although each of the other lanes adds one meanwhile.
// Else what has happened since.
std::string why_forgotten(const DeduplicationWindow& window, const InsertCount& then, const InsertCount& now,
                          uint32_t lanes);

}  // namespace sluice::clickhouse
