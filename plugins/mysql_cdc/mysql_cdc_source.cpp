#include "mysql_cdc_source.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace sluice_mysql {
namespace {

using sluice::Status;

constexpr uint32_t kRetryMs = 1000;

std::string machine_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Status status_of(const Outcome& o) {
  if (o.is_ok()) return Status::ok();
  return o.trouble() == Trouble::kAway ? Status::retry(o.message(), kRetryMs) : Status::fatal(o.message());
}

}  // namespace

sluice::Options<CdcConfig> MysqlCdcSource::options() {
  using C = CdcConfig;
  using sluice::opt;
  sluice::Options<C> o;
  const auto add = [&](sluice::Option<C>&& option) { o.push_back(std::move(option)); };
  add(opt("host", &C::host).required().doc("Name or address of the server.").example("mysql1.internal"));
  add(opt("port", &C::port).def("3306").doc("Its TCP port."));
  add(opt("user", &C::user).required().doc("User to log in as. \"Rights\" on this page lists what it needs.").example("cdc"));
  add(opt("password", &C::password).def("").secret().doc("Its password."));
  add(opt("tls", &C::tls, {{"off", Tls::kOff}, {"required", Tls::kRequired}, {"verified", Tls::kVerified}})
          .def("off")
          .doc("`required`: encrypted or not at all. `verified`: the server's certificate and its name are checked, "
               "too."));
  add(opt("tls_ca", &C::tls_ca)
          .doc(
              "File of the certificates that the server's is checked against (PEM). Without it: those of the system."));
  add(opt("tls_certificate", &C::tls_certificate).doc("File of the client's own certificate (PEM)."));
  add(opt("tls_key", &C::tls_key).doc("File of the client's private key (PEM)."));
  add(opt("databases", &C::databases)
          .def("[]")
          .doc("Databases to read; `*` and `?` stand for any characters and any one. Without `tables`: all of their "
               "tables.")
          .example("[gmall]"));
  add(opt("tables", &C::tables)
          .def("[]")
          .doc("Tables to read, as db.table; `*` and `?` on both sides. With exactly one entry in `databases` a "
               "table's name alone will do.")
          .example("[gmall.table_process]"));
  add(opt("start", &C::start,
          {{"initial", Start::kInitial},
           {"latest", Start::kLatest},
           {"earliest", Start::kEarliest},
           {"position", Start::kPosition},
           {"gtid", Start::kGtid}})
          .def("initial")
          .doc("Where a first start begins: with a snapshot of the tables; at the end of the binlog; at the oldest "
               "binlog there is; at `start_position`; behind "
               "`start_gtid`. A checkpoint always wins."));
  add(opt("start_position", &C::start_position)
          .doc("With `start: position`: file and offset of a binlog, as SHOW MASTER STATUS names them: "
               "`binlog.000003:4567`."));
  add(opt("start_gtid", &C::start_gtid)
          .doc("With `start: gtid`: the transactions before the first one to read. MariaDB: the last one of each "
               "domain (`0-101-382`). MySQL: the whole set (`3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5`)."));
  add(opt("snapshot_lock", &C::snapshot_lock,
          {{"auto", SnapshotLock::kAuto},
           {"none", SnapshotLock::kNone},
           {"tables", SnapshotLock::kTables},
           {"global", SnapshotLock::kGlobal}})
          .def("auto")
          .advanced()
          .doc("What is locked for the moment in which a snapshot begins: nothing (MariaDB only), the tables that are "
               "read, or all. `auto`: nothing on MariaDB, "
               "the tables on MySQL."));
  add(opt("snapshot_lock_timeout", &C::snapshot_lock_timeout)
          .def("10s")
          .advanced()
          .doc("How long to wait for that lock, since others wait behind it; then it is tried again later. Whole "
               "seconds."));
  add(opt("on_gap", &C::on_gap,
          {{"fail", OnGap::kFail}, {"snapshot", OnGap::kSnapshot}, {"earliest", OnGap::kEarliest}})
          .def("fail")
          .doc("When the changes behind the position cannot be had any more: stop, take a new snapshot, or go on at "
               "the oldest binlog there is."));
  add(opt("server_id", &C::server_id)
          .doc("Number of this client among all that read the server's binlog, replicas included; 1 to 4294967295. "
               "Without it: made of the machine's name, the "
               "pipeline's and the operator's."));
  add(opt("format", &C::format, {{"debezium", Format::kDebezium}, {"maxwell", Format::kMaxwell}})
          .def("debezium")
          .doc("Shape of the records."));
  add(opt("decimals", &C::decimals,
          {{"text", Decimals::kText}, {"base64", Decimals::kBase64}, {"number", Decimals::kNumber}})
          .def("text")
          .doc("How DECIMAL is written: as a string of its digits; as the bytes of the unscaled value (Debezium's "
               "`precise`); as a JSON number, which many readers "
               "round."));
  add(opt("time_zone", &C::time_zone)
          .def("UTC")
          .doc("With `format: maxwell` only: the zone in which TIMESTAMP columns are written, an IANA name "
               "(`Asia/Shanghai`). Debezium's shape has them in UTC, with a Z. DATETIME columns have no zone and are "
               "written as they are."));
  add(opt("output_ddl", &C::output_ddl)
          .def("false")
          .doc("With `format: maxwell`: a record for each CREATE, ALTER, RENAME and DROP of a captured table or its "
               "database, of Maxwell's types `table-create`, `table-alter`, ..."));
  add(opt("timestamps", &C::timestamps)
          .def("false")
          .doc("Take the time of the change at the server as event time, unless `event_time:` names a `field`."));
  add(opt("heartbeat", &C::heartbeat)
          .def("10s")
          .doc("How often a server with nothing to say shows that it is there. Three that are missing: the connection "
               "is given up and made anew."));
  add(opt("connect_timeout", &C::connect_timeout)
          .def("5s")
          .advanced()
          .doc("How long to wait for a connection. Whole seconds."));
  add(opt("max_queue", &C::max_queue)
          .def("16MiB")
          .advanced()
          .doc("How much may be read ahead of the pipeline. One row may be larger."));
  return o;
}

