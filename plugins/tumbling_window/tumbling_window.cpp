#include "tumbling_window/tumbling_window.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sluice/field_path.hpp"
#include "tumbling_window/group_key.h"

namespace sluice::tumbling_window {
namespace {

constexpr std::string_view kPartColumn = "accumulated", kPartGroupColumn = "group";
constexpr uint64_t kCloseTag = 0, kIdleTag = 1;
// The years 0 to 9999: what dates of four digits can say.
constexpr int64_t kFirstTime = -62167219200000, kEndOfTimes = 253402300800000;

bool read_number(const Value& value, ExactNumber* out) {
  char text[64];
  switch (value.type()) {
    case SLUICE_INT64:
      *out = ExactNumber(value.raw().as.i64);
      return true;
    case SLUICE_DOUBLE: {
      const char* end = std::to_chars(text, text + sizeof text, value.raw().as.f64).ptr;
      return out->read({text, static_cast<size_t>(end - text)});
    }
    case SLUICE_NUMBER:
    case SLUICE_STRING:
      return out->read(value.text());
    default:
      return false;
  }
}

}  // namespace

Options<WindowConfig> TumblingWindow::options() {
  return {
      opt("size", &WindowConfig::size).required().doc("Length of a window.").example("10s"),
      opt("aggregates", &WindowConfig::aggregates)
          .required()
          .doc("What to compute: result column to `count`, `count(field)`, `sum(field)`, `min(field)`, `max(field)` or "
               "`avg(field)`.")
          .example("{ orders: count, amount: sum(total_amount) }"),
      opt("group_by", &WindowConfig::group_by)
          .def("[]")
          .doc("Fields of which each combination of values has its own result.")
          .example("[sku_id]"),
      opt("offset", &WindowConfig::offset).def("0s").doc("Moves the beginning of the windows; below `size`."),
      opt("zone", &WindowConfig::zone)
          .def("UTC")
          .doc("Time zone in which windows begin and times are written.")
          .example("Asia/Shanghai"),
      opt("start_column", &WindowConfig::start_column)
          .def("stt")
          .doc("Result column with the window's start; empty: none."),
      opt("end_column", &WindowConfig::end_column).def("edt").doc("Result column with the window's end; empty: none."),
      opt("version_column", &WindowConfig::version_column)
          .def("ts")
          .doc("Result column with the version; empty: none."),
      opt("time_format", &WindowConfig::time_format)
          .def("\"yyyy-MM-dd HH:mm:ss\"")
          .doc("How start and end are written: a pattern of yyyy MM dd HH mm ss SSS, or `epoch_ms`."),
      opt("late", &WindowConfig::late,
          {{"drop", Late::kDrop}, {"dead_letter", Late::kDeadLetter}, {"output", Late::kOutput}})
          .def("drop")
          .doc("What becomes of rows whose window is closed: counted only, dead letters, or the output `late`."),
      opt("close_windows_when_idle", &WindowConfig::close_windows_when_idle)
          .doc("Close windows on the wall clock when all sources have been idle for so long. Not set: only the "
               "watermark closes them.")
          .example("30s"),
      opt("windows_in_memory", &WindowConfig::windows_in_memory)
          .def("100000")
          .advanced()
          .doc("With `key:`: how many windows, of all keys of a lane, are kept in memory between checkpoints; about "
               "300 bytes each."),
  };
}

Status TumblingWindow::configure(Needs& needs) {
  if (config().size.count() <= 0) return Status::fatal("option `size` must be longer than 0");
  if (config().offset.count() < 0 || config().offset >= config().size)
    return Status::fatal("option `offset` must be at least 0 and below `size`");
  if (config().close_windows_when_idle && config().close_windows_when_idle->count() <= 0)
    return Status::fatal(
        "option `close_windows_when_idle` must be longer than 0; leave it out to close windows by the watermark alone");
  if (config().windows_in_memory < 0) return Status::fatal("option `windows_in_memory` must be at least 0");
  if (!zone_.set(config().zone))
    return Status::fatal("option `zone`: there is no time zone `" + config().zone + "`; names are like Asia/Shanghai");
  if (const std::string problem = time_text_.set(config().time_format); !problem.empty())
    return Status::fatal("option `time_format` " + problem);
  if (config().aggregates.empty()) return Status::fatal("option `aggregates` is empty: there is nothing to compute");
  aggregates_.clear();
  for (const auto& [column, text] : config().aggregates) {
    Aggregate aggregate;
    if (const std::string problem = read_aggregate(text, &aggregate); !problem.empty())
      return Status::fatal("option `aggregates`, `" + column + "`: " + problem);
    aggregate.column = column;
    aggregates_.push_back(std::move(aggregate));
  }
  if (const std::string problem = check_columns(); !problem.empty()) return Status::fatal(problem);

  needs.event_time("windows are made by it");
  if (config().close_windows_when_idle) needs.idleness("`close_windows_when_idle` waits for all sources to be");
  needs.outputs(config().late == Late::kOutput ? output_ports() : std::vector<std::string>());
  assigner_.emplace(config().size.count(), config().offset.count(), &zone_);
  fingerprint_ = options_fingerprint();
  arguments_.assign(aggregates_.size(), Argument());
  group_fields_.clear();
  argument_fields_.assign(aggregates_.size(), Field());
  needs_arguments_ = false;
  if (role() == SLUICE_ROLE_MERGE) {
    part_ = needs.field(std::string(kPartColumn));
    part_group_ = needs.field(std::string(kPartGroupColumn));
    return Status::ok();
  }
  for (const std::string& field : config().group_by) group_fields_.push_back(needs.field(field));
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    if (aggregates_[i].field.empty()) continue;
    argument_fields_[i] = needs.field(aggregates_[i].field);
    needs_arguments_ = true;
  }
  return Status::ok();
}

