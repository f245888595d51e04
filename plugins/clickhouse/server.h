// One server of the list: what is known of it, and the requests that the sink makes.
#pragma once
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "block.h"
#include "http_client.h"
#include "server_error.h"
#include "sluice/status.hpp"
#include "table_layout.h"

namespace sluice::clickhouse {

// Read when the server is first used, and again when the table seems to have changed; never changed in place.
struct ServerInfo {
  std::string version, zone;
  std::set<std::string> settings;  // names that the server lists
  std::string columns_answer;      // system.columns, as it came
  std::shared_ptr<const TableLayout> layout;
  std::vector<std::string> views;  // materialized views on the table
  // The server knows blocks that are sent again in the tables of views as well, and only those.
  bool deduplicates_in_views = false;
  // With several servers: equal, and a row written on one is there on the other. Empty: not read.
  std::string table_identity;
  Parameters insert_parameters;  // with every insert
  // Blocks say their columns' names and types, and the server refuses others. Older servers take the bytes as they
  // come.
  bool checks_types = false;
};

// The same for all servers of a sink, and fixed once it is configured.
struct TargetRules {
  std::vector<std::string> servers;
  std::string database, table;
  std::string create;   // a statement, or empty
  Parameters settings;  // the user's own
  bool exactly_once = false;
  bool one_table = false;  // all servers must hold it; else rows may be on any of them
  bool gzip = false;
  std::chrono::milliseconds unknown_error_patience{120'000};  // see UnknownErrors
  std::string table_name() const { return database + "." + table; }
};

// The setting by which views tell apart equal rows of different inserts; where it is not known, deduplication in views
// would lose rows.
inline constexpr const char* kViewTokens = "update_insert_deduplication_token_in_dependent_materialized_views";
inline constexpr const char* kDeduplicateInViews = "deduplicate_blocks_in_dependent_materialized_views";

// Ok, or what went wrong. `server` indexes TargetRules::servers. Each is called by the owner of the client.
struct Answer {
  bool ok = false;
  ServerError error;
  std::string body;
};
Answer run_query(const TargetRules& rules, size_t server, HttpClient& client, const std::string& sql,
                 const Parameters& parameters = {});
// Sends the `create` statement, if there is one and `make` says so, then reads everything. Transient errors are RETRY.
// Without `make` the table may be missing when there is a statement for it: the layout is null then.
Status read_server(const TargetRules& rules, size_t server, HttpClient& client, std::shared_ptr<const ServerInfo>* out,
                   bool make = true);
// Fatal: a row that is written on the one server is not on the other. Both as they were read with several servers.
Status check_same_table(const TargetRules& rules, size_t server, const ServerInfo& info, size_t other_server,
                        const ServerInfo& other);
// Only the columns, as read_server() left them in columns_answer.
Answer read_columns(const TargetRules& rules, size_t server, HttpClient& client);
Answer insert_block(const TargetRules& rules, size_t server, const ServerInfo& info, HttpClient& client,
                    const Block& block);

// A failed request as a Status: RETRY when it is worth another try, else fatal with a way out.
Status status_of(const TargetRules& rules, size_t server, const ServerError& error);

// The name in `known` that is most like `name`; empty: none is like it.
std::string nearest_name(const std::string& name, const std::set<std::string>& known);

}  // namespace sluice::clickhouse
