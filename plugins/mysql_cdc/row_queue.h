// From the thread that reads the server to the operator's: rows and what happens between them, in order.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sluice/sdk.hpp"

namespace sluice_mysql {

// Rows that go into one emit call. A plain value.
struct RowChunk {
  struct Row {
    size_t key = 0, position = 0, raw = 0, end = 0;  // offsets in bytes: [key, position) [position, raw) [raw, end)
    int64_t time = SLUICE_NO_TIME;
    uint8_t change = SLUICE_CHANGE_NONE;
    bool with_next = false;  // it and the next row are one change
    uint32_t refused = 0;    // not 0: it cannot be used, for reasons[refused - 1]
  };
  std::string bytes;
  std::vector<Row> rows;
  std::vector<std::string> reasons;
};

struct Item {
  enum class Kind : uint8_t {
    kRows,
    kSnapshotBegin,
    kSnapshotEnd,
    kPosition,  // transactions without captured rows went by
    kCaughtUp,  // all that the server has was read
    kBehind,    // that does not hold any more, without rows
    kAway,      // it cannot be reached
    kRemember,  // `text` under `name`, for a restart; empty: not any more
    kFailed,    // the end: `text`
  };
  Kind kind = Kind::kRows;
  RowChunk chunk;
  std::string position;  // where to go on after it; empty: nothing new
  std::string name, text;
};

// Thread-safe: one pushes, one pops.
class RowQueue {
 public:
  explicit RowQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Waits while it is full. A chunk larger than the bound goes in alone. *was_empty: the other side may be asleep.
  // False: closed.
  bool push(Item&& item, bool* was_empty);
  std::optional<Item> try_pop();
  void close();
  bool empty() const;
  // Bytes of a chunk that is done with, to be written into again.
  void give_back(RowChunk&& chunk);
  RowChunk take_spare();

 private:
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<Item> items_;
  std::vector<RowChunk> spares_;
  size_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace sluice_mysql
