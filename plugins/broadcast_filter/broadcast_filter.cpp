#include "broadcast_filter/broadcast_filter.h"

#include <algorithm>
#include <utility>

#include "broadcast_filter/identifier.h"

namespace sluice::broadcast_filter {
namespace {

constexpr std::string_view kPlainFields[5] = {"source_table", "sink_table", "sink_columns", "sink_pk", "sink_extend"};
constexpr const char* kRowTypes[] = {"insert", "update", "delete", "bootstrap-insert"};

bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

// A column by its name; MySQL keeps the case of names, rules are often written in another one.
size_t find_column(const Value& object, std::string_view name) {
  for (size_t i = 0; i < object.size(); ++i)
    if (object.name(i) == name) return i;
  for (size_t i = 0; i < object.size(); ++i)
    if (same_ignoring_case(object.name(i), name)) return i;
  return object.size();
}

// An object with at least one member, told without taking it apart.
bool has_members(const Value& object) {
  if (object.type() == SLUICE_MAP) return object.size() > 0;
  std::string_view text = object.text();
  if (text.empty()) return false;
  text.remove_prefix(1);
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] != '}';
}

Value map_of(const std::vector<sluice_member>& members) {
  sluice_value v;
  v.type = SLUICE_MAP;
  v.reserved = 0;
  v.as.map.members = members.data();
  v.as.map.size = members.size();
  return v;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Text or NULL; anything else is not a row of this table.
std::string read_text(const Value& value, std::string_view name, std::optional<std::string>* out) {
  out->reset();
  if (value.is_missing()) return {};
  if (!value.is_string()) return "field `" + std::string(name) + "` is " + value.type_name() + ", not text";
  out->emplace(value.text());
  return {};
}

std::string read_source_table(const Value& value, std::string* out) {
  std::optional<std::string> text;
  if (std::string problem = read_text(value, kPlainFields[0], &text); !problem.empty()) return problem;
  if (!text || trimmed(*text).empty()) return "no source_table";
  *out = trimmed(*text);
  return {};
}

// Why a row without a text in a field that every Maxwell change record has is refused.
std::string not_a_text(const char* field, const Value& value) {
  if (value.type() == SLUICE_INVALID) return std::string(value.text());
  if (value.is_missing()) return std::string("no field `") + field + "`: not a Maxwell change record";
  return std::string("field `") + field + "` is " + value.type_name() + ": not a Maxwell change record";
}

}  // namespace

// What one row of the broadcast side asks for.
struct BroadcastFilter::ConfigChange {
  enum class Kind { kPut, kRemove, kRemoveAll, kNothing } kind = Kind::kNothing;
  ConfigRow row;          // kPut; of kRemoveAll, `from` alone
  std::string old_table;  // kRemove: whose rule goes; kPut: the key that the row had before, when that is known
  std::string origin;
};

Options<FilterConfig> BroadcastFilter::options() {
  return {
      opt("database", &FilterConfig::database)
          .def("\"\"")
          .doc("Only records of this database are looked at; the others are counted. Empty: all databases.")
          .example("gmall"),
      opt("keep_types", &FilterConfig::keep_types)
          .def("[insert, update, bootstrap-insert]")
          .doc("Types of records that are kept. Deletes have an option of their own."),
      opt("on_delete", &FilterConfig::on_delete, {{"ignore", OnDelete::kIgnore}, {"apply", OnDelete::kApply}})
          .def("ignore")
          .doc("`ignore` drops deletes; `apply` passes them on as deletes, and deletes the old key when an update "
               "changes the key."),
  };
}

Status BroadcastFilter::configure(Needs& needs) {
  std::fill(std::begin(keeps_), std::end(keeps_), false);
  for (const std::string& type : config().keep_types) {
    if (type == "delete") return Status::fatal("option `keep_types`: deletes are kept by `on_delete: apply`");
    const auto* known = std::find(std::begin(kRowTypes), std::end(kRowTypes), type);
    if (known == std::end(kRowTypes))
      return Status::fatal("option `keep_types`: `" + type + "` is not one of insert, update, bootstrap-insert");
    keeps_[known - std::begin(kRowTypes)] = true;
  }
  if (config().keep_types.empty() && config().on_delete == OnDelete::kIgnore)
    return Status::fatal("`keep_types` is empty and deletes are ignored: nothing would be kept; with `on_delete: apply` deletes are");
  database_ = needs.field("database");
  table_ = needs.field("table");
  type_ = needs.field("type");
  data_ = needs.field("data");
  old_ = needs.field("old");
  before_ = needs.broadcast_field("before");
  after_ = needs.broadcast_field("after");
  op_ = needs.broadcast_field("op");
  source_ = needs.broadcast_field("source");
  payload_ = needs.broadcast_field("payload");
  for (size_t i = 0; i < 5; ++i) plain_[i] = needs.broadcast_field(std::string(kPlainFields[i]));
  needs.attaches({"sink_table", "sink_columns", "sink_pk"});
  return Status::ok();
}

Status BroadcastFilter::open() {
  rules_.clear();
  loading_.reset();
  SLUICE_CHECK_OK(state_.scan([&](std::string_view name, const ConfigRow& row) {
    Rule rule;
    if (const std::string problem = make_rule(row, &rule); !problem.empty()) {
      // Stored by a version with other checks.
      if (reports()) warn("restored configuration of `" + printable(name) + "` cannot be used any more: " + problem);
      return true;
    }
    rule.origin = "restored configuration of `" + std::string(name) + "`";
    rules_.put(row, std::move(rule));
    return true;
  }));
  announce_first_ = !rules_.empty();
  return Status::ok();
}

BroadcastFilter::RowType BroadcastFilter::classify(std::string_view type) noexcept {
  switch (type.size()) {
    case 6:
      if (type == "insert") return RowType::kInsert;
      if (type == "update") return RowType::kUpdate;
      if (type == "delete") return RowType::kDelete;
      break;
    case 16:
      if (type == "bootstrap-insert") return RowType::kBootstrapInsert;
      break;
    default:
      break;
  }
  // Maxwell data format: bootstrap records; DDL records (output_ddl).
  for (const std::string_view control : {"bootstrap-start", "bootstrap-complete", "table-create", "table-alter",
                                         "table-drop", "database-create", "database-alter", "database-drop"})
    if (type == control) return RowType::kControl;
  return RowType::kUnknown;
}

// What a call gave is void when it fails, the announcements included, and it may come again with rows that are known by
// then.
Status BroadcastFilter::or_announce_again(Status status) {
  if (!status.is_ok()) announce_first_ = true;
  return status;
}

Status BroadcastFilter::process(const Batch& in, Output& out) { return or_announce_again(filter(in, out)); }

Status BroadcastFilter::filter(const Batch& in, Output& out) {
  if (announce_first_) SLUICE_CHECK_OK(announce_all(out));
  Tally tally;
  for (uint32_t row = 0; row < in.size(); ++row) SLUICE_CHECK_OK(process_row(in, row, out, &tally));
  report(tally);
  return Status::ok();
}

Status BroadcastFilter::process_row(const Batch& in, uint32_t row, Output& out, Tally* tally) {
  const Value type = in(type_, row);
  if (!type.is_string()) return out.reject(row, not_a_text("type", type));
  const RowType row_type = classify(type.text());
  if (row_type == RowType::kControl) {
    ++tally->control;
    return Status::ok();
  }
  if (row_type == RowType::kUnknown) {
    ++tally->unknown_type;
    return Status::ok();
  }
  const Value database = in(database_, row);
  if (!config().database.empty()) {
    if (!database.is_string()) return out.reject(row, not_a_text("database", database));
    if (database.text() != config().database) {
      ++tally->other_database;
      return Status::ok();
    }
  }
  const Value table = in(table_, row);
  if (!table.is_string()) return out.reject(row, not_a_text("table", table));
  Rule* rule = rules_.find(database.text(), table.text());
  if (rule == nullptr) {
    ++tally->not_configured;
    return Status::ok();
  }
  if (row_type == RowType::kDelete && config().on_delete == OnDelete::kIgnore) {
    ++tally->deletes;
    return Status::ok();
  }
  if (row_type != RowType::kDelete && !keeps_[static_cast<size_t>(row_type)]) {
    ++tally->type;
    return Status::ok();
  }
  notice_database(database.text(), rule);
  return keep(in, row, row_type, *rule, out, tally);
}

Status BroadcastFilter::keep(const Batch& in, uint32_t row, RowType type, Rule& rule, Output& out, Tally* tally) {
  const Value data = in(data_, row);
  if (!data.is_object()) {
    if (data.type() == SLUICE_INVALID) return out.reject(row, data.text());
    return out.reject(row, std::string("field `data` is ") + data.type_name() + ", not an object");
  }
  if (!has_members(data)) return out.reject(row, "field `data` is empty");
  if (type == RowType::kDelete) {
    emit_delete(in, row, rule, data, out);
    ++tally->deletes_applied;
    return Status::ok();
  }
  if (type == RowType::kUpdate && in(old_, row).is_object())
    SLUICE_CHECK_OK(handle_key_change(in, row, rule, out, tally));
  out.forward(row, {Value::string(rule.sink_table), Value::string(rule.columns_text), Value::string(rule.key_text)});
  ++tally->kept;
  return Status::ok();
}

// Maxwell data format: `old` holds the former values of the columns that an update changed, and only those.
Status BroadcastFilter::handle_key_change(const Batch& in, uint32_t row, Rule& rule, Output& out, Tally* tally) {
  Value before, data;
  if (!parse(in(old_, row), &before).is_ok()) return Status::ok();  // the pruner or the sink will meet the broken row
  const bool changed = std::any_of(rule.key.begin(), rule.key.end(),
                                   [&](const std::string& name) { return find_column(before, name) < before.size(); });
  if (!changed) return Status::ok();
  ++tally->key_changes;
  if (config().on_delete == OnDelete::kIgnore) {
    notice_old_key(&rule);
    return Status::ok();
  }

  if (!parse(in(data_, row), &data).is_ok()) return Status::ok();
  std::vector<sluice_member> members;
  for (size_t i = 0; i < data.size(); ++i) members.push_back(data.raw().as.map.members[i]);
  for (const std::string& name : rule.key) {
    const size_t from = find_column(before, name), to = find_column(data, name);
    if (from < before.size() && to < data.size()) members[to].value = before.member(from).raw();
  }
  std::string_view json;
  SLUICE_CHECK_OK(to_json(map_of(members), &json));
  emit_delete(in, row, rule, Value::json_object(json), out);
  ++tally->deletes_applied;
  return Status::ok();
}

void BroadcastFilter::emit_delete(const Batch& in, uint32_t row, const Rule& rule, const Value& data,
                                  Output& out) const {
  Row& made = out.emit(row);
  for (const auto& [name, field] : {std::pair("database", database_), std::pair("table", table_)})
    if (const Value value = in(field, row); !value.is_absent()) made.set(name, value);
  made.set("type", Value::string("delete"))
      .set("data", data)
      .set("sink_table", Value::string(rule.sink_table))
      .set("sink_columns", Value::string(rule.columns_text))
      .set("sink_pk", Value::string(rule.key_text))
      .change(SLUICE_CHANGE_DELETE);
}

void BroadcastFilter::notice_database(std::string_view database, Rule* rule) const {
  if (!rule->database.empty() || rule->mixed_databases || rule->seen_database == database) return;
  if (rule->seen_database.empty()) {
    rule->seen_database = database;
    return;
  }
  rule->mixed_databases = true;
  warn("records of table `" + rule->table + "` come from the databases `" + rule->seen_database + "` and `" +
       std::string(database) + "` and go to one table `" + rule->sink_table +
       "`; set option `database`, or write the database before the table in source_table");
}

void BroadcastFilter::notice_old_key(Rule* rule) const {
  if (rule->old_key_stays) return;
  rule->old_key_stays = true;
  warn("an update of `" + rule->table + "` changed its key `" + rule->key_text + "`: the row of the old key stays in `" +
       rule->sink_table + "`, because deletes are ignored; with on_delete: apply it is deleted");
}

void BroadcastFilter::report(const Tally& tally) const {
  const auto add = [this](const char* metric, int64_t n) {
    if (n != 0) count(metric, n);
  };
  add("kept", tally.kept);
  add("dropped_not_configured", tally.not_configured);
  add("dropped_other_database", tally.other_database);
  add("dropped_delete", tally.deletes);
  add("dropped_control", tally.control);
  add("dropped_type", tally.type);
  add("dropped_unknown_type", tally.unknown_type);
  add("deletes_applied", tally.deletes_applied);
  add("primary_key_changes", tally.key_changes);
}

Status BroadcastFilter::process_broadcast(const Batch& in, Output& out) {
  return or_announce_again(configure_rules(in, out));
}

Status BroadcastFilter::configure_rules(const Batch& in, Output& out) {
  if (announce_first_) SLUICE_CHECK_OK(announce_all(out));
  for (uint32_t row = 0; row < in.size(); ++row) {
    ConfigChange change;
    std::string problem = read_change(in, row, &change);
    if (problem.empty()) SLUICE_CHECK_OK(apply(std::move(change), out, &problem));
    if (problem.empty() || !reports()) continue;
    count("rules_invalid");
    SLUICE_CHECK_OK(out.reject(row, problem));
  }
  return Status::ok();
}

std::string BroadcastFilter::read_change(const Batch& in, uint32_t row, ConfigChange* change) const {
  // Debezium's envelope with schema holds the change one level deeper.
  Value payload;
  if (const Value wrapped = in(payload_, row); wrapped.is_object())
    if (const Status s = parse(wrapped, &payload); !s.is_ok()) return s.message();
  const auto field = [&](Field f, std::string_view name) {
    return payload.is_object() ? payload.find(name) : in(f, row);
  };

  const Value before = field(before_, "before"), after = field(after_, "after"), op = field(op_, "op");
  Value row_before, row_after;
  if (before.is_object())
    if (const Status s = parse(before, &row_before); !s.is_ok()) return "field `before`: " + s.message();
  if (after.is_object())
    if (const Status s = parse(after, &row_after); !s.is_ok()) return "field `after`: " + s.message();

  const Value given = field(source_, "source");
  Value source;
  if (given.is_object() && parse(given, &source).is_ok()) {
    const Value database = source.find("db"), table = source.find("table");
    if (table.is_string())
      change->row.from = (database.is_string() ? std::string(database.text()) + "." : "") + std::string(table.text());
  }

  const bool debezium = !op.is_missing() || !before.is_missing() || !after.is_missing();
  bool removes = false;
  if (debezium) {
    if (!op.is_missing() && !op.is_string()) return std::string("field `op` is ") + op.type_name() + ", not text";
    const std::string_view word = op.text();
    if (word == "t") {
      change->kind = ConfigChange::Kind::kRemoveAll;
      return {};
    }
    if (!word.empty() && word != "r" && word != "c" && word != "u" && word != "d")
      return "field `op` is `" + printable(word) + "`, not one of r, c, u, d, t";
    removes = word == "d" || (word.empty() && row_after.is_missing());
    if (removes && !row_before.is_object()) return "a delete without `before`: which rule it removes is not said";
    if (!removes && !row_after.is_object())
      return "field `after` is " + std::string(after.type_name()) + ", not an object";
  } else {
    removes = in.change(row) == SLUICE_CHANGE_DELETE;
  }
  const auto plain = [&](size_t i) {
    if (!debezium) return field(plain_[i], kPlainFields[i]);
    return (removes ? row_before : row_after).find(kPlainFields[i]);
  };
  if (!debezium && plain(0).is_absent())
    return "neither a change in the Debezium shape (op, before, after) nor a configuration row (source_table, "
           "sink_table, …)";

  if (removes) {
    change->kind = ConfigChange::Kind::kRemove;
    return read_source_table(plain(0), &change->old_table);
  }
  change->kind = ConfigChange::Kind::kPut;
  if (std::string problem = read_source_table(plain(0), &change->row.source_table); !problem.empty()) return problem;
  std::optional<std::string>* const fields[] = {&change->row.sink_table, &change->row.sink_columns,
                                                &change->row.sink_pk, &change->row.sink_extend};
  for (size_t i = 1; i < 5; ++i)
    if (std::string problem = read_text(plain(i), kPlainFields[i], fields[i - 1]); !problem.empty()) return problem;
  if (row_before.is_object())
    static_cast<void>(read_source_table(row_before.find(kPlainFields[0]), &change->old_table));

  change->origin = "configuration of `" + change->row.source_table + "`";
  if (source.is_object()) {
    std::string_view position;
    if (const Value file = source.find("file"); file.is_string())
      if (const Value pos = source.find("pos"); to_json(pos, &position).is_ok())
        change->origin += " at " + std::string(file.text()) + ":" + std::string(position);
  }
  return {};
}

Status BroadcastFilter::apply(ConfigChange change, Output& out, std::string* problem) {
  switch (change.kind) {
    case ConfigChange::Kind::kNothing:
      return Status::ok();
    case ConfigChange::Kind::kRemoveAll:
      return remove_all(change.row.from);
    case ConfigChange::Kind::kRemove:
      return remove(change.old_table, "deleted");
    case ConfigChange::Kind::kPut:
      break;
  }
  Rule rule;
  *problem = make_rule(change.row, &rule);
  if (!problem->empty()) {
    *problem = "configuration of `" + printable(change.row.source_table) + "` cannot be used: " + *problem;
    return Status::ok();
  }
  rule.origin = std::move(change.origin);
  const std::string name = change.row.source_table;
  if (!change.old_table.empty() && change.old_table != name) SLUICE_CHECK_OK(remove(change.old_table, "renamed"));

  const RuleSet::Entry* known = target().find_row(name);
  const bool added = known == nullptr;
  if (!added && known->row.same_rule(change.row)) {
    if (reports()) count("rules_unchanged");
    if (known->row.from == change.row.from) return Status::ok();
    SLUICE_CHECK_OK(state_.put(name, change.row));
    target().put(std::move(change.row), std::move(rule));
    return Status::ok();
  }
  SLUICE_CHECK_OK(state_.put(name, change.row));
  target().put(std::move(change.row), std::move(rule));
  if (loading_) return Status::ok();  // counted and announced when the snapshot is complete
  if (reports()) {
    count(added ? "rules_added" : "rules_changed");
    info("rule " + name + (added ? " added" : " changed"));
  }
  return announce(rules_.find_row(name)->rule, out);
}

Status BroadcastFilter::remove(const std::string& source_table, const char* why) {
  if (target().find_row(source_table) == nullptr) return Status::ok();
  SLUICE_CHECK_OK(state_.erase(source_table));
  target().erase(source_table);
  if (reports() && !loading_) {
    count("rules_removed");
    info("rule " + source_table + " removed (" + why + ")");
  }
  return Status::ok();
}

// The other side may bring changes of more tables than the one with the configuration.
Status BroadcastFilter::remove_all(const std::optional<std::string>& from) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : target().entries())
    if (entry.row.from == from) names.push_back(name);
  if (names.empty() && reports()) count("truncates_ignored");
  for (const std::string& name : names) SLUICE_CHECK_OK(remove(name, "the configuration table was emptied"));
  return Status::ok();
}

