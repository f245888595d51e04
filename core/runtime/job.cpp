// The coordinator: starts and restores tasks, runs checkpoints, ends the job.
#include "runtime/job.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "base/failpoint.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/restore_plan.h"
#include "config/nearest_name.h"
#include "data/time_reader.h"
#include "runtime/epoch.h"
#include "runtime/job_context.h"
#include "runtime/restore.h"
#include "runtime/task.h"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

// In Manifest::extra: "C R", when a commit of checkpoint C got no answer and its rows are the first R of the spool.
std::string tried_name(const std::string& operator_id, uint32_t lane) { return "epoch_tried/" + operator_id + "/" + std::to_string(lane); }

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
  std::optional<checkpoint::Manifest> restored;
  std::vector<std::unique_ptr<Task>> tasks;
  std::atomic<int> stop_requests{0};
  std::vector<std::string> drop_states;

  struct Pending {
    uint64_t number = 0;
    bool last = false;
    int64_t since_ms = 0;
    std::chrono::steady_clock::time_point begin;
    std::optional<checkpoint::PendingCheckpoint> files;
    checkpoint::Manifest manifest;
    size_t acks = 0;
    std::map<size_t, uint32_t> gate_lanes;  // by node: lanes that have seen the marker
    std::vector<std::string> snapshot_dirs;
    uint32_t stores = 0;
  };
  std::optional<Pending> pending;

  mutable std::mutex progress_mutex;
  std::string phase = "starting";
  int64_t started_ms = 0;
  observe::CheckpointProgress checkpoint_progress;
  std::map<std::string, std::pair<uint64_t, uint64_t>> state_sizes;  // by operator: entries, bytes

  Impl(const config::PipelineDocument& d, plugin::PluginRegistry& r, JobOptions o)
      : document(d), registry(r), options(std::move(o)), clock(options.clock != nullptr ? options.clock : &system_clock) {}

  base::Status plan_graph(config::Diagnostics& diagnostics);
  base::Status choose_restore();
  base::Status prepare_context();
  base::Status recover_epochs();
  base::Status recover_epoch(size_t node, uint32_t lane, uint32_t lanes);
  base::Status patiently(Operator& op, const std::function<base::Status()>& f);
  base::Status build_tasks();
  base::Result<Outcome> coordinate();
  base::Status trigger(bool last);
  base::Status take_ack(TaskAck ack);
  base::Status complete_checkpoint();
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
  const sluice_host* host = host_table(options.sluice_version);
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    PlanNode& node = plan.nodes[n];
    const auto& section = *node.section;
    Operator probe(context, n, 0, node.lanes);
    sluice_needs needs{};
    base::Status s = probe.create(host);
    if (s.is_ok()) s = probe.needs(&needs);
    if (!s.is_ok()) {
      if (node.role != SLUICE_ROLE_PARTIAL) diagnostics.error(section.use_at, "operator-refused", section.path, s.message());
      continue;
    }
    for (size_t i = 0; i < needs.field_count; ++i) node.fields.push_back(plan.fields.add({needs.fields[i].data, needs.fields[i].size}));
    for (size_t i = 0; i < needs.broadcast_field_count; ++i)
      node.broadcast_fields.push_back(plan.fields.add({needs.broadcast_fields[i].data, needs.broadcast_fields[i].size}));
    node.needs_body = needs.body != 0;
    node.accepts_tombstones = needs.accepts_tombstones != 0;
    node.delivery = needs.delivery;
    for (size_t i = 0; i < node.desc->state_count; ++i) {
      const sluice_state_decl& decl = *node.desc->states[i];
      if (decl.ttl_required == 0) continue;
      const std::string option(decl.ttl_option.data, decl.ttl_option.size);
      const auto value = section.options.find(option);
      if (value == section.options.end() || value->second.as_int() <= 0)
        diagnostics.error(section.use_at, "ttl-required", section.path,
                          "state \"" + std::string(decl.name.data, decl.name.size) + "\" of " + section.use + " would grow without bound: give `" + option + "`");
    }
  }
  if (!diagnostics.has_errors()) finish_fields(plan);
  return base::Status::ok();
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
    auto newest = store->latest();
    if (!newest.is_ok()) return newest.status();
    if (!newest->lineage.empty()) restored = std::move(newest).value();
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
    auto planned = checkpoint::plan_restore(*restored, current, options.drop_states);
    if (!planned.is_ok()) return base::Status(planned.status()).in("checkpoints");
    spdlog::info("{}", planned->text);
    drop_states = planned->drop_states;
    const std::lock_guard lock(progress_mutex);
    checkpoint_progress.restored_from = "checkpoint " + std::to_string(restored->number) + " of lineage " + restored->lineage.substr(0, 8);
  }
  SLUICE_TRY(store->begin_run(restored ? &*restored : nullptr));
  context.lineage = store->lineage();
  context.key_groups = static_cast<uint32_t>(document.key_groups);
  context.chunks = std::make_shared<data::ChunkPool>();
  context.dead_letters_dir = document.dead_letters_dir;
  context.work_dir = options.work_dir.empty() ? document.checkpoint.dir + "/work" : options.work_dir;
  std::error_code error;
  fs::remove_all(context.work_dir, error);
  fs::create_directories(context.work_dir, error);
  if (error) return base::Status::fatal("cannot create the working folder " + context.work_dir + ": " + error.message());
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
  std::vector<std::string> files;
  if (restored)
    for (const auto& spool : restored->spools)
      if (spool.operator_id == node.id() && spool.lane == lane) files.push_back(store->path_of(*restored, spool.file));
  // A marker of another lineage says nothing about the rows of this checkpoint.
  const auto holds = [&](uint64_t checkpoint) { return lineage == restored->lineage && last == checkpoint; };
  const auto holds_it = [&] { return lineage == restored->lineage && last >= number; };
  if (!files.empty() && !holds_it()) {
    SLUICE_FAILPOINT("recovery.before_epoch");
    EpochWriter writer(context, op, lane, reader, next_arena, [&](size_t source, const std::string& split, std::string_view position) {
      Operator describer(context, source, 0, 1);
      sluice_needs ignored;
      if (!describer.create(host_table(options.sluice_version)).is_ok() || !describer.needs(&ignored).is_ok()) return split;
      return describer.describe_position(split, position);
    });
    uint64_t skip = 0, refused = 0;
    if (const auto tried = restored->extra.find(tried_name(node.id(), lane)); tried != restored->extra.end()) {
      uint64_t checkpoint = 0, rows = 0;
      const char *begin = tried->second.data(), *end = begin + tried->second.size();
      const auto first = std::from_chars(begin, end, checkpoint);
      if (first.ec != std::errc() || first.ptr == end || std::from_chars(first.ptr + 1, end, rows).ec != std::errc())
        return base::Status::fatal("checkpoint " + std::to_string(number) + " is damaged: " + tried->first + " is \"" + tried->second + "\"");
      if (holds(checkpoint)) skip = rows;
      else SLUICE_TRY(writer.void_letters(checkpoint));
    }
    SLUICE_TRY(patiently(op, [&]() -> base::Status {
      // The answer of an earlier attempt may have been lost, the rows not.
      SLUICE_TRY(op.last_committed(&last, &lineage));
      return holds_it() ? base::Status::ok() : writer.write(number, files, skip, &refused);
    }));
    writer.count_refused(refused);
    SLUICE_FAILPOINT("recovery.after_epoch");
    spdlog::info("sink \"{}\", lane {}: the rows of checkpoint {} were delivered again", node.id(), lane, number);
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
    if (node.is_source()) p.manifest.sources.push_back({node.id(), {}});
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
      for (auto& declared : o.states)
        for (const auto& stored : s.states)
          if (stored.decl.name == declared.name && stored.decl.operator_id == node.id()) declared.oldest_format = std::min(declared.oldest_format, stored.oldest_format);
      for (auto& declared : o.states)
        for (const auto& t : s.stats)
          if (t.name == declared.name) declared.entries += t.entries;
    }
  }
  remove_snapshots();
  for (const SpoolSegment& spool : ack.spools) {
    const base::Status added = pending->files->add_spool(plan.nodes[spool.node].id(), spool.lane, spool.rows, spool.path);
    if (!added.is_ok()) {
      give_up(added.message());
      return added.code() == base::Code::kRetry ? base::Status::ok() : added;
    }
    if (spool.tried_checkpoint != 0)
      m.extra[tried_name(plan.nodes[spool.node].id(), spool.lane)] = std::to_string(spool.tried_checkpoint) + " " + std::to_string(spool.tried_rows);
  }
  for (auto& [node, split] : ack.splits)
    for (auto& source : m.sources)
      if (source.operator_id == plan.nodes[node].id()) source.splits.push_back(std::move(split));
  for (const auto& [node, w] : ack.watermarks)
    if (plan.nodes[node].role != SLUICE_ROLE_PARTIAL) m.watermarks.push_back({plan.nodes[node].id(), tasks[ack.task]->lane(), w});
  for (const auto& [node, seen] : ack.gates)
    if (seen) ++pending->gate_lanes[node];
  {
    const std::lock_guard lock(progress_mutex);
    for (const StateSnapshot& s : ack.states) {
      auto& size = state_sizes[plan.nodes[s.node].id()];
      if (s.lane == 0) size = {0, 0};
      for (const auto& t : s.stats) {
        size.first += t.entries;
        size.second += t.disk_bytes + t.cached_bytes;
      }
    }
  }
  return ++pending->acks == tasks.size() ? complete_checkpoint() : base::Status::ok();
}

