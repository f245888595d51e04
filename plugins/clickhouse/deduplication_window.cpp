#include "deduplication_window.h"

#include <cstdlib>

namespace sluice::clickhouse {
namespace {

constexpr const char* kSeconds = "replicated_deduplication_window_seconds";

uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

}  // namespace

Answer read_window(const TargetRules& rules, size_t server, HttpClient& client, std::string_view engine,
                   std::string_view engine_full, DeduplicationWindow* out) {
  *out = {};
  out->replicated = is_shared_engine(engine);
  out->setting = out->replicated ? "replicated_deduplication_window" : "non_replicated_deduplication_window";
  // Servers can have other defaults for replicated tables.
  Answer a = run_query(rules, server, client,
                       std::string("select name, value from system.") + (out->replicated ? "replicated_" : "") +
                           "merge_tree_settings where name in (" + quoted_text(out->setting) + ", " +
                           quoted_text(kSeconds) + ") format TabSeparated");
  if (!a.ok) return a;
  const auto read = [&](const std::string& name) {
    std::string value = table_setting(engine_full, name);
    for (const auto& row : read_tsv(a.body))
      if (value.empty() && row.size() == 2 && row[0] == name) value = row[1];
    return number(value);
  };
  out->inserts = read(out->setting);
  if (out->replicated) out->seconds = read(kSeconds);
  return a;
}

Answer read_insert_count(const TargetRules& rules, size_t server, HttpClient& client, bool replicated, InsertCount* out,
                         std::string* table_id) {
  // Each insert makes a part with the next number: of the table, or of its partition when replicas share them.
  const std::string where = " where database = " + quoted_text(rules.database);
  Answer a = run_query(rules, server, client,
                       std::string("select ") + (replicated ? "sum(newest + 1)" : "max(newest)") +
                           ", toUnixTimestamp(now()), (select concat(toString(uuid), toString(data_paths), "
                           "toString(metadata_modification_time), create_table_query, "
                           "toString(dependencies_table)) from system.tables" +
                           where + " and name = " + quoted_text(rules.table) +
                           ") from (select max(max_block_number) as newest from system.parts" + where +
                           " and table = " + quoted_text(rules.table) + " group by partition_id) format TabSeparated");
  if (!a.ok) return a;
  const auto rows = read_tsv(a.body);
  if (rows.empty() || rows[0].size() != 3) {
    a.ok = false;
    a.error = {ErrorClass::kFatal, 0, "system.parts answers " + shown_answer(a.body), false};
    return a;
  }
  out->inserts = number(rows[0][0]);
  out->seconds = number(rows[0][1]);
  if (table_id != nullptr) *table_id = rows[0][2];
  return a;
}

std::string why_forgotten(const DeduplicationWindow& window, const InsertCount& then, const InsertCount& now,
                          uint32_t lanes) {
  // When the count went back, no part of then and later is there any more: nothing can be in twice.
  const uint64_t since = now.inserts > then.inserts ? now.inserts - then.inserts : 0;
  if (since + lanes - 1 > window.inserts)
    return "it has got " + std::to_string(since) + " inserts since, and remembers the last " +
           std::to_string(window.inserts) + " (" + window.setting + ")";
  if (window.seconds > 0 && now.seconds > then.seconds + window.seconds)
    return "that was " + std::to_string(now.seconds - then.seconds) + " s ago, and it remembers inserts for " +
           std::to_string(window.seconds) + " s (" + kSeconds + ")";
  return {};
}

}  // namespace sluice::clickhouse
