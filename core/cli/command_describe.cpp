#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/operator_page.h"
#include "cli/pipeline_page.h"
#include "cli/pipeline_schema.h"
#include "cli/program_folders.h"
#include "config/nearest_name.h"
#include "plugin/catalog.h"
#include "plugin/negotiation.h"
#include "plugin/registry.h"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct DescribeArguments {
  std::vector<std::string> types;
  bool all = false;
  std::string format = "text";
  std::string out;
  std::vector<std::string> plugin_folders;
};

using Operators = std::vector<DescribedOperator>;

int complain(const std::string& message) {
  std::fprintf(stderr, "sluice describe: %s\n", message.c_str());
  return kExitUsage;
}

bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "sluice describe: %s cannot be written: %s\n", path.c_str(), std::strerror(errno));
  return !file.fail();
}

std::string page(const DescribedOperator& op, const std::string& format) {
  if (format == "markdown") return operator_markdown(op);
  if (format == "json") return operator_json(op);
  if (format == "schema") return operator_schema(*op.spec);
  return operator_text(op);
}

std::string whole_schema(const Operators& operators) {
  std::vector<const config::OperatorSpec*> specs;
  for (const DescribedOperator& op : operators) specs.push_back(op.spec);
  return pipeline_schema(specs);
}

std::string pages(const Operators& operators, const DescribeArguments& arguments) {
  // One operator is one value; all of them are a list, or the schema of a file that may use any.
  if (arguments.all || operators.size() > 1) {
    if (arguments.format == "json") return operators_json(operators);
    if (arguments.format == "schema") return whole_schema(operators);
  }
  std::string text;
  for (const DescribedOperator& op : operators) text += (text.empty() ? "" : "\n") + page(op, arguments.format);
  return text;
}

int write_pages(const Operators& operators, const DescribeArguments& arguments) {
  std::error_code error;
  fs::create_directories(arguments.out, error);
  if (error) return complain(arguments.out + " cannot be created: " + error.message()), kExitFailed;
  const std::string extension = arguments.format == "markdown" ? ".md"
                                : arguments.format == "json"   ? ".json"
                                : arguments.format == "schema" ? ".schema.json"
                                                               : ".txt";
  bool written = true;
  for (const DescribedOperator& op : operators)
    written = write_file(fs::path(arguments.out) / (op.spec->type + extension), page(op, arguments.format)) && written;
  if (arguments.all && arguments.format == "markdown")
    written = write_file(fs::path(arguments.out) / "README.md", operator_index_markdown(operators)) && written;
  if (arguments.all && arguments.format == "schema")
    written = write_file(fs::path(arguments.out) / "pipeline.schema.json", whole_schema(operators)) && written;
  return written ? kExitOk : kExitFailed;
}

// `sluice describe pipeline`: the keys of pipeline files themselves.
int describe_pipeline(const DescribeArguments& arguments) {
  if (!arguments.out.empty() || (arguments.format != "text" && arguments.format != "markdown"))
    return complain("\"pipeline\" is described as --format text or markdown, on standard output; --all --format schema is for editors");
  std::fputs((arguments.format == "markdown" ? pipeline_markdown() : pipeline_text()).c_str(), stdout);
  return kExitOk;
}

int describe(const DescribeArguments& arguments) {
  if (arguments.types.empty() && !arguments.all)
    return complain("name an operator, or give --all (see \"sluice plugins\")");
  if (!arguments.types.empty() && arguments.all)
    return complain("--all is every operator: leave it out, or the operators that are named (" + arguments.types.front() +
                    (arguments.types.size() > 1 ? ", …)" : ")"));
  if (arguments.types == std::vector<std::string>{"pipeline"}) return describe_pipeline(arguments);
  plugin::PluginRegistry registry;
  const base::Status loaded =
      registry.load_folders(plugin_folders(arguments.plugin_folders, {}), {.probe_first = true});
  // Other operators can be described all the same; with --all the pages would lack some without a word.
  if (!loaded.is_ok()) std::fprintf(stderr, "%s\n", loaded.message().c_str());
  if (!loaded.is_ok() && arguments.all) return kExitFailed;

  const plugin::PluginCatalog catalog(registry);
  Operators operators;
  for (const std::string& type : arguments.all ? catalog.types() : arguments.types) {
    const config::OperatorSpec* spec = catalog.find(type);
    if (spec == nullptr) {
      const std::string nearest = config::nearest_name(type, catalog.types());
      return complain("there is no operator \"" + type + "\"" +
                      (nearest.empty() ? "; \"sluice plugins\" lists them" : "; did you mean \"" + nearest + "\"?"));
    }
    operators.push_back({spec, std::string(plugin::view(registry.find(type)->doc))});
  }
  if (!arguments.out.empty()) return write_pages(operators, arguments);
  std::fputs(pages(operators, arguments).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_describe_command(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("describe", "Show what an operator does and what it can be told");
  const auto arguments = std::make_shared<DescribeArguments>();
  command->add_option("OPERATOR", arguments->types, "Types of operators, such as kafka.source; \"pipeline\": the keys of pipeline files");
  command->add_flag("--all", arguments->all, "All operators");
  command->add_option("--format", arguments->format, "text, markdown, json, or schema (JSON Schema)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "markdown", "json", "schema"}).description(""))
      ->capture_default_str();
  command->add_option("--out", arguments->out, "Write one file for each operator into this folder")->type_name("DIR");
  command->add_option("--plugins", arguments->plugin_folders, "One more folder with plugins; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->footer(
      "\nExamples:\n"
      "  sluice describe tumbling_window\n"
      "  sluice describe pipeline                                       # every key of a pipeline file\n"
      "  sluice describe --all --format markdown --out docs/operators\n"
      "  sluice describe --all --format schema > pipeline.schema.json   # for editors that know JSON Schema");
  command->callback([action, arguments] { *action = [arguments] { return describe(*arguments); }; });
}

}  // namespace sluice::cli
