#include "runtime/epoch.h"

#include "data/text_view.h"

namespace sluice::runtime {
namespace {

constexpr uint32_t kRows = 1024;

using data::view;

}  // namespace

EpochWriter::EpochWriter(JobContext& job, Operator& op, uint32_t lane, data::JsonReader& reader, NextArena next_arena, PositionText position_text)
    : job_(job),
      op_(op),
      reader_(reader),
      next_arena_(std::move(next_arena)),
      position_text_(std::move(position_text)),
      letters_(job.dead_letters_dir, job.plan->document->name, op.id() + "." + std::to_string(lane), job.dead_letters_to) {}

base::Status EpochWriter::write(uint64_t checkpoint, const std::string& file, uint64_t* refused) {
  refused_ = refused;
  *refused_ = 0;
  pending_ = {};
  SLUICE_TRY(op_.epoch_begin(checkpoint));
  SLUICE_TRY(letters_.begin_attempt(job_.lineage, checkpoint));
  SLUICE_TRY(read_spool(file, [&](const SpoolRow& row) -> base::Status {
    Pending& p = pending_;
    if (p.arena == nullptr) p.arena = next_arena_();
    p.json.push_back(p.arena->copy(row.json));
    p.key.push_back(row.key.data() != nullptr ? p.arena->copy(row.key) : sluice_str{nullptr, 0});
    p.has_key = p.has_key || row.key.data() != nullptr;
    p.source.push_back(p.arena->copy(row.origin.source_id));
    p.split.push_back(p.arena->copy(row.origin.split_id));
    p.position.push_back(p.arena->copy(row.origin.position));
    p.event_time.push_back(row.event_time);
    p.change.push_back(row.change);
    return p.json.size() < kRows ? base::Status::ok() : give();
  }));
  SLUICE_TRY(give());
  SLUICE_TRY(letters_.sync(checkpoint));
  const base::Status committed = op_.commit(checkpoint);
  // A sink may find out only now which rows cannot be written.
  SLUICE_TRY(take_refused(nullptr));
  SLUICE_TRY(letters_.sync(checkpoint));
  if (committed.is_ok()) op_.origins.clear();
  return committed;
}

base::Status EpochWriter::give() {
  Pending p = std::exchange(pending_, {});
  if (p.json.empty()) return base::Status::ok();
  data::RowBatch batch;
  batch.arena = p.arena;
  batch.size = static_cast<uint32_t>(p.json.size());
  batch.raw = p.json.data();
  batch.event_time = p.event_time.data();
  batch.change = p.change.data();
  std::vector<uint8_t> checked(batch.size, 1);  // they were written by the host
  batch.checked = checked.data();
  std::vector<data::Origin> origin;  // sources and splits may have been numbered by another run
  for (const sluice_str& position : p.position) origin.push_back({data::kNoSource, 0, position});
  batch.origin = origin.data();
  const Plan& plan = *job_.plan;
  batch.fields.assign(plan.fields.size(), nullptr);
  for (size_t f : op_.plan().fields) data::ensure_field(batch, plan.fields, f, reader_);
  op_.set_key_column(p.has_key ? p.key.data() : nullptr);
  const uint64_t before = op_.origins.last();
  uint32_t consumed = 0;
  const base::Status s = op_.process(SLUICE_PORT_MAIN, batch, &consumed);
  op_.set_key_column(nullptr);
  op_.emissions.clear();
  for (uint64_t handle = before + 1; handle <= op_.origins.last(); ++handle) {
    KeptOrigin* kept = op_.origins.find(handle);
    if (kept == nullptr) continue;
    kept->source_id = view(p.source[kept->row]);
    kept->split_id = view(p.split[kept->row]);
  }
  SLUICE_TRY(take_refused(&p));
  if (s.code() == base::Code::kBadRecord)
    return base::Status::bug("operator \"" + op_.id() + "\": process() answered BAD_RECORD for a batch; a row is refused by reject(): " + s.message());
  return s;
}

base::Status EpochWriter::take_refused(const Pending* batch) {
  for (const Rejected& r : std::exchange(op_.rejected, {})) {
    if (r.row != SLUICE_NO_ROW) {
      if (batch == nullptr) continue;
      SLUICE_TRY(refuse(view(batch->json[r.row]), {view(batch->source[r.row]), view(batch->split[r.row]), view(batch->position[r.row])}, r.reason));
    } else if (const auto kept = op_.origins.take(r.origin)) {
      SLUICE_TRY(refuse(kept->raw(), {kept->source_id, kept->split_id, kept->position()}, r.reason));
    } else {
      continue;
    }
    ++*refused_;
  }
  return base::Status::ok();
}

config::OnError EpochWriter::policy() const { return op_.plan().section->on_error.value_or(job_.plan->document->on_error); }

base::Status EpochWriter::refuse(std::string_view json, const SpoolOrigin& origin, const std::string& reason) {
  if (policy() == config::OnError::kDrop) return base::Status::ok();
  std::string position;
  for (size_t n = 0; n < job_.plan->nodes.size(); ++n)
    if (job_.plan->nodes[n].is_source() && job_.plan->nodes[n].id() == origin.source_id)
      position = position_text_(n, std::string(origin.split_id), origin.position);
  op_.set_last_error(reason + (position.empty() ? "" : " (" + position + ")"));
  if (policy() == config::OnError::kFail) return stopped_by_row(op_.id(), reason, position);
  return letters_.write({op_.id(), reason, origin.source_id, position, json, {}, job_.clock->now_ms()});
}

void EpochWriter::count_refused(uint64_t rows) {
  op_.rejected_count.fetch_add(rows, std::memory_order_relaxed);
  if (policy() == config::OnError::kDeadLetter) job_.dead_letter_count.fetch_add(rows, std::memory_order_relaxed);
}

}  // namespace sluice::runtime
