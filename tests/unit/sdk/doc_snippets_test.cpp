// Code in docs/writing-a-plugin.md and sdk/README.md comes out of files that are compiled and run: a block behind
// `<!-- from FILE -->` must stand in that file, line by line.
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(std::string(SLUICE_SOURCE_DIR) + "/" + path);
  INFO(path);
  REQUIRE(in.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool contains(const std::vector<std::string>& file, const std::vector<std::string>& block) {
  for (size_t i = 0; i + block.size() <= file.size(); ++i)
    if (std::equal(block.begin(), block.end(), file.begin() + static_cast<std::ptrdiff_t>(i))) return true;
  return false;
}

}  // namespace

TEST_CASE("code in the documentation is compiled code") {
  size_t blocks = 0;
  for (const char* page : {"docs/writing-a-plugin.md", "sdk/README.md"}) {
    const auto lines = lines_of(page);
    std::string source;
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      if (line.rfind("<!-- from ", 0) == 0) source = line.substr(10, line.size() - 10 - 4);
      if (line.rfind("```", 0) != 0) continue;
      std::vector<std::string> block;
      const size_t start = i + 1;
      for (++i; i < lines.size() && lines[i] != "```"; ++i) block.push_back(lines[i]);
      INFO(page << ":" << start << " from " << source);
      const bool shell = line == "```sh" || line == "```";
      CHECK((shell || !source.empty()));
      if (!source.empty()) {
        CHECK(contains(lines_of(source), block));
        ++blocks;
      }
      source.clear();
    }
  }
  CHECK(blocks >= 8);
}
