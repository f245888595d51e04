// Bloom filter over the keys that a table may have on disk, so that a new key costs no read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::state {

// Owned by one table, used by one thread at a time. Blocked: all bits of a key are in one cache line. Grows by layers
// of four times the size; when it would grow beyond max_bytes it gives up and says "maybe" to everything.
class KeyFilter {
 public:
  explicit KeyFilter(size_t max_bytes) : max_bytes_(max_bytes) {}

  void add(uint64_t hash);
  bool may_contain(uint64_t hash) const noexcept {
    if (gave_up_) return true;
    for (const Layer& layer : layers_) {
      if (layer.contains(hash)) return true;
    }
    return false;
  }
  void prefetch(uint64_t hash) const noexcept {
    for (const Layer& layer : layers_) __builtin_prefetch(&layer.blocks[layer.block_of(hash)]);
  }
  void clear();
  void give_up();
  bool gave_up() const noexcept { return gave_up_; }
  bool empty() const noexcept { return layers_.empty() && !gave_up_; }
  size_t bytes() const noexcept { return bytes_; }
  static constexpr size_t kBytesPerKey = 2;  // 16 bits: about 2 of 1000 absent keys are looked up in vain

 private:
  struct alignas(64) Block {
    uint64_t words[8] = {};
  };
  struct Layer {
    std::vector<Block> blocks;  // a power of two
    size_t room;                // keys that may still be added
    size_t block_of(uint64_t hash) const noexcept { return (hash >> 40) & (blocks.size() - 1); }
    bool contains(uint64_t hash) const noexcept;
  };

  size_t max_bytes_;
  size_t bytes_ = 0;
  bool gave_up_ = false;
  std::vector<Layer> layers_;  // the last one is being filled
};

}  // namespace sluice::state
