// The stream half of ChangeReader: what becomes of each event.
#include <algorithm>

#include "change_reader.h"
#include "gtid_set.h"

namespace sluice_mysql {
namespace {

// How often the position is moved on while only other tables change.
constexpr auto kPositionInterval = std::chrono::milliseconds(200);
constexpr size_t kMaxTables = 4096;

std::string text_of(const TableName& t) { return t.database + "." + t.table; }

void fold_names(std::vector<TableName>* names) {
  for (TableName& n : *names) n = {lower_case(n.database), lower_case(n.table)};
}

}  // namespace

Outcome ChangeReader::handle(const Event& event) {
  if (caught_up_) SLUICE_MYSQL_CHECK(not_at_rest());
  if (!added_.empty()) SLUICE_MYSQL_CHECK(pass_additions(event));
  Statement s;
  switch (event.kind) {
    case EventKind::kRows:
      SLUICE_MYSQL_CHECK(rows(event));
      break;
    case EventKind::kQuery:
      s = read(event);
      SLUICE_MYSQL_CHECK(statement(event, s));
      break;
    case EventKind::kTableMap:
    case EventKind::kHeartbeat:
      return Outcome::ok();
    default:
      break;
  }
  const bool was_inside = tracker_->in_transaction();
  SLUICE_MYSQL_CHECK(tracker_->see(event, &s));
  if (was_inside && !tracker_->in_transaction()) chunk_.close_row(true);
  // Rows must not wait for the server to fall silent: it may be busy with other tables for hours.
  if (tracker_->in_transaction() && !chunk_.has_rows()) return Outcome::ok();
  const auto now = std::chrono::steady_clock::now();
  if (now < next_position_) return Outcome::ok();
  next_position_ = now + kPositionInterval;
  return send_rows();
}

// Names as table maps have them.
Statement ChangeReader::read(const Event& event) const {
  Statement s = read_statement(event.text, event.database, event.sql_mode);
  if (facts_.folds_names) fold_names(&s.tables);
  return s;
}

bool ChangeReader::in_added_snapshot(const TableName& table) const {
  return std::any_of(added_.begin(), added_.end(), [&](const AddedTables& a) { return a.contains(table); });
}

// The changes of added tables begin where their snapshot is; what comes before is in it.
Outcome ChangeReader::pass_additions(const Event& event) {
  if (event.made_up || tracker_->in_transaction()) return Outcome::ok();
  const FilePosition here{parser_->file(), event.begin};
  const auto passed = [&](const AddedTables& added) {
    const BinlogPosition& at = added.at;
    if (at.server == facts_.identity) return !(here < FilePosition{at.file, at.begin});
    // Another server's files: what the snapshot saw is known by its GTIDs.
    const auto seen = GtidSet::parse(facts_.mariadb, at.gtid);
    return event.kind == EventKind::kGtid && seen && !seen->contains(event.text);
  };
  const auto left = std::remove_if(added_.begin(), added_.end(), passed);
  if (left == added_.end()) return Outcome::ok();
  added_.erase(left, added_.end());
  SLUICE_MYSQL_CHECK(send_rows());
  return remember(SavedTables::kAdded, encode_added(added_));
}

ChangePlace ChangeReader::place_of(const Event& event, const EventParser& parser, std::string_view gtid) const {
  ChangePlace place;
  place.file = parser.file();
  place.position = event.begin;
  place.gtid = gtid;
  place.server_id = event.header.server_id;
  place.event_ms = static_cast<int64_t>(event.header.timestamp) * 1000;
  place.now_ms = host_.now();
  return place;
}

// A record that is no row's.
void ChangeReader::add_complete_change(const Event& event, uint32_t row) {
  tracker_->emitted(event.begin, row);
  chunk_.add(writer_[0], tracker_->place().encode(), SLUICE_NO_TIME, false);
}

// What the writer has just made of one row.
void ChangeReader::add_changes(const Event& event, uint32_t row, int64_t time) {
  std::string position;
  for (size_t i = 0; i < writer_.size(); ++i) {
    const bool last = i + 1 == writer_.size();
    // A restart between the two records of one row makes both again.
    if (last) tracker_->emitted(event.begin, row);
    position.clear();
    const BinlogPosition& p = tracker_->place();
    p.append_head(&position);
    BinlogPosition::append_row(p.event, p.row, p.rows, &position);
    if (last) {
      chunk_.add_open(writer_[i], position, time, tracker_->transaction_number(), p.rows - 1);
    } else {
      chunk_.add(writer_[i], position, time, true);
    }
  }
}

ChangeReader::StreamTable* ChangeReader::stream_table(const TableMap& map, StreamTables* tables) const {
  const auto known = tables->find(map.serial);
  if (known != tables->end()) return &known->second;
  if (tables->size() >= kMaxTables) tables->clear();
  StreamTable& table = (*tables)[map.serial];
  table.name = {map.database, map.table};
  table.captured = filter_.matches(map.database, map.table);
  return &table;
}

Outcome ChangeReader::rows(const Event& event) {
  StreamTable& table = *stream_table(*event.rows.table, &tables_);
  if (!table.captured || tracker_->skips()) return Outcome::ok();
  if (!added_.empty() && in_added_snapshot(table.name)) return Outcome::ok();
  if (!table.codec) SLUICE_MYSQL_CHECK(make_codec(event, *parser_, &table));
  if (!table.captured) return Outcome::ok();  // it is none
  const auto where = [&] { return " (" + parser_->file() + ":" + std::to_string(event.begin) + ")"; };
  if (const sluice::Status s = row_reader_.open(event.rows); !s.is_ok()) return Outcome::lost(s.message() + where());
  ChangePlace place = place_of(event, *parser_, tracker_->gtid());
  const int64_t time = config_.timestamps ? place.event_ms : SLUICE_NO_TIME;
  int64_t counts[3] = {0, 0, 0};
  while (true) {
    bool found = false;
    if (const sluice::Status s = row_reader_.next(&found); !s.is_ok()) return Outcome::lost(s.message() + where());
    if (!found) break;
    if (tracker_->emitted_before(event.begin, row_reader_.index())) continue;
    place.row = row_reader_.index();
    RowsKind kind = event.rows.kind;
    std::string refused = made_or_refused([&] { return writer_.row(*table.codec, row_reader_, place, &kind); });
    if (writer_.size() == 0) continue;
    if (!refused.empty()) chunk_.refuse(refused + where());
    add_changes(event, place.row, time);
    if (!refused.empty()) chunk_.refuse({});
    ++counts[static_cast<size_t>(kind)];
    if (chunk_.is_full()) SLUICE_MYSQL_CHECK(send_rows());
  }
  const char* const names[3] = {"inserts", "updates", "deletes"};
  for (size_t i = 0; i < 3; ++i)
    if (counts[i] > 0) host_.count(names[i], counts[i]);
  const bool named_now = !event.rows.table->has_names && counts[0] + counts[1] + counts[2] > 0;
  if (named_now && table.first_rows.file.empty()) table.first_rows = {parser_->file(), event.begin};
  return Outcome::ok();
}

Outcome ChangeReader::truncated(const Event& event, const TableName& table) {
  if (tracker_->emitted_before(event.begin, 0)) return Outcome::ok();
  if (in_added_snapshot(table)) return Outcome::ok();
  host_.count("truncates");
  host_.warn(
      "table " + text_of(table) + " was truncated (" + parser_->file() + ":" + std::to_string(event.begin) + ")" +
      (config_.format == Format::kMaxwell ? ": Maxwell's format has no record for that, so the rows that it had stay "
                                            "where they were written to"
                                          : ""));
  writer_.truncate(table.database, table.table, place_of(event, *parser_, tracker_->gtid()));
  if (writer_.size() > 0) add_complete_change(event, 0);
  return Outcome::ok();
}

// The records of Maxwell's `output_ddl`: one for each captured table or database that the statement is about.
Outcome ChangeReader::ddl_records(const Event& event, const Statement& s) {
  const std::string_view type = maxwell_type(s.kind);
  if (type.empty()) return Outcome::ok();
  const size_t step = s.kind == StatementKind::kRenameTable ? 2 : 1;  // from, to
  for (size_t i = 0; i < s.tables.size(); i += step) {
    const TableName& t = s.tables[i];
    const bool to =
        step == 2 && i + 1 < s.tables.size() && filter_.matches(s.tables[i + 1].database, s.tables[i + 1].table);
    const bool captured = t.table.empty() ? filter_.matches_database(t.database) : filter_.matches(t.database, t.table);
    const auto row = static_cast<uint32_t>(i);
    if ((!captured && !to) || tracker_->emitted_before(event.begin, row)) continue;
    ChangePlace place = place_of(event, *parser_, tracker_->gtid());
    place.row = row;
    writer_.maxwell_ddl(type, t.database, t.table, event.text, nullptr, nullptr, place);
    add_complete_change(event, row);
    if (s.kind == StatementKind::kAlterTable || s.kind == StatementKind::kMoveRows)
      break;  // a second one is its new name, or has its partition now
  }
  return Outcome::ok();
}

// Rows were changed by a statement that the binlog has as such.
Outcome ChangeReader::unseen_rows(const Event& event, const Statement& s) {
  const auto captured = [&](const TableName& t) { return filter_.matches(t.database, t.table); };
  const std::string by_statement = "by a statement that the binlog has as such, without the rows (" + parser_->file() +
                                   ":" + std::to_string(event.begin) + ")";
  const char* const set_row = "a session ran with binlog_format STATEMENT or MIXED; set ROW everywhere";
  RowStatement named = read_row_statement(event.text, event.database, event.sql_mode);
  if (facts_.folds_names)
    for (auto* const names : {&named.listed, &named.changed, &named.read}) fold_names(names);
  std::vector<TableName> changed = named.listed;
  if (!s.temporary) changed.insert(changed.end(), s.tables.begin(), s.tables.end());
  for (const TableName& t : changed)
    if (captured(t))
      return Outcome::lost("rows of " + text_of(t) + " were changed " + by_statement + ": " + set_row);
  std::string why;
  SLUICE_MYSQL_CHECK(ask_server([&](Connection* sql) { return effects_.look(sql, named, filter_, &why); }));
  if (why.empty()) return Outcome::ok();
  return Outcome::lost("rows of captured tables may have been changed " + by_statement + ": " + why + ", and " +
                       set_row);
}

// DDL passes by. Rows after it come with a table map of their own.
Outcome ChangeReader::statement(const Event& event, const Statement& s) {
  const auto captured = [&](const TableName& t) { return filter_.matches(t.database, t.table); };
  const std::string where = " (" + parser_->file() + ":" + std::to_string(event.begin) + ")";
  if (tracker_->skips()) return Outcome::ok();
  if (s.kind >= StatementKind::kCreateTable && s.kind != StatementKind::kRowChange) effects_.forget();
  if (s.kind == StatementKind::kRowChange || s.fills) SLUICE_MYSQL_CHECK(unseen_rows(event, s));
  if (s.temporary) return Outcome::ok();
  if (changes_names(s))
    for (const TableName& t : s.tables)
      if (captured(t)) SLUICE_MYSQL_CHECK(names_changed(event, t));
  if (config_.output_ddl) SLUICE_MYSQL_CHECK(ddl_records(event, s));
  switch (s.kind) {
    case StatementKind::kTruncateTable:
      for (const TableName& t : s.tables)
        if (captured(t)) SLUICE_MYSQL_CHECK(truncated(event, t));
      return Outcome::ok();
    case StatementKind::kDropTable:
      for (const TableName& t : s.tables)
        if (captured(t)) {
          host_.count("drops");
          host_.warn("table " + text_of(t) + " was dropped" + where + ": its rows are gone without a delete of each");
        }
      return Outcome::ok();
    case StatementKind::kMoveRows:
      for (const TableName& t : s.tables)
        if (captured(t)) {
          host_.count("drops");
          host_.warn("partitions or a tablespace of table " + text_of(t) + " went or came" + where + ": rows that it " +
                     "lost or got by that come in no record: " + std::string(event.text.substr(0, 200)));
        }
      return Outcome::ok();
    case StatementKind::kDropDatabase:
      for (const TableName& t : s.tables)
        if (filter_.matches_database(t.database)) {
          host_.count("drops");
          host_.warn("database " + t.database + " was dropped" + where +
                     ": the rows of its tables are gone without a delete of each");
        }
      return Outcome::ok();
    case StatementKind::kRenameTable:
    case StatementKind::kAlterTable:
      for (size_t i = 0; i + 1 < s.tables.size(); i += 2) {
        if (!captured(s.tables[i]) && !captured(s.tables[i + 1])) continue;
        host_.count("renames");
        const char* const then =
            captured(s.tables[i + 1])
                ? (captured(s.tables[i]) ? "" : "; from now on its changes are captured, the rows it has are not read")
                : "; under its new name it is not captured";
        host_.warn("table " + text_of(s.tables[i]) + " is called " + text_of(s.tables[i + 1]) + " from now on" + where +
                   then);
      }
      if (s.ignores && !s.tables.empty() && captured(s.tables[0])) {
        host_.count("drops");
        host_.warn("table " + text_of(s.tables[0]) + " was altered by ALTER IGNORE" + where +
                   ": rows that a new unique key did not allow are gone without a delete of each: " +
                   std::string(event.text.substr(0, 200)));
      }
      if (s.kind == StatementKind::kAlterTable && s.tables.size() == 1 && captured(s.tables[0])) {
        host_.count("alters");
        host_.info("table " + text_of(s.tables[0]) + " was altered" + where + ": " +
                   std::string(event.text.substr(0, 200)));
      }
      return Outcome::ok();
    case StatementKind::kCreateTable:
      for (const TableName& t : s.tables) {
        if (!captured(t)) continue;
        if (!s.replaces) {
          host_.info("table " + text_of(t) + " was created" + where);
          continue;
        }
        host_.count("drops");
        host_.warn("table " + text_of(t) + " was created anew by CREATE OR REPLACE" + where +
                   ": rows that it had are gone without a delete of each");
      }
      return Outcome::ok();
    case StatementKind::kXaRollback:
      host_.count("xa_rollbacks");
      host_.warn("an XA transaction was rolled back after it had been prepared" + where +
                 ": if it changed captured tables, its rows were given when it was prepared");
      return Outcome::ok();
    default:
      return Outcome::ok();
  }
}

}  // namespace sluice_mysql
