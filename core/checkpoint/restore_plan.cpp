#include "checkpoint/restore_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "state/state_decl.h"

namespace sluice::checkpoint {
namespace {

// What the checkpoint holds for one operator.
struct Held {
  uint64_t splits = 0;
  uint64_t spooled_rows = 0;
  uint64_t timers = 0;
  uint64_t states = 0;
  bool any() const { return splits + spooled_rows + timers + states > 0; }
};

class Planner {
 public:
  Planner(const Manifest& manifest, const CurrentPipeline& current, const std::vector<std::string>& drop_states)
      : manifest_(manifest), current_(current), drop_states_(drop_states.begin(), drop_states.end()) {}

  base::Result<RestorePlan> plan();

 private:
  const ManifestOperator* current_operator(const std::string& id) const {
    const auto it =
        std::find_if(current_.operators.begin(), current_.operators.end(), [&](const auto& op) { return op.id == id; });
    return it == current_.operators.end() ? nullptr : &*it;
  }
  bool dropped(const std::string& what) {
    if (!drop_states_.contains(what)) return false;
    used_.insert(what);
    return true;
  }
  void drop(const std::string& what, const std::string& why) {
    plan_.drop_states.push_back(what);
    plan_.notes.push_back(fmt::format("\"{}\": dropped as asked for ({})", what, why));
  }
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  std::set<std::string> stored_ids() const;
  Held held(const std::string& id) const;
  std::string describe(const std::string& id) const;
  std::string renamed_to(const ManifestOperator& gone) const;
  void match_operator(const std::string& id);
  void match_states(const ManifestOperator& stored, const ManifestOperator& now);
  void match_order();
  void match_broadcast();
  std::string text() const;

