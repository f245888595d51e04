// One lane of one operator: the plugin's instance and the host's side of its context.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/handed_out.h"
#include "runtime/job_context.h"
#include "runtime/kept_origins.h"
#include "runtime/message.h"
#include "runtime/plan.h"
#include "sluice/abi.h"

namespace sluice::runtime {

// Checked options as the plugin boundary has them. Lives as long as the create() call that it is given to.
class ConfigValue {
 public:
  explicit ConfigValue(const config::OptionValues& options);
  const sluice_value& value() const { return root_; }

 private:
  sluice_str keep(const std::string& s);
  std::deque<std::string> texts_;
  std::deque<std::vector<sluice_value>> lists_;
  std::deque<std::vector<sluice_member>> maps_;
  std::vector<sluice_member> members_;
  sluice_value root_;
};

// The table that every plugin of this process is given.
const sluice_host* host_table(const std::string& version);

// The operator whose function this thread is running, for messages: `operator "out" (plugin sluice-file 1.0, lane 0)`; null:
// none. May be called in a signal handler; lives as long as that call.
const char* running_operator() noexcept;

// Something that an operator put out during a call.
struct Emission {
  enum class Kind { kRows, kSchema, kMarker };
  Kind kind = Kind::kRows;
  uint32_t port = 0;
  data::RowBatch rows;
  std::shared_ptr<const Schema> schema;
  uint32_t marker = 0;
};

// A row that was refused, with its reason.
struct Rejected {
  uint32_t row = SLUICE_NO_ROW;  // of the batch of the call; SLUICE_NO_ROW: `origin` holds it, or it is `made`
  uint64_t origin = 0;
  std::string reason;
  std::string made = {};  // the text of a row that was made of none
};

// What a source emitted in one poll, before it is a batch.
struct SourceRows {
  std::vector<int64_t> event_time;
  std::vector<uint8_t> change;
  std::vector<sluice_str> raw, raw_key, position;
  std::vector<uint32_t> split;
  void clear() {
    event_time.clear();
    change.clear();
    raw.clear();
    raw_key.clear();
    position.clear();
    split.clear();
  }
};

// A split for assign().
struct GivenSplit {
  uint32_t index = 0;
  std::string id;
  std::optional<std::string> position;  // none: from the configured start
  bool added = false;                   // see sluice/ext/added_splits.h
};

struct SplitReport {
  enum class Kind { kStatus, kLag, kPosition };
  Kind kind;
  uint32_t split;
  uint32_t flags;
  int64_t lag;
  std::string position;
  size_t rows_before;  // rows emitted in this poll before the report
};

// Made and destroyed by its task (or by Job::create to ask for needs); called by one thread at a time.
class Operator {
 public:
  Operator(const JobContext& job, size_t node, uint32_t lane, uint32_t lanes);
  Operator(const JobContext& job, const PlanNode& node, uint32_t lane, uint32_t lanes);  // one outside of the graph
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  base::Status create(const sluice_host* host);
  base::Status needs(sluice_needs* out);
  base::Status plan_facts(PlanFacts* out);  // after needs()
  // State tables come from `store`, which may be null for an operator without state.
  void bind_state(state::LaneStore* store);
  // An instance without a task has an arena and a reader of its own.
  void bind_task(std::function<std::shared_ptr<data::Arena>()> arena, data::JsonReader* reader, std::function<void()> wake);

  // What the plugin's check() finds outside; see sluice_operator_vtbl. Instead of open().
  struct Problem {
    std::string option, text;
  };
  bool can_check() const { return vtbl_.check != nullptr; }
  base::Status check(std::vector<Problem>* problems);