MysqlCdcSource::~MysqlCdcSource() {
  if (reader_) reader_->stop();
}

Status MysqlCdcSource::configure(sluice::Needs& needs) {
  const CdcConfig& c = config();
  if (c.timestamps) needs.gives_event_time();
  std::string problems;
  const auto problem = [&](const std::string& text) { problems += (problems.empty() ? "" : "\n") + text; };
  if (const Status s = TableFilter::make(c.databases, c.tables, &filter_); !s.is_ok()) problem(s.message());
  if (c.host.empty()) problem("`host` is empty");
  // Not shown: there can be a password in it.
  if (c.host.find_first_of("@/?") != std::string::npos)
    problem("`host` is more than a name or an address: use `port`, `user` and `password` for the rest");
  if (c.port < 1 || c.port > 65535) problem("`port` is " + std::to_string(c.port) + ", not 1 to 65535");
  if (c.server_id && (*c.server_id < 1 || *c.server_id > int64_t{UINT32_MAX}))
    problem("`server_id` is " + std::to_string(*c.server_id) + ", not 1 to 4294967295");
  const auto needs_option = [&](Start start, const char* word, const char* name, bool given) {
    if ((c.start == start) == given) return;
    problem(given ? "`" + std::string(name) + "` is used with `start: " + word + "` only"
                  : "`start: " + std::string(word) + "` needs `" + name + "`");
  };
  needs_option(Start::kPosition, "position", "start_position", c.start_position.has_value());
  needs_option(Start::kGtid, "gtid", "start_gtid", c.start_gtid.has_value());
  if (c.start_position) {
    const auto p = parse_file_position(*c.start_position);
    if (!p || p->position < 4 || p->position > UINT32_MAX)
      problem("`start_position` is `" + *c.start_position +
              "`: write file:offset, for example binlog.000003:4567; offsets begin at 4");
  }
  if (c.start_gtid && !GtidSet::parse(true, *c.start_gtid) && !GtidSet::parse(false, *c.start_gtid))
    problem("`start_gtid` is `" + *c.start_gtid +
            "`: write domain-server-number (MariaDB) or UUID:FIRST-LAST (MySQL), several with commas");
  if (find_zone(c.time_zone) == nullptr)
    problem("`time_zone` is `" + c.time_zone +
            "`, which no zone of this machine is called: write an IANA name, for example "
            "Asia/Shanghai or UTC");
  if (c.time_zone != "UTC" && c.format != Format::kMaxwell)
    problem("`time_zone` is used with `format: maxwell` only: Debezium's shape has TIMESTAMP in UTC");
  if (c.tls == Tls::kOff && (c.tls_ca || c.tls_certificate || c.tls_key))
    problem("`tls_…` is given, but `tls` is off: set it to required or verified");
  if (c.tls_certificate.has_value() != c.tls_key.has_value())
    problem("`tls_certificate` and `tls_key` belong together");
  for (const auto* file : {&c.tls_ca, &c.tls_certificate, &c.tls_key})
    if (*file && access((*file)->c_str(), R_OK) != 0) problem("cannot read " + **file + ": " + std::strerror(errno));
  if (c.output_ddl && c.format != Format::kMaxwell)
    problem("`output_ddl` is used with `format: maxwell` only: Debezium's shape has no such records");
  if (c.heartbeat.count() < 100) problem("`heartbeat` is less than 100ms");
  return problems.empty() ? Status::ok() : Status::fatal(problems);
}

