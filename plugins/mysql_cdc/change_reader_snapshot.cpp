// The snapshot half of ChangeReader: all rows as they were at one place of the binlog.
#include <algorithm>

#include "change_reader.h"
#include "server_facts.h"

namespace sluice_mysql {
namespace {

constexpr unsigned kUnknownColumn = 1054;
// XA transactions are prepared for milliseconds, and some must find a moment between them.
constexpr int kXaAttempts = 40;
constexpr std::chrono::milliseconds kXaPause(25);

std::string quoted_name(const TableName& t) { return quote_name(t.database) + "." + quote_name(t.table); }

}  // namespace

Outcome ChangeReader::snapshot(Connection* sql, const ServerFacts& facts) {
  std::vector<TableName> tables;
  SLUICE_MYSQL_CHECK(TableCatalog(sql).list(filter_, &tables));
  BinlogPosition at;
  SLUICE_MYSQL_CHECK(begin_snapshot(sql, facts, tables, &at));
  std::vector<TableName> now;
  SLUICE_MYSQL_CHECK(TableCatalog(sql).list(filter_, &now));
  if (now != tables) return Outcome::away("tables came or went while the snapshot began");
  if (at_.file.empty()) {
    at_ = at;
    at_.phase = BinlogPosition::Phase::kSnapshot;
  }
  before_.reset();
  added_.clear();
  SLUICE_MYSQL_CHECK(remember(SavedTables::kCaptured, filter_text(filter_)));
  SLUICE_MYSQL_CHECK(remember(SavedTables::kAdded, {}));
  SLUICE_MYSQL_CHECK(send(Item::Kind::kSnapshotBegin, at_.encode()));
  if (rows_may_be_out_) SLUICE_MYSQL_CHECK(give_deletes(facts, at_, at, tables, at_.encode()));
  rows_may_be_out_ = true;
  for (const TableName& t : tables) SLUICE_MYSQL_CHECK(snapshot_table(sql, facts, t, at, at_));
  SLUICE_MYSQL_CHECK(sql->query("COMMIT", "end the snapshot"));
  SLUICE_MYSQL_CHECK(send_rows());
  host_.info("snapshot complete; going on at " + at.describe());
  host_.note("");
  SLUICE_MYSQL_CHECK(send(Item::Kind::kSnapshotEnd, at.encode()));
  at_ = at;
  rows_may_be_out_ = false;
  gtid_known_ = true;
  verified_ = true;
  return Outcome::ok();
}

// Tables that the options name and that they did not name when the checkpoint was written: their rows are read now, in
// a snapshot of their own, and their changes from its place on.
Outcome ChangeReader::add_tables(Connection* sql, const ServerFacts& facts) {
  std::vector<TableName> tables;
  SLUICE_MYSQL_CHECK(TableCatalog(sql).list(filter_, &tables));
  tables.erase(std::remove_if(tables.begin(), tables.end(),
                              [&](const TableName& t) { return before_->matches(t.database, t.table); }),
               tables.end());
  std::string names;
  for (const TableName& t : tables) names += (names.empty() ? "" : ", ") + t.database + "." + t.table;
  if (!tables.empty() && config_.start != Start::kInitial)
    host_.warn(names + " was not captured before: its changes from " + at_.describe() +
               " on come, the rows that it has are not read (only `start: initial` reads rows)");
  if (!tables.empty() && config_.start == Start::kInitial) {
    host_.info(names + " was not captured before: its rows are read first");
    AddedTables added;
    SLUICE_MYSQL_CHECK(begin_snapshot(sql, facts, tables, &added.at));
    added.tables = tables;
    // An attempt that was cut off may have given rows, of some place since.
    SLUICE_MYSQL_CHECK(give_deletes(facts, at_, added.at, tables, at_.encode()));
    for (const TableName& t : tables) SLUICE_MYSQL_CHECK(snapshot_table(sql, facts, t, added.at, at_));
    SLUICE_MYSQL_CHECK(sql->query("COMMIT", "end the snapshot"));
    SLUICE_MYSQL_CHECK(send_rows());
    added_.push_back(std::move(added));
    SLUICE_MYSQL_CHECK(remember(SavedTables::kAdded, encode_added(added_)));
    host_.info("snapshot of " + names + " complete; going on at " + at_.describe());
    host_.note("");
  }
  SLUICE_MYSQL_CHECK(remember(SavedTables::kCaptured, filter_text(filter_)));
  before_.reset();
  return Outcome::ok();
}

// A transaction that sees the tables as they are at *at.
Outcome ChangeReader::begin_snapshot(Connection* sql, const ServerFacts& facts, const std::vector<TableName>& tables,
                                     BinlogPosition* at) {
  SLUICE_MYSQL_CHECK(sql->query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "begin the snapshot"));
  ServerFacts end = facts;
  for (int attempt = 1;; ++attempt) {
    const FilePosition before{end.end_file, end.end_position};
    bool tables_locked = false;
    SLUICE_MYSQL_CHECK(try_snapshot(sql, facts, tables, &end, &tables_locked));
    if (end.end_file.empty()) return Outcome::wrong("the server writes no binlog: start it with log_bin");
    // MySQL keeps the locks of prepared XA transactions: a lock on the tables was not had before they were finished.
    const Outcome o = tables_locked && !facts.mariadb ? Outcome::ok() : no_prepared_xa(sql, facts, before);
    if (o.is_ok()) break;
    if (o.trouble() != Trouble::kAway || attempt == kXaAttempts || !sql->is_open()) return o;
    host_.note("waiting: " + o.message());
    SLUICE_MYSQL_CHECK(sql->query("ROLLBACK", "begin the snapshot"));
    if (!interrupter_.pause(kXaPause)) return Outcome::away("stopped");
    SLUICE_MYSQL_CHECK(read_end(sql, facts.mariadb, &end));
  }
  host_.note("");
  // Others go on committing: the server's GTIDs of now may be further on than this place.
  if (facts.mariadb) SLUICE_MYSQL_CHECK(gtid_at(sql, facts, {end.end_file, end.end_position}, &end.end_gtid));
  at->phase = BinlogPosition::Phase::kStream;
  at->server = facts.identity;
  at->file = end.end_file;
  at->begin = end.end_position;
  at->gtid = end.end_gtid;
  return Outcome::ok();
}

