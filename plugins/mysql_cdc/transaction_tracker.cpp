#include "transaction_tracker.h"

#include <charconv>
#include <ctime>

namespace sluice_mysql {
namespace {

// The last number of "0-101-7" and "uuid:7".
uint64_t number_of(std::string_view gtid) {
  const size_t at = gtid.find_last_of("-:");
  uint64_t out = 0;
  if (at != std::string_view::npos) std::from_chars(gtid.data() + at + 1, gtid.data() + gtid.size(), out);
  return out;
}

std::string time_text(uint32_t seconds) {
  const auto t = static_cast<time_t>(seconds);
  std::tm parts{};
  gmtime_r(&t, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

TransactionTracker::TransactionTracker(bool mariadb, const BinlogPosition& from, bool by_offset, bool gtid_known,
                                       const std::string& server)
    : place_(from),
      file_(by_offset ? from.file : std::string()),
      created_(by_offset ? from.created : 0),
      done_(GtidSet::parse(mariadb, from.gtid).value_or(GtidSet(mariadb))),
      gtid_known_(gtid_known || !from.gtid.empty()),
      resuming_(from.inside_transaction()),
      by_offset_(by_offset),
      from_(from),
      rows_left_(from.rows) {
  if (!by_offset && resuming_) awaited_ = from.open_gtid;
  if (!server.empty()) place_.server = server;
  if (!by_offset) place_.file.clear();  // until a transaction is met: its offsets are another server's
}

void TransactionTracker::begin(const Event& event, std::string_view gtid) {
  open_ = true;
  if (!unsettled_.empty()) return;  // place_ stays at an earlier transaction
  if (place_.file != file_ || place_.begin != event.begin) {
    place_.file = file_;
    place_.created = created_;
    place_.begin = event.begin;
    ++version_;
  }
  place_.open_gtid = gtid;
  place_.event = resuming_ ? from_.event : 0;
  place_.row = resuming_ ? from_.row : 0;
  place_.rows = resuming_ ? from_.rows : 0;
}

void TransactionTracker::move_to(const std::string& file, uint64_t position) {
  if (gtid_known_) {
    for (const std::string& gtid : unsettled_) done_.add(gtid);
    if (!unsettled_.empty()) place_.gtid = done_.text();
  }
  unsettled_.clear();
  place_.file = file;
  place_.created = file == file_ ? created_ : 0;
  place_.begin = position;
  place_.open_gtid.clear();
  place_.event = place_.row = 0;
  place_.rows = 0;
  ++version_;
}

Outcome TransactionTracker::end(const Event& event) {
  open_ = single_ = false;
  const bool skipped = skips_;
  if (!gtid_.empty() && !skipped) unsettled_.push_back(gtid_);
  skips_ = false;
  gtid_.clear();
  if (skipped && resuming_ && !by_offset_) return Outcome::ok();  // the one to go on in is still to come
  if (resuming_) {
    if (!found_ && (!by_offset_ || event.end > from_.event))
      return Outcome::lost("the row that was read last, " + from_.describe() +
                           ", is not in this server's binlog: it was made anew");
    if (found_) resuming_ = false;
  }
  // A client can ask for offsets of 32 bits only: from there on each position stays at the last transaction that begins
  // below. Files are changed soon after they have grown so large.
  if (event.end <= UINT32_MAX) move_to(file_, event.end);
  return Outcome::ok();
}

// Each file begins with this event, and each connection with that of its file. Its time is the file's: offsets and
// GTIDs of a binlog that was made anew may be the same.
Outcome TransactionTracker::format(const Event& e) {
  created_ = e.header.timestamp;
  if (by_offset_ && from_.created != 0 && created_ != 0 && file_ == from_.file && created_ != from_.created)
    return Outcome::lost(file_ + " is not the file that was read before: it was begun at " + time_text(created_) +
                         ", and that one at " + time_text(from_.created) +
                         ". The binlog was made anew (RESET MASTER)");
  if (place_.file != file_ || place_.created == created_) return Outcome::ok();
  place_.created = created_;
  ++version_;
  return Outcome::ok();
}

Outcome TransactionTracker::see(const Event& e, const Statement* statement) {
  if (!e.made_up) place_.chosen = false;
  if (e.kind == EventKind::kRotate && file_ != e.text) created_ = 0;
  if (e.kind == EventKind::kFormat) SLUICE_MYSQL_CHECK(format(e));
  switch (e.kind) {
    case EventKind::kRotate:
      if (!e.made_up) {
        file_ = std::string(e.text);
        if (!place_.file.empty()) move_to(file_, e.position);
        return Outcome::ok();
      }
      // Of the connection's beginning, or of a file that ended without a ROTATE because the server was killed.
      if (file_ != e.text && !file_.empty() && !place_.file.empty()) {
        file_ = std::string(e.text);
        open_ = single_ = skips_ = false;
        move_to(file_, e.position);
      }
      file_ = std::string(e.text);
      return Outcome::ok();
    case EventKind::kGtidList:
      // The state at the beginning of a file.
      if (gtid_known_ || place_.inside_transaction() || open_) return Outcome::ok();
      for (std::string_view rest = e.text; !rest.empty();) {
        const size_t comma = rest.find(',');
        done_.add(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      }
      gtid_known_ = true;
      place_.gtid = done_.text();
      ++version_;
      return Outcome::ok();
    case EventKind::kGtid:
      if (!awaited_.empty() && !done_.contains(e.text)) {
        if (e.text != awaited_)
          return Outcome::lost("transaction " + awaited_ + " was read in part from the server before (" + from_.server +
                               "), and here the next one is " + std::string(e.text) +
                               ": its other rows cannot be told apart");
        awaited_.clear();
      }
      begin(e, e.text);
      gtid_ = std::string(e.text);
      // After a start by GTIDs a place in a file says less than the set: there may be some further on that it has.
      skips_ = done_.contains(gtid_);
      number_ = gtid_.empty() ? e.begin : number_of(gtid_);
      // MySQL says by a BEGIN whether more than one statement follows, MariaDB here.
      single_ = e.standalone || gtid_.empty() || gtid_.find(':') != std::string::npos;
      return Outcome::ok();
    case EventKind::kXid:
    case EventKind::kXaPrepare:
      return end(e);
    case EventKind::kQuery:
      switch (statement->kind) {
        case StatementKind::kBegin:
          if (!open_) {
            begin(e, {});
            number_ = e.begin;
          }
          single_ = false;
          return Outcome::ok();
        case StatementKind::kCommit:
        case StatementKind::kRollback:
        case StatementKind::kXaCommit:
        case StatementKind::kXaRollback:
          return end(e);
        case StatementKind::kSavepoint:
        case StatementKind::kXaEnd:
          return Outcome::ok();
        default:
          return open_ && !single_ ? Outcome::ok() : end(e);
      }
    default:
      // Between transactions: notes that the server leaves for itself.
      if (!open_ && !resuming_ && !e.made_up && place_.file == file_ && unsettled_.empty() && e.end <= UINT32_MAX &&
          e.end > place_.begin) {
        place_.begin = e.end;
        ++version_;
      }
      return Outcome::ok();
  }
}

bool TransactionTracker::emitted_before(uint64_t event, uint32_t row) {
  if (!resuming_) return false;
  if (!by_offset_) {
    if (rows_left_ > 0) {
      found_ = --rows_left_ == 0;
      return true;
    }
    resuming_ = false;
    return false;
  }
  if (event < from_.event || (event == from_.event && row <= from_.row)) {
    if (event == from_.event && row == from_.row) found_ = true;
    return true;
  }
  resuming_ = false;
  return false;
}

}  // namespace sluice_mysql
