#include "observe/metrics.h"

#include <catch2/catch.hpp>

#include "observe/health.h"
#include "observe/progress_json.h"
#include "sample_progress.h"

using namespace sluice::observe;

namespace {

std::string without_comments(const std::string& text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    if (text[at] != '#') out += text.substr(at, end - at + 1);
    at = end + 1;
  }
  return out;
}

Progress small_progress() {
  Progress p = sample_progress();
  p.pipeline = "dws";
  p.operators = {p.operators[0], p.operators[2]};
  p.splits.pop_back();
  return p;
}

}  // namespace

TEST_CASE("metrics: every value under its documented name") {
  ProcessUsage usage;
  usage.cpu_seconds = 1.5;
  usage.resident_bytes = 104857600;
  usage.threads = 9;
  usage.open_files = 31;
  usage.started_s = 1654077599;
  CHECK(without_comments(metrics_text(small_progress(), usage, "0.1.0")) ==
        R"(sluice_info{pipeline="dws",version="0.1.0"} 1
sluice_phase{pipeline="dws",phase="starting"} 0
sluice_phase{pipeline="dws",phase="running"} 1
sluice_phase{pipeline="dws",phase="stopping"} 0
sluice_phase{pipeline="dws",phase="stopped"} 0
sluice_phase{pipeline="dws",phase="finished"} 0
sluice_phase{pipeline="dws",phase="failed"} 0
sluice_start_time_seconds{pipeline="dws"} 1654077600
sluice_waiting_reasons{pipeline="dws"} 1
sluice_dead_letters_total{pipeline="dws"} 3
sluice_lanes{pipeline="dws",operator="cart",type="kafka.source"} 2
sluice_lanes{pipeline="dws",operator="dedup",type="daily_dedup"} 2
sluice_rows_in_total{pipeline="dws",operator="cart"} 182340
sluice_rows_in_total{pipeline="dws",operator="dedup"} 182337
sluice_rows_out_total{pipeline="dws",operator="cart"} 182337
sluice_rows_out_total{pipeline="dws",operator="dedup"} 500
sluice_rejected_total{pipeline="dws",operator="cart"} 3
sluice_rejected_total{pipeline="dws",operator="dedup"} 0
sluice_bytes_in_total{pipeline="dws",operator="cart"} 91170000
sluice_busy_seconds_total{pipeline="dws",operator="cart"} 1.5
sluice_busy_seconds_total{pipeline="dws",operator="dedup"} 0
sluice_state_entries{pipeline="dws",operator="cart"} 0
sluice_state_entries{pipeline="dws",operator="dedup"} 500
sluice_state_bytes{pipeline="dws",operator="cart"} 0
sluice_state_bytes{pipeline="dws",operator="dedup"} 40960
sluice_watermark_seconds{pipeline="dws",operator="cart"} 1654074000
sluice_watermark_seconds{pipeline="dws",operator="dedup"} 1654074000
sluice_operator_counter_total{pipeline="dws",operator="dedup",counter="dropped_null_key"} 0
sluice_operator_counter_total{pipeline="dws",operator="dedup",counter="dropped_seen"} 181837
sluice_split_lag_rows{pipeline="dws",operator="cart",split="cart_add-0"} 120
sluice_split_lag_rows{pipeline="dws",operator="cart",split="cart_add-1"} 0
sluice_split_watermark_seconds{pipeline="dws",operator="cart",split="cart_add-0"} 1654077599
sluice_split_watermark_seconds{pipeline="dws",operator="cart",split="cart_add-1"} 1654074000
sluice_split_idle{pipeline="dws",operator="cart",split="cart_add-0"} 0
sluice_split_idle{pipeline="dws",operator="cart",split="cart_add-1"} 0
sluice_split_caught_up{pipeline="dws",operator="cart",split="cart_add-0"} 0
sluice_split_caught_up{pipeline="dws",operator="cart",split="cart_add-1"} 1
sluice_split_ended{pipeline="dws",operator="cart",split="cart_add-0"} 0
sluice_split_ended{pipeline="dws",operator="cart",split="cart_add-1"} 0
sluice_split_gated{pipeline="dws",operator="cart",split="cart_add-0"} 0
sluice_split_gated{pipeline="dws",operator="cart",split="cart_add-1"} 0
sluice_checkpoint_completed_total{pipeline="dws"} 12
sluice_checkpoint_failed_total{pipeline="dws"} 0
sluice_checkpoint_failed_in_a_row{pipeline="dws"} 0
sluice_checkpoint_running_seconds{pipeline="dws"} 0
sluice_checkpoint_last_number{pipeline="dws"} 12
sluice_checkpoint_last_completed_seconds{pipeline="dws"} 1654077660.8
sluice_checkpoint_last_duration_seconds{pipeline="dws"} 0.035
sluice_checkpoint_last_bytes{pipeline="dws"} 1258291
process_cpu_seconds_total 1.5
process_resident_memory_bytes 104857600
process_threads 9
process_open_fds 31
process_start_time_seconds 1654077599
)");
}

TEST_CASE("metrics: what is not known is left out, the end of the input is infinite, labels are escaped") {
  Progress p = small_progress();
  p.operators[0].watermark_ms = kEndOfTime;
  p.operators[1].watermark_ms = kNoTime;
  p.operators[1].counters = {{"a\"b\\c\n\xFF", 1}};
  p.splits[0].lag = -1;
  p.checkpoint = {};
  const std::string text = without_comments(metrics_text(p, {}, "0.1.0"));
  CHECK(text.find("sluice_watermark_seconds{pipeline=\"dws\",operator=\"cart\"} +Inf\n") != std::string::npos);
  CHECK(text.find("sluice_watermark_seconds{pipeline=\"dws\",operator=\"dedup\"}") == std::string::npos);
  CHECK(text.find("sluice_split_lag_rows{pipeline=\"dws\",operator=\"cart\",split=\"cart_add-0\"}") ==
        std::string::npos);
  CHECK(text.find("sluice_checkpoint_last_number") == std::string::npos);
  CHECK(text.find("counter=\"a\\\"b\\\\c\\n\uFFFD\"} 1\n") != std::string::npos);
}

