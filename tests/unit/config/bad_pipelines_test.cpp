// Every file in tests/pipelines_bad has one fault and says in its first lines what must be reported, and where.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hand_catalog.h"

namespace sluice::config::testing {
namespace {

std::vector<std::filesystem::path> bad_pipelines() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/pipelines_bad")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string after(const std::string& line, const std::string& prefix) {
  return line.compare(0, prefix.size(), prefix) == 0 ? line.substr(prefix.size()) : "";
}

}  // namespace

TEST_CASE("every bad pipeline file is refused with one error at the right place") {
  const std::vector<std::filesystem::path> files = bad_pipelines();
  REQUIRE(files.size() >= 40);
  const HandCatalog catalog;
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    std::string first, second;
    std::getline(in, first);
    std::getline(in, second);
    const std::string expect = after(first, "# expect: "), hint = after(second, "# expect-hint: ");
    const size_t space = expect.find(' ');
    Diagnostics diagnostics;
    const Environment world = environment();
    const std::string name = file.filename().string();
    const std::optional<Node> root = read_pipeline_file(file.string(), world, diagnostics);
    if (root) check_pipeline(file.string(), *root, catalog, world, diagnostics);
    INFO(name << "\nexpected " << expect << "\nreported:\n" << diagnostics.render_text());
    REQUIRE(space != std::string::npos);
    CHECK(diagnostics.error_count() == 1);
    CHECK(diagnostics.warning_count() == 0);
    if (diagnostics.error_count() == 0) continue;
    const Diagnostic found = diagnostics.sorted().front();
    CHECK(std::to_string(found.at.line) + ":" + std::to_string(found.at.column) == expect.substr(0, space));
    CHECK(found.at.file == file.string());
    CHECK_THAT(message_with_suggestion(found), Catch::Contains(expect.substr(space + 1)));
    CHECK_THAT(found.hint, Catch::Contains(hint));
    CHECK_FALSE(found.code.empty());
  }
}

}  // namespace sluice::config::testing
