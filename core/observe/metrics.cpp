#include "observe/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include "observe/terminal_text.h"

namespace sluice::observe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  explicit Families(std::string pipeline) : pipeline_(valid_utf8(pipeline)) {}

  void begin(MetricType type, const char* name, const char* help) {
    families_.push_back({});
    families_.back().name = name;
    families_.back().help = help;
    families_.back().type = type;
  }
  void counter(const char* name, const char* help) { begin(MetricType::Counter, name, help); }
  void gauge(const char* name, const char* help) { begin(MetricType::Gauge, name, help); }

  // To the family that was begun last.
  void add(double value, Labels labels = {}) {
    ClientMetric metric;
    metric.label.push_back({"pipeline", pipeline_});
    for (auto& label : labels) metric.label.push_back({label.name, valid_utf8(label.value)});
    add_bare(value, std::move(metric));
  }
  // The same without the pipeline's label: metrics that every program has under the same name.
  void add_of_process(double value) { add_bare(value, {}); }

  std::string text() {
    std::erase_if(families_, [](const MetricFamily& family) { return family.metric.empty(); });
    std::ostringstream out;
    out.imbue(std::locale::classic());
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  void add_bare(double value, ClientMetric metric) {
    MetricFamily& family = families_.back();
    if (family.type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family.metric.push_back(std::move(metric));
  }

  std::string pipeline_;
  std::vector<MetricFamily> families_;
};

double seconds(int64_t ms) { return static_cast<double>(ms) / 1e3; }

// kNoTime must have been left out before.
double watermark_seconds(int64_t ms) {
  return ms == kEndOfTime ? std::numeric_limits<double>::infinity() : seconds(ms);
}

void add_operators(Families& out, const Progress& p) {
  using Value = double (*)(const OperatorProgress&);
  const auto each = [&](Value value) {
    for (const OperatorProgress& op : p.operators) out.add(value(op), {{"operator", op.id}});
  };
  out.gauge("sluice_lanes", "Lanes (parallel instances) of an operator.");
  for (const OperatorProgress& op : p.operators) out.add(op.lanes, {{"operator", op.id}, {"type", op.type}});
  out.counter("sluice_rows_in_total", "Rows that went into an operator; of a source: rows read.");
  each([](const OperatorProgress& op) { return static_cast<double>(op.rows_in); });
  out.counter("sluice_rows_out_total", "Rows that an operator gave on.");
  each([](const OperatorProgress& op) { return static_cast<double>(op.rows_out); });
  out.counter("sluice_rejected_total", "Rows that an operator could not use; on_error was applied to them.");
  each([](const OperatorProgress& op) { return static_cast<double>(op.rejected); });
  out.counter("sluice_bytes_in_total", "Payload bytes that a source read.");
  for (const OperatorProgress& op : p.operators)
    if (op.bytes_in > 0) out.add(static_cast<double>(op.bytes_in), {{"operator", op.id}});
  out.counter("sluice_busy_seconds_total", "Time spent inside the operator's plugin, all lanes.");
  each([](const OperatorProgress& op) { return static_cast<double>(op.busy_ns) / 1e9; });
  out.gauge("sluice_state_entries", "Entries in the operator's state, approximately.");
  each([](const OperatorProgress& op) { return static_cast<double>(op.state_entries); });
  out.gauge("sluice_state_bytes", "Size of the operator's state, approximately.");
  each([](const OperatorProgress& op) { return static_cast<double>(op.state_bytes); });
  out.gauge("sluice_watermark_seconds",
            "Watermark of an operator as seconds since 1970; +Inf after the end of the input.");
  for (const OperatorProgress& op : p.operators)
    if (op.watermark_ms != kNoTime) out.add(watermark_seconds(op.watermark_ms), {{"operator", op.id}});
  out.counter("sluice_operator_counter_total", "Counters of the operators' own; every kind of dropped row has one.");
  for (const OperatorProgress& op : p.operators)
    for (const auto& [name, value] : op.counters)
      out.add(static_cast<double>(value), {{"operator", op.id}, {"counter", name}});
}

void add_splits(Families& out, const Progress& p) {
  const auto labels = [](const SplitProgress& split) -> Labels {
    return {{"operator", split.source_id}, {"split", split.split}};
  };
  out.gauge("sluice_split_lag_rows", "Rows between a split's position and its end.");
  for (const SplitProgress& split : p.splits)
    if (split.lag >= 0) out.add(static_cast<double>(split.lag), labels(split));
  out.gauge("sluice_split_watermark_seconds", "Watermark of a split as seconds since 1970.");
  for (const SplitProgress& split : p.splits)
    if (split.watermark_ms != kNoTime) out.add(watermark_seconds(split.watermark_ms), labels(split));
  using Flag = bool SplitProgress::*;
  const std::tuple<const char*, const char*, Flag> flags[] = {
      {"sluice_split_idle", "1 when a split is left out of the watermark because nothing comes.", &SplitProgress::idle},
      {"sluice_split_caught_up", "1 when a split is read to its present end.", &SplitProgress::caught_up},
      {"sluice_split_ended", "1 when a bounded split is read to its end for good.", &SplitProgress::ended},
      {"sluice_split_gated", "1 when a split waits for the snapshot of a broadcast input.", &SplitProgress::gated},
  };
  for (const auto& [name, help, flag] : flags) {
    out.gauge(name, help);
    for (const SplitProgress& split : p.splits) out.add(split.*flag ? 1 : 0, labels(split));
  }
}

void add_checkpoint(Families& out, const CheckpointProgress& c, int64_t now_ms) {
  out.counter("sluice_checkpoint_completed_total", "Checkpoints that this run completed.");
  out.add(static_cast<double>(c.completed));
  out.counter("sluice_checkpoint_failed_total", "Checkpoints that this run could not complete.");
  out.add(static_cast<double>(c.failed));
  out.gauge("sluice_checkpoint_failed_in_a_row", "Checkpoints that failed since the newest complete one.");
  out.add(static_cast<double>(c.failed_in_a_row));
  out.gauge("sluice_checkpoint_running_seconds", "How long the checkpoint being written has taken so far; 0: none is.");
  out.add(c.running ? seconds(now_ms - c.running_since_ms) : 0);
  if (c.completed == 0) return;
  out.gauge("sluice_checkpoint_last_number", "Number of the newest complete checkpoint.");
  out.add(static_cast<double>(c.last_number));
  out.gauge("sluice_checkpoint_last_completed_seconds", "When the newest checkpoint was complete, seconds since 1970.");
  out.add(seconds(c.last_completed_ms));
  out.gauge("sluice_checkpoint_last_duration_seconds", "How long the newest checkpoint took.");
  out.add(seconds(c.last_duration_ms));
  out.gauge("sluice_checkpoint_last_bytes", "Size of the files that were new in the newest checkpoint.");
  out.add(static_cast<double>(c.last_bytes));
}

}  // namespace