  const Manifest& manifest_;
  const CurrentPipeline& current_;
  const std::set<std::string> drop_states_;
  std::set<std::string> used_;  // of drop_states_
  std::vector<std::string> problems_;
  RestorePlan plan_;
};

std::set<std::string> Planner::stored_ids() const {
  std::set<std::string> ids;
  for (const ManifestOperator& op : manifest_.operators) ids.insert(op.id);
  for (const ManifestSource& source : manifest_.sources) ids.insert(source.operator_id);
  for (const ManifestSpool& spool : manifest_.spools) ids.insert(spool.operator_id);
  return ids;
}

Held Planner::held(const std::string& id) const {
  Held held;
  if (const ManifestSource* source = manifest_.find_source(id)) held.splits = source->splits.size();
  for (const ManifestSpool& spool : manifest_.spools) held.spooled_rows += spool.operator_id == id ? spool.rows : 0;
  if (const ManifestOperator* op = manifest_.find_operator(id)) {
    held.timers = op->timers;
    held.states = op->states.size();
  }
  return held;
}

std::string Planner::describe(const std::string& id) const {
  std::vector<std::string> parts;
  if (const ManifestOperator* op = manifest_.find_operator(id)) {
    for (const ManifestState& state : op->states) {
      parts.push_back(fmt::format("{} state \"{}\", about {} entries", state.kind, state.name, state.entries));
    }
  }
  const Held held = this->held(id);
  if (held.splits > 0) parts.push_back(fmt::format("positions of {} splits", held.splits));
  if (held.timers > 0) parts.push_back(fmt::format("{} timers", held.timers));
  if (held.spooled_rows > 0)
    parts.push_back(fmt::format("{} rows that may not have been written yet", held.spooled_rows));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// An operator that is new here and looks like the one that is gone.
std::string Planner::renamed_to(const ManifestOperator& gone) const {
  for (const ManifestOperator& op : current_.operators) {
    if (manifest_.find_operator(op.id) != nullptr || op.type != gone.type || op.states.size() != gone.states.size())
      continue;
    const bool same = std::equal(op.states.begin(), op.states.end(), gone.states.begin(),
                                 [](const auto& a, const auto& b) { return a.name == b.name && a.kind == b.kind; });
    if (same) return op.id;
  }
  return {};
}

void Planner::match_states(const ManifestOperator& stored, const ManifestOperator& now) {
  for (const ManifestState& state : stored.states) {
    const std::string name = stored.id + "/" + state.name;
    if (dropped(name)) {
      drop(name, fmt::format("{} state, about {} entries", state.kind, state.entries));
      continue;
    }
    const auto declared =
        std::find_if(now.states.begin(), now.states.end(), [&](const auto& s) { return s.name == state.name; });
    if (declared == now.states.end()) {
      problem(fmt::format(
          "the checkpoint has {} state \"{}\" of operator \"{}\" (about {} entries), but this version of {} does not "
          "declare it. To give it up: --drop-state {}",
          state.kind, state.name, stored.id, state.entries, now.type, name));
      continue;
    }
    state::StoredState was;
    state::StateDecl is;
    if (!state::parse_state_kind(state.kind, &was.decl.kind) || !state::parse_state_kind(declared->kind, &is.kind)) {
      problem(fmt::format("operator \"{}\", state \"{}\": unknown kind \"{}\" or \"{}\"", stored.id, state.name,
                          state.kind, declared->kind));
      continue;
    }
    was.decl.format_version = state.format;
    was.oldest_format = state.oldest_format;
    was.max_compat = state.compat;
    is.format_version = declared->format;
    is.compat_version = declared->compat;
    if (const std::string why = state::incompatibility(was, is); !why.empty()) {
      problem(fmt::format("operator \"{}\", state \"{}\": {}. To give it up: --drop-state {}", stored.id, state.name,
                          why, name));
      continue;
    }
    if (state.ttl_ms != declared->ttl_ms) {
      plan_.notes.push_back(
          fmt::format("operator \"{}\", state \"{}\": the TTL changes from {} ms to {} ms (0: none); entries keep the "
                      "expiry they have until they "
                      "are written again",
                      stored.id, state.name, state.ttl_ms, declared->ttl_ms));
    }
  }
  for (const ManifestState& state : now.states) {
    const bool known =
        std::any_of(stored.states.begin(), stored.states.end(), [&](const auto& s) { return s.name == state.name; });
    if (known) continue;
    plan_.started_empty.push_back(now.id + "/" + state.name);
    plan_.notes.push_back(fmt::format("operator \"{}\": state \"{}\" is new and starts empty", now.id, state.name));
  }
}

void Planner::match_operator(const std::string& id) {
  const ManifestOperator* stored = manifest_.find_operator(id);
  const ManifestOperator* now = current_operator(id);
  const bool holds = held(id).any();
  if (dropped(id)) {
    if (holds) drop(id, describe(id));
    if (now != nullptr && held(id).splits > 0)
      plan_.notes.push_back(fmt::format("\"{}\" begins at its start option; rows that it gives again are late where their windows have closed", id));
    if (now != nullptr) plan_.started_empty.push_back(id);
    return;
  }
  if (now == nullptr) {
    if (!holds) {
      plan_.notes.push_back(fmt::format("operator \"{}\" is gone; it had no state", id));
      return;
    }
    bool all_dropped =
        stored != nullptr && !stored->states.empty() && held(id).splits + held(id).spooled_rows + held(id).timers == 0;
    if (all_dropped) {
      for (const ManifestState& state : stored->states)
        all_dropped = all_dropped && drop_states_.contains(id + "/" + state.name);
    }
    if (all_dropped) {
      for (const ManifestState& state : stored->states) {
        (void)dropped(id + "/" + state.name);
        drop(id + "/" + state.name, state.kind + " state");
      }
      return;
    }
    std::string hint;
    if (stored != nullptr) {
      if (const std::string other = renamed_to(*stored); !other.empty()) {
        hint = fmt::format(
            ". Operator \"{}\" is new, of the same type and with the same state: if it was renamed, write `id: {}`",
            other, id);
      }
    }
    problem(fmt::format(
        "the checkpoint has state of operator \"{}\" ({}), but the pipeline has no such operator{}. To give the state "
        "up: --drop-state {}",
        id, describe(id), hint, id));
    return;
  }
  if (stored == nullptr) {
    if (holds) plan_.restored.push_back(id);
    return;
  }
  if (stored->type != now->type) {
    if (!holds) {
      plan_.notes.push_back(fmt::format("operator \"{}\" was {}, is {}; it had no state", id, stored->type, now->type));
      return;
    }
    problem(
        fmt::format("operator \"{}\" was {}, is now {}: its state ({}) does not fit. To give it up: --drop-state {}",
                    id, stored->type, now->type, describe(id), id));
    return;
  }
  const bool keyed =
      stored->timers > 0 || std::any_of(stored->states.begin(), stored->states.end(),
                                        [](const auto& state) { return state.kind == "value" || state.kind == "map"; });
  if (stored->key != now->key && keyed) {
    problem(
        fmt::format("operator \"{0}\" {1}, {2}: its state belongs to the old keys. To give it up: --drop-state {0}", id,
                    stored->key.empty() ? "had no key" : "was keyed by \"" + stored->key + "\"",
                    now->key.empty() ? "has none now" : "is now keyed by \"" + now->key + "\""));
    return;
  }
  match_states(*stored, *now);
  if (stored->parallelism != now->parallelism) {
    plan_.notes.push_back(
        fmt::format("operator \"{}\": {} lanes become {}", id, stored->parallelism, now->parallelism));
  }
  if (stored->version != now->version) {
    plan_.notes.push_back(fmt::format("operator \"{}\": version {} becomes {}", id, stored->version, now->version));
  }
  if (holds) plan_.restored.push_back(id);
}

// Does `id` read, over however many operators, what `source` gives? Rows of the broadcast side are not its input.
bool reads_from(const std::vector<ManifestOperator>& operators, std::string_view id, std::string_view source) {
  std::vector<std::string_view> open{id};
  std::set<std::string_view> seen;
  while (!open.empty()) {
    const std::string_view next = open.back();
    open.pop_back();
    const auto op = std::find_if(operators.begin(), operators.end(), [&](const auto& o) { return o.id == next; });
    if (op == operators.end()) continue;
    for (std::string_view rest = op->inputs; !rest.empty();) {
      const std::string_view input = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), input.size() + 1));
      if (input == source) return true;
      if (seen.insert(input).second) open.push_back(input);
    }
  }
  return false;
}

