// Reads a server's changes in a thread of its own: the snapshot, then the binlog, again and again after each loss of
// the connection.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "binlog_connection.h"
#include "binlog_position.h"
#include "cdc_options.h"
#include "chunk_builder.h"
#include "decode/change_writer.h"
#include "row_queue.h"
#include "saved_tables.h"
#include "server_facts.h"
#include "statement_effects.h"
#include "table_catalog.h"
#include "table_filter.h"
#include "transaction_tracker.h"

namespace sluice_mysql {

// What a reader says to the host; each function may be called from any thread.
class ReaderHost {
 public:
  explicit ReaderHost(const sluice_context* context) : context_(context) {}
  void info(const std::string& text) const { log(SLUICE_LOG_INFO, text); }
  void warn(const std::string& text) const { log(SLUICE_LOG_WARNING, text); }
  void note(const std::string& text) const { context_->status_note(context_, sluice::str(text)); }
  void count(std::string_view metric, int64_t n = 1) const { context_->count(context_, sluice::str(metric), n); }
  void wake() const { context_->wake(context_); }
  int64_t now() const { return context_->now(context_); }

 private:
  void log(uint32_t level, const std::string& text) const {
    context_->host->log(context_->host, level, sluice::str(text));
  }
  const sluice_context* context_;
};

// Owned by the source. resolve(), start() and stop() by the operator's thread, queue() by it alone.
class ChangeReader {
 public:
  ChangeReader(const CdcConfig& config, TableFilter filter, ClientName client, ReaderHost host);
  ~ChangeReader() { stop(); }
  ChangeReader(const ChangeReader&) = delete;
  ChangeReader& operator=(const ChangeReader&) = delete;

  // Looks at the server and says where a first start begins. Takes as long as connecting does.
  Outcome resolve(BinlogPosition* from);
  // `restored`: `from` and `saved` come out of a checkpoint.
  void start(const BinlogPosition& from, bool restored, const SavedTables& saved = {});
  // What is not in the queue yet is given up.
  void stop();
  RowQueue& queue() noexcept { return queue_; }

 private:
  // A table of the stream, by the serial of its map.
  struct StreamTable {
    TableName name;
    bool captured = false;
    std::optional<TableCodec> codec;
    // Without full metadata: where the binlog ended when information_schema was asked for the names, and the first rows
    // that got them.
    FilePosition described_at, first_rows;
  };
  using StreamTables = std::unordered_map<uint64_t, StreamTable>;
  // A statement after which columns of a table may have other names.
  struct ColumnChange {
    FilePosition at;
    TableName table;
  };

  static constexpr auto kQueryPatience = std::chrono::seconds(300);

  // The thread. Whatever is thrown in it ends as an Item of kFailed.
  void run() noexcept;
  void read_all();
  Outcome session();
  Outcome look(Connection* sql, Tables tables, ServerFacts* facts);
  Outcome position_for_start(Connection* sql, const ServerFacts& facts, BinlogPosition* from);
  Outcome gtid_at(Connection* sql, const ServerFacts& facts, const FilePosition& at, std::string* out);

  Outcome snapshot(Connection* sql, const ServerFacts& facts);
  Outcome add_tables(Connection* sql, const ServerFacts& facts);
  Outcome begin_snapshot(Connection* sql, const ServerFacts& facts, const std::vector<TableName>& tables,
                         BinlogPosition* at);
  Outcome try_snapshot(Connection* sql, const ServerFacts& facts, const std::vector<TableName>& tables,
                       ServerFacts* end, bool* tables_locked);
  Outcome no_prepared_xa(Connection* sql, const ServerFacts& facts, const FilePosition& before);
  Outcome lock_tables(Connection* sql, const ServerFacts& facts, const std::vector<TableName>& tables,
                      ServerFacts* end);
  Outcome lock_all(Connection* sql, const ServerFacts& facts, ServerFacts* end);
  Outcome snapshot_table(Connection* sql, const ServerFacts& facts, const TableName& name, const BinlogPosition& at,
                         const BinlogPosition& restart);
  Outcome give_deletes(const ServerFacts& facts, const BinlogPosition& from, const BinlogPosition& to,
                       const std::vector<TableName>& tables, const std::string& position);
  Outcome add_deletes(const Event& event, const TableCodec& codec, ChangePlace place, const std::string& position);

