#include "kafka/start_options.h"

#include <algorithm>
#include <charconv>

#include "kafka/partition_position.h"

namespace sluice::kafka {
namespace {

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int64_t> number(std::string_view s) {
  int64_t out = 0;
  if (!all_digits(s)) return std::nullopt;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return out;
}

// Takes `size` digits off the front of *text.
std::optional<int> digits(std::string_view* text, size_t size) {
  if (text->size() < size) return std::nullopt;
  const auto n = number(text->substr(0, size));
  if (!n) return std::nullopt;
  text->remove_prefix(size);
  return static_cast<int>(*n);
}

bool take(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// Days since 1970-01-01 in the proleptic Gregorian calendar (H. Hinnant, chrono-compatible date algorithms).
int64_t days_from_civil(int y, int m, int d) {
  y -= m <= 2 ? 1 : 0;
  const int era = (y >= 0 ? y : y - 399) / 400;
  const int yoe = y - era * 400;
  const int doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  const int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return static_cast<int64_t>(era) * 146097 + doe - 719468;
}

int days_in_month(int y, int m) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
  return m == 2 && leap ? 29 : kDays[m - 1];
}

// "Z", "+08:00", "-0330" → minutes east of UTC.
std::optional<int> zone_minutes(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = digits(&text, 2);
  take(&text, ':');
  const auto minutes = text.empty() ? std::optional<int>(0) : digits(&text, 2);
  if (!hours || !minutes || !text.empty() || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

}  // namespace

std::optional<int64_t> parse_instant(std::string_view text) {
  if (all_digits(text)) return number(text);
  const auto year = digits(&text, 4);
  if (!year || !take(&text, '-')) return std::nullopt;
  const auto month = digits(&text, 2);
  if (!month || *month < 1 || *month > 12 || !take(&text, '-')) return std::nullopt;
  const auto day = digits(&text, 2);
  if (!day || *day < 1 || *day > days_in_month(*year, *month)) return std::nullopt;
  if (!take(&text, 'T') && !take(&text, ' ')) return std::nullopt;
  const auto hour = digits(&text, 2);
  if (!hour || *hour > 23 || !take(&text, ':')) return std::nullopt;
  const auto minute = digits(&text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  int second = 0, millis = 0;
  if (take(&text, ':')) {
    const auto s = digits(&text, 2);
    if (!s || *s > 59) return std::nullopt;
    second = *s;
    if (take(&text, '.')) {
      int unit = 100;
      bool any = false;
      for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), unit /= 10, any = true)
        millis += (text[0] - '0') * unit;
      if (!any) return std::nullopt;
    }
  }
  const auto zone = zone_minutes(text);
  if (!zone) return std::nullopt;
  const int64_t seconds = days_from_civil(*year, *month, *day) * 86400 + *hour * 3600 + (*minute - *zone) * 60 + second;
  const int64_t ms = seconds * 1000 + millis;
  if (ms < 0) return std::nullopt;  // Kafka has no times before 1970
  return ms;
}

Status parse_start_offsets(const StringMap& given, const std::vector<std::string>& topics,
                           std::map<std::string, int64_t>* out) {
  for (const auto& [key, value] : given) {
    const auto offset = number(value);
    if (!offset)
      return Status::fatal("`start_offsets`: the offset of " + key + " is `" + value +
                           "`, not a whole number from 0 on");
    std::string id = key;
    if (all_digits(key)) {
      if (topics.size() != 1)
        return Status::fatal("`start_offsets`: with several topics write topic-partition instead of " + key);
      id = topics[0] + "-" + key;
    }
    const auto name = parse_split_id(id);
    if (!name || std::find(topics.begin(), topics.end(), name->topic) == topics.end())
      return Status::fatal("`start_offsets`: " + key +
                           " is no partition of the topics that are read; write partition or topic-partition");
    id = split_id(name->topic, name->partition);  // 007 is 7
    if (!out->emplace(id, *offset).second) return Status::fatal("`start_offsets` has " + id + " twice");
  }
  return Status::ok();
}

}  // namespace sluice::kafka
