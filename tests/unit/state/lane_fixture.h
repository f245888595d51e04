// What the tests of lane stores have in common.
#pragma once
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "state/lane_store.h"
#include "../../support/temp_folder.h"

namespace sluice::state {

inline constexpr int64_t kStart = 1667779200000;  // 2022-11-07

inline void must(const base::Status& status) {
  INFO(status.message());
  REQUIRE(status.is_ok());
}
template <class T>
T must(base::Result<T> result) {
  INFO(result.status().message());
  REQUIRE(result.is_ok());
  return std::move(result).value();
}

inline StateDecl declare(std::string operator_id, std::string name, StateKind kind, int64_t ttl_ms = 0,
                         TtlClock clock = TtlClock::kProcessing) {
  StateDecl decl;
  decl.operator_id = std::move(operator_id);
  decl.name = std::move(name);
  decl.kind = kind;
  decl.ttl_ms = ttl_ms;
  decl.ttl_clock = clock;
  return decl;
}

inline LaneOptions lane_options(uint32_t lane, uint32_t lanes, std::vector<StateDecl> states) {
  LaneOptions options;
  options.lane = lane;
  options.lanes = lanes;
  options.range = key_groups_of_lane(lane, lanes, options.key_groups);
  options.states = std::move(states);
  return options;
}

inline std::optional<std::string> get(StateTable& table, std::string_view key, std::string_view subkey = {}) {
  std::string_view value;
  must(table.get(key, subkey, &value));
  if (value.data() == nullptr) return std::nullopt;
  return std::string(value);
}
inline void put(StateTable& table, std::string_view key, std::string_view value) { must(table.put(key, {}, value)); }
inline void put(StateTable& table, std::string_view key, std::string_view subkey, std::string_view value) {
  must(table.put(key, subkey, value));
}
using Entries = std::vector<std::pair<std::string, std::string>>;
inline Entries scan(StateTable& table, std::string_view key = {}) {
  Entries entries;
  must(table.scan(key, [&](std::string_view k, std::string_view v) {
    entries.emplace_back(k, v);
    return true;
  }));
  return entries;
}

inline LaneSource source_of(const SnapshotFiles& snapshot) { return {snapshot.dir, snapshot.lane, snapshot.range}; }

}  // namespace sluice::state
