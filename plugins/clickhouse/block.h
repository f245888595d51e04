// Rows that go to the server in one insert.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table_layout.h"

namespace sluice::clickhouse {

struct EpochAttempt;

// Each row is kept twice: as the bytes for the server, and as JSON in case the table changes before they are in.
struct Block {
  enum Flag : uint8_t { kDeleted = 1, kMade = 2 };  // kMade: by a transform, so its origin has no bytes of its own

  std::shared_ptr<const TableLayout> layout;  // that the bytes were made for
  std::vector<uint32_t> columns;              // of the layout, in its order
  std::string partition;                      // what its rows have in common
  std::string token;                          // names the block to the server: the same bytes again are not taken twice
  std::chrono::steady_clock::time_point since;

  // Exactly once: of the checkpoint that it belongs to.
  std::shared_ptr<const EpochAttempt> attempt;
  bool sent_before = false;  // and it may be in

  std::string rows, json;
  std::vector<uint32_t> row_ends, json_ends;
  std::vector<uint64_t> origins;  // handles; 0: not kept
  std::vector<uint8_t> flags;

  uint32_t size() const noexcept { return static_cast<uint32_t>(row_ends.size()); }
  size_t memory() const noexcept { return rows.size() + json.size() + size() * 17; }
  std::string_view json_of(uint32_t row) const noexcept { return piece(json, json_ends, row); }
  uint64_t first_origin() const noexcept { return origins.empty() ? 0 : origins.front(); }

  void add(std::string_view row, std::string_view json_text, uint64_t origin, uint8_t flag) {
    rows.append(row);
    row_ends.push_back(static_cast<uint32_t>(rows.size()));
    json.append(json_text);
    json_ends.push_back(static_cast<uint32_t>(json.size()));
    origins.push_back(origin);
    flags.push_back(flag);
  }
  // Rows [begin, end) as a block of their own.
  std::unique_ptr<Block> part(uint32_t begin, uint32_t end, const std::string& mark) const {
    auto out = std::make_unique<Block>();
    out->layout = layout;
    out->columns = columns;
    out->partition = partition;
    out->token = token + mark;
    out->since = since;
    out->attempt = attempt;
    out->sent_before = sent_before;
    for (uint32_t r = begin; r < end; ++r) out->add(piece(rows, row_ends, r), json_of(r), origins[r], flags[r]);
    return out;
  }

 private:
  static std::string_view piece(const std::string& all, const std::vector<uint32_t>& ends, uint32_t row) noexcept {
    const size_t begin = row == 0 ? 0 : ends[row - 1];
    return std::string_view(all).substr(begin, ends[row] - begin);
  }
};

}  // namespace sluice::clickhouse
