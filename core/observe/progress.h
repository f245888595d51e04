// What a running job tells about itself: taken by value from Job::progress(), for the terminal, the log, the metrics
// and the health page. Numbers only grow unless a comment says otherwise.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::observe {

inline constexpr int64_t kNoTime = INT64_MIN;
inline constexpr int64_t kEndOfTime = INT64_MAX;

struct OperatorProgress {
  std::string id, type;
  uint32_t lanes = 1;
  uint64_t rows_in = 0, rows_out = 0;  // all lanes
  uint64_t rejected = 0;               // rows that on_error was applied to
  uint64_t bytes_in = 0;               // sources: payload bytes
  int64_t watermark_ms = kNoTime;      // minimum over the lanes that are not idle; kEndOfTime: input ended
  uint64_t busy_ns = 0;                // time spent inside the plugin
  uint64_t state_entries = 0, state_bytes = 0;  // approximate, can shrink
  std::map<std::string, int64_t> counters;      // the plugin's, all lanes: "dropped_delete"
  std::string note;                    // what the plugin says about itself now: "broker away: …"; may be empty
  std::string last_error;              // newest reason of a retry or a rejected row; may be empty
};

struct SplitProgress {
  std::string source_id, split;
  uint32_t lane = 0;
  std::string position;       // readable
  int64_t lag = -1;           // rows behind the split's end; -1: unknown
  int64_t watermark_ms = kNoTime;
  bool idle = false, caught_up = false, ended = false, gated = false;
};

struct CheckpointProgress {
  uint64_t last_number = 0;      // newest complete one; meaningful when completed > 0
  uint64_t completed = 0, failed = 0;
  uint64_t failed_in_a_row = 0;  // since the newest complete one
  int64_t last_completed_ms = 0; // wall clock
  int64_t last_duration_ms = 0;
  uint64_t last_bytes = 0;       // of the files that were new
  bool running = false;
  int64_t running_since_ms = 0;
  std::string last_error;        // of the newest failed one; empty after a success
  std::string restored_from;     // "checkpoint 12 of lineage 3f…", or empty
};

struct Progress {
  std::string pipeline;
  std::string phase;             // starting, running, stopping, finished, failed
  int64_t started_ms = 0, now_ms = 0;
  std::vector<OperatorProgress> operators;  // in the order of the file
  std::vector<SplitProgress> splits;
  CheckpointProgress checkpoint;
  uint64_t dead_letters = 0;
  std::string dead_letters_dir;
  // One sentence each: why nothing (more) comes out right now. Empty when rows flow.
  // `gate of dim_filter is closed: the snapshot of table_process is not complete`,
  // `the watermark is held by split topic_db-1 of cart_add at 2022-06-01 10:00:00 (no rows for 34 s, not idle: idle_timeout is off)`,
  // `clickhouse pushes back: retry in 800 ms (connection refused)`.
  std::vector<std::string> waiting_for;
};

}  // namespace sluice::observe
