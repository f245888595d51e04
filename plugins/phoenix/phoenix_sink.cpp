#include "phoenix/phoenix_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace sluice::phoenix {
namespace {

constexpr uint32_t kBackOffMs[] = {200, 500, 1000, 2000, 5000};
// A checkpoint that took much longer than others says nothing about the next.
constexpr std::chrono::milliseconds kLongestGap = std::chrono::minutes(10);
constexpr int kReadOnly = 518;  // Phoenix's error number
constexpr std::chrono::milliseconds kConnectTimeout(5000);
constexpr std::chrono::milliseconds kWaitForLanes(2000);

bool is_about_rows(FailureKind kind) { return kind == FailureKind::kBadValue || kind == FailureKind::kRefused; }

// What somebody has to do.
std::string advice(FailureKind kind) {
  switch (kind) {
    case FailureKind::kLogin:
      return "Check `user`, `password` and the certificates (`ca_file`, `certificate_file`, `key_file`)";
    case FailureKind::kDenied:
      return "Grant the named user of HBase what is missing (RX on the schema SYSTEM, RWX on the sink's tables; to "
             "make and change tables also C and A on their schema and RWX on SYSTEM.MUTEX) and start again";
    case FailureKind::kUnfit:
      return "Give `phoenix.schema.isNamespaceMappingEnabled` the same value in the hbase-site.xml of HBase and of the "
             "Query Server, and restart what was changed";
    default:
      return {};
  }
}

std::string with_advice(const Failure& f) {
  const std::string what = advice(f.kind);
  return what.empty() ? f.text : f.text + ". " + what;
}

}  // namespace

Options<PhoenixSinkConfig> PhoenixSink::options() {
  using C = PhoenixSinkConfig;
  return {
      opt("servers", &C::servers)
          .required()
          .doc("Phoenix Query Servers, as host:port or URL (http or https). When one does not answer, the next one is "
               "used.")
          .example("[\"http://pqs1:8765\", \"http://pqs2:8765\"]"),
      opt("user", &C::user).def("\"\"").doc("User for HTTP basic authentication. Empty: none."),
      opt("password", &C::password).def("\"\"").secret().doc("Password for HTTP basic authentication."),
      opt("ca_file", &C::ca_file)
          .def("\"\"")
          .doc("File with the authorities (PEM) that an https server's certificate is checked against. Empty: those of "
               "the system."),
      opt("certificate_file", &C::certificate_file).def("\"\"").doc("File with the client's own certificate (PEM)."),
      opt("key_file", &C::key_file).def("\"\"").doc("File with the private key of `certificate_file` (PEM)."),
      opt("schema", &C::schema)
          .doc("The schema (namespace) of all tables. Made if it is not there. Default: tables without one.")
          .example("GMALL"),
      opt("table", &C::table)
          .doc("The table of all rows. Default: each row says its own.")
          .example("dws_trade_cart_add_uu_window"),
      opt("table_field", &C::table_field)
          .doc("Without `table`: the member of a row that names its table. Default: sink_table."),
      opt("key", &C::key).def("[]").doc("Key columns of tables without a schema record.").example("[stt, edt]"),
      opt("key_field", &C::key_field)
          .doc("Without `table` and `key`: the member of a row that names its key columns, with commas between them. "
               "Not written. Default: sink_pk."),
      opt("case", &C::letters, {{"upper", Case::kUpper}, {"keep", Case::kKeep}})
          .def("upper")
          .doc("`upper`: names of schema, tables and columns in upper case, as Phoenix takes names without quotes. "
               "`keep`: as they "
               "are; SQL then needs quotes around lower case."),
      opt("create", &C::create).def("true").doc("Make the schema, tables and columns that are not there."),
      opt("columns", &C::columns)
          .def("{}")
          .doc("Types of columns that the sink makes, as in Phoenix's SQL. Others are VARCHAR.")
          .example("{cart_add_uu_ct: BIGINT, amount: \"DECIMAL(16,2)\"}"),
      opt("zero_dates", &C::zero_dates, {{"reject", ZeroDates::kReject}, {"as_null", ZeroDates::kNull}})
          .def("as_null")
          .doc(
              "MySQL's zero dates (`0000-00-00`, also with `00:00:00`) in columns of dates and times: a bad record, or "
              "NULL. In a key column the row is a bad record."),
      opt("batch_rows", &C::batch_rows)
          .def("5000")
          .doc("Rows in one commit at most. Must be below the server's `phoenix.mutate.maxSize`; a server that says it "
               "is not gets "
               "smaller ones."),
      opt("batch_bytes", &C::batch_bytes).def("4MiB").doc("Bytes in one commit at most."),
      opt("timeout", &C::timeout)
          .def("30s")
          .doc("How long one request waits for its answer. Then the connection is given up and its rows are written "
               "again."),
      opt("write_time", &C::write_time, {{"connection", WriteTime::kConnection}, {"server", WriteTime::kServer}})
          .def("connection")
          .advanced()
          .doc(
              "The time that HBase keeps with a row. `connection`: that of the sink's connection, by the server's "
              "clock, never older "
              "than five seconds; a commit that hung and ends later cannot overwrite what was written since. `server`: "
              "when it "
              "arrives.")};
}

