// A list of wanted columns, and which members of an object they are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/value.hpp"

namespace sluice::column_pruner {

enum class Match { kExact, kIgnoreCase };

// Column names between commas, trimmed; empty and repeated ones are left out.
std::vector<std::string> split_list(std::string_view text);

// Owned by one operator instance and used by its thread.
//
// Rows of one table have the same members in the same order: what was found for a row is kept and holds for the next
// one as long as its members have the same names.
class ColumnSet {
 public:
  ColumnSet(std::vector<std::string> columns, Match match) : columns_(std::move(columns)), match_(match) {}

  const std::vector<std::string>& columns() const noexcept { return columns_; }

  struct Kept {
    uint32_t member = 0;  // of the object
    uint32_t column = 0;  // of columns(): the name under which it goes on
  };
  // The members of `object` (a SLUICE_MAP) that are listed, in the object's order. Lives until the next call.
  const std::vector<Kept>& kept_of(const Value& object) {
    if (!same_members(object)) look_up(object);
    return kept_;
  }
  // The member of that object that goes on as `column`; SLUICE_NO_ROW: none does. After kept_of() of the same object.
  uint32_t member_of(std::string_view column) const noexcept;

 private:
  bool same_members(const Value& object) const noexcept;
  void look_up(const Value& object);

  std::vector<std::string> columns_;
  Match match_;
  std::string names_;           // of the members of the last object, one after the other
  std::vector<uint32_t> ends_;  // where each name ends in names_
  std::vector<Kept> kept_;
  bool known_ = false;
};

}  // namespace sluice::column_pruner
