#include "column_pruner/column_set.h"

#include <algorithm>
#include <cstring>

namespace sluice::column_pruner {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> out;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view piece = text.substr(0, comma);
    const size_t first = piece.find_first_not_of(kBlanks);
    piece = first == std::string_view::npos ? std::string_view()
                                            : piece.substr(first, piece.find_last_not_of(kBlanks) - first + 1);
    if (!piece.empty() && std::find(out.begin(), out.end(), piece) == out.end()) out.emplace_back(piece);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

bool ColumnSet::same_members(const Value& object) const noexcept {
  if (!known_ || object.size() != ends_.size()) return false;
  uint32_t start = 0;
  for (size_t i = 0; i < ends_.size(); ++i) {
    const std::string_view name = object.name(i);
    if (name.size() != ends_[i] - start || std::memcmp(name.data(), names_.data() + start, name.size()) != 0)
      return false;
    start = ends_[i];
  }
  return true;
}

void ColumnSet::look_up(const Value& object) {
  names_.clear();
  ends_.clear();
  kept_.clear();
  std::vector<uint32_t> member_of(columns_.size(), SLUICE_NO_ROW);
  for (uint32_t i = 0; i < object.size(); ++i) {
    names_ += object.name(i);
    ends_.push_back(static_cast<uint32_t>(names_.size()));
    const auto column = std::find(columns_.begin(), columns_.end(), object.name(i));
    if (column != columns_.end())
      member_of[static_cast<size_t>(column - columns_.begin())] = i;  // of repeated names the last
  }
  if (match_ == Match::kIgnoreCase)
    for (size_t c = 0; c < columns_.size(); ++c) {
      for (uint32_t i = 0; member_of[c] == SLUICE_NO_ROW && i < object.size(); ++i) {
        if (!same_ignoring_case(object.name(i), columns_[c])) continue;
        if (std::find(member_of.begin(), member_of.end(), i) == member_of.end()) member_of[c] = i;
      }
    }
  for (uint32_t c = 0; c < columns_.size(); ++c)
    if (member_of[c] != SLUICE_NO_ROW) kept_.push_back({member_of[c], c});
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.member < b.member; });
  known_ = true;
}

uint32_t ColumnSet::member_of(std::string_view column) const noexcept {
  for (const Kept& k : kept_)
    if (columns_[k.column] == column) return k.member;
  return SLUICE_NO_ROW;
}

}  // namespace sluice::column_pruner