Status PhoenixSink::configure(Needs& needs) {
  const PhoenixSinkConfig& c = config();
  std::vector<std::string> urls;
  if (const std::string problem = read_servers(c.servers, &urls); !problem.empty())
    return Status::fatal("`servers`: " + problem);
  if (c.user.empty() && !c.password.empty()) return Status::fatal("`password` is given without `user`");
  if (c.certificate_file.empty() != c.key_file.empty())
    return Status::fatal("`certificate_file` and `key_file` are given together or not at all");
  for (const auto& [option, file] :
       {std::pair("ca_file", &c.ca_file), std::pair("certificate_file", &c.certificate_file),
        std::pair("key_file", &c.key_file)})
    if (!file->empty() && access(file->c_str(), R_OK) != 0)
      return Status::fatal("`" + std::string(option) + "`: cannot read " + *file + ": " + std::strerror(errno));
  if (c.schema)
    if (const std::string problem = name_problem("schema", *c.schema); !problem.empty())
      return Status::fatal("`schema`: " + problem);
  if (c.table)
    if (const std::string problem = name_problem("table", *c.table); !problem.empty())
      return Status::fatal("`table`: " + problem);
  if (!c.table && c.table_field == "") return Status::fatal("either `table` or `table_field` must be given");
  if (c.table && (c.table_field || c.key_field))
    return Status::fatal("`table` and `" + std::string(c.table_field ? "table_field" : "key_field") +
                         "` exclude each other: the member is for rows that say their own table");
  if (c.batch_rows < 1) return Status::fatal("`batch_rows` must be at least 1");
  if (c.batch_bytes.bytes < 1) return Status::fatal("`batch_bytes` must be at least 1");
  if (c.timeout.count() < 100) return Status::fatal("`timeout` must be at least 100ms");
  std::set<std::string> seen;
  for (const auto& k : c.key) {
    if (const std::string problem = name_problem("column", k); !problem.empty())
      return Status::fatal("`key`: " + problem);
    if (!seen.insert(phoenix_name(k, c.letters)).second) return Status::fatal("`key` names the column " + k + " twice");
  }
  rules_ = TableRules();
  for (const auto& [column, type] : c.columns) {
    std::string problem;
    const std::string sql = type_in_sql(type, &problem);
    if (!problem.empty())
      return Status::fatal("`columns`: the type of " + column + " is " + type + ", which " + problem);
    rules_.types[phoenix_name(column, c.letters)] = sql;
  }
  rules_.letters = c.letters;
  if (c.schema) rules_.schema = phoenix_name(*c.schema, c.letters);
  rules_.create = c.create;
  rules_.zero_dates_are_null = c.zero_dates == ZeroDates::kNull;
  rules_.key = c.key;
  if (!c.table) {
    rules_.table_field = c.table_field.value_or("sink_table");
    rules_.key_field = c.key_field.value_or("sink_pk");
  }
  rules_.session = [this](bool anew, Session** session) {
    if (anew) servers_.drop_all();
    return servers_.tables(session);
  };
  rules_.to_json = [this](const Value& v, std::string_view* text) { return to_json(v, text); };
  rules_.made = [this](const std::string& text) {
    info(text);
    servers_.drop_rows();  // what was opened before does not see it
  };
  ChannelOptions channel;
  channel.user = c.user;
  channel.password = c.password;
  channel.ca_file = c.ca_file;
  channel.certificate_file = c.certificate_file;
  channel.key_file = c.key_file;
  channel.connect_timeout = std::min(c.timeout, kConnectTimeout);
  channel.timeout = c.timeout;
  channel.stopping = [this] { return stopping(); };
  servers_.configure(
      std::move(urls), std::move(channel), c.write_time == WriteTime::kConnection,
      [this](const std::string& text) { info(std::string(id()) + " " + text); }, [this] { count("reconnects", 1); });
  writer_.configure(&servers_, static_cast<size_t>(c.batch_rows), static_cast<size_t>(c.batch_bytes.bytes),
                    [this](const char* metric, int64_t n) { count(metric, n); });
  needs.body();
  needs.delivery(SLUICE_DELIVERY_UPSERT);
  return Status::ok();
}

