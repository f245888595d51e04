#include "clickhouse_sink.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

namespace sluice::clickhouse {
namespace {

using std::chrono::milliseconds;

// A block of more rows is taken apart by the server, and then written piece by piece.
constexpr int64_t kMostBatchRows = 1'000'000;
constexpr uint32_t kLookEvery = 256;  // rows
constexpr milliseconds kWriteWait{200}, kPrepareWait{2000};
constexpr milliseconds kStopPatience{5000};

}  // namespace

ClickHouseSink::~ClickHouseSink() {
  if (sender_) sender_->stop();
}

// Each try of a request has its whole time, or a slow one would be cut off over and over.
milliseconds ClickHouseSink::epoch_patience() const { return config().connect_timeout + config().request_timeout; }

HttpRules ClickHouseSink::http_rules() const {
  const auto& c = config();
  return {c.user, c.password, c.tls_ca.value_or(""), c.tls_verify, c.connect_timeout, c.request_timeout};
}

Status ClickHouseSink::configure(Needs& needs) {
  const auto& c = config();
  rules_ = TargetRules();
  if (c.servers.empty()) return Status::fatal("`servers` is empty");
  for (std::string server : c.servers) {
    // Not shown: there can be a password in it.
    if (server.find('@') != std::string::npos)
      return Status::fatal("`servers`: user and password do not belong into an address: use `user` and `password`");
    if (server.find_first_of("?#") != std::string::npos)
      return Status::fatal("`servers`: an address ends before ? and #: use `user`, `password` and `settings`");
    if (server.rfind("http://", 0) != 0 && server.rfind("https://", 0) != 0)
      return Status::fatal("`servers`: " + server + " does not begin with http:// or https://");
    if (const std::string problem = address_problem(server); !problem.empty())
      return Status::fatal("`servers`: " + server + " is no address like http://host:8123: it " + problem);
    while (server.back() == '/') server.pop_back();
    rules_.servers.push_back(std::move(server));
  }
  if (c.tls_ca && !c.tls_ca->empty() && access(c.tls_ca->c_str(), R_OK) != 0)
    return Status::fatal("`tls_ca`: cannot read " + *c.tls_ca + ": " + std::strerror(errno));
  if (c.table.empty()) return Status::fatal("`table` is empty");
  if (c.database.empty()) return Status::fatal("`database` is empty");
  for (const std::string* text : {&c.user, &c.password})
    if (text->find_first_of("\r\n") != std::string::npos)
      return Status::fatal("`user` and `password` cannot hold line breaks");
  if (c.batch_rows < 1 || c.batch_rows > kMostBatchRows)
    return Status::fatal("`batch_rows` must be from 1 to 1000000: the server takes larger inserts apart");
  if (c.stop_after_refused < 0) return Status::fatal("`stop_after_refused` must not be negative");
  if (c.batch_bytes.bytes < 1 || c.batch_bytes.bytes > kMostBatchBytes)
    return Status::fatal("`batch_bytes` must be at most 64MiB: the server takes larger inserts apart");
  if (c.max_buffer.bytes < c.batch_bytes.bytes) return Status::fatal("`max_buffer` is smaller than `batch_bytes`");
  static const std::set<std::string> kReserved = {"async_insert",
                                                  "wait_for_async_insert",
                                                  "async_insert_deduplicate",
                                                  "insert_deduplicate",
                                                  "deduplicate_insert",
                                                  "insert_deduplication_token",
                                                  "max_insert_block_size",
                                                  "max_insert_block_size_rows",
                                                  "min_insert_block_size_rows",
                                                  "min_insert_block_size_bytes",
                                                  "input_format_skip_unknown_fields",
                                                  "input_format_with_names_use_header",
                                                  "input_format_with_types_use_header"};
  static const std::set<std::string> kOfViews = {kDeduplicateInViews, kViewTokens};
  for (const auto& [name, value] : c.settings)
    if (kReserved.count(name) > 0 || (exactly_once() && kOfViews.count(name) > 0))
      return Status::fatal("`settings`: " + name + " is set by the sink itself, or rows would be lost or come twice");
  rules_.database = c.database;
  rules_.table = c.table;
  rules_.create = c.create.value_or("");
  rules_.settings = c.settings;
  rules_.exactly_once = exactly_once();
  rules_.one_table = c.delivery != Delivery::kAtLeastOnce;
  rules_.gzip = c.compression == Compression::kGzip;
  EncodingRules encoding;
  encoding.epoch_scale = 3 * static_cast<int>(c.epoch_unit);
  encoding.zero_dates_are_null = c.zero_dates == ZeroDates::kNull;
  encoding.cut_fractions = c.excess_fraction == ExcessFraction::kCut;
  encoder_.emplace(
      encoding, [this](const Value& v, Value* out) { return parse(v, out); },
      [this](const Value& v, std::string_view* out) { return to_json(v, out); });
  needs.body();
  needs.delivery(c.delivery == Delivery::kUpsert        ? SLUICE_DELIVERY_UPSERT
                 : c.delivery == Delivery::kExactlyOnce ? SLUICE_DELIVERY_EPOCH
                                                        : SLUICE_DELIVERY_AT_LEAST_ONCE);
  return Status::ok();
}

// ---- start ------------------------------------------------------------------------------------------

Status ClickHouseSink::connect(size_t* server, std::shared_ptr<const ServerInfo>* info) {
  Status last;
  for (*server = 0; *server < rules_.servers.size(); ++*server) {
    last = read_server(rules_, *server, *client_, info);
    if (last.code() != SLUICE_RETRY) return last;
  }
  return last;
}

Status ClickHouseSink::open() {
  if (sender_) return Status::ok();
  // Requests are short. The last ones, while the job stops, are not given up before they had their chance.
  if (!client_)
    client_.emplace(http_rules(), [this](milliseconds under_way) { return under_way > kStopPatience && stopping(); });
  size_t server = 0;
  std::shared_ptr<const ServerInfo> info;
  if (Status s = connect(&server, &info); !s.is_ok()) {
    if (s.code() == SLUICE_RETRY) note("ClickHouse: " + s.message());
    return s;
  }
  SLUICE_CHECK_OK(check_table(*info, server));
  if (lane() == 0) SLUICE_CHECK_OK(check_other_servers(*info, server));
  note("");
  connected_ = server;
  adopt(*info);
  if (lane() == 0) warn_of(*info);
  if (exactly_once()) {
    EpochMarker marker;
    marker.pipeline = std::string(pipeline());
    marker.operator_id = std::string(id());
    marker.lane = lane();
    epochs_.emplace(rules_, std::move(marker), lanes(), config().batch_rows);
    epochs_->set_window(window_);
    SLUICE_CHECK_OK(epochs_->open(server, *client_, now()));
  } else {
    std::random_device random;
    token_prefix_ = std::to_string(random()) + "-" + std::to_string(now()) + "-" + std::to_string(lane()) + "/";
  }
  BlockSender::Hooks hooks;
  hooks.note = [this](const std::string& text) { note(text); };
  hooks.count = [this](const char* metric, int64_t delta) { count(metric, delta); };
  hooks.warn = [this](const std::string& text) { warn(std::string(id()) + ": " + text); };
  sender_.emplace(rules_, http_rules(), exactly_once() ? milliseconds(0) : config().flush_interval, std::move(hooks));
  sender_->start(server, std::move(info));
  return Status::ok();
}

void ClickHouseSink::adopt(const ServerInfo& info) {
  layout_ = info.layout;
  plans_.clear();
  unknown_names_.clear();
  last_block_ = nullptr;
  looked_at_ = views_looked_at_ = std::chrono::steady_clock::now();
  has_views_ = !info.views.empty();
  deleted_column_ = config().on_delete == OnDelete::kMark
                        ? layout_->find(read_replacing_engine(layout_->engine, layout_->engine_full).deleted)
                        : -1;
  cell_at_.assign(layout_->columns.size(), {});
  required_.assign(layout_->columns.size(), false);
  if (config().delivery != Delivery::kUpsert) return;
  const int version = layout_->find(read_replacing_engine(layout_->engine, layout_->engine_full).version);
  std::vector<uint32_t> columns = layout_->named_in(layout_->sorting_key);
  if (version >= 0) columns.push_back(static_cast<uint32_t>(version));
  for (const uint32_t c : columns) required_[c] = !layout_->columns[c].has_default;
}

// ---- rows -------------------------------------------------------------------------------------------

Status ClickHouseSink::write(const Batch& in, uint32_t* consumed) {
  Lock lock(sender_->mutex());
  for (uint32_t row = 0; row < in.size(); ++row) {
    *consumed = row;
    if (row % kLookEvery == 0) {
      SLUICE_CHECK_OK(settle(lock));
      forget_origins();
      const auto most = static_cast<size_t>(config().max_buffer.bytes);
      if (sender_->memory() >= most) {
        // Exactly once, where a block ends must not depend on how fast the server is.
        if (!exactly_once()) {
          sender_->seal_all();
          last_block_ = nullptr;
        }
        SLUICE_CHECK_OK(wait_until_sent(lock, most, exactly_once() ? epoch_patience() : kWriteWait));
      }
    }
    if (epochs_ && epochs_->next_row()) {
      sender_->seal_all();
      last_block_ = nullptr;
    }
    Incoming r;
    if (in.change(row) == SLUICE_CHANGE_DELETE) {
      if (config().on_delete == OnDelete::kIgnore) {
        count("deletes_ignored");
        continue;
      }
      if (config().on_delete == OnDelete::kReject) {
        SLUICE_CHECK_OK(reject(row, "a deleted row cannot be written; see `on_delete`"));
        continue;
      }
      r.flags |= Block::kDeleted;
    }
    Status s = in.body(row, &r.body);
    if (s.is_ok()) s = in.json(row, &r.json);
    if (s.code() == SLUICE_BAD_RECORD) {
      SLUICE_CHECK_OK(reject(row, s.message()));
      continue;
    }
    SLUICE_CHECK_OK(s);
    if (in.payload(row).data() == nullptr) r.flags |= Block::kMade;
    if (config().isolate_errors) {
      SLUICE_CHECK_OK(keep_origin(row, &r.origin));
      last_origin_ = r.origin;
    }
    std::string problem;
    ignored_fields_ = 0;
    SLUICE_CHECK_OK(add_row(lock, r, &problem));
    if (!problem.empty()) {
      SLUICE_CHECK_OK(reject(row, problem));
    } else {
      if (ignored_fields_ > 0) count("ignored_fields", ignored_fields_);
      if (zero_dates_ > 0) count("zero_dates", zero_dates_);
    }
    if (!epochs_) continue;
    if (problem.empty()) epochs_->add_bytes(row_bytes_.size() + r.json.size());
    SLUICE_CHECK_OK(epochs_->check_block_count());
  }
  *consumed = in.size();
  return Status::ok();
}

void ClickHouseSink::forget_origins() {
  if (last_origin_ == 0) return;
  const uint64_t first = sender_->first_origin();
  const uint64_t up_to = first == 0 ? last_origin_ : first - 1;
  if (up_to <= dropped_origin_) return;
  if (drop_origins(up_to).is_ok()) dropped_origin_ = up_to;
}

// ---- checkpoints ------------------------------------------------------------------------------------

Status ClickHouseSink::prepare(uint64_t) {
  if (exactly_once() || !sender_) return Status::ok();
  Lock lock(sender_->mutex());
  sender_->seal_all();
  last_block_ = nullptr;
  SLUICE_CHECK_OK(wait_until_sent(lock, 0, kPrepareWait));
  forget_origins();
  return Status::ok();
}

Status ClickHouseSink::epoch_begin(uint64_t checkpoint) {
  if (!epochs_) return Status::ok();
  const size_t server = forget_waiting();
  bool altered = false, goes_on = false;
  SLUICE_CHECK_OK(epochs_->look(server, *client_, &altered));
  if (altered) SLUICE_CHECK_OK(check_again(server));
  SLUICE_CHECK_OK(epochs_->begin(checkpoint, lineage(), server, *client_, now(), &goes_on));
  if (goes_on) return Status::ok();
  Lock lock(sender_->mutex());
  sender_->forget_names();
  return Status::ok();
}

// The table was altered, or it has other views.
Status ClickHouseSink::check_again(size_t server) {
  std::shared_ptr<const ServerInfo> info;
  SLUICE_CHECK_OK(read_server(rules_, server, *client_, &info, false));
  if (info->layout == nullptr) return table_is_gone(server);
  SLUICE_CHECK_OK(check_table(*info, server));
  has_views_ = !info->views.empty();
  epochs_->set_checked();
  return Status::ok();
}

// What waits, and what is under way. The server to go on with.
size_t ClickHouseSink::forget_waiting() {
  last_block_ = nullptr;
  if (!sender_) return connected_;
  Lock lock(sender_->mutex());
  sender_->discard(lock);
  return sender_->server();
}

Status ClickHouseSink::commit(uint64_t checkpoint) {
  if (!epochs_) return Status::ok();
  Lock lock(sender_->mutex());
  if (epochs_->holds(checkpoint, lineage())) {
    sender_->discard(lock);
    return Status::ok();
  }
  sender_->seal_all();
  last_block_ = nullptr;
  SLUICE_CHECK_OK(wait_until_sent(lock, 0, epoch_patience()));
  const size_t server = sender_->server();
  lock.unlock();
  SLUICE_CHECK_OK(epochs_->finish(checkpoint, lineage(), server, *client_, now()));
  forget_origins();
  return Status::ok();
}

// The answer to an earlier marker may have been lost: what counts is what the table says.
Status ClickHouseSink::last_committed(uint64_t* checkpoint, std::string* lineage) {
  *checkpoint = 0;
  lineage->clear();
  if (!epochs_) return Status::ok();
  SLUICE_CHECK_OK(epochs_->read(forget_waiting(), *client_));
  *checkpoint = epochs_->marker().epoch;
  if (*checkpoint > 0) *lineage = epochs_->marker().lineage;
  return Status::ok();
}

Status ClickHouseSink::close() {
  if (!sender_) return Status::ok();
  Status s = prepare(0);
  sender_->stop();
  sender_.reset();
  if (s.code() == SLUICE_RETRY)
    warn(std::string(id()) + ": closed before all rows were in (" + s.message() +
         "); those since the last checkpoint are written again");
  return s.code() == SLUICE_RETRY ? Status::ok() : s;
}

}  // namespace sluice::clickhouse
