// The coordinator: starts and restores tasks, runs checkpoints, ends the job.
#include "runtime/job.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>

#include "base/failpoint.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/durable_file.h"
#include "checkpoint/restore_plan.h"
#include "config/nearest_name.h"
#include "config/scalar_values.h"
#include "data/text_view.h"
#include "data/time_reader.h"
#include "runtime/crash_report.h"
#include "runtime/dead_letter_target.h"
#include "runtime/epoch.h"
#include "runtime/job_context.h"
#include "runtime/plan_check.h"
#include "runtime/restore.h"
#include "runtime/task.h"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

// The host of an operator that looks outside: what it warns of belongs to what it finds.
struct CheckHost {
  sluice_host table;  // first: log() is given its address
  const sluice_host* usual;
  std::mutex mutex;
  std::vector<std::string> warnings;

  explicit CheckHost(const std::string& version) : table(*host_table(version)), usual(host_table(version)) {
    table.log = [](const sluice_host* host, uint32_t level, sluice_str text) {
      auto* self = reinterpret_cast<CheckHost*>(const_cast<sluice_host*>(host));
      if (level != SLUICE_LOG_WARNING) return self->usual->log(self->usual, level, text);
      try {
        const std::lock_guard lock(self->mutex);
        self->warnings.emplace_back(text.data, text.size);
      } catch (...) {  // as with any other log
      }
    };
  }
};

std::string key_text(const config::OperatorSection& section) { return config::list_names(section.key, ",", false); }

}  // namespace

struct Job::Impl {
  const config::PipelineDocument& document;
  plugin::PluginRegistry& registry;
  JobOptions options;
  base::SystemClock system_clock;
  const base::Clock* clock;
  Plan plan;

  // While running.
  std::unique_ptr<checkpoint::CheckpointStore> store;
  std::unique_ptr<state::StateResources> state;
  JobContext context;
  std::optional<PlanNode> dead_letter_node;
  std::unique_ptr<DeadLetterTarget> dead_letters_to;  // null: to files
  std::optional<checkpoint::Manifest> restored;
  std::vector<std::unique_ptr<Task>> tasks;
  std::atomic<int> stop_requests{0};
  std::atomic<bool> running{false};  // the tasks are; before, nothing is lost by ending at once
  std::vector<std::string> drop_states;

  struct Pending {
    uint64_t number = 0;
    bool last = false;
    int64_t since_ms = 0;
    std::chrono::steady_clock::time_point begin;
    std::optional<checkpoint::PendingCheckpoint> files;
    checkpoint::Manifest manifest;
    std::set<size_t> answered;  // tasks
    std::map<size_t, uint32_t> gate_lanes;  // by node: lanes that have seen the marker
    std::vector<std::string> snapshot_dirs;
    uint32_t stores = 0;
    struct Stored {
      std::vector<state::StoredState> of_lanes;
      uint64_t entries = 0, bytes = 0;
    };
    std::map<std::pair<std::string, std::string>, Stored> stored;  // by operator and state
  };
  std::optional<Pending> pending;

  mutable std::mutex progress_mutex;
  std::string phase = "starting";
  int64_t started_ms = 0;
  observe::CheckpointProgress checkpoint_progress;
  std::map<std::string, std::pair<uint64_t, uint64_t>> state_sizes;  // of the newest checkpoint, by operator: entries, bytes

  Impl(const config::PipelineDocument& d, plugin::PluginRegistry& r, JobOptions o)
      : document(d), registry(r), options(std::move(o)), clock(options.clock != nullptr ? options.clock : &system_clock) {}

  base::Status plan_graph(config::Diagnostics& diagnostics);
  std::string plugin_of(const PlanNode& node) const;
  bool ask_needs(PlanNode& node, config::Diagnostics& diagnostics);
  void plan_dead_letters(config::Diagnostics& diagnostics);
  base::Status choose_restore();
  base::Status prepare_context();
  std::string begun_path() const { return context.work_dir + "/lineage-without-checkpoint"; }
  base::Status discard_letters_of_nothing();
  base::Status recover_epochs();
  base::Status recover_epoch(size_t node, uint32_t lane, uint32_t lanes);
  base::Status patiently(Operator& op, const std::function<base::Status()>& f);
  base::Status build_tasks();
  base::Result<Outcome> coordinate();
  base::Status trigger(bool last);
  base::Status take_ack(TaskAck ack);
  base::Status complete_checkpoint();
  std::string who_did_not_answer() const;
  void give_up(const std::string& why);
  void note_failed(const std::string& why);
  std::vector<checkpoint::ManifestOperator> manifest_operators() const;
  void set_phase(const std::string& text) {
    const std::lock_guard lock(progress_mutex);
    phase = text;
  }
};

// ---- planning -----------------------------------------------------------------------------------------

base::Status Job::Impl::plan_graph(config::Diagnostics& diagnostics) {
  auto made = make_plan(
      document, [](void* user, std::string_view type) { return static_cast<plugin::PluginRegistry*>(user)->find(type); }, &registry);
  if (!made.is_ok()) return made.status();
  plan = std::move(made).value();
  context.plan = &plan;
  context.clock = clock;
  for (PlanNode& node : plan.nodes) {
    node.plugin = plugin_of(node);
    ask_needs(node, diagnostics);
  }
  plan_dead_letters(diagnostics);
  check_plan(plan, diagnostics);
  if (!diagnostics.has_errors()) finish_fields(plan);
  return base::Status::ok();
}