Status PhoenixSink::restore_times() {
  WrittenTimes newest;
  std::vector<std::string> entries;
  SLUICE_CHECK_OK(times_.scan([&](std::string_view lane, const WrittenTimes& times) {
    entries.emplace_back(lane);
    newest.newest_ms = std::max(newest.newest_ms, times.newest_ms);
    newest.longest_gap_ms = std::max(newest.longest_gap_ms, times.longest_gap_ms);
    return true;
  }));
  if (lanes() > 1) {
    if (lane_times_ == nullptr) lane_times_ = LaneTimes::of(std::string(pipeline()) + "/" + std::string(id()));
    lane_times_->say(lane(), newest);
    if (!lane_times_->hear(
            lanes(), kWaitForLanes, [this] { return stopping(); }, &newest))
      return Status::retry("waiting for the other lanes to say how far the times of their rows reach", 50);
  }
  for (const std::string& other : entries)
    if (other != std::to_string(lane())) SLUICE_CHECK_OK(times_.erase(other));
  servers_.go_on_after(newest.newest_ms, std::chrono::milliseconds(newest.longest_gap_ms));
  last_checkpoint_ = std::chrono::steady_clock::now();
  return Status::ok();
}

Status PhoenixSink::prepare(uint64_t) {
  const auto now = std::chrono::steady_clock::now();
  const auto gap = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_checkpoint_);
  longest_gap_ms_ = std::max<int64_t>(longest_gap_ms_, std::min(gap, kLongestGap).count());
  last_checkpoint_ = now;
  if (!servers_.timed() || servers_.time_now() == 0) return Status::ok();
  return times_.put(std::to_string(lane()), {servers_.time_now(), longest_gap_ms_});
}

Status PhoenixSink::open() {
  if (last_checkpoint_ == std::chrono::steady_clock::time_point()) SLUICE_CHECK_OK(restore_times());
  Session* session = nullptr;
  if (Failure f = servers_.rows(&session); !f.ok()) return status_of(f);
  if (Failure f = check_schema(); !f.ok()) {
    servers_.drop_all();
    return f.kind == FailureKind::kNotThere ? Status::fatal("`schema`: " + f.text) : status_of(f);
  }
  // A table that does not fit, or is not there, is a matter of its rows: a schema record may come before them.
  if (config().table)
    if (Failure f = table(*config().table)->look(config().key);
        !f.ok() && !is_about_rows(f.kind) && f.kind != FailureKind::kNotThere)
      return status_of(f);
  worked();
  return Status::ok();
}

