// A table that rows are written to: what is known of it in the file, what a schema record wants it to be, and the
// statements that write its rows.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "database.h"
#include "sluice/value.hpp"

namespace sluice::sqlite {

struct TableSchema {
  std::vector<std::string> columns, key;
  bool operator==(const TableSchema& other) const { return columns == other.columns && key == other.key; }
};

// What holds for all tables of a sink.
struct TableRules {
  bool upsert = true;                        // else rows are only ever added, and tables get no key
  bool create = true;                        // tables and columns may be made
  std::vector<std::string> key;              // for tables without a schema record; may be empty
  std::map<std::string, std::string> types;  // folded column name → type; others are TEXT
  std::string table_field, key_field;        // members that say where a row goes and are no columns; may be empty
  std::function<Status(const Value&, std::string_view*)> to_json;  // text lives until the sink's call returns
  std::function<void(const std::string&)> log;
};

// Owned by one SqliteSink, used by its lane only. Must die before the Database that its statements belong to.
//
// The Status of each call: bad_record means that this row (or schema) can never succeed and nothing was changed.
class TargetTable {
 public:
  TargetTable(const TableRules* rules, std::string name) : rules_(rules), name_(std::move(name)) {}

  // Makes the table, or adds the columns that it lacks; in the open transaction, else in one of its own. When that is
  // refused, the table is quarantined: its rows are refused with the reason until a schema succeeds.
  Status apply(const Database& db, TableSchema schema);
  // Both need an open transaction. A table without a schema record is made from the row, and gets the row's new
  // columns.
  Status put(const Database& db, const Value& row);
  Status erase(const Database& db, const Value& row);
  // What is known about the table may not hold any more: after a rollback, or a change by others.
  void forget() noexcept;
  // No such table, when it was looked for: worth another look.
  bool is_missing() const noexcept { return loaded_ && !exists_; }

 private:
  enum class Affinity { kText, kInteger, kReal, kNumeric, kNone };
  struct Column {
    std::string name;
    Affinity affinity = Affinity::kText;
  };
  // Rows with the same members in the same order share a statement.
  struct Shape {
    std::vector<std::string> members;
    std::vector<int> parameters;  // of each member; 0: not a column
    std::vector<Affinity> affinities;
    std::vector<size_t> key_members;
    Statement statement;
  };
  using Names = std::vector<std::string>;

  static Affinity affinity_of(std::string declared_type);
  Status load(const Database& db);
  Status load_unique_keys(const Database& db);
  bool has_unique_key(const Names& key) const;
  const Column* find_column(std::string_view name) const;
  std::string type_of(const std::string& column) const;
  // Empty *missing: the table is there and fits.
  Status compare(const TableSchema& schema, Names* missing) const;
  Status has_room_for(const Database& db, const Names& missing) const;
  Status bring_about(const Database& db, const TableSchema& schema);
  Status create(const Database& db, const TableSchema& schema);
  Status add_columns(const Database& db, const Names& columns);

  // A member without a name is none of the two, also where there are no such members.
  bool is_column(std::string_view member) const {
    return member.empty() || (member != rules_->table_field && member != rules_->key_field);
  }
  Status key_for(const Value& row, Names* key) const;
  Shape* find_shape(const Value& row);
  Status make_shape(const Database& db, const Value& row, Shape** out);
  Status prepare_for(const Database& db, const Names& columns, const Names& key);
  Status put_and_look_again(const Database& db, const Value& row);
  Status put_once(const Database& db, const Value& row, int* result);
  Status bind(Statement* statement, int parameter, Affinity affinity, const Value& value);
  static Status bind_text_of_number(Statement* statement, int parameter, Affinity affinity, std::string_view text);
  Status refused() const;

  const TableRules* rules_;
  std::string name_;
  std::optional<TableSchema> schema_;  // the newest that succeeded
  std::string quarantine_;             // the reason; empty: none
  bool loaded_ = false, exists_ = false, is_view_ = false;
  bool was_changed_ = false;               // made or given columns since the row at hand came
  std::map<std::string, Column> columns_;  // by folded name
  Names primary_key_;
  std::vector<Names> unique_keys_;              // folded and sorted, the primary key among them
  std::vector<std::unique_ptr<Shape>> shapes_;  // the one used last is first
  Statement erase_;
  Names erase_key_;
  std::deque<std::string> texts_;  // bound to the statement that runs
};

}  // namespace sluice::sqlite
