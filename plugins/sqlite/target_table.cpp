#include "target_table.h"

#include <algorithm>

#include "decimal.h"
#include "sql_name.h"

namespace sluice::sqlite {
namespace {

constexpr size_t kMaxShapes = 64;

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& n : names) out += (out.empty() ? "" : ", ") + quoted_name(n);
  return out;
}

std::vector<std::string> folded_sorted(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& n : names) out.push_back(folded_name(n));
  std::sort(out.begin(), out.end());
  return out;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  const std::string wanted = folded_name(name);
  return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return folded_name(n) == wanted; });
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) out.emplace_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

std::string columns_problem(const std::vector<std::string>& columns) {
  std::map<std::string, std::string_view> seen;
  for (const auto& c : columns) {
    if (std::string problem = name_problem("column", c); !problem.empty()) return problem;
    const auto [first, is_new] = seen.emplace(folded_name(c), c);
    if (is_new) continue;
    return "the column \"" + c + "\" comes twice" + (first->second == c ? "" : " (SQLite does not tell A from a)");
  }
  return {};
}

// As SQLite finds columns: the case of ASCII letters does not count.
Value find_member(const Value& row, std::string_view column) {
  const Value exact = row.find(column);
  if (!exact.is_absent()) return exact;
  const std::string folded = folded_name(column);
  for (size_t i = 0; i < row.size(); ++i)
    if (folded_name(row.name(i)) == folded) return row.member(i);
  return {};
}

}  // namespace

// SQLite's own rules, https://www.sqlite.org/datatype3.html section 3.1.
TargetTable::Affinity TargetTable::affinity_of(std::string declared_type) {
  const std::string type = folded_name(declared_type);
  const auto has = [&](const char* part) { return type.find(part) != std::string::npos; };
  if (has("int")) return Affinity::kInteger;
  if (has("char") || has("clob") || has("text")) return Affinity::kText;
  if (type.empty() || has("blob")) return Affinity::kNone;
  if (has("real") || has("floa") || has("doub")) return Affinity::kReal;
  return Affinity::kNumeric;
}

std::string TargetTable::type_of(const std::string& column) const {
  const auto it = rules_->types.find(folded_name(column));
  return it == rules_->types.end() ? "TEXT" : it->second;
}

const TargetTable::Column* TargetTable::find_column(std::string_view name) const {
  const auto it = columns_.find(folded_name(name));
  return it == columns_.end() ? nullptr : &it->second;
}

void TargetTable::forget() noexcept {
  loaded_ = false;
  shapes_.clear();
  erase_ = Statement();
  erase_key_.clear();
}

Status TargetTable::load(const Database& db) {
  loaded_ = exists_ = is_view_ = false;
  columns_.clear();
  primary_key_.clear();
  unique_keys_.clear();
  Statement kind;
  SLUICE_CHECK_OK(
      db.prepare("select type from sqlite_master where name = ?1 collate nocase and type in ('table', 'view')", &kind));
  kind.bind_text(1, name_);
  const int found = kind.step();
  if (found != SQLITE_ROW && found != SQLITE_DONE) return db.failure(found, "read");
  exists_ = found == SQLITE_ROW;
  is_view_ = exists_ && kind.text(0) == "view";
  kind.reset();
  if (exists_ && !is_view_) {
    Statement info;
    SLUICE_CHECK_OK(db.prepare("select name, type, pk from pragma_table_xinfo(?1) order by pk", &info));
    info.bind_text(1, name_);
    int result = SQLITE_ROW;
    while ((result = info.step()) == SQLITE_ROW) {
      const std::string name(info.text(0));
      columns_[folded_name(name)] = {name, affinity_of(std::string(info.text(1)))};
      if (info.integer(2) > 0) primary_key_.push_back(name);
    }
    if (result != SQLITE_DONE) return db.failure(result, "read");
    SLUICE_CHECK_OK(load_unique_keys(db));
  }
  loaded_ = true;
  return Status::ok();
}

