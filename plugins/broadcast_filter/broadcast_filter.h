// Operator `broadcast_filter`: keeps the change records of configured tables and says where each goes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadcast_filter/config_row.h"
#include "broadcast_filter/page.h"
#include "broadcast_filter/rule_set.h"
#include "sluice/sdk.hpp"

namespace sluice::broadcast_filter {

enum class OnDelete { kIgnore, kApply };

struct FilterConfig {
  std::string database;
  std::vector<std::string> keep_types;
  OnDelete on_delete = OnDelete::kIgnore;
};

// One instance a lane. All lanes get the same configuration rows in the same order; lane 0 alone reports them
// (counters, log, dead letters), or each would be there once a lane.
class BroadcastFilter final : public BroadcastTransform<FilterConfig> {
 public:
  static constexpr const char* kType = "broadcast_filter";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary =
      "Keeps the change records of configured tables and attaches the target table to each.";
  static constexpr const char* kDoc = kPage;
  static Options<FilterConfig> options();

  Status configure(Needs& needs) override;
  Status open() override;
  Status process(const Batch& in, Output& out) override;
  Status process_broadcast(const Batch& in, Output& out) override;
  Status on_marker(uint32_t marker, Output& out) override;

 private:
  enum class RowType { kInsert, kUpdate, kDelete, kBootstrapInsert, kControl, kUnknown };
  static RowType classify(std::string_view type) noexcept;

  // Counted in a batch, handed to the host once at its end.
  struct Tally {
    int64_t kept = 0, not_configured = 0, other_database = 0, deletes = 0, control = 0, type = 0, unknown_type = 0;
    int64_t key_changes = 0, deletes_applied = 0;
  };
  void report(const Tally& tally) const;

  Status or_announce_again(Status status);

  // Main side.
  Status filter(const Batch& in, Output& out);
  Status process_row(const Batch& in, uint32_t row, Output& out, Tally* tally);
  Status keep(const Batch& in, uint32_t row, RowType type, Rule& rule, Output& out, Tally* tally);
  // When `old` holds a key column: a row that deletes the old key, before the row itself.
  Status handle_key_change(const Batch& in, uint32_t row, Rule& rule, Output& out, Tally* tally);
  void emit_delete(const Batch& in, uint32_t row, const Rule& rule, const Value& data, Output& out) const;
  // These say it once for each rule and lane.
  void notice_database(std::string_view database, Rule* rule) const;
  void notice_old_key(Rule* rule) const;

  // Broadcast side.
  Status configure_rules(const Batch& in, Output& out);
  struct ConfigChange;
  std::string read_change(const Batch& in, uint32_t row, ConfigChange* change) const;
  Status apply(ConfigChange change, Output& out, std::string* problem);
  Status remove(const std::string& source_table, const char* why);
  Status remove_all(const std::optional<std::string>& from);
  Status finish_snapshot(Output& out);
  Status announce(const Rule& rule, Output& out) const;
  Status announce_all(Output& out);
  RuleSet& target() noexcept { return loading_ ? *loading_ : rules_; }
  bool reports() const noexcept { return lane() == 0; }

  Field database_, table_, type_, data_, old_;
  Field before_, after_, op_, source_, payload_, plain_[5];
  BroadcastState<ConfigRow> state_{this, "config", StateOptions().format(2, 1)};

  RuleSet rules_;                   // what `config` holds, checked and indexed
  std::optional<RuleSet> loading_;  // between the markers of a snapshot: what will replace rules_
  bool announce_first_ =
      false;  // all tables are to be announced before anything else: after a restore, after a call that failed
  bool keeps_[4] = {};  // by RowType, up to kBootstrapInsert
};

}  // namespace sluice::broadcast_filter
