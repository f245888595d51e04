// The newest epoch whose rows are in the table, and the one that was begun last: a row of the table `_sluice_epochs` in
// the same database.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "deduplication_window.h"
#include "server.h"

namespace sluice::clickhouse {

constexpr const char* kEpochTable = "_sluice_epochs";

// Of one operator and lane.
struct EpochMarker {
  std::string pipeline, operator_id;
  uint32_t lane = 0;

  // What the table says; epoch 0 and no lineage: nothing.
  std::string lineage;
  uint64_t epoch = 0;
  int64_t batch_rows = 0;  // that the epochs after it are cut by; 0: not known
  std::string attempt_lineage;
  uint64_t attempt_epoch = 0;  // rows of it may be in the table
  InsertCount attempt_begin;
  uint64_t version = 0;

  // Unless it is there; one of an earlier version gets the columns that it lacks.
  static Answer make_table(const TargetRules& rules, size_t server, HttpClient& client);
  Answer read(const TargetRules& rules, size_t server, HttpClient& client);
  Answer write(const TargetRules& rules, size_t server, HttpClient& client, int64_t now_ms);
};

// As the user can make it, on servers that share it.
std::string epoch_table_statement(const TargetRules& rules, const std::string& engine);

}  // namespace sluice::clickhouse