std::string Job::Impl::plugin_of(const PlanNode& node) const {
  const plugin::LoadedModule* from = registry.module_of(node.section->use);
  if (from == nullptr) return {};
  return std::string(data::view(from->module->name)) + " " + std::string(data::view(from->module->version));
}

// Makes an instance and asks it. False: it refuses its options, which is reported.
bool Job::Impl::ask_needs(PlanNode& node, config::Diagnostics& diagnostics) {
  const auto& section = *node.section;
  Operator probe(context, node, 0, node.lanes);
  sluice_needs needs{};
  base::Status s = probe.create(host_table(options.sluice_version));
  if (s.is_ok()) s = probe.needs(&needs);
  if (s.is_ok()) s = probe.plan_facts(&node.facts);
  if (!s.is_ok()) {
    if (node.role != SLUICE_ROLE_PARTIAL) report_at(diagnostics, section, option_named(section, s.message()), "operator-refused", s.message());
    return false;
  }
  for (size_t i = 0; i < needs.field_count; ++i) node.fields.push_back(plan.fields.add({needs.fields[i].data, needs.fields[i].size}));
  for (size_t i = 0; i < needs.broadcast_field_count; ++i)
    node.broadcast_fields.push_back(plan.fields.add({needs.broadcast_fields[i].data, needs.broadcast_fields[i].size}));
  node.needs_body = needs.body != 0;
  node.accepts_tombstones = needs.accepts_tombstones != 0;
  node.delivery = needs.delivery;
  if (node.is_source() && node.facts.gives_event_time && !node.event_time) node.event_time = config::own_event_time();
  for (size_t i = 0; i < node.desc->state_count; ++i) {
    const sluice_state_decl& decl = *node.desc->states[i];
    if (decl.ttl_required == 0) continue;
    const std::string option(decl.ttl_option.data, decl.ttl_option.size);
    const auto value = section.options.find(option);
    if (value == section.options.end() || value->second.as_int() <= 0)
      diagnostics.error(section.use_at, "ttl-required", section.path,
                        "state \"" + std::string(decl.name.data, decl.name.size) + "\" of " + section.use + " would grow without bound: give `" + option + "`");
  }
  return true;
}

void Job::Impl::plan_dead_letters(config::Diagnostics& diagnostics) {
  if (!document.dead_letters_to) return;
  const config::OperatorSection& section = *document.dead_letters_to;
  PlanNode node;
  node.section = &section;
  node.desc = registry.find(section.use);
  node.plugin = plugin_of(node);
  if (node.desc == nullptr || !ask_needs(node, diagnostics)) return;
  if (node.delivery == SLUICE_DELIVERY_EPOCH || node.desc->state_count > 0) {
    diagnostics.error(section.use_at, "dead-letters-by-epoch", section.path,
                      section.use + " as it is set up here writes with the checkpoints, which dead letters must not wait for", {},
                      "use a sink that writes at once, such as kafka.sink; for files leave `use` out and give `dir`");
    return;
  }
  dead_letter_node = std::move(node);
  dead_letters_to = std::make_unique<DeadLetterTarget>(context, *dead_letter_node,
                                                       [this] { return context.hard_stop || (!running && stop_requests.load() > 0); });
  context.dead_letters_to = dead_letters_to.get();
}

std::vector<checkpoint::ManifestOperator> Job::Impl::manifest_operators() const {
  std::vector<checkpoint::ManifestOperator> out;
  for (const PlanNode& node : plan.nodes) {
    if (node.role == SLUICE_ROLE_PARTIAL) continue;  // one operator of the file is one operator here
    checkpoint::ManifestOperator o;
    o.id = node.id();
    o.type = node.section->use;
    o.version = std::string(node.desc->version.data, node.desc->version.size);
    o.parallelism = node.lanes;
    o.key = key_text(*node.section);
    for (const auto& input : node.section->inputs) o.inputs += (o.inputs.empty() ? "" : ",") + input.id;
    for (const auto& d : state_decls(node)) o.states.push_back(checkpoint::describe_state(d));
    out.push_back(std::move(o));
  }
  return out;
}

// ---- start ----------------------------------------------------------------------------------------------

base::Status Job::Impl::choose_restore() {
  const auto n = static_cast<uint32_t>(std::max<int64_t>(1, document.checkpoint.keep));
  auto opened = checkpoint::CheckpointStore::open(document.checkpoint.dir, {n, clock, options.sluice_version});
  if (!opened.is_ok()) return opened.status();
  store = std::move(opened).value();
  if (options.from.empty()) {
    std::vector<uint64_t> abandoned;
    auto newest = store->latest(&abandoned);
    if (!newest.is_ok()) return newest.status();
    if (!newest->lineage.empty()) restored = std::move(newest).value();
    if (!abandoned.empty())
      spdlog::warn("the last run started {} and ended before its first checkpoint: this one starts there too. To go on from checkpoint {} instead: --from {}",
                   restored ? "from checkpoint " + std::to_string(restored->number) : "from scratch", abandoned.front(), abandoned.front());
  } else if (options.from != "none") {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(options.from.data(), options.from.data() + options.from.size(), number);
    if (error != std::errc() || end != options.from.data() + options.from.size())
      return base::Status::fatal("--from takes the number of a checkpoint or `none`, not \"" + options.from + "\"");
    auto chosen = store->load_verified(number);
    if (!chosen.is_ok()) return chosen.status();
    restored = std::move(chosen).value();
  }
  return base::Status::ok();
}

