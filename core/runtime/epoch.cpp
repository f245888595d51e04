#include "runtime/epoch.h"

namespace sluice::runtime {
namespace {

constexpr uint32_t kRows = 1024;

std::string_view view(sluice_str s) { return {s.data, s.size}; }

struct Pending {
  std::shared_ptr<data::Arena> arena;
  std::vector<sluice_str> json, source, split, position;
  std::vector<int64_t> event_time;
  std::vector<uint8_t> change;
};

base::Status give(Operator& op, const Plan& plan, Pending& p, data::JsonReader& reader,
                  const RefuseRow& refused) {
  if (p.json.empty()) return base::Status::ok();
  data::RowBatch batch;
  batch.arena = p.arena;
  batch.size = static_cast<uint32_t>(p.json.size());
  batch.raw = p.json.data();
  batch.event_time = p.event_time.data();
  batch.change = p.change.data();
  std::vector<uint8_t> checked(batch.size, 1);  // they were written by the host
  batch.checked = checked.data();
  batch.fields.assign(plan.fields.size(), nullptr);
  for (size_t f : op.plan().fields) data::ensure_field(batch, plan.fields, f, reader);
  op.set_key_column(nullptr);
  uint32_t consumed = 0;
  const base::Status s = op.process(SLUICE_PORT_MAIN, batch, &consumed);
  op.emissions.clear();
  for (const Rejected& r : std::exchange(op.rejected, {})) {
    if (r.row != SLUICE_NO_ROW) {
      SLUICE_TRY(refused(view(p.json[r.row]), {view(p.source[r.row]), view(p.split[r.row]), view(p.position[r.row])}, r.reason));
    } else if (const auto kept = op.origins.find(r.origin); kept != op.origins.end()) {
      SLUICE_TRY(refused(kept->second.raw, {}, r.reason));
      op.origins.erase(kept);
    }
  }
  if (s.code() == base::Code::kBadRecord)
    return base::Status::bug("operator \"" + op.id() + "\": process() answered BAD_RECORD for a batch; a row is refused by reject(): " + s.message());
  p = {};
  return s;
}

}  // namespace

base::Status write_epoch(Operator& op, const Plan& plan, uint64_t checkpoint, const std::vector<std::string>& files,
                         data::JsonReader& reader, const std::function<std::shared_ptr<data::Arena>()>& next_arena,
                         const RefuseRow& refused) {
  SLUICE_TRY(op.epoch_begin(checkpoint));
  Pending pending;
  for (const std::string& file : files) {
    SLUICE_TRY(read_spool(file, [&](const SpoolRow& row) -> base::Status {
      if (pending.arena == nullptr) pending.arena = next_arena();
      pending.json.push_back(pending.arena->copy(row.json));
      pending.source.push_back(pending.arena->copy(row.origin.source_id));
      pending.split.push_back(pending.arena->copy(row.origin.split_id));
      pending.position.push_back(pending.arena->copy(row.origin.position));
      pending.event_time.push_back(row.event_time);
      pending.change.push_back(row.change);
      return pending.json.size() < kRows ? base::Status::ok() : give(op, plan, pending, reader, refused);
    }));
  }
  SLUICE_TRY(give(op, plan, pending, reader, refused));
  return op.commit(checkpoint);
}

}  // namespace sluice::runtime
