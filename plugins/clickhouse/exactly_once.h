// `delivery: exactly_once`: checkpoint after checkpoint, each in blocks that depend on nothing but its rows, so that
// the server leaves out those that it has when they come again.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deduplication_window.h"
#include "epoch_marker.h"
#include "server.h"

namespace sluice::clickhouse {

// When the rows of a checkpoint were first on their way, and how long the table remembers that. Shared by the blocks.
struct EpochAttempt {
  uint64_t checkpoint = 0;
  bool is_repeat = false;  // an earlier attempt may have brought some of the blocks into the table
  InsertCount begin;
  DeduplicationWindow window;
  uint32_t lanes = 1;
};

// Whether the server still knows the attempt's blocks. Else: fatal, or what kept the server from saying so.
Answer check_remembered(const TargetRules& rules, size_t server, HttpClient& client, const EpochAttempt& attempt);

// Fatal where rows could come twice, with the way out. Changes nothing.
Status check_exactly_once(const TargetRules& rules, const ServerInfo& info, size_t server, HttpClient& client,
                          DeduplicationWindow* window);

// Of one lane; used by its thread. Requests that fail for now are RETRY, and may be made again.
class ExactlyOnce {
 public:
  // `batch_rows`: rows of a block, for checkpoints that were not begun under another number.
  ExactlyOnce(const TargetRules& rules, EpochMarker marker, uint32_t lanes, int64_t batch_rows);

  Status open(size_t server, HttpClient& client, int64_t now_ms);
  // Reads what the table holds; what is known of an epoch that was begun is forgotten.
  Status read(size_t server, HttpClient& client);
  // Looks at the table. *altered: something has happened to it, or to the views on it, since it was checked.
  Status look(size_t server, HttpClient& client, bool* altered);
  void set_checked() { checked_table_id_ = table_id_; }  // what the last look saw
  // read(), then rows of this checkpoint come from the first one on. After look(). *goes_on: this object began the same
  // checkpoint before, and the table was not altered since: blocks that were confirmed are in it.
  Status begin(uint64_t checkpoint, std::string_view lineage, size_t server, HttpClient& client, int64_t now_ms,
               bool* goes_on);
  bool holds(uint64_t checkpoint, std::string_view lineage) const {
    return marker_.lineage == lineage && marker_.epoch >= checkpoint;
  }
  // All rows are in.
  Status finish(uint64_t checkpoint, std::string_view lineage, size_t server, HttpClient& client, int64_t now_ms);
  const EpochMarker& marker() const { return marker_; }

  void set_window(const DeduplicationWindow& window) { window_ = window; }
  int64_t batch_rows() const { return batch_rows_; }
  // Counts a row. True: the blocks before it end here. Only the rows decide, so that they end there again.
  bool next_row();
  // That the counted row takes in a block.
  void add_bytes(size_t bytes) { open_bytes_ += bytes; }
  // The name of a new block of the row at hand: the same when the epoch is written again.
  std::string token(std::string_view partition, const std::string& column_names);
  const std::shared_ptr<const EpochAttempt>& attempt() const { return attempt_; }
  // Fatal: the server would have forgotten the epoch's first blocks before the last one is in.
  Status check_block_count() const;

 private:
  Status write(const EpochMarker& next, size_t server, HttpClient& client, int64_t now_ms);
  Status failed(size_t server, const ServerError& error);

  const TargetRules& rules_;
  EpochMarker marker_;
  const uint32_t lanes_;
  const int64_t wanted_batch_rows_;
  UnknownErrors unknown_errors_;
  DeduplicationWindow window_;
  InsertCount count_;  // at the last look
  std::string table_id_, checked_table_id_;

  // Of the epoch that is being written.
  int64_t batch_rows_;
  uint64_t rows_ = 0, blocks_ = 0;
  size_t open_bytes_ = 0;
  std::string lineage_, attempt_table_id_;
  std::map<std::string, uint64_t> token_uses_;
  std::shared_ptr<const EpochAttempt> attempt_;
};

}  // namespace sluice::clickhouse
