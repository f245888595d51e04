#include "checkpoint/manifest.h"

#include <algorithm>
#include <array>

namespace sluice::checkpoint {
namespace {

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::array<int8_t, 256> base64_values() {
  std::array<int8_t, 256> values;
  values.fill(-1);
  for (int i = 0; i < 64; ++i) values[static_cast<unsigned char>(kBase64[i])] = static_cast<int8_t>(i);
  return values;
}

template <class Items, class Matches>
auto find(const Items& items, Matches&& matches) -> const typename Items::value_type* {
  const auto it = std::find_if(items.begin(), items.end(), matches);
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

const ManifestOperator* Manifest::find_operator(std::string_view id) const {
  return find(operators, [&](const ManifestOperator& op) { return op.id == id; });
}
const ManifestSource* Manifest::find_source(std::string_view operator_id) const {
  return find(sources, [&](const ManifestSource& source) { return source.operator_id == operator_id; });
}
const ManifestLane* Manifest::find_lane(uint32_t lane) const {
  return find(lanes, [&](const ManifestLane& l) { return l.lane == lane; });
}

// RFC 4648, with padding.
std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t b = 0; b < 3; ++b) group = group << 8 | (b < left ? static_cast<unsigned char>(bytes[i + b]) : 0u);
    for (size_t c = 0; c < 4; ++c) out += c <= left ? kBase64[group >> (18 - 6 * c) & 63] : '=';
  }
  return out;
}

bool base64_decode(std::string_view text, std::string* bytes) {
  static const std::array<int8_t, 256> values = base64_values();
  bytes->clear();
  if (text.size() % 4 != 0) return false;
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t digits = 4;
    if (i + 4 == text.size()) {
      while (digits > 2 && text[i + digits - 1] == '=') --digits;
    }
    uint32_t group = 0;
    for (size_t c = 0; c < 4; ++c) {
      const int8_t value = c < digits ? values[static_cast<unsigned char>(text[i + c])] : int8_t{0};
      if (value < 0) return false;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (size_t b = 0; b + 1 < digits; ++b) bytes->push_back(static_cast<char>(group >> (16 - 8 * b)));
  }
  return true;
}

}  // namespace sluice::checkpoint
