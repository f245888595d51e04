#include "data/time_reader.h"

#include <date/tz.h>

#include <charconv>

namespace sluice::data {
namespace {

bool digits(std::string_view t, size_t at, size_t n, int64_t* out) {
  if (at + n > t.size()) return false;
  int64_t v = 0;
  for (size_t i = at; i < at + n; ++i) {
    const unsigned d = static_cast<unsigned char>(t[i]) - '0';
    if (d > 9) return false;
    v = v * 10 + d;
  }
  *out = v;
  return true;
}

struct Civil {
  int64_t year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, milli = 0;
};

bool to_seconds(const Civil& c, int64_t* local_s) {
  const date::year_month_day ymd{date::year(static_cast<int>(c.year)), date::month(static_cast<unsigned>(c.month)),
                                 date::day(static_cast<unsigned>(c.day))};
  if (!ymd.ok() || c.hour > 23 || c.minute > 59 || c.second > 59) return false;
  *local_s = static_cast<int64_t>(date::sys_days(ymd).time_since_epoch().count()) * 86400 + c.hour * 3600 + c.minute * 60 + c.second;
  return true;
}

}  // namespace

bool zone_exists(std::string_view zone) {
  try {
    date::locate_zone(std::string(zone));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<std::string> zone_names() {
  std::vector<std::string> names;
  try {
    for (const auto& z : date::get_tzdb().zones) names.push_back(z.name());
  } catch (const std::exception&) {
  }
  return names;
}

std::string format_utc(int64_t ms) {
  const auto s = std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(ms));
  return date::format("%Y-%m-%d %H:%M:%S", date::sys_seconds(s));
}

base::Result<TimeReader> TimeReader::make(Kind kind, std::vector<Part> parts, const std::string& zone) {
  TimeReader r;
  r.kind_ = kind;
  r.parts_ = std::move(parts);
  try {
    r.zone_ = date::locate_zone(zone);
  } catch (const std::exception&) {
    return base::Status::fatal("time zone \"" + zone + "\" is unknown");
  }
  return r;
}

int64_t TimeReader::to_utc_ms(int64_t local_s) {
  if (local_s < from_s_ || local_s >= until_s_) {
    const auto* zone = static_cast<const date::time_zone*>(zone_);
    const date::local_seconds local{std::chrono::seconds(local_s)};
    const date::local_info info = zone->get_info(local);
    offset_s_ = info.first.offset.count();
    if (info.result == date::local_info::unique) {
      // The span of this offset in local time, without a day at each end where local times could be ambiguous.
      const int64_t begin = info.first.begin.time_since_epoch().count(), end = info.first.end.time_since_epoch().count();
      const int64_t far = int64_t{1} << 40;
      from_s_ = std::max(begin, -far) + offset_s_ + 86400;
      until_s_ = std::min(end, far) + offset_s_ - 86400;
      if (local_s < from_s_ || local_s >= until_s_) from_s_ = until_s_ = 0;
    } else {
      from_s_ = until_s_ = 0;
    }
  }
  return (local_s - offset_s_) * 1000;
}

bool TimeReader::read(std::string_view text, bool is_number, int64_t* ms) {
  switch (kind_) {
    case Kind::kPattern: return !is_number && read_pattern(text, ms);
    case Kind::kIso8601: return !is_number && read_iso(text, ms);
    default: break;
  }
  int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  // As patterns: no time beyond year 9999, in either direction. Larger ones are microseconds, or stand for "none".
  constexpr int64_t kFarthestS = 253402300799;
  const int64_t farthest = kind_ == Kind::kEpochS ? kFarthestS : kFarthestS * 1000 + 999;
  if (v > farthest || v < -farthest) return false;
  *ms = kind_ == Kind::kEpochS ? v * 1000 : v;
  return true;
}

bool TimeReader::read_pattern(std::string_view text, int64_t* ms) {
  Civil c;
  size_t at = 0;
  for (const Part& p : parts_) {
    int64_t* into = nullptr;
    size_t width = 2;
    switch (p.field) {
      case 'y': into = &c.year; width = 4; break;
      case 'M': into = &c.month; break;
      case 'd': into = &c.day; break;
      case 'H': into = &c.hour; break;
      case 'm': into = &c.minute; break;
      case 's': into = &c.second; break;
      case 'S': into = &c.milli; width = 3; break;
      default:
        if (text.compare(at, p.literal.size(), p.literal) != 0) return false;
        at += p.literal.size();
        continue;
    }
    if (!digits(text, at, width, into)) return false;
    at += width;
  }
  int64_t local_s = 0;
  if (at != text.size() || !to_seconds(c, &local_s)) return false;
  *ms = to_utc_ms(local_s) + c.milli;
  return true;
}

bool TimeReader::read_iso(std::string_view t, int64_t* ms) {
  Civil c;
  if (!digits(t, 0, 4, &c.year) || t.size() < 10 || t[4] != '-' || !digits(t, 5, 2, &c.month) || t[7] != '-' || !digits(t, 8, 2, &c.day))
    return false;
  size_t at = 10;
  if (at < t.size()) {
    if ((t[at] != 'T' && t[at] != ' ') || t.size() < 16 || !digits(t, 11, 2, &c.hour) || t[13] != ':' || !digits(t, 14, 2, &c.minute)) return false;
    at = 16;
    if (at < t.size() && t[at] == ':') {
      if (!digits(t, 17, 2, &c.second)) return false;
      at = 19;
      if (at < t.size() && (t[at] == '.' || t[at] == ',')) {
        int64_t scale = 100;
        const size_t first = ++at;
        for (; at < t.size() && t[at] >= '0' && t[at] <= '9'; ++at, scale /= 10) c.milli += (t[at] - '0') * scale;
        if (at == first) return false;
      }
    }
  }
  int64_t local_s = 0;
  if (!to_seconds(c, &local_s)) return false;
  if (at == t.size()) {
    *ms = to_utc_ms(local_s) + c.milli;
    return true;
  }
  int64_t offset_s = 0;
  if (t[at] == 'Z' || t[at] == 'z') {
    ++at;
  } else if (t[at] == '+' || t[at] == '-') {
    const int64_t sign = t[at] == '-' ? -1 : 1;
    int64_t hours = 0, minutes = 0;
    if (!digits(t, at + 1, 2, &hours)) return false;
    at += 3;
    if (at < t.size()) {
      if (t[at] == ':') ++at;
      if (!digits(t, at, 2, &minutes)) return false;
      at += 2;
    }
    if (hours > 18 || minutes > 59) return false;
    offset_s = sign * (hours * 3600 + minutes * 60);
  } else {
    return false;
  }
  if (at != t.size()) return false;
  *ms = (local_s - offset_s) * 1000 + c.milli;
  return true;
}

}  // namespace sluice::data
