#include "config/graph_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/nearest_name.h"

namespace sluice::config {
namespace {

using Kind = OperatorSpec::Kind;

std::string line_and_column(const Location& at) { return std::to_string(at.line) + ":" + std::to_string(at.column); }

class GraphCheck {
 public:
  GraphCheck(const PipelineDocument& document, bool parts_missing, Diagnostics& diagnostics)
      : operators_(document.operators),
        document_(document),
        parts_missing_(parts_missing),
        diagnostics_(diagnostics),
        edges_(operators_.size()) {}

  void run() {
    index_ids();
    for (size_t i = 0; i < operators_.size(); ++i) check_references(i);
    for (const OperatorSection& op : operators_) {
      check_inputs(op);
      check_broadcast(op);
      check_key(op);
    }
    check_cycles();
    if (!parts_missing_) check_ends();
  }

 private:
  struct Edge {
    size_t target;  // the operator that is read
    const InputReference* reference;
  };

  static bool is(const OperatorSection& op, Kind kind) { return op.spec && op.spec->kind == kind; }
  static std::string name(const OperatorSection& op) {
    return "operator " + (op.id.empty() ? op.path.substr(std::string("operators").size()) : quote(op.id));
  }

  void index_ids() {
    for (size_t i = 0; i < operators_.size(); ++i) {
      const OperatorSection& op = operators_[i];
      if (op.id.empty()) {
        id_missing_ = true;
        continue;
      }
      const auto [first, fresh] = by_id_.emplace(op.id, i);
      if (fresh) {
        ids_.push_back(op.id);
        continue;
      }
      const Location& at = operators_[first->second].id_at;
      diagnostics_.add({Severity::kError,
                        op.id_at,
                        "duplicate-id",
                        op.path + ".id",
                        "the id " + quote(op.id) + " is used twice; first at " +
                            (at.file == op.id_at.file ? line_and_column(at) : at.text()),
                        {},
                        {},
                        {{at, "first used here"}}});
    }
  }

  void check_references(size_t reader) {
    const OperatorSection& op = operators_[reader];
    for (const InputReference& reference : op.inputs) check_reference(reader, reference, "input");
    if (op.broadcast) check_reference(reader, *op.broadcast, "broadcast");
  }

  void check_reference(size_t reader, const InputReference& reference, const std::string& key) {
    const OperatorSection& op = operators_[reader];
    const std::string path = op.path + "." + key;
    const auto found = by_id_.find(reference.id);
    if (found == by_id_.end()) {
      undefined(reader, reference, path);
      return;
    }
    const OperatorSection& target = operators_[found->second];
    if (reference.id == op.id) {
      diagnostics_.error(reference.at, "self-reference", path, name(op) + " reads from itself");
      if (reference.port.empty()) read_.insert(reference.id);
      return;
    }
    (reference.port.empty() ? read_ : read_port_only_).insert(reference.id);
    if (is(target, Kind::kSink)) {
      diagnostics_.error(reference.at, "reads-from-sink", path,
                         name(op) + " reads from " + quote(reference.id) + ", which is a sink (" + target.use +
                             ") and gives nothing to read");
      return;
    }
    if (!reference.port.empty() && target.spec) check_port(op, target, reference, path);
    edges_[reader].push_back({found->second, &reference});
  }

  void undefined(size_t reader, const InputReference& reference, const std::string& path) {
    const OperatorSection& op = operators_[reader];
    std::vector<std::string> others = ids_;
    others.erase(std::remove(others.begin(), others.end(), op.id), others.end());
    const std::string nearest = nearest_name(reference.id, others);
    unresolved_.push_back({reader, nearest});
    // It is probably the operator whose id is missing, which was reported.
    if (id_missing_ && nearest.empty()) return;
    if (parts_missing_) return;  // or in the file that could not be read
    diagnostics_.error(reference.at, "undefined-input", path,
                       name(op) + " reads from " + quote(reference.id) + ", which is not defined" +
                           (ids_.empty() ? "" : "; defined: " + list_names(ids_, "")),
                       nearest);
  }

