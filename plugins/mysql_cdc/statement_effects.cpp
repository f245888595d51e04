#include "statement_effects.h"

#include <algorithm>

#include "decode/column.h"
#include "server_facts.h"

namespace sluice_mysql {
namespace {

constexpr unsigned kNoDatabase = 1046, kNoSuchFunction = 1305;
const char* const kDoing = "see what a statement in the binlog may have changed";

std::string text_of(const TableName& t) { return t.database + "." + t.table; }

std::string where_table(Connection* connection, const TableName& t, const char* schema, const char* table) {
  return std::string(" WHERE ") + schema + "=" + connection->quoted(t.database) + " AND " + table + "=" +
         connection->quoted(t.table);
}

}  // namespace

void StatementEffects::forget() {
  harmless_.clear();
  cascades_.reset();
}

Outcome StatementEffects::look(Connection* connection, const RowStatement& statement, const TableFilter& filter,
                               std::string* why) {
  why->clear();
  const auto once = [&](const std::string& what, const auto& ask) -> Outcome {
    if (!why->empty() || harmless_.count(what) > 0) return Outcome::ok();
    SLUICE_MYSQL_CHECK(ask());
    if (why->empty()) harmless_.insert(what);
    return Outcome::ok();
  };
  for (const TableName& t : statement.changed)
    SLUICE_MYSQL_CHECK(once("change " + text_of(t), [&] { return look_at_changed(connection, t, filter, why); }));
  for (const TableName& t : statement.read)
    SLUICE_MYSQL_CHECK(once("read " + text_of(t), [&] { return look_at_read(connection, t, why); }));
  for (const CalledFunction& f : statement.called)
    SLUICE_MYSQL_CHECK(once("call " + f.text, [&] { return look_at_call(connection, f, why); }));
  return Outcome::ok();
}

Outcome StatementEffects::look_at_changed(Connection* connection, const TableName& table, const TableFilter& filter,
                                          std::string* why) {
  if (table.database == "mysql") return Outcome::ok();  // the servers let nobody make triggers there
  const std::string name = text_of(table);
  SqlRows rows;
  SLUICE_MYSQL_CHECK(connection->query("SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES" +
                                           where_table(connection, table, "TABLE_SCHEMA", "TABLE_NAME"),
                                       kDoing, &rows));
  if (rows.empty()) {
    *why = name + " is not there now, or the user may not see it";
    return Outcome::ok();
  }
  const std::string type = rows[0][0].value_or("");
  if (type.find("VIEW") != std::string::npos || rows[0][1].value_or("") == "MRG_MyISAM") {
    *why = name + " is a " + (type.find("VIEW") != std::string::npos ? "view" : "MERGE table");
    return Outcome::ok();
  }
  SLUICE_MYSQL_CHECK(
      connection->query("SELECT TRIGGER_NAME FROM information_schema.TRIGGERS" +
                            where_table(connection, table, "EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE"),
                        kDoing, &rows));
  if (!rows.empty()) {
    *why = name + " has the trigger " + rows[0][0].value_or("");
    return Outcome::ok();
  }
  bool allowed = false;
  SLUICE_MYSQL_CHECK(may_see_triggers(connection, table, &allowed));
  if (!allowed) {
    *why = "the user may not see whether " + name + " has triggers (GRANT TRIGGER ON " + quote_name(table.database) +
           "." + quote_name(table.table) + " lets it)";
    return Outcome::ok();
  }
  return cascades(connection, table, filter, why);
}

Outcome StatementEffects::look_at_read(Connection* connection, const TableName& table, std::string* why) {
  SqlRows rows;
  SLUICE_MYSQL_CHECK(connection->query("SELECT 1 FROM information_schema.TABLES" +
                                           where_table(connection, table, "TABLE_SCHEMA", "TABLE_NAME") +
                                           " AND TABLE_TYPE='VIEW'",
                                       kDoing, &rows));
  if (!rows.empty()) *why = text_of(table) + " is a view, which may call functions";
  return Outcome::ok();
}

// A native function is refused for its arguments, if at all; one of another kind is one that is not found here.
Outcome StatementEffects::look_at_call(Connection* connection, const CalledFunction& function, std::string* why) {
  if (function.native) {
    const Outcome o = connection->query(
        "PREPARE sluice_call FROM " + connection->quoted("SELECT " + function.text + "()"), kDoing);
    const unsigned code = o.is_ok() ? 0 : connection->error_code();
    if (code >= 2000 && code < 3000) return o;
    if (code == 0) return connection->query("DEALLOCATE PREPARE sluice_call", kDoing);
    if (code != kNoDatabase && code != kNoSuchFunction) return Outcome::ok();
  }
  *why = "it calls " + function.text + ", which is stored at the server";
  return Outcome::ok();
}

Outcome StatementEffects::cascades(Connection* connection, const TableName& table, const TableFilter& filter,
                                   std::string* why) {
  if (!cascades_) {
    SqlRows rows;
    SLUICE_MYSQL_CHECK(connection->query(
        "SELECT UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, CONSTRAINT_SCHEMA, TABLE_NAME FROM "
        "information_schema.REFERENTIAL_CONSTRAINTS WHERE UPDATE_RULE IN ('CASCADE','SET NULL','SET DEFAULT') OR "
        "DELETE_RULE IN ('CASCADE','SET NULL','SET DEFAULT')",
        kDoing, &rows));
    cascades_.emplace();
    for (const SqlRow& r : rows)
      cascades_->push_back({{r[0].value_or(""), r[1].value_or("")}, {r[2].value_or(""), r[3].value_or("")}});
  }
  std::vector<TableName> reached{table};
  for (size_t i = 0; i < reached.size(); ++i)
    for (const Cascade& c : *cascades_) {
      if (!(c.parent == reached[i]) || std::find(reached.begin(), reached.end(), c.child) != reached.end()) continue;
      if (filter.matches(c.child.database, c.child.table)) {
        *why = "a foreign key of " + text_of(c.child) + " follows " + text_of(table);
        return Outcome::ok();
      }
      reached.push_back(c.child);
    }
  return Outcome::ok();
}

}  // namespace sluice_mysql
