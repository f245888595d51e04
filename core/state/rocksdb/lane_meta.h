// What a lane's database says about itself: names of column families and the records in the default one.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "state/lane_store.h"
#include "state/state_decl.h"

namespace sluice::state {

inline constexpr uint32_t kLaneFormat = 1;
inline constexpr uint32_t kLaneCompat = 1;
inline constexpr char kLaneMetaKey[] = "lane";
inline constexpr char kTimersFamily[] = "timers";

// "state/<operator>/<name>", with '%' and '/' of the parts as %25 and %2F. Also the key of the state's record.
std::string family_name(std::string_view operator_id, std::string_view name);

std::string write_lane_meta(uint32_t key_groups);
std::string write_state_meta(const StoredState& state);
base::Status check_lane_meta(std::string_view text, uint32_t key_groups);
// False: not a record of this version.
bool read_state_meta(std::string_view family, std::string_view text, StoredState* state);

// What a database holds against what is declared.
struct StateMatch {
  std::vector<std::string> dropped_families;  // by LaneOptions::drop_states
  std::map<std::string, StoredState> kept;    // by family
};
base::Result<StateMatch> match_states(const std::map<std::string, StoredState>& stored, const LaneOptions& options);

bool is_dropped(const LaneOptions& options, std::string_view operator_id);  // as a whole
bool is_dropped(const LaneOptions& options, std::string_view operator_id, std::string_view name);

}  // namespace sluice::state
