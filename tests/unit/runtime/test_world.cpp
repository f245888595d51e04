#include "test_world.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint_store.h"
#include "plugin/catalog.h"

namespace sluice::runtime::testing {
namespace {

// ---- operators -----------------------------------------------------------------------------------------

struct SourceConfig {
  std::string script;
  bool times = false;
};
class ScriptSource final : public Source<SourceConfig> {
 public:
  static constexpr const char* kType = "test.source";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Reads a script.";
  static Options<SourceConfig> options() {
    return {opt("script", &SourceConfig::script).required().doc("Name of the script."), opt("times", &SourceConfig::times).def("false").doc("Rows have times.")};
  }

  Status configure(Needs& needs) override {
    if (config().times) needs.gives_event_time();
    return Status::ok();
  }
  Status discover(std::vector<Split>* splits) override {
    const auto guard = lock();
    Script& script = world().scripts[config().script];
    if (script.on_discover) SLUICE_CHECK_OK(script.on_discover());
    for (const auto& [id, split] : script.splits) splits->push_back({id, split.ordinal});
    return Status::ok();
  }
  Status assign(const std::vector<AssignedSplit>& splits) override {
    const auto guard = lock();
    if (const auto& hook = world().scripts[config().script].on_assign) SLUICE_CHECK_OK(hook());
    for (const AssignedSplit& s : splits) {
      world().scripts[config().script].assigned.push_back(s.id + " from " + (s.restored ? s.position : s.added ? "its beginning" : "start"));
      given_.push_back({s.index, s.id, s.restored ? std::stoul(s.position) : 0});
      move_position(s.index, std::to_string(given_.back().next));
    }
    world().changed();
    if (world().scripts[config().script].emits_when_assigned) return emit(given_.front().index, "{}", "1");
    return Status::ok();
  }
  Status poll(uint32_t max_rows) override {
    const auto guard = lock();
    Script& script = world().scripts[config().script];
    if (script.on_poll) SLUICE_CHECK_OK(script.on_poll());
    if (script.begins_snapshot && !begun_) SLUICE_CHECK_OK(emit_marker(SLUICE_SNAPSHOT_BEGIN));
    begun_ = true;
    if (script.begins_again > began_again_) {
      ++began_again_;
      SLUICE_CHECK_OK(emit_marker(SLUICE_SNAPSHOT_BEGIN));
      for (Given& g : given_) g.next = 0;
    }
    uint32_t emitted = 0;
    for (Given& g : given_) {
      const ScriptSplit& split = script.splits[g.id];
      for (; max_rows > 0 && g.next < std::min(split.rows.size(), split.released); --max_rows) {
        const ScriptRow& r = split.rows[g.next++];
        SLUICE_CHECK_OK(emit(g.index, r.payload ? std::string_view(*r.payload) : std::string_view(), std::to_string(g.next),
                             r.key.empty() ? std::string_view() : std::string_view(r.key), config().times ? r.time : SLUICE_NO_TIME));
        ++emitted;
        const std::string reason = script.refuses && r.payload ? script.refuses(*r.payload) : std::string();
        if (!reason.empty()) SLUICE_CHECK_OK(reject(emitted - 1, reason));
      }
      const bool all = g.next >= split.rows.size();
      split_lag(g.index, static_cast<int64_t>(split.rows.size() - g.next));
      split_status(g.index, (g.next >= std::min(split.rows.size(), split.released) ? static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP) : 0u) |
                                (all ? static_cast<uint32_t>(SLUICE_SPLIT_SNAPSHOT_COMPLETE) : 0u) |
                                (all && split.ends ? static_cast<uint32_t>(SLUICE_SPLIT_END) : 0u));
    }
    return Status::ok();
  }
  std::string describe_position(std::string_view split, std::string_view position) override {
    return std::string(split) + "[" + std::string(position) + "]";
  }

 private:
  struct Given {
    uint32_t index;
    std::string id;
    size_t next;
  };
  std::vector<Given> given_;
  bool begun_ = false;
  size_t began_again_ = 0;
};

struct NoConfig {};
template <uint32_t Delivery>
class TestSink : public Sink<NoConfig> {
 public:
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Writes into memory.";
  static Options<NoConfig> options() { return {}; }

  Status configure(Needs& needs) override {
    needs.body();
    needs.delivery(Delivery);
    id_ = needs.field("id");
    return Status::ok();
  }
  Status open() override {
    const auto hook = get(&SinkWorld::on_open);
    return hook ? hook() : Status::ok();
  }
  Status prepare(uint64_t n) override {
    const auto hook = get(&SinkWorld::on_prepare);
    if (hook) SLUICE_CHECK_OK(hook(n));
    const auto guard = lock();
    sink().prepared.push_back(n);
    world().changed();
    return Status::ok();
  }