// Where nothing may be made, no table can be in a schema that is not there: no row need come to say so.
Failure PhoenixSink::check_schema() {
  if (config().create || rules_.schema.empty()) return {};
  Session* session = nullptr;
  if (Failure f = servers_.tables(&session); !f.ok()) return f;
  std::vector<avatica::Row> rows;
  if (Failure f = session->query("select TABLE_NAME from SYSTEM.CATALOG where TENANT_ID is null and TABLE_SCHEM = " +
                                     text_literal(rules_.schema) + " limit 1",
                                 &rows);
      !f.ok())
    return f;
  if (!rows.empty()) return {};
  return Failure::of(FailureKind::kNotThere,
                     "there is no schema " + quoted_name(rules_.schema) +
                         " in Phoenix, and `create` is false: run create schema " + quoted_name(rules_.schema) +
                         " (without namespace mapping: make its tables), or set `create: true`");
}

Status PhoenixSink::check(Problems& problems) {
  const std::vector<Failure> failures = servers_.check_all();
  for (const Failure& f : failures) problems.add_to(f.kind == FailureKind::kLogin ? "user" : "servers", with_advice(f));
  const bool reached = failures.size() < servers_.size();
  if (!reached) return Status::ok();
  if (Failure f = check_schema(); !f.ok()) {
    problems.add_to("schema", with_advice(f));
    return Status::ok();
  }
  if (!config().table) return Status::ok();
  TargetTable* only = table(*config().table);
  if (Failure f = only->look(config().key); !f.ok())
    problems.add_to("table", with_advice(f));
  else if (only->is_missing() && config().key.empty())
    warn("the table \"" + *config().table + "\" is not there, and can be made with a key only: give `key`, unless a schema record comes before its rows");
  return Status::ok();
}

Status PhoenixSink::close() {
  last_table_ = nullptr;
  tables_.clear();
  servers_.drop_all();
  return Status::ok();
}

TargetTable* PhoenixSink::table(std::string_view name) {
  if (last_table_ != nullptr && last_name_ == name) return last_table_;
  const std::string folded = phoenix_name(name, config().letters);
  auto it = tables_.find(folded);
  if (it == tables_.end()) it = tables_.emplace(folded, std::make_unique<TargetTable>(&rules_, name)).first;
  last_name_ = name;
  last_table_ = it->second.get();
  return last_table_;
}

Status PhoenixSink::table_of(const Value& row, std::string_view* name) const {
  if (config().table) {
    *name = *config().table;
    return Status::ok();
  }
  const Value named = row.find(rules_.table_field);
  *name = named.is_string() ? named.text() : std::string_view();
  if (!name->empty()) return Status::ok();
  return Status::bad_record("the row does not say its table in \"" + rules_.table_field + "\"");
}

// The row is pending, or in rejected_, or there is nothing to do for it.
Failure PhoenixSink::bind_row(const Batch& in, uint32_t row) {
  Value body;
  std::string_view name;
  Status s = in.body(row, &body);
  if (s.is_ok()) s = table_of(body, &name);
  if (!s.is_ok()) {
    rejected_.emplace_back(row, s.message());
    return {};
  }
  PendingRow pending;
  pending.row = row;
  pending.table = table(name);
  bool wanted = true;
  Failure f = in.change(row) == SLUICE_CHANGE_DELETE ? pending.table->bind_delete(body, &pending.bound, &wanted)
                                                     : pending.table->bind(body, &pending.bound);
  const bool missing = f.kind == FailureKind::kNotThere;
  if (is_about_rows(f.kind) || (missing && pending.table->stays_away())) {
    rejected_.emplace_back(row, f.text);
    return {};
  }
  if (missing) pending.table->was_not_there();
  if (f.ok() && wanted) writer_.add(std::move(pending));
  return f;
}

Status PhoenixSink::write(const Batch& in, uint32_t* consumed) {
  *consumed = 0;
  writer_.clear();
  rejected_.clear();
  for (const auto& t : tables_)
    if (t.second->is_missing()) t.second->forget();
  for (uint32_t row = 0; row < in.size(); ++row) {
    if (Failure f = bind_row(in, row); !f.ok())
      return give_up(f, in, writer_.empty() ? row : writer_.first_row(), consumed);
    if (!writer_.is_full() && row + 1 < in.size()) continue;
    if (writer_.empty()) continue;
    if (Failure f = flush(); !f.ok()) return give_up(f, in, writer_.first_row(), consumed);
  }
  worked();
  return report_rejected(in.size());
}