std::string TumblingWindow::check_columns() const {
  std::vector<std::string> names;
  for (const std::string* column : {&config().start_column, &config().end_column, &config().version_column})
    if (!column->empty()) names.push_back(*column);
  for (const std::string& field : config().group_by) names.push_back(last_name(field));
  for (const Aggregate& aggregate : aggregates_) names.push_back(aggregate.column);
  std::sort(names.begin(), names.end());
  if (!names.front().empty()) {
    const auto twice = std::adjacent_find(names.begin(), names.end());
    return twice == names.end() ? std::string() : "two result columns would be named `" + *twice + "`";
  }
  return "a result column has no name (in `aggregates` or `group_by`)";
}

// Tells state that was written with other options apart: FNV-1a, as 16 hexadecimal digits.
std::string TumblingWindow::options_fingerprint() const {
  std::string text =
      std::to_string(config().size.count()) + "/" + std::to_string(config().offset.count()) + "/" + config().zone;
  for (const std::string& field : config().group_by) text += "/" + field;
  text += "/";
  for (const Aggregate& aggregate : aggregates_) text += "/" + text_of(aggregate);
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back("0123456789abcdef"[hash >> shift & 15]);
  return out;
}

Status TumblingWindow::open() {
  keyed_.reset(fingerprint_, !config().group_by.empty(), static_cast<size_t>(config().windows_in_memory));
  window_ = Window();
  idle_since_ = SLUICE_NO_TIME;
  SLUICE_CHECK_OK(check_keyed_options());
  return global_.load(role(), lane(), fingerprint_);
}

Status TumblingWindow::check_keyed_options() {
  const std::string own = std::to_string(lane());
  keyed_options_stored_ = has_keyed_ = false;
  bool others = false;
  SLUICE_CHECK_OK(keyed_options_.scan([&](std::string_view lane, const std::string& options) {
    others = others || options != fingerprint_;
    keyed_options_stored_ = keyed_options_stored_ || lane == own;
    return true;
  }));
  return others ? Status::fatal(kOtherOptions) : Status::ok();
}