 protected:
  SinkWorld& sink() { return world().sinks[std::string(this->id())]; }
  template <class T>
  T get(T SinkWorld::*member) {
    const auto guard = lock();
    return sink().*member;
  }
  Field id_;
};

class UpsertSink final : public TestSink<SLUICE_DELIVERY_UPSERT> {
 public:
  static constexpr const char* kType = "test.upsert";
  Status write(const Batch& in, uint32_t* consumed) override {
    const auto hook = get(&SinkWorld::on_write);
    Status answer;
    uint32_t rows = in.size();
    if (hook) {
      answer = hook(lane(), in, consumed);
      if (answer.code() == SLUICE_RETRY) rows = *consumed;
      else if (!answer.is_ok()) return answer;
    }
    const auto guard = lock();
    for (uint32_t r = 0; r < rows; ++r) {
      std::string_view json;
      SLUICE_CHECK_OK(in.json(r, &json));
      const std::string reason = sink().refuses ? sink().refuses(std::string(json)) : "";
      if (!reason.empty()) {
        SLUICE_CHECK_OK(reject(r, reason));
        continue;
      }
      sink().log.push_back({lane(), std::string(json), std::string(in.key(r))});
      sink().table[std::string(in(id_, r).text())] = json;
    }
    world().changed();
    return answer;
  }
  Status commit(uint64_t n) override {
    const auto guard = lock();
    sink().commits.push_back(n);
    return Status::ok();
  }
};

class EpochSink final : public TestSink<SLUICE_DELIVERY_EPOCH> {
 public:
  static constexpr const char* kType = "test.epoch";
  static constexpr uint32_t kFlags = SLUICE_OP_KEY_OPTIONAL;
  Status epoch_begin(uint64_t) override {
    waiting_.clear();
    SLUICE_CHECK_OK(drop_origins(UINT64_MAX));
    return Status::ok();
  }
  Status write(const Batch& in, uint32_t* consumed) override {
    if (const auto hook = get(&SinkWorld::on_write)) SLUICE_CHECK_OK(hook(lane(), in, consumed));
    for (uint32_t r = 0; r < in.size(); ++r) {
      std::string_view json;
      SLUICE_CHECK_OK(in.json(r, &json));
      const auto refuses = get(&SinkWorld::refuses);
      const std::string reason = refuses ? refuses(std::string(json)) : "";
      if (!reason.empty() && !get(&SinkWorld::refuses_late)) {
        SLUICE_CHECK_OK(reject(r, reason));
        continue;
      }
      uint64_t handle = 0;
      SLUICE_CHECK_OK(keep_origin(r, &handle));
      waiting_.push_back({std::string(json), reason, handle, std::string(in.key(r))});
    }
    return Status::ok();
  }
  Status commit(uint64_t n) override {
    remember_attempt(n);
    if (const auto hook = get(&SinkWorld::on_commit)) SLUICE_CHECK_OK(hook(n));
    {
      const auto guard = lock();
      for (const auto& w : waiting_) {
        if (!w.reason.empty()) SLUICE_CHECK_OK(reject_origin(w.handle, w.reason));
        else sink().committed.push_back(w.json), sink().table[w.json] = w.key;
      }
      waiting_.clear();
      sink().markers[lane()] = {std::string(lineage()), n};
      sink().commits.push_back(n);
      world().changed();
    }
    if (const auto hook = get(&SinkWorld::after_commit)) SLUICE_CHECK_OK(hook(n));
    return Status::ok();
  }
  Status last_committed(uint64_t* checkpoint, std::string* lineage) override {
    if (const auto hook = get(&SinkWorld::on_last_committed)) SLUICE_CHECK_OK(hook());
    const auto guard = lock();
    const auto& marker = sink().markers[lane()];
    *checkpoint = marker.checkpoint;
    *lineage = marker.lineage;
    return Status::ok();
  }

 private:
  struct Waiting {
    std::string json, reason;
    uint64_t handle;
    std::string key;
  };
  void remember_attempt(uint64_t n) {
    std::vector<std::string> rows;
    for (const auto& w : waiting_) rows.push_back(w.json);
    const auto guard = lock();
    const auto [before, first] = sink().tried.try_emplace(std::string(lineage()) + "/" + std::to_string(lane()) + "/" + std::to_string(n), rows);
    if (!first && before->second != rows) ++sink().tried_with_others;
  }

