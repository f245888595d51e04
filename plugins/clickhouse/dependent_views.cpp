#include "dependent_views.h"

#include <cctype>
#include <deque>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::clickhouse {
namespace {

struct Name {
  std::string database, table;
  bool operator<(const Name& o) const { return std::tie(database, table) < std::tie(o.database, o.table); }
  std::string text() const { return database + "." + table; }
  std::string where() const {
    return " where database = " + quoted_text(database) + " and name = " + quoted_text(table);
  }
};

// A name in backquotes or without, and where it ends.
std::string take_name(std::string_view t, size_t* at) {
  std::string out;
  if (*at < t.size() && t[*at] == '`') {
    for (++*at; *at < t.size() && t[*at] != '`'; ++*at) {
      if (t[*at] == '\\' && *at + 1 < t.size()) ++*at;
      out += t[*at];
    }
    ++*at;
    return out;
  }
  while (*at < t.size() && (std::isalnum(static_cast<unsigned char>(t[*at])) != 0 || t[*at] == '_')) out += t[(*at)++];
  return out;
}

// Walks from the table to the tables that its rows get into by way of views.
class Search {
 public:
  Search(const TargetRules& rules, size_t server, HttpClient& client, const DeduplicationWindow& window)
      : rules_(rules), server_(server), client_(client), window_(window) {}

  Status run() {
    Rows columns;
    SLUICE_CHECK_OK(
        ask("select count() from system.columns where database = 'system' and table = 'tables' and name = "
            "'target_table'",
            &columns));
    says_target_ = !columns.empty() && columns[0][0] != "0";
    std::deque<Name> open = {{rules_.database, rules_.table}};
    std::set<Name> seen;
    while (!open.empty()) {
      const Name source = open.front();
      open.pop_front();
      if (!seen.insert(source).second) continue;
      Rows views;
      SLUICE_CHECK_OK(
          ask("select d, t from system.tables array join dependencies_database as d, dependencies_table "
              "as t" +
                  source.where(),
              &views));
      for (const auto& v : views) {
        Name target;
        SLUICE_CHECK_OK(target_of({v[0], v[1]}, &target));
        if (target.table.empty()) continue;
        SLUICE_CHECK_OK(check_target({v[0], v[1]}, target));
        open.push_back(target);
      }
    }
    return Status::ok();
  }

 private:
  using Rows = std::vector<std::vector<std::string>>;

  Status ask(const std::string& sql, Rows* rows) {
    Answer a = run_query(rules_, server_, client_, sql + " format TabSeparated");
    if (!a.ok) return status_of(rules_, server_, a.error);
    *rows = read_tsv(a.body);
    return Status::ok();
  }

  // Empty: inserts do not get there by way of this view.
  Status target_of(const Name& view, Name* target) {
    Rows rows;
    SLUICE_CHECK_OK(ask("select create_table_query, toString(uuid), " +
                            std::string(says_target_ ? "target_database, target_table" : "'', ''") +
                            " from system.tables" + view.where(),
                        &rows));
    if (rows.empty()) return Status::fatal(unknown(view));
    const auto& row = rows[0];
    const std::string head = row[0].substr(0, row[0].find(" AS "));
    if (head.find("MATERIALIZED VIEW") == std::string::npos || head.find(" REFRESH ") != std::string::npos)
      return Status::ok();
    *target = {row[2], row[3]};
    if (target->table.empty()) read_view_target(head, &target->database, &target->table);
    if (target->table.empty())
      *target = {view.database,
                 row[1].find_first_not_of("0-") == std::string::npos ? ".inner." + view.table : ".inner_id." + row[1]};
    if (target->database.empty()) target->database = view.database;
    return Status::ok();
  }

  Status check_target(const Name& view, const Name& target) {
    Rows rows;
    SLUICE_CHECK_OK(ask("select engine, engine_full from system.tables" + target.where(), &rows));
    if (rows.empty()) return Status::fatal(unknown(view));
    const std::string& engine = rows[0][0];
    const std::string start =
        "`delivery: exactly_once`: the materialized view " + view.text() + " writes into " + target.text() + ", ";
    if (engine == "Null") return Status::ok();  // keeps nothing; views on it come next
    if (engine.find("MergeTree") == std::string::npos)
      return Status::fatal(start + "a " + engine +
                           ", which does not remember its inserts: a block that is sent again would be in twice. Let "
                           "it write into a MergeTree with a deduplication window, or make it a view on another table");
    DeduplicationWindow own;
    Answer a = read_window(rules_, server_, client_, engine, rows[0][1], &own);
    if (!a.ok) return status_of(rules_, server_, a.error);
    if (own.inserts >= window_.inserts) return Status::ok();
    return Status::fatal(start + "which remembers " + std::to_string(own.inserts) + " inserts (" + own.setting +
                         "), and the table " + std::to_string(window_.inserts) +
                         ": a block that is sent again could be in twice. Run: alter table " +
                         quoted_name(target.database) + "." + quoted_name(target.table) + " modify setting " +
                         own.setting + " = " + std::to_string(window_.inserts));
  }

  static std::string unknown(const Name& view) {
    return "`delivery: exactly_once`: the user may not see the materialized view " + view.text() +
           " or the table that it writes into: grant it SHOW TABLES on both, since that table must remember its "
           "inserts";
  }

  const TargetRules& rules_;
  const size_t server_;
  HttpClient& client_;
  const DeduplicationWindow& window_;
  bool says_target_ = false;
};

}  // namespace

void read_view_target(std::string_view create_query, std::string* database, std::string* table) {
  database->clear();
  table->clear();
  constexpr std::string_view kView = "VIEW ";
  size_t at = create_query.find(kView);
  if (at == std::string_view::npos) return;
  at += kView.size();
  take_name(create_query, &at);
  if (at < create_query.size() && create_query[at] == '.') take_name(create_query, &++at);
  constexpr std::string_view kUuid = " UUID '";
  if (create_query.substr(at, kUuid.size()) == kUuid) {
    at = create_query.find('\'', at + kUuid.size());
    if (at == std::string_view::npos) return;
    ++at;
  }
  constexpr std::string_view kTo = " TO ";
  if (create_query.substr(at, kTo.size()) != kTo) return;
  at += kTo.size();
  *table = take_name(create_query, &at);
  if (at < create_query.size() && create_query[at] == '.') {
    *database = std::exchange(*table, {});
    *table = take_name(create_query, &++at);
  }
}

Status check_dependent_views(const TargetRules& rules, const ServerInfo& info, size_t server, HttpClient& client,
                             const DeduplicationWindow& window) {
  if (info.views.empty()) return Status::ok();
  if (!info.deduplicates_in_views)
    return Status::fatal("`delivery: exactly_once`: " + rules.table_name() + " has the materialized view " +
                         info.views.front() + ", and " + rules.servers[server] + " (" + info.version +
                         ") does not know " + std::string(kViewTokens) +
                         ": a block that is sent again would be in the view twice, or not at all. Use a newer server, "
                         "or a table without views");
  return Search(rules, server, client, window).run();
}

}  // namespace sluice::clickhouse