Outcome ChangeReader::try_snapshot(Connection* sql, const ServerFacts& facts, const std::vector<TableName>& tables,
                                   ServerFacts* end, bool* tables_locked) {
  const bool none =
      config_.snapshot_lock == SnapshotLock::kNone || (config_.snapshot_lock == SnapshotLock::kAuto && facts.mariadb);
  if (none) {
    // The transaction itself says where it is in the binlog.
    SLUICE_MYSQL_CHECK(sql->query("START TRANSACTION WITH CONSISTENT SNAPSHOT", "begin the snapshot"));
    return read_end(sql, true, end);
  }
  if (config_.snapshot_lock == SnapshotLock::kGlobal) return lock_all(sql, facts, end);
  Outcome o = lock_tables(sql, facts, tables, end);
  *tables_locked = o.is_ok();
  // Without LOCK TABLES, but with RELOAD.
  if (!o.is_ok() && o.trouble() == Trouble::kWrong && config_.snapshot_lock == SnapshotLock::kAuto)
    o = lock_all(sql, facts, end);
  return o;
}

// The rows of an XA transaction are in the binlog where it was prepared, and in the tables when it is committed. One
// that is between the two when the snapshot begins would be in neither. `before`: a place from before that.
Outcome ChangeReader::no_prepared_xa(Connection* sql, const ServerFacts& facts, const FilePosition& before) {
  std::vector<std::string> prepared;
  bool allowed = true;
  SLUICE_MYSQL_CHECK(read_prepared_xa(sql, &prepared, &allowed));
  if (!allowed) return Outcome::ok();  // the start has warned of that
  if (!prepared.empty()) {
    std::string names;
    for (const std::string& xa : prepared) names += (names.empty() ? "" : "; ") + xa;
    return Outcome::away("XA transactions are prepared and not finished (" + names +
                         "): their rows would be in no snapshot and in no change that comes after it. The snapshot "
                         "begins when they are finished: XA COMMIT or XA ROLLBACK");
  }
  if (before.position > UINT32_MAX) return Outcome::ok();
  const auto visit = [this](const Event& event, const EventParser&) {
    const bool ends = event.kind == EventKind::kQuery && read(event).kind == StatementKind::kXaCommit;
    return ends || event.kind == EventKind::kXaPrepare
               ? Outcome::away("XA transactions were being finished while the snapshot began")
               : Outcome::ok();
  };
  const Outcome o = scan_binlog(config_, facts, &interrupter_, before, {}, visit);
  // The next attempt looks at another part.
  return o.is_ok() || o.trouble() == Trouble::kAway ? o : Outcome::away(o.message());
}

