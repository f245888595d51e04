#include "runtime/plan.h"

#include <algorithm>
#include <functional>
#include <map>

#include "data/text_view.h"

namespace sluice::runtime {
namespace {

using data::view;

// Ids in an order in which every operator stands behind what it reads.
std::vector<const config::OperatorSection*> topological(const config::PipelineDocument& document) {
  std::map<std::string, const config::OperatorSection*> by_id;
  for (const auto& o : document.operators) by_id[o.id] = &o;
  std::vector<const config::OperatorSection*> order;
  std::map<std::string, bool> done;
  std::function<void(const config::OperatorSection&)> visit = [&](const config::OperatorSection& o) {
    if (done[o.id]) return;
    done[o.id] = true;
    for (const auto& in : o.inputs) visit(*by_id.at(in.id));
    if (o.broadcast) visit(*by_id.at(o.broadcast->id));
    order.push_back(&o);
  };
  for (const auto& o : document.operators) visit(o);
  return order;
}

uint32_t port_index(const sluice_operator_desc& desc, const std::string& port) {
  if (port.empty()) return 0;
  for (size_t i = 0; i < desc.output_port_count; ++i)
    if (view(desc.output_ports[i]) == port) return static_cast<uint32_t>(i + 1);
  return 0;  // the checks have refused it
}

}  // namespace

const char* to_string(Route route) {
  switch (route) {
    case Route::kChain: return "chain";
    case Route::kForward: return "forward";
    case Route::kKeyed: return "by key";
    case Route::kBroadcast: return "broadcast";
  }
  return "?";
}

base::Result<Plan> make_plan(const config::PipelineDocument& document, FindDescriptor find, void* user) {
  Plan plan;
  plan.document = &document;
  const auto order = topological(document);

  // Operators on the way from a source to a broadcast port run in one lane: every receiver sees one order.
  std::map<std::string, bool> broadcast_side;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto& o = **it;
    if (o.broadcast) broadcast_side[o.broadcast->id] = true;
    if (broadcast_side[o.id])
      for (const auto& in : o.inputs) broadcast_side[in.id] = true;
  }

  std::map<std::string, size_t> last_node;  // by id: the node whose outputs are the operator's
  for (const config::OperatorSection* section : order) {
    PlanNode node;
    node.section = section;
    node.event_time = section->event_time;
    node.desc = find(user, section->use);
    if (node.desc == nullptr) return base::Status::bug("operator type " + section->use + " has no descriptor");
    const auto lanes_above = [&] {
      uint32_t lanes = 0;
      for (const auto& in : section->inputs) lanes = std::max(lanes, plan.nodes[last_node.at(in.id)].lanes);
      return lanes;
    }();
    const bool two_phase = (node.desc->flags & SLUICE_OP_TWO_PHASE) != 0 && section->key.empty();
    if (section->parallelism) node.lanes = static_cast<uint32_t>(*section->parallelism);
    else if (node.is_source() || !section->key.empty()) node.lanes = static_cast<uint32_t>(document.parallelism);
    else node.lanes = std::max(1u, lanes_above);
    if (broadcast_side[section->id]) node.lanes = 1;

    const auto add_node = [&](PlanNode n) {
      plan.nodes.push_back(std::move(n));
      return plan.nodes.size() - 1;
    };
    const auto connect = [&](size_t from, size_t to, uint32_t from_port, uint32_t to_port, Route route) {
      plan.edges.push_back({from, to, from_port, to_port, route});
      plan.nodes[from].out.push_back(plan.edges.size() - 1);
      plan.nodes[to].in.push_back(plan.edges.size() - 1);
    };
    if (two_phase && lanes_above > 1) {
      PlanNode partial = node;
      partial.role = SLUICE_ROLE_PARTIAL;
      partial.lanes = lanes_above;
      const size_t p = add_node(partial);
      for (const auto& in : section->inputs) {
        const size_t from = last_node.at(in.id);
        connect(from, p, port_index(*plan.nodes[from].desc, in.port), SLUICE_PORT_MAIN,
                plan.nodes[from].lanes == partial.lanes && section->inputs.size() == 1 ? Route::kChain : Route::kForward);
      }
      node.role = SLUICE_ROLE_MERGE;
      node.lanes = 1;
      const size_t m = add_node(node);
      connect(p, m, 0, SLUICE_PORT_MAIN, Route::kForward);
      // Late rows leave from the first phase as well: readers of the side outputs read both.
      last_node[section->id] = m;
      continue;
    }
    if (two_phase) node.lanes = 1;
    const size_t n = add_node(node);
    for (const auto& in : section->inputs) {
      const size_t from = last_node.at(in.id);
      const PlanNode& above = plan.nodes[from];
      Route route = Route::kForward;
      if (!section->key.empty() && node.lanes > 1) route = Route::kKeyed;
      else if (above.lanes == node.lanes && section->inputs.size() == 1) route = Route::kChain;
      const uint32_t port = port_index(*above.desc, in.port);
      connect(from, n, port, SLUICE_PORT_MAIN, route);
      if (above.role == SLUICE_ROLE_MERGE && port > 0) connect(from - 1, n, port, SLUICE_PORT_MAIN, Route::kForward);
    }
    if (section->broadcast) {
      const size_t from = last_node.at(section->broadcast->id);
      connect(from, n, port_index(*plan.nodes[from].desc, section->broadcast->port), SLUICE_PORT_BROADCAST, Route::kBroadcast);
    }
    last_node[section->id] = n;
  }

