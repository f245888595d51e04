#include "plugin/negotiation.h"

#include <set>

namespace sluice::plugin {
namespace {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }
std::string version(uint32_t major, uint32_t minor) { return std::to_string(major) + "." + std::to_string(minor); }

// A text of a table: has data when it has a size.
bool is_text(sluice_str s) { return s.size == 0 || s.data != nullptr; }
bool is_name(sluice_str s) { return s.data != nullptr && s.size > 0; }

template <class T>
base::Status too_short(const std::string& what, const T* table, size_t needed) {
  return base::Status::fatal(what + (table == nullptr ? std::string(" is missing")
                                                      : " is too short: " + std::to_string(table->struct_size) + " bytes, at least " +
                                                            std::to_string(needed) + " are needed"));
}

base::Status check_option(const sluice_option* o, const std::string& where, std::set<std::string_view>* names) {
  if (!SLUICE_HAS(o, sluice_option, choice_count))
    return too_short(where + ": an option", o, offsetof(sluice_option, choice_count) + sizeof o->choice_count);
  if (!is_name(o->name)) return base::Status::fatal(where + ": an option has no name");
  const std::string what = where + ": option " + quoted(view(o->name));
  if (!names->insert(view(o->name)).second) return base::Status::fatal(what + " is declared twice");
  if (o->type < SLUICE_T_BOOL || o->type > SLUICE_T_STRING_MAP)
    return base::Status::fatal(what + " has the unknown type " + std::to_string(o->type));
  if (o->type == SLUICE_T_ENUM && o->choice_count == 0) return base::Status::fatal(what + " is an enum without choices");
  if (o->choice_count > 0 && o->choices == nullptr) return base::Status::fatal(what + " has choices that are missing");
  for (const sluice_str s : {o->default_yaml, o->unit, o->doc, o->example, o->since})
    if (!is_text(s)) return base::Status::fatal(what + " has a text without data");
  return base::Status::ok();
}

base::Status check_state(const sluice_state_decl* s, const sluice_operator_desc& desc, const std::string& where,
                         std::set<std::string_view>* names) {
  if (!SLUICE_HAS(s, sluice_state_decl, ttl_clock_option))
    return too_short(where + ": a state", s, offsetof(sluice_state_decl, ttl_clock_option) + sizeof s->ttl_clock_option);
  if (!is_name(s->name)) return base::Status::fatal(where + ": a state has no name");
  const std::string what = where + ": state " + quoted(view(s->name));
  if (!names->insert(view(s->name)).second) return base::Status::fatal(what + " is declared twice");
  if (s->kind < SLUICE_STATE_VALUE || s->kind > SLUICE_STATE_OPERATOR)
    return base::Status::fatal(what + " has the unknown kind " + std::to_string(s->kind));
  if (s->kind == SLUICE_STATE_BROADCAST && (desc.flags & SLUICE_OP_BROADCAST) == 0)
    return base::Status::fatal(what + " is a broadcast state, but the operator has no broadcast input");
  if (s->format_version < 1 || s->format_version > 65535 || s->compat_version < 1 || s->compat_version > s->format_version)
    return base::Status::fatal(what + " has format version " + std::to_string(s->format_version) + " and compat version " +
                               std::to_string(s->compat_version) + "; 1 <= compat <= format <= 65535 must hold");
  const auto refers_to = [&](sluice_str option, uint32_t type) {
    for (size_t i = 0; i < desc.option_count; ++i)
      if (view(desc.options[i]->name) == view(option) && desc.options[i]->type == type) return true;
    return option.size == 0;
  };
  if (!refers_to(s->ttl_option, SLUICE_T_DURATION))
    return base::Status::fatal(what + " takes its time to live from " + quoted(view(s->ttl_option)) + ", which is no duration option");
  if (!refers_to(s->ttl_clock_option, SLUICE_T_ENUM))
    return base::Status::fatal(what + " takes its clock from " + quoted(view(s->ttl_clock_option)) + ", which is no enum option");
  if (s->ttl_required != 0 && s->ttl_option.size == 0)
    return base::Status::fatal(what + " requires a time to live, but names no option that gives it");
  return base::Status::ok();
}

base::Status check_operator(const sluice_operator_desc* d, std::set<std::string_view>* types) {
  if (!SLUICE_HAS(d, sluice_operator_desc, create))
    return too_short("the description of an operator", d, offsetof(sluice_operator_desc, create) + sizeof d->create);
  if (!is_name(d->type)) return base::Status::fatal("an operator has no type");
  const std::string where = "operator " + quoted(view(d->type));
  if (!types->insert(view(d->type)).second) return base::Status::fatal(where + " is declared twice");
  if (d->kind < SLUICE_SOURCE || d->kind > SLUICE_SINK)
    return base::Status::fatal(where + " has the unknown kind " + std::to_string(d->kind));
  if ((d->flags & SLUICE_OP_BROADCAST) != 0 && d->kind != SLUICE_TRANSFORM)
    return base::Status::fatal(where + " has a broadcast input, but is a " + kind_name(d->kind));
  if (d->create == nullptr) return base::Status::fatal(where + " has no create function");
  for (const sluice_str s : {d->version, d->summary, d->doc})
    if (!is_text(s)) return base::Status::fatal(where + " has a text without data");
  if ((d->option_count > 0 && d->options == nullptr) || (d->state_count > 0 && d->states == nullptr) ||
      (d->output_port_count > 0 && d->output_ports == nullptr))
    return base::Status::fatal(where + " has a table that is missing");
  std::set<std::string_view> option_names, state_names, port_names;
  for (size_t i = 0; i < d->option_count; ++i) SLUICE_TRY(check_option(d->options[i], where, &option_names));
  for (size_t i = 0; i < d->state_count; ++i) SLUICE_TRY(check_state(d->states[i], *d, where, &state_names));
  for (size_t i = 0; i < d->output_port_count; ++i) {
    if (!is_name(d->output_ports[i])) return base::Status::fatal(where + " has an output without a name");
    if (!port_names.insert(view(d->output_ports[i])).second)
      return base::Status::fatal(where + " has two outputs " + quoted(view(d->output_ports[i])));
  }
  return base::Status::ok();
}

}  // namespace