Status TargetTable::load_unique_keys(const Database& db) {
  if (!primary_key_.empty()) unique_keys_.push_back(folded_sorted(primary_key_));
  Statement list;
  SLUICE_CHECK_OK(
      db.prepare("select i.name, c.name from pragma_index_list(?1) i, pragma_index_info(i.name) c "
                 "where i.\"unique\" = 1 and i.partial = 0 order by i.name, c.seqno",
                 &list));
  list.bind_text(1, name_);
  std::map<std::string, Names> indexes;
  int result = SQLITE_ROW;
  while ((result = list.step()) == SQLITE_ROW) indexes[std::string(list.text(0))].emplace_back(list.text(1));
  if (result != SQLITE_DONE) return db.failure(result, "read");
  for (const auto& [name, columns] : indexes) unique_keys_.push_back(folded_sorted(columns));
  return Status::ok();
}

bool TargetTable::has_unique_key(const Names& key) const {
  return std::find(unique_keys_.begin(), unique_keys_.end(), folded_sorted(key)) != unique_keys_.end();
}

Status TargetTable::compare(const TableSchema& schema, Names* missing) const {
  missing->clear();
  if (is_view_) return Status::bad_record("\"" + name_ + "\" is a view");
  if (!exists_) {
    *missing = schema.columns;
    return Status::ok();
  }
  if (rules_->upsert && !has_unique_key(schema.key)) {
    const std::string has = primary_key_.empty() ? "has no primary key" : "has the key (" + joined(primary_key_) + ")";
    return Status::bad_record("the table \"" + name_ + "\" is there and " + has + ", but the key must be (" +
                              joined(schema.key) + ")");
  }
  for (const auto& c : schema.columns)
    if (find_column(c) == nullptr) missing->push_back(c);
  return Status::ok();
}

Status TargetTable::apply(const Database& db, TableSchema schema) {
  if (loaded_ && exists_ && quarantine_.empty() && schema_ == schema) return Status::ok();
  std::string problem = name_problem("table", name_);
  if (problem.empty()) problem = columns_problem(schema.columns);
  if (problem.empty() && schema.columns.empty()) problem = "there are no columns";
  if (problem.empty() && rules_->upsert && schema.key.empty()) problem = "there is no key column";
  for (const auto& k : schema.key)
    if (problem.empty() && !contains(schema.columns, k))
      problem = "the key column \"" + k + "\" is not among the columns";
  Status s = problem.empty() ? bring_about(db, schema) : Status::bad_record(problem);
  if (s.code() == SLUICE_BAD_RECORD) quarantine_ = s.message();
  if (!s.is_ok()) return s;
  quarantine_.clear();
  schema_ = std::move(schema);
  shapes_.clear();
  erase_key_.clear();
  return Status::ok();
}

Status TargetTable::has_room_for(const Database& db, const Names& missing) const {
  const size_t columns = exists_ ? columns_.size() + missing.size() : missing.size();
  if (columns <= db.max_columns()) return Status::ok();
  return Status::bad_record("the table \"" + name_ + "\" would have " + std::to_string(columns) +
                            " columns with those that it lacks; SQLite allows " + std::to_string(db.max_columns()));
}

Status TargetTable::bring_about(const Database& db, const TableSchema& schema) {
  Names missing;
  SLUICE_CHECK_OK(load(db));
  SLUICE_CHECK_OK(compare(schema, &missing));
  if (missing.empty()) return Status::ok();
  if (!rules_->create && !exists_)
    return Status::bad_record("the table \"" + name_ + "\" is not there, and `create` is false");
  if (!rules_->create)
    return Status::bad_record("the table \"" + name_ + "\" has no column " + joined(missing) +
                              ", and `create` is false");
  SLUICE_CHECK_OK(has_room_for(db, missing));
  if (db.in_transaction()) return exists_ ? add_columns(db, missing) : create(db, schema);

  SLUICE_CHECK_OK(db.begin());
  // Another lane may have done the same in between.
  Status s = load(db);
  if (s.is_ok()) s = compare(schema, &missing);
  if (s.is_ok()) s = has_room_for(db, missing);
  if (s.is_ok() && !missing.empty()) s = exists_ ? add_columns(db, missing) : create(db, schema);
  if (s.is_ok()) s = db.commit();
  if (!s.is_ok()) {
    db.rollback();
    forget();
  }
  return s;
}

