#include "runtime/restore.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "config/nearest_name.h"

namespace sluice::runtime {
namespace {

std::string text(sluice_str s) { return s.data == nullptr ? std::string() : std::string(s.data, s.size); }

const config::OptionValue* option(const PlanNode& node, const std::string& name) {
  const auto it = node.section->options.find(name);
  return name.empty() || it == node.section->options.end() ? nullptr : &it->second;
}

// An old store in the order in which a new lane takes them over.
struct OldStore {
  uint32_t index = 0, role = 0, lane = 0, lanes = 1;
};

std::vector<OldStore> old_stores(const checkpoint::Manifest& manifest, const std::string& operator_id) {
  std::vector<OldStore> out;
  for (const auto& s : manifest.stores)
    if (s.operator_id == operator_id) out.push_back({s.lane, s.phase, s.operator_lane, s.operator_lanes});
  std::sort(out.begin(), out.end(), [](const OldStore& a, const OldStore& b) { return std::tie(a.role, a.lane) < std::tie(b.role, b.lane); });
  return out;
}

// Which phase of today's plan takes over state of an old phase.
uint32_t successor(uint32_t old_role, const PlanNode& node, const Plan& plan) {
  const bool two_phases = std::any_of(plan.nodes.begin(), plan.nodes.end(),
                                      [&](const PlanNode& n) { return n.id() == node.id() && n.role == SLUICE_ROLE_MERGE; });
  if (!two_phases) return SLUICE_ROLE_COMPLETE;
  // What counted rows goes on counting rows.
  return old_role == SLUICE_ROLE_MERGE ? SLUICE_ROLE_MERGE : SLUICE_ROLE_PARTIAL;
}

}  // namespace

std::vector<state::StateDecl> state_decls(const PlanNode& node) {
  std::vector<state::StateDecl> out;
  for (size_t i = 0; i < node.desc->state_count; ++i) {
    const sluice_state_decl& d = *node.desc->states[i];
    state::StateDecl s;
    s.operator_id = node.id();
    s.name = text(d.name);
    s.kind = static_cast<state::StateKind>(d.kind);
    s.format_version = d.format_version;
    s.compat_version = d.compat_version;
    if (const auto* ttl = option(node, text(d.ttl_option))) s.ttl_ms = ttl->as_int();
    if (const auto* clock = option(node, text(d.ttl_clock_option)); clock != nullptr && clock->as_string() == "event")
      s.ttl_clock = state::TtlClock::kEvent;
    out.push_back(std::move(s));
  }
  return out;
}

base::Status check_drop_states(const std::vector<std::string>& drop_states, const checkpoint::Manifest& manifest,
                               const std::vector<checkpoint::ManifestOperator>& operators) {
  std::vector<std::string> names;
  for (const auto* side : {&manifest.operators, &operators}) {
    for (const checkpoint::ManifestOperator& op : *side) {
      names.push_back(op.id);
      for (const checkpoint::ManifestState& s : op.states) names.push_back(op.id + "/" + s.name);
    }
  }
  for (const auto& source : manifest.sources) names.push_back(source.operator_id);
  for (const auto& spool : manifest.spools) names.push_back(spool.operator_id);
  std::string problems;
  for (const std::string& name : drop_states) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = config::nearest_name(name, names);
    problems += (problems.empty() ? "" : "\n  ") + ("--drop-state " + name) + ": neither checkpoint " + std::to_string(manifest.number) +
                " nor the pipeline has such an operator or state" +
                (nearest.empty() ? "." : "; did you mean \"" + nearest + "\"?") +
                " If an earlier start has given it up, leave the option out.";
  }
  return problems.empty() ? base::Status::ok() : base::Status::fatal(problems);
}

void name_store(checkpoint::Manifest& manifest, uint32_t index, const PlanNode& node, uint32_t lane) {
  manifest.stores.push_back({index, node.id(), node.role, lane, node.lanes});
}

base::Result<std::unique_ptr<state::LaneStore>> open_store(const Plan& plan, size_t n, uint32_t lane, JobContext& job,
                                                           const checkpoint::Manifest* manifest, const checkpoint::CheckpointStore* store,
                                                           const std::vector<std::string>& drop_states) {
  const PlanNode& node = plan.nodes[n];
  state::LaneOptions options;
  options.lane = lane;
  options.lanes = node.lanes;
  options.key_groups = job.key_groups;
  options.range = node.section->key.empty() ? state::KeyGroupRange{0, job.key_groups} : state::key_groups_of_lane(lane, node.lanes, job.key_groups);
  options.states = state_decls(node);
  options.timer_operators = {node.id()};
  for (const auto& d : drop_states)
    if (d == node.id() || d.rfind(node.id() + "/", 0) == 0) options.drop_states.push_back(d);
  const std::string dir = job.work_dir + "/state-" + std::to_string(n) + "-" + std::to_string(lane);
  std::vector<state::LaneSource> sources;
  if (manifest != nullptr) {
    std::vector<OldStore> mine;
    for (const OldStore& old : old_stores(*manifest, node.id()))
      if (successor(old.role, node, plan) == node.role) mine.push_back(old);
    for (size_t i = 0; i < mine.size(); ++i) {
      const auto* files = manifest->find_lane(mine[i].index);
      if (files == nullptr) continue;
      const std::string source = dir + "-from-" + std::to_string(i);
      SLUICE_TRY(store->materialize_lane(*manifest, mine[i].index, source));
      sources.push_back({source, static_cast<uint32_t>(i), {files->key_group_begin, files->key_group_end}});
    }
  }
  if (sources.empty()) return state::LaneStore::open(dir, *job.state, std::move(options));
  auto restored = state::LaneStore::restore(dir, *job.state, std::move(options), sources, static_cast<uint32_t>(sources.size()));
  for (const auto& s : sources) {
    std::error_code ignored;
    std::filesystem::remove_all(s.dir, ignored);
  }
  if (!restored.is_ok()) return base::Status(restored.status()).in("checkpoints");
  return restored;
}

}  // namespace sluice::runtime
