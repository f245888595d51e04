#include "state/key_filter.h"

namespace sluice::state {
namespace {

constexpr size_t kFirstBlocks = 256;  // 16 KiB, 8192 keys
constexpr int kProbes = 6;

// The bits within a block come from hash bits that do not choose the block.
uint64_t probe_bits(uint64_t hash) { return ((hash & ((uint64_t{1} << 40) - 1)) * 0x9E3779B97F4A7C15ull) >> 10; }

}  // namespace

bool KeyFilter::Layer::contains(uint64_t hash) const noexcept {
  const Block& block = blocks[block_of(hash)];
  uint64_t bits = probe_bits(hash);
  for (int i = 0; i < kProbes; ++i, bits >>= 9) {
    if ((block.words[(bits >> 6) & 7] & (uint64_t{1} << (bits & 63))) == 0) return false;
  }
  return true;
}

void KeyFilter::add(uint64_t hash) {
  if (gave_up_ || may_contain(hash)) return;
  if (layers_.empty() || layers_.back().room == 0) {
    const size_t blocks = layers_.empty() ? kFirstBlocks : layers_.back().blocks.size() * 4;
    if (bytes_ + blocks * sizeof(Block) > max_bytes_) {
      give_up();
      return;
    }
    layers_.push_back({std::vector<Block>(blocks), blocks * sizeof(Block) / kBytesPerKey});
    bytes_ += blocks * sizeof(Block);
  }
  Layer& layer = layers_.back();
  Block& block = layer.blocks[layer.block_of(hash)];
  uint64_t bits = probe_bits(hash);
  for (int i = 0; i < kProbes; ++i, bits >>= 9) block.words[(bits >> 6) & 7] |= uint64_t{1} << (bits & 63);
  --layer.room;
}

void KeyFilter::clear() {
  layers_.clear();
  bytes_ = 0;
  gave_up_ = false;
}

void KeyFilter::give_up() {
  layers_.clear();
  layers_.shrink_to_fit();
  bytes_ = 0;
  gave_up_ = true;
}

}  // namespace sluice::state
