#include "exactly_once.h"

#include <utility>

#include "dependent_views.h"

namespace sluice::clickhouse {
namespace {

// Of rows and their JSON in open blocks. No option: it could be another one when the epoch is written again.
constexpr size_t kMostOpenBytes = 128 * 1024 * 1024;

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

uint64_t fingerprint(std::string_view text, uint64_t seed) {
  uint64_t h = 14695981039346656037ull ^ seed;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

// The marker must be where the rows are, whichever server takes them.
Status check_marker_table(const TargetRules& rules, size_t server, HttpClient& client) {
  Answer a = run_query(rules, server, client,
                       "select engine from system.tables where database = " + quoted_text(rules.database) +
                           " and name = " + quoted_text(kEpochTable) + " format TabSeparated");
  if (!a.ok) return status_of(rules, server, a.error);
  if (is_shared_engine(a.body)) return Status::ok();
  return Status::fatal("`delivery: exactly_once` with several servers needs its marker table on all of them. Run: " +
                       epoch_table_statement(rules, "ReplicatedReplacingMergeTree"));
}

}  // namespace

Status check_exactly_once(const TargetRules& rules, const ServerInfo& info, size_t server, HttpClient& client,
                          DeduplicationWindow* window) {
  const TableLayout& t = *info.layout;
  const std::string name = rules.table_name();
  if (info.settings.count("insert_deduplication_token") == 0)
    return Status::fatal(
        "`delivery: exactly_once` needs a server that knows insert_deduplication_token (22.2 or newer); " +
        rules.servers[server] + " is " + info.version +
        ". Use `delivery: upsert` with a ReplacingMergeTree read with FINAL");
  if (t.engine.find("MergeTree") == std::string::npos)
    return Status::fatal("`delivery: exactly_once` needs a MergeTree, and " + name + " is a " + t.engine);
  Answer a = read_window(rules, server, client, t.engine, t.engine_full, window);
  if (!a.ok) return status_of(rules, server, a.error);
  if (window->inserts == 0)
    return Status::fatal("`delivery: exactly_once`: " + name + " does not remember its inserts (" + window->setting +
                         " is 0), so a block that is sent again would be in twice. Run: alter table " + name +
                         " modify setting " + window->setting + " = 10000");
  if (!t.partition.is_known())
    return Status::fatal("`delivery: exactly_once` cannot evaluate the partition key " + t.partition_key + " of " +
                         name +
                         ": use columns, toYYYYMMDD, toYYYYMM, toDate, toMonday, toYear or toStartOf… of a column, or "
                         "`delivery: upsert`");
  SLUICE_CHECK_OK(check_dependent_views(rules, info, server, client, *window));
  if (rules.servers.size() == 1) return Status::ok();
  if (!window->replicated)
    return Status::fatal("`delivery: exactly_once` with several servers needs a replicated table, and " + name +
                         " is a " + t.engine);
  return check_marker_table(rules, server, client);
}

Answer check_remembered(const TargetRules& rules, size_t server, HttpClient& client, const EpochAttempt& attempt) {
  InsertCount now;
  Answer a = read_insert_count(rules, server, client, attempt.window.replicated, &now);
  if (!a.ok) return a;
  const std::string why = why_forgotten(attempt.window, attempt.begin, now, attempt.lanes);
  if (why.empty()) return a;
  a.ok = false;
  a.error = {ErrorClass::kFatal, 0,
             "the rows of checkpoint " + std::to_string(attempt.checkpoint) + " may be in " + rules.table_name() +
                 " for a part, and it may have forgotten which: " + why +
                 ". Nothing more is written, so that no row is in twice. Look into the table; to go on all the same, "
                 "with rows of this checkpoint that can be in twice, make the window larger (alter table " +
                 rules.table_name() + " modify setting …) and start the job again",
             false};
  return a;
}

ExactlyOnce::ExactlyOnce(const TargetRules& rules, EpochMarker marker, uint32_t lanes, int64_t batch_rows)
    : rules_(rules),
      marker_(std::move(marker)),
      lanes_(lanes),
      wanted_batch_rows_(batch_rows),
      unknown_errors_(rules.unknown_error_patience),
      batch_rows_(batch_rows) {}

Status ExactlyOnce::failed(size_t server, const ServerError& error) {
  return status_of(rules_, server, unknown_errors_.judge(error));
}

Status ExactlyOnce::open(size_t server, HttpClient& client, int64_t now_ms) {
  Answer a = EpochMarker::make_table(rules_, server, client);
  if (!a.ok) return failed(server, a.error);
  bool altered = false;  // it has just been checked
  SLUICE_CHECK_OK(look(server, client, &altered));
  set_checked();
  SLUICE_CHECK_OK(read(server, client));
  if (marker_.batch_rows > 0) return Status::ok();
  // An epoch that is cut off is cut again as it was, whatever the options say by then.
  EpochMarker next = marker_;
  next.batch_rows = wanted_batch_rows_;
  return write(next, server, client, now_ms);
}

Status ExactlyOnce::read(size_t server, HttpClient& client) {
  rows_ = blocks_ = 0;
  open_bytes_ = 0;
  token_uses_.clear();
  Answer a = marker_.read(rules_, server, client);
  if (!a.ok) return failed(server, a.error);
  unknown_errors_.forget();
  batch_rows_ = marker_.batch_rows > 0 ? marker_.batch_rows : wanted_batch_rows_;
  return Status::ok();
}

Status ExactlyOnce::look(size_t server, HttpClient& client, bool* altered) {
  Answer a = read_insert_count(rules_, server, client, window_.replicated, &count_, &table_id_);
  if (!a.ok) return failed(server, a.error);
  *altered = table_id_ != checked_table_id_;
  return Status::ok();
}

Status ExactlyOnce::begin(uint64_t checkpoint, std::string_view lineage, size_t server, HttpClient& client,
                          int64_t now_ms, bool* goes_on) {
  SLUICE_CHECK_OK(read(server, client));
  auto attempt = std::make_shared<EpochAttempt>();
  attempt->checkpoint = checkpoint;
  attempt->window = window_;
  attempt->lanes = lanes_;
  attempt->is_repeat = marker_.attempt_epoch == checkpoint && marker_.attempt_lineage == lineage;
  attempt->begin = attempt->is_repeat ? marker_.attempt_begin : count_;
  *goes_on = attempt->is_repeat && attempt_ != nullptr && attempt_->checkpoint == checkpoint && lineage_ == lineage &&
             attempt_table_id_ == table_id_;
  if (!attempt->is_repeat) {
    // Before the first row: whoever comes after a crash must know how long ago it was.
    EpochMarker next = marker_;
    next.attempt_lineage = std::string(lineage);
    next.attempt_epoch = checkpoint;
    next.attempt_begin = count_;
    SLUICE_CHECK_OK(write(next, server, client, now_ms));
  }
  attempt_ = std::move(attempt);
  lineage_ = std::string(lineage);
  attempt_table_id_ = table_id_;
  return Status::ok();
}

Status ExactlyOnce::finish(uint64_t checkpoint, std::string_view lineage, size_t server, HttpClient& client,
                           int64_t now_ms) {
  EpochMarker next = marker_;
  next.lineage = std::string(lineage);
  next.epoch = checkpoint;
  next.batch_rows = wanted_batch_rows_;
  return write(next, server, client, now_ms);
}

Status ExactlyOnce::write(const EpochMarker& next, size_t server, HttpClient& client, int64_t now_ms) {
  EpochMarker written = next;
  Answer a = written.write(rules_, server, client, now_ms);
  if (!a.ok) return failed(server, a.error);
  unknown_errors_.forget();
  marker_ = std::move(written);
  return Status::ok();
}

bool ExactlyOnce::next_row() {
  const bool ends = rows_++ % static_cast<uint64_t>(batch_rows_) == 0 || open_bytes_ >= kMostOpenBytes;
  if (ends) open_bytes_ = 0;
  return ends;
}

std::string ExactlyOnce::token(std::string_view partition, const std::string& column_names) {
  ++blocks_;
  std::string place = hex(partition);
  if (place.size() > 200)
    place = std::to_string(fingerprint(partition, 0)) + "-" + std::to_string(fingerprint(partition, 1)) + "-" +
            std::to_string(partition.size());
  const uint64_t slice = (rows_ == 0 ? 0 : rows_ - 1) / static_cast<uint64_t>(batch_rows_);
  const std::string base = marker_.pipeline + "/" + marker_.operator_id + "/" + std::to_string(marker_.lane) + "/" +
                           lineage_ + "/" + std::to_string(attempt_ == nullptr ? 0 : attempt_->checkpoint) + "/" +
                           std::to_string(slice) + "/" + place + "/" + std::to_string(fingerprint(column_names, 0));
  // A block that became too large has a successor.
  return base + "/" + std::to_string(token_uses_[base]++);
}

Status ExactlyOnce::check_block_count() const {
  if (blocks_ * lanes_ <= window_.inserts) return Status::ok();
  return Status::fatal("checkpoint " + std::to_string(attempt_ == nullptr ? 0 : attempt_->checkpoint) +
                       " has more than " + std::to_string(blocks_ - 1) + " inserts for each of " +
                       std::to_string(lanes_) + " lanes, and " + rules_.table_name() + " remembers the last " +
                       std::to_string(window_.inserts) +
                       " only: make its deduplication window larger, or the checkpoint interval or the number of "
                       "partitions smaller");
}

}  // namespace sluice::clickhouse
