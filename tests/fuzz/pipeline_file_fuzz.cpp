// Any text as a pipeline file: it is read or refused, and every complaint names a place that the file has.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/diagnostic.h"
#include "config/pipeline_document.h"
#include "unit/config/hand_catalog.h"

namespace config = sluice::config;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const config::testing::HandCatalog catalog;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  config::Environment environment;
  environment.variable = [](std::string_view name) -> std::optional<std::string> {
    if (name == "EMPTY") return "";
    if (name == "KAFKA") return "localhost:9092";
    return std::nullopt;
  };
  environment.zone_exists = [](std::string_view name) { return name == "UTC" || name == "Asia/Shanghai"; };

  config::Diagnostics diagnostics;
  const auto root = config::read_pipeline_text("fuzz.yaml", text, environment, diagnostics);
  if (!root && !diagnostics.has_errors()) std::abort();  // refused without a word
  if (root) {
    (void)config::plugin_dirs_of(*root);
    (void)config::check_pipeline("fuzz.yaml", *root, catalog, environment, diagnostics);
  }
  size_t lines = 1;
  for (const char c : text) lines += c == '\n' || c == '\r';
  for (const config::Diagnostic& diagnostic : diagnostics.sorted()) {
    const bool in_file = diagnostic.at.line >= 0 && static_cast<size_t>(diagnostic.at.line) <= lines + 1 && diagnostic.at.column >= 0;
    if (!in_file || diagnostic.message.empty()) {
      std::fprintf(stderr, "%s: %s\n", diagnostic.at.text().c_str(), diagnostic.message.c_str());
      std::abort();
    }
  }
  (void)diagnostics.render_text();
  (void)diagnostics.render_json();
  return 0;
}
