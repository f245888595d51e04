// How ChangeReader comes to know what the columns of a table are called when the binlog does not say it: they are asked
// for now, and the rows were written then.
#include <algorithm>

#include "change_reader.h"

namespace sluice_mysql {
namespace {

// As far ahead as looking takes no time to speak of.
constexpr uint64_t kNear = uint64_t{64} << 20;

std::string text_of(const TableName& t) { return t.database + "." + t.table; }

const char* const kSetFull =
    ", and without full metadata the binlog does not say what their columns were called then. Set "
    "binlog_row_metadata=FULL at the server: the names are in the binlog from then on, and alterations are followed";

bool is_sequence_map(const TableMap& map) {
  return map.has_names && map.columns.size() == 8 && map.columns[0].name == "next_not_cached_value" &&
         map.columns[7].name == "cycle_count";
}

}  // namespace

Outcome ChangeReader::make_codec(const Event& event, const EventParser& parser, StreamTable* table) {
  const TableMap& map = *event.rows.table;
  const bool by_place = !map.has_names;
  std::optional<Described> described;
  const Outcome o = ask_server([&](Connection* sql) { return TableCatalog(sql).describe(table->name, &described); });
  // With names, a type that is not known today says nothing about these rows.
  if (!o.is_ok() && (o.trouble() == Trouble::kAway || by_place)) return o;
  if (is_sequence_map(map) || (described && described->sequence)) {
    table->captured = false;
    return Outcome::ok();
  }
  TableCodec codec;
  const sluice::Status s =
      TableCodec::for_stream(map, described ? &described->table : nullptr, collations_, style_, &codec);
  if (!s.is_ok()) return by_place ? Outcome::lost(s.message()) : Outcome::wrong(s.message());
  if (by_place) SLUICE_MYSQL_CHECK(check_names(event, parser, described->altered_s, table));
  table->codec = std::move(codec);
  return Outcome::ok();
}

// Whether what information_schema says now holds for rows that were written at `event`.
Outcome ChangeReader::check_names(const Event& event, const EventParser& parser, int64_t altered_s,
                                  StreamTable* table) {
  ServerFacts end = facts_;
  SLUICE_MYSQL_CHECK(read_end(sql_, facts_.mariadb, &end));
  table->described_at = {end.end_file, end.end_position};
  const FilePosition here{parser.file(), event.begin};
  const bool older = altered_s != 0 && altered_s < int64_t{event.header.timestamp};
  if (!tracker_)  // a part of the binlog behind which all has been read already
    return older ? Outcome::ok()
                 : Outcome::lost("the rows of " + text_of(table->name) + " at " + here.text() +
                                 " may have been written before the table was altered" + kSetFull);
  if (tracker_->place().server != facts_.identity) return Outcome::ok();  // see names_changed()
  const bool near = here.file == end.end_file && end.end_position - here.position <= kNear;
  if ((older && !near) || here.position > UINT32_MAX) return Outcome::ok();
  SLUICE_MYSQL_CHECK(scan_ahead(table->described_at));
  for (const ColumnChange& c : ahead_)
    if (c.table == table->name && here < c.at)
      return Outcome::lost("the rows of " + text_of(table->name) + " at " + here.text() +
                           " were written before the table was altered, at " + c.at.text() + kSetFull);
  return Outcome::ok();
}

// From the transaction under way on: rows in the middle of one cannot be read without its table maps.
Outcome ChangeReader::scan_ahead(const FilePosition& until) {
  FilePosition from{tracker_->place().file, tracker_->place().begin};
  if (from < looked_until_) from = looked_until_;
  if (!(from < until)) return Outcome::ok();
  const auto visit = [this](const Event& event, const EventParser& parser) {
    return note_column_changes(event, parser);
  };
  SLUICE_MYSQL_CHECK(scan_binlog(config_, facts_, &interrupter_, from, until, visit));
  looked_until_ = until;
  return Outcome::ok();
}

Outcome ChangeReader::note_column_changes(const Event& event, const EventParser& parser) {
  if (event.kind != EventKind::kQuery) return Outcome::ok();
  const Statement s = read(event);
  if (!changes_names(s)) return Outcome::ok();
  for (const TableName& t : s.tables)
    if (filter_.matches(t.database, t.table)) ahead_.push_back({{parser.file(), event.begin}, t});
  return Outcome::ok();
}

// The statement is met now. Rows before it that got their names from behind it have wrong ones: that was not seen
// coming where nobody looked ahead.
Outcome ChangeReader::names_changed(const Event& event, const TableName& name) {
  const FilePosition here{parser_->file(), event.begin};
  for (auto it = tables_.begin(); it != tables_.end();) {
    StreamTable& table = it->second;
    if (!(table.name == name) || table.described_at.file.empty()) {
      ++it;
      continue;
    }
    if (here < table.described_at && !table.first_rows.file.empty())
      return Outcome::lost("the rows of " + text_of(name) + " from " + table.first_rows.text() + " to " + here.text() +
                           " were given under the names that columns have had only since then" + kSetFull);
    it = tables_.erase(it);
  }
  return Outcome::ok();
}

}  // namespace sluice_mysql