  std::vector<Waiting> waiting_;
};

struct HookConfig {
  std::vector<std::string> fields, broadcast_fields;
  bool body = false, tombstones = false;
  std::vector<std::string> attaches;
};
template <class Base>
class Hooked : public Base {
 public:
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Does what the test says.";
  static Options<HookConfig> options() {
    return {opt("fields", &HookConfig::fields).doc("Fields to declare."), opt("broadcast_fields", &HookConfig::broadcast_fields).doc("The same."),
            opt("body", &HookConfig::body).def("false").doc("Asks for bodies."),
            opt("tombstones", &HookConfig::tombstones).def("false").doc("Takes tombstones."),
            opt("attaches", &HookConfig::attaches).doc("Columns to attach.")};
  }
  static std::vector<std::string> output_ports() { return {"late"}; }

  Status configure(Needs& needs) override {
    for (const auto& f : this->config().fields) fields_.push_back(needs.field(f));
    if ((Base::kFlags & SLUICE_OP_BROADCAST) != 0)
      for (const auto& f : this->config().broadcast_fields) broadcast_fields_.push_back(needs.broadcast_field(f));
    if (this->config().body) needs.body();
    if (this->config().tombstones) needs.tombstones();
    if (!this->config().attaches.empty()) needs.attaches(this->config().attaches);
    return Status::ok();
  }
  Status process(const Batch& in, Output& out) override {
    told([&](Told& t) { t.rows[this->lane()] += in.size(); });
    if (const auto f = hooks().process) return f(api_now(), in, out);
    for (uint32_t r = 0; r < in.size(); ++r) out.forward(r);
    return Status::ok();
  }
  Status on_watermark(int64_t w, Output& out) override {
    told([&](Told& t) { t.watermarks[this->lane()].push_back(w); });
    const auto f = hooks().on_watermark;
    return f ? f(api_now(), w, out) : Status::ok();
  }
  Status on_timer(uint32_t clock, std::string_view key, int64_t at, uint64_t tag, Output& out) override {
    const auto f = hooks().on_timer;
    return f ? f(api_now(), clock, key, at, tag, out) : Status::ok();
  }
  Status on_idle(bool idle, int64_t since, Output&) override {
    told([&](Told& t) { t.idle[this->lane()].push_back(idle); });
    const auto f = hooks().on_idle;
    return f ? f(api_now(), idle, since) : Status::ok();
  }

 protected:
  virtual void add_states(Api&) {}
  Hooks hooks() {
    const auto guard = lock();
    return world().hooks[std::string(this->id())];
  }
  Api& api_now() {
    api_.lane = this->lane();
    api_.lanes = this->lanes();
    api_.role = this->role();
    api_.context = this->context();
    api_.fields = &fields_;
    api_.broadcast_fields = &broadcast_fields_;
    api_.set_timer = [this](uint32_t c, std::string_view k, int64_t at, uint64_t tag) { return this->Base::set_timer(c, k, at, tag); };
    add_states(api_);
    return api_;
  }

 private:
  template <class F>
  void told(F&& f) {
    const auto guard = lock();
    f(world().told[std::string(this->id())]);
    world().changed();
  }
  std::vector<Field> fields_, broadcast_fields_;
  Api api_{};
};

class Hook final : public Hooked<Transform<HookConfig>> {
 public:
  static constexpr const char* kType = "test.hook";
};
class StateHook final : public Hooked<Transform<HookConfig>> {
 public:
  static constexpr const char* kType = "test.state";
  static constexpr uint32_t kFlags = SLUICE_OP_KEY_OPTIONAL;

 private:
  void add_states(Api& api) override {
    api.value = &value_;
    api.map = &map_;
    api.shared = &shared_;
  }
  ValueState<int64_t> value_{this, "value"};
  MapState<std::string> map_{this, "map"};
  OperatorState<int64_t> shared_{this, "shared"};
};
class RulesHook final : public Hooked<BroadcastTransform<HookConfig>> {
 public:
  static constexpr const char* kType = "test.rules";
  Status process_broadcast(const Batch& in, Output& out) override {
    const auto f = hooks().broadcast;
    return f ? f(api_now(), in, out) : Status::ok();
  }
  Status on_marker(uint32_t marker, Output&) override {
    const auto f = hooks().on_marker;
    return f ? f(api_now(), marker) : Status::ok();
  }

