#include "phoenix/session.h"

#include <algorithm>
#include <random>

#include "phoenix/wire.h"

namespace sluice::phoenix {
namespace {

constexpr size_t kMaxPrepared = 256;
constexpr int kFrameRows = 10000;
constexpr std::chrono::milliseconds kPatienceToClose(1000);

// Nobody else may have the same: a version 4 UUID.
std::string random_id() {
  static const char kDigits[] = "0123456789abcdef";
  std::random_device device;
  std::string out = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& c : out)
    if (c == 'x') c = kDigits[device() % 16];
  return out;
}

}  // namespace

Session::Session(const std::string& url, const ChannelOptions* options, int64_t write_time)
    : channel_(url, options), id_(random_id()), write_time_(write_time), opened_at_(std::chrono::steady_clock::now()) {}

template <class Request, class Response>
Failure Session::call(const char* name, const Request& request, Response* response) {
  body_ = encode_request(std::string(name) + "Request", request);
  long status = 0;
  Failure f = channel_.post(body_, &answer_, &status);
  lost_ = lost_ || !f.ok();
  if (!f.ok()) return f;
  const std::string_view stem(name);
  const bool executes = stem == "PrepareAndExecute";
  f = decode_answer(status, answer_, executes ? "ExecuteResponse" : std::string(name) + "Response", response);
  if (f.kind == FailureKind::kLogin || f.kind == FailureKind::kNoPhoenix || f.kind == FailureKind::kAway ||
      f.kind == FailureKind::kUnfit || (f.kind == FailureKind::kTooMuch && f.code == 0))
    f.text = url() + ": " + f.text;
  lost_ = lost_ || f.kind == FailureKind::kLost || f.kind == FailureKind::kAway;
  return f;
}

Failure Session::lost(std::string text) {
  lost_ = true;
  return Failure::of(FailureKind::kLost, std::move(text));
}

Failure Session::open(const std::string& url, const ChannelOptions* options, int64_t write_time,
                      std::unique_ptr<Session>* out) {
  std::unique_ptr<Session> session(new Session(url, options, write_time));
  avatica::OpenConnectionRequest open;
  open.set_connection_id(session->id_);
  if (write_time > 0) (*open.mutable_info())["CurrentSCN"] = std::to_string(write_time);
  avatica::Nothing ignored;
  if (Failure f = session->call("OpenConnection", open, &ignored); !f.ok()) return f;
  session->opened_ = true;
  // It is off by default, unless the server's configuration says otherwise.
  avatica::ConnectionSyncRequest sync;
  sync.set_connection_id(session->id_);
  sync.mutable_conn_props()->set_has_auto_commit(true);
  if (Failure f = session->call("ConnectionSync", sync, &ignored); !f.ok()) return f;
  *out = std::move(session);
  return {};
}

Session::~Session() {
  if (!opened_) return;
  avatica::CloseConnectionRequest close;
  avatica::Nothing ignored;
  close.set_connection_id(id_);
  channel_.limit(kPatienceToClose);
  (void)call("CloseConnection", close, &ignored);  // the server forgets idle ones by itself
}

Failure Session::plain_statement() {
  if (has_statement_) return {};
  avatica::CreateStatementRequest create;
  avatica::CreateStatementResponse created;
  create.set_connection_id(id_);
  if (Failure f = call("CreateStatement", create, &created); !f.ok()) return f;
  statement_ = created.statement_id();
  has_statement_ = true;
  return {};
}

Failure Session::query(const std::string& sql, std::vector<avatica::Row>* rows) {
  if (Failure f = plain_statement(); !f.ok()) return f;
  avatica::PrepareAndExecuteRequest run;
  avatica::ExecuteResponse answer;
  run.set_connection_id(id_);
  run.set_statement_id(statement_);
  run.set_sql(sql);
  run.set_max_rows_total(-1);
  run.set_first_frame_max_size(kFrameRows);
  if (Failure f = call("PrepareAndExecute", run, &answer); !f.ok()) return f;
  if (answer.missing_statement() || answer.results_size() == 0) {
    has_statement_ = false;
    return lost("the Query Server does not know the statement any more");
  }
  if (rows == nullptr) return {};
  auto* frame = answer.mutable_results(0)->mutable_first_frame();
  if (!frame->done() && frame->rows_size() >= kFrameRows)
    return Failure::of(FailureKind::kRefused, "more than " + std::to_string(kFrameRows) + " rows came back");
  rows->assign(std::make_move_iterator(frame->mutable_rows()->begin()),
               std::make_move_iterator(frame->mutable_rows()->end()));
  return {};
}

