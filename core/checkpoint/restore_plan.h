// Does a checkpoint fit a pipeline, and what happens to its state.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "state/state_decl.h"

namespace sluice::checkpoint {

// For the manifest, from LaneStore::stored_states() of all lanes: the oldest format and the largest compat version win.
// `entries`: the sum over lanes (broadcast state: of one).
ManifestState describe_state(const std::vector<state::StoredState>& of_lanes, uint64_t entries);
// As a pipeline declares it, for CurrentPipeline.
ManifestState describe_state(const state::StateDecl& decl);

// The pipeline that is about to start. `timers` and ManifestState::entries, oldest_format are not read.
struct CurrentPipeline {
  std::string name;
  uint32_t parallelism = 1;
  uint32_t key_groups = 128;
  std::vector<ManifestOperator> operators;
  std::vector<std::string> source_ids;  // operators whose positions are restored
  // By operator with a broadcast side: the sources that this side's rows come from.
  std::map<std::string, std::vector<std::string>> broadcast_sources;
};

// Plain value.
struct RestorePlan {
  uint64_t number = 0;
  bool rescale = false;                    // another number of lanes
  std::vector<std::string> restored;       // operator ids with state, positions or timers
  std::vector<std::string> started_empty;  // operators or "operator/state" that the checkpoint does not have
  std::vector<std::string> drop_states;    // for state::LaneOptions::drop_states: what really is dropped
  std::vector<std::string> notes;
  std::string text;  // for people, several lines
};

// drop_states: from --drop-state, "operator" or "operator/state". kFatal: every reason, one per line, with the way out.
base::Result<RestorePlan> plan_restore(const Manifest& manifest, const CurrentPipeline& current,
                                       const std::vector<std::string>& drop_states);

// Takes out what `manifest` holds of the operators that `drop_states` (of a plan) names as a whole, besides their state:
// positions, rows that may not have been written yet, watermarks; and the gates of those of which it names any state.
void forget_dropped(Manifest& manifest, const std::vector<std::string>& drop_states);

}  // namespace sluice::checkpoint
