// A table that rows are written to: what is known of it in Phoenix, what a schema record wants it to be, and its rows
// as parameters of statements.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "avatica.pb.h"
#include "phoenix/column_type.h"
#include "phoenix/failure.h"
#include "phoenix/session.h"
#include "phoenix/sql_name.h"
#include "sluice/value.hpp"

namespace sluice::phoenix {

struct TableSchema {
  std::vector<std::string> columns, key;
  std::string options;  // of the `create table` statement
  bool operator==(const TableSchema& o) const { return columns == o.columns && key == o.key && options == o.options; }
};

// What holds for all tables of a sink.
struct TableRules {
  std::string schema;  // Phoenix's name; empty: none
  Case letters = Case::kUpper;
  bool create = true;                        // schema, tables and columns may be made
  std::vector<std::string> key;              // for tables without a schema record; may be empty
  std::map<std::string, std::string> types;  // Phoenix's column name → type in SQL; others are VARCHAR
  bool zero_dates_are_null = true;           // but in keys; else they are refused
  std::string table_field, key_field;        // members that say where a row goes and are no columns; may be empty
  // For looking at tables and changing them, not for rows. `anew`: the last one was lost.
  std::function<Failure(bool anew, Session**)> session;
  std::function<Status(const Value&, std::string_view*)> to_json;
  std::function<void(const std::string&)> made;  // something was created or added; a line for the log
};

// A row as it goes to Phoenix.
struct BoundRow {
  std::shared_ptr<const std::string> sql;
  bool deletes = false;
  std::string key;       // two rows with the same are of one key
  size_t key_bytes = 0;  // of its texts and bytes; HBase's own key is at least so long
  int64_t zero_dates = 0;  // that are NULL
  avatica::UpdateBatch values;
};

// Owned by one PhoenixSink, used by its lane only. kBadValue and kRefused of each call mean that this row (or schema)
// can never succeed and nothing was changed; other failures are about the server.
class TargetTable {
 public:
  TargetTable(const TableRules* rules, std::string_view name);

  // Makes the table, or adds the columns that it lacks. When that is refused, the table is quarantined: its rows are
  // refused with the reason until a schema succeeds.
  Failure apply(TableSchema schema);
  // A table without a schema record is made from the row, and gets the row's new columns.
  Failure bind(const Value& row, BoundRow* out);
  // *there == false: there is no such table, so there is nothing to delete.
  Failure bind_delete(const Value& row, BoundRow* out, bool* there);
  // Can rows be written with this key (empty: whatever it has)? Changes nothing.
  Failure look(std::vector<std::string> key);
  // Asks HBase for its rows: Phoenix's catalog can have a table that HBase has lost.
  Failure touch() const;
  // What is known about the table may not hold any more.
  void forget() noexcept;
  // Phoenix did not find the table, or a column of it. Others may have changed it a moment ago, so it is looked for
  // again for some seconds. When they are over it stays away: rows are refused at once, until one has been written.
  void was_not_there() noexcept;
  void was_there() noexcept { looks_ = 0; }
  bool stays_away() const noexcept;
  // No such table, when it was looked for: worth another look.
  bool is_missing() const noexcept { return loaded_ && kind_.empty(); }

 private:
  using Names = std::vector<std::string>;
  // Rows with the same members in the same order share a statement.
  struct Shape {
    Names members;
    std::vector<bool> is_column;
    std::vector<ColumnType> types;
    std::vector<size_t> key_members;
    std::shared_ptr<const std::string> sql;
  };
  struct Delete {
    Names key;
    std::vector<ColumnType> types;
    std::shared_ptr<const std::string> sql;
  };

  std::string phoenix_name(std::string_view name) const { return phoenix::phoenix_name(name, rules_->letters); }
  std::string full_name() const;
  std::string columns_problem(const Names& columns) const;
  bool is_column(std::string_view member) const { return member != rules_->table_field && member != rules_->key_field; }
  Value find_member(const Value& row, std::string_view column) const;
  // Once more when the server has forgotten the session in the meantime.
  Failure ask(const std::string& sql, std::vector<avatica::Row>* rows) const;
  Failure load();
  // Empty *missing: the table is there and fits.
  Failure compare(const TableSchema& schema, Names* missing) const;
  Failure compare_letters(const TableSchema& schema) const;
  Failure bring_about(const TableSchema& schema);
  Failure look_for_other_case() const;
  Failure create(const TableSchema& schema);
  Failure add_columns(const Names& columns);
  Failure key_for(const Value& row, Names* key) const;
  Failure prepare_for(const Names& columns, const Names& key);
  Shape* find_shape(const Value& row);
  Failure make_shape(const Value& row, Shape** out);
  Failure bind_key_part(const std::string& column, const ColumnType& type, const Value& value, bool composite,
                        avatica::TypedValue* to, BoundRow* row) const;

  const TableRules* rules_;
  std::string name_, given_name_;      // Phoenix's; as the record has it
  std::optional<TableSchema> schema_;  // the newest that succeeded, with Phoenix's names
  std::string quarantine_;             // the reason; empty: none
  int looks_ = 0;                      // for something that should be there and was not
  std::chrono::steady_clock::time_point first_look_, last_look_;
  bool loaded_ = false;
  std::string kind_;  // SYSTEM.CATALOG.TABLE_TYPE; empty: not there
  std::map<std::string, ColumnType, std::less<>> columns_;
  Names primary_key_;
  std::vector<std::unique_ptr<Shape>> shapes_;  // the one used last is first
  std::vector<std::unique_ptr<Delete>> deletes_;
};

}  // namespace sluice::phoenix