// Operators with state that changed places: the state of each was made of other rows than it would get now.
void Planner::match_order() {
  const auto keeps_state = [&](const ManifestOperator& op) {
    return !op.states.empty() && current_operator(op.id) != nullptr && !drop_states_.contains(op.id);
  };
  for (const ManifestOperator& later : manifest_.operators) {
    if (!keeps_state(later)) continue;
    for (const ManifestOperator& earlier : manifest_.operators) {
      if (!keeps_state(earlier) || !reads_from(manifest_.operators, later.id, earlier.id) ||
          !reads_from(current_.operators, earlier.id, later.id))
        continue;
      problem(fmt::format(
          "operator \"{0}\" read what \"{1}\" gave, now \"{1}\" reads what \"{0}\" gives: their state belongs to other "
          "rows. To give it up: --drop-state {0} --drop-state {1}",
          later.id, earlier.id));
    }
  }
}

// A broadcast state that starts empty is filled by its sources alone: when they go on behind what they have read, it would
// stay empty, and the gate would open on nothing.
void Planner::match_broadcast() {
  for (const auto& broadcast : current_.broadcast_sources) {
    const auto& id = broadcast.first;  // clang 14 has no bindings in lambdas
    const auto& sources = broadcast.second;
    const ManifestOperator* now = current_operator(id);
    const ManifestOperator* stored = manifest_.find_operator(id);
    const auto starts_empty = [&](const ManifestState& state) {
      if (state.kind != state::to_string(state::StateKind::kBroadcast)) return false;
      return stored == nullptr || drop_states_.contains(id) || drop_states_.contains(id + "/" + state.name) ||
             std::none_of(stored->states.begin(), stored->states.end(), [&](const auto& s) { return s.name == state.name; });
    };
    if (now == nullptr || std::none_of(now->states.begin(), now->states.end(), starts_empty)) continue;
    for (const std::string& source : sources)
      if (held(source).splits > 0 && !drop_states_.contains(source))
        problem(fmt::format("the broadcast state of operator \"{0}\" starts empty, but its source \"{1}\" goes on behind what it has read, so "
                            "nothing would fill it. To read \"{1}\" from its start again: --drop-state {1}",
                            id, source));
  }
}