  // A node with more than one way in is fed by channels, so that one place aligns barriers and watermarks.
  for (PlanNode& node : plan.nodes) {
    size_t main_inputs = 0;
    for (size_t e : node.in) main_inputs += plan.edges[e].to_port == SLUICE_PORT_MAIN ? 1 : 0;
    if (main_inputs > 1)
      for (size_t e : node.in)
        if (plan.edges[e].route == Route::kChain) plan.edges[e].route = Route::kForward;
  }

  // Stages: what is connected by chains.
  std::vector<size_t> stage_of(plan.nodes.size(), SIZE_MAX);
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    for (size_t e : plan.nodes[n].in)
      if (plan.edges[e].route == Route::kChain) stage_of[n] = stage_of[plan.edges[e].from];
    if (stage_of[n] == SIZE_MAX) {
      stage_of[n] = plan.stages.size();
      plan.stages.push_back({plan.nodes[n].lanes, {}});
    }
    plan.nodes[n].stage = stage_of[n];
    plan.stages[stage_of[n]].nodes.push_back(n);
  }

  // Which broadcast nodes lie below each main source.
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (!plan.nodes[n].has_broadcast()) continue;
    for (size_t source : plan.sources_of(n, SLUICE_PORT_MAIN)) plan.nodes[source].gates.push_back(n);
  }
  // A source on both sides of one filter would wait for itself.
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (!plan.nodes[n].has_broadcast()) continue;
    std::function<bool(size_t)> waits = [&](size_t node) {
      const auto& g = plan.nodes[node].gates;
      if (std::find(g.begin(), g.end(), n) != g.end()) return true;
      return std::any_of(plan.nodes[node].in.begin(), plan.nodes[node].in.end(), [&](size_t e) { return waits(plan.edges[e].from); });
    };
    for (size_t e : plan.nodes[n].in)
      if (plan.edges[e].to_port == SLUICE_PORT_BROADCAST && waits(plan.edges[e].from))
        return base::Status::fatal(plan.nodes[n].section->id_at.text() + ": operator \"" + plan.nodes[n].id() +
                                   "\" reads one source on both of its inputs: the main side would wait for itself");
  }
  return plan;
}

void finish_fields(Plan& plan) {
  for (PlanNode& node : plan.nodes) {
    node.key_fields.clear();
    for (const auto& k : node.section->key) node.key_fields.push_back(plan.fields.add(k));
    if (!node.event_time) continue;
    for (const auto& f : node.event_time->fields) plan.fields.add(f);
    if (!node.event_time->types.empty()) plan.fields.add("type");
  }
  for (size_t n = plan.nodes.size(); n-- > 0;) {
    PlanNode& node = plan.nodes[n];
    node.needed_below.assign(plan.fields.size(), false);
    for (size_t e : node.out) {
      const PlanEdge& edge = plan.edges[e];
      const PlanNode& to = plan.nodes[edge.to];
      for (size_t f : to.key_fields) node.needed_below[f] = true;
      for (size_t f : edge.to_port == SLUICE_PORT_BROADCAST ? to.broadcast_fields : to.fields) node.needed_below[f] = true;
      if (edge.to_port == SLUICE_PORT_MAIN)
        for (size_t f = 0; f < to.needed_below.size(); ++f)
          if (to.needed_below[f]) node.needed_below[f] = true;
    }
  }
}

std::vector<size_t> Plan::sources_of(size_t node, uint32_t port) const {
  std::vector<size_t> sources;
  std::vector<bool> seen(nodes.size(), false);
  std::function<void(size_t)> up = [&](size_t n) {
    if (seen[n]) return;
    seen[n] = true;
    if (nodes[n].is_source()) sources.push_back(n);
    for (size_t e : nodes[n].in) up(edges[e].from);
  };
  for (size_t e : nodes[node].in)
    if (edges[e].to_port == port) up(edges[e].from);
  return sources;
}

std::string Plan::describe() const {
  std::string text;
  for (size_t s = 0; s < stages.size(); ++s) {
    text += "stage " + std::to_string(s + 1) + ", " + std::to_string(stages[s].lanes) + (stages[s].lanes == 1 ? " lane:" : " lanes:");
    for (size_t n : stages[s].nodes) {
      const PlanNode& node = nodes[n];
      text += "\n  " + node.id() + " (" + node.section->use +
              (node.role == SLUICE_ROLE_PARTIAL ? ", first phase" : node.role == SLUICE_ROLE_MERGE ? ", second phase" : "") + ")";
      for (size_t e : node.in)
        if (edges[e].route != Route::kChain)
          text += "\n    from " + nodes[edges[e].from].id() + " (" + to_string(edges[e].route) + ")";
    }
    text += "\n";
  }
  return text;
}

}  // namespace sluice::runtime
