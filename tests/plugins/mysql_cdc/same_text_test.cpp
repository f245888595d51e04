// Every value has the same text whether it comes from a row image or from a SELECT.
#include <algorithm>

#include "captured.h"

using namespace sluice_mysql;

namespace {

// Tables as the binlog's rows leave them: JSON of the rows.
class Replica {
 public:
  Replica(const std::map<std::string, captured::SelectedTable>* selected, bool give_tables, ValueStyle style)
      : selected_(selected), give_tables_(give_tables), style_(style) {}

  void play(const std::string& name) {
    EventParser parser;
    parser.set_position(name, 4);
    for (const std::string& bytes : captured::events_of(name)) {
      Event event;
      const sluice::Status status = captured::parse(&parser, bytes, &event);
      INFO(status.message());
      REQUIRE(status.is_ok());
      if (event.kind == EventKind::kRows) rows(event.rows);
    }
  }

  std::map<std::string, std::vector<std::string>> tables;
  std::map<std::string, std::string> refused;  // table → why

 private:
  void rows(const RowsEvent& event) {
    const std::string& name = event.table->table;
    const auto found = selected_->find(name);
    const Table* table = give_tables_ && found != selected_->end() ? &found->second.table : nullptr;
    TableCodec codec;
    const sluice::Status made = TableCodec::for_stream(*event.table, table, captured::collations(), style_, &codec);
    if (!made.is_ok()) {
      refused[name] = made.message();
      return;
    }
    RowReader reader;
    REQUIRE(reader.open(event).is_ok());
    auto& rows = tables[name];
    for (;;) {
      bool more = false;
      const sluice::Status status = reader.next(&more);
      INFO(status.message());
      REQUIRE(status.is_ok());
      if (!more) break;
      if (event.kind != RowsKind::kInsert) {
        const auto at = std::find(rows.begin(), rows.end(), json(codec, reader.before()));
        REQUIRE(at != rows.end());
        rows.erase(at);
      }
      if (event.kind != RowsKind::kDelete) rows.push_back(json(codec, reader.after()));
    }
  }

  static std::string json(const TableCodec& codec, const Cell* cells) {
    std::string out;
    const sluice::Status status = codec.append_row(cells, &out);
    INFO(status.message());
    REQUIRE(status.is_ok());
    return out;
  }

  const std::map<std::string, captured::SelectedTable>* selected_;
  bool give_tables_;
  ValueStyle style_;
};

std::vector<std::string> snapshot(const captured::SelectedTable& selected, ValueStyle style) {
  TableCodec codec;
  REQUIRE(TableCodec::for_snapshot(selected.table, style, &codec).is_ok());
  std::vector<std::string> rows;
  for (const auto& row : selected.rows) {
    const std::vector<Cell> cells = captured::cells_of(row);
    REQUIRE(cells.size() == codec.columns());
    std::string& out = rows.emplace_back();
    const sluice::Status status = codec.append_row(cells.data(), &out);
    INFO(status.message());
    REQUIRE(status.is_ok());
  }
  return rows;
}

// Where they differ first, with what stands before and after; empty: they are equal.
std::string difference(const std::string& image, const std::string& selected) {
  if (image == selected) return "";
  const auto at = std::mismatch(image.begin(), image.end(), selected.begin(), selected.end());
  const auto begin = static_cast<size_t>(std::max<std::ptrdiff_t>(0, at.first - image.begin() - 30));
  return "row image ..." + image.substr(begin, 60) + "... SELECT ..." + selected.substr(begin, 60) + "...";
}

struct Style {
  const char* name;
  ValueStyle style;
};

const Style kStyles[] = {{"debezium, text", {Format::kDebezium, Decimals::kText}},
                         {"debezium, base64", {Format::kDebezium, Decimals::kBase64}},
                         {"maxwell, number", {Format::kMaxwell, Decimals::kNumber}}};

void compare(const std::string& binlog, const std::vector<std::string>& row_files, bool give_tables,
             const std::map<std::string, std::string>& may_refuse = {}) {
  std::map<std::string, captured::SelectedTable> selected;
  for (const std::string& file : row_files) selected.merge(captured::selected(file));
  REQUIRE(selected.size() >= 10);
  for (const Style& s : kStyles) {
    INFO(binlog << ", " << s.name);
    Replica replica(&selected, give_tables, s.style);
    replica.play(binlog);
    CHECK(replica.refused == may_refuse);
    for (auto& [name, table] : selected) {
      if (replica.refused.count(name) != 0) continue;
      INFO("table " << name);
      std::vector<std::string> expected = snapshot(table, s.style), got = replica.tables[name];
      std::sort(expected.begin(), expected.end());
      std::sort(got.begin(), got.end());
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) CHECK(difference(got[i], expected[i]) == "");
    }
  }
}

}  // namespace

TEST_CASE("MariaDB 10.11: row images and SELECT give the same text") {
  compare("mariadb.types.binlog.gz", {"mariadb.types.rows"}, true);
}

TEST_CASE("MySQL 8.0.31: row images and SELECT give the same text") {
  compare("mysql-8.0.31.types.binlog.gz", {"mysql-8.0.31.types.rows.gz", "mysql-8.0.31.large.rows.gz"}, true);
}

TEST_CASE("MySQL 8.0.31, the map alone: names, signs, labels and character sets are in it") {
  compare("mysql-8.0.31.types.binlog.gz", {"mysql-8.0.31.types.rows.gz", "mysql-8.0.31.large.rows.gz"}, false);
}

TEST_CASE("MySQL 8.0.15: row images and SELECT give the same text") {
  compare("mysql-8.0.15.types.binlog.gz", {"mysql-8.0.15.types.rows.gz", "mysql-8.0.15.large.rows.gz"}, true);
}

TEST_CASE("MariaDB without row metadata, compressed events, no checksums: the table's description is enough") {
  compare("mariadb.least.binlog.gz", {"mariadb.types.rows"}, true,
          {{"t_hash",
            "the binlog's rows of cdc.t_hash have 3 columns, and information_schema has 2: the table has been altered "
            "since; set binlog_row_metadata=FULL at the server, so that the binlog itself has the names, and take a new "
            "snapshot"}});
}

TEST_CASE("MySQL with the least row metadata: the table's description is enough") {
  compare("mysql-8.0.31.least.binlog.gz", {"mysql-8.0.31.types.rows.gz", "mysql-8.0.31.large.rows.gz"}, true);
}
