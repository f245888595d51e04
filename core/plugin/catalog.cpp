#include "plugin/catalog.h"

#include "plugin/negotiation.h"

namespace sluice::plugin {
namespace {

config::OptionType option_type(uint32_t type) {
  switch (type) {
    case SLUICE_T_BOOL: return config::OptionType::kBool;
    case SLUICE_T_INT: return config::OptionType::kInt;
    case SLUICE_T_DOUBLE: return config::OptionType::kDouble;
    case SLUICE_T_DURATION: return config::OptionType::kDuration;
    case SLUICE_T_SIZE: return config::OptionType::kSize;
    case SLUICE_T_ENUM: return config::OptionType::kEnum;
    case SLUICE_T_STRING_LIST: return config::OptionType::kList;
    case SLUICE_T_STRING_MAP: return config::OptionType::kMap;
    default: return config::OptionType::kString;
  }
}

config::OptionSpec option_spec(const sluice_option& o) {
  config::OptionSpec s;
  s.name = view(o.name);
  s.type = option_type(o.type);
  s.required = (o.flags & SLUICE_OPT_REQUIRED) != 0;
  s.secret = (o.flags & SLUICE_OPT_SECRET) != 0;
  s.deprecated = (o.flags & SLUICE_OPT_DEPRECATED) != 0;
  s.advanced = (o.flags & SLUICE_OPT_ADVANCED) != 0;
  s.default_yaml = view(o.default_yaml);
  // There an empty text means "no default"; here a default that is an empty text exists.
  if (o.default_yaml.data != nullptr && o.default_yaml.size == 0 && o.type == SLUICE_T_STRING) s.default_yaml = "\"\"";
  s.unit = view(o.unit);
  s.doc = view(o.doc);
  s.example = view(o.example);
  s.since = view(o.since);
  for (size_t i = 0; i < o.choice_count; ++i) s.choices.emplace_back(view(o.choices[i]));
  return s;
}

}  // namespace

config::OperatorSpec operator_spec(const sluice_operator_desc& d, const std::string& file) {
  config::OperatorSpec s;
  s.type = view(d.type);
  s.kind = d.kind == SLUICE_SOURCE ? config::OperatorSpec::Kind::kSource
           : d.kind == SLUICE_SINK ? config::OperatorSpec::Kind::kSink
                                   : config::OperatorSpec::Kind::kTransform;
  s.broadcast_input = (d.flags & SLUICE_OP_BROADCAST) != 0;
  s.key_optional = (d.flags & (SLUICE_OP_KEY_OPTIONAL | SLUICE_OP_TWO_PHASE)) != 0;
  s.keyed = (d.flags & SLUICE_OP_KEYED) != 0 && !s.key_optional;
  s.stateful = d.state_count > 0;
  for (size_t i = 0; i < d.output_port_count; ++i) s.output_ports.emplace_back(view(d.output_ports[i]));
  for (size_t i = 0; i < d.option_count; ++i) s.options.push_back(option_spec(*d.options[i]));
  for (size_t i = 0; i < d.state_count; ++i)
    s.states.push_back({std::string(view(d.states[i]->name)), std::string(view(d.states[i]->ttl_option))});
  s.summary = view(d.summary);
  s.version = view(d.version);
  s.module_file = file;
  return s;
}

PluginCatalog::PluginCatalog(const PluginRegistry& registry) : folders_(registry.folders()) {
  for (const RegisteredOperator& o : registry.operators())
    specs_.emplace(std::string(view(o.desc->type)), operator_spec(*o.desc, o.from->file));
  for (const LoadFailure& f : registry.failures()) failed_.push_back({f.file, f.reason});
}

const config::OperatorSpec* PluginCatalog::find(std::string_view type) const {
  const auto it = specs_.find(type);
  return it == specs_.end() ? nullptr : &it->second;
}

std::vector<std::string> PluginCatalog::types() const {
  std::vector<std::string> out;
  for (const auto& s : specs_) out.push_back(s.first);
  return out;
}

}  // namespace sluice::plugin
