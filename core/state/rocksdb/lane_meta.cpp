#include "state/rocksdb/lane_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sluice::state {
namespace {

std::string escaped(std::string_view part) {
  std::string out;
  for (const char c : part) {
    if (c == '%') {
      out += "%25";
    } else if (c == '/') {
      out += "%2F";
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i, 3) == "%25") {
      out += '%';
      i += 2;
    } else if (part.substr(i, 3) == "%2F") {
      out += '/';
      i += 2;
    } else {
      out += part[i];
    }
  }
  return out;
}

// Records are lines of `name value`.
std::map<std::string, std::string, std::less<>> parse_lines(std::string_view text) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t space = line.find(' ');
    if (space != std::string_view::npos) fields.emplace(line.substr(0, space), line.substr(space + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fields;
}

template <class Number>
bool number_of(const std::map<std::string, std::string, std::less<>>& fields, std::string_view name, Number* out) {
  const auto it = fields.find(name);
  if (it == fields.end()) return false;
  const char* end = it->second.data() + it->second.size();
  const auto parsed = std::from_chars(it->second.data(), end, *out);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

}  // namespace

std::string family_name(std::string_view operator_id, std::string_view name) {
  return "state/" + escaped(operator_id) + "/" + escaped(name);
}

std::string write_lane_meta(uint32_t key_groups) {
  return fmt::format("format {}\ncompat {}\nkey_groups {}\nhash xxh64\n", kLaneFormat, kLaneCompat, key_groups);
}

base::Status check_lane_meta(std::string_view text, uint32_t key_groups) {
  const auto fields = parse_lines(text);
  uint32_t compat = 0;
  uint32_t stored_groups = 0;
  if (!number_of(fields, "compat", &compat)) return base::Status::fatal("the state's lane record is damaged");
  if (compat > kLaneFormat) {
    return base::Status::fatal(
        fmt::format("state was stored by a newer version of sluice: its layout needs version {}, this one knows {}",
                    compat, kLaneFormat));
  }
  if (!number_of(fields, "key_groups", &stored_groups))
    return base::Status::fatal("the state's lane record is damaged");
  if (stored_groups != key_groups) {
    return base::Status::fatal(
        fmt::format("state was stored with {} key groups, the pipeline has {}; the number cannot change", stored_groups,
                    key_groups));
  }
  return base::Status::ok();
}

std::string write_state_meta(const StoredState& state) {
  return fmt::format("kind {}\nformat {}\ncompat {}\noldest_format {}\nmax_compat {}\nttl_ms {}\nttl_clock {}\n",
                     to_string(state.decl.kind), state.decl.format_version, state.decl.compat_version,
                     state.oldest_format, state.max_compat, state.decl.ttl_ms,
                     state.decl.ttl_clock == TtlClock::kEvent ? "event" : "processing");
}

bool read_state_meta(std::string_view family, std::string_view text, StoredState* state) {
  const std::string_view prefix = "state/";
  if (family.substr(0, prefix.size()) != prefix) return false;
  const std::string_view path = family.substr(prefix.size());
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return false;
  state->decl.operator_id = unescaped(path.substr(0, slash));
  state->decl.name = unescaped(path.substr(slash + 1));
  const auto fields = parse_lines(text);
  const auto kind = fields.find("kind");
  const auto clock = fields.find("ttl_clock");
  if (kind == fields.end() || !parse_state_kind(kind->second, &state->decl.kind)) return false;
  state->decl.ttl_clock = clock != fields.end() && clock->second == "event" ? TtlClock::kEvent : TtlClock::kProcessing;
  return number_of(fields, "format", &state->decl.format_version) &&
         number_of(fields, "compat", &state->decl.compat_version) &&
         number_of(fields, "oldest_format", &state->oldest_format) &&
         number_of(fields, "max_compat", &state->max_compat) && number_of(fields, "ttl_ms", &state->decl.ttl_ms);
}

bool is_dropped(const LaneOptions& options, std::string_view operator_id) {
  return std::find(options.drop_states.begin(), options.drop_states.end(), operator_id) != options.drop_states.end();
}
bool is_dropped(const LaneOptions& options, std::string_view operator_id, std::string_view name) {
  return is_dropped(options, operator_id) || is_dropped(options, std::string(operator_id) + "/" + std::string(name));
}

base::Result<StateMatch> match_states(const std::map<std::string, StoredState>& stored, const LaneOptions& options) {
  StateMatch match;
  std::string problems;
  const auto problem = [&](const StoredState& state, const std::string& why) {
    if (!problems.empty()) problems += "\n";
    problems += fmt::format("operator \"{}\", state \"{}\": {}", state.decl.operator_id, state.decl.name, why);
  };
  for (const auto& [family, state] : stored) {
    if (is_dropped(options, state.decl.operator_id, state.decl.name)) {
      match.dropped_families.push_back(family);
      continue;
    }
    const auto now = std::find_if(options.states.begin(), options.states.end(), [&state = state](const StateDecl& decl) {
      return decl.operator_id == state.decl.operator_id && decl.name == state.decl.name;
    });
    if (now == options.states.end()) {
      problem(state, fmt::format("stored, but nothing in the pipeline declares it; --drop-state {} gives it up",
                                 state.decl.operator_id));
      continue;
    }
    if (const std::string why = incompatibility(state, *now); !why.empty()) {
      problem(state, why);
      continue;
    }
    match.kept.emplace(family, state);
  }
  if (!problems.empty()) return base::Status::fatal(problems);
  return match;
}

}  // namespace sluice::state
