#include "cli/operator_page.h"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>

#include "config/nearest_name.h"
#include "config/scalar_values.h"

namespace sluice::cli {
namespace {

using config::OperatorSpec;
using config::OptionSpec;
using config::OptionType;
using JsonWriter = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

// Required ones first, then the usual, then the advanced; each as the author ordered them.
std::vector<const OptionSpec*> ordered(const std::vector<OptionSpec>& options) {
  std::vector<const OptionSpec*> out;
  for (const OptionSpec& option : options) out.push_back(&option);
  std::stable_sort(out.begin(), out.end(), [](const OptionSpec* a, const OptionSpec* b) {
    const auto rank = [](const OptionSpec& o) { return o.deprecated ? 3 : o.advanced ? 2 : o.required ? 0 : 1; };
    return rank(*a) < rank(*b);
  });
  return out;
}

std::string bound_text(const OptionSpec& option, int64_t bound) {
  if (option.type == OptionType::kDuration) return config::format_duration(bound);
  if (option.type == OptionType::kSize) return config::format_size(bound);
  return std::to_string(bound);
}

// What the operator needs beside `with`.
std::vector<std::string> needs(const OperatorSpec& spec) {
  std::vector<std::string> out;
  if (spec.keyed) out.emplace_back("needs `key:`");
  if (spec.key_optional) out.emplace_back("may be given a `key:`");
  if (spec.broadcast_input) out.emplace_back("has a second input, `broadcast:`, that every lane gets whole");
  for (const std::string& port : spec.output_ports)
    out.push_back("has the output `" + port + "` besides the main one: `input: ID." + port + "`");
  for (const config::StateSpec& state : spec.states)
    out.push_back("keeps the state `" + state.name + "`" +
                  (state.ttl_option.empty() ? "" : " for as long as `" + state.ttl_option + "` says"));
  return out;
}

std::string remarks(const OptionSpec& option) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (option.required) add("required");
  if (!option.default_yaml.empty()) add("default " + option.default_yaml);
  if (option.secret) add("secret");
  if (option.advanced) add("advanced");
  if (option.deprecated) add("deprecated");
  if (!option.since.empty()) add("since " + option.since);
  return out;
}

// Without blank lines around it, and with a line break at its end.
std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of("\n "), end = text.find_last_not_of("\n ");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1) + "\n";
}

// Every line that is not empty moved in by two spaces.
std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out += (text[at] == '\n' ? "" : "  ") + text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string code_cell(const std::string& text) { return text.empty() ? "" : "`" + markdown_cell(text) + "`"; }

std::string example_value(const OptionSpec& option) {
  if (option.secret)
    return "${" + [&] {
      std::string name;
      for (const char c : option.name)
        name += c == '-' || c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      return name;
    }() + "}";
  if (!option.example.empty()) return option.example;
  if (!option.default_yaml.empty()) return option.default_yaml;
  if (!option.choices.empty()) return option.choices.front();
  switch (option.type) {
    case OptionType::kBool:
      return "true";
    case OptionType::kInt:
      return std::to_string(option.min.value_or(1));
    case OptionType::kDouble:
      return "1.0";
    case OptionType::kDuration:
      return "10s";
    case OptionType::kSize:
      return "1MiB";
    case OptionType::kList:
      return "[a, b]";
    case OptionType::kMap:
      return "{ a: b }";
    default:
      return "…";
  }
}

void put(JsonWriter& out, const char* key, const std::string& value) {
  out.Key(key);
  out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}
void put(JsonWriter& out, const char* key, bool value) {
  out.Key(key);
  out.Bool(value);
}
void put_strings(JsonWriter& out, const char* key, const std::vector<std::string>& values) {
  out.Key(key);
  out.StartArray();
  for (const std::string& value : values) out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  out.EndArray();
}

const char* json_type(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return "bool";
    case OptionType::kInt:
      return "int";
    case OptionType::kDouble:
      return "double";
    case OptionType::kString:
      return "string";
    case OptionType::kDuration:
      return "duration";
    case OptionType::kSize:
      return "size";
    case OptionType::kEnum:
      return "enum";
    case OptionType::kList:
      return "list";
    case OptionType::kMap:
      return "map";
  }
  return "string";
}