ClientName MysqlCdcSource::own_name() const {
  return client_name(machine_name(), pipeline(), id(), static_cast<uint32_t>(config().server_id.value_or(0)));
}

Status MysqlCdcSource::open() {
  client_ = own_name();
  return Status::ok();
}

// What ChangeReader looks at after each connect.
Status MysqlCdcSource::check(sluice::Problems& problems) {
  Interrupter interrupter;
  Connection sql(&interrupter);
  SLUICE_CHECK_OK(status_of(sql.open_briefly(config())));
  ServerFacts facts;
  SLUICE_CHECK_OK(status_of(read_facts(&sql, &facts)));
  filter_.ignore_case(facts.folds_names);
  Findings findings;
  const Tables tables = config().start == Start::kInitial ? Tables::kMustBeThere : Tables::kMayBeMissing;
  SLUICE_CHECK_OK(status_of(check_server(&sql, config(), own_name(), filter_, facts, tables, &interrupter, &findings)));
  SLUICE_CHECK_OK(status_of(check_start(&sql, config(), facts, &interrupter, &findings)));
  for (const Problem& p : findings.problems) problems.add_to(p.option, p.text);
  for (const Problem& p : findings.warnings) warn(p.text);
  return Status::ok();
}

Status MysqlCdcSource::close() {
  if (reader_) reader_->stop();
  return Status::ok();
}

Status MysqlCdcSource::discover(std::vector<sluice::Split>* splits) {
  splits->push_back({kSplit, 0});
  return Status::ok();
}

Status MysqlCdcSource::assign(const std::vector<sluice::AssignedSplit>& splits) {
  for (const sluice::AssignedSplit& s : splits) {
    if (started_) return Status::bug("mysql.cdc was given its split twice");
    split_ = s.index;
    if (!reader_) reader_ = std::make_unique<ChangeReader>(config(), filter_, client_, ReaderHost(context()));
    BinlogPosition from;
    SavedTables saved;
    if (s.restored) {
      const auto p = BinlogPosition::decode(s.position);
      if (!p)
        return Status::fatal("the checkpoint's position of " + std::string(id()) +
                             " was written by another version of mysql.cdc");
      from = *p;
      SLUICE_CHECK_OK(read_saved(&saved));
    } else {
      const Outcome o = reader_->resolve(&from);
      if (!o.is_ok()) {
        if (o.trouble() == Trouble::kAway) note("mysql away: " + o.message());
        return status_of(o);
      }
      note("");
      move_position(split_, from.encode());
    }
    // With `latest` there is nothing to wait for; and a snapshot that was complete once stays so.
    if (from.phase == BinlogPosition::Phase::kStream && (s.restored || config().start == Start::kLatest))
      set_flags(SLUICE_SPLIT_SNAPSHOT_COMPLETE);
    // As a checkpoint of an earlier version, which does not say it: the tables are those that were captured.
    if (saved.captured.empty()) SLUICE_CHECK_OK(tables_.put(SavedTables::kCaptured, filter_text(filter_)));
    info((s.restored ? "going on at " : "beginning at ") + from.describe());
    reader_->start(from, s.restored, saved);
    started_ = true;
  }
  return Status::ok();
}

Status MysqlCdcSource::read_saved(SavedTables* out) {
  bool found = false;
  SLUICE_CHECK_OK(tables_.get(SavedTables::kCaptured, &found, &out->captured));
  return tables_.get(SavedTables::kAdded, &found, &out->added);
}

void MysqlCdcSource::set_flags(uint32_t flags) {
  flags_ = flags;
  split_status(split_, flags);
}