Status TumblingWindow::prepare(uint64_t) {
  SLUICE_CHECK_OK(global_.save());
  if (has_keyed_ && !keyed_options_stored_) {
    SLUICE_CHECK_OK(keyed_options_.put(std::to_string(lane()), fingerprint_));
    keyed_options_stored_ = true;
  }
  return keyed_.save();
}

Status TumblingWindow::process(const Batch& in, Output& out) {
  const bool keyed = in.raw().key != nullptr && role() == SLUICE_ROLE_COMPLETE;
  // State first: were it not to be had, the batch would come again, and nothing may have been added of it.
  if (keyed) {
    has_keyed_ = true;
    keyed_.shrink();
    SLUICE_CHECK_OK(load_keyed(in));
  }
  for (uint32_t row = 0; row < in.size(); ++row)
    SLUICE_CHECK_OK(role() == SLUICE_ROLE_MERGE ? merge_row(in, row) : process_row(in, row, keyed, out));
  report();
  return Status::ok();
}

Status TumblingWindow::load_keyed(const Batch& in) {
  for (uint32_t row = 0; row < in.size(); ++row)
    if (read_window(in, row).empty() && window_.end > in.watermark(row) && read_group(in, row).empty())
      keyed_.want(in.key(row), window_, group_);
  return keyed_.load_wanted([this](std::string_view key, const Accumulator& accumulator, bool created) {
    return set_timers(key, accumulator, created);
  });
}

Status TumblingWindow::set_timers(std::string_view key, const Accumulator& accumulator, bool created) const {
  if (created) return set_timer(SLUICE_CLOCK_EVENT, key, accumulator.window.end, kCloseTag);
  if (!config().close_windows_when_idle || accumulator.changed) return Status::ok();
  return set_timer(SLUICE_CLOCK_PROCESSING, key, next_idle_check(), kIdleTag);
}

// Idle checks are at multiples of the span, so that those of before and after a restart are the same ones.
int64_t TumblingWindow::next_idle_check() const {
  const int64_t span = config().close_windows_when_idle->count();
  return (now() / span + 1) * span;
}

std::string TumblingWindow::read_window(const Batch& in, uint32_t row) {
  const int64_t time = in.event_time(row);
  if (window_.contains(time)) return {};
  if (time == SLUICE_NO_TIME) return "the row has no event time";
  if (time < kFirstTime || time >= kEndOfTimes)
    return "event time " + std::to_string(time) + " ms is not in the years 0 to 9999";
  window_ = assigner_->at(time);
  return {};
}

std::string TumblingWindow::read_group(const Batch& in, uint32_t row) {
  group_.clear();
  for (size_t i = 0; i < group_fields_.size(); ++i) {
    const Value value = in(group_fields_[i], row);
    if (append_group_value(value, &group_)) continue;
    if (value.type() == SLUICE_INVALID) return "field `" + config().group_by[i] + "`: " + std::string(value.text());
    return "field `" + config().group_by[i] + "` is " + value.type_name() + "; rows cannot be grouped by it";
  }
  return {};
}

std::string TumblingWindow::read_arguments(const Batch& in, uint32_t row) {
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    arguments_[i].present = true;
    if (aggregates_[i].field.empty()) continue;
    const Value value = in(argument_fields_[i], row);
    if (value.type() == SLUICE_INVALID) return "field `" + aggregates_[i].field + "`: " + std::string(value.text());
    arguments_[i].present = !value.is_missing();
    if (!arguments_[i].present || aggregates_[i].kind == Aggregate::Kind::kCount) continue;
    if (read_number(value, &arguments_[i].number)) continue;
    const std::string shown =
        value.text().empty() ? value.type_name() : "`" + std::string(value.text().substr(0, 40)) + "`";
    return text_of(aggregates_[i]) + ": " + shown + " is not a number" +
           (value.is_number() ? " of at most " + std::to_string(ExactNumber::kMostDigits) + " digits before the point and behind it" : "");
  }
  return {};
}