void write_option(JsonWriter& out, const OptionSpec& option) {
  out.StartObject();
  put(out, "name", option.name);
  put(out, "type", std::string(json_type(option.type)));
  put(out, "required", option.required);
  out.Key("default");
  if (option.default_yaml.empty()) {
    out.Null();
  } else {
    out.String(option.default_yaml.data(), static_cast<rapidjson::SizeType>(option.default_yaml.size()));
  }
  put(out, "unit", option.unit);
  put_strings(out, "choices", option.choices);
  for (const auto& [key, bound] : {std::pair{"min", option.min}, {"max", option.max}}) {
    out.Key(key);
    if (bound) {
      out.Int64(*bound);
    } else {
      out.Null();
    }
  }
  put(out, "doc", option.doc);
  put(out, "example", option.example);
  put(out, "since", option.since);
  put(out, "secret", option.secret);
  put(out, "advanced", option.advanced);
  put(out, "deprecated", option.deprecated);
  out.EndObject();
}

void write_operator(JsonWriter& out, const DescribedOperator& op) {
  const OperatorSpec& spec = *op.spec;
  out.StartObject();
  put(out, "type", spec.type);
  put(out, "kind", std::string(kind_name(spec.kind)));
  put(out, "version", spec.version);
  put(out, "summary", spec.summary);
  put(out, "doc", op.doc);
  put(out, "file", spec.module_file);
  put(out, "keyed", spec.keyed);
  put(out, "key_optional", spec.key_optional);
  put(out, "stateful", spec.stateful);
  put(out, "broadcast_input", spec.broadcast_input);
  put_strings(out, "output_ports", spec.output_ports);
  out.Key("states");
  out.StartArray();
  for (const config::StateSpec& state : spec.states) {
    out.StartObject();
    put(out, "name", state.name);
    put(out, "ttl_option", state.ttl_option);
    out.EndObject();
  }
  out.EndArray();
  out.Key("options");
  out.StartArray();
  for (const OptionSpec& option : spec.options) write_option(out, option);
  out.EndArray();
  out.EndObject();
}

}  // namespace

const char* kind_name(OperatorSpec::Kind kind) {
  switch (kind) {
    case OperatorSpec::Kind::kSource:
      return "source";
    case OperatorSpec::Kind::kTransform:
      return "transform";
    case OperatorSpec::Kind::kSink:
      return "sink";
  }
  return "transform";
}

std::string option_type_text(const OptionSpec& option) {
  std::string text = config::type_name(option.type);
  if (!option.unit.empty()) text += " (" + option.unit + ")";
  if (!option.choices.empty()) text += ": " + config::list_names(option.choices);
  if (option.min && option.max) {
    text += ", " + bound_text(option, *option.min) + " to " + bound_text(option, *option.max);
  } else if (option.min) {
    text += ", at least " + bound_text(option, *option.min);
  } else if (option.max) {
    text += ", at most " + bound_text(option, *option.max);
  }
  return text;
}

std::string operator_example(const OperatorSpec& spec) {
  std::string out = "- id: my_" + spec.type.substr(0, spec.type.find('.')) + "\n  use: " + spec.type + "\n";
  if (spec.kind != OperatorSpec::Kind::kSource) out += "  input: another_id\n";
  if (spec.broadcast_input) out += "  broadcast: configuration_id\n";
  if (spec.keyed) out += "  key: user_id\n";
  std::string with;
  for (const OptionSpec* option : ordered(spec.options))
    if (!option->deprecated && (option->required || (!option->example.empty() && !option->advanced)))
      with += "    " + option->name + ": " + example_value(*option) + "\n";
  return with.empty() ? out : out + "  with:\n" + with;
}