std::string metrics_text(const Progress& progress, const ProcessUsage& usage, const std::string& sluice_version) {
  Families out(progress.pipeline);
  out.gauge("sluice_info", "Always 1; the labels say what runs.");
  out.add(1, {{"version", sluice_version}});
  out.gauge("sluice_phase", "1 for the phase that the job is in.");
  for (const char* phase : {"starting", "running", "stopping", "stopped", "finished", "failed"})
    out.add(progress.phase == phase ? 1 : 0, {{"phase", phase}});
  out.gauge("sluice_start_time_seconds", "When the job was started, seconds since 1970.");
  out.add(seconds(progress.started_ms));
  out.gauge("sluice_waiting_reasons", "How many reasons there are why nothing comes out; /progress has them as text.");
  out.add(static_cast<double>(progress.waiting_for.size()));
  out.counter("sluice_dead_letters_total", "Rows written to the dead letters.");
  out.add(static_cast<double>(progress.dead_letters));
  add_operators(out, progress);
  add_splits(out, progress);
  add_checkpoint(out, progress.checkpoint, progress.now_ms);

  out.counter("process_cpu_seconds_total", "User and system CPU time of the process.");
  out.add_of_process(usage.cpu_seconds);
  out.gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.");
  out.add_of_process(static_cast<double>(usage.resident_bytes));
  out.gauge("process_threads", "Threads of the process.");
  out.add_of_process(static_cast<double>(usage.threads));
  out.gauge("process_open_fds", "File descriptors that are open.");
  out.add_of_process(static_cast<double>(usage.open_files));
  out.gauge("process_start_time_seconds", "When the process was started, seconds since 1970.");
  out.add_of_process(usage.started_s);
  return out.text();
}

}  // namespace sluice::observe
