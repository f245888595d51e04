// Rows between their conversion and their commit: which statement they share, in which order, and what becomes of them.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "phoenix/commit_size.h"
#include "phoenix/servers.h"
#include "phoenix/target_table.h"

namespace sluice::phoenix {

struct PendingRow {
  uint32_t row = 0;  // of the batch
  TargetTable* table = nullptr;
  BoundRow bound;
};

// Owned by one sink; one thread.
class RowWriter {
 public:
  void configure(Servers* servers, size_t most_rows, size_t most_bytes,
                 std::function<void(const char*, int64_t)> count);

  void add(PendingRow row);
  bool is_full() const noexcept { return pending_.size() >= size_.rows() || bytes_ >= most_bytes_; }
  bool empty() const noexcept { return pending_.empty(); }
  // The first row that is not committed.
  uint32_t first_row() const noexcept { return pending_.front().row; }
  // The table that flush() did not find, after kNotThere; nullptr: it is not known which one.
  TargetTable* missing() const noexcept { return missing_; }
  void clear() noexcept;

  // Writes and commits everything: rows of one key in their order, each either written or in `rejected`. After a
  // failure, which is about the server or about a table that is not there, the rows that are left are still pending;
  // those before first_row() are done for. Rows of a table that stays away are in `rejected`, too.
  Failure flush(std::vector<std::pair<uint32_t, std::string>>* rejected);

 private:
  using Rows = std::vector<PendingRow*>;
  struct Group {
    const std::string* sql = nullptr;
    bool deletes = false;
    Rows rows;
  };

  // How many of the pending rows may share a commit: a deleted key that comes again needs one in between.
  size_t committable() const;
  Failure write(Rows rows);
  Failure session_for(const Rows& rows, Session** out);
  // *failed stays empty when it is about no row.
  Failure execute(const Rows& rows, Session** used, Group* failed);
  Failure find_bad(const Group& group, Rows rows, const Failure& reason, std::vector<PendingRow*>* bad);
  static std::vector<Group> groups_of(const Rows& rows);
  void refuse(PendingRow* row, const std::string& reason);
  Failure find_missing(const Rows& rows, Failure reason);
  bool leave_out_missing(const Failure& reason, const Group& failed, Rows* rows);

  Servers* servers_ = nullptr;
  CommitSize size_;
  size_t most_bytes_ = 1 << 22;
  std::function<void(const char*, int64_t)> count_;
  std::deque<PendingRow> pending_;
  size_t bytes_ = 0;
  std::vector<std::pair<uint32_t, std::string>>* rejected_ = nullptr;
  TargetTable* missing_ = nullptr;
  // In HBase a deletion, also that of one column by NULL, hides everything of its own time: also what is written
  // afterwards.
  std::unordered_set<std::string> hidden_;  // keys of which something was deleted at hidden_time_
  int64_t hidden_time_ = 0;
};

}  // namespace sluice::phoenix
