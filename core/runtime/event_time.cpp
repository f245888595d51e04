#include "runtime/event_time.h"

#include <algorithm>
#include <charconv>

#include "config/nearest_name.h"
#include "config/scalar_values.h"
#include "data/text_view.h"

namespace sluice::runtime {
namespace {

using data::view;

char letter(config::TimeFormat::Field field) {
  switch (field) {
    case config::TimeFormat::Field::kYear: return 'y';
    case config::TimeFormat::Field::kMonth: return 'M';
    case config::TimeFormat::Field::kDay: return 'd';
    case config::TimeFormat::Field::kHour: return 'H';
    case config::TimeFormat::Field::kMinute: return 'm';
    case config::TimeFormat::Field::kSecond: return 's';
    case config::TimeFormat::Field::kMilli: return 'S';
    default: return 0;
  }
}

// What such a text probably is; empty when nothing comes to mind.
std::string probably(std::string_view text, const config::TimeFormat& format, data::TimeReader& reader) {
  if (format.kind != config::TimeFormat::Kind::kEpochS || text.size() < 4) return {};
  int64_t number = 0, ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && reader.read(text.substr(0, text.size() - 3), true, &ms) ? "; it looks like epoch_ms" : "";
}

}  // namespace

base::Result<EventTime> EventTime::make(const config::EventTimeSection& section, const Plan& plan) {
  std::vector<data::TimeReader::Part> parts;
  for (const auto& p : section.format.parts) parts.push_back({letter(p.field), p.literal});
  const auto kind = section.format.kind == config::TimeFormat::Kind::kPattern   ? data::TimeReader::Kind::kPattern
                    : section.format.kind == config::TimeFormat::Kind::kEpochMs ? data::TimeReader::Kind::kEpochMs
                    : section.format.kind == config::TimeFormat::Kind::kEpochS  ? data::TimeReader::Kind::kEpochS
                                                                                : data::TimeReader::Kind::kIso8601;
  auto reader = data::TimeReader::make(kind, std::move(parts), section.zone);
  if (!reader.is_ok()) return reader.status();
  EventTime out(section, std::move(reader).value());
  const auto index = [&](const std::string& path) {
    for (size_t f = 0; f < plan.fields.size(); ++f)
      if (plan.fields.path(f) == path) return f;
    return SIZE_MAX;
  };
  for (const auto& f : section.fields) out.fields_.push_back(index(f));
  if (!section.types.empty()) out.type_field_ = index("type");
  return out;
}

bool EventTime::is_too_far_ahead(int64_t ms, int64_t now_ms) const { return section_->max_ahead_ms > 0 && ms > now_ms + section_->max_ahead_ms; }

std::string EventTime::too_far_ahead() const { return "further ahead of the clock than max_ahead (" + config::format_duration(section_->max_ahead_ms) + ")"; }

std::optional<int64_t> EventTime::read(const data::RowBatch& batch, uint32_t row, int64_t now_ms, std::string* error) {
  if (type_field_ != SIZE_MAX) {
    const sluice_value& type = batch.fields[type_field_][row];
    if (type.type != SLUICE_STRING ||
        std::find(section_->types.begin(), section_->types.end(), view(type.as.str)) == section_->types.end())
      return SLUICE_NO_TIME;
  }
  if (fields_.empty()) {
    const int64_t ms = batch.event_time[row];
    if (ms == SLUICE_NO_TIME || !is_too_far_ahead(ms, now_ms)) return ms;
    *error = "event time: the source gives " + data::format_utc(ms) + "Z, " + too_far_ahead();
    return std::nullopt;
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    const sluice_value& v = batch.fields[fields_[i]][row];
    if (v.type == SLUICE_ABSENT || v.type == SLUICE_NULL) continue;
    int64_t ms = 0;
    const bool number = v.type == SLUICE_NUMBER;
    if ((!number && v.type != SLUICE_STRING) || !reader_.read(view(v.as.str), number, &ms)) {
      const std::string_view text = number || v.type == SLUICE_STRING || v.type == SLUICE_INVALID ? view(v.as.str) : "not a text";
      *error = "event time: field \"" + section_->fields[i] + "\" holds \"" + std::string(text.substr(0, 60)) + "\", expected format " + section_->format.text + probably(text, section_->format, reader_);
      return std::nullopt;
    }
    // A number below 0 stands for "none" far more often than for a time before 1970.
    if (ms < 0 && (section_->format.kind == config::TimeFormat::Kind::kEpochS || section_->format.kind == config::TimeFormat::Kind::kEpochMs)) {
      *error = "event time: field \"" + section_->fields[i] + "\" holds \"" + std::string(view(v.as.str).substr(0, 60)) + "\", which is before 1970";
      return std::nullopt;
    }
    if (is_too_far_ahead(ms, now_ms)) {
      *error = "event time: field \"" + section_->fields[i] + "\" holds \"" + std::string(view(v.as.str).substr(0, 60)) + "\", " + too_far_ahead();
      return std::nullopt;
    }
    return ms;
  }
  *error = "event time: " + config::list_names(section_->fields, "and", true) + (fields_.size() == 1 ? " is" : " are") + " null or missing";
  return std::nullopt;
}

}  // namespace sluice::runtime