// Nobody writes to the captured tables between the two moments; all others are not touched.
Outcome ChangeReader::lock_tables(Connection* sql, const ServerFacts& facts, const std::vector<TableName>& tables,
                                  ServerFacts* end) {
  const std::string doing = "lock the tables for the moment in which the snapshot begins";
  Connection lock(&interrupter_);
  SLUICE_MYSQL_CHECK(lock.open(config_, std::chrono::seconds(300)));
  const int64_t seconds = std::max<int64_t>(1, (config_.snapshot_lock_timeout.count() + 999) / 1000);
  SLUICE_MYSQL_CHECK(lock.query("SET SESSION lock_wait_timeout=" + std::to_string(seconds), doing));
  std::string list;
  for (const TableName& t : tables) list += (list.empty() ? "" : ", ") + quoted_name(t) + " READ";
  SLUICE_MYSQL_CHECK(lock.query("LOCK TABLES " + list, doing));
  SLUICE_MYSQL_CHECK(sql->query("START TRANSACTION WITH CONSISTENT SNAPSHOT", "begin the snapshot"));
  SLUICE_MYSQL_CHECK(read_end(sql, facts.mariadb, end));
  return lock.query("UNLOCK TABLES", doing);
}

Outcome ChangeReader::lock_all(Connection* sql, const ServerFacts& facts, ServerFacts* end) {
  const std::string doing = "lock all tables for the moment in which the snapshot begins";
  const int64_t seconds = std::max<int64_t>(1, (config_.snapshot_lock_timeout.count() + 999) / 1000);
  SLUICE_MYSQL_CHECK(sql->query("SET SESSION lock_wait_timeout=" + std::to_string(seconds), doing));
  SLUICE_MYSQL_CHECK(sql->query("FLUSH TABLES WITH READ LOCK", doing));
  SLUICE_MYSQL_CHECK(sql->query("START TRANSACTION WITH CONSISTENT SNAPSHOT", "begin the snapshot"));
  SLUICE_MYSQL_CHECK(read_end(sql, facts.mariadb, end));
  return sql->query("UNLOCK TABLES", doing);
}

// `restart`: where a restart goes on before all of it is read. In the phase of snapshots that says how far it came.
Outcome ChangeReader::snapshot_table(Connection* sql, const ServerFacts& facts, const TableName& name,
                                     const BinlogPosition& at, const BinlogPosition& restart) {
  const std::string table_name = name.database + "." + name.table;
  std::optional<Described> described;
  SLUICE_MYSQL_CHECK(TableCatalog(sql).describe(name, &described));
  if (!described) return Outcome::away("table " + table_name + " went away while the snapshot began");
  const Table* const table = &described->table;
  TableCodec codec;
  if (const sluice::Status s = TableCodec::for_snapshot(*table, style_, &codec); !s.is_ok())
    return Outcome::wrong(s.message());

  ChangePlace place;
  place.file = at.file;
  place.position = at.begin;
  place.gtid = at.gtid;
  place.server_id = static_cast<uint32_t>(std::strtoul(facts.server_id.c_str(), nullptr, 10));
  place.event_ms = place.now_ms = host_.now();
  uint64_t rows = 0;
  BinlogPosition behind = restart;
  std::string position = restart.encode();
  const auto add = [&] {
    if (behind.phase == BinlogPosition::Phase::kSnapshot) {
      behind.table = table_name;
      behind.rows = rows;
      position = behind.encode();
    }
    for (size_t i = 0; i < writer_.size(); ++i)
      chunk_.add(writer_[i], position, SLUICE_NO_TIME, i + 1 < writer_.size());
  };
  writer_.bootstrap_start(name.database, name.table, place);
  add();
  std::vector<Cell> cells(table->columns.size());
  auto next_note = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  uint64_t counted = 0;
  const auto row = [&](const char* const* values, const unsigned long* sizes, unsigned count) -> Outcome {
    for (unsigned i = 0; i < count && i < cells.size(); ++i)
      cells[i] = {reinterpret_cast<const uint8_t*>(values[i]),
                  static_cast<uint32_t>(values[i] != nullptr ? sizes[i] : 0)};
    std::string refused = made_or_refused([&] { return writer_.snapshot_row(codec, cells.data(), place); });
    ++rows;
    if (!refused.empty()) chunk_.refuse(refused + " (snapshot)");
    add();
    if (!refused.empty()) chunk_.refuse({});
    if (!chunk_.is_full()) return Outcome::ok();
    host_.count("snapshot_rows", static_cast<int64_t>(rows - counted));
    counted = rows;
    place.event_ms = place.now_ms = host_.now();
    if (const auto now = std::chrono::steady_clock::now(); now >= next_note) {
      next_note = now + std::chrono::seconds(1);
      host_.note("snapshot of " + table_name + ": " + std::to_string(rows) + " rows");
    }
    return send_rows();
  };
  Outcome o = sql->stream("SELECT " + select_list(*table) + " FROM " + quoted_name(name), "read " + table_name, row);
  if (!o.is_ok() && sql->error_code() == kUnknownColumn)
    return Outcome::away(table_name + " was altered while the snapshot began");
  SLUICE_MYSQL_CHECK(o);
  writer_.bootstrap_complete(name.database, name.table, place);
  add();
  host_.count("snapshot_rows", static_cast<int64_t>(rows - counted));
  return Outcome::ok();
}

