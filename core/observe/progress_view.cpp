#include "observe/progress_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "observe/number_text.h"
#include "observe/terminal_text.h"

namespace sluice::observe {
namespace {

// A source counts a row when it is read; one that only counts what it gives on has the same number in rows_out.
uint64_t rows_read(const OperatorProgress& op) { return std::max(op.rows_in, op.rows_out); }

bool holds_watermark(const SplitProgress& split) { return !split.idle && !split.ended; }

// Sources whose splits never had a watermark have no event time: nobody waits for it.
bool has_watermarks(const Progress& progress, const std::string& source_id) {
  return std::any_of(progress.splits.begin(), progress.splits.end(), [&](const SplitProgress& split) {
    return split.source_id == source_id && split.watermark_ms != kNoTime;
  });
}

const OperatorProgress* find_operator(const Progress* progress, const std::string& id) {
  if (progress == nullptr) return nullptr;
  for (const OperatorProgress& op : progress->operators)
    if (op.id == id) return &op;
  return nullptr;
}

// Empty when there is nothing to compare with.
std::string rate_between(uint64_t now, uint64_t before, const Progress& to, const Progress* from) {
  if (from == nullptr || to.now_ms <= from->now_ms) return {};
  const double seconds = static_cast<double>(to.now_ms - from->now_ms) / 1e3;
  return rate_text(now > before ? static_cast<double>(now - before) / seconds : 0);
}

int64_t lag_of(const Progress& progress, const std::string& source_id) {
  int64_t lag = -1;
  for (const SplitProgress& split : progress.splits)
    if (split.source_id == source_id && split.lag >= 0) lag = std::max<int64_t>(lag, 0) + split.lag;
  return lag;
}

std::string lag_text(int64_t lag) { return lag < 0 ? "-" : count_text(static_cast<uint64_t>(lag)); }

std::string holder_text(const SplitProgress& split) {
  return printable(split.split) + " of " + printable(split.source_id);
}

std::string checkpoint_text(const Progress& progress) {
  const CheckpointProgress& c = progress.checkpoint;
  std::string text;
  if (c.completed > 0) {
    text = fmt::format("checkpoint {}, {} ago, took {}, {} new", c.last_number,
                       duration_text(progress.now_ms - c.last_completed_ms), duration_text(c.last_duration_ms),
                       bytes_text(c.last_bytes));
  } else {
    text = "no checkpoint yet";
  }
  if (c.running) text += fmt::format(", writing one for {}", duration_text(progress.now_ms - c.running_since_ms));
  if (c.failed > 0) text += fmt::format(", {} failed", c.failed);
  if (!c.last_error.empty()) text += fmt::format(" (last: {})", printable(c.last_error));
  return text;
}

// What operators say about themselves, then why nothing comes out; a note that is among the reasons already is said
// once.
std::vector<std::string> reasons_of(const Progress& progress) {
  std::vector<std::string> reasons;
  for (const OperatorProgress& op : progress.operators) {
    const bool said = std::any_of(progress.waiting_for.begin(), progress.waiting_for.end(),
                                  [&](const std::string& reason) { return reason.find(op.note) != std::string::npos; });
    if (!op.note.empty() && !said) reasons.push_back(fmt::format("{}: {}", printable(op.id), printable(op.note)));
  }
  for (const std::string& reason : progress.waiting_for) reasons.push_back("waiting: " + printable(reason));
  return reasons;
}

struct Column {
  std::string title;
  bool left = false;
  std::vector<std::string> cells;
};

// What each column takes; the first one (ids) gives way when the line is too narrow, then columns are left out from
// the back, because the front ones say more.
std::vector<std::string> table_lines(std::vector<Column> columns, size_t width) {
  constexpr size_t kGap = 2;
  const auto width_of = [](const Column& column) {
    size_t widest = display_width(column.title);
    for (const std::string& cell : column.cells) widest = std::max(widest, display_width(cell));
    return widest;
  };
  std::vector<size_t> widths;
  size_t total = 0;
  for (const Column& column : columns) {
    widths.push_back(width_of(column));
    total += widths.back() + kGap;
  }
  constexpr size_t kNarrowestId = 12;
  while (columns.size() > 1 && total > width) {
    const size_t spare = widths[0] > kNarrowestId ? widths[0] - kNarrowestId : 0;
    const size_t missing = total - width;
    if (spare >= missing) {
      widths[0] -= missing;
      break;
    }
    total -= widths.back() + kGap;
    widths.pop_back();
    columns.pop_back();
  }
  std::vector<std::string> lines;
  for (size_t row = 0; row <= columns[0].cells.size(); ++row) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& cell = row == 0 ? columns[i].title : columns[i].cells[row - 1];
      line += "  " + (columns[i].left ? pad_right(cell, widths[i]) : pad_left(cell, widths[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(cut_to_width(line, width));
  }
  return lines;
}

std::vector<std::string> operator_table(const Progress& now, const Progress* before, const Graph& graph, size_t width,
                                        size_t rows) {
  const bool with_lag = std::any_of(now.splits.begin(), now.splits.end(), [](const auto& s) { return s.lag >= 0; });
  const bool with_rejected =
      std::any_of(now.operators.begin(), now.operators.end(), [](const auto& op) { return op.rejected > 0; });
  const bool with_watermark = std::any_of(now.operators.begin(), now.operators.end(),
                                          [](const auto& op) { return op.watermark_ms != kNoTime; });
  Column id{"operator", true, {}}, in{"in", false, {}}, in_rate{"in/s", false, {}}, out{"out", false, {}},
      out_rate{"out/s", false, {}}, lag{"lag", false, {}}, rejected{"rejected", false, {}},
      watermark{"watermark (UTC)", true, {}};
  const bool all_shown = now.operators.size() <= rows;
  const size_t shown = all_shown ? now.operators.size() : rows - 1;
  for (size_t i = 0; i < shown; ++i) {
    const OperatorProgress& op = now.operators[i];
    const OperatorProgress* was = find_operator(before, op.id);
    const auto rate = [&](uint64_t value, uint64_t old) {
      std::string text = was == nullptr ? "" : rate_between(value, old, now, before);
      return text.empty() ? "-" : text.substr(0, text.size() - 2);  // the title says /s
    };
    id.cells.push_back(printable(op.id));
    const bool source = graph.is_source(op.id), sink = graph.is_sink(op.id);
    in.cells.push_back(count_text(source ? rows_read(op) : op.rows_in));
    in_rate.cells.push_back(
        rate(source ? rows_read(op) : op.rows_in, was ? (source ? rows_read(*was) : was->rows_in) : 0));
    out.cells.push_back(sink ? "" : count_text(op.rows_out));
    out_rate.cells.push_back(sink ? "" : rate(op.rows_out, was ? was->rows_out : 0));
    lag.cells.push_back(source ? lag_text(lag_of(now, op.id)) : "");
    rejected.cells.push_back(op.rejected == 0 ? "" : count_text(op.rejected));
    watermark.cells.push_back(time_text(op.watermark_ms));
  }
  std::vector<Column> columns{id, in, in_rate, out, out_rate};
  if (with_lag) columns.push_back(lag);
  if (with_rejected) columns.push_back(rejected);
  if (with_watermark) columns.push_back(watermark);
  std::vector<std::string> lines = table_lines(std::move(columns), width);
  if (!all_shown) lines.push_back(fmt::format("  … and {} more", now.operators.size() - shown));
  return lines;
}

}  // namespace

const SplitProgress* watermark_holder(const Progress& progress, const std::string& source_id) {
  if (!has_watermarks(progress, source_id)) return nullptr;
  const SplitProgress* holder = nullptr;
  for (const SplitProgress& split : progress.splits) {
    if (split.source_id != source_id || !holds_watermark(split)) continue;
    if (holder == nullptr || split.watermark_ms < holder->watermark_ms) holder = &split;
  }
  return holder;
}

Totals totals_of(const Progress& progress, const Graph& graph) {
  Totals totals;
  for (const OperatorProgress& op : progress.operators) {
    if (graph.is_source(op.id)) totals.rows_in += rows_read(op);
    if (graph.is_sink(op.id)) totals.rows_out += op.rows_in;
    totals.rejected += op.rejected;
  }
  for (const SplitProgress& split : progress.splits)
    if (split.lag >= 0) totals.lag = std::max<int64_t>(totals.lag, 0) + split.lag;

  bool any = false;
  for (const OperatorProgress& op : progress.operators) {
    if (!graph.is_source(op.id) || !has_watermarks(progress, op.id)) continue;
    const SplitProgress* holder = watermark_holder(progress, op.id);
    const int64_t watermark = holder != nullptr ? holder->watermark_ms : op.watermark_ms;
    if (!any || watermark < totals.watermark_ms) {
      totals.watermark_ms = watermark;
      totals.holder = holder;
    }
    any = true;
  }
  return totals;
}

std::vector<std::string> live_lines(const Progress& now, const Progress* before, const Graph& graph, size_t width,
                                    size_t height) {
  width = std::max<size_t>(width, 20);
  height = std::max<size_t>(height, 6);
  const Totals totals = totals_of(now, graph);
  std::vector<std::string> head, tail;

  std::string first = fmt::format("{}: {} for {}, {} in", printable(now.pipeline), now.phase,
                                  duration_text(now.now_ms - now.started_ms), plural(totals.rows_in, "row"));
  if (before != nullptr) {
    const std::string rate = rate_between(totals.rows_in, totals_of(*before, graph).rows_in, now, before);
    if (!rate.empty()) first += " (" + rate + ")";
  }
  first += fmt::format(", {} out", count_text(totals.rows_out));
  head.push_back(std::move(first));

  if (totals.holder != nullptr)
    tail.push_back(fmt::format("watermark {} held by {}", time_text(totals.watermark_ms), holder_text(*totals.holder)));
  tail.push_back(checkpoint_text(now));
  if (now.dead_letters > 0)
    tail.push_back(fmt::format("{} in {}", plural(now.dead_letters, "dead letter"), printable(now.dead_letters_dir)));
  // Reasons for silence come last, beside the prompt, where people look.
  const size_t room = height - head.size() - tail.size();
  const size_t table_min = std::min<size_t>(room, 3);
  std::vector<std::string> reasons = reasons_of(now);
  const size_t reasons_room = room > table_min ? room - table_min : 0;
  if (reasons.size() > reasons_room) reasons.resize(reasons_room);
  const size_t table_room = room - reasons.size();
  if (table_room >= 3 && !now.operators.empty())
    for (std::string& line : operator_table(now, before, graph, width, table_room - 1)) head.push_back(std::move(line));

  std::vector<std::string> lines;
  for (const auto* part : {&head, &tail, &reasons})
    for (const std::string& line : *part) lines.push_back(cut_to_width(line, width));
  return lines;
}

std::string log_line(const Progress& now, const Progress* before, const Graph& graph) {
  const Totals totals = totals_of(now, graph);
  const Totals was = before != nullptr ? totals_of(*before, graph) : Totals{};
  const auto with_rate = [&](uint64_t value, uint64_t old) {
    const std::string rate = before != nullptr ? rate_between(value, old, now, before) : "";
    return count_text(value) + (rate.empty() ? "" : " (" + rate + ")");
  };
  std::string line = fmt::format("{}: rows in {}, out {}", now.phase, with_rate(totals.rows_in, was.rows_in),
                                 with_rate(totals.rows_out, was.rows_out));
  if (totals.rejected > 0) line += fmt::format(", rejected {}", count_text(totals.rejected));
  if (totals.lag >= 0) line += "; lag " + lag_text(totals.lag);
  if (totals.watermark_ms != kNoTime || totals.holder != nullptr) {
    line += "; watermark " + time_text(totals.watermark_ms);
    if (totals.holder != nullptr) line += " held by " + holder_text(*totals.holder);
  }
  line += "; " + checkpoint_text(now);
  if (now.dead_letters > 0) line += "; dead letters " + count_text(now.dead_letters);
  for (const std::string& reason : reasons_of(now)) line += "; " + reason;
  return line;
}

std::vector<std::string> summary_lines(const Progress& progress, const Graph& graph) {
  const Totals totals = totals_of(progress, graph);
  std::vector<std::string> lines{fmt::format("{}: {} after {}: {} in, {} out", printable(progress.pipeline),
                                             progress.phase, duration_text(progress.now_ms - progress.started_ms),
                                             plural(totals.rows_in, "row"), count_text(totals.rows_out))};
  Column id{"operator", true, {}}, type{"type", true, {}}, in{"in", false, {}}, out{"out", false, {}},
      rejected{"rejected", false, {}};
  for (const OperatorProgress& op : progress.operators) {
    id.cells.push_back(printable(op.id));
    type.cells.push_back(printable(op.type));
    in.cells.push_back(count_text(graph.is_source(op.id) ? rows_read(op) : op.rows_in));
    out.cells.push_back(graph.is_sink(op.id) ? "" : count_text(op.rows_out));
    rejected.cells.push_back(op.rejected == 0 ? "" : count_text(op.rejected));
  }
  if (!progress.operators.empty())
    for (std::string& line : table_lines({id, type, in, out, rejected}, 200)) lines.push_back(std::move(line));
  for (const OperatorProgress& op : progress.operators) {
    std::string counters;
    for (const auto& [name, value] : op.counters)
      if (value != 0) counters += fmt::format("{}{} {}", counters.empty() ? "" : ", ", printable(name), value);
    if (!counters.empty()) lines.push_back(fmt::format("{}: {}", printable(op.id), counters));
    if (!op.last_error.empty())
      lines.push_back(fmt::format("{}: last error: {}", printable(op.id), printable(op.last_error)));
  }
  if (progress.dead_letters > 0)
    lines.push_back(
        fmt::format("{} in {}", plural(progress.dead_letters, "dead letter"), printable(progress.dead_letters_dir)));
  const CheckpointProgress& c = progress.checkpoint;
  std::string checkpoint = c.completed > 0 ? fmt::format("last checkpoint: {}", c.last_number) : "no checkpoint";
  if (c.failed > 0) checkpoint += fmt::format(", {} failed", c.failed);
  if (!c.last_error.empty()) checkpoint += fmt::format(" (last: {})", printable(c.last_error));
  if (!c.restored_from.empty()) checkpoint += fmt::format("; this run started from {}", printable(c.restored_from));
  lines.push_back(std::move(checkpoint));
  return lines;
}

}  // namespace sluice::observe
