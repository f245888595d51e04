// One lane of one stage: a thread that runs a chain of operators.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint_store.h"
#include "data/json_reader.h"
#include "observe/progress.h"
#include "runtime/dead_letters.h"
#include "runtime/event_time.h"
#include "runtime/job_context.h"
#include "runtime/mailbox.h"
#include "runtime/operator.h"
#include "runtime/split_clock.h"
#include "runtime/spool.h"

namespace sluice::runtime {

// What a task goes on from: its part of a checkpoint.
struct TaskRestore {
  const checkpoint::Manifest* manifest = nullptr;  // null: from scratch
};

// Of one node, while its lanes are added up.
struct NodeProgress : observe::OperatorProgress {
  bool any_active = false;  // a lane that is not idle; `watermark_ms` is of those, or else how far the idle ones came
};

// Made, prepared and destroyed by the coordinator's thread; run() is the thread's body. Everything else says which
// thread may call it.
class Task {
 public:
  Task(JobContext& job, size_t index, size_t stage, uint32_t lane);
  ~Task();

  size_t index() const { return index_; }
  size_t stage() const { return stage_; }
  uint32_t lane() const { return lane_; }
  Mailbox& mailbox() { return mailbox_; }
  bool has_source() const { return source_ != nullptr; }

  // Before the threads start. [coordinator]
  size_t add_input(size_t edge, Mailbox* sender);               // a channel that feeds this task
  void add_output(size_t edge, uint32_t to_lane, Task* to, size_t channel);
  base::Status prepare(const sluice_host* host, const TaskRestore& restore);
  Operator* operator_of(size_t node);
  void set_store(size_t node, std::unique_ptr<state::LaneStore> store);

  void start();
  void join();
  // All input has ended and everything was handed on; only barriers and commits follow. [any]
  bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  // The source has its splits, or there is none. [any]
  bool has_assigned() const { return source_ == nullptr || assigned_.load(std::memory_order_acquire); }
  bool has_finished() const { return finished_.load(std::memory_order_acquire); }
  // Adds this task's part. [any]
  void add_progress(std::map<size_t, NodeProgress>* by_node, std::vector<observe::SplitProgress>* splits,
                    std::vector<std::string>* waiting) const;

 private:
  struct Output {
    size_t edge;
    uint32_t to_lane;
    Task* to;
    size_t channel;
  };
  struct Input {
    size_t edge = 0;
    int64_t watermark = SLUICE_NO_TIME;
    bool idle = false, ended = false, marker = false;
  };
  // One operator of the chain.
  struct Link {
    size_t node = 0;
    const PlanNode* plan = nullptr;
    std::unique_ptr<state::LaneStore> store;
    std::unique_ptr<Operator> op;
    int64_t watermark = SLUICE_NO_TIME;
    // The watermark, but not the end of time, which belongs to the run that ended and not to one that may be given more.
    int64_t reached = SLUICE_NO_TIME;
    bool idle = false, has_ended = false;
    bool marker_seen = false;      // broadcast side
    bool snapshot_loading = false;
    std::vector<size_t> children;  // edges that are chains
    std::vector<size_t> channels;  // edges that are not
    // Epoch sinks: rows since the last barrier, and those of earlier ones that are not known to be in the target, oldest
    // first. A segment keeps its number and its rows until then.
    std::unique_ptr<SpoolWriter> spool;
    struct Segment {
      uint64_t checkpoint = 0;
      std::string path;
      uint64_t rows = 0;
      bool tried = false;    // a commit got no answer
      uint64_t refused = 0;  // rows that the sink refused in the last attempt
    };
    std::deque<Segment> segments;
    uint64_t spool_count = 0;
    bool commit_failed = false;  // and was told
  };

  void run();
  base::Status loop();
  base::Status open_all();
  base::Status close_all();
  base::Status handle(size_t channel, Message& message);
  base::Status command(const Command& c);

  // Rows.
  base::Status poll_source(bool* progress);
  base::Status discover();
  base::Status find_splits();
  void restore_clock();
  base::Status source_batch();
  base::Status begin_snapshot();
  base::Status deliver(Link& link, uint32_t port, data::RowBatch batch);
  base::Status run_operator(Link& link, uint32_t port, data::RowBatch& batch);
  base::Status after_call(Link& link, const data::RowBatch* batch);
  base::Status route(Link& link, uint32_t port, const data::RowBatch& batch);
  base::Status route_keyed(Link& link, size_t edge, const data::RowBatch& batch);
  base::Status spool_rows(Link& link, const data::RowBatch& batch);
  std::unique_ptr<SpoolWriter> new_spool(Link& link);
  // Calls `write` until it answers something else than RETRY.
  base::Status until_there_is_space(Operator& op, const std::function<base::Status()>& write);
  // Takes out rows that cannot be given to the operator; `batch` is what is left.
  base::Status check_rows(Link& link, uint32_t port, data::RowBatch& batch);
  base::Status key_of(const data::RowBatch& batch, const PlanNode& to, uint32_t row, sluice_str* key, std::string* error);
  base::Status reject(Operator& op, const data::RowBatch& batch, uint32_t row, const std::string& reason);
  base::Status reject_kept(Operator& op, const KeptOrigin& origin, const std::string& reason);
  base::Status keep_tombstone(Operator& op, const data::RowBatch& batch, uint32_t row);
  config::OnError policy_of(const Operator& op) const;
  base::Status apply_on_error(Operator& op, const DeadLetter& letter, uint32_t source, const std::string& split, std::string_view position);
  base::Status write_letter(const Operator& op, DeadLetter letter, uint32_t source, const std::string& position);
  std::string position_text(uint32_t source, const std::string& split, std::string_view position);
  std::string split_name(uint32_t source, uint32_t split) const;