Status TargetTable::create(const Database& db, const TableSchema& schema) {
  std::string sql = "create table " + quoted_name(name_) + " (";
  bool first = true;
  for (const auto& c : schema.columns) {
    sql += (first ? "" : ", ") + quoted_name(c) + " " + type_of(c);
    if (rules_->upsert && contains(schema.key, c)) sql += " not null";
    first = false;
  }
  // The key is how rows are found: without row ids there is one tree to look into, not two.
  sql += rules_->upsert ? ", primary key (" + quoted_list(schema.key) + ")) without rowid" : ")";
  was_changed_ = true;
  SLUICE_CHECK_OK(db.execute(sql));
  rules_->log("created the table " + quoted_name(name_) + " (" + joined(schema.columns) + ")");
  return load(db);
}

Status TargetTable::add_columns(const Database& db, const Names& columns) {
  was_changed_ = true;
  for (const auto& c : columns)
    SLUICE_CHECK_OK(
        db.execute("alter table " + quoted_name(name_) + " add column " + quoted_name(c) + " " + type_of(c)));
  rules_->log("added to the table " + quoted_name(name_) + ": " + joined(columns));
  return load(db);
}

Status TargetTable::refused() const {
  return Status::bad_record("the table \"" + name_ + "\" is quarantined: " + quarantine_);
}

Status TargetTable::key_for(const Value& row, Names* key) const {
  key->clear();
  if (!rules_->upsert) return Status::ok();
  if (schema_) {
    *key = schema_->key;
  } else if (!rules_->key.empty()) {
    *key = rules_->key;
  } else if (!rules_->key_field.empty() && row.find(rules_->key_field).is_string()) {
    *key = split_at_commas(row.find(rules_->key_field).text());
  }
  if (key->empty()) *key = primary_key_;
  if (key->empty())
    return Status::bad_record("no key is known for the table \"" + name_ +
                              "\": set `key`, or let a schema record come before its rows");
  return Status::ok();
}

TargetTable::Shape* TargetTable::find_shape(const Value& row) {
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = *shapes_[i];
    if (shape.members.size() != row.size()) continue;
    size_t same = 0;
    while (same < row.size() && row.name(same) == shape.members[same]) ++same;
    if (same < row.size()) continue;
    if (i > 0)
      std::rotate(shapes_.begin(), shapes_.begin() + static_cast<ptrdiff_t>(i),
                  shapes_.begin() + static_cast<ptrdiff_t>(i) + 1);
    return shapes_.front().get();
  }
  return nullptr;
}

// Sees to it that the table has the columns of a row.
Status TargetTable::prepare_for(const Database& db, const Names& columns, const Names& key) {
  for (const auto& k : key)
    if (!contains(columns, k)) return Status::bad_record("the row has no key column \"" + k + "\"");
  TableSchema wanted = exists_ || !schema_ ? TableSchema{columns, key} : *schema_;
  Names missing;
  SLUICE_CHECK_OK(compare(wanted, &missing));
  if (missing.empty()) return Status::ok();
  if (exists_ && schema_)
    return Status::bad_record("the table \"" + name_ + "\" has no column " + joined(missing) +
                              ", and its schema record names none");
  return bring_about(db, wanted);
}

