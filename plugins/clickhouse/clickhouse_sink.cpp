#include "clickhouse_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

namespace sluice::clickhouse {
namespace {

using std::chrono::milliseconds;

// A block of more rows is taken apart by the server, and then written piece by piece.
constexpr int64_t kMostBatchRows = 1'000'000;
constexpr int64_t kMostBatchBytes = 64 * 1024 * 1024;
constexpr size_t kMostJson = size_t{1} << 30;
constexpr size_t kMostOpenBlocks = 200;
constexpr size_t kMostPlans = 64;
constexpr uint32_t kLookEvery = 256;  // rows
constexpr milliseconds kWriteWait{200}, kPrepareWait{2000}, kWaitStep{50};
constexpr milliseconds kLookAgain{1000}, kLookAgainIgnoring{30000};
constexpr size_t kMostUnknownNames = 64;  // names can be data
constexpr milliseconds kStopPatience{5000};

std::string row_text(std::string_view json) {
  return std::string(json.substr(0, 400)) + (json.size() > 400 ? "…" : "");
}

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

// ---- rows into blocks -------------------------------------------------------------------------------

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

bool ClickHouseSink::may_have_changed() const {
  const auto enough = config().unknown_fields == UnknownFields::kIgnore ? kLookAgainIgnoring : kLookAgain;
  return std::chrono::steady_clock::now() - looked_at_ > enough;
}

Status ClickHouseSink::plan_for(Lock& lock, const Value& body, const RowPlan** plan) {
  for (size_t i = 0; i < plans_.size(); ++i) {
    const RowPlan& p = plans_[i];
    if (p.members.size() != body.size()) continue;
    size_t same = 0;
    while (same < body.size() && body.name(same) == p.members[same]) ++same;
    if (same < body.size()) continue;
    if (p.ignored > 0 && may_have_changed()) {
      plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    if (i > 0)
      std::rotate(plans_.begin(), plans_.begin() + static_cast<std::ptrdiff_t>(i),
                  plans_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    *plan = &plans_.front();
    return Status::ok();
  }
  RowPlan made;
  SLUICE_CHECK_OK(plan_again(lock, body, &made, true));
  if (plans_.size() >= kMostPlans) plans_.pop_back();
  plans_.insert(plans_.begin(), std::move(made));
  *plan = &plans_.front();
  return Status::ok();
}

Status ClickHouseSink::plan_again(Lock& lock, const Value& body, RowPlan* plan, bool look_again) {
  *plan = RowPlan();
  std::vector<int> member_of(layout_->columns.size(), -1);
  std::string unknown;
  bool is_new = false;
  for (size_t i = 0; i < body.size(); ++i) {
    const std::string name(body.name(i));
    plan->members.push_back(name);
    if (const int column = layout_->find(name); column >= 0) {
      if (member_of[static_cast<size_t>(column)] < 0) member_of[static_cast<size_t>(column)] = static_cast<int>(i);
    } else {
      ++plan->ignored;
      if (unknown.empty()) unknown = name;
      if (unknown_names_.size() < kMostUnknownNames) is_new = unknown_names_.insert(name).second || is_new;
    }
  }
  const bool computed =
      std::find(layout_->computed.begin(), layout_->computed.end(), unknown) != layout_->computed.end();
  const bool at_once = is_new && !computed && config().unknown_fields != UnknownFields::kIgnore;
  // The table may have got the column since it was looked at.
  if (!unknown.empty() && look_again && (at_once || may_have_changed())) {
    std::shared_ptr<const ServerInfo> info;
    const size_t server = sender_->server();
    lock.unlock();
    Status s = read_server(rules_, server, *client_, &info, false);
    const bool changed = s.is_ok() && info->layout != nullptr && info->layout->signature != layout_->signature;
    if (changed) s = check_table(*info, server);
    lock.lock();
    looked_at_ = std::chrono::steady_clock::now();
    if (changed) {
      SLUICE_CHECK_OK(s);
      sender_->set_info(server, info);
      sender_->seal_all();
      adopt(*info);
      return plan_again(lock, body, plan, false);
    }
  }
  if (!unknown.empty() && config().unknown_fields != UnknownFields::kIgnore) {
    plan->problem = computed ? "column \"" + unknown + "\" is computed by the table " + rules_.table_name() + " itself"
                             : "the table " + rules_.table_name() + " has no column \"" + unknown + "\"";
    if (config().unknown_fields == UnknownFields::kFail)
      return Status::fatal(plan->problem + " (`unknown_fields: fail`)");
    return Status::ok();
  }
  for (uint32_t c = 0; c < member_of.size(); ++c) {
    if (member_of[c] >= 0) {
      plan->cells.emplace_back(c, static_cast<uint32_t>(member_of[c]));
    } else {
      plan->absent.push_back(c);
    }
  }
  for (const uint32_t c : plan->absent)
    if (config().missing_columns == MissingColumns::kReject && !layout_->columns[c].has_default &&
        static_cast<int>(c) != deleted_column_)
      plan->problem =
          "the row has no \"" + layout_->columns[c].name + "\", a column without DEFAULT (`missing_columns: reject`)";
  for (const uint32_t c : plan->absent)
    if (required_[c])
      plan->problem = "the row has no \"" + layout_->columns[c].name + "\", by which rows replace each other";
  if (plan->cells.empty()) plan->problem = "the row has none of the columns of " + rules_.table_name();
  return Status::ok();
}

bool ClickHouseSink::encode(const RowPlan& plan, const Incoming& row, std::string* problem) {
  row_bytes_.clear();
  present_.clear();
  bool deletion_said = deleted_column_ < 0;
  const auto say_deletion = [&] {
    const auto c = static_cast<uint32_t>(deleted_column_);
    cell_at_[c] = {row_bytes_.size(), row_bytes_.size() + 1};
    row_bytes_.push_back((row.flags & Block::kDeleted) != 0 ? 1 : 0);
    present_.push_back(c);
    deletion_said = true;
  };
  for (const auto& [column, member] : plan.cells) {
    if (!deletion_said && static_cast<int>(column) >= deleted_column_) say_deletion();
    if (static_cast<int>(column) == deleted_column_) continue;
    const Column& c = layout_->columns[column];
    const Value value = row.body.member(member);
    if (value.is_null() && !c.type.is_nullable() && config().null_as == NullAs::kDefault) {
      if (!required_[column]) continue;
      *problem = "column \"" + c.name + "\": null is not allowed where rows replace each other by it";
      return false;
    }
    const size_t begin = row_bytes_.size();
    const int64_t zero_dates = encoder_->zero_dates();
    if (!encoder_->encode(c.type, value, &row_bytes_, problem)) {
      *problem = "column \"" + c.name + "\": " + *problem;
      return false;
    }
    if (required_[column] && encoder_->zero_dates() > zero_dates) {
      *problem = "column \"" + c.name + "\": " + shown(value) +
                 " is a zero date, which is no NULL (`zero_dates: as_null`) where rows replace each other by it";
      return false;
    }
    cell_at_[column] = {begin, row_bytes_.size()};
    present_.push_back(column);
  }
  if (!deletion_said) say_deletion();
  if (present_.empty()) {
    *problem = "the row has no value for any column of " + rules_.table_name();
    return false;
  }
  return true;
}

Status ClickHouseSink::add_row(Lock& lock, const Incoming& row, std::string* problem) {
  const RowPlan* plan = nullptr;
  SLUICE_CHECK_OK(plan_for(lock, row.body, &plan));
  if (!plan->problem.empty()) {
    *problem = plan->problem;
    return Status::ok();
  }
  const int64_t zero_dates = encoder_->zero_dates();
  if (!encode(*plan, row, problem)) return Status::ok();
  ignored_fields_ = plan->ignored;
  zero_dates_ = encoder_->zero_dates() - zero_dates;
  if (row_bytes_.size() > static_cast<size_t>(kMostBatchBytes)) {
    *problem = "the row has " + std::to_string(row_bytes_.size()) + " bytes, more than one insert may have";
    return Status::ok();
  }
  partition_.clear();
  if (!layout_->partition.columns().empty()) {
    partition_values_.clear();
    for (const size_t c : layout_->partition.columns()) {
      if (std::find(present_.begin(), present_.end(), c) == present_.end()) {
        if (exactly_once()) {
          *problem = "the row has no \"" + layout_->columns[c].name + "\", by which the table is partitioned";
          return Status::ok();
        }
        partition_values_.clear();
        break;
      }
      const auto& [begin, end] = cell_at_[c];
      partition_values_.push_back(std::string_view(row_bytes_).substr(begin, end - begin));
    }
    if (!partition_values_.empty()) layout_->partition.append_partition(partition_values_, &partition_);
  }
  block_for(partition_)->add(row_bytes_, row.json, row.origin, row.flags);
  return Status::ok();
}

// With room for the row that has just been encoded.
Block* ClickHouseSink::block_for(std::string_view partition) {
  auto& open = sender_->open();
  const auto fits = [&](const Block& b) {
    return b.partition == partition && b.columns == present_ && b.layout == layout_;
  };
  // Exactly once nothing but the rows decides: options may be others when the epoch is written again.
  const auto most_bytes = static_cast<size_t>(exactly_once() ? kMostBatchBytes : config().batch_bytes.bytes);
  const auto most_rows = static_cast<uint64_t>(epochs_ ? epochs_->batch_rows() : config().batch_rows);
  const auto is_full = [&](const Block& b) {
    return b.size() >= most_rows || (b.size() > 0 && b.rows.size() + row_bytes_.size() > most_bytes) ||
           b.json.size() > kMostJson;
  };
  // The thread seals blocks whose time has come: what was open may be gone.
  if (last_block_ != nullptr && !open.empty() && open.back().get() == last_block_ && fits(*last_block_) &&
      !is_full(*last_block_))
    return last_block_;
  // Of rows with one key and one version the server keeps the one that comes last.
  if (config().delivery == Delivery::kUpsert) {
    const auto may_share_keys = [&](const Block& b) {
      return b.partition == partition || b.partition.empty() || partition.empty();
    };
    for (size_t i = 0; i < open.size();) {
      if (!fits(*open[i]) && may_share_keys(*open[i]))
        sender_->seal(i);
      else
        ++i;
    }
  }
  for (size_t i = 0; i < open.size(); ++i) {
    if (!fits(*open[i])) continue;
    if (is_full(*open[i])) {
      sender_->seal(i);
      break;
    }
    std::rotate(open.begin() + static_cast<std::ptrdiff_t>(i), open.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                open.end());
    last_block_ = open.back().get();
    return last_block_;
  }
  if (open.size() >= kMostOpenBlocks) sender_->seal(0);
  auto block = std::make_unique<Block>();
  block->layout = layout_;
  block->columns = present_;
  block->partition = partition;
  block->since = std::chrono::steady_clock::now();
  if (epochs_) {
    std::string names;
    for (const uint32_t c : present_) names += layout_->columns[c].name + '\0';
    block->token = epochs_->token(partition, names);
    block->attempt = epochs_->attempt();
  } else {
    block->token = token_prefix_ + std::to_string(blocks_made_++);
  }
  open.push_back(std::move(block));
  last_block_ = open.back().get();
  if (open.size() == 1) sender_->wake();  // the thread has a time to wait for
  return last_block_;
}

Status ClickHouseSink::refuse(const Block& block, uint32_t row, const std::string& reason) {
  const std::string json(block.json_of(row));
  if (block.origins[row] == 0)
    return Status::fatal("a row cannot be written: " + reason + " (row: " + row_text(json) +
                         "); `isolate_errors: true` makes such rows bad records");
  // Of a row that a transform made the dead letter has nothing but its reason.
  return reject_origin(block.origins[row],
                       (block.flags[row] & Block::kMade) != 0 ? reason + " (row: " + row_text(json) + ")" : reason);
}

void ClickHouseSink::forget_origins() {
  if (last_origin_ == 0) return;
  const uint64_t first = sender_->first_origin();
  const uint64_t up_to = first == 0 ? last_origin_ : first - 1;
  if (up_to <= dropped_origin_) return;
  if (drop_origins(up_to).is_ok()) dropped_origin_ = up_to;
}

// ---- what the thread stops at -----------------------------------------------------------------------

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
