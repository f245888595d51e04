// The rows of a rows event, one at a time, split into cells.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "binlog_event.h"

namespace sluice_mysql {

// One value, not decoded: the bytes of a row image, or of a text-protocol field. data == nullptr: NULL. Borrowed.
struct Cell {
  const uint8_t* data = nullptr;
  uint32_t size = 0;

  bool is_null() const noexcept { return data == nullptr; }
  bool operator==(const Cell& o) const noexcept;
};

// The name that MySQL 8.0.13 and later give the column behind a functional index. Some of these servers describe such
// columns in table maps (seen: 8.0.15) and leave them out of the rows.
bool is_index_column_name(std::string_view name) noexcept;

// Cells stand in the map's column order. Owned by one thread; reusable: open() anew for each event. The RowsEvent (and
// so its bytes) must stay valid while rows are read.
class RowReader {
 public:
  // fatal: the images lack columns (binlog_row_image is not FULL).
  sluice::Status open(const RowsEvent& event);
  // *found = false: no more. fatal: the image is broken.
  sluice::Status next(bool* found);
  // Passes over `count` rows. fatal: there are fewer.
  sluice::Status skip(uint32_t count);

  // Of the row that next() found.
  uint32_t index() const noexcept { return index_; }        // in the event, from 0
  const Cell* before() const noexcept { return before_.data(); }  // updates and deletes
  const Cell* after() const noexcept { return after_.data(); }    // inserts and updates
  RowsKind kind() const noexcept { return event_->kind; }

 private:
  sluice::Status image(std::vector<Cell>* cells);

  const RowsEvent* event_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint32_t index_ = 0, next_ = 0;
  std::vector<Cell> before_, after_;
  std::vector<uint8_t> absent_;  // by column: it is not in the images
  size_t present_ = 0;
};

}  // namespace sluice_mysql