Status TargetTable::make_shape(const Database& db, const Value& row, Shape** out) {
  if (std::string problem = name_problem("table", name_); !problem.empty()) return Status::bad_record(problem);
  Names columns, key;
  for (size_t i = 0; i < row.size(); ++i)
    if (is_column(row.name(i))) columns.emplace_back(row.name(i));
  if (columns.empty()) return Status::bad_record("the row has no columns");
  if (std::string problem = columns_problem(columns); !problem.empty()) return Status::bad_record(problem);
  if (!loaded_) SLUICE_CHECK_OK(load(db));
  SLUICE_CHECK_OK(key_for(row, &key));
  SLUICE_CHECK_OK(prepare_for(db, columns, key));

  auto shape = std::make_unique<Shape>();
  std::string values, updates;
  int parameter = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string name(row.name(i));
    shape->members.push_back(name);
    const bool column = is_column(name);
    shape->parameters.push_back(column ? ++parameter : 0);
    shape->affinities.push_back(column && find_column(name) != nullptr ? find_column(name)->affinity : Affinity::kText);
    if (!column) continue;
    values += (values.empty() ? "?" : ", ?") + std::to_string(parameter);
    if (contains(key, name)) {
      shape->key_members.push_back(i);
    } else {
      updates += (updates.empty() ? "" : ", ") + quoted_name(name) + " = excluded." + quoted_name(name);
    }
  }
  std::string sql = "insert into " + quoted_name(name_) + " (" + quoted_list(columns) + ") values (" + values + ")";
  if (rules_->upsert)
    sql += " on conflict (" + quoted_list(key) + ") do " + (updates.empty() ? "nothing" : "update set " + updates);
  SLUICE_CHECK_OK(db.prepare(sql, &shape->statement));
  if (shapes_.size() >= kMaxShapes) shapes_.pop_back();
  shapes_.insert(shapes_.begin(), std::move(shape));
  *out = shapes_.front().get();
  return Status::ok();
}

Status TargetTable::put(const Database& db, const Value& row) {
  if (!quarantine_.empty()) return refused();
  if (find_shape(row) != nullptr) return put_and_look_again(db, row);
  // The table may be changed for the row: when that is refused, the table is what it was.
  was_changed_ = false;
  SLUICE_CHECK_OK(db.execute("savepoint before_row"));
  Status s = put_and_look_again(db, row);
  if (!db.in_transaction()) return s;
  if (s.code() == SLUICE_BAD_RECORD && was_changed_) {
    forget();
    SLUICE_CHECK_OK(db.execute("rollback to before_row"));
  }
  SLUICE_CHECK_OK(db.execute("release before_row"));
  return s;
}

Status TargetTable::put_and_look_again(const Database& db, const Value& row) {
  int result = SQLITE_OK;
  Status s = put_once(db, row, &result);
  if ((result & 0xFF) != SQLITE_ERROR || s.code() != SLUICE_BAD_RECORD) return s;
  // The table was changed by others since it was looked at.
  forget();
  return put_once(db, row, &result);
}

Status TargetTable::put_once(const Database& db, const Value& row, int* result) {
  *result = SQLITE_OK;
  Shape* shape = find_shape(row);
  if (shape == nullptr) SLUICE_CHECK_OK(make_shape(db, row, &shape));
  for (const size_t i : shape->key_members)
    if (row.member(i).is_missing()) return Status::bad_record("the key column \"" + shape->members[i] + "\" is null");
  texts_.clear();
  Status s;
  for (size_t i = 0; i < shape->members.size() && s.is_ok(); ++i)
    if (shape->parameters[i] > 0) {
      s = bind(&shape->statement, shape->parameters[i], shape->affinities[i], row.member(i));
      if (s.code() == SLUICE_BAD_RECORD) s = Status::bad_record("column \"" + shape->members[i] + "\": " + s.message());
    }
  if (s.is_ok()) {
    *result = shape->statement.step();
    if (*result != SQLITE_DONE) s = db.failure(*result, "write to");
  }
  shape->statement.reset();
  return s;
}

