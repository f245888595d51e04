#include "geometry_text.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "byte_reader.h"

namespace sluice_mysql {
namespace {

enum Shape : uint32_t {
  kPoint = 1,
  kLineString = 2,
  kPolygon = 3,
  kMultiPoint = 4,
  kMultiLineString = 5,
  kMultiPolygon = 6,
  kCollection = 7,
};

constexpr const char* kNames[] = {"",           "POINT",           "LINESTRING",   "POLYGON",
                                  "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"};
constexpr int kMostLevels = 64;

class Wkb {
 public:
  Wkb(const uint8_t* data, size_t size, std::string* out) : r_(data, size), out_(out) {}

  bool all() { return shape(0, true, 0) && r_.at_end(); }

 private:
  uint64_t integer(size_t bytes) { return little_ ? r_.little(bytes) : r_.big(bytes); }

  bool number() {
    const uint64_t bits = integer(8);
    double v = 0;
    std::memcpy(&v, &bits, sizeof v);
    if (r_.failed() || !std::isfinite(v)) return false;
    char text[400];
    const auto end = std::to_chars(text, text + sizeof text, v, std::chars_format::fixed).ptr;
    out_->append(text, static_cast<size_t>(end - text));
    return true;
  }

  bool point() {
    if (!number()) return false;
    *out_ += ' ';
    return number();
  }

  // "(a, b)", "EMPTY" for none. An item has at least `least` bytes.
  template <class Item>
  bool list(size_t least, Item item) {
    const uint64_t count = integer(4);
    if (r_.failed() || count > r_.left() / least) return false;
    if (count == 0) {
      out_->append("EMPTY");
      return true;
    }
    *out_ += '(';
    for (uint64_t i = 0; i < count; ++i) {
      if (i > 0) out_->append(", ");
      if (!item()) return false;
    }
    *out_ += ')';
    return true;
  }

  bool points() {
    return list(16, [&] { return point(); });
  }

  // `only`: the one shape that may stand here; 0: any.
  bool shape(uint32_t only, bool named, int level) {
    if (level >= kMostLevels) return false;
    const uint8_t order = r_.byte();
    if (order > 1) return false;
    little_ = order == 1;
    const auto type = static_cast<uint32_t>(integer(4));
    if (r_.failed() || type < kPoint || type > kCollection || (only != 0 && type != only)) return false;
    if (named) {
      out_->append(kNames[type]);
      *out_ += ' ';
    }
    switch (type) {
      case kPoint:
        *out_ += '(';
        if (!point()) return false;
        *out_ += ')';
        return true;
      case kLineString:
        return points();
      case kPolygon:
        return list(4, [&] { return points(); });
      case kMultiPoint:
      case kMultiLineString:
      case kMultiPolygon:
        return members(type - 3, false, level);
      default:
        return members(0, true, level);
    }
  }

  bool members(uint32_t only, bool named, int level) {
    const bool little = little_;
    return list(9, [&] {
      const bool good = shape(only, named, level + 1);
      little_ = little;
      return good;
    });
  }

  ByteReader r_;
  std::string* out_;
  bool little_ = true;
};

}  // namespace

bool append_wkt(const uint8_t* wkb, size_t size, std::string* out) { return Wkb(wkb, size, out).all(); }

}  // namespace sluice_mysql
