// Materialized views on the table: the server hands each inserted block on to them, also one that is sent again.
#pragma once
#include <string>
#include <string_view>

#include "deduplication_window.h"
#include "server.h"

namespace sluice::clickhouse {

// Fatal: a view, or one on a view's table, would get a block that is sent again twice. `window`: the table's own.
Status check_dependent_views(const TargetRules& rules, const ServerInfo& info, size_t server, HttpClient& client,
                             const DeduplicationWindow& window);

// The table that a view writes into, from its statement as system.tables shows it: `CREATE MATERIALIZED VIEW db.v TO
// db.t (…) AS …`. Both empty: it has one of its own.
void read_view_target(std::string_view create_query, std::string* database, std::string* table);

}  // namespace sluice::clickhouse