Status MysqlCdcSource::poll(uint32_t max_rows) {
  if (!failed_.is_ok()) return failed_;
  if (!started_) return Status::ok();
  uint32_t rows = 0;
  while (rows < max_rows) {
    if (!item_) {
      item_ = reader_->queue().try_pop();
      next_row_ = 0;
      if (!item_) return Status::ok();
    }
    if (item_->kind == Item::Kind::kRows) {
      uint32_t emitted = 0;
      SLUICE_CHECK_OK(emit_rows_of_item(rows, max_rows - rows, &emitted));
      rows += emitted;
      if (next_row_ < item_->chunk.rows.size()) return Status::ok();
      if (!item_->position.empty()) move_position(split_, item_->position);
      reader_->queue().give_back(std::move(item_->chunk));
      item_.reset();
      continue;
    }
    // Markers stand before or behind all rows of a call.
    if (item_->kind == Item::Kind::kSnapshotBegin && rows > 0) return Status::ok();
    const Item item = std::move(*item_);
    item_.reset();
    SLUICE_CHECK_OK(take(item));
    if (item.kind == Item::Kind::kSnapshotEnd) return Status::ok();
  }
  return Status::ok();
}

Status MysqlCdcSource::take(const Item& item) {
  switch (item.kind) {
    case Item::Kind::kSnapshotBegin:
      set_flags(0);
      move_position(split_, item.position);
      return emit_marker(SLUICE_SNAPSHOT_BEGIN);
    case Item::Kind::kSnapshotEnd:
      move_position(split_, item.position);
      set_flags(flags_ | SLUICE_SPLIT_SNAPSHOT_COMPLETE);
      return emit_marker(SLUICE_SNAPSHOT_END);
    case Item::Kind::kPosition:
      move_position(split_, item.position);
      return Status::ok();
    case Item::Kind::kCaughtUp:
      // With `earliest` and the like everything that was there at the start has been given now.
      set_flags(flags_ | SLUICE_SPLIT_CAUGHT_UP | SLUICE_SPLIT_SNAPSHOT_COMPLETE);
      return Status::ok();
    case Item::Kind::kRemember:
      return item.text.empty() ? tables_.erase(item.name) : tables_.put(item.name, item.text);
    case Item::Kind::kBehind:
    case Item::Kind::kAway:
      set_flags(flags_ & ~static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP));
      return Status::ok();
    case Item::Kind::kFailed:
      failed_ = Status::fatal(item.text);
      return failed_;
    case Item::Kind::kRows:
      break;
  }
  return Status::ok();
}

Status MysqlCdcSource::emit_rows_of_item(uint32_t before, uint32_t max_rows, uint32_t* emitted) {
  const RowChunk& chunk = item_->chunk;
  const size_t begin = next_row_;
  size_t end = std::min(chunk.rows.size(), next_row_ + max_rows);
  // Two records of one change stay together, where that is possible.
  if (end < chunk.rows.size() && end > next_row_ + 1 && chunk.rows[end - 1].with_next) --end;
  raw_.clear(), key_.clear(), position_.clear(), time_.clear(), change_.clear();
  bool timed = false;
  for (size_t i = next_row_; i < end; ++i) {
    const RowChunk::Row& r = chunk.rows[i];
    const char* bytes = chunk.bytes.data();
    key_.push_back({r.position == r.key ? nullptr : bytes + r.key, r.position - r.key});
    position_.push_back({bytes + r.position, r.raw - r.position});
    raw_.push_back({bytes + r.raw, r.end - r.raw});
    time_.push_back(r.time);
    timed = timed || r.time != SLUICE_NO_TIME;
    change_.push_back(r.change);
  }
  *emitted = static_cast<uint32_t>(end - next_row_);
  if (*emitted == 0) return Status::ok();
  if ((flags_ & SLUICE_SPLIT_CAUGHT_UP) != 0) set_flags(flags_ & ~static_cast<uint32_t>(SLUICE_SPLIT_CAUGHT_UP));
  sluice_rows rows;
  std::memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.size = *emitted;
  rows.split = split_;
  rows.raw = raw_.data();
  rows.raw_key = key_.data();
  rows.position = position_.data();
  rows.change = change_.data();
  if (timed) rows.event_time = time_.data();
  next_row_ = end;
  SLUICE_CHECK_OK(emit_rows(rows));
  if (chunk.reasons.empty()) return Status::ok();
  for (size_t i = begin; i < end; ++i)
    if (const uint32_t refused = chunk.rows[i].refused; refused != 0)
      SLUICE_CHECK_OK(reject(before + static_cast<uint32_t>(i - begin), chunk.reasons[refused - 1]));
  return Status::ok();
}

std::string MysqlCdcSource::describe_position(std::string_view, std::string_view position) {
  const auto p = BinlogPosition::decode(position);
  return p ? p->describe() : "a position that this version cannot read";
}

}  // namespace sluice_mysql
