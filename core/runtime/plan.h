// From the checked pipeline to what runs: operators, lanes, and the ways between them. The graph is cut only where rows
// must change lanes; between cuts operators are chained in one thread without a queue.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/pipeline_document.h"
#include "data/json_reader.h"
#include "sluice/abi.h"

namespace sluice::runtime {

enum class Route {
  kChain,      // a call in the same thread
  kForward,    // lane i to lane i mod n
  kKeyed,      // by key group
  kBroadcast,  // to every lane
};
const char* to_string(Route route);

struct PlanEdge {
  size_t from = 0, to = 0;  // nodes
  uint32_t from_port = 0;   // 0: main, then output_ports
  uint32_t to_port = SLUICE_PORT_MAIN;
  Route route = Route::kChain;
};

// What an instance tells beside its needs (ext/plan.h). As it stands: nothing is known.
struct PlanFacts {
  bool known = false, gives_event_time = false;
  std::string event_time_for, idleness_for;         // why it needs them, as the end of a sentence; empty: it does not
  std::string writes_alone;                         // what nobody else may write; empty: nothing
  std::optional<std::vector<std::string>> outputs;  // of the descriptor's output ports: those that it writes to
};

// One operator of the file, or one of the two phases of one.
struct PlanNode {
  const config::OperatorSection* section = nullptr;  // owned by the document
  const sluice_operator_desc* desc = nullptr;        // owned by the registry
  std::string plugin;                                // "sluice-file 1.0": where desc is from
  uint32_t role = SLUICE_ROLE_COMPLETE;
  uint32_t lanes = 1;
  size_t stage = 0;
  std::vector<size_t> in, out;  // edges
  std::vector<size_t> key_fields;        // index into Plan::fields
  std::vector<size_t> fields;            // of the main port, in the order of the declaration
  std::vector<size_t> broadcast_fields;
  std::vector<bool> needed_below;        // fields that this node's outputs may still be asked for
  bool needs_body = false, accepts_tombstones = false;
  uint32_t delivery = SLUICE_DELIVERY_AT_LEAST_ONCE;
  PlanFacts facts;
  std::optional<config::EventTimeSection> event_time;  // sources whose rows have event times
  std::vector<size_t> gates;             // sources: nodes with a broadcast port that lie below; no rows before they are open

  const std::string& id() const { return section->id; }
  bool is_source() const { return desc->kind == SLUICE_SOURCE; }
  bool is_sink() const { return desc->kind == SLUICE_SINK; }
  bool has_broadcast() const { return (desc->flags & SLUICE_OP_BROADCAST) != 0; }
  bool has_state() const { return desc->state_count > 0 || !section->key.empty(); }
};

// A set of nodes that run in one thread for each lane.
struct PlanStage {
  uint32_t lanes = 1;
  std::vector<size_t> nodes;  // in topological order
};

struct Plan {
  const config::PipelineDocument* document = nullptr;
  std::vector<PlanNode> nodes;  // in topological order
  std::vector<PlanEdge> edges;
  std::vector<PlanStage> stages;
  data::FieldSet fields;  // of all operators; batches address them by index

  std::string describe() const;
  // Nodes: the sources that the rows of this port of a node come from.
  std::vector<size_t> sources_of(size_t node, uint32_t port) const;
};

// Finds the descriptor of an operator type; null when there is none.
using FindDescriptor = sluice_operator_desc const* (*)(void* user, std::string_view type);

// The shape: nodes, lanes, edges, stages. Fields and deliveries are filled in when the operators have said what they
// need (finish_fields). The document has no errors.
base::Result<Plan> make_plan(const config::PipelineDocument& document, FindDescriptor find, void* user);
// After needs of every node are known: key fields, event time fields, and which fields each edge must carry.
void finish_fields(Plan& plan);

}  // namespace sluice::runtime