 private:
  void add_states(Api& api) override { api.rules = &rules_; }
  BroadcastState<std::string> rules_{this, "rules"};
};
class PhasesHook final : public Hooked<Transform<HookConfig>> {
 public:
  static constexpr const char* kType = "test.phases";
  static constexpr uint32_t kFlags = SLUICE_OP_TWO_PHASE | SLUICE_OP_KEY_OPTIONAL;

 private:
  void add_states(Api& api) override { api.shared = &shared_; }
  OperatorState<int64_t> shared_{this, "shared"};
};

struct SeenConfig {
  std::chrono::milliseconds ttl{};
  std::string clock;
};
class Seen : public Transform<SeenConfig> {
 public:
  static constexpr const char* kType = "test.seen";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Forwards what is new.";
  static constexpr uint32_t kFlags = SLUICE_OP_KEYED;
  static Options<SeenConfig> options() {
    return {opt("ttl", &SeenConfig::ttl).def("1h").doc("How long."),
            opt("ttl_clock", &SeenConfig::clock, {{"processing", std::string("processing")}, {"event", std::string("event")}}).def("processing").doc("By which clock.")};
  }
  Status process(const Batch& in, Output& out) override {
    for (uint32_t r = 0; r < in.size(); ++r) {
      bool found = false;
      int64_t n = 0;
      SLUICE_CHECK_OK(seen_.get(in.key(r), &found, &n));
      SLUICE_CHECK_OK(seen_.put(in.key(r), 1));
      if (!found) out.forward(r);
    }
    return Status::ok();
  }

 private:
  ValueState<int64_t> seen_{this, "seen", StateOptions().ttl("ttl").ttl_clock("ttl_clock")};
};
template <uint32_t Compat>
class Format final : public Transform<NoConfig> {
 public:
  static constexpr const char* kType = "test.format";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Has state of format 2.";
  static constexpr uint32_t kFlags = SLUICE_OP_KEYED;
  static Options<NoConfig> options() { return {}; }
  Status process(const Batch& in, Output& out) override {
    for (uint32_t r = 0; r < in.size(); ++r) {
      SLUICE_CHECK_OK(value_.put(in.key(r), 1));
      out.forward(r);
    }
    return Status::ok();
  }

 private:
  ValueState<int64_t> value_{this, "value", StateOptions().format(2, Compat)};
};

}  // namespace

void register_test_operators(plugin::PluginRegistry& registry) {
  REQUIRE(registry
              .add_module("(test)", detail::module<ScriptSource, UpsertSink, EpochSink, Hook, StateHook, RulesHook, PhasesHook, Seen>("runtime-test", "1.0.0", ""))
              .is_ok());
  const auto guard = lock();
  REQUIRE(registry
              .add_module("(test formats)", world().numbers["compat"] == 2 ? detail::module<Format<2>>("format-test", "1.0.0", "")
                                                                           : detail::module<Format<1>>("format-test", "1.0.0", ""))
              .is_ok());
}

// ---- the world -----------------------------------------------------------------------------------------

World& world() {
  static World w;
  return w;
}
void World::reset() {
  const Lock guard(mutex);
  scripts.clear();
  sinks.clear();
  hooks.clear();
  told.clear();
  numbers.clear();
}
bool World::wait(const std::function<bool()>& condition) {
  Lock guard(mutex);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    changed_.wait_for(guard, std::chrono::milliseconds(5));
  }
  return true;
}

std::vector<std::string> written(const std::string& sink) {
  const auto guard = lock();
  std::vector<std::string> out;
  for (const auto& w : world().sinks[sink].log) out.push_back(w.json);
  return out;
}
std::vector<std::string> committed(const std::string& sink) {
  const auto guard = lock();
  return world().sinks[sink].committed;
}
std::map<std::string, std::string> table(const std::string& sink) {
  const auto guard = lock();
  return world().sinks[sink].table;
}
std::string get(const std::string& json, const std::string& field) {
  rapidjson::Document d;
  d.Parse(json.data(), json.size());
  if (!d.IsObject() || !d.HasMember(field.c_str())) return "";
  const auto& v = d[field.c_str()];
  if (v.IsString()) return {v.GetString(), v.GetStringLength()};
  return v.IsInt64() ? std::to_string(v.GetInt64()) : "?";
}

// ---- jobs ----------------------------------------------------------------------------------------------

std::string Place::yaml(const std::string& operators, const Settings& s) const {
  return "pipeline: t\nparallelism: " + std::to_string(s.parallelism) + "\ncheckpoint: { dir: " + folder.path("chk") + ", interval: " + s.interval +
         ", timeout: " + s.timeout + ", keep: 100 }\ndead_letters: { dir: " + folder.path("dead") + s.dead_letters + " }\n" + "limits: { batch_rows: " + std::to_string(s.batch_rows) +
         ", state_memory: 4MiB, max_record_size: 64KiB }\n" + s.more + "operators:\n" + operators;
}