base::Status Job::Impl::prepare_context() {
  if (restored) {
    checkpoint::CurrentPipeline current;
    current.name = document.name;
    current.parallelism = static_cast<uint32_t>(document.parallelism);
    current.key_groups = static_cast<uint32_t>(document.key_groups);
    current.operators = manifest_operators();
    for (const PlanNode& node : plan.nodes)
      if (node.is_source()) current.source_ids.push_back(node.id());
    for (size_t n = 0; n < plan.nodes.size(); ++n)
      if (plan.nodes[n].has_broadcast())
        for (size_t source : plan.sources_of(n, SLUICE_PORT_BROADCAST)) current.broadcast_sources[plan.nodes[n].id()].push_back(plan.nodes[source].id());
    if (base::Status known = check_drop_states(options.drop_states, *restored, current.operators); !known.is_ok())
      return std::move(known).in("checkpoints");
    auto planned = checkpoint::plan_restore(*restored, current, options.drop_states);
    if (!planned.is_ok()) return base::Status(planned.status()).in("checkpoints");
    spdlog::info("{}", planned->text);
    drop_states = planned->drop_states;
    checkpoint::forget_dropped(*restored, drop_states);
    const std::lock_guard lock(progress_mutex);
    checkpoint_progress.restored_from = "checkpoint " + std::to_string(restored->number) + " of lineage " + restored->lineage.substr(0, 8);
  }
  SLUICE_TRY(store->begin_run(restored ? &*restored : nullptr));
  context.lineage = store->lineage();
  context.key_groups = static_cast<uint32_t>(document.key_groups);
  context.chunks = std::make_shared<data::ChunkPool>();
  context.dead_letters_dir = document.dead_letters_dir;
  context.work_dir = options.work_dir.empty() ? document.checkpoint.dir + "/work" : options.work_dir;
  SLUICE_TRY(discard_letters_of_nothing());
  std::error_code error;
  fs::remove_all(context.work_dir, error);
  // What is left there could be taken for the state of this run.
  if (error) return base::Status::fatal("cannot empty the working folder " + context.work_dir + ": " + error.message() + ". Remove it by hand");
  fs::create_directories(context.work_dir, error);
  if (error) return base::Status::fatal("cannot create the working folder " + context.work_dir + ": " + error.message());
  if (!restored || context.lineage != restored->lineage) {
    std::ofstream begun(begun_path());
    begun << context.lineage;
    if (!begun.flush()) return base::Status::fatal("cannot write " + begun_path());
  }
  state = std::make_unique<state::StateResources>(
      state::StateResourcesOptions{static_cast<uint64_t>(document.limits.state_memory), clock});
  context.state = state.get();
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const PlanNode& node = plan.nodes[n];
    context.gates.push_back(node.has_broadcast() ? std::make_unique<Gate>(node.lanes) : nullptr);
    context.sources.push_back(node.is_source() ? std::make_unique<SourceSplits>() : nullptr);
    if (!restored || !node.has_broadcast()) continue;
    for (const auto& g : restored->gates)
      if (g.operator_id == node.id() && g.open) context.gates[n]->open();
  }
  if (restored) SLUICE_TRY(DeadLetters::discard_after(document.dead_letters_dir, document.name, restored->lineage, restored->number));
  return base::Status::ok();
}

// A run that ended before the first checkpoint of its lineage has done nothing that counts: its rows are read again,
// and their dead letters would come twice.
base::Status Job::Impl::discard_letters_of_nothing() {
  std::string lineage;
  if (std::ifstream begun(begun_path()); !std::getline(begun, lineage) || lineage.empty()) return base::Status::ok();
  for (const auto& info : store->list())
    if (info.lineage == lineage) return base::Status::ok();
  return DeadLetters::discard_after(document.dead_letters_dir, document.name, lineage, 0);
}

base::Status Job::Impl::recover_epochs() {
  // What is delivered now belongs to the checkpoint, so its marker names the checkpoint's lineage: also when a new one
  // begins behind it.
  const std::string own = context.lineage;
  if (restored) context.lineage = restored->lineage;
  base::Status s;
  for (size_t n = 0; n < plan.nodes.size() && s.is_ok(); ++n) {
    const PlanNode& node = plan.nodes[n];
    if (!node.is_sink() || node.delivery != SLUICE_DELIVERY_EPOCH) continue;
    const auto* old = restored ? restored->find_operator(node.id()) : nullptr;
    const uint32_t lanes = std::max(node.lanes, old != nullptr ? old->parallelism : 0);
    for (uint32_t lane = 0; lane < lanes && s.is_ok(); ++lane) s = recover_epoch(n, lane, lanes);
  }
  context.lineage = own;
  return s;
}

