// Small operators of every kind. docs/writing-a-plugin.md quotes them, and the tests of the harness run them.
#pragma once
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include <sluice/sdk.hpp>

namespace acme {

struct NumbersConfig {
  int64_t until = 0;
};

// A source: one split, whose position is the next number.
class Numbers final : public sluice::Source<NumbersConfig> {
 public:
  static constexpr const char* kType = "acme.numbers";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Counts.";
  static sluice::Options<NumbersConfig> options() { return {sluice::opt("until", &NumbersConfig::until).required().doc("The last number.")}; }

  sluice::Status discover(std::vector<sluice::Split>* splits) override {
    splits->push_back({"numbers", 0});
    return sluice::Status::ok();
  }
  sluice::Status assign(const std::vector<sluice::AssignedSplit>& splits) override {
    for (const auto& split : splits) {
      split_ = split.index;
      assigned_ = true;
      if (split.restored) std::from_chars(split.position.data(), split.position.data() + split.position.size(), next_);
      move_position(split_, std::to_string(next_));  // a checkpoint before the first row has a position, too
    }
    return sluice::Status::ok();
  }
  sluice::Status poll(uint32_t max_rows) override {
    if (!assigned_) return sluice::Status::ok();
    for (uint32_t i = 0; i < max_rows && next_ <= config().until; ++i) {
      const std::string row = "{\"n\":" + std::to_string(next_++) + "}";
      SLUICE_CHECK_OK(emit(split_, row, std::to_string(next_)));
    }
    if (next_ > config().until) split_status(split_, SLUICE_SPLIT_END | SLUICE_SPLIT_SNAPSHOT_COMPLETE);
    return sluice::Status::ok();
  }
  std::string describe_position(std::string_view, std::string_view position) override { return "before number " + std::string(position); }

 private:
  int64_t next_ = 1;
  uint32_t split_ = 0;
  bool assigned_ = false;
};

struct PerMinuteConfig {};

// Keyed state and event timers: how many rows a key had in each minute.
class PerMinute final : public sluice::Transform<PerMinuteConfig> {
 public:
  static constexpr const char* kType = "acme.per_minute";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Counts the rows of each key and minute.";
  static constexpr uint32_t kFlags = SLUICE_OP_KEYED;
  static sluice::Options<PerMinuteConfig> options() { return {}; }

  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      const int64_t start = in.event_time(row) / 60000 * 60000, end = start + 60000;
      if (in.watermark(row) >= end) {
        SLUICE_CHECK_OK(out.reject(row, "late"));
        continue;
      }
      bool found = false;
      int64_t rows = 0;
      SLUICE_CHECK_OK(rows_.get(in.key(row), std::to_string(start), &found, &rows));
      SLUICE_CHECK_OK(rows_.put(in.key(row), std::to_string(start), rows + 1));
      SLUICE_CHECK_OK(set_timer(SLUICE_CLOCK_EVENT, in.key(row), end));
    }
    return sluice::Status::ok();
  }
  sluice::Status on_timer(uint32_t, std::string_view key, int64_t at, uint64_t, sluice::Output& out) override {
    const std::string start = std::to_string(at - 60000);
    bool found = false;
    int64_t rows = 0;
    SLUICE_CHECK_OK(rows_.get(key, start, &found, &rows));
    SLUICE_CHECK_OK(rows_.erase(key, start));
    out.emit(SLUICE_NO_ROW)
        .set("key", sluice::Value::string(key))
        .set("start", sluice::Value::integer(at - 60000))
        .set("rows", sluice::Value::integer(rows))
        .event_time(at - 1);
    return sluice::Status::ok();
  }

 private:
  sluice::MapState<int64_t> rows_{this, "rows"};
};

struct TableFilterConfig {
  std::string field;
};

// Two inputs: the broadcast side says which tables pass, and to where.
class TableFilter final : public sluice::BroadcastTransform<TableFilterConfig> {
 public:
  static constexpr const char* kType = "acme.table_filter";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Passes rows of configured tables on.";
  static std::vector<std::string> output_ports() { return {"unknown"}; }
  static sluice::Options<TableFilterConfig> options() {
    return {sluice::opt("field", &TableFilterConfig::field).def("table").doc("Field with the table's name.")};
  }

  sluice::Status configure(sluice::Needs& needs) override {
    table_ = needs.field(config().field);
    name_ = needs.broadcast_field("name");
    target_ = needs.broadcast_field("target");
    needs.attaches({"target"});
    return sluice::Status::ok();
  }
  sluice::Status process_broadcast(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      if (!in(name_, row).is_string()) {
        SLUICE_CHECK_OK(out.reject(row, "no name"));
      } else if (in.change(row) == SLUICE_CHANGE_DELETE) {
        SLUICE_CHECK_OK(targets_.erase(in(name_, row).text()));
      } else {
        SLUICE_CHECK_OK(targets_.put(in(name_, row).text(), std::string(in(target_, row).text())));
      }
    }
    return sluice::Status::ok();
  }
  sluice::Status process(const sluice::Batch& in, sluice::Output& out) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      bool found = false;
      std::string target;
      SLUICE_CHECK_OK(targets_.get(in(table_, row).text(), &found, &target));
      if (found) out.forward(row, {sluice::Value::string(out.keep(target))});
      else out.forward(row, 1);
    }
    return sluice::Status::ok();
  }

 private:
  sluice::Field table_, name_, target_;
  sluice::BroadcastState<std::string> targets_{this, "targets"};
};

// Stands for a database with transactions.
struct Ledger {
  std::vector<std::string> rows;
  uint64_t checkpoint = 0;
  std::string lineage;
};

struct LedgerConfig {};

// An epoch sink: rows and marker in one transaction of the target.
class LedgerSink final : public sluice::Sink<LedgerConfig> {
 public:
  static constexpr const char* kType = "acme.ledger";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary = "Writes rows exactly once.";
  static sluice::Options<LedgerConfig> options() { return {}; }
  static Ledger& ledger() {
    static Ledger l;
    return l;
  }

  sluice::Status configure(sluice::Needs& needs) override {
    needs.body();
    needs.delivery(SLUICE_DELIVERY_EPOCH);
    return sluice::Status::ok();
  }
  sluice::Status last_committed(uint64_t* checkpoint, std::string* lineage) override {
    *checkpoint = ledger().checkpoint;
    *lineage = ledger().lineage;
    return sluice::Status::ok();
  }
  sluice::Status epoch_begin(uint64_t) override {
    transaction_.clear();
    return sluice::Status::ok();
  }
  sluice::Status write(const sluice::Batch& in, uint32_t*) override {
    for (uint32_t row = 0; row < in.size(); ++row) {
      std::string_view json;
      if (sluice::Status s = in.json(row, &json); s.code() == SLUICE_BAD_RECORD) {
        SLUICE_CHECK_OK(reject(row, s.message()));
        continue;
      }
      transaction_.emplace_back(json);
    }
    return sluice::Status::ok();
  }
  sluice::Status commit(uint64_t checkpoint) override {
    if (checkpoint <= ledger().checkpoint) return sluice::Status::ok();  // comes again after a restore
    ledger().rows.insert(ledger().rows.end(), transaction_.begin(), transaction_.end());
    ledger().checkpoint = checkpoint;
    ledger().lineage = std::string(lineage());
    return sluice::Status::ok();
  }

 private:
  std::vector<std::string> transaction_;
};

}  // namespace acme