std::vector<Place::Letter> Place::dead_letters() const {
  std::vector<Letter> out;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder.path("dead"), none)) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      rapidjson::Document d;
      d.Parse(line.data(), line.size());
      if (!d.IsObject()) continue;  // torn by a crash, behind the last checkpoint
      const auto text = [&](const char* name) { return d.HasMember(name) && !d[name].IsNull() ? std::string(d[name].GetString(), d[name].GetStringLength()) : std::string(); };
      out.push_back({text("operator"), text("reason"), text("source"), text("position"), text("raw"), d.HasMember("raw"), line});
    }
  }
  std::sort(out.begin(), out.end(), [](const Letter& a, const Letter& b) { return a.raw < b.raw; });
  return out;
}

std::vector<uint64_t> Place::checkpoints() const {
  auto store = checkpoint::CheckpointStore::open_read_only(folder.path("chk"));
  REQUIRE(store.is_ok());
  std::vector<uint64_t> out;
  for (const auto& info : store.value()->list())
    if (info.health == checkpoint::CheckpointHealth::kComplete) out.push_back(info.number);
  return out;
}
bool Place::is_complete(uint64_t number) const {
  auto store = checkpoint::CheckpointStore::open_read_only(folder.path("chk"));
  return store.is_ok() && store.value()->load_verified(number).is_ok();
}
checkpoint::Manifest Place::checkpoint(uint64_t number) const {
  auto store = checkpoint::CheckpointStore::open_read_only(folder.path("chk"));
  REQUIRE(store.is_ok());
  auto loaded = store.value()->load_verified(number);
  INFO(loaded.status().message());
  REQUIRE(loaded.is_ok());
  return loaded.value();
}
checkpoint::Manifest Place::newest_checkpoint() const {
  const auto all = checkpoints();
  REQUIRE_FALSE(all.empty());
  return checkpoint(all.back());
}

TestJob::TestJob(Place& place, const std::string& operators, const Settings& settings, JobOptions options) {
  register_test_operators(registry_);
  catalog_ = std::make_unique<plugin::PluginCatalog>(registry_);
  config::Diagnostics diagnostics;
  const std::string text = place.yaml(operators, settings);
  const auto problems = [&] { return text + "\n" + diagnostics.render_text(); };
  const auto root = config::read_pipeline_text("t.yaml", text, {}, diagnostics);
  INFO(problems());
  REQUIRE(root);
  document_ = config::check_pipeline("t.yaml", *root, *catalog_, {}, diagnostics);
  INFO(problems());
  REQUIRE_FALSE(diagnostics.has_errors());
  if (options.clock == nullptr) options.clock = &place.clock;
  options.sluice_version = "test";
  auto made = Job::create(document_, registry_, std::move(options), diagnostics);
  INFO(problems() << made.status().message());
  REQUIRE(made.is_ok());
  job_ = std::move(made).value();
}

void TestJob::start() {
  thread_ = std::thread([this] {
    result_.emplace(job_->run());
    ended_ = true;
    world().changed();
  });
}
base::Result<Outcome> TestJob::wait() {
  const bool ended = world().wait([&] { return ended_.load(); });
  if (!ended) {
    std::string why;
    for (const auto& w : job_->progress().waiting_for) why += w + "; ";
    WARN("the job does not end: " << job_->progress().phase << " " << why);
    job_->request_stop();
    job_->request_stop();
  }
  if (thread_.joinable()) thread_.join();
  CHECK(ended);
  return *result_;
}
void TestJob::kill() {
  if (job_ == nullptr) return;
  if (thread_.joinable()) {
    job_->request_stop();
    job_->request_stop();
    thread_.join();
  }
  job_.reset();
}
const observe::OperatorProgress& TestJob::operator_progress(const std::string& id) {
  last_ = job_->progress();
  for (const auto& o : last_.operators)
    if (o.id == id) return o;
  FAIL("no operator " << id);
  return last_.operators.front();
}
bool TestJob::wait_for(const std::function<bool()>& condition) {
  bool held = false;
  world().wait([&] { return (held = condition()) || ended_; });
  return held;
}
bool TestJob::wait_checkpoints(uint64_t more) {
  const uint64_t before = job_->progress().checkpoint.completed;
  return wait_for([&] { return job_->progress().checkpoint.completed >= before + more; });
}

}  // namespace sluice::runtime::testing
