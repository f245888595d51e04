// State of operators and where it stands in a checkpoint. State belongs to operators, never to places in the plan, so a
// checkpoint can be restored into a plan with other lanes or other cuts.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint_store.h"
#include "runtime/job_context.h"
#include "runtime/plan.h"
#include "state/lane_store.h"

namespace sluice::runtime {

// What the operator declares, with the TTLs of its options.
std::vector<state::StateDecl> state_decls(const PlanNode& node);

// Names of --drop-state that neither the checkpoint nor the pipeline has: most likely slips, which would give up nothing
// without a word. kFatal: all of them, each with the nearest name that there is.
base::Status check_drop_states(const std::vector<std::string>& drop_states, const checkpoint::Manifest& manifest,
                               const std::vector<checkpoint::ManifestOperator>& operators);

// Writes down whose store the manifest's lane `index` is.
void name_store(checkpoint::Manifest& manifest, uint32_t index, const PlanNode& node, uint32_t lane);

// The store of one lane of a node, restored when the checkpoint has state of its operator, else empty.
base::Result<std::unique_ptr<state::LaneStore>> open_store(const Plan& plan, size_t node, uint32_t lane, JobContext& job,
                                                           const checkpoint::Manifest* manifest, const checkpoint::CheckpointStore* store,
                                                           const std::vector<std::string>& drop_states);

}  // namespace sluice::runtime