std::string host_abi() { return version(SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR); }

std::string kind_name(uint32_t operator_kind) {
  switch (operator_kind) {
    case SLUICE_SOURCE: return "source";
    case SLUICE_TRANSFORM: return "transform";
    case SLUICE_SINK: return "sink";
    default: return "?";
  }
}

base::Status check_module(const sluice_module* m) {
  if (m == nullptr) return base::Status::fatal(SLUICE_ENTRY_SYMBOL "() gave no module description");
  // The versions come first: they decide how long the rest must be.
  if (!SLUICE_HAS(m, sluice_module, abi_min_minor))
    return too_short("the module description", m, offsetof(sluice_module, init) + sizeof m->init);
  const bool has_name = SLUICE_HAS(m, sluice_module, version) && is_name(m->name) && is_text(m->version);
  const std::string module =
      has_name ? "module " + quoted(view(m->name)) + (m->version.size > 0 ? " " + std::string(view(m->version)) : "") : "the module";
  // While the ABI is 0.x every minor stands alone.
  if (m->abi_major != SLUICE_ABI_MAJOR || m->abi_minor != SLUICE_ABI_MINOR)
    return base::Status::fatal(module + " was built for plugin ABI " + version(m->abi_major, m->abi_minor) + ", this host speaks " + host_abi() +
                               ": build it again with the SDK that belongs to this host");
  if (!SLUICE_HAS(m, sluice_module, init))
    return too_short("the description of " + module, m, offsetof(sluice_module, init) + sizeof m->init);
  if (!is_name(m->name)) return base::Status::fatal("the module has no name");
  for (const sluice_str s : {m->version, m->vendor, m->build})
    if (!is_text(s)) return base::Status::fatal(module + " has a text without data");
  if (m->operator_count > 0 && m->operators == nullptr) return base::Status::fatal(module + " has no table of operators");
  if (m->operator_count == 0) return base::Status::fatal(module + " has no operators");
  std::set<std::string_view> types;
  for (size_t i = 0; i < m->operator_count; ++i) SLUICE_TRY(check_operator(m->operators[i], &types).in(module));
  return base::Status::ok();
}

}  // namespace sluice::plugin
