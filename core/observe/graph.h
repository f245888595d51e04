// Who reads whom in a pipeline, for whoever shows it: Progress has the operators, this has the arrows between them.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::observe {

struct Link {
  std::string from;
  std::string port;  // empty: the main output
  std::string to;
  bool broadcast = false;
};

// A plain value; does not change while the job runs.
struct Graph {
  std::vector<Link> links;

  // Reads no other operator, so its rows are the pipeline's input.
  bool is_source(std::string_view id) const {
    return std::none_of(links.begin(), links.end(), [&](const Link& link) { return link.to == id; });
  }
  // Is read by no other operator, so the rows it took are the pipeline's output.
  bool is_sink(std::string_view id) const {
    return std::none_of(links.begin(), links.end(), [&](const Link& link) { return link.from == id; });
  }
};

}  // namespace sluice::observe
