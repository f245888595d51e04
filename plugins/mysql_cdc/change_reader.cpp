#include "change_reader.h"

#include <algorithm>

#include "gtid_set.h"

namespace sluice_mysql {
namespace {

constexpr std::chrono::milliseconds kFirstPause(50), kLongestPause(5000);
// How long one may read without a pause and still count as being at the end.
constexpr auto kLongestBusy = std::chrono::milliseconds(200);
// How long another server may take to apply what was read from the one before.
const char* const kCatchUpSeconds = "5";

// What to do when nothing could be read from where the options say.
std::string no_beginning(const BinlogPosition& at) {
  return std::string(". Nothing has been read yet: correct `") + (at.file.empty() ? "start_gtid" : "start_position") +
         "`, and start once with `--from none`, because the checkpoint holds the one that is wrong";
}

// How to go on after a gap.
const char* const kWayOut =
    ". Changes are lost, so the position of the checkpoint cannot be gone on at. Set `on_gap: snapshot` and start "
    "again: a new snapshot is taken, "
    "and the changes after it follow. Keep binlogs for longer than the longest time that the job may be away";

}  // namespace

ChangeReader::ChangeReader(const CdcConfig& config, TableFilter filter, ClientName client, ReaderHost host)
    : config_(config),
      filter_(std::move(filter)),
      client_(std::move(client)),
      host_(host),
      style_{config.format, config.decimals, find_zone(config.time_zone)},
      queue_(static_cast<size_t>(std::max<int64_t>(config.max_queue.bytes, 1))),
      writer_(style_, client_.source),
      chunk_(&writer_, config.format == Format::kMaxwell) {}

void ChangeReader::start(const BinlogPosition& from, bool restored, const SavedTables& saved) {
  at_ = from;
  rows_may_be_out_ = restored && from.phase == BinlogPosition::Phase::kSnapshot;
  if (from.phase == BinlogPosition::Phase::kStream && !saved.captured.empty() && saved.captured != filter_text(filter_))
    before_ = read_filter(saved.captured);
  added_ = decode_added(saved.added).value_or(std::vector<AddedTables>());
  thread_ = std::thread([this] { run(); });
}

void ChangeReader::stop() {
  interrupter_.interrupt();
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

// ---- where to begin -----------------------------------------------------------------------------------------------

Outcome ChangeReader::resolve(BinlogPosition* from) {
  Connection sql(&interrupter_);
  SLUICE_MYSQL_CHECK(sql.open_briefly(config_));
  ServerFacts facts;
  SLUICE_MYSQL_CHECK(
      look(&sql, config_.start == Start::kInitial ? Tables::kMustBeThere : Tables::kMayBeMissing, &facts));
  Findings findings;
  SLUICE_MYSQL_CHECK(check_start(&sql, config_, facts, &interrupter_, &findings));
  if (!findings.problems.empty()) return Outcome::wrong(findings.text());
  for (const Problem& p : findings.warnings) host_.warn(p.text);
  return position_for_start(&sql, facts, from);
}

// Asks what the server is, and stops at everything that would lose changes.
Outcome ChangeReader::look(Connection* sql, Tables tables, ServerFacts* facts) {
  SLUICE_MYSQL_CHECK(read_facts(sql, facts));
  filter_.ignore_case(facts->folds_names);
  if (before_) before_->ignore_case(facts->folds_names);
  Findings findings;
  SLUICE_MYSQL_CHECK(check_server(sql, config_, client_, filter_, *facts, tables, &interrupter_, &findings));
  if (!findings.problems.empty()) return Outcome::wrong(findings.text());
  for (const Problem& p : findings.warnings)
    if (warned_.insert(p.text).second) host_.warn(p.text);
  return read_end(sql, facts->mariadb, facts);
}

Outcome ChangeReader::position_for_start(Connection* sql, const ServerFacts& facts, BinlogPosition* from) {
  *from = BinlogPosition();
  from->server = facts.identity;
  if (config_.start == Start::kInitial) {  // the snapshot will be of this place or of a later one
    from->file = facts.end_file;
    from->begin = facts.end_position;
    from->gtid = facts.end_gtid;
    return Outcome::ok();
  }
  from->phase = BinlogPosition::Phase::kStream;
  from->begin = 4;
  SqlRows rows;
  switch (config_.start) {
    case Start::kLatest: {
      std::vector<std::string> prepared;
      bool allowed = true;
      SLUICE_MYSQL_CHECK(read_prepared_xa(sql, &prepared, &allowed));
      for (const std::string& xa : prepared)
        host_.warn(
            "the XA transaction " + xa +
            " is prepared: its rows are in the binlog before the place where this job starts (`start: latest`), so "
            "they are not given, also if it is committed later");
      from->file = facts.end_file;
      from->begin = facts.end_position;
      from->gtid = facts.end_gtid;
      gtid_known_ = true;
      return facts.mariadb ? gtid_at(sql, facts, {from->file, from->begin}, &from->gtid) : Outcome::ok();
    }
    case Start::kPosition: {
      const FilePosition p = *parse_file_position(*config_.start_position);
      from->file = p.file;
      from->begin = p.position;
      from->chosen = true;
      if (!facts.mariadb) return Outcome::ok();
      SLUICE_MYSQL_CHECK(
          sql->query("SELECT BINLOG_GTID_POS(" + sql->quoted(p.file) + "," + std::to_string(p.position) + ")",
                     "look up " + *config_.start_position, &rows));
      gtid_known_ = rows[0][0].has_value();
      from->gtid = rows[0][0].value_or("");
      return Outcome::ok();
    }
    case Start::kGtid:
      from->chosen = true;
      from->gtid = GtidSet::parse(facts.mariadb, *config_.start_gtid)->text();
      return Outcome::ok();
    default:  // earliest
      if (facts.mariadb) return Outcome::ok();
      SLUICE_MYSQL_CHECK(sql->query("SELECT @@global.gtid_purged", "read the server's GTIDs", &rows));
      if (const auto set = GtidSet::parse(false, rows[0][0].value_or("")); set && set->empty()) gtid_known_ = true;
      return Outcome::ok();
  }
}

// MariaDB: the GTIDs before a place where no transaction is under way. Its function for that gives nothing when an
// event before the place is larger than max_allowed_packet, and an update of a large row is as large as two of it.
Outcome ChangeReader::gtid_at(Connection* sql, const ServerFacts& facts, const FilePosition& at, std::string* out) {
  std::optional<std::string> known;
  SLUICE_MYSQL_CHECK(read_gtid_at(sql, at, &known));
  if (known) {
    *out = *known;
    return Outcome::ok();
  }
  GtidSet seen(true);
  const auto visit = [&](const Event& event, const EventParser&) {
    if (event.made_up || (event.kind != EventKind::kGtid && event.kind != EventKind::kGtidList)) return Outcome::ok();
    if (const auto more = GtidSet::parse(true, event.text)) seen.add_all(*more);
    return Outcome::ok();
  };
  const Outcome o = scan_binlog(config_, facts, &interrupter_, {at.file, 4}, at, visit);
  if (!o.is_ok() && o.trouble() == Trouble::kLost)
    return Outcome::away("the binlog " + at.file + " went away while its end was looked up: " + o.message());
  *out = seen.text();
  return o;
}

// ---- one connection after the other -------------------------------------------------------------------------------

void ChangeReader::run() noexcept {
  std::string why;
  try {
    read_all();
    return;
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "something unknown was thrown";
  }
  static_cast<void>(send(Item::Kind::kFailed, {}, "reading the server's changes ended: " + why));
}

void ChangeReader::read_all() {
  std::chrono::milliseconds pause = kFirstPause;
  while (!interrupter_.interrupted()) {
    progress_ = false;
    Outcome o = session();
    if (o.is_ok() || interrupter_.interrupted()) break;
    // What was read is good, whatever has happened.
    // (An open row of Maxwell's stays: the rest of its transaction comes again.)
    const std::string place = tracker_ ? parser_->file() + ":" + std::to_string(parser_->position())
                                       : at_.file + ":" + std::to_string(at_.begin);
    if (tracker_) at_ = tracker_->place();
    if (o.trouble() != Trouble::kAway) chunk_.close_row(false);
    if (!send_rows().is_ok()) break;
    tracker_.reset();
    verified_ = false;  // the next session may find other files
    sql_ = nullptr;
    caught_up_ = false;
    if (o.trouble() == Trouble::kWrong) {
      static_cast<void>(send(Item::Kind::kFailed, {}, o.message()));
      return;
    }
    if (!send(Item::Kind::kAway).is_ok()) break;
    if (o.trouble() == Trouble::kLost) {
      if (config_.on_gap == OnGap::kFail) {
        static_cast<void>(send(Item::Kind::kFailed, {}, o.message() + (at_.chosen ? no_beginning(at_) : kWayOut)));
        return;
      }
      // An event that cannot be read stays where it is.
      if (config_.on_gap == OnGap::kEarliest && place[0] != ':' && place == lost_at_) {
        static_cast<void>(send(Item::Kind::kFailed, {},
                               o.message() + ": met again after `on_gap: earliest`, at " + place +
                                   ". Set `on_gap: snapshot`, or delete the binlogs up to this one"));
        return;
      }
      lost_at_ = place;
      host_.count("gaps");
      const bool snapshot = config_.on_gap == OnGap::kSnapshot;
      host_.warn(o.message() +
                 (snapshot ? ". Changes are lost; a new snapshot is taken (`on_gap: snapshot`). It says nothing of rows "
                             "that have been deleted since: a target that has them keeps them"
                           : ". Changes are lost; reading goes on at the first binlog there is (`on_gap: earliest`)"));
      at_ = BinlogPosition();
      gtid_known_ = rows_may_be_out_ = false;
      if (!snapshot) at_.phase = BinlogPosition::Phase::kStream;
      // A server that says the same again at once must not be asked without end.
      if (!progress_ && !interrupter_.pause(pause)) break;
      pause = std::min(pause * 2, kLongestPause);
      continue;
    }
    if (progress_) pause = kFirstPause;
    host_.note("mysql away: " + o.message());
    host_.count("reconnects");
    if (!interrupter_.pause(pause)) break;
    pause = std::min(pause * 2, kLongestPause);
  }
}

Outcome ChangeReader::session() {
  Connection sql(&interrupter_);
  SLUICE_MYSQL_CHECK(sql.open(config_, kQueryPatience));
  ServerFacts facts;
  const bool snapshot_wanted = at_.phase == BinlogPosition::Phase::kSnapshot;
  SLUICE_MYSQL_CHECK(look(&sql,
                          snapshot_wanted ? Tables::kMustBeThere
                          : before_       ? Tables::kMayBeMissing
                                          : Tables::kNotAsked,
                          &facts));
  if (!have_collations_) SLUICE_MYSQL_CHECK(read_collations(&sql, &collations_));
  have_collations_ = true;
  host_.note("");
  facts_ = facts;
  if (snapshot_wanted) {
    SLUICE_MYSQL_CHECK(snapshot(&sql, facts));
  } else if (before_) {
    SLUICE_MYSQL_CHECK(add_tables(&sql, facts));
  }
  Outcome o = stream(&sql, facts);
  // Nothing could be read from there.
  if (!o.is_ok() && o.trouble() == Trouble::kLost && !progress_)
    return Outcome::lost(o.message() + needed_and_there(&sql));
  return o;
}

// ---- the binlog -----------------------------------------------------------------------------------------------------

// Files of the same names that were made anew give wrong changes silently: GTIDs tell.
Outcome ChangeReader::check_continuity(Connection* sql, const ServerFacts& facts) {
  if (verified_ || at_.gtid.empty()) return Outcome::ok();
  const bool other_server = at_.server != facts.identity;
  if (facts.mariadb && (other_server || at_.file.empty())) return check_domains(sql, other_server);
  if (at_.file.empty()) return Outcome::ok();
  SqlRows rows;
  const std::string doing = "compare the position with the binlog";
  if (facts.mariadb) {
    SLUICE_MYSQL_CHECK(sql->query(
        "SELECT BINLOG_GTID_POS(" + sql->quoted(at_.file) + "," + std::to_string(at_.begin) + ")", doing, &rows));
    const auto there = rows[0][0] ? GtidSet::parse(true, *rows[0][0]) : std::nullopt;  // none: reading will say why
    const auto ours = GtidSet::parse(true, at_.gtid);
    if (there && ours && !ours->continues(*there))
      return Outcome::lost("the binlog has " + there->text() + " at " + at_.file + ":" + std::to_string(at_.begin) +
                           ", where it had " + ours->text() + ": it was made anew (RESET MASTER)");
  } else {
    SLUICE_MYSQL_CHECK(
        sql->query("SELECT GTID_SUBSET(" + sql->quoted(at_.gtid) + ", @@global.gtid_executed)", doing, &rows));
    if (other_server && rows[0][0] && *rows[0][0] == "0") {
      // A replica that was promoted may still have to apply what it has received.
      const Outcome o = sql->query(
          "SELECT WAIT_FOR_EXECUTED_GTID_SET(" + sql->quoted(at_.gtid) + ", " + kCatchUpSeconds + ")", doing, &rows);
      // An error of the server's own: it does not use GTIDs.
      const bool gone = sql->error_code() >= 2000 && sql->error_code() < 3000;
      if (!o.is_ok() && gone) return o;
      if (!o.is_ok() || !rows[0][0] || *rows[0][0] != "0")
        return Outcome::lost("this server does not have all of " + at_.gtid + ", which was read from the one before (" +
                             at_.server + "): it has lost the end, or is still behind");
    } else if (rows[0][0] && *rows[0][0] == "0")
      return Outcome::lost("the server does not have all of " + at_.gtid +
                           ", which was read from it: its binlog was made anew (RESET MASTER), or its "
                           "end was lost in a crash");
  }
  verified_ = true;
  return Outcome::ok();
}

// MariaDB that is asked for GTIDs says itself which transactions it does not have, but not which domains: of those that
// it has never heard of it gives what there is, from its first file on. So does one that was filled by a copy.
Outcome ChangeReader::check_domains(Connection* sql, bool other_server) {
  const auto ours = GtidSet::parse(true, at_.gtid);
  if (!ours) return Outcome::ok();  // reading will say why
  SqlRows rows;
  SLUICE_MYSQL_CHECK(
      sql->query("SELECT @@gtid_binlog_state, @@gtid_slave_pos", "compare the position with the binlog", &rows));
  const auto state = GtidSet::parse(true, rows[0][0].value_or(""));
  const auto replicated = GtidSet::parse(true, rows[0][1].value_or(""));
  if (!state || !replicated) return Outcome::ok();
  const std::vector<uint32_t> there = state->domains();
  std::string lacking;
  size_t known = 0;
  for (const uint32_t domain : ours->domains()) {
    if (std::find(there.begin(), there.end(), domain) != there.end()) {
      ++known;
    } else {
      lacking += (lacking.empty() ? "" : ", ") + std::to_string(domain);
    }
  }
  verified_ = true;
  if (lacking.empty()) return Outcome::ok();
  const std::string nothing = "this server's binlog has nothing of GTID domain " + lacking + " (to go on after " +
                              ours->text() + (other_server ? ", read from the server before, " + at_.server : "") +
                              "; here: " + (state->empty() ? "none" : *rows[0][0]) + ")";
  if (known > 0) {
    if (const std::string text = nothing + ": changes of it that came here by a copy of the data are not read";
        warned_.insert(text).second)
      host_.warn(text);
    return Outcome::ok();
  }
  // A replica that is exactly as far as this side: what its binlog has of its own is new here. (Files of it that are gone
  // the server reports itself.)
  if (replicated->has_all_last(*ours)) return Outcome::ok();
  verified_ = false;
  return Outcome::lost(nothing + ": it was filled by a copy of the data, or is of another replication, and where to go "
                                 "on in it is not known");
}

// What is needed and what there is, behind a message that says neither.
std::string ChangeReader::needed_and_there(Connection* sql) const {
  std::string there;
  if (!read_binlogs(sql, &there).is_ok() || there.empty()) return " (needed: " + at_.describe() + ")";
  return " (needed: " + at_.describe() + "; the server has " + there + ")";
}

Outcome ChangeReader::stream(Connection* sql, const ServerFacts& facts) {
  BinlogPosition from = at_;
  const bool other_server = !from.server.empty() && from.server != facts.identity;
  const bool by_offset = !other_server;
  if (other_server) {
    if (from.gtid.empty())
      return Outcome::lost("this server (" + facts.identity + ") is not the one that was read before (" + from.server +
                           "), and without GTIDs its binlog says nothing about where to go on");
    host_.info("this server (" + facts.identity + ") is not the one that was read before (" + from.server +
               "): going on behind " + from.gtid);
    from.file.clear();
  }
  SLUICE_MYSQL_CHECK(check_continuity(sql, facts));
  BinlogConnection binlog(&interrupter_);
  SLUICE_MYSQL_CHECK(binlog.open(config_, client_, facts, from));
  parser_.emplace(facts.checksum);
  parser_->set_position(from.file, from.begin);
  tracker_.emplace(facts.mariadb, at_, by_offset, gtid_known_, facts.identity);
  tables_.clear();
  effects_.forget();
  ahead_.clear();
  looked_until_ = {};
  sql_ = sql;
  sent_version_ = 0;
  Event event;
  while (true) {
    const bool waits = !binlog.ready();
    if (waits) {
      SLUICE_MYSQL_CHECK(at_rest(facts));
    } else if (chunk_.is_full()) {
      SLUICE_MYSQL_CHECK(send_rows());
    }
    const uint8_t* data = nullptr;
    size_t size = 0;
    SLUICE_MYSQL_CHECK(binlog.read(&data, &size));
    // In the middle of a transaction the server is only slower than this side.
    if (waits && !tracker_->in_transaction()) busy_since_ = std::chrono::steady_clock::now();
    if (const sluice::Status s = parser_->parse(data, size, &event); !s.is_ok()) return Outcome::lost(s.message());
    if (!event.made_up) progress_ = true;
    SLUICE_MYSQL_CHECK(handle(event));
  }
}

// Nothing waits to be read.
Outcome ChangeReader::at_rest(const ServerFacts& facts) {
  SLUICE_MYSQL_CHECK(send_rows());
  const std::string& file = parser_->file();
  const bool at_end =
      file == facts.end_file ? parser_->position() >= facts.end_position : file_before(facts.end_file, file);
  if (caught_up_ || !at_end || file.empty() || tracker_->in_transaction()) return Outcome::ok();
  caught_up_ = true;
  return send(Item::Kind::kCaughtUp);
}

// Changes come without a pause. If none of them is of a captured table, no row says that the end is out of sight again.
Outcome ChangeReader::not_at_rest() {
  if (std::chrono::steady_clock::now() - busy_since_ < kLongestBusy) return Outcome::ok();
  caught_up_ = false;
  return send(Item::Kind::kBehind);
}

// Rows that are waiting, and where to go on.
Outcome ChangeReader::send_rows() {
  Item item;
  if (tracker_ && !tracker_->in_transaction() && tracker_->version() != sent_version_) {
    item.position = tracker_->place().encode();
    sent_version_ = tracker_->version();
  }
  if (chunk_.has_rows()) {
    item.chunk = chunk_.take(queue_.take_spare());
    caught_up_ = false;
  } else if (!item.position.empty()) {
    item.kind = Item::Kind::kPosition;
  } else {
    return Outcome::ok();
  }
  bool was_empty = false;
  if (!queue_.push(std::move(item), &was_empty)) return Outcome::away("stopped");
  if (was_empty) host_.wake();
  return Outcome::ok();
}

Outcome ChangeReader::send(Item::Kind kind, std::string position, std::string text) {
  Item item;
  item.kind = kind;
  item.position = std::move(position);
  item.text = std::move(text);
  bool was_empty = false;
  if (!queue_.push(std::move(item), &was_empty)) return Outcome::away("stopped");
  if (was_empty) host_.wake();
  return Outcome::ok();
}

Outcome ChangeReader::remember(const char* name, std::string text) {
  Item item;
  item.kind = Item::Kind::kRemember;
  item.name = name;
  item.text = std::move(text);
  bool was_empty = false;
  if (!queue_.push(std::move(item), &was_empty)) return Outcome::away("stopped");
  if (was_empty) host_.wake();
  return Outcome::ok();
}

}  // namespace sluice_mysql
