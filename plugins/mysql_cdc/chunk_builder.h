// Collects change records for one Item of the queue.
#pragma once
#include <cstdint>
#include <string>

#include "decode/change_writer.h"
#include "row_queue.h"
#include "transaction_tracker.h"

namespace sluice_mysql {

// Owned by the reader's thread. A record of Maxwell's says in its last words whether it is the last of its transaction:
// the newest row stays open until that is known.
class ChunkBuilder {
 public:
  static constexpr size_t kFullBytes = 256 * 1024, kFullRows = 1024;

  explicit ChunkBuilder(const ChangeWriter* writer, bool maxwell) : writer_(writer), maxwell_(maxwell) {}

  // The records that are added from now on cannot be used, for this reason; empty: they can.
  void refuse(std::string reason) { reason_ = std::move(reason); }
  // A record behind which `position` goes on.
  void add(const Change& change, const std::string& position, int64_t time, bool with_next);
  // As above, with the ending of Maxwell's to come: number and offset of the transaction.
  void add_open(const Change& change, const std::string& position, int64_t time, uint64_t transaction, uint64_t offset);
  // The open row was the last of its transaction, or not.
  void close_row(bool last);

  // Whether take() would give rows.
  bool has_rows() const noexcept { return chunk_.rows.size() > (open_ ? 1 : 0); }
  bool is_full() const noexcept { return chunk_.bytes.size() >= kFullBytes || chunk_.rows.size() >= kFullRows; }
  // All rows but an open one, which stays.
  RowChunk take(RowChunk&& spare);

 private:
  const ChangeWriter* writer_;
  const bool maxwell_;
  RowChunk chunk_;
  std::string reason_;
  bool open_ = false;
  uint64_t transaction_ = 0, offset_ = 0;
};

}  // namespace sluice_mysql