  void check_port(const OperatorSection& op, const OperatorSection& target, const InputReference& reference,
                  const std::string& path) {
    const std::vector<std::string>& ports = target.spec->output_ports;
    if (std::find(ports.begin(), ports.end(), reference.port) != ports.end()) return;
    const std::string has =
        ports.empty()
            ? quote(target.id) + " (" + target.use + ") has only its main output, " + "which is read without a port"
            : quote(target.id) + " (" + target.use + ") has " + list_names(ports, "and", true);
    const std::string nearest = nearest_name(reference.port, ports);
    diagnostics_.error(
        reference.at, "unknown-port", path,
        name(op) + " reads the unknown output " + quote(reference.port) + " of " + quote(target.id) + "; " + has,
        nearest.empty() ? "" : target.id + "." + nearest);
    // Most likely the main output was meant; it is not unread as well.
    read_.insert(reference.id);
  }

  void check_inputs(const OperatorSection& op) {
    if (op.spec == nullptr) return;
    if (is(op, Kind::kSource)) {
      if (op.input_at) {
        diagnostics_.error(*op.input_at, "source-with-input", op.path + ".input",
                           name(op) + " is a source (" + op.use + ") and cannot read from another operator");
      }
      return;
    }
    if (!op.inputs.empty() || op.reported.count("input")) return;
    diagnostics_.error(op.at, "missing-input", op.path + ".input",
                       name(op) + " (" + op.use + ") has no \"input\": it must say which operator it reads");
  }

  void check_broadcast(const OperatorSection& op) {
    if (op.spec == nullptr) return;
    if (op.broadcast && !op.spec->broadcast_input) {
      diagnostics_.error(op.broadcast->at, "unexpected-broadcast", op.path + ".broadcast",
                         op.use + " has no broadcast input; remove \"broadcast\" from " + name(op));
    }
    if (!op.broadcast && op.spec->broadcast_input && !op.reported.count("broadcast")) {
      diagnostics_.error(
          op.at, "missing-broadcast", op.path + ".broadcast",
          name(op) + " (" + op.use + ") has no \"broadcast\": it must say which operator gives its configuration");
    }
  }

  void check_key(const OperatorSection& op) {
    if (op.spec == nullptr) return;
    if (op.key_at && !op.spec->keyed && !op.spec->key_optional) {
      diagnostics_.error(*op.key_at, "unexpected-key", op.path + ".key",
                         op.use + " works without a key; remove \"key\" from " + name(op));
    }
    if (!op.key_at && op.spec->keyed && !op.reported.count("key")) {
      diagnostics_.error(op.at, "missing-key", op.path + ".key",
                         name(op) + " (" + op.use + ") has no \"key\": it must say by which fields its state is kept");
    }
  }

  // Depth first along the references, without recursion: the file decides how long a chain is.
  void check_cycles() {
    enum class State : char { kNew, kOpen, kDone };
    std::vector<State> states(operators_.size(), State::kNew);
    std::vector<size_t> next(operators_.size(), 0);  // edge to follow next
    for (size_t start = 0; start < operators_.size(); ++start) {
      if (states[start] != State::kNew) continue;
      std::vector<size_t> stack = {start};
      states[start] = State::kOpen;
      while (!stack.empty()) {
        const size_t reader = stack.back();
        if (next[reader] == edges_[reader].size()) {
          states[reader] = State::kDone;
          stack.pop_back();
          continue;
        }
        const size_t target = edges_[reader][next[reader]++].target;
        if (states[target] == State::kOpen) {
          report_cycle(std::vector<size_t>(std::find(stack.begin(), stack.end(), target), stack.end()), next);
        } else if (states[target] == State::kNew) {
          states[target] = State::kOpen;
          stack.push_back(target);
        }
      }
    }
  }