base::Status Job::Impl::complete_checkpoint() {
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    if (plan.nodes[n].has_broadcast())
      pending->manifest.gates.push_back({plan.nodes[n].id(), pending->gate_lanes[n] == plan.nodes[n].lanes});
  for (auto& source : pending->manifest.sources)
    std::sort(source.splits.begin(), source.splits.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  auto done = pending->files->complete(std::move(pending->manifest));
  if (!done.is_ok()) {
    give_up(done.status().message());
    return done.status().code() == base::Code::kRetry ? base::Status::ok() : done.status();
  }
  SLUICE_FAILPOINT("checkpoint.complete");
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
    checkpoint_progress.last_completed_ms = clock->now_ms();
    checkpoint_progress.last_duration_ms = took;
    checkpoint_progress.last_bytes = bytes;
    checkpoint_progress.last_error.clear();
  }
  spdlog::debug("checkpoint {} is complete ({} ms, {} bytes)", number, took, bytes);
  if (const base::Status s = store->retention_status(); !s.is_ok()) spdlog::warn("old checkpoints could not be removed: {}", s.message());
  pending.reset();
  for (const auto& task : tasks) task->mailbox().command({Command::Kind::kCommit, number, false});
  return base::Status::ok();
}

void Job::Impl::give_up(const std::string& why) {
  spdlog::warn("checkpoint {} was given up: {}", pending->number, why);
  pending.reset();
  note_failed(why);
}

