// clickhouse.sink: what its thread stops at, as an answer for the host: rows that are refused, a table that has
// changed.
#include "clickhouse_sink.h"

namespace sluice::clickhouse {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWaitStep{50};

std::string row_text(std::string_view json) {
  return std::string(json.substr(0, 400)) + (json.size() > 400 ? "…" : "");
}

}  // namespace

Status ClickHouseSink::refuse(const Block& block, uint32_t row, const std::string& reason) {
  const std::string json(block.json_of(row));
  if (block.origins[row] == 0)
    return Status::fatal("a row cannot be written: " + reason + " (row: " + row_text(json) +
                         "); `isolate_errors: true` makes such rows bad records");
  // Of a row that a transform made the dead letter has nothing but its reason.
  return reject_origin(block.origins[row],
                       (block.flags[row] & Block::kMade) != 0 ? reason + " (row: " + row_text(json) + ")" : reason);
}

Status ClickHouseSink::settle(Lock& lock) {
  if (!sender_->parked()) return Status::ok();
  const ServerError error = *sender_->parked();
  switch (error.what) {
    case ErrorClass::kSchema:
      return table_changed(lock, error);
    case ErrorClass::kBadRow:
    case ErrorClass::kTooLarge:
    case ErrorClass::kTooManyPartitions:
      return split_or_refuse(lock, error);
    default:
      return status_of(rules_, sender_->server(), error);
  }
}

Status ClickHouseSink::split_or_refuse(Lock& lock, const ServerError& error) {
  // Parts have other names than the block, and would be in once more when a gateway lets it through later.
  if (exactly_once() && error.what == ErrorClass::kTooLarge)
    return Status::fatal(rules_.servers[sender_->server()] + ": " + error.text +
                         ", or set `compression: gzip`, and start the job again. Inserts of a checkpoint stay as they "
                         "are (`delivery: exactly_once`); a smaller `batch_rows` is for the checkpoints after it");
  SLUICE_CHECK_OK(look_for_views(lock));
  auto& sealed = sender_->sealed();
  // What the table has taken, and a view refused, would be in it once more with each part. Rows that replace themselves
  // may be, when all of them get in in the end.
  const bool all_get_in = error.what == ErrorClass::kTooLarge ||
                          (error.what == ErrorClass::kTooManyPartitions && config().delivery == Delivery::kUpsert);
  if (has_views_ && !all_get_in)
    return Status::fatal(rules_.servers[sender_->server()] + " refused a block of " +
                         std::to_string(sealed.front()->size()) + " rows: " + error.text + ". " + rules_.table_name() +
                         " has materialized views and may have it although one of them refused it, so its rows cannot "
                         "be tried one by one. Mend the view, the constraint or the expression, and start the job "
                         "again: the block comes again" +
                         (exactly_once() ? ", to each table that does not have it" : ""));
  if (sealed.front()->size() == 1) {
    if (error.what == ErrorClass::kTooManyPartitions)
      return status_of(rules_, sender_->server(), {ErrorClass::kFatal, error.code, error.text, false});
    SLUICE_CHECK_OK(count_refused(error));
  }
  const std::unique_ptr<Block> block = std::move(sealed.front());
  sealed.pop_front();
  if (block->size() > 1) {
    const uint32_t middle = block->size() / 2;
    sealed.push_front(block->part(middle, block->size(), "/b"));
    sealed.push_front(block->part(0, middle, "/a"));
  } else {
    const std::string who = error.code != 0 ? "ClickHouse refuses the row" : rules_.servers[sender_->server()];
    SLUICE_CHECK_OK(refuse(*block, 0, who + ": " + error.text));
  }
  sender_->resume();
  return Status::ok();
}

// Exactly once, each checkpoint begins with that.
Status ClickHouseSink::look_for_views(Lock& lock) {
  const auto now = std::chrono::steady_clock::now();
  if (exactly_once() || has_views_ || now - views_looked_at_ <= kLookAgain) return Status::ok();
  const size_t server = sender_->server();
  std::shared_ptr<const ServerInfo> info;
  // The thread is stopped: nothing moves while the mutex is not held.
  lock.unlock();
  const Status s = read_server(rules_, server, *client_, &info, false);
  lock.lock();
  SLUICE_CHECK_OK(s);
  views_looked_at_ = now;
  has_views_ = !info->views.empty();
  return Status::ok();
}

