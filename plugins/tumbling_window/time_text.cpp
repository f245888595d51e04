#include "tumbling_window/time_text.h"

#include <date/date.h>

#include <cstdio>

namespace sluice::tumbling_window {

std::string TimeText::set(std::string_view format) {
  static constexpr struct {
    std::string_view letters;
    Field field;
  } kFields[] = {{"yyyy", Field::kYear}, {"MM", Field::kMonth},  {"dd", Field::kDay},   {"HH", Field::kHour},
                 {"mm", Field::kMinute}, {"ss", Field::kSecond}, {"SSS", Field::kMilli}};
  parts_.clear();
  epoch_ms_ = format == "epoch_ms";
  if (epoch_ms_) return {};
  if (format.empty()) return "is empty";
  const auto literal = [this](std::string_view text) {
    if (parts_.empty() || parts_.back().field != Field::kLiteral) parts_.emplace_back();
    parts_.back().literal += text;
  };
  for (size_t at = 0; at < format.size();) {
    const char c = format[at];
    if (c == '\'') {
      if (format.substr(at, 2) == "''") {
        literal("'");
        at += 2;
        continue;
      }
      const size_t end = format.find('\'', at + 1);
      if (end == std::string_view::npos) return "has a quote that is not closed";
      literal(format.substr(at + 1, end - at - 1));
      at = end + 1;
      continue;
    }
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      literal(format.substr(at++, 1));
      continue;
    }
    size_t end = at;
    while (end < format.size() && format[end] == c) ++end;
    const std::string_view letters = format.substr(at, end - at);
    const Part* found = nullptr;
    for (const auto& known : kFields)
      if (known.letters == letters) found = &parts_.emplace_back(Part{known.field, {}});
    if (found == nullptr)
      return "has `" + std::string(letters) +
             "`; known are yyyy, MM, dd, HH, mm, ss, SSS, and letters in single quotes";
    at = end;
  }
  return {};
}

std::string TimeText::write(int64_t time, LocalZone* zone) const {
  if (epoch_ms_) return std::to_string(time);
  using std::chrono::milliseconds;
  const milliseconds local(zone->local(time));
  const auto day = date::floor<date::days>(local);
  const date::year_month_day date{date::sys_days(day)};
  const date::hh_mm_ss<milliseconds> clock{local - day};
  std::string out;
  const auto number = [&out](long long value, int width) {
    char text[24];
    const int n = std::snprintf(text, sizeof text, "%0*lld", width, value);
    out.append(text, static_cast<size_t>(n));
  };
  for (const Part& part : parts_) switch (part.field) {
      case Field::kLiteral:
        out += part.literal;
        break;
      case Field::kYear:
        number(static_cast<int>(date.year()), 4);
        break;
      case Field::kMonth:
        number(static_cast<unsigned>(date.month()), 2);
        break;
      case Field::kDay:
        number(static_cast<unsigned>(date.day()), 2);
        break;
      case Field::kHour:
        number(clock.hours().count(), 2);
        break;
      case Field::kMinute:
        number(clock.minutes().count(), 2);
        break;
      case Field::kSecond:
        number(clock.seconds().count(), 2);
        break;
      case Field::kMilli:
        number(clock.subseconds().count(), 3);
        break;
    }
  return out;
}

}  // namespace sluice::tumbling_window