void Job::Impl::note_failed(const std::string& why) {
  const std::lock_guard lock(progress_mutex);
  checkpoint_progress.running = false;
  checkpoint_progress.failed += 1;
  checkpoint_progress.last_error = why;
}

base::Result<Outcome> Job::Impl::coordinate() {
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
        give_up("not all operators answered within checkpoint.timeout");
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

std::string Job::describe_plan() const { return impl_->plan.describe(); }

base::Result<Outcome> Job::run() {
  Impl& m = *impl_;
  // `checkpoints: ` before a message: the start was refused for what the store or a sink holds (job.h).
  base::Status s = m.choose_restore().in("checkpoints");
  if (s.is_ok()) s = m.prepare_context();
  if (s.is_ok()) s = m.recover_epochs();
  if (s.is_ok()) s = m.build_tasks();
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
  std::map<size_t, observe::OperatorProgress> by_node;
  {
    const std::lock_guard lock(m.progress_mutex);
    p.phase = m.phase;
    p.checkpoint = m.checkpoint_progress;
  }
  if (p.phase != "starting")
    for (const auto& task : m.tasks) task->add_progress(&by_node, &p.splits, &p.waiting_for);
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
  p.dead_letters_dir = m.document.dead_letters_dir;
  for (size_t n = 0; p.phase != "starting" && n < m.context.gates.size(); ++n) {  // they are made while it starts
    if (m.context.gates[n] == nullptr || m.context.gates[n]->is_open()) continue;
    p.waiting_for.push_back("the gate of " + m.plan.nodes[n].id() + " is closed: the snapshot of its broadcast side is not complete");
  }
  const observe::SplitProgress* holder = nullptr;
  for (const auto& s : p.splits)
    if (!s.idle && !s.ended && !s.gated && (holder == nullptr || s.watermark_ms < holder->watermark_ms)) holder = &s;
  const bool timed = std::any_of(m.document.operators.begin(), m.document.operators.end(), [&](const auto& o) { return holder != nullptr && o.id == holder->source_id && o.event_time; });
  if (timed && p.splits.size() > 1) {
    const bool others_ahead = std::any_of(p.splits.begin(), p.splits.end(), [&](const auto& s) { return s.source_id == holder->source_id && s.watermark_ms > holder->watermark_ms; });
    if (others_ahead && (holder->caught_up || holder->watermark_ms == observe::kNoTime))
      p.waiting_for.push_back("the watermark is held by split " + holder->split + " of " + holder->source_id +
                              (holder->watermark_ms == observe::kNoTime ? std::string(": it has given no rows yet")
                                                                        : " at " + data::format_utc(holder->watermark_ms) + "Z: it has no newer rows"));
  }
  return p;
}

}  // namespace sluice::runtime
