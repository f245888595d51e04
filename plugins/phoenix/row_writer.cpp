#include "phoenix/row_writer.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sluice::phoenix {
namespace {

// Phoenix's error number for a write with a time into such a table.
constexpr int kTableHasIndex = 903;

// Two tables' keys are never the same.
std::string whole_key(const PendingRow& row) {
  std::string out(reinterpret_cast<const char*>(&row.table), sizeof row.table);
  return out += row.bound.key;
}

// NULL, or an empty text, which is NULL for Phoenix.
bool is_null(const avatica::TypedValue& v) {
  return v.null() || (v.type() == avatica::STRING && v.string_value().empty()) ||
         (v.type() == avatica::BYTE_STRING && v.bytes_value().empty());
}

bool is_about_rows(FailureKind kind) { return kind == FailureKind::kBadValue || kind == FailureKind::kRefused; }

Session::Updates updates_of(const std::vector<PendingRow*>& rows) {
  Session::Updates out;
  out.reserve(rows.size());
  for (const auto* r : rows) out.push_back(&r->bound.values);
  return out;
}

}  // namespace

void RowWriter::configure(Servers* servers, size_t most_rows, size_t most_bytes,
                          std::function<void(const char*, int64_t)> count) {
  servers_ = servers;
  size_ = CommitSize(most_rows);
  most_bytes_ = most_bytes;
  count_ = std::move(count);
}

void RowWriter::add(PendingRow row) {
  bytes_ += row.bound.values.ByteSizeLong();
  pending_.push_back(std::move(row));
}

void RowWriter::clear() noexcept {
  pending_.clear();
  bytes_ = 0;
}

size_t RowWriter::committable() const {
  std::unordered_set<std::string> deleted;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const PendingRow& row = pending_[i];
    if (row.bound.deletes) {
      deleted.insert(whole_key(row));
    } else if (!deleted.empty() && deleted.count(whole_key(row)) != 0) {
      return i;
    }
  }
  return pending_.size();
}

Failure RowWriter::flush(std::vector<std::pair<uint32_t, std::string>>* rejected) {
  rejected_ = rejected;
  while (!pending_.empty()) {
    const size_t n = std::min(committable(), size_.rows());
    Rows rows;
    for (size_t i = 0; i < n; ++i) rows.push_back(&pending_[i]);
    if (Failure f = write(std::move(rows)); !f.ok()) return f;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(n));
  }
  bytes_ = 0;
  return {};
}

// A row joins the statement of its kind unless another statement has had its key since.
std::vector<RowWriter::Group> RowWriter::groups_of(const Rows& rows) {
  std::vector<Group> groups;
  std::map<std::string_view, size_t> last_of_sql;
  std::unordered_map<std::string, size_t> last_of_key;
  for (PendingRow* row : rows) {
    size_t& last = last_of_key.try_emplace(whole_key(*row), 0).first->second;
    const auto known = last_of_sql.find(*row->bound.sql);
    if (known == last_of_sql.end() || known->second < last) {
      groups.push_back({row->bound.sql.get(), row->bound.deletes, {}});
      last_of_sql[*row->bound.sql] = groups.size() - 1;
      last = groups.size() - 1;
    } else {
      last = known->second;
    }
    groups[last].rows.push_back(row);
  }
  return groups;
}

// One with a later time, when these rows would be hidden otherwise.
Failure RowWriter::session_for(const Rows& rows, Session** out) {
  if (Failure f = servers_->rows(out); !f.ok()) return f;
  const auto would_hide = [&](const PendingRow* r) { return hidden_.count(whole_key(*r)) != 0; };
  if ((*out)->write_time() == hidden_time_ && !hidden_.empty() && std::any_of(rows.begin(), rows.end(), would_hide)) {
    servers_->drop_rows();
    if (Failure f = servers_->rows(out); !f.ok()) return f;
  }
  if ((*out)->write_time() != hidden_time_) hidden_.clear();
  hidden_time_ = (*out)->write_time();
  if (hidden_time_ == 0) return {};
  for (const PendingRow* r : rows) {
    const auto& values = r->bound.values.parameter_values();
    if (r->bound.deletes || std::any_of(values.begin(), values.end(), is_null)) hidden_.insert(whole_key(*r));
  }
  return {};
}

// Everything is given to the server and not yet committed.
Failure RowWriter::execute(const Rows& rows, Session** used, Group* failed) {
  if (Failure f = session_for(rows, used); !f.ok()) return f;
  Session* session = *used;
  for (const Group& group : groups_of(rows)) {
    Failure f = session->execute_batch(*group.sql, !group.deletes, updates_of(group.rows));
    if (f.ok()) continue;
    *failed = group;
    if (is_about_rows(f.kind)) {
      if (Failure undone = session->rollback(); !undone.ok()) {
        servers_->drop_rows();
        return undone;
      }
    } else {
      servers_->drop_rows();
    }
    return f;
  }
  return {};
}

void RowWriter::refuse(PendingRow* row, const std::string& reason) { rejected_->emplace_back(row->row, reason); }

