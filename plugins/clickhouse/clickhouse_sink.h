// clickhouse.sink: rows into a table of ClickHouse servers, over HTTP.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "block_sender.h"
#include "exactly_once.h"
#include "operator_page.h"
#include "server.h"
#include "sluice/sdk.hpp"
#include "value_encoder.h"

namespace sluice::clickhouse {

enum class Delivery { kUpsert, kExactlyOnce, kAtLeastOnce };
enum class UnknownFields { kReject, kIgnore, kFail };
enum class MissingColumns { kDefault, kReject };
enum class NullAs { kReject, kDefault };
enum class ZeroDates { kReject, kNull };
enum class OnDelete { kReject, kIgnore, kMark };
enum class EpochUnit { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };
enum class ExcessFraction { kReject, kCut };
enum class Compression { kNone, kGzip };

// Of one insert, whatever `batch_bytes` says.
constexpr int64_t kMostBatchBytes = 64 * 1024 * 1024;
// A table is not read again before that for rows that do not fit.
constexpr std::chrono::milliseconds kLookAgain{1000};

struct ClickHouseSinkConfig {
  std::vector<std::string> servers;
  std::string database, table, user, password;
  std::optional<std::string> create, tls_ca;
  bool tls_verify = true, isolate_errors = true;
  Delivery delivery = Delivery::kUpsert;
  UnknownFields unknown_fields = UnknownFields::kReject;
  MissingColumns missing_columns = MissingColumns::kDefault;
  NullAs null_as = NullAs::kReject;
  ZeroDates zero_dates = ZeroDates::kNull;
  OnDelete on_delete = OnDelete::kReject;
  EpochUnit epoch_unit = EpochUnit::kSeconds;
  ExcessFraction excess_fraction = ExcessFraction::kReject;
  Compression compression = Compression::kNone;
  int64_t batch_rows = 0, stop_after_refused = 0;
  Size batch_bytes, max_buffer;
  std::chrono::milliseconds flush_interval{}, connect_timeout{}, request_timeout{};
  StringMap settings;
};

// Made by the host, one for each lane; [operator] calls only, beside the thread of its BlockSender.
class ClickHouseSink final : public Sink<ClickHouseSinkConfig> {
 public:
  static constexpr const char* kType = "clickhouse.sink";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kSummary =
      "Writes rows into a table of ClickHouse servers: upserts, or appends exactly once.";
  static constexpr const char* kDoc = kClickHouseSinkDoc;
  static Options<ClickHouseSinkConfig> options();

  ~ClickHouseSink() override;
  Status configure(Needs& needs) override;
  Status open() override;
  Status check(Problems& problems) override;
  Status write(const Batch& in, uint32_t* consumed) override;
  Status prepare(uint64_t checkpoint) override;
  Status epoch_begin(uint64_t checkpoint) override;
  Status commit(uint64_t checkpoint) override;
  Status last_committed(uint64_t* checkpoint, std::string* lineage) override;
  Status close() override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  // A row on its way into a block.
  struct Incoming {
    Value body;  // a map
    std::string_view json;
    uint64_t origin = 0;
    uint8_t flags = 0;  // Block::Flag
  };
  // Rows with the same members in the same order share it.
  struct RowPlan {
    std::vector<std::string> members;
    std::vector<std::pair<uint32_t, uint32_t>> cells;  // column of the layout, member; in the layout's order
    std::vector<uint32_t> absent;                      // columns that the rows do not have
    std::string problem;                               // no such row can be written
    int64_t ignored = 0;                               // members that are no columns; see may_have_changed()
  };

  bool exactly_once() const noexcept { return config().delivery == Delivery::kExactlyOnce; }
  HttpRules http_rules() const;
  HttpRules short_http_rules() const;
  std::chrono::milliseconds epoch_patience() const;
  Status connect(size_t* server, std::shared_ptr<const ServerInfo>* info);
  Status check_table(const ServerInfo& info, size_t server);
  Status check_upsert(const TableLayout& layout) const;
  Status check_other_servers(const ServerInfo& info, size_t server);
  void adopt(const ServerInfo& info);
  void warn_of(const ServerInfo& info) const;
  void warn_of_zones(const TableLayout& table) const;
  void warn_of_views(const ServerInfo& info) const;

  // Ok and a *problem: the row can never be written.
  Status add_row(Lock& lock, const Incoming& row, std::string* problem);
  Status plan_for(Lock& lock, const Value& body, const RowPlan** plan);
  Status plan_again(Lock& lock, const Value& body, RowPlan* plan, bool look_again);
  // Whether the table was last looked at so long ago that it may have got the columns that it lacked then.
  bool may_have_changed() const;
  bool encode(const RowPlan& plan, const Incoming& row, std::string* problem);
  Block* block_for(std::string_view partition);
  Status refuse(const Block& block, uint32_t row, const std::string& reason);

  // What the thread has stopped at is dealt with. With the mutex held; it may be given back in between.
  Status settle(Lock& lock);
  Status split_or_refuse(Lock& lock, const ServerError& error);
  // Whether there are views by now.
  Status look_for_views(Lock& lock);
  Status count_refused(const ServerError& error);
  Status table_changed(Lock& lock, const ServerError& error);
  // What could not be remade waits behind the rest.
  Status remake_blocks(Lock& lock, std::vector<std::unique_ptr<Block>> blocks);
  Status remake_rows(Lock& lock, const Block& old, uint32_t* row);
  // Until less than `most` bytes wait (0: until nothing waits). RETRY: not in time.
  Status wait_until_sent(Lock& lock, size_t most, std::chrono::milliseconds patience);
  void forget_origins();
  size_t forget_waiting();
  Status check_again(size_t server);
  Status table_is_gone(size_t server) const;

  TargetRules rules_;
  std::optional<ValueEncoder> encoder_;
  std::optional<HttpClient> client_;   // of [operator] calls
  size_t connected_ = 0;               // the server that open() found
  std::optional<BlockSender> sender_;  // dies first
  std::shared_ptr<const TableLayout> layout_;
  bool has_views_ = false;
  int deleted_column_ = -1;
  std::vector<bool> required_;  // of each column: rows replace each other by it, and nothing else gives its value
  std::vector<RowPlan> plans_;  // the last used first
  std::set<std::string> unknown_names_;          // that the table was looked at for; not all of them
  int64_t ignored_fields_ = 0, zero_dates_ = 0;  // of the row at hand
  std::chrono::steady_clock::time_point looked_at_{}, views_looked_at_{};
  Block* last_block_ = nullptr;  // among the open ones, or null

  // Of the row that is being encoded.
  std::string row_bytes_, partition_;
  std::vector<uint32_t> present_;
  std::vector<std::string_view> partition_values_;
  std::vector<std::pair<size_t, size_t>> cell_at_;  // of each column: begin and end in row_bytes_

  std::string token_prefix_;
  uint64_t blocks_made_ = 0;
  uint64_t last_origin_ = 0, dropped_origin_ = 0;
  // Rows that the server has refused one after the other for the same reason, and none of them was taken.
  struct Refused {
    int code = 0;
    uint64_t progress = 0, rows = 0;
  };
  Refused refused_;

  std::optional<ExactlyOnce> epochs_;  // with `delivery: exactly_once`
  DeduplicationWindow window_;
};

}  // namespace sluice::clickhouse
