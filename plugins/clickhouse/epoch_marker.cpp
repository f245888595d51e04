#include "epoch_marker.h"

#include <algorithm>
#include <cstdlib>

namespace sluice::clickhouse {
namespace {

constexpr const char* kAttemptColumns[] = {"attempt_lineage String", "attempt_epoch UInt64", "attempt_inserts UInt64",
                                           "attempt_seconds UInt64"};

std::string table_of(const TargetRules& rules) { return quoted_name(rules.database) + "." + kEpochTable; }

std::string joined(const std::string& before_each) {
  std::string out;
  for (const char* column : kAttemptColumns) out += (out.empty() ? "" : ", ") + before_each + column;
  return out;
}

uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

}  // namespace

std::string epoch_table_statement(const TargetRules& rules, const std::string& engine) {
  return "create table if not exists " + table_of(rules) +
         " (pipeline String, operator String, lane UInt32, lineage String, epoch UInt64, batch_rows Int64, version "
         "UInt64, " +
         joined("") + ") engine = " + engine + "(version) order by (pipeline, operator, lane)";
}

Answer EpochMarker::make_table(const TargetRules& rules, size_t server, HttpClient& client) {
  Answer a = run_query(rules, server, client, epoch_table_statement(rules, "ReplacingMergeTree"));
  if (!a.ok) return a;
  a = run_query(rules, server, client,
                "select count() from system.columns where database = " + quoted_text(rules.database) +
                    " and table = " + quoted_text(kEpochTable) + " and name = 'attempt_seconds' format TabSeparated");
  if (!a.ok || number(a.body) > 0) return a;
  return run_query(rules, server, client, "alter table " + table_of(rules) + " " + joined("add column if not exists "));
}

Answer EpochMarker::read(const TargetRules& rules, size_t server, HttpClient& client) {
  Answer a = run_query(rules, server, client,
                       "select lineage, epoch, batch_rows, version, attempt_lineage, attempt_epoch, attempt_inserts, "
                       "attempt_seconds from " +
                           table_of(rules) + " final where pipeline = " + quoted_text(pipeline) + " and operator = " +
                           quoted_text(operator_id) + " and lane = " + std::to_string(lane) + " format TabSeparated");
  if (!a.ok) return a;
  EpochMarker found;
  found.pipeline = pipeline;
  found.operator_id = operator_id;
  found.lane = lane;
  for (const auto& row : read_tsv(a.body)) {
    if (row.size() != 8) continue;
    found.lineage = row[0];
    found.epoch = number(row[1]);
    found.batch_rows = std::strtoll(row[2].c_str(), nullptr, 10);
    found.version = number(row[3]);
    found.attempt_lineage = row[4];
    found.attempt_epoch = number(row[5]);
    found.attempt_begin = {number(row[6]), number(row[7])};
  }
  *this = std::move(found);
  return a;
}

Answer EpochMarker::write(const TargetRules& rules, size_t server, HttpClient& client, int64_t now_ms) {
  // The largest version is the one that counts, also after the clock was put back.
  const uint64_t next = std::max(version + 1, static_cast<uint64_t>(std::max<int64_t>(now_ms, 0)));
  Answer a =
      run_query(rules, server, client,
                "insert into " + table_of(rules) +
                    " (pipeline, operator, lane, lineage, epoch, batch_rows, version, attempt_lineage, attempt_epoch, "
                    "attempt_inserts, attempt_seconds) values (" +
                    quoted_text(pipeline) + ", " + quoted_text(operator_id) + ", " + std::to_string(lane) + ", " +
                    quoted_text(lineage) + ", " + std::to_string(epoch) + ", " + std::to_string(batch_rows) + ", " +
                    std::to_string(next) + ", " + quoted_text(attempt_lineage) + ", " + std::to_string(attempt_epoch) +
                    ", " + std::to_string(attempt_begin.inserts) + ", " + std::to_string(attempt_begin.seconds) + ")",
                {{"async_insert", "0"}});
  if (a.ok) version = next;
  return a;
}

}  // namespace sluice::clickhouse
