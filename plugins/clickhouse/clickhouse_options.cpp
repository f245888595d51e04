// The options of clickhouse.sink.
#include "clickhouse_sink.h"

namespace sluice::clickhouse {

Options<ClickHouseSinkConfig> ClickHouseSink::options() {
  using C = ClickHouseSinkConfig;
  Options<C> o;
  const auto add = [&](Option<C>&& option) { o.push_back(std::move(option)); };
  add(opt("servers", &C::servers)
          .required()
          .doc("HTTP addresses of the servers, tried in this order. All must hold the same table.")
          .example("[http://ch1:8123, http://ch2:8123]"));
  add(opt("database", &C::database).def("default").doc("The table's database."));
  add(opt("table", &C::table).required().doc("The table of all rows.").example("dws_trade_cart_add_uu_window"));
  add(opt("user", &C::user).def("default").doc("Who writes."));
  add(opt("password", &C::password)
          .def("\"\"")
          .secret()
          .doc("The user's password. Sent in a header, never in an address."));
  add(opt("create", &C::create)
          .doc("A statement, one, that makes the table; sent to each server before it is first used.")
          .example("create table if not exists t (id UInt64, ts UInt64) engine = ReplacingMergeTree(ts) order by id"));
  add(opt("delivery", &C::delivery,
          {{"upsert", Delivery::kUpsert},
           {"exactly_once", Delivery::kExactlyOnce},
           {"at_least_once", Delivery::kAtLeastOnce}})
          .def("upsert")
          .doc("`upsert`: into a ReplacingMergeTree with a version column, read with FINAL. `exactly_once`: into any "
               "MergeTree that remembers its inserts. `at_least_once`: into any table; rows can come twice after a "
               "crash."));
  add(opt("unknown_fields", &C::unknown_fields,
          {{"reject", UnknownFields::kReject}, {"ignore", UnknownFields::kIgnore}, {"fail", UnknownFields::kFail}})
          .def("reject")
          .doc("A row has a member that is no column: the row is a bad record, the member is left out, or the job "
               "stops."));
  add(opt("missing_columns", &C::missing_columns,
          {{"default", MissingColumns::kDefault}, {"reject", MissingColumns::kReject}})
          .def("default")
          .doc("A row lacks a column: it gets the column's default, or, when the column has no DEFAULT expression, the "
               "row is a "
               "bad record."));
  add(opt("null_as", &C::null_as, {{"reject", NullAs::kReject}, {"default", NullAs::kDefault}})
          .def("reject")
          .doc("`null` for a column that is not Nullable: a bad record, or the column's default."));
  add(opt("zero_dates", &C::zero_dates, {{"reject", ZeroDates::kReject}, {"as_null", ZeroDates::kNull}})
          .def("as_null")
          .doc("MySQL's zero dates (`0000-00-00`, also with `00:00:00`) in Nullable columns of dates and times: a bad "
               "record, or NULL. Other columns have no room for them: there the row is a bad record."));
  add(opt("on_delete", &C::on_delete,
          {{"reject", OnDelete::kReject}, {"ignore", OnDelete::kIgnore}, {"mark", OnDelete::kMark}})
          .def("reject")
          .doc("Rows that are marked as deleted: bad records, left out, or written with 1 in the `is_deleted` column "
               "that the "
               "table's ReplacingMergeTree(version, is_deleted) names."));
  add(opt("epoch_unit", &C::epoch_unit,
          {{"seconds", EpochUnit::kSeconds},
           {"milliseconds", EpochUnit::kMilliseconds},
           {"microseconds", EpochUnit::kMicroseconds},
           {"nanoseconds", EpochUnit::kNanoseconds}})
          .def("seconds")
          .doc("What a plain number in a DateTime or DateTime64 column counts, since 1970 UTC."));
  add(opt("excess_fraction", &C::excess_fraction, {{"reject", ExcessFraction::kReject}, {"cut", ExcessFraction::kCut}})
          .def("reject")
          .doc("Digits behind the point, of a decimal or a second, for which the column has no room (a time of day in "
               "a Date): "
               "a bad record, or cut off."));
  add(opt("batch_rows", &C::batch_rows)
          .def("100000")
          .unit("rows")
          .doc("Most rows of one insert; at most 1000000, so that the server writes it whole or not at all."));
  add(opt("batch_bytes", &C::batch_bytes)
          .def("16MiB")
          .doc("Most bytes of one insert; at most 64MiB, which `exactly_once` always uses."));
  add(opt("flush_interval", &C::flush_interval)
          .def("1s")
          .doc("How long rows wait for more of their insert. Not for `exactly_once`, whose rows come with the "
               "checkpoint. 0: until "
               "the insert is full or a checkpoint comes."));
  add(opt("max_buffer", &C::max_buffer)
          .def("128MiB")
          .advanced()
          .doc("How much may wait for the servers, for each lane. `exactly_once` takes up to 128MiB even if this is "
               "less: "
               "where its inserts end depends on the rows alone."));
  add(opt("compression", &C::compression, {{"none", Compression::kNone}, {"gzip", Compression::kGzip}})
          .def("none")
          .doc("How inserts are compressed on their way."));
  add(opt("isolate_errors", &C::isolate_errors)
          .def("true")
          .advanced()
          .doc("Remember where each row came from until it is in, so that one that the server refuses becomes a bad "
               "record. "
               "Without it such a row stops the job."));
  add(opt("stop_after_refused", &C::stop_after_refused)
          .def("100")
          .unit("rows")
          .advanced()
          .doc("The job stops when the server has refused so many rows in succession for the same reason and taken "
               "none: then it is not the rows. 0: all become bad records."));
  add(opt("settings", &C::settings)
          .def("{}")
          .doc("ClickHouse settings for `create` and the inserts. One that the server does not list stops the job, and "
               "so "
               "does one that the sink sets itself.")
          .example("{insert_quorum: \"2\"}"));
  add(opt("connect_timeout", &C::connect_timeout).def("5s").advanced().doc("For making a connection."));
  add(opt("request_timeout", &C::request_timeout)
          .def("60s")
          .advanced()
          .doc("For a whole request. After it the same bytes are sent again."));
  add(opt("tls_ca", &C::tls_ca)
          .advanced()
          .doc("File with the certificates (PEM) to trust for https. Default: the system's."));
  add(opt("tls_verify", &C::tls_verify).def("true").advanced().doc("Whether the server's certificate is checked."));
  return o;
}

}  // namespace sluice::clickhouse
