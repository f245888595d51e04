// Memory for one pass of a batch through a chain: everything that the pass makes (payloads, unescaped texts, emitted
// rows) is allocated here and freed at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "sluice/abi.h"

namespace sluice::data {

// simdjson reads up to 64 bytes behind a text; each chunk ends with that much room.
inline constexpr size_t kPadding = 64;

// Chunks that arenas give back. Thread-safe; shared by all tasks of a job. Keeps at most `max_kept_bytes`.
class ChunkPool {
 public:
  explicit ChunkPool(size_t max_kept_bytes = 16u << 20) : max_kept_(max_kept_bytes) {}
  struct Chunk {
    std::unique_ptr<char[]> data;
    size_t size = 0;
  };
  Chunk take(size_t at_least);
  void give_back(Chunk chunk);

 private:
  static constexpr size_t kChunkSize = 128u << 10;
  const size_t max_kept_;
  std::mutex mutex_;
  size_t kept_ = 0;
  std::vector<Chunk> free_;
};

// Used by one thread at a time; shared by reference count with the rows that point into it, which another thread may
// read (and destroy) once they have been handed over.
class Arena {
 public:
  explicit Arena(std::shared_ptr<ChunkPool> pool) : pool_(std::move(pool)) {}
  ~Arena() {
    for (auto& c : chunks_) pool_->give_back(std::move(c));
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised; 64 readable bytes follow. Alignment 8.
  char* allocate(size_t bytes) {
    const size_t rounded = (bytes + 7) & ~size_t{7};
    if (rounded + kPadding > left_) grow(rounded + kPadding);
    char* p = next_;
    next_ += rounded;
    left_ -= rounded;
    return p;
  }
  template <class T>
  T* array(size_t n) {
    return reinterpret_cast<T*>(allocate(n * sizeof(T)));
  }
  sluice_str copy(std::string_view s) {
    char* p = allocate(s.size());
    if (!s.empty()) std::memcpy(p, s.data(), s.size());
    return {p, s.size()};
  }
  // data == nullptr stays so.
  sluice_str copy(sluice_str s) { return s.data == nullptr ? s : copy(std::string_view(s.data, s.size)); }
  // Keeps another arena alive as long as this one.
  void keep(std::shared_ptr<Arena> other) { kept_.push_back(std::move(other)); }
  size_t bytes() const { return used_; }
  // The text lies in this arena: it has the padding behind it. The owner's thread only.
  bool contains(const char* text, size_t size) const {
    for (const auto& c : chunks_)
      if (text >= c.data.get() && text + size + kPadding <= c.data.get() + c.size) return true;
    return false;
  }

 private:
  void grow(size_t at_least);
  std::shared_ptr<ChunkPool> pool_;
  std::vector<ChunkPool::Chunk> chunks_;
  std::vector<std::shared_ptr<Arena>> kept_;
  char* next_ = nullptr;
  size_t left_ = 0, used_ = 0;
};

}  // namespace sluice::data
