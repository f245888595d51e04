#include "data/arena.h"

#include <algorithm>

namespace sluice::data {

ChunkPool::Chunk ChunkPool::take(size_t at_least) {
  if (at_least <= kChunkSize) {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Chunk c = std::move(free_.back());
      free_.pop_back();
      kept_ -= c.size;
      return c;
    }
  }
  const size_t size = std::max(at_least, kChunkSize);
  return {std::unique_ptr<char[]>(new char[size]), size};
}

void ChunkPool::give_back(Chunk chunk) {
  if (chunk.size != kChunkSize) return;  // a very large record: back to the system
  const std::lock_guard lock(mutex_);
  if (kept_ + chunk.size > max_kept_) return;
  kept_ += chunk.size;
  free_.push_back(std::move(chunk));
}

void Arena::grow(size_t at_least) {
  chunks_.push_back(pool_->take(at_least));
  next_ = chunks_.back().data.get();
  left_ = chunks_.back().size;
  used_ += left_;
  // Bytes behind a text are read, never used; defined values keep the sanitizers' reports meaningful.
  std::memset(next_ + left_ - kPadding, 0, kPadding);
}

}  // namespace sluice::data