Failure Session::server_time(int64_t* ms) {
  std::vector<avatica::Row> rows;
  if (Failure f = query("select cast(now() as bigint) from SYSTEM.CATALOG limit 1", &rows); !f.ok()) return f;
  if (rows.size() != 1 || rows[0].value_size() != 1)
    return Failure::of(FailureKind::kBusy, "the server does not say its time");
  *ms = rows[0].value(0).scalar_value().number_value();
  return {};
}

Failure Session::prepare(const std::string& sql, uint32_t* statement) {
  if (const auto known = prepared_.find(sql); known != prepared_.end()) {
    *statement = known->second;
    return {};
  }
  if (prepared_.size() >= kMaxPrepared) {
    for (const auto& [text, id] : prepared_) {
      avatica::CloseStatementRequest close;
      avatica::Nothing ignored;
      close.set_connection_id(id_);
      close.set_statement_id(id);
      if (Failure f = call("CloseStatement", close, &ignored); !f.ok()) return f;
    }
    prepared_.clear();
  }
  avatica::PrepareRequest prepare;
  avatica::PrepareResponse prepared;
  prepare.set_connection_id(id_);
  prepare.set_sql(sql);
  prepare.set_max_rows_total(-1);
  if (Failure f = call("Prepare", prepare, &prepared); !f.ok()) return f;
  *statement = prepared.statement().id();
  prepared_[sql] = *statement;
  return {};
}

Failure Session::execute_batch(const std::string& sql, bool upserts, const Updates& updates) {
  uint32_t statement = 0;
  if (Failure f = prepare(sql, &statement); !f.ok()) return f;
  avatica::ExecuteBatchRequest batch;
  batch.set_connection_id(id_);
  batch.set_statement_id(statement);
  // Lent, not copied.
  for (const auto* u : updates) batch.mutable_updates()->UnsafeArenaAddAllocated(const_cast<avatica::UpdateBatch*>(u));
  avatica::ExecuteBatchResponse answer;
  Failure f = call("ExecuteBatch", batch, &answer);
  while (batch.updates_size() > 0) (void)batch.mutable_updates()->UnsafeArenaReleaseLast();
  if (f.ok()) {
    // A statement that the server has forgotten, and an unknown connection, look like this and like nothing else.
    const auto& counts = answer.update_counts();
    const bool all = counts.size() == static_cast<int>(updates.size()) && !answer.missing_statement() &&
                     (!upserts || std::all_of(counts.begin(), counts.end(), [](uint64_t n) { return n == 1; }));
    if (!all)
      f = lost("the Query Server has taken " + std::to_string(counts.size()) + " of " + std::to_string(updates.size()) +
               " rows: it has lost the statement");
    return f;
  }
  // It would first do the failed rows again, and fail again. A gateway closes the connection after 413.
  prepared_.erase(sql);
  if (f.kind != FailureKind::kAway && f.kind != FailureKind::kLost && f.kind != FailureKind::kTooMuch) {
    avatica::CloseStatementRequest close;
    avatica::Nothing ignored;
    close.set_connection_id(id_);
    close.set_statement_id(statement);
    if (Failure closed = call("CloseStatement", close, &ignored); !closed.ok()) return closed;
  }
  return f;
}

Failure Session::commit() {
  avatica::CommitRequest commit;
  avatica::Nothing ignored;
  commit.set_connection_id(id_);
  return call("Commit", commit, &ignored);
}

Failure Session::rollback() {
  avatica::RollbackRequest rollback;
  avatica::Nothing ignored;
  rollback.set_connection_id(id_);
  return call("Rollback", rollback, &ignored);
}

}  // namespace sluice::phoenix
