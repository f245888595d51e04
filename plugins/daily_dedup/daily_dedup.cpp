#include "daily_dedup/daily_dedup.h"

namespace sluice::daily_dedup {

Options<DedupConfig> DailyDedup::options() {
  return {
      opt("date_fields", &DedupConfig::date_fields)
          .def("[operate_time, create_time]")
          .doc("Fields with the record's date, `yyyy-MM-dd…`: the first that is not null counts. Empty: the date of "
               "the event time.")
          .example("[create_time]"),
      opt("zone", &DedupConfig::zone)
          .doc("With `date_fields: []`: the time zone of the date of the event time, such as `Asia/Shanghai`. Without "
               "it: UTC."),
      opt("each_day", &DedupConfig::each_day)
          .def("false")
          .doc("Keep every date that was seen, not only the last: a key passes once for each day, whatever the order."),
      opt("ttl", &DedupConfig::ttl).def("1d").doc("How long a date that was let through is remembered."),
      opt("ttl_clock", &DedupConfig::ttl_clock, {{"processing", TtlClock::kProcessing}, {"event", TtlClock::kEvent}})
          .def("processing")
          .doc("The clock that `ttl` follows: the wall clock, or the watermark."),
  };
}

Status DailyDedup::configure(Needs& needs) {
  if (config().ttl.count() <= 0)
    return Status::fatal("option `ttl` must be longer than 0: without it the state would grow for ever");
  date_fields_.clear();
  for (const std::string& name : config().date_fields) {
    if (name.empty())
      return Status::fatal(
          "option `date_fields` has an empty name; `date_fields: []` means the date of the event time");
    date_fields_.push_back(needs.field(name));
  }
  if (date_fields_.empty()) needs.event_time("`date_fields` is empty, so that the date is taken from it");
  if (config().zone && !date_fields_.empty())
    return Status::fatal(
        "`zone` is used with `date_fields: []` only: the date of a field is compared as it stands; leave one of them out");
  const std::string zone = config().zone.value_or("UTC");
  if (date_fields_.empty() && !day_of_time_.set_zone(zone))
    return Status::fatal("option `zone`: there is no time zone `" + zone + "`; names are like Asia/Shanghai");
  return Status::ok();
}

Status DailyDedup::process(const Batch& in, Output& out) {
  SLUICE_CHECK_OK(read_dates(in, out));
  SLUICE_CHECK_OK(read_state(in));
  SLUICE_CHECK_OK(decide(in));
  SLUICE_CHECK_OK(store());
  for (const uint32_t at : passed_) out.forward(rows_[at]);
  if (!passed_.empty()) count("passed", static_cast<int64_t>(passed_.size()));
  if (const size_t dropped = rows_.size() - passed_.size(); dropped != 0)
    count("dropped_seen", static_cast<int64_t>(dropped));
  return Status::ok();
}

Status DailyDedup::read_dates(const Batch& in, Output& out) {
  rows_.clear();
  dates_.clear();
  for (uint32_t row = 0; row < in.size(); ++row) {
    Day day = 0;
    if (const std::string problem = read_date(in, row, &day); !problem.empty()) {
      SLUICE_CHECK_OK(out.reject(row, problem));
      continue;
    }
    rows_.push_back(row);
    dates_.push_back(day);
  }
  return Status::ok();
}

std::string DailyDedup::read_date(const Batch& in, uint32_t row, Day* day) {
  if (date_fields_.empty()) {
    const int64_t time = in.event_time(row);
    if (time == SLUICE_NO_TIME) return "the record has no event time, and `date_fields` is empty";
    *day = day_of_time_.at(time);
    return {};
  }
  for (size_t i = 0; i < date_fields_.size(); ++i) {
    const Value value = in(date_fields_[i], row);
    if (value.is_string() && day_of_text_.read(value.text(), day)) return {};
    if (value.is_missing()) continue;
    const std::string field = "field `" + config().date_fields[i] + "`";
    if (value.type() == SLUICE_INVALID) return field + ": " + std::string(value.text());
    if (!value.is_string()) return field + " is " + value.type_name() + ", not a text yyyy-MM-dd…";
    return field + " is `" + std::string(value.text().substr(0, 40)) + "`, not a date yyyy-MM-dd…";
  }
  std::string names;
  for (const std::string& name : config().date_fields) names += (names.empty() ? "`" : ", `") + name + "`";
  return "no date: " + names + (date_fields_.size() == 1 ? " is missing or null" : " are missing or null");
}

Status DailyDedup::read_state(const Batch& in) {
  const size_t n = rows_.size();
  keys_.resize(n);
  values_.assign(n, sluice_str{nullptr, 0});
  for (size_t i = 0; i < n; ++i) keys_[i] = str(in.key(rows_[i]));
  if (n == 0) return Status::ok();
  if (!config().each_day) return last_date_.get_many(n, keys_.data(), values_.data());
  subkeys_.resize(n);
  day_bytes_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t bits = static_cast<uint32_t>(dates_[i]) ^ 0x80000000u;
    day_bytes_[i] = {static_cast<char>(bits >> 24), static_cast<char>(bits >> 16), static_cast<char>(bits >> 8),
                     static_cast<char>(bits)};
    subkeys_[i] = {day_bytes_[i].data(), day_bytes_[i].size()};
  }
  return days_.get_many(n, keys_.data(), subkeys_.data(), values_.data());
}

Status DailyDedup::decide(const Batch& in) {
  passed_.clear();
  passed_in_batch_.reset(rows_.size());
  const bool each_day = config().each_day;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const std::string_view key = in.key(rows_[i]);
    if (each_day) {
      if (values_[i].data != nullptr || passed_in_batch_.find(key, &dates_[i]) != nullptr) continue;
      passed_in_batch_.add(key, dates_[i], true);
    } else if (Day* earlier = passed_in_batch_.find(key, nullptr); earlier != nullptr) {
      if (*earlier == dates_[i]) continue;
      *earlier = dates_[i];
    } else {
      Day stored = 0;
      if (values_[i].data != nullptr && !Codec<Day>::read(view(values_[i]), &stored))
        return Status::fatal("state `last_date` holds bytes that this version of daily_dedup cannot read");
      if (values_[i].data != nullptr && stored == dates_[i]) continue;
      passed_in_batch_.add(key, dates_[i], false);
    }
    passed_.push_back(static_cast<uint32_t>(i));
  }
  return Status::ok();
}

Status DailyDedup::store() {
  bool stored_one = false;
  for (const uint32_t i : passed_) {
    Status s =
        config().each_day ? days_.put(view(keys_[i]), view(subkeys_[i]), 1) : last_date_.put(view(keys_[i]), dates_[i]);
    if (s.is_ok()) {
      stored_one = true;
      continue;
    }
    // The rows of the dates that are stored already have not gone on. Called again with them, the operator would take
    // them for seen and lose them; a restart from the checkpoint does not.
    if (s.code() == SLUICE_RETRY && stored_one)
      return Status::fatal("the state took a part of a batch only: " + s.message());
    return s;
  }
  return Status::ok();
}

}  // namespace sluice::daily_dedup
