// Operator `daily_dedup`: the first record of each key and day.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daily_dedup/day_of.h"
#include "daily_dedup/page.h"
#include "daily_dedup/passed_in_batch.h"
#include "sluice/sdk.hpp"

namespace sluice::daily_dedup {

enum class TtlClock { kProcessing, kEvent };

struct DedupConfig {
  std::vector<std::string> date_fields;
  std::optional<std::string> zone;
  bool each_day = false;
  std::chrono::milliseconds ttl{};
  TtlClock ttl_clock = TtlClock::kProcessing;
};

class DailyDedup final : public Transform<DedupConfig> {
 public:
  static constexpr uint32_t kFlags = SLUICE_OP_KEYED;
  static constexpr const char* kType = "daily_dedup";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Lets the first record of each key and day through.";
  static constexpr const char* kDoc = kPage;
  static Options<DedupConfig> options();

  Status configure(Needs& needs) override;
  Status process(const Batch& in, Output& out) override;

 private:
  // Subkey of state `days`: big-endian with the sign flipped, so that the order of the bytes is that of the days.
  using DayBytes = std::array<char, 4>;

  Status read_dates(const Batch& in, Output& out);
  std::string read_date(const Batch& in, uint32_t row, Day* day);
  Status read_state(const Batch& in);
  Status decide(const Batch& in);
  Status store();

  std::vector<Field> date_fields_;
  DayOfText day_of_text_;
  DayOfTime day_of_time_;
  ValueState<Day> last_date_{this, "last_date", StateOptions().ttl("ttl").ttl_clock("ttl_clock")};
  MapState<uint8_t> days_{this, "days", StateOptions().ttl("ttl").ttl_clock("ttl_clock")};

  // Of the batch in process(); members so that their memory is used again. Rows without a readable date are left out.
  std::vector<uint32_t> rows_;
  std::vector<Day> dates_;
  std::vector<sluice_str> keys_, subkeys_, values_;
  std::vector<DayBytes> day_bytes_;
  std::vector<uint32_t> passed_;  // indexes into rows_
  PassedInBatch passed_in_batch_;
};

}  // namespace sluice::daily_dedup
