// Follows the transactions of a binlog, so that there is always a place to begin again at.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "binlog_position.h"
#include "decode/binlog_event.h"
#include "decode/statement.h"
#include "gtid_set.h"
#include "server_error.h"

namespace sluice_mysql {

// Owned by one connection's reader; one thread.
class TransactionTracker {
 public:
  // Goes on at `from`, which the stream was asked for. `by_offset`: its offsets are those of this server's files;
  // else rows of the unfinished transaction are told apart by their count, if it comes first. `gtid_known`: from.gtid
  // is complete, also if it is empty.
  // `server`: the identity of the one that sends now; empty: that of `from`.
  TransactionTracker(bool mariadb, const BinlogPosition& from, bool by_offset, bool gtid_known,
                     const std::string& server = {});

  // Each event, after what it holds has been dealt with. `statement`: of a kQuery. lost: the stream is not what `from`
  // belongs to.
  Outcome see(const Event& event, const Statement* statement);

  // Whether row `row` of the event at offset `event` was emitted before `from` was written. To be asked once for each
  // row of captured tables.
  bool emitted_before(uint64_t event, uint32_t row);
  // A row of a captured table was emitted.
  void emitted(uint64_t event, uint32_t row) {
    place_.event = event;
    place_.row = row;
    ++place_.rows;
  }

  bool in_transaction() const noexcept { return open_; }
  // The transaction under way was read before: its rows are not to be emitted.
  bool skips() const noexcept { return skips_; }
  // Where to go on, all that was emitted included.
  // Between two servers it stays `from` until the rows that were emitted have been passed: its offsets are the first
  // one's.
  const BinlogPosition& place() const noexcept { return resuming_ && !by_offset_ ? from_ : place_; }
  // Changes whenever place().begin, file or gtid does.
  uint64_t version() const noexcept { return version_; }
  // Of the transaction under way: "0-101-7"; empty: none, or it has none.
  const std::string& gtid() const noexcept { return gtid_; }
  // A number that all rows of the transaction share: that of its GTID, or its offset.
  uint64_t transaction_number() const noexcept { return number_; }

 private:
  // `gtid`: empty: it has none.
  void begin(const Event& event, std::string_view gtid);
  Outcome end(const Event& event);
  Outcome format(const Event& event);
  void move_to(const std::string& file, uint64_t position);

  BinlogPosition place_;
  std::string file_;      // that is being sent
  uint32_t created_ = 0;  // when it was begun; 0: not yet known
  GtidSet done_;
  bool gtid_known_;
  uint64_t version_ = 1;

  bool open_ = false;  // inside a transaction
  bool skips_ = false;
  bool single_ = false;  // it ends with its next statement, unless that is a BEGIN
  std::string gtid_;
  uint64_t number_ = 0;
  std::vector<std::string> unsettled_;  // done, but place_ stays before them

  bool resuming_, by_offset_, found_ = false;
  BinlogPosition from_;
  uint64_t rows_left_;
  std::string awaited_;  // the transaction that must come first; empty: any
};

}  // namespace sluice_mysql