TEST_CASE("this process uses something") {
  const ProcessUsage usage = read_process_usage();
  CHECK(usage.resident_bytes > 1'000'000);
  CHECK(usage.threads >= 1);
  CHECK(usage.open_files >= 3);
  CHECK(usage.started_s > 1.6e9);
}

TEST_CASE("health") {
  const HealthLimits limits{10'000, 60'000};
  Progress p = sample_progress();
  CHECK(health_of(p, limits).ok());

  SECTION("starting and failed are not well; stopping and finished are") {
    for (const auto& [phase, well] :
         {std::pair{"starting", false}, {"failed", false}, {"stopping", true}, {"finished", true}}) {
      p.phase = phase;
      CHECK(health_of(p, limits).ok() == well);
    }
    p.phase = "failed";
    CHECK(health_json(p, health_of(p, limits)) ==
          R"({"status":"failing","pipeline":"购物车","phase":"failed","problems":["the job has failed"],"waiting_for":["the watermark is held by split cart_add-1 of cart at 2022-06-01 09:00:00"]})");
  }
  SECTION("what is waited for is told, and is no problem") {
    p.waiting_for = {"cart: broker away: refused"};
    CHECK(health_json(p, health_of(p, limits)) ==
          R"({"status":"ok","pipeline":"购物车","phase":"running","problems":[],"waiting_for":["cart: broker away: refused"]})");
  }
  SECTION("checkpoints fail one after the other, however new the last good one is") {
    p.checkpoint.failed_in_a_row = 2;
    p.checkpoint.last_error = "no space left";
    CHECK(health_of(p, limits).ok());
    p.checkpoint.failed_in_a_row = 3;
    const std::vector<std::string> failing{"the last 3 checkpoints failed: no space left"};
    CHECK(health_of(p, limits).problems == failing);
    CHECK(health_of(p, {0, 0}).problems == failing);  // the final one alone
    p.phase = "stopping";
    CHECK(health_of(p, limits).problems == failing);
    p.phase = "finished";
    CHECK(health_of(p, limits).ok());
    p.phase = "running";
    p.started_ms -= 3'600'000;
    p.checkpoint.last_completed_ms = p.now_ms - 90'001;
    CHECK(health_of(p, limits).problems ==
          std::vector<std::string>{failing[0], "no checkpoint was completed for 1m30s (limit: 1m30s)"});
  }
  SECTION("the newest checkpoint is too old") {
    p.started_ms -= 3'600'000;
    p.checkpoint.last_completed_ms = p.now_ms - 90'000;
    CHECK(health_of(p, limits).ok());
    p.now_ms += 1;
    p.checkpoint.last_error = "no space left";
    CHECK(health_of(p, limits).problems ==
          std::vector<std::string>{"no checkpoint was completed for 1m30s (limit: 1m30s): no space left"});
  }
  SECTION("there was none since the start") {
    p.checkpoint = {};
    p.now_ms = p.started_ms + 90'000;
    CHECK(health_of(p, limits).ok());
    p.now_ms += 1'000;
    CHECK(health_of(p, limits).problems ==
          std::vector<std::string>{"no checkpoint was completed for 1m31s (limit: 1m30s)"});
  }
  SECTION("a job that only writes a final one is never late") {
    p.checkpoint = {};
    p.now_ms = p.started_ms + 1'000'000'000;
    CHECK(health_of(p, {0, 60'000}).ok());
  }
}

TEST_CASE("progress as JSON") {
  Progress p = small_progress();
  p.operators.pop_back();
  p.splits.resize(1);
  p.waiting_for = {"it says \"no\"\n<b>\xFF"};
  p.operators[0].counters = {{"late", 2}};
  CHECK(
      progress_json(p, {{{"cart", "late", "store", false}}}) ==
      R"({"pipeline":"dws","phase":"running","started_ms":1654077600000,"now_ms":1654077665000,"operators":[)"
      R"({"id":"cart","type":"kafka.source","source":true,"sink":false,"lanes":2,"rows_in":182340,"rows_out":182337,)"
      R"("rejected":3,"bytes_in":91170000,"watermark_ms":1654074000000,"input_ended":false,"watermark_holder":"cart_add-0",)"
      R"("busy_ns":1500000000,"state_entries":0,"state_bytes":0,"counters":{"late":2},"note":"",)"
      R"("last_error":"no time in create_time"}],)"
      R"("links":[{"from":"cart","port":"late","to":"store","broadcast":false}],)"
      R"("splits":[{"source":"cart","split":"cart_add-0","lane":0,"position":"offset 91170","lag":120,)"
      R"("watermark_ms":1654077599000,"idle":false,"caught_up":false,"ended":false,"gated":false}],)"
      R"("checkpoint":{"last_number":12,"last_completed_ms":1654077660800,"last_duration_ms":35,"last_bytes":1258291,)"
      R"("completed":12,"failed":0,"failed_in_a_row":0,"running_since_ms":null,"last_error":"","restored_from":""},)"
      R"("dead_letters":3,"dead_letters_dir":"./dead","waiting_for":["it says \"no\"\n<b>)"
      "\uFFFD\"]}");
}
