// clickhouse.sink: rows into blocks.
#include <algorithm>

#include "clickhouse_sink.h"

namespace sluice::clickhouse {
namespace {

constexpr size_t kMostJson = size_t{1} << 30;
constexpr size_t kMostOpenBlocks = 200;
constexpr size_t kMostPlans = 64;
constexpr std::chrono::milliseconds kLookAgainIgnoring{30000};
constexpr size_t kMostUnknownNames = 64;  // names can be data

}  // namespace

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

}  // namespace sluice::clickhouse
