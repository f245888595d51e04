#include "runtime/plan_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "data/text_view.h"

namespace sluice::runtime {
namespace {

constexpr size_t kNone = SIZE_MAX;

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }
std::string name(const config::OperatorSection& section) { return "operator " + quoted(section.id) + " (" + section.use + ")"; }

config::Location place_of(const config::OperatorSection& section, config::OptionValues::const_iterator option) {
  return option != section.options.end() && !option->second.is_default ? option->second.at : section.use_at;
}

// Why rows without event time are of no use to an operator, as the end of a sentence; empty: they are.
std::string event_time_for(const PlanNode& node) {
  if (!node.facts.event_time_for.empty()) return node.facts.event_time_for;
  for (size_t i = 0; i < node.desc->state_count; ++i) {
    const sluice_state_decl& decl = *node.desc->states[i];
    const std::string clock(data::view(decl.ttl_clock_option));
    const auto option = node.section->options.find(clock);
    if (option != node.section->options.end() && option->second.as_string() == "event")
      return "state expires by it (`" + clock + "`): it would grow for ever";
  }
  return {};
}

// Follows the rows from the sources down. Of what a source lacks an operator is told once.
class EventTimes {
 public:
  EventTimes(const Plan& plan, config::Diagnostics& diagnostics) : plan_(plan), diagnostics_(diagnostics), above_(plan.nodes.size()) {}

  void check() {
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const PlanNode& node = plan_.nodes[n];
      if (node.is_source()) check_source(n);
      else check_reader(n);
    }
  }

 private:
  struct Lacks {
    size_t time = kNone, idleness = kNone;  // a source above whose rows have no event time, one that is never idle
  };

  void check_source(size_t n) {
    const PlanNode& node = plan_.nodes[n];
    const config::OperatorSection& section = *node.section;
    if (node.event_time && node.event_time->idle_timeout_ms == 0) above_[n].idleness = n;
    if (!node.facts.known || node.facts.gives_event_time) return;
    if (!section.event_time) above_[n].time = n;
    else if (section.event_time->fields.empty())
      diagnostics_.error(section.event_time->at, "event-time", section.path + ".event_time",
                         "\"event_time\" without \"field\" takes the times that a source gives, and " + name(section) + ", as it is set up, gives none", {},
                         "name the field that holds the time, and its format");
  }

  void check_reader(size_t n) {
    const PlanNode& node = plan_.nodes[n];
    Lacks& lacks = above_[n];
    for (size_t e : node.in) {
      if (plan_.edges[e].to_port != SLUICE_PORT_MAIN) continue;
      const Lacks& input = above_[plan_.edges[e].from];
      if (lacks.time == kNone) lacks.time = input.time;
      if (lacks.idleness == kNone) lacks.idleness = input.idleness;
    }
    if (!node.facts.known || node.facts.gives_event_time) lacks.time = kNone;
    if (const std::string why = event_time_for(node); lacks.time != kNone && !why.empty()) {
      const config::OperatorSection& source = section_of(std::exchange(lacks.time, kNone));
      report(*node.section, source, "the rows of " + quoted(source.id) + " have no event time, and " + why,
             "give " + quoted(source.id) + " an event_time: with the field that holds the time and its format, or let it give times of its own, if it has an option for that");
    }
    if (lacks.idleness != kNone && !node.facts.idleness_for.empty()) {
      const config::OperatorSection& source = section_of(std::exchange(lacks.idleness, kNone));
      report(*node.section, source, quoted(source.id) + " is never idle, and " + node.facts.idleness_for,
             "give " + quoted(source.id) + " an idle_timeout of more than 0 in its event_time:");
    }
  }

  const config::OperatorSection& section_of(size_t node) const { return *plan_.nodes[node].section; }

  void report(const config::OperatorSection& reader, const config::OperatorSection& source, const std::string& message, const std::string& hint) {
    diagnostics_.add({config::Severity::kError, place_of(reader, option_named(reader, message)), "event-time", reader.path, message, {}, hint, {{source.id_at, "the source"}}});
  }

  const Plan& plan_;
  config::Diagnostics& diagnostics_;
  std::vector<Lacks> above_;  // by node
};