Status TumblingWindow::process_row(const Batch& in, uint32_t row, bool keyed, Output& out) {
  if (const std::string problem = read_window(in, row); !problem.empty()) return out.reject(row, problem);
  if (window_.end <= in.watermark(row)) return handle_late(in, row, window_, out);
  if (!group_fields_.empty())
    if (const std::string problem = read_group(in, row); !problem.empty()) return out.reject(row, problem);
  if (needs_arguments_)
    if (const std::string problem = read_arguments(in, row); !problem.empty()) return out.reject(row, problem);
  Accumulator& accumulator = keyed ? keyed_.at(in.key(row), window_.start, group_) : global_.at(window_, group_);
  accumulator.add(aggregates_, needs_arguments_ ? arguments_.data() : nullptr);
  return Status::ok();
}

Status TumblingWindow::handle_late(const Batch& in, uint32_t row, const Window& window, Output& out) {
  switch (config().late) {
    case Late::kDrop:
      ++tally_.late;
      return Status::ok();
    case Late::kOutput:
      ++tally_.late;
      out.forward(row, 1);
      return Status::ok();
    case Late::kDeadLetter:
      break;
  }
  ++tally_.late;
  const int64_t behind = in.watermark(row) - in.event_time(row);
  return out.reject(row, "late: its window [" + time_text_.write(window.start, &zone_) + ", " +
                             time_text_.write(window.end, &zone_) + ") is closed; the row is " +
                             std::to_string(behind) + " ms behind the watermark");
}

// A part that a first-phase instance hands on. It comes before the watermark that made it do so: it cannot be late.
Status TumblingWindow::merge_row(const Batch& in, uint32_t row) {
  const Value text = in(part_, row), group = in(part_group_, row);
  Accumulator part;
  if (!text.is_string() || !group.is_string())
    return Status::bug("a row that comes to the second phase was not made by the first one");
  if (const std::string problem = part.read(text.text(), fingerprint_, aggregates_.size()); !problem.empty())
    return Status::bug(problem);
  global_.at(part.window, group.text()).merge(aggregates_, part);
  return Status::ok();
}

Status TumblingWindow::on_watermark(int64_t watermark, Output& out) {
  global_.emit_until(watermark, after_emitting(watermark == SLUICE_END_OF_TIME),
                     [&](std::string_view group, Accumulator& a) { emit(group, a, out); });
  report();
  return Status::ok();
}

Status TumblingWindow::on_idle(bool idle, int64_t since, Output& out) {
  idle_since_ = idle ? since : SLUICE_NO_TIME;
  if (!idle || !config().close_windows_when_idle) return Status::ok();
  const int64_t closes_until = now() - config().close_windows_when_idle->count();
  if (since > closes_until) return Status::ok();
  global_.emit_until(closes_until, after_emitting(true), [&](std::string_view group, Accumulator& a) {
    emit(group, a, out);
    if (role() != SLUICE_ROLE_PARTIAL) ++tally_.closed_idle;
  });
  report();
  return Status::ok();
}

// `may_get_rows`: sources are idle, or the input has ended and a later run may be given more.
GlobalWindows::Then TumblingWindow::after_emitting(bool may_get_rows) const {
  if (role() == SLUICE_ROLE_PARTIAL) return GlobalWindows::Then::kHandedOn;
  return may_get_rows ? GlobalWindows::Then::kKeep : GlobalWindows::Then::kClosed;
}

bool TumblingWindow::idle_closes(const Window& window) const {
  return idle_since_ != SLUICE_NO_TIME &&
         now() - config().close_windows_when_idle->count() >= std::max(idle_since_, window.end);
}

