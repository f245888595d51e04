// A valid file, damaged at random: nothing crashes, and every message points into the file.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "hand_catalog.h"

namespace sluice::config::testing {
namespace {

const std::string kValid = R"(pipeline: dim
parallelism: 2
checkpoint: { dir: ./cp, interval: 10s }
limits:
  batch_rows: 512
  state_memory: 64MiB
operators:
  - id: changes
    use: kafka.source
    with:
      brokers: "${KAFKA:-localhost:9092}"
      topics: [topic_db, 'topic_''x']
      properties: { fetch.min.bytes: 1, 描述: "中文 \"x\"" }
    event_time: { field: ts, format: "yyyy-MM-dd HH:mm:ss", zone: UTC, out_of_order: 2s }
  - id: config
    use: file.source
    with: &file
      path: config.jsonl
  - id: filter
    use: broadcast_filter
    input: changes
    broadcast: config
  - id: dedup
    use: daily_dedup
    input: filter
    key: [user_id]
    with: { ttl: 1d }
  - id: window
    use: tumbling_window
    input: dedup
    with: { size: 10s, aggregates: { users: count } }
  - id: out
    use: sqlite.sink
    input: [window, window.late]
    with: { path: |-
      out.db
    }
)";

// Pieces that mean something to YAML or to us.
const std::vector<std::string> kPieces = {"\t",
                                          "\n",
                                          "\r\n",
                                          "\"",
                                          "'",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ": ",
                                          "- ",
                                          "#",
                                          "&a ",
                                          "*a",
                                          "<<: *file",
                                          "---\n",
                                          "...\n",
                                          "|",
                                          ">",
                                          "? ",
                                          "!!str ",
                                          "!x ",
                                          "${",
                                          "${A}",
                                          "$${",
                                          "%",
                                          "@",
                                          "`",
                                          "\\",
                                          "\x01",
                                          "\xFF",
                                          "中",
                                          "\xEF\xBB\xBF",
                                          "null",
                                          "~",
                                          "010",
                                          "1e999",
                                          "99999999999999999999",
                                          "  ",
                                          "operators:\n",
                                          "id: changes\n",
                                          "input: out\n",
                                          ",",
                                          "\xF0\x9F\x98\x80"};

std::string mutate(std::string text, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 1:
        text.erase(at, 1 + below(12));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random() & 0xFF);
        break;
      case 3: {  // a line twice, or somewhere else
        const size_t start = text.rfind('\n', at) + 1, end = std::min(text.size(), text.find('\n', start));
        text.insert(std::min(text.size(), below(text.size() + 1)), text.substr(start, end - start) + "\n");
        break;
      }
      case 4:
        text.resize(at);
        break;
      default: {  // another indentation
        const size_t start = text.rfind('\n', at) + 1;
        if (below(2))
          text.insert(std::min(start, text.size()), std::string(1 + below(3), ' '));
        else
          text.erase(std::min(start, text.size()), 1 + below(3));
      }
    }
  }
  return text;
}

}  // namespace

TEST_CASE("damaged files never crash, and every message points into the file") {
  // Another seed: SLUICE_TEST_SEED=…
  const char* given = std::getenv("SLUICE_TEST_SEED");
  const uint32_t seed = given ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 20240229u;
  const char* given_rounds = std::getenv("SLUICE_TEST_ROUNDS");
  const int rounds = given_rounds ? std::atoi(given_rounds) : 4000;
  std::cout << "config mutation test: seed " << seed << ", " << rounds << " rounds\n";
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = mutate(kValid, random);
    const Checked checked = check(text);
    const int last_line = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    for (const Diagnostic& d : checked.diagnostics.sorted()) {
      if (d.at.line >= 1 && d.at.line <= last_line && d.at.column >= 1 && !d.message.empty() && !d.code.empty())
        continue;
      INFO("round " << round << " of seed " << seed << "\n" << text << "\n" << checked.diagnostics.render_text());
      FAIL("a message without a place in the file");
    }
    // Either it is a pipeline, or somebody is told why not.
    if (!checked.document) CHECK(checked.diagnostics.has_errors());
    if (checked.diagnostics.has_errors()) ++refused;
    (void)checked.diagnostics.render_text();
    (void)checked.diagnostics.render_json();
  }
  CHECK(refused > rounds / 2);
}

}  // namespace sluice::config::testing
