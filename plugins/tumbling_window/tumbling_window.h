// Operator `tumbling_window`: counts, sums, smallest, largest and averages of windows in event time.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/sdk.hpp"
#include "tumbling_window/accumulator.h"
#include "tumbling_window/global_windows.h"
#include "tumbling_window/keyed_windows.h"
#include "tumbling_window/local_zone.h"
#include "tumbling_window/page.h"
#include "tumbling_window/time_text.h"
#include "tumbling_window/window_assigner.h"

namespace sluice::tumbling_window {

enum class Late { kDrop, kDeadLetter, kOutput };

struct WindowConfig {
  std::chrono::milliseconds size{};
  std::chrono::milliseconds offset{};
  std::string zone;
  StringMap aggregates;
  std::vector<std::string> group_by;
  std::string start_column, end_column, version_column, time_format;
  Late late = Late::kDrop;
  std::optional<std::chrono::milliseconds> close_windows_when_idle;
  int64_t windows_in_memory = 0;
};

// With a key, one instance a lane, each with its keys' windows. Without, one instance for all rows, or in two phases:
// one instance a lane that hands on what it has accumulated when the watermark passes a window's end, and one that
// merges.
class TumblingWindow final : public Transform<WindowConfig> {
 public:
  static constexpr uint32_t kFlags = SLUICE_OP_TWO_PHASE | SLUICE_OP_KEY_OPTIONAL;
  static constexpr const char* kType = "tumbling_window";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Aggregates the rows of each window of event time, exactly.";
  static constexpr const char* kDoc = kPage;
  static Options<WindowConfig> options();
  static std::vector<std::string> output_ports() { return {"late"}; }

  Status configure(Needs& needs) override;
  Status open() override;
  Status process(const Batch& in, Output& out) override;
  Status on_watermark(int64_t watermark, Output& out) override;
  Status on_timer(uint32_t clock, std::string_view key, int64_t at, uint64_t tag, Output& out) override;
  Status on_idle(bool idle, int64_t since, Output& out) override;
  Status prepare(uint64_t checkpoint) override;

 private:
  std::string check_columns() const;
  std::string options_fingerprint() const;

  Status process_row(const Batch& in, uint32_t row, bool keyed, Output& out);
  Status merge_row(const Batch& in, uint32_t row);
  Status handle_late(const Batch& in, uint32_t row, const Window& window, Output& out);
  Status load_keyed(const Batch& in);
  Status check_keyed_options();
  // Empty, or why the row is refused.
  std::string read_window(const Batch& in, uint32_t row);
  std::string read_group(const Batch& in, uint32_t row);
  std::string read_arguments(const Batch& in, uint32_t row);

  void emit(std::string_view group, Accumulator& accumulator, Output& out);
  void emit_result(std::string_view group, Accumulator& accumulator, Output& out);
  void emit_partial(std::string_view group, const Accumulator& accumulator, Output& out) const;
  GlobalWindows::Then after_emitting(bool may_get_rows) const;
  // The window may be closed on the wall clock.
  bool idle_closes(const Window& window) const;
  Status set_timers(std::string_view key, const Accumulator& accumulator, bool created) const;
  int64_t next_idle_check() const;

  // After configure().
  std::vector<Aggregate> aggregates_;
  std::vector<Field> group_fields_;
  std::vector<Field> argument_fields_;  // one for each aggregate; of counts of rows without meaning
  Field part_;                          // merge: what the first phase has accumulated
  Field part_group_;
  bool needs_arguments_ = false;  // some aggregate reads a field
  LocalZone zone_;
  std::optional<WindowAssigner> assigner_;
  TimeText time_text_;
  std::string fingerprint_;

  OperatorState<std::string> state_{this, "windows", StateOptions().format(1, 1)};
  MapState<std::string> keyed_state_{this, "keyed_windows", StateOptions().format(1, 1)};
  // Of each lane with keyed windows the options they were counted with: those windows are read when their keys come, and
  // other options have to be refused before that.
  OperatorState<std::string> keyed_options_{this, "keyed_options", StateOptions().format(1, 1)};
  bool keyed_options_stored_ = false, has_keyed_ = false;
  GlobalWindows global_{&state_, &aggregates_};
  KeyedWindows keyed_{&keyed_state_, &aggregates_};

  // Of the row in hand; members so that their memory is used again.
  Window window_;
  std::string group_;
  std::vector<Argument> arguments_;
  int64_t idle_since_ = SLUICE_NO_TIME;  // SLUICE_NO_TIME: not idle

  struct Tally {
    int64_t late = 0, results = 0, corrections = 0, closed_idle = 0;
  };
  void report();
  Tally tally_;
};

}  // namespace sluice::tumbling_window