// Until `f` answers something else than RETRY, or a stop is asked for.
base::Status Job::Impl::patiently(Operator& op, const std::function<base::Status()>& f) {
  for (;;) {
    base::Status s = f();
    if (s.code() != base::Code::kRetry) return s;
    op.set_last_error(s.message());
    spdlog::warn("operator \"{}\": {}; trying again", op.id(), s.message());
    for (uint32_t waited = 0; waited < s.retry_after_ms(); waited += 20) {
      if (stop_requests.load() > 0) return base::Status::cancelled("stopped while waiting for operator \"" + op.id() + "\": " + s.message());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

base::Status Job::Impl::recover_epoch(size_t n, uint32_t lane, uint32_t lanes) {
  const PlanNode& node = plan.nodes[n];
  const uint64_t number = restored ? restored->number : 0;
  Operator op(context, n, lane, lanes);
  data::JsonReader reader;
  std::shared_ptr<data::Arena> arena;
  const auto next_arena = [&] {
    arena = std::make_shared<data::Arena>(context.chunks);
    return arena;
  };
  op.bind_task([&] { return arena != nullptr ? arena : next_arena(); }, &reader, [] {});
  sluice_needs needs;
  SLUICE_TRY(op.create(host_table(options.sluice_version)));
  SLUICE_TRY(op.needs(&needs));
  SLUICE_TRY(patiently(op, [&] { return op.open(); }));
  uint64_t last = 0;
  std::string lineage;
  SLUICE_TRY(patiently(op, [&] { return op.last_committed(&last, &lineage); }));
  // A sink that holds more than the checkpoint would be given rows twice; one that holds less gets the spool.
  if (!lineage.empty() && (!restored || last > number)) {
    const std::string what =
        "sink \"" + node.id() + "\" (lane " + std::to_string(lane) + ") holds rows up to checkpoint " + std::to_string(last) + " of lineage " +
        lineage.substr(0, 8) + ", but the run starts " + (restored ? "from checkpoint " + std::to_string(number) : std::string("from scratch")) +
        ": rows after that would come twice";
    if (!options.accept_duplicates) return base::Status::fatal("checkpoints: " + what + ". Empty the target, or say --accept-duplicates");
    spdlog::warn("{} (accepted)", what);
  }
  if (restored) {
    EpochWriter writer(context, op, lane, reader, next_arena, [&](size_t source, const std::string& split, std::string_view position) {
      Operator describer(context, source, 0, 1);
      sluice_needs ignored;
      if (!describer.create(host_table(options.sluice_version)).is_ok() || !describer.needs(&ignored).is_ok()) return split;
      return describer.describe_position(split, position);
    });
    for (const auto& spool : restored->spools) {  // the oldest first
      // A marker of another lineage says nothing about the rows of this one.
      const auto holds_it = [&] { return lineage == restored->lineage && last >= spool.checkpoint; };
      if (spool.operator_id != node.id() || spool.lane != lane || holds_it()) continue;
      SLUICE_FAILPOINT("recovery.before_epoch");
      uint64_t refused = 0;
      SLUICE_TRY(patiently(op, [&]() -> base::Status {
        // The answer of an earlier attempt may have been lost, the rows not.
        SLUICE_TRY(op.last_committed(&last, &lineage));
        return holds_it() ? base::Status::ok() : writer.write(spool.checkpoint, store->path_of(*restored, spool.file), &refused);
      }));
      writer.count_refused(refused);
      SLUICE_FAILPOINT("recovery.after_epoch");
      spdlog::info("sink \"{}\", lane {}: the rows of checkpoint {} were delivered again", node.id(), lane, spool.checkpoint);
    }
  }
  return op.close();
}

base::Status Job::Impl::build_tasks() {
  std::vector<size_t> first_task;  // by stage
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    first_task.push_back(tasks.size());
    for (uint32_t lane = 0; lane < plan.stages[s].lanes; ++lane) tasks.push_back(std::make_unique<Task>(context, tasks.size(), s, lane));
  }
  for (size_t e = 0; e < plan.edges.size(); ++e) {
    const PlanEdge& edge = plan.edges[e];
    if (edge.route == Route::kChain) continue;
    const PlanNode &from = plan.nodes[edge.from], &to = plan.nodes[edge.to];
    for (uint32_t i = 0; i < from.lanes; ++i) {
      Task& sender = *tasks[first_task[from.stage] + i];
      for (uint32_t j = 0; j < to.lanes; ++j) {
        // Rows go to lane i mod n. Lanes that get none (there are more below) still hear of barriers, watermarks and the end.
        if (edge.route == Route::kForward && j != i % to.lanes && i != j % from.lanes) continue;
        Task& receiver = *tasks[first_task[to.stage] + j];
        sender.add_output(e, j, &receiver, receiver.add_input(e, &sender.mailbox()));
      }
    }
  }
  for (const auto& task : tasks) {
    for (size_t n : plan.stages[task->stage()].nodes) {
      if (!plan.nodes[n].has_state()) continue;
      auto opened = open_store(plan, n, task->lane(), context, restored ? &*restored : nullptr, store.get(), drop_states);
      if (!opened.is_ok()) return opened.status();
      task->set_store(n, std::move(opened).value());
    }
    SLUICE_TRY(task->prepare(host_table(options.sluice_version), {restored ? &*restored : nullptr}));
  }
  return base::Status::ok();
}

// ---- running --------------------------------------------------------------------------------------------

base::Status Job::Impl::trigger(bool last) {
  auto number = store->reserve_number();
  if (!number.is_ok()) return number.status();
  auto begun = store->begin(number.value());
  if (!begun.is_ok()) return begun.status();
  SLUICE_FAILPOINT("checkpoint.triggered");
  Pending p;
  p.number = number.value();
  p.last = last;
  p.since_ms = clock->now_ms();
  p.begin = std::chrono::steady_clock::now();
  p.files.emplace(std::move(begun).value());
  p.manifest.pipeline = document.name;
  p.manifest.parallelism = static_cast<uint32_t>(document.parallelism);
  p.manifest.key_groups = context.key_groups;
  p.manifest.operators = manifest_operators();
  for (const PlanNode& node : plan.nodes)
    if (node.is_source()) p.manifest.sources.push_back({node.id(), {}, true});
  pending = std::move(p);
  {
    const std::lock_guard lock(progress_mutex);
    checkpoint_progress.running = true;
    checkpoint_progress.running_since_ms = pending->since_ms;
  }
  for (const auto& task : tasks)
    if (task->has_source()) task->mailbox().command({Command::Kind::kBarrier, pending->number, last});
  return base::Status::ok();
}

base::Status Job::Impl::take_ack(TaskAck ack) {
  const auto remove_snapshots = [&] {
    for (const auto& s : ack.states) {
      std::error_code ignored;
      fs::remove_all(s.files.dir, ignored);
    }
  };
  if (!pending || ack.checkpoint != pending->number) {  // of a checkpoint that was given up
    remove_snapshots();
    return base::Status::ok();
  }
  if (!ack.failure.empty()) {
    remove_snapshots();
    give_up(ack.failure);
    return base::Status::ok();
  }
  checkpoint::Manifest& m = pending->manifest;
  for (StateSnapshot& s : ack.states) {
    const PlanNode& node = plan.nodes[s.node];
    const uint32_t index = pending->stores++;
    name_store(m, index, node, s.lane);
    s.files.lane = index;
    const base::Status added = pending->files->add_lane_state(s.files);
    if (!added.is_ok()) {
      remove_snapshots();
      give_up(added.message());
      return added.code() == base::Code::kRetry ? base::Status::ok() : added;
    }
    for (auto& o : m.operators) {
      if (o.id != node.id()) continue;
      o.timers += s.timers;
      for (const state::StoredState& stored : s.states) pending->stored[{o.id, stored.decl.name}].of_lanes.push_back(stored);
      for (const state::TableStats& table : s.stats) {
        auto& sum = pending->stored[{o.id, table.name}];
        sum.entries = table.kind == state::StateKind::kBroadcast ? table.entries : sum.entries + table.entries;  // every lane has the whole broadcast state
        sum.bytes += table.disk_bytes + table.cached_bytes;
      }
    }
  }
  remove_snapshots();
  for (const SpoolSegment& spool : ack.spools) {
    const base::Status added = pending->files->add_spool(plan.nodes[spool.node].id(), spool.lane, spool.checkpoint, spool.rows, spool.path);
    if (!added.is_ok()) {
      give_up(added.message());
      return added.code() == base::Code::kRetry ? base::Status::ok() : added;
    }
  }
  for (auto& [node, split] : ack.splits)
    for (auto& source : m.sources)
      if (source.operator_id == plan.nodes[node].id()) source.splits.push_back(std::move(split));
  for (const auto& [node, over] : ack.starts)
    for (auto& source : m.sources)
      if (source.operator_id == plan.nodes[node].id()) source.started = source.started && over;
  for (const auto& [node, w] : ack.watermarks)
    if (plan.nodes[node].role != SLUICE_ROLE_PARTIAL) m.watermarks.push_back({plan.nodes[node].id(), tasks[ack.task]->lane(), w});
  for (const auto& [node, seen] : ack.gates)
    if (seen) ++pending->gate_lanes[node];
  pending->answered.insert(ack.task);
  return pending->answered.size() == tasks.size() ? complete_checkpoint() : base::Status::ok();
}

base::Status Job::Impl::complete_checkpoint() {
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    if (plan.nodes[n].has_broadcast())
      pending->manifest.gates.push_back({plan.nodes[n].id(), pending->gate_lanes[n] == plan.nodes[n].lanes});
  // A lane that could not look for its splits yet says nothing about them: what the last checkpoint knew stays true.
  for (auto& source : pending->manifest.sources) {
    const auto* before = restored ? restored->find_source(source.operator_id) : nullptr;
    if (before == nullptr) continue;
    std::set<std::string> told;
    for (const auto& split : source.splits) told.insert(split.id);
    for (const auto& split : before->splits)
      if (!told.contains(split.id)) source.splits.push_back(split);
  }
  for (auto& source : pending->manifest.sources)
    std::sort(source.splits.begin(), source.splits.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  // What a reader must be able to read is what any lane may hold.
  for (auto& o : pending->manifest.operators)
    for (auto& declared : o.states)
      if (const auto stored = pending->stored.find({o.id, declared.name}); stored != pending->stored.end() && !stored->second.of_lanes.empty())
        declared = checkpoint::describe_state(stored->second.of_lanes, stored->second.entries);
  auto done = pending->files->complete(std::move(pending->manifest));
  if (!done.is_ok()) {
    give_up(done.status().message());
    return done.status().code() == base::Code::kRetry ? base::Status::ok() : done.status();
  }
  SLUICE_FAILPOINT("checkpoint.complete");
  std::error_code gone_already;
  fs::remove(begun_path(), gone_already);
  const uint64_t number = pending->number;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - pending->begin).count();
  uint64_t bytes = 0;
  for (const auto& lane : done->lanes)
    for (const auto& f : lane.files) bytes += f.size;
  for (const auto& spool : done->spools) bytes += spool.size;
  {
    const std::lock_guard lock(progress_mutex);
    checkpoint_progress.running = false;
    checkpoint_progress.last_number = number;
    checkpoint_progress.completed += 1;
    checkpoint_progress.failed_in_a_row = 0;
    checkpoint_progress.last_completed_ms = clock->now_ms();
    checkpoint_progress.last_duration_ms = took;
    checkpoint_progress.last_bytes = bytes;
    state_sizes.clear();
    for (const auto& [state, sum] : pending->stored) {
      auto& size = state_sizes[state.first];
      size.first += sum.entries;
      size.second += sum.bytes;
    }
    if (!checkpoint_progress.last_error.empty()) spdlog::info("checkpoints are written again: {} is complete", number);
    checkpoint_progress.last_error.clear();
  }
  spdlog::debug("checkpoint {} is complete ({} ms, {} bytes)", number, took, bytes);
  if (const base::Status s = store->retention_status(); !s.is_ok()) spdlog::warn("old checkpoints could not be removed: {}", s.message());
  pending.reset();
  for (const auto& task : tasks) task->mailbox().command({Command::Kind::kCommit, number, false});
  return dead_letters_to != nullptr ? dead_letters_to->commit(number) : base::Status::ok();
}

// Operators of the pending checkpoint, with their lanes.
std::string Job::Impl::who_did_not_answer() const {
  std::map<std::string, std::set<uint32_t>> lanes;
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (pending->answered.contains(t)) continue;
    for (const size_t n : plan.stages[tasks[t]->stage()].nodes) lanes[plan.nodes[n].id()].insert(tasks[t]->lane());
  }
  std::string out;
  for (const auto& [id, of] : lanes) {
    out += (out.empty() ? "\"" : ", \"") + id + "\" (" + (of.size() == 1 ? "lane" : "lanes");
    for (const uint32_t lane : of) out += (lane == *of.begin() ? " " : ", ") + std::to_string(lane);
    out += ")";
  }
  return out;
}

void Job::Impl::give_up(const std::string& why) {
  pending.reset();
  note_failed(why);
}

// Said once for each reason: a full disk lasts, and checkpoints are tried often.
void Job::Impl::note_failed(const std::string& why) {
  const std::lock_guard lock(progress_mutex);
  if (checkpoint_progress.last_error != why) spdlog::warn("no checkpoint: {}; the newest complete one stays in force, the job goes on and tries again", why);
  checkpoint_progress.running = false;
  checkpoint_progress.failed += 1;
  checkpoint_progress.failed_in_a_row += 1;
  checkpoint_progress.last_error = why;
}

base::Result<Outcome> Job::Impl::coordinate() {
  running = true;
  for (const auto& task : tasks) task->start();
  set_phase("running");
  const int64_t interval = document.checkpoint.interval_ms, timeout = document.checkpoint.timeout_ms;
  auto next = std::chrono::steady_clock::now();
  bool first = true, final_asked = false, final_done = false, stopped = false;
  base::Status failure;
  // Tasks whose rows only steer a broadcast side do not keep the job alive.
  const auto is_main = [&](const Task& task) {
    const auto& nodes = plan.stages[task.stage()].nodes;
    return std::any_of(nodes.begin(), nodes.end(), [&](size_t n) { return plan.nodes[n].is_sink(); });
  };
  while (failure.is_ok()) {
    context.wait(std::chrono::milliseconds(20));
    if (auto f = context.failure()) {
      failure = std::move(*f);
      break;
    }
    if (stop_requests.load() >= 2) context.hard_stop = true;
    if (context.hard_stop) break;
    for (TaskAck& ack : context.take_acks())
      if (base::Status s = take_ack(std::move(ack)); !s.is_ok() && failure.is_ok()) failure = std::move(s);
    if (!failure.is_ok()) break;
    if (stop_requests.load() > 0 && !stopped) {
      stopped = true;
      context.stopping = true;
      set_phase("stopping");
    }
    const bool input_ended = std::all_of(tasks.begin(), tasks.end(), [&](const auto& t) { return !is_main(*t) || t->has_ended(); });
    const auto now = std::chrono::steady_clock::now();
    if (pending) {
      if (timeout > 0 && now - pending->begin > std::chrono::milliseconds(timeout)) {
        final_asked = final_asked && !pending->last;
        give_up("not all operators answered within checkpoint.timeout (" + config::format_duration(timeout) + "): " + who_did_not_answer() + " did not");
      }
      continue;
    }
    if (final_asked) {
      final_done = checkpoint_progress.last_error.empty();
      if (final_done) break;
      final_asked = false;  // it failed: try again
    }
    if ((stopped || input_ended)) {
      if (options.no_final_checkpoint) break;
      if (now < next && !checkpoint_progress.last_error.empty()) continue;
      final_asked = true;
      if (base::Status s = trigger(true); !s.is_ok()) {
        final_asked = false;
        if (s.code() != base::Code::kRetry) failure = std::move(s);
        else note_failed(s.message());
      }
      next = now + std::chrono::seconds(1);
      continue;
    }
    const bool due = first ? std::all_of(tasks.begin(), tasks.end(), [](const auto& t) { return t->has_assigned(); })
                           : interval > 0 && now >= next;
    if (!due) {
      if (first && interval > 0 && now >= next + std::chrono::milliseconds(interval)) first = false;  // a source is away: go on without
      continue;
    }
    first = false;
    next = now + std::chrono::milliseconds(interval > 0 ? interval : INT64_C(1) << 40);
    if (base::Status s = trigger(false); !s.is_ok()) {
      if (s.code() != base::Code::kRetry) failure = std::move(s);
      else note_failed(s.message());
    }
  }
  if (!failure.is_ok()) context.hard_stop = true;
  for (const auto& task : tasks) task->mailbox().command({Command::Kind::kFinish, 0, false});
  while (!std::all_of(tasks.begin(), tasks.end(), [](const auto& t) { return t->has_finished(); })) {
    if (stop_requests.load() >= 2 || context.failure()) context.hard_stop = true;
    if (context.hard_stop)
      for (const auto& task : tasks) task->mailbox().wake();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const auto& task : tasks) task->join();
  if (dead_letters_to != nullptr)
    if (base::Status s = dead_letters_to->close(); failure.is_ok() && !s.is_ok() && s.code() != base::Code::kRetry) failure = std::move(s);
  if (failure.is_ok())
    if (auto f = context.failure()) failure = std::move(*f);
  set_phase(failure.is_ok() ? (stopped ? "stopped" : "finished") : "failed");
  if (!failure.is_ok()) return failure;
  if (context.hard_stop) return base::Status::cancelled("stopped at once, without a checkpoint");
  return stopped ? Outcome::kStopped : Outcome::kFinished;
}

// ---- the interface ------------------------------------------------------------------------------------------

Job::Job(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Job::~Job() = default;

base::Result<std::unique_ptr<Job>> Job::create(const config::PipelineDocument& document, plugin::PluginRegistry& registry, JobOptions options,
                                               config::Diagnostics& diagnostics) {
  auto impl = std::make_unique<Impl>(document, registry, std::move(options));
  impl->started_ms = impl->clock->now_ms();  // progress() may be called before run()
  SLUICE_TRY(impl->plan_graph(diagnostics));
  if (diagnostics.has_errors()) return base::Status::fatal("the pipeline has errors");
  return std::unique_ptr<Job>(new Job(std::move(impl)));
}

size_t Job::check_outside(config::Diagnostics& diagnostics) {
  Impl& m = *impl_;
  const auto check_folder = [&](const std::string& dir, const config::Location& at, const char* key, const char* what) {
    const base::Status s = checkpoint::check_writable(dir);
    if (!s.is_ok())
      diagnostics.error(at, "outside", key, std::string(what) + ": " + s.message() + ". Make it writable, or name another one in " + key);
  };
  check_folder(m.document.checkpoint.dir, m.document.checkpoint.dir_at, "checkpoint.dir", "folder of the checkpoints");
  check_folder(m.document.dead_letters_dir, m.document.dead_letters_dir_at, "dead_letters.dir", "folder of the dead letters");
  size_t asked = 0;
  const auto ask = [&](const PlanNode& node) {
    CheckHost host(m.options.sluice_version);  // outlives the instance
    Operator op(m.context, node, 0, 1);
    sluice_needs needs{};
    std::vector<Operator::Problem> problems;
    base::Status s = op.create(&host.table);
    if (s.is_ok()) s = op.needs(&needs);
    if (s.is_ok() && !op.can_check()) return;
    ++asked;
    if (s.is_ok()) s = op.check(&problems);
    if (!s.is_ok()) problems.push_back({"", s.message()});
    const std::string who = "operator \"" + node.id() + "\" (" + node.section->use + "): ";
    for (const std::string& text : host.warnings) diagnostics.warning(node.section->use_at, "outside", node.section->path, who + text);
    for (const Operator::Problem& p : problems)
      report_at(diagnostics, *node.section, node.section->options.find(p.option), "outside", p.text.rfind(who, 0) == 0 ? p.text : who + p.text);
  };
  for (const PlanNode& node : m.plan.nodes)
    if (node.role != SLUICE_ROLE_PARTIAL) ask(node);  // of two phases both would say the same
  if (m.dead_letter_node) ask(*m.dead_letter_node);
  return asked;
}

std::string Job::describe_plan() const { return impl_->plan.describe(); }

base::Result<Outcome> Job::run() {
  const JobRuns runs;
  Impl& m = *impl_;
  // `checkpoints: ` before a message: the start was refused for what the store or a sink holds (job.h).
  base::Status s = m.choose_restore().in("checkpoints");
  if (s.is_ok()) s = m.prepare_context();
  if (s.is_ok() && m.dead_letters_to != nullptr) s = m.dead_letters_to->open(host_table(m.options.sluice_version));
  if (s.is_ok()) s = m.recover_epochs();
  if (s.is_ok()) s = m.build_tasks();
  if (s.is_ok()) s = m.store->confirm_run();  // a start that was refused changes nothing
  if (!s.is_ok()) {
    m.set_phase("failed");
    return s;
  }
  auto outcome = m.coordinate();
  m.pending.reset();
  return outcome;
}

void Job::request_stop() {
  impl_->stop_requests.fetch_add(1);
  impl_->context.notify();
}

observe::Progress Job::progress() const {
  const Impl& m = *impl_;
  observe::Progress p;
  p.pipeline = m.document.name;
  p.started_ms = m.started_ms;
  p.now_ms = m.clock->now_ms();
  std::map<size_t, NodeProgress> by_node;
  std::vector<std::string> waiting;
  {
    const std::lock_guard lock(m.progress_mutex);
    p.phase = m.phase;
    p.checkpoint = m.checkpoint_progress;
  }
  if (p.phase != "starting")
    for (const auto& task : m.tasks) task->add_progress(&by_node, &p.splits, &waiting);
  for (std::string& reason : waiting)  // lanes mostly wait for the same thing
    if (std::find(p.waiting_for.begin(), p.waiting_for.end(), reason) == p.waiting_for.end()) p.waiting_for.push_back(std::move(reason));
  for (const auto& section : m.document.operators) {
    observe::OperatorProgress o;
    o.id = section.id;
    o.type = section.use;
    for (auto& [n, part] : by_node) {
      const PlanNode& node = m.plan.nodes[n];
      if (node.id() != section.id) continue;
      // Of two phases the first one takes the rows in and the second one gives them out.
      if (node.role != SLUICE_ROLE_MERGE) o.rows_in += part.rows_in;
      if (node.role != SLUICE_ROLE_PARTIAL) o.rows_out += part.rows_out;
      o.rejected += part.rejected;
      o.bytes_in += part.bytes_in;
      o.busy_ns += part.busy_ns;
      o.lanes = node.lanes;
      o.watermark_ms = part.watermark_ms;
      for (const auto& [name, value] : part.counters) o.counters[name] += value;
      if (!part.note.empty()) o.note = part.note;
      if (!part.last_error.empty()) o.last_error = part.last_error;
    }
    {
      const std::lock_guard lock(m.progress_mutex);
      if (const auto size = m.state_sizes.find(section.id); size != m.state_sizes.end()) {
        o.state_entries = size->second.first;
        o.state_bytes = size->second.second;
      }
    }
    if (!o.note.empty()) p.waiting_for.push_back(o.id + ": " + o.note);
    p.operators.push_back(std::move(o));
  }
  p.dead_letters = m.context.dead_letter_count.load();
  p.dead_letters_dir = m.document.dead_letters_to ? m.document.dead_letters_to->use : m.document.dead_letters_dir;
  if (m.dead_letters_to != nullptr)
    if (std::string waiting = m.dead_letters_to->waiting(); !waiting.empty()) p.waiting_for.push_back(std::move(waiting));
  for (size_t n = 0; p.phase != "starting" && n < m.context.gates.size(); ++n) {  // they are made while it starts
    if (m.context.gates[n] == nullptr || m.context.gates[n]->is_open()) continue;
    p.waiting_for.push_back("the gate of " + m.plan.nodes[n].id() + " is closed: the snapshot of its broadcast side is not complete");
  }
  const observe::SplitProgress* holder = nullptr;
  for (const auto& s : p.splits)
    if (!s.idle && !s.ended && !s.gated && (holder == nullptr || s.watermark_ms < holder->watermark_ms)) holder = &s;
  const bool timed = std::any_of(m.plan.nodes.begin(), m.plan.nodes.end(), [&](const auto& n) { return holder != nullptr && n.id() == holder->source_id && n.event_time; });
  if (timed && p.splits.size() > 1) {
    const bool others_ahead = std::any_of(p.splits.begin(), p.splits.end(), [&](const auto& s) { return s.source_id == holder->source_id && s.watermark_ms > holder->watermark_ms; });
    if (others_ahead && (holder->caught_up || holder->watermark_ms == observe::kNoTime))
      p.waiting_for.push_back("the watermark is held by split " + holder->split + " of " + holder->source_id +
                              (holder->watermark_ms == observe::kNoTime ? std::string(": it has given no rows yet")
                                                                        : " at " + data::format_utc(holder->watermark_ms) + "Z: it has no newer rows"));
  }
  return p;
}

bool gives_event_time(const config::PipelineDocument& document, const config::OperatorSection& source, plugin::PluginRegistry& registry,
                      const std::string& sluice_version) {
  Plan plan;
  plan.document = &document;
  JobContext context;
  context.plan = &plan;
  PlanNode node;
  node.section = &source;
  node.desc = registry.find(source.use);
  if (node.desc == nullptr) return false;
  Operator probe(context, node, 0, 1);
  sluice_needs needs;
  return probe.create(host_table(sluice_version)).is_ok() && probe.needs(&needs).is_ok() && probe.plan_facts(&node.facts).is_ok() &&
         node.facts.gives_event_time;
}

}  // namespace sluice::runtime