// When every row is refused it is the table that is to blame, and a stream of bad records helps nobody.
Status ClickHouseSink::count_refused(const ServerError& error) {
  if (refused_.code != error.code || refused_.progress != sender_->progress())
    refused_ = {error.code, sender_->progress(), 0};
  const auto most = static_cast<uint64_t>(config().stop_after_refused);
  if (most == 0 || refused_.rows < most) {
    ++refused_.rows;
    return Status::ok();
  }
  return Status::fatal(rules_.servers[sender_->server()] + " refused " + std::to_string(most) + " rows in succession" +
                       (error.code != 0 ? " with code " + std::to_string(error.code) : "") +
                       " and took none, so it is hardly the rows. The next one: " + error.text + ": see what " +
                       rules_.table_name() +
                       " demands of its rows (constraints, expressions of its columns, views on it), and start the "
                       "job again; with `stop_after_refused: 0` all of them become bad records");
}

Status ClickHouseSink::table_is_gone(size_t server) const {
  return Status::fatal("the table " + rules_.table_name() + " on " + rules_.servers[server] +
                       " is gone: create it again, or start the job again, whose `create` does");
}

Status ClickHouseSink::table_changed(Lock& lock, const ServerError& error) {
  const size_t server = sender_->server();
  std::shared_ptr<const ServerInfo> info;
  // The thread is stopped: nothing moves while the mutex is not held.
  lock.unlock();
  Status s = read_server(rules_, server, *client_, &info, false);
  if (s.is_ok() && info->layout == nullptr) s = table_is_gone(server);
  if (s.is_ok()) s = check_table(*info, server);
  lock.lock();
  if (!s.is_ok()) return s;
  if (info->layout->signature == sender_->sealed().front()->layout->signature && error.code != 0)
    return split_or_refuse(lock, {ErrorClass::kBadRow, error.code, error.text, false});
  warn(rules_.table_name() + " has changed: rows that wait are made to fit");
  sender_->set_info(server, info);
  adopt(*info);
  sender_->seal_all();
  std::vector<std::unique_ptr<Block>> blocks;
  for (auto& b : sender_->sealed()) blocks.push_back(std::move(b));
  sender_->sealed().clear();
  const Status remade = remake_blocks(lock, std::move(blocks));
  sender_->resume();
  return remade;
}

Status ClickHouseSink::remake_blocks(Lock& lock, std::vector<std::unique_ptr<Block>> blocks) {
  Status s;
  for (auto& old : blocks) {
    uint32_t row = 0;
    if (s.is_ok()) {
      s = remake_rows(lock, *old, &row);
      sender_->seal_all();
      last_block_ = nullptr;
    }
    if (s.is_ok()) continue;
    // The thread stops again when it comes to what is left: it is for the table as it was.
    sender_->sealed().push_back(row == 0 ? std::move(old) : old->part(row, old->size(), "/rest"));
  }
  return s;
}

// From *row on, which stands behind those that are in new blocks or refused. The same rows stay together, and exactly
// once under the same name; when they do not fit into one block any more, each has a name of its own.
Status ClickHouseSink::remake_rows(Lock& lock, const Block& old, uint32_t* row) {
  int made = 0;
  for (; *row < old.size(); ++*row) {
    Incoming r;
    SLUICE_CHECK_OK(parse(Value::json_object(old.json_of(*row)), &r.body));
    r.json = old.json_of(*row);
    r.origin = old.origins[*row];
    r.flags = old.flags[*row];
    std::string problem;
    SLUICE_CHECK_OK(add_row(lock, r, &problem));
    if (!problem.empty()) {
      SLUICE_CHECK_OK(refuse(old, *row, problem));
    } else if (exactly_once() && last_block_->size() == 1) {
      last_block_->token = old.token + (++made == 1 ? "" : "/r" + std::to_string(made));
      last_block_->sent_before = old.sent_before;
    }
  }
  return Status::ok();
}

Status ClickHouseSink::wait_until_sent(Lock& lock, size_t most, milliseconds patience) {
  auto until = std::chrono::steady_clock::now() + patience;
  uint64_t progress = sender_->progress();
  for (;;) {
    SLUICE_CHECK_OK(settle(lock));
    if (most == 0 ? sender_->is_empty() : sender_->memory() < most || sender_->sealed().empty()) return Status::ok();
    // As long as blocks get through there is nothing to complain of.
    if (sender_->progress() != progress) {
      progress = sender_->progress();
      until = std::chrono::steady_clock::now() + patience;
    }
    const bool in_vain = stopping() && !sender_->trouble().empty();
    if (std::chrono::steady_clock::now() >= until || in_vain) break;
    if (!sender_->parked()) sender_->wait(lock, kWaitStep);
  }
  return Status::retry(sender_->trouble().empty() ? "ClickHouse takes rows more slowly than they come"
                                                  : "waiting for ClickHouse: " + sender_->trouble(),
                       100);
}

}  // namespace sluice::clickhouse