  // Each operator of `readers` reads the one after it, the last one reads the first. The edge taken is the one before
  // `next`. Reported at the reference that points down the file: a graph without cycles can do without such.
  void report_cycle(const std::vector<size_t>& readers, const std::vector<size_t>& next) {
    size_t position = readers.size();
    for (size_t i = 0; i < readers.size(); ++i) {
      const size_t target = readers[(i + 1) % readers.size()];
      if (readers[i] < target && (position == readers.size() || readers[i] < readers[position])) position = i;
    }
    const size_t reader = readers[position];
    const InputReference& reference = *edges_[reader][next[reader] - 1].reference;
    // In the direction of the data, which is against the references.
    std::string cycle = operators_[reader].id;
    for (size_t i = 1; i <= readers.size(); ++i) {
      cycle += " → " + operators_[readers[(position + readers.size() - i) % readers.size()]].id;
    }
    diagnostics_.error(reference.at, "cycle", operators_[reader].path, "operators form a cycle: " + cycle);
  }

  bool is_dead_end(const OperatorSection& op) const {
    if (op.spec == nullptr || op.spec->kind == Kind::kSink || op.id.empty()) return false;
    return !read_.count(op.id) && !read_port_only_.count(op.id);
  }

  void check_ends() {
    const bool has_sink = std::any_of(operators_.begin(), operators_.end(), [](const OperatorSection& op) {
      return op.spec == nullptr || op.spec->kind == Kind::kSink;
    });
    if (!has_sink) {
      diagnostics_.error(document_.operators_at, "no-sink", "operators",
                         "the pipeline has no sink: its results would go nowhere");
      return;
    }
    // A reference that could not be resolved was meant for somebody: the one with the nearest name, or else the
    // nearest operator above that nobody reads.
    std::set<std::string> excused;
    for (const auto& [reader, nearest] : unresolved_) {
      if (!nearest.empty()) {
        excused.insert(nearest);
        continue;
      }
      for (size_t i = reader; i-- > 0;) {
        if (!is_dead_end(operators_[i]) || excused.count(operators_[i].id)) continue;
        excused.insert(operators_[i].id);
        break;
      }
    }
    // So was an input that is missing or wrong.
    for (size_t reader = 0; reader < operators_.size(); ++reader) {
      const OperatorSection& op = operators_[reader];
      const bool no_input = op.spec != nullptr && !is(op, Kind::kSource) && op.inputs.empty();
      const bool no_broadcast = op.spec != nullptr && op.spec->broadcast_input && !op.broadcast;
      for (int missing = (no_input ? 1 : 0) + (no_broadcast ? 1 : 0); missing > 0; --missing) {
        for (size_t i = reader; i-- > 0;) {
          if (!is_dead_end(operators_[i]) || excused.count(operators_[i].id)) continue;
          excused.insert(operators_[i].id);
          break;
        }
      }
    }
    for (const OperatorSection& op : operators_) {
      if (!is_dead_end(op) || excused.count(op.id)) continue;
      diagnostics_.error(op.id_at, "dead-end", op.path,
                         "nobody reads the output of " + name(op) + "; it must lead to a sink");
    }
    for (const OperatorSection& op : operators_) {
      if (!read_port_only_.count(op.id) || read_.count(op.id) || op.spec == nullptr) continue;
      diagnostics_.warning(op.id_at, "main-output-unread", op.path,
                           "nobody reads the main output of " + name(op) + ", only another one of its outputs");
    }
  }

  const std::vector<OperatorSection>& operators_;
  const PipelineDocument& document_;
  const bool parts_missing_;
  Diagnostics& diagnostics_;
  std::map<std::string, size_t> by_id_;
  std::vector<std::string> ids_;  // in the order of the file
  std::vector<std::vector<Edge>> edges_;
  bool id_missing_ = false;
  std::set<std::string> read_, read_port_only_;
  std::vector<std::pair<size_t, std::string>> unresolved_;  // reader, and the id that was probably meant
};

}  // namespace

void check_graph(const PipelineDocument& document, bool parts_missing, Diagnostics& diagnostics) {
  GraphCheck(document, parts_missing, diagnostics).run();
}

}  // namespace sluice::config
