#include "row_image.h"

#include <cstring>

namespace sluice_mysql {
namespace {

bool is_set(std::string_view bitmap, size_t i) { return (static_cast<uint8_t>(bitmap[i / 8]) >> (i % 8) & 1) != 0; }

}  // namespace

bool Cell::operator==(const Cell& o) const noexcept {
  if (data == nullptr || o.data == nullptr) return data == o.data;
  return size == o.size && std::memcmp(data, o.data, size) == 0;
}

bool is_index_column_name(std::string_view name) noexcept {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

sluice::Status RowReader::open(const RowsEvent& event) {
  event_ = &event;
  at_ = reinterpret_cast<const uint8_t*>(event.images.data());
  end_ = at_ + event.images.size();
  index_ = next_ = 0;
  const std::vector<MapColumn>& columns = event.table->columns;
  const std::string name = event.table->database + "." + event.table->table;
  absent_.assign(columns.size(), 0);
  present_ = columns.size();
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool before = is_set(event.before_columns, i), after = is_set(event.after_columns, i);
    if (!before || !after) {
      if (before != after || !is_index_column_name(columns[i].name)) {
        return sluice::Status::fatal("the rows of " + name +
                                     " lack columns; set binlog_row_image=FULL at the server, for all its sessions");
      }
      absent_[i] = 1;
      --present_;
      continue;
    }
    if (columns[i].cell_bytes == 0 && columns[i].prefix_bytes == 0) {
      return sluice::Status::fatal("column " + std::to_string(i + 1) + " of " + name + " has type " +
                                   std::to_string(columns[i].type) + ", which is not supported");
    }
  }
  before_.resize(columns.size());
  after_.resize(columns.size());
  return sluice::Status::ok();
}

sluice::Status RowReader::image(std::vector<Cell>* cells) {
  const std::vector<MapColumn>& columns = event_->table->columns;
  const auto broken = [&] {
    return sluice::Status::fatal("row " + std::to_string(next_) + " of " + event_->table->database + "." +
                                 event_->table->table + " is cut off");
  };
  const size_t null_bytes = (present_ + 7) / 8;
  if (static_cast<size_t>(end_ - at_) < null_bytes) return broken();
  const uint8_t* const nulls = at_;
  const uint8_t* p = at_ + null_bytes;
  size_t present = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    Cell& cell = (*cells)[i];
    if (absent_[i] != 0) {
      cell = Cell();
      continue;
    }
    const size_t bit = present++;
    if ((nulls[bit / 8] >> (bit % 8) & 1) != 0) {
      cell = Cell();
      continue;
    }
    const MapColumn& c = columns[i];
    const auto left = static_cast<size_t>(end_ - p);
    size_t size = c.cell_bytes;
    if (size == 0) {
      if (left < c.prefix_bytes) return broken();
      for (unsigned b = 0; b < c.prefix_bytes; ++b) size |= static_cast<size_t>(p[b]) << (8 * b);
      p += c.prefix_bytes;
      if (left - c.prefix_bytes < size) return broken();
    } else if (left < size) {
      return broken();
    }
    cell.data = p;
    cell.size = static_cast<uint32_t>(size);
    p += size;
  }
  at_ = p;
  return sluice::Status::ok();
}

sluice::Status RowReader::next(bool* found) {
  *found = at_ != end_;
  if (!*found) return sluice::Status::ok();
  if (event_->kind != RowsKind::kInsert) SLUICE_CHECK_OK(image(&before_));
  if (event_->kind != RowsKind::kDelete) SLUICE_CHECK_OK(image(&after_));
  index_ = next_++;
  return sluice::Status::ok();
}

sluice::Status RowReader::skip(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    bool found = false;
    SLUICE_CHECK_OK(next(&found));
    if (!found) {
      return sluice::Status::fatal("the event has " + std::to_string(i) + " rows of " + event_->table->database + "." +
                                   event_->table->table + ", fewer than the " + std::to_string(count) +
                                   " that were read before: the binlog is another one");
    }
  }
  return sluice::Status::ok();
}

}  // namespace sluice_mysql
