// Rows that an operator may still refuse after the call that brought them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "data/row_batch.h"

namespace sluice::runtime {

class KeptOrigin {
 public:
  uint32_t row = 0;  // of the batch it was kept from
  uint32_t source = data::kNoSource, split = 0;
  std::string source_id, split_id;  // instead, for rows that come out of a spool
  bool has_raw = false, has_key = false;

  void set_texts(std::string_view position, std::string_view raw, std::string_view key) {
    position_size_ = position.size();
    raw_size_ = raw.size();
    text_.reserve(position.size() + raw.size() + key.size());
    text_.append(position).append(raw).append(key);
  }
  std::string_view position() const { return std::string_view(text_).substr(0, position_size_); }
  std::string_view raw() const { return std::string_view(text_).substr(position_size_, raw_size_); }
  std::string_view key() const { return std::string_view(text_).substr(position_size_ + raw_size_); }

 private:
  std::string text_;  // one allocation for a row
  size_t position_size_ = 0, raw_size_ = 0;
};

// By handle: 1, 2, 3 … in the order of keep(). Used by one thread.
class KeptOrigins {
 public:
  uint64_t keep(KeptOrigin origin) {
    rows_.push_back({std::move(origin), State::kKept});
    return last();
  }
  // Of the row that was kept last; 0: none was.
  uint64_t last() const { return first_ + rows_.size() - 1; }
  // Null when it is not there any more.
  KeptOrigin* find(uint64_t handle) {
    Row* row = at(handle);
    return row != nullptr ? &row->origin : nullptr;
  }
  // From now on drop() leaves it alone. False when it is not there any more.
  bool refuse(uint64_t handle) {
    Row* row = at(handle);
    if (row != nullptr) row->state = State::kRefused;
    return row != nullptr;
  }
  std::optional<KeptOrigin> take(uint64_t handle) {
    Row* row = at(handle);
    if (row == nullptr) return std::nullopt;
    std::optional<KeptOrigin> taken(std::move(row->origin));
    row->state = State::kGone;
    pop_gone();
    return taken;
  }
  // All up to this handle but refused ones.
  void drop(uint64_t up_to) {
    pop_gone();
    if (up_to < first_) return;
    const size_t end = static_cast<size_t>(std::min<uint64_t>(up_to - first_ + 1, rows_.size()));
    for (size_t i = 0; i < end; ++i)
      if (rows_[i].state == State::kKept) rows_[i] = {{}, State::kGone};
    pop_gone();
  }
  void clear() {
    first_ += rows_.size();
    rows_.clear();
  }

 private:
  enum class State : uint8_t { kKept, kRefused, kGone };
  struct Row {
    KeptOrigin origin;
    State state;
  };
  Row* at(uint64_t handle) {
    if (handle < first_ || handle - first_ >= rows_.size()) return nullptr;
    Row& row = rows_[static_cast<size_t>(handle - first_)];
    return row.state == State::kGone ? nullptr : &row;
  }
  void pop_gone() {
    while (!rows_.empty() && rows_.front().state == State::kGone) {
      rows_.pop_front();
      ++first_;
    }
  }

  std::deque<Row> rows_;
  uint64_t first_ = 1;  // handle of rows_.front()
};

}  // namespace sluice::runtime