// Rows that an attempt before may have given and that are gone by now: those that were deleted between `from`, which is
// not behind its place, and `to`. They must leave a target that has them; what is still there comes with the snapshot.
Outcome ChangeReader::give_deletes(const ServerFacts& facts, const BinlogPosition& from, const BinlogPosition& to,
                                   const std::vector<TableName>& tables, const std::string& position) {
  const auto wanted = [&](const TableName& t) { return std::find(tables.begin(), tables.end(), t) != tables.end(); };
  Connection describing(&interrupter_);  // the snapshot's has its transaction
  SLUICE_MYSQL_CHECK(describing.open(config_, kQueryPatience));
  sql_ = &describing;
  StreamTables known;
  std::string gtid;
  const auto visit = [&](const Event& event, const EventParser& parser) -> Outcome {
    if (event.kind == EventKind::kGtid) gtid = event.text;
    const ChangePlace place = place_of(event, parser, gtid);
    if (event.kind == EventKind::kQuery) {
      const Statement s = read(event);
      if (s.kind != StatementKind::kTruncateTable || s.tables.empty() || !wanted(s.tables[0])) return Outcome::ok();
      writer_.truncate(s.tables[0].database, s.tables[0].table, place);
      if (writer_.size() > 0) chunk_.add(writer_[0], position, SLUICE_NO_TIME, false);
    }
    if (event.kind != EventKind::kRows || event.rows.kind == RowsKind::kInsert) return Outcome::ok();
    StreamTable& table = *stream_table(*event.rows.table, &known);
    if (!table.captured || !wanted(table.name)) return Outcome::ok();
    if (!table.codec) SLUICE_MYSQL_CHECK(make_codec(event, parser, &table));
    if (!table.captured) return Outcome::ok();
    SLUICE_MYSQL_CHECK(add_deletes(event, *table.codec, place, position));
    return chunk_.is_full() ? send_rows() : Outcome::ok();
  };
  Outcome o = from.server == to.server ? scan_binlog(config_, facts, &interrupter_, {from.file, from.begin},
                                                     {to.file, to.begin}, visit)
                                       : Outcome::lost("it was read from another server (" + from.server + ")");
  sql_ = nullptr;
  if (o.is_ok() || o.trouble() == Trouble::kAway) return o;
  host_.warn("an earlier snapshot may have been cut off behind " + from.file + ":" + std::to_string(from.begin) +
             ", and which rows have been deleted since cannot be read: " + o.message() +
             ". Those that it gave stay where they were written to");
  return Outcome::ok();
}

Outcome ChangeReader::add_deletes(const Event& event, const TableCodec& codec, ChangePlace place,
                                  const std::string& position) {
  if (const sluice::Status s = row_reader_.open(event.rows); !s.is_ok()) return Outcome::lost(s.message());
  while (true) {
    bool found = false;
    if (const sluice::Status s = row_reader_.next(&found); !s.is_ok()) return Outcome::lost(s.message());
    if (!found) return Outcome::ok();
    const Cell *before = row_reader_.before(), *after = row_reader_.after();
    const bool goes = event.rows.kind == RowsKind::kDelete || codec.is_history(after) || !codec.same_key(before, after);
    if (codec.is_history(before) || !goes) continue;
    place.row = row_reader_.index();
    const std::string refused = made_or_refused([&] { return writer_.remove(codec, before, place); });
    chunk_.refuse(refused);
    chunk_.add_open(writer_[0], position, SLUICE_NO_TIME, event.begin, 0);
    chunk_.close_row(true);
    chunk_.refuse({});
    host_.count("deletes");
  }
}

}  // namespace sluice_mysql
