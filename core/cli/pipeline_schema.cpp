#include "cli/pipeline_schema.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "config/pipeline_options.h"

namespace sluice::cli {
namespace {

using config::OperatorSpec;
using config::OptionSpec;
using config::OptionType;

constexpr const char* kDraft = "http://json-schema.org/draft-07/schema#";
constexpr const char* kVariable = R"(\$\{)";  // a value that is only known when the file is run

class SchemaWriter {
 public:
  SchemaWriter() { writer_.SetIndent(' ', 2); }

  void open() { writer_.StartObject(); }
  void open(const std::string& key) {
    put_key(key);
    writer_.StartObject();
  }
  void close() { writer_.EndObject(); }
  void put(const std::string& key, const std::string& value) {
    put_key(key);
    string(value);
  }
  void put(const std::string& key, const char* value) { put(key, std::string(value)); }
  void put(const std::string& key, bool value) {
    put_key(key);
    writer_.Bool(value);
  }
  void put(const std::string& key, int64_t value) {
    put_key(key);
    writer_.Int64(value);
  }
  void put(const std::string& key, const std::vector<std::string>& values) {
    put_key(key);
    writer_.StartArray();
    for (const std::string& value : values) string(value);
    writer_.EndArray();
  }
  void open_list(const std::string& key) {
    put_key(key);
    writer_.StartArray();
  }
  void close_list() { writer_.EndArray(); }
  std::string text() const { return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n"; }

  void pattern(const char* regex) {
    open();
    put("type", "string");
    put("pattern", regex);
    close();
  }
  void type(const char* name) {
    open();
    put("type", name);
    close();
  }

 private:
  void put_key(const std::string& key) { writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())); }
  void string(const std::string& value) {
    writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

void write_bounds(SchemaWriter& out, const OptionSpec& option) {
  if (option.min) out.put("minimum", *option.min);
  if (option.max) out.put("maximum", *option.max);
}

void write_value(SchemaWriter& out, const OptionSpec& option) {
  out.open_list("anyOf");
  switch (option.type) {
    case OptionType::kBool:
      out.type("boolean");
      break;
    case OptionType::kInt:
    case OptionType::kDouble:
      out.open();
      out.put("type", option.type == OptionType::kInt ? "integer" : "number");
      write_bounds(out, option);
      out.close();
      break;
    case OptionType::kDuration:
      out.pattern("^(0|[0-9]+(ms|s|m|h|d))$");
      out.open();
      out.put("const", int64_t{0});
      out.close();
      break;
    case OptionType::kSize:
      out.pattern("^[0-9]+(B|[KMGT]i?B)?$");
      out.type("integer");
      break;
    case OptionType::kEnum:
      out.open();
      out.put("enum", option.choices);
      out.close();
      break;
    case OptionType::kString:
      out.type("string");
      out.type("number");
      out.type("boolean");
      break;
    case OptionType::kList:
      out.type("string");  // one value stands for a list of one
      out.open();
      out.put("type", "array");
      out.open("items");
      out.put("type", std::vector<std::string>{"string", "number", "boolean"});
      out.close();
      out.close();
      break;
    case OptionType::kMap:
      out.open();
      out.put("type", "object");
      out.open("additionalProperties");
      out.put("type", std::vector<std::string>{"string", "number", "boolean"});
      out.close();
      out.close();
      break;
  }
  if (option.type != OptionType::kMap && option.type != OptionType::kString && option.type != OptionType::kList)
    out.pattern(kVariable);
  out.close_list();
}

void write_option(SchemaWriter& out, const OptionSpec& option) {
  out.open(option.name);
  std::string description = option.doc;
  if (!option.unit.empty()) description += " In " + option.unit + ".";
  if (!option.default_yaml.empty()) description += " Default: " + option.default_yaml + ".";
  if (!option.example.empty()) description += " Example: " + option.example;
  if (!description.empty()) out.put("description", description);
  if (option.deprecated) out.put("deprecated", true);
  write_value(out, option);
  out.close();
}

std::vector<std::string> required_names(const std::vector<OptionSpec>& options) {
  std::vector<std::string> names;
  for (const OptionSpec& option : options)
    if (option.required) names.push_back(option.name);
  return names;
}

// The members of an object schema whose properties are these options.
// `blocks`: more of them, whose members are not known here.
void write_section(SchemaWriter& out, const std::vector<OptionSpec>& options, const std::vector<config::KeySpec>& blocks = {}) {
  out.put("type", std::vector<std::string>{"object", "null"});
  out.put("additionalProperties", false);
  if (const auto required = required_names(options); !required.empty()) out.put("required", required);
  out.open("properties");
  for (const OptionSpec& option : options) write_option(out, option);
  for (const config::KeySpec& block : blocks) {
    out.open(block.name);
    out.put("description", block.doc);
    out.put("type", std::vector<std::string>{"object", "null"});
    out.close();
  }
  out.close();
}

// One alternative of `operators`: an operator of this type.
void write_operator(SchemaWriter& out, const OperatorSpec& spec) {
  out.open();
  out.put("type", "object");
  out.put("additionalProperties", false);
  std::vector<std::string> required{"id", "use"};
  if (spec.kind != OperatorSpec::Kind::kSource) required.emplace_back("input");
  if (spec.broadcast_input) required.emplace_back("broadcast");
  if (spec.keyed) required.emplace_back("key");
  if (!required_names(spec.options).empty()) required.emplace_back("with");
  out.put("required", required);
  out.open("properties");
  for (const OptionSpec& option : config::operator_options()) {
    if (option.name == "input" && spec.kind == OperatorSpec::Kind::kSource) continue;
    if (option.name == "broadcast" && !spec.broadcast_input) continue;
    if (option.name == "key" && !spec.keyed && !spec.key_optional) continue;
    if (option.name != "use") {
      write_option(out, option);
      continue;
    }
    out.open("use");
    out.put("description", spec.summary);
    out.put("const", spec.type);
    out.close();
  }
  if (spec.kind == OperatorSpec::Kind::kSource) {
    out.open("event_time");
    write_section(out, config::event_time_options());
    out.close();
  }
  out.open("with");
  write_section(out, spec.options);
  out.close();
  out.close();
  out.close();
}

}  // namespace

std::string operator_schema(const OperatorSpec& spec) {
  SchemaWriter out;
  out.open();
  out.put("$schema", kDraft);
  out.put("title", spec.type + " " + spec.version);
  out.put("description", spec.summary);
  write_section(out, spec.options);
  out.close();
  return out.text();
}

std::string pipeline_schema(const std::vector<const OperatorSpec*>& specs) {
  SchemaWriter out;
  out.open();
  out.put("$schema", kDraft);
  out.put("title", "Sluice pipeline");
  out.put("type", "object");
  out.put("additionalProperties", false);
  std::vector<std::string> required = required_names(config::top_level_options());
  required.emplace_back("operators");
  out.put("required", required);
  out.open("properties");
  for (const OptionSpec& option : config::top_level_options()) write_option(out, option);
  for (const config::SectionSpec& section : config::top_level_sections()) {
    out.open(section.name);
    out.put("description", section.doc);
    write_section(out, section.options, section.blocks);
    out.close();
  }
  out.open("include");
  out.put("description", "Files whose operators belong to the pipeline, relative to this one.");
  out.open_list("anyOf");
  out.type("string");
  out.open();
  out.put("type", "array");
  out.open("items");
  out.put("type", "string");
  out.close();
  out.close();
  out.close_list();
  out.close();
  out.open("tests");
  out.put("description", "Tests of this pipeline, for sluice test.");
  out.put("type", "array");
  out.close();
  out.open("operators");
  out.put("type", "array");
  out.put("minItems", int64_t{1});
  out.open("items");
  out.open_list("anyOf");
  for (const OperatorSpec* spec : specs) write_operator(out, *spec);
  out.close_list();
  out.close();
  out.close();
  out.close();
  out.close();
  return out.text();
}

}  // namespace sluice::cli