  base::Status open();
  base::Status close();
  base::Status process(uint32_t port, data::RowBatch& in, uint32_t* consumed);
  base::Status on_watermark(int64_t watermark);
  base::Status on_timer(uint32_t clock, const state::Timer& timer);
  base::Status on_schema(const Schema& schema);
  base::Status on_marker(uint32_t port, uint32_t marker);
  base::Status on_idle(bool idle, int64_t since);
  base::Status prepare(uint64_t checkpoint);
  base::Status commit(uint64_t checkpoint);
  base::Status epoch_begin(uint64_t checkpoint);
  base::Status last_committed(uint64_t* checkpoint, std::string* lineage);
  base::Status discover(std::vector<std::pair<std::string, int64_t>>* splits);
  base::Status assign(const std::vector<GivenSplit>& splits);
  // Of a split that had ended in an earlier run.
  base::Status may_have_grown(const std::string& split, bool* yes);
  base::Status poll(uint32_t max_rows);
  std::string describe_position(const std::string& split, std::string_view position);

  bool handles_schema() const { return vtbl_.on_schema != nullptr; }
  const PlanNode& plan() const { return node_; }
  const std::string& id() const { return node_.id(); }
  state::TimerTable* timers() const { return timers_; }
  std::vector<state::StateTable*>& tables() { return tables_; }

  // The key column of the batch that process() is given next; null: the operator has no key.
  void set_key_column(const sluice_str* keys) { key_column_ = keys; }
  const sluice_str* key_column() const { return key_column_; }
  // The first `rows` of the batch are done for.
  void advance_key_column(uint32_t rows) {
    if (key_column_ != nullptr) key_column_ += rows;
  }

  // The call comes again: what it put out is void, and so is what was wrong with that.
  void discard_output() {
    emissions.clear();
    std::erase_if(rejected, [](const Rejected& r) { return !r.made.empty(); });
  }

  // What the last call left; taken by the task.
  std::vector<Emission> emissions;
  std::vector<Rejected> rejected;
  SourceRows source_rows;
  std::vector<SplitReport> split_reports;
  KeptOrigins origins;

  // Read by other threads.
  std::atomic<uint64_t> rows_in{0}, rows_out{0}, rejected_count{0}, bytes_in{0}, busy_ns{0};
  std::atomic<int64_t> watermark{SLUICE_NO_TIME};
  std::atomic<bool> idle{false};
  std::map<std::string, int64_t> counters() const;
  std::string note() const;
  std::string last_error() const;
  void set_last_error(const std::string& text);
  void count(std::string_view metric, int64_t delta);  // of the host's own, beside the plugin's

 private:
  friend struct ContextFunctions;
  friend const char* running_operator() noexcept;
  struct Call;
  bool owns(sluice_str text) const;
  template <class F>
  base::Status invoke(const char* what, F&& call_plugin);
  base::Status finish(sluice_code code, const sluice_error& error, const char* what);

  struct WithoutTask;
  const JobContext& job_;
  const PlanNode& node_;
  const uint32_t lane_, lanes_;
  sluice_context ctx_;
  const std::string name_for_messages_;
  sluice_operator_vtbl vtbl_{};  // what the plugin has of it; null are slots that it has not
  void* self_ = nullptr;
  std::vector<state::StateTable*> tables_;
  state::TimerTable* timers_ = nullptr;
  state::LaneStore* store_ = nullptr;
  std::function<std::shared_ptr<data::Arena>()> arena_;
  data::JsonReader* reader_ = nullptr;
  std::function<void()> wake_;
  std::unique_ptr<WithoutTask> without_task_;  // null once a task is bound
  const std::unique_ptr<HandedOut> handed_out_;  // null: what is handed out is the host's own
  // Of the call that is running.
  data::RowBatch* in_ = nullptr;
  uint32_t port_ = 0;
  bool polling_ = false;
  std::set<uint32_t> added_splits_;
  const sluice_str* key_column_ = nullptr;
  std::string misuse_;
  mutable std::mutex shared_mutex_;  // counters_, note_, last_error_
  std::map<std::string, int64_t, std::less<>> counters_;
  std::string note_, last_error_;
};

}  // namespace sluice::runtime