Status BroadcastFilter::on_marker(uint32_t marker, Output& out) {
  if (marker == SLUICE_SNAPSHOT_BEGIN) {
    loading_.emplace();
    return Status::ok();
  }
  if (marker == SLUICE_SNAPSHOT_END) return or_announce_again(finish_snapshot(out));
  return Status::ok();
}

Status BroadcastFilter::finish_snapshot(Output& out) {
  if (loading_) {
    if (reports()) {
      int64_t added = 0, changed = 0, removed = 0;
      for (const auto& [name, entry] : loading_->entries()) {
        const RuleSet::Entry* old = rules_.find_row(name);
        if (old == nullptr)
          ++added;
        else if (!old->row.same_rule(entry.row))
          ++changed;
      }
      for (const auto& [name, entry] : rules_.entries())
        if (loading_->find_row(name) == nullptr) {
          ++removed;
          info("rule " + name + " removed (not in the new snapshot)");
        }
      if (added != 0) count("rules_added", added);
      if (changed != 0) count("rules_changed", changed);
      if (removed != 0) count("rules_removed", removed);
      info("configuration complete: " + std::to_string(loading_->entries().size()) + " rules");
    }
    rules_ = std::move(*loading_);
    loading_.reset();
  }
  return announce_all(out);
}

Status BroadcastFilter::announce(const Rule& rule, Output& out) const {
  std::vector<sluice_str> columns, key;
  for (const std::string& name : rule.columns) columns.push_back(str(name));
  for (const std::string& name : rule.key) key.push_back(str(name));
  sluice_schema schema;
  std::memset(&schema, 0, sizeof schema);
  schema.struct_size = sizeof schema;
  schema.table = str(rule.sink_table);
  schema.columns = columns.data();
  schema.column_count = columns.size();
  schema.key = key.data();
  schema.key_count = key.size();
  schema.extend = str(rule.extend);
  schema.origin = str(rule.origin);
  return out.schema(schema);
}

Status BroadcastFilter::announce_all(Output& out) {
  for (const auto& [name, entry] : rules_.entries()) SLUICE_CHECK_OK(announce(entry.rule, out));
  announce_first_ = false;
  return Status::ok();
}

}  // namespace sluice::broadcast_filter
