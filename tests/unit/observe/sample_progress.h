// A job in the middle of its work, with everything in it that a view can show.
#pragma once
#include "observe/graph.h"
#include "observe/progress.h"

namespace sluice::observe {

inline constexpr int64_t kSampleStart = 1'654'077'600'000;  // 2022-06-01 10:00:00 UTC

inline Graph sample_graph() {
  return {{{"cart", "", "dedup", false},
           {"config", "", "filter", true},
           {"dedup", "", "filter", false},
           {"filter", "", "store", false}}};
}

inline Progress sample_progress() {
  Progress p;
  p.pipeline = "购物车";
  p.phase = "running";
  p.started_ms = kSampleStart;
  p.now_ms = kSampleStart + 65'000;
  OperatorProgress cart;
  cart.id = "cart";
  cart.type = "kafka.source";
  cart.lanes = 2;
  cart.rows_in = 182'340;
  cart.rows_out = 182'337;
  cart.rejected = 3;
  cart.bytes_in = 91'170'000;
  cart.watermark_ms = kSampleStart - 3'600'000;
  cart.busy_ns = 1'500'000'000;
  cart.last_error = "no time in create_time";
  OperatorProgress config;
  config.id = "config";
  config.type = "file.source";
  config.rows_in = 46;
  config.rows_out = 46;
  OperatorProgress dedup;
  dedup.id = "dedup";
  dedup.type = "daily_dedup";
  dedup.lanes = 2;
  dedup.rows_in = 182'337;
  dedup.rows_out = 500;
  dedup.watermark_ms = kSampleStart - 3'600'000;
  dedup.state_entries = 500;
  dedup.state_bytes = 40'960;
  dedup.counters = {{"dropped_seen", 181'837}, {"dropped_null_key", 0}};
  OperatorProgress filter;
  filter.id = "filter";
  filter.type = "broadcast_filter";
  filter.rows_in = 546;
  filter.rows_out = 500;
  OperatorProgress store;
  store.id = "store";
  store.type = "sqlite.sink";
  store.rows_in = 500;
  store.note = "database is locked: retry in 200 ms";
  p.operators = {cart, config, dedup, filter, store};
  SplitProgress one{"cart", "cart_add-0", 0, "offset 91170", 120, kSampleStart - 1'000, false, false, false, false};
  SplitProgress two{"cart", "cart_add-1", 1, "offset 91170", 0, kSampleStart - 3'600'000, false, true, false, false};
  SplitProgress file{"config", "table_process.json", 0, "line 46", -1, kNoTime, false, true, true, false};
  p.splits = {one, two, file};
  p.checkpoint.last_number = 12;
  p.checkpoint.completed = 12;
  p.checkpoint.last_completed_ms = p.now_ms - 4'200;
  p.checkpoint.last_duration_ms = 35;
  p.checkpoint.last_bytes = 1'258'291;
  p.dead_letters = 3;
  p.dead_letters_dir = "./dead";
  p.waiting_for = {"the watermark is held by split cart_add-1 of cart at 2022-06-01 09:00:00"};
  return p;
}

// Three seconds earlier.
inline Progress earlier_progress() {
  Progress p = sample_progress();
  p.now_ms -= 3'000;
  p.operators[0].rows_in -= 76'000;
  p.operators[0].rows_out -= 76'000;
  p.operators[2].rows_in -= 76'000;
  p.operators[2].rows_out -= 10;
  p.operators[3].rows_in -= 10;
  p.operators[3].rows_out -= 10;
  p.operators[4].rows_in -= 10;
  return p;
}

}  // namespace sluice::observe
