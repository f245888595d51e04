#include "server.h"

#include <algorithm>
#include <numeric>

#include "time_text.h"
#include "value_encoder.h"

namespace sluice::clickhouse {
namespace {

constexpr const char* kBlockRows = "1048576";

Answer request(const TargetRules& rules, size_t server, HttpClient& client, Parameters parameters,
               std::string_view body, bool gzip) {
  // With this the status is that of the finished work, not of its beginning.
  parameters.insert(parameters.begin(), {{"database", rules.database}, {"wait_end_of_query", "1"}});
  Answer out;
  HttpAnswer http;
  HttpFailure failure;
  if (!client.post(url_with(rules.servers[server], parameters), body, gzip, &http, &failure)) {
    out.error = {failure.needs_person ? ErrorClass::kFatal : ErrorClass::kTransient, 0, failure.text, true};
    return out;
  }
  out.body = std::move(http.body);
  out.ok = http.status == 200 && http.exception_code == 0;
  if (!out.ok) out.error = read_server_error(http.status, http.exception_code, out.body);
  return out;
}

size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string where_table(const TargetRules& rules) { return "where database = " + quoted_text(rules.database); }

Status check_settings(const TargetRules& rules, const ServerInfo& info) {
  for (const auto& [name, value] : rules.settings) {
    if (info.settings.count(name) > 0) continue;
    const std::string near = nearest_name(name, info.settings);
    return Status::fatal("`settings`: ClickHouse " + info.version + " has no setting " + name +
                         (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  return Status::ok();
}

void choose_parameters(const TargetRules& rules, ServerInfo* info) {
  const auto send = [&](const char* name, const char* value) {
    const bool own =
        std::any_of(rules.settings.begin(), rules.settings.end(), [&](const auto& s) { return s.first == name; });
    if (!own && info->settings.count(name) > 0) info->insert_parameters.emplace_back(name, value);
  };
  // An insert is answered when it is done, is one block, and says when it does not fit.
  send("async_insert", "0");
  send("max_insert_block_size", kBlockRows);
  send("min_insert_block_size_rows", kBlockRows);
  send("input_format_skip_unknown_fields", "0");
  send("input_format_with_names_use_header", "1");
  send("input_format_with_types_use_header", "1");
  if (rules.exactly_once) {
    send("insert_deduplicate", "1");
    send("deduplicate_insert", "enable");
  }
  info->deduplicates_in_views = info->settings.count(kDeduplicateInViews) > 0 && info->settings.count(kViewTokens) > 0;
  if (info->deduplicates_in_views) {
    send(kDeduplicateInViews, "1");
    send(kViewTokens, "1");
  }
  for (const auto& s : rules.settings) info->insert_parameters.push_back(s);
  info->checks_types = info->settings.count("input_format_with_types_use_header") > 0;
}

// Replicas share a place in ZooKeeper, Distributed tables name what they stand for; others are where their data is.
Status read_identity(const TargetRules& rules, size_t server, HttpClient& client, ServerInfo* info) {
  const std::string& engine = info->layout->engine;
  if (engine == "Distributed") {
    info->table_identity = info->layout->engine_full;
    return Status::ok();
  }
  std::string sql = "select concat(toString(uuid), ' on Cloud') from system.tables ";
  if (engine.rfind("Replicated", 0) == 0) {
    sql = "select zookeeper_path from system.replicas ";
  } else if (!is_shared_engine(engine)) {
    // Servers before 20 have one path only.
    Answer a = run_query(rules, server, client,
                         "select name from system.columns where database = 'system' and table = 'tables' and name in "
                         "('data_path', 'data_paths') format TabSeparated");
    if (!a.ok) return status_of(rules, server, a.error);
    const auto columns = read_tsv(a.body);
    sql = "select concat(hostName(), ':', toString(" + (columns.empty() ? "database" : columns[0][0]) +
          ")) from system.tables ";
  }
  sql += where_table(rules) + (engine.rfind("Replicated", 0) == 0 ? " and table = " : " and name = ") +
         quoted_text(rules.table) + " format TabSeparated";
  Answer a = run_query(rules, server, client, sql);
  if (!a.ok) return status_of(rules, server, a.error);
  const auto rows = read_tsv(a.body);
  info->table_identity = engine + " " + (rows.empty() ? "" : rows[0][0]);
  return Status::ok();
}

}  // namespace

std::string nearest_name(const std::string& name, const std::set<std::string>& known) {
  std::string best;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& k : known)
    if (const size_t d = distance(name, k); d < least) {
      least = d;
      best = k;
    }
  return best;
}

Status status_of(const TargetRules& rules, size_t server, const ServerError& e) {
  const std::string text = rules.servers[server] + ": " + e.text;
  if (e.what == ErrorClass::kTransient) return Status::retry(text, 500);
  const std::string out = way_out(e.code);
  return Status::fatal(text + (out.empty() ? "" : ": " + out));
}

Answer run_query(const TargetRules& rules, size_t server, HttpClient& client, const std::string& sql,
                 const Parameters& parameters) {
  return request(rules, server, client, parameters, sql, false);
}

Answer read_columns(const TargetRules& rules, size_t server, HttpClient& client) {
  return run_query(rules, server, client,
                   "select name, type, default_kind from system.columns " + where_table(rules) +
                       " and table = " + quoted_text(rules.table) + " format TabSeparated");
}

Status read_server(const TargetRules& rules, size_t server, HttpClient& client, std::shared_ptr<const ServerInfo>* out,
                   bool make) {
  auto info = std::make_shared<ServerInfo>();
  const auto ask = [&](const std::string& sql, std::string* answer) {
    Answer a = run_query(rules, server, client, sql);
    if (!a.ok) return status_of(rules, server, a.error);
    *answer = std::move(a.body);
    return Status::ok();
  };
  std::string answer, table;
  SLUICE_CHECK_OK(ask("select version(), timezone() format TabSeparated", &answer));
  const auto about = read_tsv(answer);
  if (about.empty() || about[0].size() != 2)
    return Status::fatal(rules.servers[server] + " does not answer as ClickHouse does: " + shown_answer(answer));
  info->version = about[0][0];
  info->zone = about[0][1];
  SLUICE_CHECK_OK(ask("select name from system.settings format TabSeparated", &answer));
  for (auto& row : read_tsv(answer)) info->settings.insert(std::move(row[0]));
  SLUICE_CHECK_OK(check_settings(rules, *info));
  choose_parameters(rules, info.get());

  if (make && !rules.create.empty()) {
    Answer made = run_query(rules, server, client, rules.create, rules.settings);
    constexpr int kAlreadyExists = 57;  // another lane was faster
    if (!made.ok && made.error.code != kAlreadyExists) {
      Status s = status_of(rules, server, made.error);
      return s.code() == SLUICE_RETRY ? s : Status::fatal("`create`: " + s.message());
    }
    if (made.ok && exception_code(made.body) != 0) return Status::fatal("`create`: " + made.body.substr(0, 600));
  }
  Answer columns = read_columns(rules, server, client);
  if (!columns.ok) return status_of(rules, server, columns.error);
  info->columns_answer = std::move(columns.body);
  SLUICE_CHECK_OK(ask("select engine, engine_full, partition_key, sorting_key from system.tables " +
                          where_table(rules) + " and name = " + quoted_text(rules.table) + " format TabSeparated",
                      &table));
  if (!make && !rules.create.empty() && info->columns_answer.empty()) {
    *out = std::move(info);
    return Status::ok();
  }
  SLUICE_CHECK_OK(read_layout(info->columns_answer, table, info->zone,
                              info->checks_types ? 0 : days_of_date(2105, 12, 31),
                              rules.table_name() + " on " + rules.servers[server], &info->layout));
  SLUICE_CHECK_OK(
      ask("select concat(d, '.', t) from system.tables array join dependencies_database as d, "
          "dependencies_table as t " +
              where_table(rules) + " and name = " + quoted_text(rules.table) + " format TabSeparated",
          &answer));
  for (auto& row : read_tsv(answer)) info->views.push_back(std::move(row[0]));
  if (rules.servers.size() > 1) SLUICE_CHECK_OK(read_identity(rules, server, client, info.get()));
  *out = std::move(info);
  return Status::ok();
}

Status check_same_table(const TargetRules& rules, size_t server, const ServerInfo& info, size_t other_server,
                        const ServerInfo& other) {
  if (info.table_identity == other.table_identity) return Status::ok();
  return Status::fatal("`servers`: " + rules.table_name() + " is one table on " + rules.servers[server] + " (" +
                       info.table_identity + ") and another on " + rules.servers[other_server] + " (" +
                       other.table_identity +
                       "), so after a change of server rows are in both, and no query of one of them finds all. Give "
                       "servers with replicas of one table (Replicated…MergeTree with one path), or one server" +
                       (rules.one_table ? "; `delivery: at_least_once` takes them as they are" : ""));
}

Answer insert_block(const TargetRules& rules, size_t server, const ServerInfo& info, HttpClient& client,
                    const Block& block) {
  std::string names, head, types;
  append_varint(block.columns.size(), &head);
  for (const uint32_t c : block.columns) {
    const Column& column = block.layout->columns[c];
    names += (names.empty() ? "" : ", ") + quoted_name(column.name);
    append_varint(column.name.size(), &head);
    head += column.name;
    append_varint(column.type.name.size(), &types);
    types += column.type.name;
  }
  Parameters parameters = info.insert_parameters;
  if (!block.token.empty() && info.settings.count("insert_deduplication_token") > 0)
    parameters.emplace_back("insert_deduplication_token", block.token);
  parameters.emplace_back("query", "insert into " + quoted_name(rules.database) + "." + quoted_name(rules.table) +
                                       " (" + names + ") format " +
                                       (info.checks_types ? "RowBinaryWithNamesAndTypes" : "RowBinary"));
  std::string body = info.checks_types ? head + types : std::string();
  if (rules.gzip || !body.empty()) {
    body += block.rows;
    if (rules.gzip) body = gzipped(body);
  }
  Answer a = request(rules, server, client, std::move(parameters), body.empty() ? std::string_view(block.rows) : body,
                     rules.gzip);
  // Nothing is said about an insert that went well.
  if (a.ok && a.body.find_first_not_of(" \r\n") != std::string::npos) {
    a.ok = false;
    a.error = read_server_error(200, 0, a.body);
  }
  return a;
}

}  // namespace sluice::clickhouse
