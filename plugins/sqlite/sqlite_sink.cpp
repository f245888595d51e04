#include "sqlite_sink.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sql_name.h"

namespace sluice::sqlite {
namespace {

// For statements of the sink itself: when SQLite refuses those, no row is to blame.
Status not_about_a_row(Status s) { return s.code() == SLUICE_BAD_RECORD ? Status::fatal("SQLite: " + s.message()) : s; }

}  // namespace

Options<SqliteSinkConfig> SqliteSink::options() {
  return {
      opt("path", &SqliteSinkConfig::path)
          .required()
          .doc("The SQLite file. Made, with its folder, if it is not there.")
          .example("out/warehouse.db"),
      opt("mode", &SqliteSinkConfig::mode, {{"upsert", Mode::kUpsert}, {"append", Mode::kAppend}})
          .def("upsert")
          .doc("Write rows by key, or only add them (exactly once)."),
      opt("table", &SqliteSinkConfig::table)
          .doc("The table of all rows. Default: each row says its own.")
          .example("dws_trade_cart_add_uu_window"),
      opt("table_field", &SqliteSinkConfig::table_field)
          .doc("Without `table`: the member of a row that names its table. Default: sink_table."),
      opt("key", &SqliteSinkConfig::key)
          .def("[]")
          .doc("Key columns of tables without a schema record.")
          .example("[stt, edt]"),
      opt("key_field", &SqliteSinkConfig::key_field)
          .doc("Without `table` and `key`: the member of a row that names its key columns, with commas between them. "
               "Not written. Default: sink_pk."),
      opt("create", &SqliteSinkConfig::create).def("true").doc("Make the file, tables and columns that are not there."),
      opt("columns", &SqliteSinkConfig::columns)
          .def("{}")
          .doc("Types of columns that the sink makes: TEXT, INTEGER, REAL or NUMERIC. Others are TEXT.")
          .example("{cart_add_uu_ct: INTEGER}"),
      opt("busy_timeout", &SqliteSinkConfig::busy_timeout)
          .def("500ms")
          .doc("How long one attempt waits for other writers of the file before the host is asked to come again.")};
}

Status SqliteSink::configure(Needs& needs) {
  const SqliteSinkConfig& c = config();
  if (c.path.empty() || c.path == ":memory:") return Status::fatal("`path` must name a file");
  if (c.table)
    if (const std::string problem = name_problem("table", *c.table); !problem.empty())
      return Status::fatal("`table`: " + problem);
  if (!c.table && c.table_field == "") return Status::fatal("either `table` or `table_field` must be given");
  if (c.table && (c.table_field || c.key_field))
    return Status::fatal("`table` and `" + std::string(c.table_field ? "table_field" : "key_field") +
                         "` exclude each other: the member is for rows that say their own table");
  if (appends() && !c.key.empty()) return Status::fatal("`key` is for `mode: upsert`; appended rows have none");
  std::set<std::string> seen;
  for (const auto& k : c.key) {
    if (const std::string problem = name_problem("column", k); !problem.empty())
      return Status::fatal("`key`: " + problem);
    if (!seen.insert(folded_name(k)).second) return Status::fatal("`key` names the column " + k + " twice");
  }
  rules_ = TableRules();
  for (const auto& [column, type] : c.columns) {
    const std::string folded = folded_name(type);
    if (folded != "text" && folded != "integer" && folded != "real" && folded != "numeric")
      return Status::fatal("`columns`: the type of " + column + " is " + type +
                           "; it can be TEXT, INTEGER, REAL or NUMERIC");
    rules_.types[folded_name(column)] = type;
  }
  rules_.upsert = !appends();
  rules_.create = c.create;
  rules_.key = c.key;
  if (!c.table) {
    rules_.table_field = c.table_field.value_or("sink_table");
    rules_.key_field = c.key_field.value_or("sink_pk");
  }
  rules_.to_json = [this](const Value& v, std::string_view* text) { return to_json(v, text); };
  rules_.log = [this](const std::string& text) { info(config().path + ": " + text); };
  needs.body();
  needs.delivery(appends() ? SLUICE_DELIVERY_EPOCH : SLUICE_DELIVERY_UPSERT);
  return Status::ok();
}

Status SqliteSink::open() {
  const auto durability = appends() ? Database::Durability::kCommit : Database::Durability::kSync;
  if (!database_.is_open())
    SLUICE_CHECK_OK(database_.open(config().path, config().create, config().busy_timeout.count(), durability));
  if (!appends()) return Status::ok();
  SLUICE_CHECK_OK(not_about_a_row(make_marker_table()));
  return not_about_a_row(read_marker());
}

Status SqliteSink::check(Problems& problems) {
  if (const std::string problem = unusable_file(config().path, config().create); !problem.empty())
    problems.add_to("path", problem);
  std::error_code error;
  const auto size = std::filesystem::file_size(config().path, error);
  if (!appends() && config().table && config().key.empty() && (error || size == 0))
    warn("the table \"" + *config().table + "\" is not there, and can be made with a key only: give `key`, unless a schema record comes before its rows");
  return Status::ok();
}

Status SqliteSink::close() {
  last_table_ = nullptr;
  tables_.clear();
  database_.rollback();
  Status s = prepare(0);
  database_.close();
  return s;
}

TargetTable* SqliteSink::table(std::string_view name) {
  if (last_table_ != nullptr && last_name_ == name) return last_table_;
  const std::string folded = folded_name(name);
  auto it = tables_.find(folded);
  if (it == tables_.end())
    it = tables_.emplace(folded, std::make_unique<TargetTable>(&rules_, std::string(name))).first;
  last_name_ = name;
  last_table_ = it->second.get();
  return last_table_;
}

Status SqliteSink::table_of(const Value& row, std::string_view* name) const {
  if (config().table) {
    *name = *config().table;
    return Status::ok();
  }
  const Value named = row.find(rules_.table_field);
  *name = named.is_string() ? named.text() : std::string_view();
  if (!name->empty()) return Status::ok();
  return Status::bad_record("the row does not say its table in \"" + rules_.table_field + "\"");
}

Status SqliteSink::write_row(const Batch& in, uint32_t row) {
  Value body;
  std::string_view name;
  SLUICE_CHECK_OK(in.body(row, &body));
  SLUICE_CHECK_OK(table_of(body, &name));
  if (in.change(row) != SLUICE_CHANGE_DELETE) return table(name)->put(database_, body);
  if (appends()) return Status::bad_record("a deleted row cannot be appended");
  return table(name)->erase(database_, body);
}

Status SqliteSink::write(const Batch& in, uint32_t* consumed) {
  *consumed = 0;
  if (!database_.in_transaction()) {
    if (epoch_has_rows_) return epoch_lost();
    SLUICE_CHECK_OK(not_about_a_row(database_.begin()));
  }
  for (const auto& t : tables_)
    if (t.second->is_missing()) t.second->forget();
  rejected_.clear();
  for (uint32_t row = 0; row < in.size(); ++row) {
    Status s = write_row(in, row);
    if (s.is_ok()) {
      epoch_has_rows_ = appends();
    } else if (s.code() == SLUICE_BAD_RECORD) {
      rejected_.emplace_back(row, s.message());
    } else if (appends() && database_.in_transaction()) {
      // Only this statement was undone.
      *consumed = row;
      for (const auto& [bad, reason] : rejected_) SLUICE_CHECK_OK(reject(bad, reason));
      return s;
    } else {
      give_up_transaction();
      return s;
    }
  }
  if (!appends()) {
    if (Status s = database_.commit(); !s.is_ok()) {
      give_up_transaction();
      return s;
    }
    unsynced_ = true;
  }
  // Not earlier: after a rollback the whole batch comes again.
  for (const auto& [bad, reason] : rejected_) SLUICE_CHECK_OK(reject(bad, reason));
  return Status::ok();
}

void SqliteSink::give_up_transaction() {
  database_.rollback();
  for (const auto& t : tables_) t.second->forget();
}

Status SqliteSink::on_schema(const sluice_schema& schema) {
  const std::string_view name = view(schema.table);
  if (config().table && folded_name(*config().table) != folded_name(name)) return Status::ok();
  TableSchema wanted;
  for (size_t i = 0; i < schema.column_count; ++i) wanted.columns.emplace_back(view(schema.columns[i]));
  for (size_t i = 0; i < schema.key_count; ++i) wanted.key.emplace_back(view(schema.key[i]));
  Status s = table(config().table ? std::string_view(*config().table) : name)->apply(database_, std::move(wanted));
  if (s.is_ok() && schema.extend.size > 0)
    info("table " + std::string(name) + ": the table options \"" + std::string(view(schema.extend)) +
         "\" are not for SQLite and are ignored");
  if (s.code() != SLUICE_BAD_RECORD) return s;
  warn("table " + std::string(name) + " is quarantined: " + s.message());
  return Status::bad_record("table " + std::string(name) + ": " + s.message());
}

// Upserts are committed batch by batch; here they reach the disk.
Status SqliteSink::prepare(uint64_t) {
  if (!unsynced_) return Status::ok();
  SLUICE_CHECK_OK(database_.sync());
  unsynced_ = false;
  return Status::ok();
}

// The answer to an earlier commit may have been lost: what counts is what the file says.
Status SqliteSink::epoch_begin(uint64_t) {
  give_up_transaction();
  epoch_has_rows_ = false;
  return not_about_a_row(read_marker());
}

Status SqliteSink::commit(uint64_t checkpoint) {
  if (!appends()) return Status::ok();
  const bool is_in = committed_lineage_ == lineage() && committed_ >= checkpoint;
  if (is_in) {
    // Rows that came once more are in the table already.
    give_up_transaction();
    epoch_has_rows_ = false;
    return Status::ok();
  }
  if (!database_.in_transaction()) {
    if (epoch_has_rows_) return epoch_lost();
    SLUICE_CHECK_OK(database_.begin());
  }
  SLUICE_CHECK_OK(not_about_a_row(write_marker(checkpoint)));
  SLUICE_CHECK_OK(not_about_a_row(database_.commit()));
  epoch_has_rows_ = false;
  committed_ = checkpoint;
  committed_lineage_ = std::string(lineage());
  return Status::ok();
}

Status SqliteSink::epoch_lost() const {
  return Status::fatal("the transaction with the rows of this checkpoint is lost (" + config().path +
                       "); after a restart they come again");
}

Status SqliteSink::write_marker(uint64_t checkpoint) {
  Statement mark;
  SLUICE_CHECK_OK(database_.prepare(
      "insert into _sluice_epochs (pipeline, operator, lane, lineage, epoch) values (?1, ?2, ?3, ?4, ?5) "
      "on conflict (pipeline, operator, lane) do update set lineage = excluded.lineage, epoch = excluded.epoch",
      &mark));
  mark.bind_text(1, pipeline());
  mark.bind_text(2, id());
  mark.bind_integer(3, lane());
  mark.bind_text(4, lineage());
  mark.bind_integer(5, static_cast<int64_t>(checkpoint));
  const int result = mark.step();
  return result == SQLITE_DONE ? Status::ok() : database_.failure(result, "write to");
}

Status SqliteSink::make_marker_table() {
  return database_.execute(
      "create table if not exists _sluice_epochs (pipeline text not null, operator text not null, lane integer not "
      "null, "
      "lineage text not null, epoch integer not null, primary key (pipeline, operator, lane)) without rowid");
}

Status SqliteSink::read_marker() {
  committed_ = 0;
  committed_lineage_.clear();
  Statement read;
  SLUICE_CHECK_OK(database_.prepare(
      "select epoch, lineage from _sluice_epochs where pipeline = ?1 and operator = ?2 and lane = ?3", &read));
  read.bind_text(1, pipeline());
  read.bind_text(2, id());
  read.bind_integer(3, lane());
  const int result = read.step();
  if (result != SQLITE_ROW && result != SQLITE_DONE) return database_.failure(result, "read");
  if (result == SQLITE_DONE) return Status::ok();
  committed_ = static_cast<uint64_t>(read.integer(0));
  committed_lineage_ = std::string(read.text(1));
  return Status::ok();
}

Status SqliteSink::last_committed(uint64_t* checkpoint, std::string* lineage) {
  if (appends()) SLUICE_CHECK_OK(epoch_begin(0));
  *checkpoint = committed_;
  *lineage = committed_lineage_;
  return Status::ok();
}

}  // namespace sluice::sqlite
