#include "tumbling_window/accumulator.h"

#include <algorithm>
#include <charconv>

namespace sluice::tumbling_window {
namespace {

constexpr std::string_view kFormat = "1";

std::string_view next_word(std::string_view* text) {
  const size_t blank = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, blank);
  text->remove_prefix(std::min(blank + 1, text->size()));
  return word;
}

bool read_int(std::string_view word, int64_t* out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *out);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

// Of equal numbers the one with more digits: which one it is must not depend on the order of rows or lanes.
bool replaces(Aggregate::Kind kind, const ExactNumber& number, const ExactNumber& known) {
  const int order = number.compare(known);
  if (order == 0) return number.scale() > known.scale();
  return kind == Aggregate::Kind::kMin ? order < 0 : order > 0;
}

void combine(Aggregate::Kind kind, Accumulator::Cell* cell, int64_t count, const ExactNumber& number) {
  if (count == 0) return;
  const bool first = cell->count == 0;
  cell->count += count;
  switch (kind) {
    case Aggregate::Kind::kCount:
      return;
    case Aggregate::Kind::kSum:
    case Aggregate::Kind::kAvg:
      cell->number.add(number);
      return;
    case Aggregate::Kind::kMin:
    case Aggregate::Kind::kMax:
      if (first || replaces(kind, number, cell->number)) cell->number = number;
      return;
  }
}

}  // namespace

void Accumulator::add(const std::vector<Aggregate>& aggregates, const Argument* arguments) {
  changed = true;
  if (arguments == nullptr) {
    for (Cell& cell : cells) ++cell.count;
    return;
  }
  for (size_t i = 0; i < cells.size(); ++i)
    if (arguments[i].present) combine(aggregates[i].kind, &cells[i], 1, arguments[i].number);
}

void Accumulator::merge(const std::vector<Aggregate>& aggregates, const Accumulator& other) {
  changed = changed || other.changed;
  version = std::max(version, other.version);
  for (size_t i = 0; i < cells.size(); ++i)
    combine(aggregates[i].kind, &cells[i], other.cells[i].count, other.cells[i].number);
}

std::string Accumulator::result(const std::vector<Aggregate>& aggregates, size_t i) const {
  constexpr int kMoreDigitsOfAverages = 6;
  const Cell& cell = cells[i];
  if (aggregates[i].kind == Aggregate::Kind::kCount) return std::to_string(cell.count);
  if (cell.count == 0) return {};
  if (aggregates[i].kind == Aggregate::Kind::kAvg)
    return cell.number.divided_by(cell.count, kMoreDigitsOfAverages).text();
  return cell.number.text();
}

std::string Accumulator::write(std::string_view options) const {
  std::string out(kFormat);
  out.append(" ").append(options);
  out.append(" ").append(std::to_string(window.start)).append(" ").append(std::to_string(window.end));
  out.append(" ").append(version == kNeverEmitted ? "-" : std::to_string(version)).append(changed ? " 1" : " 0");
  for (const Cell& cell : cells)
    out.append(" ").append(std::to_string(cell.count)).append(" ").append(cell.number.text());
  return out;
}

std::string Accumulator::read(std::string_view text, std::string_view options, size_t aggregates) {
  constexpr const char* kBroken = "window state cannot be read";
  if (next_word(&text) != kFormat) return kBroken;
  if (next_word(&text) != options)
    return kOtherOptions;
  if (!read_int(next_word(&text), &window.start) || !read_int(next_word(&text), &window.end)) return kBroken;
  const std::string_view emitted = next_word(&text);
  version = kNeverEmitted;
  if (emitted != "-" && !read_int(emitted, &version)) return kBroken;
  const std::string_view flag = next_word(&text);
  if (flag != "0" && flag != "1") return kBroken;
  changed = flag == "1";
  cells.assign(aggregates, Cell());
  for (Cell& cell : cells)
    if (!read_int(next_word(&text), &cell.count) || !cell.number.read(next_word(&text), ExactNumber::kMostDigitsOfSum)) return kBroken;
  return text.empty() ? std::string() : kBroken;
}

}  // namespace sluice::tumbling_window
