// Reads integers and strings from a range of bytes, never past its end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice_mysql {

// A failure sticks: what is read past the end is 0 or empty, and failed() says so; ask once after several reads.
class ByteReader {
 public:
  ByteReader(const uint8_t* begin, size_t size) : at_(begin), end_(begin + size) {}
  explicit ByteReader(std::string_view s) : ByteReader(reinterpret_cast<const uint8_t*>(s.data()), s.size()) {}

  bool failed() const noexcept { return failed_; }
  void fail() noexcept {
    failed_ = true;
    at_ = end_;
  }
  size_t left() const noexcept { return static_cast<size_t>(end_ - at_); }
  bool at_end() const noexcept { return at_ == end_; }
  const uint8_t* data() const noexcept { return at_; }

  uint8_t byte() noexcept {
    if (at_ == end_) {
      fail();
      return 0;
    }
    return *at_++;
  }
  uint64_t little(size_t bytes) noexcept {
    if (left() < bytes) {
      fail();
      return 0;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; ++i) v |= static_cast<uint64_t>(at_[i]) << (8 * i);
    at_ += bytes;
    return v;
  }
  uint64_t big(size_t bytes) noexcept {
    if (left() < bytes) {
      fail();
      return 0;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; ++i) v = v << 8 | at_[i];
    at_ += bytes;
    return v;
  }
  // The protocol's length-encoded integer.
  uint64_t packed() noexcept {
    const uint8_t first = byte();
    if (first < 251) return first;
    if (first == 252) return little(2);
    if (first == 253) return little(3);
    if (first == 254) return little(8);
    fail();
    return 0;
  }
  std::string_view text(uint64_t bytes) noexcept {
    if (left() < bytes) {
      fail();
      return {};
    }
    const std::string_view s(reinterpret_cast<const char*>(at_), static_cast<size_t>(bytes));
    at_ += bytes;
    return s;
  }
  std::string_view rest() noexcept { return text(left()); }
  void skip(uint64_t bytes) noexcept { text(bytes); }
  void drop_last(size_t bytes) noexcept {
    if (left() < bytes) {
      fail();
    } else {
      end_ -= bytes;
    }
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  bool failed_ = false;
};

}  // namespace sluice_mysql