std::string operator_text(const DescribedOperator& op) {
  const OperatorSpec& spec = *op.spec;
  std::string out = fmt::format("{} {} ({})\n", spec.type, spec.version, kind_name(spec.kind));
  if (!spec.summary.empty()) out += "  " + spec.summary + "\n";
  for (std::string need : needs(spec)) {
    std::erase(need, '`');
    out += "  It " + need + ".\n";
  }
  if (!spec.module_file.empty()) out += "  From " + spec.module_file + "\n";
  if (!op.doc.empty()) out += "\n" + indented(trimmed(op.doc));
  out += "\nExample:\n" + indented(operator_example(spec));
  out += spec.options.empty() ? "\nIt has no options.\n" : "\nOptions:\n";
  return out + options_text(spec.options);
}

std::string options_text(const std::vector<OptionSpec>& options) {
  std::string out;
  for (const OptionSpec* option : ordered(options)) {
    const std::string remark = remarks(*option);
    out += fmt::format("  {}: {}{}\n", option->name, option_type_text(*option), remark.empty() ? "" : "; " + remark);
    if (!option->doc.empty()) out += "      " + option->doc + "\n";
    if (!option->example.empty()) out += "      Example: " + option->name + ": " + option->example + "\n";
  }
  return out;
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string operator_markdown(const DescribedOperator& op) {
  const OperatorSpec& spec = *op.spec;
  std::string out = fmt::format("# {}\n\n", spec.type);
  if (!spec.summary.empty()) out += spec.summary + "\n\n";
  out += fmt::format("A {}, version {}.", kind_name(spec.kind), spec.version);
  for (const std::string& need : needs(spec)) out += " It " + need + ".";
  out += "\n\n";
  if (!op.doc.empty()) out += trimmed(op.doc) + "\n";
  out += "```yaml\n" + operator_example(spec) + "```\n\n## Options\n\n";
  if (spec.options.empty()) out += "It has none.\n";
  if (!spec.options.empty()) out += "| option | type | default | meaning |\n|---|---|---|---|\n";
  return out + options_markdown(spec.options);
}

std::string options_markdown(const std::vector<OptionSpec>& options) {
  std::string out;
  for (const OptionSpec* option : ordered(options)) {
    std::string meaning = markdown_cell(option->doc);
    if (!option->example.empty()) meaning += (meaning.empty() ? "" : " ") + ("Example: " + code_cell(option->example));
    for (const auto& [set, text] : {std::pair{option->secret, "Secret: never shown."},
                                    {option->advanced, "Advanced."},
                                    {option->deprecated, "Deprecated."}})
      if (set) meaning += std::string(meaning.empty() ? "" : " ") + text;
    if (!option->since.empty()) meaning += " Since " + option->since + ".";
    out += fmt::format("| `{}` | {} | {} | {} |\n", option->name, markdown_cell(option_type_text(*option)),
                       option->required ? "required" : code_cell(option->default_yaml), meaning);
  }
  return out;
}

std::string operator_index_markdown(const std::vector<DescribedOperator>& operators) {
  std::string out =
      "# Operators\n\nOne page for each, written by `sluice describe --all --format markdown --out docs/operators` "
      "from what the "
      "plugins\nsay about themselves.\n";
  for (const auto kind : {OperatorSpec::Kind::kSource, OperatorSpec::Kind::kTransform, OperatorSpec::Kind::kSink}) {
    std::string rows;
    for (const DescribedOperator& op : operators)
      if (op.spec->kind == kind)
        rows += fmt::format("| [{0}]({0}.md) | {1} |\n", op.spec->type, markdown_cell(op.spec->summary));
    if (!rows.empty())
      out += fmt::format("\n## {}\n\n| use | |\n|---|---|\n{}",
                         kind == OperatorSpec::Kind::kSource      ? "Sources"
                         : kind == OperatorSpec::Kind::kTransform ? "Transforms"
                                                                  : "Sinks",
                         rows);
  }
  return out;
}

std::string operator_json(const DescribedOperator& op) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.SetIndent(' ', 2);
  write_operator(writer, op);
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::string operators_json(const std::vector<DescribedOperator>& operators) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.SetIndent(' ', 2);
  writer.StartArray();
  for (const DescribedOperator& op : operators) write_operator(writer, op);
  writer.EndArray();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace sluice::cli