// Tries halves, with a rollback after each.
Failure RowWriter::find_bad(const Group& group, Rows rows, const Failure& reason, std::vector<PendingRow*>* bad) {
  if (rows.size() == 1) {
    refuse(rows[0], reason.text);
    bad->push_back(rows[0]);
    return {};
  }
  const auto middle = rows.begin() + static_cast<ptrdiff_t>(rows.size() / 2);
  for (Rows half : {Rows(rows.begin(), middle), Rows(middle, rows.end())}) {
    Session* session = nullptr;
    if (Failure f = servers_->rows(&session); !f.ok()) return f;
    Failure f = session->execute_batch(*group.sql, !group.deletes, updates_of(half));
    if (!f.ok() && !is_about_rows(f.kind)) {
      servers_->drop_rows();
      return f;
    }
    if (Failure undone = session->rollback(); !undone.ok()) {
      servers_->drop_rows();
      return undone;
    }
    if (f.ok()) continue;
    if (Failure deeper = find_bad(group, std::move(half), f, bad); !deeper.ok()) return deeper;
  }
  return {};
}

// A commit does not say which table it missed, and when HBase has lost one, not even that.
Failure RowWriter::find_missing(const Rows& rows, Failure reason) {
  std::unordered_set<TargetTable*> asked;
  for (const PendingRow* row : rows) {
    if (!asked.insert(row->table).second) continue;
    Failure f = row->table->touch();
    if (f.kind == FailureKind::kNotThere) {
      missing_ = row->table;
      return f;
    }
    if (!f.ok() && f.kind != FailureKind::kBusy) break;
  }
  return reason;
}

// Only when the table stays away: until then its rows wait, and all others with them.
// `failed`: the statement that failed, if it was one: others of the table may know all their columns.
bool RowWriter::leave_out_missing(const Failure& reason, const Group& failed, Rows* rows) {
  if (reason.kind != FailureKind::kNotThere || missing_ == nullptr || !missing_->stays_away()) return false;
  const std::unordered_set<const PendingRow*> of_failed(failed.rows.begin(), failed.rows.end());
  const auto concerns = [&](const PendingRow* r) {
    return of_failed.empty() ? r->table == missing_ : of_failed.count(r) != 0;
  };
  for (PendingRow* row : *rows)
    if (concerns(row)) refuse(row, reason.text);
  rows->erase(std::remove_if(rows->begin(), rows->end(), concerns), rows->end());
  missing_->forget();  // it is looked for again with its next row
  return true;
}

// Until all rows are committed or refused. Parts are committed in their order.
Failure RowWriter::write(Rows rows) {
  bool again = false;
  while (!rows.empty()) {
    const size_t rejected_before = rejected_->size();
    missing_ = nullptr;
    Group failed;
    Session* session = nullptr;
    Failure f = execute(rows, &session, &failed);
    if (f.code == kTableHasIndex && servers_->timed()) {
      servers_->write_without_time(f.text);
      continue;
    }
    if (is_about_rows(f.kind)) {
      // A connection was refused, or a look at the server's clock.
      if (failed.rows.empty()) {
        f.kind = FailureKind::kBusy;
        return f;
      }
      std::vector<PendingRow*> bad;
      if (Failure g = find_bad(failed, failed.rows, f, &bad); !g.ok()) {
        rejected_->resize(rejected_before);  // they come again
        if (g.kind == FailureKind::kNotThere) missing_ = failed.rows.front()->table;
        if (leave_out_missing(g, failed, &rows)) continue;
        return g;
      }
      if (bad.empty()) return Failure::of(FailureKind::kBusy, f.text);
      rows.erase(std::remove_if(rows.begin(), rows.end(),
                                [&](PendingRow* r) { return std::find(bad.begin(), bad.end(), r) != bad.end(); }),
                 rows.end());
      continue;
    }
    if (f.kind == FailureKind::kNotThere && !failed.rows.empty()) missing_ = failed.rows.front()->table;
    bool committing = false;
    if (f.ok()) {
      committing = true;
      f = session->commit();
      if (f.ok()) {
        count_("commits", 1);
        size_.went_well();
        int64_t zero_dates = 0;
        for (const PendingRow* r : rows) {
          r->table->was_there();
          zero_dates += r->bound.zero_dates;
        }
        if (zero_dates > 0) count_("zero_dates", zero_dates);
        return {};
      }
      // What is pending on the server, and what has been written, is unknown.
      servers_->drop_rows();
      if (f.kind == FailureKind::kNotThere || f.kind == FailureKind::kBusy) f = find_missing(rows, std::move(f));
    }
    if (leave_out_missing(f, failed, &rows)) continue;
    // An idle connection that was forgotten, or one that is older than a table: a new one will do.
    if ((f.kind == FailureKind::kLost || f.kind == FailureKind::kNotThere) && !again) {
      again = true;
      count_("rows_again", static_cast<int64_t>(rows.size()));
      continue;
    }
    if (f.kind != FailureKind::kTooMuch && !(committing && is_about_rows(f.kind))) return f;
    if (rows.size() == 1) {
      refuse(rows[0], f.text);
      return {};
    }
    if (f.kind == FailureKind::kTooMuch) {
      size_.was_too_much(rows.size());
      count_("too_large_commits", 1);
    }
    const auto middle = rows.begin() + static_cast<ptrdiff_t>(rows.size() / 2);
    if (Failure first = write(Rows(rows.begin(), middle)); !first.ok()) return first;
    rows.erase(rows.begin(), middle);
  }
  return {};
}

}  // namespace sluice::phoenix