Failure PhoenixSink::flush() {
  Failure f = writer_.flush(&rejected_);
  if (f.kind == FailureKind::kNotThere && writer_.missing() != nullptr) writer_.missing()->was_not_there();
  return f;
}

Status PhoenixSink::report_rejected(uint32_t done) {
  std::sort(rejected_.begin(), rejected_.end());
  for (const auto& [row, reason] : rejected_)
    if (row < done) SLUICE_CHECK_OK(reject(row, reason));
  rejected_.clear();
  return Status::ok();
}

// What is not committed comes again.
Status PhoenixSink::give_up(const Failure& failure, const Batch& in, uint32_t done, uint32_t* consumed) {
  if (failure.kind == FailureKind::kNotThere) {
    // Others have changed the table, or dropped it.
    for (const auto& t : tables_) t.second->forget();
    servers_.drop_all();
  } else if (failure.kind == FailureKind::kAway || failure.kind == FailureKind::kLost) {
    servers_.avoid_current();
    servers_.drop_all();
  }
  count("rows_again", static_cast<int64_t>(in.size()) - done);
  writer_.clear();
  *consumed = done;
  SLUICE_CHECK_OK(report_rejected(done));
  return status_of(failure);
}

void PhoenixSink::worked() {
  if (failures_ > 0) note("");
  failures_ = 0;
}

Status PhoenixSink::status_of(const Failure& failure) {
  const bool first_contact = !servers_.ever_connected();
  switch (failure.kind) {
    case FailureKind::kLogin:
      if (failure.code == kReadOnly)
        return Status::fatal("Phoenix: " + failure.text + ". This version of Phoenix needs `write_time: server`");
      return Status::fatal("Phoenix: " + with_advice(failure));
    case FailureKind::kDenied:
    case FailureKind::kUnfit:
      return Status::fatal("Phoenix: " + with_advice(failure));
    case FailureKind::kNoPhoenix:
      if (first_contact) return Status::fatal("Phoenix: " + failure.text + ". Check `servers`");
      break;
    case FailureKind::kRefused:
    case FailureKind::kBadValue:
      if (first_contact) return Status::fatal("Phoenix refuses the connection: " + failure.text);
      break;
    default:
      break;
  }
  const auto last = static_cast<int>(std::size(kBackOffMs)) - 1;
  const uint32_t pause = kBackOffMs[std::min(failures_, last)];
  ++failures_;
  const bool away = failure.kind == FailureKind::kAway || failure.kind == FailureKind::kNoPhoenix;
  const std::string text = (away ? "Phoenix away: " : "Phoenix: ") + failure.text;
  note(text);
  return Status::retry(text, pause);
}

Status PhoenixSink::on_schema(const sluice_schema& schema) {
  const std::string_view name = view(schema.table);
  if (config().table && phoenix_name(*config().table, config().letters) != phoenix_name(name, config().letters))
    return Status::ok();
  TableSchema wanted;
  for (size_t i = 0; i < schema.column_count; ++i) wanted.columns.emplace_back(view(schema.columns[i]));
  for (size_t i = 0; i < schema.key_count; ++i) wanted.key.emplace_back(view(schema.key[i]));
  wanted.options = std::string(view(schema.extend));
  Failure f = table(config().table ? std::string_view(*config().table) : name)->apply(std::move(wanted));
  if (f.ok()) {
    worked();
    return Status::ok();
  }
  if (f.kind != FailureKind::kRefused) {
    if (f.kind == FailureKind::kAway || f.kind == FailureKind::kLost) servers_.avoid_current();
    servers_.drop_all();
    return status_of(f);
  }
  warn("table " + std::string(name) + " is quarantined: " + f.text);
  return Status::bad_record("table " + std::string(name) + ": " + f.text);
}

}  // namespace sluice::phoenix