base::Result<RestorePlan> Planner::plan() {
  plan_.number = manifest_.number;
  plan_.rescale = manifest_.parallelism != current_.parallelism;
  if (manifest_.key_groups != current_.key_groups) {
    problem(fmt::format("the checkpoint has {} key groups, the pipeline {}: the number cannot change",
                        manifest_.key_groups, current_.key_groups));
  }
  if (manifest_.pipeline != current_.name) {
    plan_.notes.push_back(fmt::format("the checkpoint was taken by pipeline \"{}\", this one is \"{}\"",
                                      manifest_.pipeline, current_.name));
  }
  if (plan_.rescale)
    plan_.notes.push_back(fmt::format("parallelism {} becomes {}", manifest_.parallelism, current_.parallelism));

  const std::set<std::string> stored = stored_ids();
  for (const std::string& id : stored) match_operator(id);
  match_order();
  for (const ManifestOperator& op : current_.operators) {
    if (stored.contains(op.id)) continue;
    const bool source =
        std::find(current_.source_ids.begin(), current_.source_ids.end(), op.id) != current_.source_ids.end();
    if (op.states.empty() && !source) {
      plan_.notes.push_back(fmt::format("operator \"{}\" is new", op.id));
      continue;
    }
    plan_.started_empty.push_back(op.id);
    plan_.notes.push_back(fmt::format("operator \"{}\" is new and {}", op.id,
                                      source ? "begins at its start option" : "starts with empty state"));
  }
  match_broadcast();
  for (const std::string& what : drop_states_) {
    // Not an error: it was given when the state was still there, and the command is being repeated. Names that the
    // pipeline does not have either are refused before.
    if (!used_.contains(what))
      plan_.notes.push_back(fmt::format("--drop-state {}: the checkpoint has no such operator or state", what));
  }
  if (!problems_.empty()) {
    return base::Status::fatal(
        fmt::format("checkpoint {} does not fit the pipeline:\n  {}", manifest_.number, fmt::join(problems_, "\n  ")));
  }
  plan_.text = text();
  return std::move(plan_);
}

std::string Planner::text() const {
  std::string out = fmt::format("restoring checkpoint {} of lineage {}\n", manifest_.number, manifest_.lineage);
  for (const std::string& id : plan_.restored) out += fmt::format("  \"{}\": {}\n", id, describe(id));
  for (const std::string& note : plan_.notes) out += fmt::format("  note: {}\n", note);
  return out;
}

}  // namespace

ManifestState describe_state(const state::StateDecl& decl) {
  ManifestState state;
  state.name = decl.name;
  state.kind = state::to_string(decl.kind);
  state.format = decl.format_version;
  state.compat = decl.compat_version;
  state.oldest_format = decl.format_version;
  state.ttl_ms = decl.ttl_ms;
  return state;
}

ManifestState describe_state(const std::vector<state::StoredState>& of_lanes, uint64_t entries) {
  if (of_lanes.empty()) return {};
  ManifestState state = describe_state(of_lanes.front().decl);
  for (const state::StoredState& stored : of_lanes) {
    state.oldest_format = std::min(state.oldest_format, stored.oldest_format);
    state.compat = std::max(state.compat, stored.max_compat);
  }
  state.entries = entries;
  return state;
}

base::Result<RestorePlan> plan_restore(const Manifest& manifest, const CurrentPipeline& current,
                                       const std::vector<std::string>& drop_states) {
  return Planner(manifest, current, drop_states).plan();
}

void forget_dropped(Manifest& manifest, const std::vector<std::string>& drop_states) {
  const auto forget = [&](auto& entries) {
    std::erase_if(entries, [&](const auto& entry) {
      return std::find(drop_states.begin(), drop_states.end(), entry.operator_id) != drop_states.end();
    });
  };
  forget(manifest.sources);
  forget(manifest.spools);
  forget(manifest.watermarks);
  // One state is enough: nothing may pass before it is filled again.
  std::erase_if(manifest.gates, [&](const ManifestGate& gate) {
    return std::any_of(drop_states.begin(), drop_states.end(),
                       [&](const std::string& what) { return what.substr(0, what.find('/')) == gate.operator_id; });
  });
}

}  // namespace sluice::checkpoint
