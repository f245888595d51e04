// What clickhouse.sink asks of servers and tables before it writes: at the start, and for `validate --connect`.
#include <algorithm>

#include "clickhouse_sink.h"

namespace sluice::clickhouse {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCheckConnect{2000}, kCheckRequest{4000}, kCheckAll{6000};

}  // namespace

// What is no error, and better known before rows are written: a start says it, and so does `validate --connect`.
void ClickHouseSink::warn_of(const ServerInfo& info) const {
  const TableLayout& t = *info.layout;
  if (!t.partition.is_known())
    warn(rules_.table_name() + ": the partition key " + t.partition_key +
         " is not evaluated by this sink: inserts may spread over partitions, and one that a crash of the server cuts "
         "off can be in for a part until it is sent again");
  for (const Column& c : t.columns)
    if (const std::string part = unsupported_part(c.type); !part.empty())
      warn(rules_.table_name() + ": column " + c.name + " cannot be written by this sink (" + part +
           "); rows must not have it");
  warn_of_zones(t);
  warn_of_views(info);
}

// The same text is another moment on a server in another zone: nobody should find that out from the table.
void ClickHouseSink::warn_of_zones(const TableLayout& table) const {
  std::string names;
  for (const Column& c : table.columns)
    if (is_time_without_zone(c.type)) names += (names.empty() ? "" : ", ") + c.name;
  if (!names.empty())
    warn(rules_.table_name() + ": the type of " + names +
         " has no time zone: a time without an offset is taken in the server's, " + table.server_zone +
         "; a type like DateTime('Asia/Shanghai') does not depend on it");
}

void ClickHouseSink::warn_of_views(const ServerInfo& info) const {
  if (exactly_once() || info.views.empty()) return;
  std::string names;
  for (const std::string& v : info.views) names += (names.empty() ? "" : ", ") + v;
  warn(rules_.table_name() + ": what is written again after a crash comes twice into its materialized views (" + names +
       "), also where it replaces itself in the table; `delivery: exactly_once` reaches views as well");
}

HttpRules ClickHouseSink::short_http_rules() const {
  HttpRules http = http_rules();
  http.connect_timeout = std::min(http.connect_timeout, kCheckConnect);
  http.request_timeout = std::min(http.request_timeout, kCheckRequest);
  return http;
}

// One that is away now is looked at before it is first used; one that cannot be used as it is, is said at once.
Status ClickHouseSink::check_other_servers(const ServerInfo& info, size_t server) {
  HttpClient client(short_http_rules(), [this](milliseconds) { return stopping(); });
  for (size_t other = 0; other < rules_.servers.size(); ++other) {
    if (other == server) continue;
    std::shared_ptr<const ServerInfo> found;
    Status s = read_server(rules_, other, client, &found, false);
    if (s.code() == SLUICE_FATAL) warn(s.message() + ". The job stops when it needs this server");
    if (!s.is_ok() || found->layout == nullptr) continue;
    s = check_same_table(rules_, server, info, other, *found);
    if (!s.is_ok() && rules_.one_table) return s;
    if (!s.is_ok()) warn(s.message());
  }
  return Status::ok();
}

// Every server, since each may be needed. Nothing is made.
Status ClickHouseSink::check(Problems& problems) {
  client_.emplace(short_http_rules(), [](milliseconds) { return false; });
  std::shared_ptr<const ServerInfo> first;
  size_t first_server = 0;
  const auto end = std::chrono::steady_clock::now() + kCheckAll;
  for (size_t server = 0; server < rules_.servers.size() && std::chrono::steady_clock::now() < end; ++server) {
    std::shared_ptr<const ServerInfo> info;
    Status s = read_server(rules_, server, *client_, &info, false);
    const bool away = s.code() == SLUICE_RETRY;
    const bool there = s.is_ok() && info->layout != nullptr;
    if (there) s = check_table(*info, server);
    problems.add_unless_ok(s, away ? "servers" : "");
    if (there && first != nullptr) {
      s = check_same_table(rules_, first_server, *first, server, *info);
      if (rules_.one_table)
        problems.add_unless_ok(s, "servers");
      else if (!s.is_ok())
        warn(s.message());
    }
    if (there && first == nullptr) {
      first = info;
      first_server = server;
    }
  }
  client_.reset();
  if (first != nullptr) warn_of(*first);
  return Status::ok();
}

Status ClickHouseSink::check_table(const ServerInfo& info, size_t server) {
  if (config().delivery == Delivery::kUpsert || config().on_delete == OnDelete::kMark)
    SLUICE_CHECK_OK(check_upsert(*info.layout));
  if (!exactly_once()) return Status::ok();
  SLUICE_CHECK_OK(check_exactly_once(rules_, info, server, *client_, &window_));
  if (epochs_) epochs_->set_window(window_);
  return Status::ok();
}

Status ClickHouseSink::check_upsert(const TableLayout& layout) const {
  const ReplacingEngine engine = read_replacing_engine(layout.engine, layout.engine_full);
  const std::string name = rules_.table_name();
  if (!engine.is_replacing)
    return Status::fatal("`delivery: upsert` needs a ReplacingMergeTree, and " + name + " is a " + layout.engine +
                         ": a row that is written again would be there twice. Make it engine = "
                         "ReplacingMergeTree(version column), or use "
                         "`delivery: at_least_once` or `exactly_once`");
  if (engine.version.empty())
    return Status::fatal(
        "`delivery: upsert` needs a version column: " + name +
        " is a ReplacingMergeTree without one, so after a restart an older row could win. Make it engine = "
        "ReplacingMergeTree(version column), or use `delivery: at_least_once`");
  if (config().on_delete == OnDelete::kMark && engine.deleted.empty())
    return Status::fatal("`on_delete: mark` needs ReplacingMergeTree(version, is_deleted), and " + name + " is " +
                         layout.engine_full.substr(0, 120));
  return Status::ok();
}

}  // namespace sluice::clickhouse