  Outcome stream(Connection* sql, const ServerFacts& facts);
  Outcome check_continuity(Connection* sql, const ServerFacts& facts);
  Outcome check_domains(Connection* sql, bool other_server);
  std::string needed_and_there(Connection* sql) const;
  Outcome handle(const Event& event);
  Statement read(const Event& event) const;
  Outcome rows(const Event& event);
  Outcome statement(const Event& event, const Statement& s);
  Outcome unseen_rows(const Event& event, const Statement& s);
  Outcome truncated(const Event& event, const TableName& table);
  Outcome ddl_records(const Event& event, const Statement& s);
  Outcome names_changed(const Event& event, const TableName& table);
  Outcome make_codec(const Event& event, const EventParser& parser, StreamTable* table);
  Outcome check_names(const Event& event, const EventParser& parser, int64_t altered_s, StreamTable* table);
  Outcome scan_ahead(const FilePosition& until);
  Outcome note_column_changes(const Event& event, const EventParser& parser);
  // Asks the server that is being read, anew if the connection was lost: it may have been idle for hours.
  template <class Ask>
  Outcome ask_server(Ask&& ask) {
    Outcome o = ask(sql_);
    if (o.is_ok() || o.trouble() != Trouble::kAway) return o;
    SLUICE_MYSQL_CHECK(sql_->open(config_, kQueryPatience));
    return ask(sql_);
  }
  StreamTable* stream_table(const TableMap& map, StreamTables* tables) const;
  ChangePlace place_of(const Event& event, const EventParser& parser, std::string_view gtid) const;
  void add_changes(const Event& event, uint32_t row, int64_t time);
  void add_complete_change(const Event& event, uint32_t row);
  // Makes records by `make`, again with bytes in place of values that cannot be read; why they cannot be used then.
  template <class Make>
  std::string made_or_refused(Make&& make) {
    const sluice::Status s = make();
    if (s.is_ok()) return {};
    writer_.set_unreadable(Unreadable::kHex);
    static_cast<void>(make());  // nothing is left that could fail
    writer_.set_unreadable(Unreadable::kRefused);
    return s.message();
  }
  bool in_added_snapshot(const TableName& table) const;
  Outcome pass_additions(const Event& event);
  Outcome send_rows();
  Outcome send(Item::Kind kind, std::string position = {}, std::string text = {});
  Outcome remember(const char* name, std::string text);
  Outcome at_rest(const ServerFacts& facts);
  Outcome not_at_rest();

  const CdcConfig config_;
  TableFilter filter_;
  const ClientName client_;
  const ReaderHost host_;
  const ValueStyle style_;

  Interrupter interrupter_;
  RowQueue queue_;
  std::thread thread_;

  // The thread's own.
  // Where the next session goes on. While there is no snapshot: a place from before the first attempt at one.
  BinlogPosition at_;
  bool rows_may_be_out_ = false;       // of an attempt that was cut off
  std::optional<TableFilter> before_;  // which tables the run before captured, until those that are new have been added
  std::vector<AddedTables> added_;
  bool gtid_known_ = false;  // at_.gtid is complete, also if it is empty
  bool verified_ = false;    // that the server's files are those of at_
  bool progress_ = false;    // an event came in this session
  std::string lost_at_;      // file:offset of the last gap
  std::set<std::string> warned_;
  Collations collations_;
  bool have_collations_ = false;

  ChangeWriter writer_;
  ChunkBuilder chunk_;
  RowReader row_reader_;
  std::optional<EventParser> parser_;
  std::optional<TransactionTracker> tracker_;
  Connection* sql_ = nullptr;  // for the columns of tables, during stream()
  StreamTables tables_;
  ServerFacts facts_;                // of the server that is being read
  std::vector<ColumnChange> ahead_;  // that were found by looking ahead
  FilePosition looked_until_;
  StatementEffects effects_;
  uint64_t sent_version_ = 0;  // of the tracker's place: the last that went into the queue
  std::chrono::steady_clock::time_point next_position_{};
  bool caught_up_ = false;
  std::chrono::steady_clock::time_point busy_since_{};  // events have come without a pause
};

}  // namespace sluice_mysql