Status TargetTable::erase(const Database& db, const Value& row) {
  if (!quarantine_.empty()) return refused();
  if (std::string problem = name_problem("table", name_); !problem.empty()) return Status::bad_record(problem);
  if (!loaded_) SLUICE_CHECK_OK(load(db));
  if (!exists_) return Status::ok();
  Names key;
  SLUICE_CHECK_OK(key_for(row, &key));
  if (key != erase_key_) {
    std::string sql = "delete from " + quoted_name(name_) + " where ";
    for (size_t i = 0; i < key.size(); ++i) {
      if (find_column(key[i]) == nullptr)
        return Status::bad_record("the table \"" + name_ + "\" has no key column \"" + key[i] + "\"");
      sql += (i > 0 ? " and " : "") + quoted_name(key[i]) + " = ?" + std::to_string(i + 1);
    }
    SLUICE_CHECK_OK(db.prepare(sql, &erase_));
    erase_key_ = key;
  }
  texts_.clear();
  Status s;
  for (size_t i = 0; i < key.size() && s.is_ok(); ++i) {
    const Value value = find_member(row, key[i]);
    s = value.is_missing() ? Status::bad_record("the row to delete has no key column \"" + key[i] + "\"")
                           : bind(&erase_, static_cast<int>(i + 1), find_column(key[i])->affinity, value);
  }
  if (s.is_ok()) {
    const int result = erase_.step();
    if (result != SQLITE_DONE) s = db.failure(result, "write to");
  }
  erase_.reset();
  return s;
}

// Text columns get what was written, digit for digit. In columns of other types SQLite would convert a number, or a text
// that is one, and round what it cannot hold: what would not come back equal is refused.
Status TargetTable::bind(Statement* statement, int parameter, Affinity affinity, const Value& value) {
  const bool whole_numbers = affinity == Affinity::kInteger || affinity == Affinity::kNumeric;
  switch (value.type()) {
    case SLUICE_ABSENT:
    case SLUICE_NULL:
      statement->bind_null(parameter);
      return Status::ok();
    case SLUICE_BOOL:
      if (whole_numbers) {
        statement->bind_integer(parameter, value.boolean() ? 1 : 0);
      } else {
        statement->bind_text(parameter, value.text());
      }
      return Status::ok();
    case SLUICE_INT64:
      if (whole_numbers) {
        statement->bind_integer(parameter, *value.int64());
        return Status::ok();
      }
      texts_.push_back(std::to_string(*value.int64()));
      return bind_text_of_number(statement, parameter, affinity, texts_.back());
    case SLUICE_NUMBER:
    case SLUICE_STRING:
      return bind_text_of_number(statement, parameter, affinity, value.text());
    case SLUICE_INVALID:
      return Status::bad_record(std::string(value.text()));
    case SLUICE_ARRAY:
    case SLUICE_OBJECT:
      statement->bind_text(parameter, value.text());
      return Status::ok();
    default: {
      std::string_view json;
      SLUICE_CHECK_OK(rules_->to_json(value, &json));
      if (value.is_number()) return bind_text_of_number(statement, parameter, affinity, json);
      statement->bind_text(parameter, json);
      return Status::ok();
    }
  }
}

Status TargetTable::bind_text_of_number(Statement* statement, int parameter, Affinity affinity, std::string_view text) {
  const bool whole_numbers = affinity == Affinity::kInteger || affinity == Affinity::kNumeric;
  std::optional<Decimal> number;
  if (whole_numbers || affinity == Affinity::kReal) number = Decimal::read(text);
  if (!number) {
    statement->bind_text(parameter, text);
    return Status::ok();
  }
  const auto refused = [&](const char* why) {
    return Status::bad_record("the number " + std::string(text.substr(0, 80)) + " " + why + "; a TEXT column keeps it");
  };
  if (whole_numbers && number->is_whole()) {
    const auto whole = number->int64();
    if (!whole) return refused("does not fit into 64 bits");
    statement->bind_integer(parameter, *whole);
    return Status::ok();
  }
  const auto real = number->real();
  if (!real) return refused("would be rounded, or become infinite or zero");
  statement->bind_real(parameter, *real);
  return Status::ok();
}

}  // namespace sluice::sqlite
