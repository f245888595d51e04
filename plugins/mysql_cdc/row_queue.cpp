#include "row_queue.h"

namespace sluice_mysql {
namespace {

constexpr size_t kSpares = 8, kLargestSpare = size_t{1} << 20;

size_t size_of(const Item& item) {
  return item.chunk.bytes.size() + item.chunk.rows.size() * sizeof(RowChunk::Row) + item.position.size() + sizeof(Item);
}

}  // namespace

bool RowQueue::push(Item&& item, bool* was_empty) {
  std::unique_lock<std::mutex> lock(mutex_);
  const size_t size = size_of(item);
  room_.wait(lock, [&] { return closed_ || items_.empty() || bytes_ + size <= max_bytes_; });
  if (closed_) return false;
  *was_empty = items_.empty();
  bytes_ += size;
  items_.push_back(std::move(item));
  return true;
}

std::optional<Item> RowQueue::try_pop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (items_.empty()) return std::nullopt;
  std::optional<Item> out(std::move(items_.front()));
  items_.pop_front();
  bytes_ -= size_of(*out);
  room_.notify_one();
  return out;
}

void RowQueue::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  room_.notify_all();
}

bool RowQueue::empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return items_.empty();
}

void RowQueue::give_back(RowChunk&& chunk) {
  if (chunk.bytes.capacity() > kLargestSpare) return;
  chunk.bytes.clear();
  chunk.rows.clear();
  chunk.reasons.clear();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (spares_.size() < kSpares) spares_.push_back(std::move(chunk));
}

RowChunk RowQueue::take_spare() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (spares_.empty()) return {};
  RowChunk out = std::move(spares_.back());
  spares_.pop_back();
  return out;
}

}  // namespace sluice_mysql
