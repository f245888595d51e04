#include "tumbling_window/aggregate.h"

#include <utility>

namespace sluice::tumbling_window {
namespace {

constexpr std::pair<std::string_view, Aggregate::Kind> kKinds[] = {{"count", Aggregate::Kind::kCount},
                                                                   {"sum", Aggregate::Kind::kSum},
                                                                   {"min", Aggregate::Kind::kMin},
                                                                   {"max", Aggregate::Kind::kMax},
                                                                   {"avg", Aggregate::Kind::kAvg}};
constexpr const char* kExpected =
    "expected `count`, `count(field)`, `sum(field)`, `min(field)`, `max(field)` or `avg(field)`";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::string read_aggregate(std::string_view text, Aggregate* out) {
  text = trimmed(text);
  const size_t open = text.find('(');
  const std::string_view name = trimmed(text.substr(0, open));
  bool known = false;
  for (const auto& [word, kind] : kKinds)
    if (name == word) {
      out->kind = kind;
      known = true;
    }
  if (!known) return "`" + std::string(text) + "`: " + kExpected;
  out->field.clear();
  if (open != std::string_view::npos) {
    if (text.back() != ')') return "`" + std::string(text) + "`: no `)` at the end";
    out->field = trimmed(text.substr(open + 1, text.size() - open - 2));
    if (out->field == "*" && out->kind == Aggregate::Kind::kCount)
      out->field.clear();
    else if (out->field.empty())
      return "`" + std::string(text) + "`: no field between the parentheses";
  } else if (out->kind != Aggregate::Kind::kCount) {
    return "`" + std::string(text) + "` needs a field: `" + std::string(name) + "(field)`";
  }
  return {};
}

std::string text_of(const Aggregate& aggregate) {
  for (const auto& [word, kind] : kKinds)
    if (kind == aggregate.kind)
      return std::string(word) + (aggregate.field.empty() ? std::string() : "(" + aggregate.field + ")");
  return {};
}

}  // namespace sluice::tumbling_window
