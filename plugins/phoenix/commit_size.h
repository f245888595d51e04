// How many rows a commit may have: fewer after one that was too much for the server, more again after many that were
// not.
#pragma once
#include <algorithm>
#include <cstddef>

namespace sluice::phoenix {

class CommitSize {
 public:
  explicit CommitSize(size_t most = 1000) : most_(most), now_(most) {}
  size_t rows() const noexcept { return now_; }
  void was_too_much(size_t rows) noexcept {
    now_ = std::max<size_t>(1, std::min(now_, rows / 2));
    good_ = 0;
  }
  void went_well() noexcept {
    if (now_ == most_ || ++good_ < kGoodBeforeMore) return;
    now_ = std::min(most_, now_ * 2);
    good_ = 0;
  }

 private:
  static constexpr int kGoodBeforeMore = 64;
  size_t most_, now_;
  int good_ = 0;
};

}  // namespace sluice::phoenix