void check_outputs(const PlanNode& node, const Plan& plan, config::Diagnostics& diagnostics) {
  const config::OperatorSection& section = *node.section;
  std::set<std::string> read;
  for (size_t e : node.out)
    if (const uint32_t port = plan.edges[e].from_port; port > 0) read.emplace(data::view(node.desc->output_ports[port - 1]));
  const auto& written = *node.facts.outputs;
  for (const std::string& port : written)
    if (!read.contains(port))  // an option that has to do with an output has its name
      diagnostics.warning(place_of(section, section.options.find(port)), "output-unread", section.path,
                          "nobody reads the output " + quoted(port) + " of " + name(section) + ": its rows go no further, and are counted as unread_output", {},
                          "read it with input: " + section.id + "." + port);
  const auto check_input = [&](const config::OperatorSection& reader, const config::InputReference& input, const char* key) {
    if (input.id != section.id || input.port.empty() || std::find(written.begin(), written.end(), input.port) != written.end()) return;
    diagnostics.warning(input.at, "output-empty", reader.path + key,
                        name(section) + ", as it is set up, gives nothing on its output " + quoted(input.port), {}, "see the options of " + section.use);
  };
  for (const config::OperatorSection& reader : plan.document->operators) {
    for (const config::InputReference& input : reader.inputs) check_input(reader, input, ".input");
    if (reader.broadcast) check_input(reader, *reader.broadcast, ".broadcast");
  }
}

void check_alone(const Plan& plan, config::Diagnostics& diagnostics) {
  std::map<std::string, const config::OperatorSection*> writers;
  for (const PlanNode& node : plan.nodes) {
    const std::string& what = node.facts.writes_alone;
    if (node.role == SLUICE_ROLE_PARTIAL || what.empty()) continue;
    const auto [other, first] = writers.emplace(what, node.section);
    if (first) continue;
    const std::string message = name(*other->second) + " and " + name(*node.section) + " both write " + what;
    diagnostics.add({config::Severity::kError, place_of(*node.section, option_named(*node.section, message)), "written-twice",
                     node.section->path, message, {}, "", {{other->second->id_at, "the other one"}}});
  }
}

// Some operators have to run in one lane, whatever is asked for.
void check_lanes(const PlanNode& node, config::Diagnostics& diagnostics) {
  const config::OperatorSection& section = *node.section;
  if (!section.parallelism || static_cast<uint32_t>(*section.parallelism) == node.lanes) return;
  const bool over_all_rows = (node.desc->flags & SLUICE_OP_TWO_PHASE) != 0 && section.key.empty();
  diagnostics.error(section.parallelism_at, "lanes", section.path + ".parallelism",
                    name(section) + (over_all_rows ? " has no key: it works over all rows, and what it gives comes from 1 lane"
                                                   : " is on the way to a broadcast input, where 1 lane keeps the order that all readers see"),
                    {}, over_all_rows ? "leave \"parallelism\" out: a first phase runs in every lane of what it reads; or give it a key" : "leave \"parallelism\" out");
}

}  // namespace

config::OptionValues::const_iterator option_named(const config::OperatorSection& section, const std::string& message) {
  for (size_t begin = message.find('`'), end = 0; begin != std::string::npos; begin = message.find('`', end + 1)) {
    end = message.find('`', begin + 1);
    if (end == std::string::npos) break;
    const auto option = section.options.find(message.substr(begin + 1, end - begin - 1));
    if (option != section.options.end() && !option->second.is_default) return option;
  }
  return section.options.end();
}

void report_at(config::Diagnostics& diagnostics, const config::OperatorSection& section, config::OptionValues::const_iterator option,
               const char* code, const std::string& message) {
  const bool given = option != section.options.end() && !option->second.is_default;
  diagnostics.error(place_of(section, option), code, given ? section.path + ".with." + option->first : section.path, message);
}

void check_plan(const Plan& plan, config::Diagnostics& diagnostics) {
  EventTimes(plan, diagnostics).check();
  check_alone(plan, diagnostics);
  for (const PlanNode& node : plan.nodes) {
    if (node.role == SLUICE_ROLE_PARTIAL) continue;
    check_lanes(node, diagnostics);
    if (node.facts.outputs) check_outputs(node, plan, diagnostics);
  }
}

}  // namespace sluice::runtime