Status TumblingWindow::on_timer(uint32_t clock, std::string_view key, int64_t at, uint64_t, Output& out) {
  std::vector<KeyedWindows::Slot*> slots;
  if (clock == SLUICE_CLOCK_EVENT) {
    SLUICE_CHECK_OK(keyed_.of_key(key, true, at, &slots));
    for (KeyedWindows::Slot* slot : slots) {
      if (!slot->accumulator.changed) continue;
      emit(slot->group, slot->accumulator, out);
      slot->accumulator.changed = false;
      slot->dirty = true;
    }
    report();
    // A later run may be given more rows.
    return watermark() == SLUICE_END_OF_TIME ? set_timer(SLUICE_CLOCK_EVENT, key, at, kCloseTag) : keyed_.forget(key, slots);
  }
  if (!config().close_windows_when_idle) return Status::ok();  // the option was taken away since the timer was set
  SLUICE_CHECK_OK(keyed_.of_key(key, false, 0, &slots));
  const auto stays_open = [this](const KeyedWindows::Slot* slot) {
    return slot->accumulator.changed && !idle_closes(slot->accumulator.window);
  };
  if (std::any_of(slots.begin(), slots.end(), stays_open))
    SLUICE_CHECK_OK(set_timer(SLUICE_CLOCK_PROCESSING, key, next_idle_check(), kIdleTag));
  for (KeyedWindows::Slot* slot : slots) {
    if (!slot->accumulator.changed || stays_open(slot)) continue;
    emit(slot->group, slot->accumulator, out);
    slot->accumulator.changed = false;
    slot->dirty = true;
    ++tally_.closed_idle;
  }
  report();
  return Status::ok();
}

void TumblingWindow::emit(std::string_view group, Accumulator& accumulator, Output& out) {
  if (role() == SLUICE_ROLE_PARTIAL)
    emit_partial(group, accumulator, out);
  else
    emit_result(group, accumulator, out);
}

void TumblingWindow::emit_partial(std::string_view group, const Accumulator& accumulator, Output& out) const {
  Row& row = out.emit(SLUICE_NO_ROW);
  row.set(kPartColumn, Value::string(out.keep(accumulator.write(fingerprint_))))
      .set(kPartGroupColumn, Value::string(out.keep(std::string(group))));
  row.event_time(accumulator.window.end - 1);
}

void TumblingWindow::emit_result(std::string_view group, Accumulator& accumulator, Output& out) {
  ++tally_.results;
  if (accumulator.version != kNeverEmitted) ++tally_.corrections;
  accumulator.version = std::max(now(), accumulator.version == kNeverEmitted ? INT64_MIN : accumulator.version + 1);

  Row& row = out.emit(SLUICE_NO_ROW);
  row.event_time(accumulator.window.end - 1);
  const auto set_time = [&](const std::string& column, int64_t time) {
    if (column.empty()) return;
    if (time_text_.is_epoch_ms())
      row.set(column, Value::integer(time));
    else
      row.set(column, Value::string(out.keep(time_text_.write(time, &zone_))));
  };
  set_time(config().start_column, accumulator.window.start);
  set_time(config().end_column, accumulator.window.end);
  const std::vector<Value> values = group_values(out.keep(std::string(group)));
  for (size_t i = 0; i < values.size() && i < config().group_by.size(); ++i)
    row.set(out.keep(last_name(config().group_by[i])), values[i]);
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    std::string result = accumulator.result(aggregates_, i);
    row.set(aggregates_[i].column, result.empty() ? Value::null() : Value::number(out.keep(std::move(result))));
  }
  if (!config().version_column.empty()) row.set(config().version_column, Value::integer(accumulator.version));
}

void TumblingWindow::report() {
  const char* const late = config().late == Late::kDrop     ? "late_dropped"
                           : config().late == Late::kOutput ? "late_output"
                                                            : "late_dead_letter";
  for (const auto& [metric, n] :
       {std::pair(late, tally_.late), std::pair("results", tally_.results),
        std::pair("corrections", tally_.corrections), std::pair("closed_when_idle", tally_.closed_idle)})
    if (n != 0) count(metric, n);
  tally_ = Tally();
}

}  // namespace sluice::tumbling_window