  // Control that travels with the rows.
  base::Status advance(Link& link, int64_t watermark);
  base::Status tell_children(const Link& link, int64_t watermark);
  base::Status set_idle(Link& link, bool idle);
  base::Status marker(Link& link, uint32_t port, uint32_t marker);
  base::Status schema(Link& link, const std::shared_ptr<const Schema>& schema);
  base::Status forward_schema(Link& link, const std::shared_ptr<const Schema>& schema);
  base::Status update_input_watermark(Link& link);
  base::Status fire_timers(Link& link);
  base::Status idle_tick();
  bool polled_lately(int64_t idle_timeout_ms) const;
  void count_silence(int64_t now);
  void forget_times_ahead();
  base::Status split_changes();
  base::Status end_if_done();
  void push(const Output& to, Message message);
  void push_all(Link& link, const Message& message);

  // Checkpoints.
  base::Status barrier_arrived(uint64_t checkpoint);
  base::Status take_checkpoint(uint64_t checkpoint);
  base::Status commit(uint64_t checkpoint);
  base::Status commit_epoch(Link& link, uint64_t checkpoint);
  base::Status commit_segment(Link& link, Link::Segment& segment);

  // Calls `f` until it answers something else than RETRY. Ends with CANCELLED on a hard stop.
  template <class F>
  base::Status retrying(Operator& op, F&& f);
  // Waits for as long as a RETRY asks for. CANCELLED on a hard stop.
  base::Status pause(Operator& op, const base::Status& retry);
  void say_waiting(Operator& op, const base::Status& retry);
  base::Status wait_for_room();
  void clear_waiting();
  void say_commit(Link& link, const base::Status& s);
  bool has_room() const;
  std::shared_ptr<data::Arena> arena();
  Link* link_of(size_t node);
  void publish_splits();

  JobContext& job_;
  const Plan& plan_;
  const size_t index_, stage_;
  const uint32_t lane_;
  Mailbox mailbox_;
  std::vector<Input> inputs_;   // by channel
  std::vector<Output> outputs_;
  std::vector<bool> blocked_;   // by channel
  std::vector<std::unique_ptr<Link>> links_;  // in topological order
  Link* source_ = nullptr;
  std::map<size_t, std::unique_ptr<Operator>> describers_;  // by node: instances that only name positions
  const sluice_host* host_ = nullptr;
  std::thread thread_;

  data::JsonReader reader_;
  std::shared_ptr<data::Arena> arena_;  // of the pass that is running
  std::unique_ptr<DeadLetters> dead_letters_;
  std::vector<bool> source_fields_;     // what the source extracts
  data::FieldSet source_set_;
  std::vector<size_t> source_set_to_plan_;
  std::optional<EventTime> event_time_;
  SplitClock clock_;
  std::map<uint32_t, size_t> slot_of_;  // split index → slot
  std::map<std::string, checkpoint::ManifestSplit> restored_splits_;
  bool started_before_ = false;  // the source's first start was over in the checkpoint
  std::map<uint32_t, int64_t> restored_watermarks_;  // by lane of the checkpoint
  bool same_lanes_ = false;                          // the checkpoint has as many
  std::set<std::string> known_splits_;
  std::vector<GivenSplit> to_assign_;  // the source could not take them yet
  int64_t last_pass_ms_ = 0, last_poll_ms_ = SLUICE_NO_TIME;  // wall clock
  std::chrono::steady_clock::time_point last_poll_;          // at last_poll_ms_, when the source last answered OK
  int64_t next_discover_ms_ = 0, next_tick_ms_ = 0, next_poll_ms_ = 0, idle_since_ms_ = 0;
  bool opening_ = false;        // operators are asked to open: a stop does not wait for one that cannot
  bool source_done_ = false;    // no split will give another row
  bool source_stopped_ = false;  // a stop's barrier has gone
  bool source_held_ = false;    // the barrier went out, others are awaited
  bool snapshot_marked_ = false;  // its end has gone out
  bool end_sent_ = false;
  uint64_t aligning_ = 0;
  bool is_aligning_ = false;
  std::deque<Command> later_barriers_;  // came while an earlier one was being aligned: it took longer than checkpoint.timeout
  size_t barriers_ = 0;

  std::atomic<bool> ended_{false}, assigned_{false}, finished_{false};
  mutable std::mutex progress_mutex_;
  std::vector<observe::SplitProgress> split_progress_;
  std::string waiting_;
  // The wait that waiting_ speaks of; this task's thread only.
  Operator* waits_ = nullptr;
  std::string waits_for_;
  std::chrono::steady_clock::time_point waits_since_;
  bool wait_told_ = false;
};

template <class F>
base::Status Task::retrying(Operator& op, F&& f) {
  for (;;) {
    if (job_.hard_stop) return base::Status::cancelled();
    base::Status s = f();
    if (s.code() != base::Code::kRetry) {
      clear_waiting();
      return s;
    }
    op.discard_output();  // the whole call is repeated
    SLUICE_TRY(pause(op, s));
  }
}

}  // namespace sluice::runtime
