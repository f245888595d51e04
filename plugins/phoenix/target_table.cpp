#include "phoenix/target_table.h"

#include <algorithm>
#include <set>

#include "phoenix/table_options.h"

namespace sluice::phoenix {
namespace {

constexpr size_t kMaxShapes = 64;
constexpr int kLooksForATable = 3;
// A column that another lane has just added may stay unknown for a moment, here and on the server.
constexpr std::chrono::seconds kPatienceForATable{10};
constexpr size_t kMostKeyBytes = 32767;  // of a row in HBase
// Phoenix's error numbers. Another lane may do the same at the same moment.
constexpr int kNamespaceMappingOff = 725;
constexpr int kTableExists = 1013;
constexpr int kColumnExists = 514;

Failure bad_row(std::string text) { return Failure::of(FailureKind::kBadValue, std::move(text)); }
Failure refused(std::string text) { return Failure::of(FailureKind::kRefused, std::move(text)); }

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

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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

bool is_null(const avatica::TypedValue& v) { return v.null() || v.type() == avatica::NULL_VALUE; }

}  // namespace

TargetTable::TargetTable(const TableRules* rules, std::string_view name)
    : rules_(rules), name_(phoenix::phoenix_name(name, rules->letters)), given_name_(name) {}

std::string TargetTable::full_name() const {
  return rules_->schema.empty() ? quoted_name(name_) : quoted_name(rules_->schema) + "." + quoted_name(name_);
}

std::string TargetTable::columns_problem(const Names& columns) const {
  std::set<std::string> seen;
  for (const auto& c : columns) {
    if (std::string problem = name_problem("column", c); !problem.empty()) return problem;
    if (!seen.insert(c).second)
      return "the column \"" + c + "\" comes twice" +
             (rules_->letters == Case::kUpper ? " (with `case: upper` A and a are one column)" : "");
  }
  return {};
}

Value TargetTable::find_member(const Value& row, std::string_view column) const {
  for (size_t i = 0; i < row.size(); ++i)
    if (phoenix_name(row.name(i)) == column) return row.member(i);
  return {};
}

void TargetTable::forget() noexcept {
  loaded_ = false;
  shapes_.clear();
  deletes_.clear();
}

void TargetTable::was_not_there() noexcept {
  last_look_ = std::chrono::steady_clock::now();
  if (looks_++ == 0) first_look_ = last_look_;
}

bool TargetTable::stays_away() const noexcept {
  return looks_ > kLooksForATable && last_look_ - first_look_ > kPatienceForATable;
}

Failure TargetTable::touch() const {
  std::vector<avatica::Row> rows;
  Failure f = ask("select 1 from " + full_name() + " limit 1", &rows);
  if (f.kind == FailureKind::kNotThere)
    f.text += " (Phoenix knows the table, HBase has none: `drop table` it in Phoenix, and it can be made anew)";
  return f;
}

Failure TargetTable::ask(const std::string& sql, std::vector<avatica::Row>* rows) const {
  Failure f;
  for (const bool anew : {false, true}) {
    Session* session = nullptr;
    if (f = rules_->session(anew, &session); !f.ok()) return f;
    if (f = session->query(sql, rows); f.kind != FailureKind::kLost) return f;
  }
  return f;
}

Failure TargetTable::load() {
  loaded_ = false;
  kind_.clear();
  columns_.clear();
  primary_key_.clear();
  std::vector<avatica::Row> rows;
  Failure f =
      ask("select COLUMN_NAME, DATA_TYPE, KEY_SEQ, DECIMAL_DIGITS, TABLE_TYPE from SYSTEM.CATALOG where TENANT_ID is "
          "null and LINK_TYPE is null and TABLE_SCHEM " +
              (rules_->schema.empty() ? std::string("is null") : "= " + text_literal(rules_->schema)) +
              " and TABLE_NAME = " + text_literal(name_),
          &rows);
  if (!f.ok()) return f;
  std::map<int64_t, std::string> key;
  for (const auto& row : rows) {
    if (row.value_size() != 5)
      return Failure::of(FailureKind::kBusy, "SYSTEM.CATALOG answers with other columns than were asked for");
    const auto value = [&](int i) -> const avatica::TypedValue& { return row.value(i).scalar_value(); };
    if (!is_null(value(4))) kind_ = value(4).string_value();
    if (is_null(value(0))) continue;
    ColumnType type;
    type.id = static_cast<int>(value(1).number_value());
    if (!is_null(value(3))) type.scale = static_cast<int>(value(3).number_value());
    columns_[value(0).string_value()] = type;
    if (!is_null(value(2))) key[value(2).number_value()] = value(0).string_value();
  }
  for (const auto& [position, column] : key) primary_key_.push_back(column);
  loaded_ = true;
  return {};
}

// A column that somebody made with its name in quotes is probably the one that is meant; a second one beside it is not.
Failure TargetTable::compare_letters(const TableSchema& schema) const {
  if (rules_->letters == Case::kKeep) return {};
  for (const Names* names : {&schema.key, &schema.columns})
    for (const auto& c : *names) {
      if (columns_.count(c) != 0) continue;
      for (const auto& [there, type] : columns_)
        if (phoenix_name(there) == c)
          return refused(
              "the table " + full_name() + " has a column " + quoted_name(there) + ", and " + quoted_name(c) +
              " would be a second one whose name differs in the case of letters only; `case: keep` writes to "
              "names as they are");
    }
  return {};
}

Failure TargetTable::compare(const TableSchema& schema, Names* missing) const {
  missing->clear();
  if (kind_.empty()) {
    *missing = schema.columns;
    return {};
  }
  if (kind_ != "u")
    return refused(full_name() + (kind_ == "v"   ? " is a view"
                                  : kind_ == "i" ? " is an index"
                                                 : " is no table of users"));
  if (Failure f = compare_letters(schema); !f.ok()) return f;
  Names has = primary_key_, wanted = schema.key;
  std::sort(has.begin(), has.end());
  std::sort(wanted.begin(), wanted.end());
  if (has != wanted)
    return refused("the table " + full_name() + " is there and has the key (" + joined(primary_key_) +
                   "), but the key must be (" + joined(schema.key) + ")");
  for (const auto& c : schema.columns)
    if (columns_.count(c) == 0) missing->push_back(c);
  return {};
}

Failure TargetTable::look(Names key) {
  if (Failure f = load(); !f.ok()) return f;
  if (kind_.empty())
    return rules_->create ? Failure() : refused("the table " + full_name() + " is not there, and `create` is false");
  for (std::string& k : key) k = phoenix_name(k);
  Names missing;
  if (Failure f = compare({{}, key.empty() ? primary_key_ : key, {}}, &missing); !f.ok()) return f;
  return touch();
}

Failure TargetTable::apply(TableSchema schema) {
  std::string problem = name_problem("table", given_name_), options;
  for (Names* names : {&schema.columns, &schema.key})
    for (std::string& n : *names) n = phoenix_name(n);
  if (problem.empty()) problem = columns_problem(schema.columns);
  if (problem.empty()) problem = read_table_options(schema.options, &options);
  schema.options = options;
  if (loaded_ && !kind_.empty() && quarantine_.empty() && schema_ == schema && problem.empty()) return {};
  if (problem.empty() && schema.columns.empty()) problem = "there are no columns";
  if (problem.empty() && schema.key.empty()) problem = "there is no key column";
  for (const auto& k : schema.key)
    if (problem.empty() && !contains(schema.columns, k))
      problem = "the key column \"" + k + "\" is not among the columns";
  Failure f = problem.empty() ? bring_about(schema) : refused(problem);
  if (f.kind == FailureKind::kRefused || f.kind == FailureKind::kBadValue || f.kind == FailureKind::kNotThere) {
    quarantine_ = f.text;
    f.kind = FailureKind::kRefused;
  }
  if (!f.ok()) return f;
  quarantine_.clear();
  schema_ = std::move(schema);
  shapes_.clear();
  deletes_.clear();
  return {};
}

Failure TargetTable::bring_about(const TableSchema& schema) {
  Names missing;
  if (Failure f = load(); !f.ok()) return f;
  if (Failure f = compare(schema, &missing); !f.ok() || missing.empty()) return f;
  if (!rules_->create)
    return refused(kind_.empty()
                       ? "the table " + full_name() + " is not there, and `create` is false"
                       : "the table " + full_name() + " has no column " + joined(missing) + ", and `create` is false");
  if (kind_.empty()) {
    if (Failure f = create(schema); !f.ok()) return f;
    // Another lane may have been quicker, with fewer columns.
    if (Failure f = load(); !f.ok()) return f;
    if (kind_.empty())
      return Failure::of(FailureKind::kBusy, "the table " + full_name() + " was created and is not there");
    if (Failure f = compare(schema, &missing); !f.ok() || missing.empty()) return f;
  }
  if (Failure f = add_columns(missing); !f.ok()) return f;
  return load();
}

// A table that somebody made with its name in quotes is probably the one that is meant; a second one beside it is not.
Failure TargetTable::look_for_other_case() const {
  if (rules_->letters == Case::kKeep) return {};
  std::vector<avatica::Row> rows;
  Failure f =
      ask("select TABLE_NAME from SYSTEM.CATALOG where TENANT_ID is null and COLUMN_NAME is null and TABLE_TYPE in "
          "('u', 'v') and TABLE_SCHEM " +
              (rules_->schema.empty() ? std::string("is null") : "= " + text_literal(rules_->schema)) +
              " and upper(TABLE_NAME) = " + text_literal(name_) + " and TABLE_NAME <> " + text_literal(name_),
          &rows);
  if (!f.ok() || rows.empty() || rows[0].value_size() != 1) return f;
  const std::string other = rows[0].value(0).scalar_value().string_value();
  return refused("there is a table " + quoted_name(other) + ", and " + full_name() +
                 " would be a second one whose name differs in the case of letters only; `case: keep` writes to names "
                 "as they are");
}

Failure TargetTable::create(const TableSchema& schema) {
  Failure schema_made;
  if (!rules_->schema.empty()) {
    schema_made = ask("create schema if not exists " + quoted_name(rules_->schema), nullptr);
    // Without namespace mapping a schema is only a part of the table's name. With it this needs the rights of an
    // administrator, even when the schema is there.
    const bool goes_on = schema_made.code == kNamespaceMappingOff || schema_made.kind == FailureKind::kDenied;
    if (!schema_made.ok() && !goes_on) return schema_made;
  }
  if (Failure f = look_for_other_case(); !f.ok()) return f;
  std::string sql = "create table if not exists " + full_name() + " (";
  for (const auto& c : schema.columns) {
    const auto type = rules_->types.find(c);
    sql += quoted_name(c) + " " + (type == rules_->types.end() ? "VARCHAR" : type->second);
    sql += contains(schema.key, c) ? " not null, " : ", ";
  }
  sql.resize(sql.size() - 2);
  sql += " constraint PK primary key (" + quoted_list(schema.key) + "))";
  if (!schema.options.empty()) sql += " " + schema.options;
  if (Failure f = ask(sql, nullptr); !f.ok()) {
    if (f.code == kTableExists) return {};
    const bool no_schema = f.kind == FailureKind::kNotThere && schema_made.kind == FailureKind::kDenied;
    return no_schema ? schema_made : f;
  }
  rules_->made("created the table " + full_name() + " (" + joined(schema.columns) + ")" +
               (schema.options.empty() ? "" : " " + schema.options));
  return {};
}

Failure TargetTable::add_columns(const Names& columns) {
  std::string list;
  for (const auto& c : columns) {
    const auto type = rules_->types.find(c);
    list +=
        (list.empty() ? "" : ", ") + quoted_name(c) + " " + (type == rules_->types.end() ? "VARCHAR" : type->second);
  }
  if (Failure f = ask("alter table " + full_name() + " add if not exists " + list, nullptr); !f.ok())
    return f.code == kColumnExists ? Failure::of(FailureKind::kBusy, f.text) : f;
  rules_->made("added to the table " + full_name() + ": " + joined(columns));
  return {};
}

Failure TargetTable::key_for(const Value& row, Names* key) const {
  key->clear();
  if (schema_) {
    *key = schema_->key;
    return {};
  }
  if (!rules_->key.empty()) {
    *key = rules_->key;
  } else if (!rules_->key_field.empty() && row.find(rules_->key_field).is_string()) {
    *key = split_at_commas(row.find(rules_->key_field).text());
  }
  for (std::string& k : *key) k = phoenix_name(k);
  if (key->empty()) *key = primary_key_;
  if (key->empty())
    return bad_row("no key is known for the table " + full_name() +
                   ": set `key`, or let a schema record come before its rows");
  return {};
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
Failure TargetTable::prepare_for(const Names& columns, const Names& key) {
  for (const auto& k : key)
    if (!contains(columns, k)) return bad_row("the row has no key column \"" + k + "\"");
  const TableSchema wanted = !kind_.empty() || !schema_ ? TableSchema{columns, key, {}} : *schema_;
  Names missing;
  if (Failure f = compare(wanted, &missing); !f.ok() || missing.empty()) return f;
  if (kind_.empty() || !schema_) return bring_about(wanted);
  for (const auto& c : missing)
    if (!contains(schema_->columns, c))
      return bad_row("the table " + full_name() + " has no column " + c + ", and its schema record names none");
  return bring_about(*schema_);  // somebody has dropped them
}

Failure TargetTable::make_shape(const Value& row, Shape** out) {
  if (std::string problem = name_problem("table", given_name_); !problem.empty()) return bad_row(problem);
  Names columns, key;
  for (size_t i = 0; i < row.size(); ++i)
    if (is_column(row.name(i))) columns.push_back(phoenix_name(row.name(i)));
  if (columns.empty()) return bad_row("the row has no columns");
  if (std::string problem = columns_problem(columns); !problem.empty()) return bad_row(problem);
  if (!loaded_)
    if (Failure f = load(); !f.ok()) return f;
  if (Failure f = key_for(row, &key); !f.ok()) return f;
  if (Failure f = prepare_for(columns, key); !f.ok()) return f;

  auto shape = std::make_unique<Shape>();
  std::string marks;
  for (size_t i = 0; i < row.size(); ++i) {
    shape->members.emplace_back(row.name(i));
    shape->is_column.push_back(is_column(row.name(i)));
    const auto column = columns_.find(phoenix_name(row.name(i)));
    shape->types.push_back(column == columns_.end() ? ColumnType() : column->second);
    if (shape->is_column.back()) marks += marks.empty() ? "?" : ", ?";
  }
  for (const auto& k : key)
    for (size_t i = 0; i < row.size(); ++i)
      if (shape->is_column[i] && phoenix_name(row.name(i)) == k) shape->key_members.push_back(i);
  shape->sql = std::make_shared<const std::string>("upsert into " + full_name() + " (" + quoted_list(columns) +
                                                   ") values (" + marks + ")");
  if (shapes_.size() >= kMaxShapes) shapes_.pop_back();
  shapes_.insert(shapes_.begin(), std::move(shape));
  *out = shapes_.front().get();
  return {};
}

// Phoenix takes an empty text for NULL, which a key cannot be; inside a composite key a zero byte ends a text.
Failure TargetTable::bind_key_part(const std::string& column, const ColumnType& type, const Value& value,
                                   bool composite, avatica::TypedValue* to, BoundRow* row) const {
  if (value.is_missing()) return bad_row("the key column \"" + column + "\" is null");
  if (is_zero_date(type, value))
    return bad_row("the key column \"" + column + "\" is a zero date, \"" + std::string(value.text()) +
                   "\", and a key cannot be NULL");
  if (Status s = bind_value(type, value, rules_->to_json, to); !s.is_ok())
    return bad_row("column \"" + column + "\": " + s.message());
  if (to->type() == avatica::STRING && to->string_value().empty())
    return bad_row("the key column \"" + column + "\" is an empty text, which Phoenix takes for null");
  if (to->type() == avatica::STRING && composite && to->string_value().find('\0') != std::string::npos)
    return bad_row("the key column \"" + column +
                   "\" has a zero byte in it, where Phoenix ends a part of a composite key");
  const std::string part = to->type() == avatica::STRING || to->type() == avatica::BIG_DECIMAL
                               ? to->string_value()
                               : to->SerializeAsString();
  row->key += std::to_string(part.size()) + ':' + part;
  row->key_bytes += to->type() == avatica::STRING ? part.size() : to->bytes_value().size();
  // HBase would refuse it each time that it is sent.
  if (row->key_bytes > kMostKeyBytes)
    return bad_row("the key has " + std::to_string(row->key_bytes) + " bytes or more (column \"" + column +
                   "\"); HBase takes at most " + std::to_string(kMostKeyBytes));
  return {};
}

Failure TargetTable::bind(const Value& row, BoundRow* out) {
  if (!quarantine_.empty()) return bad_row("the table " + full_name() + " is quarantined: " + quarantine_);
  Shape* shape = find_shape(row);
  if (shape == nullptr)
    if (Failure f = make_shape(row, &shape); !f.ok()) return f;
  out->sql = shape->sql;
  out->deletes = false;
  std::vector<avatica::TypedValue*> places(shape->members.size());
  for (size_t i = 0; i < shape->members.size(); ++i)
    if (shape->is_column[i]) places[i] = out->values.add_parameter_values();
  for (const size_t i : shape->key_members) {
    const bool composite = shape->key_members.size() > 1;
    if (Failure f = bind_key_part(shape->members[i], shape->types[i], row.member(i), composite, places[i], out);
        !f.ok())
      return f;
    places[i] = nullptr;
  }
  for (size_t i = 0; i < shape->members.size(); ++i) {
    if (places[i] == nullptr) continue;
    Value value = row.member(i);
    if (is_zero_date(shape->types[i], value)) {
      if (!rules_->zero_dates_are_null)
        return bad_row("column \"" + shape->members[i] + "\": \"" + std::string(value.text()) +
                       "\" is a zero date, which Phoenix has none of; `zero_dates: as_null` makes it NULL");
      value = Value::null();
      ++out->zero_dates;
    }
    if (Status s = bind_value(shape->types[i], value, rules_->to_json, places[i]); !s.is_ok())
      return bad_row("column \"" + shape->members[i] + "\": " + s.message());
  }
  return {};
}

Failure TargetTable::bind_delete(const Value& row, BoundRow* out, bool* there) {
  *there = false;
  if (!quarantine_.empty()) return bad_row("the table " + full_name() + " is quarantined: " + quarantine_);
  if (std::string problem = name_problem("table", given_name_); !problem.empty()) return bad_row(problem);
  if (!loaded_)
    if (Failure f = load(); !f.ok()) return f;
  if (kind_.empty()) return {};
  *there = true;
  Names key;
  if (Failure f = key_for(row, &key); !f.ok()) return f;
  Delete* found = nullptr;
  for (const auto& d : deletes_)
    if (d->key == key) found = d.get();
  if (found == nullptr) {
    Names missing;
    if (Failure f = compare({key, key, {}}, &missing); !f.ok()) return bad_row(f.text);
    auto made = std::make_unique<Delete>();
    std::string sql = "delete from " + full_name() + " where ";
    for (const auto& k : key) {
      made->types.push_back(columns_.find(k)->second);
      sql += (&k == &key.front() ? "" : " and ") + quoted_name(k) + " = ?";
    }
    made->sql = std::make_shared<const std::string>(std::move(sql));
    made->key = key;
    deletes_.push_back(std::move(made));
    found = deletes_.back().get();
  }
  out->sql = found->sql;
  out->deletes = true;
  for (size_t i = 0; i < key.size(); ++i) {
    const Value value = find_member(row, key[i]);
    if (value.is_missing()) return bad_row("the row to delete has no key column \"" + key[i] + "\"");
    if (Failure f =
            bind_key_part(key[i], found->types[i], value, key.size() > 1, out->values.add_parameter_values(), out);
        !f.ok())
      return f;
  }
  return {};
}

}  // namespace sluice::phoenix
