// Captures what the tests compare: a table's description and rows as the text protocol gives them, and the packets of a
// binlog stream.
//
//   capture rows SOCKET DATABASE TABLE              > TABLE.rows
//   capture stream SOCKET FILE POSITION SECONDS     > NAME.packets   (heartbeats each 0.2 s; 4 bytes of length, event)
#include <mysql.h>

// Needs mysql.h before it.
#include <mariadb_rpl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "decode/column.h"

namespace {

using Row = std::vector<std::string>;

class Connection {
 public:
  explicit Connection(const char* socket) : mysql_(mysql_init(nullptr)) {
    if (mysql_real_connect(mysql_, nullptr, "root", nullptr, nullptr, 0, socket, 0) == nullptr) fail();
    run("set names utf8mb4");
    run("set time_zone='+00:00'");
  }
  ~Connection() { mysql_close(mysql_); }
  MYSQL* get() const { return mysql_; }

  [[noreturn]] void fail() const { throw std::runtime_error(mysql_error(mysql_)); }
  void run(const std::string& sql) const {
    if (mysql_real_query(mysql_, sql.data(), sql.size()) != 0) fail();
  }
  template <class Take>
  void each(const std::string& sql, Take take) const {
    run(sql);
    MYSQL_RES* result = mysql_use_result(mysql_);
    if (result == nullptr) fail();
    while (MYSQL_ROW row = mysql_fetch_row(result)) take(row, mysql_fetch_lengths(result), mysql_num_fields(result));
    mysql_free_result(result);
  }

 private:
  MYSQL* mysql_;
};

// Tabs, newlines, backslashes and bytes that are not printable ASCII or UTF-8 lead bytes become \xNN; NULL is \N.
void print_field(const char* data, size_t size, bool binary) {
  if (data == nullptr) {
    std::fputs("\\N", stdout);
    return;
  }
  for (size_t i = 0; i < size; ++i) {
    const auto c = static_cast<unsigned char>(data[i]);
    if (c < 0x20 || c == '\\' || c == 0x7F || (binary && c >= 0x80)) {
      std::printf("\\x%02x", c);
    } else {
      std::putchar(c);
    }
  }
}

void capture_rows(const Connection& db, const std::string& database, const std::string& table) {
  sluice_mysql::Table t;
  t.database = database;
  t.name = table;
  const std::string where = " where table_schema='" + database + "' and table_name='" + table + "' ";
  std::printf("table\t%s\t%s\n", database.c_str(), table.c_str());
  db.each("select column_name,data_type,column_type,character_set_name,collation_name,is_nullable,extra from "
          "information_schema.columns" + where + "order by ordinal_position",
          [&](MYSQL_ROW row, unsigned long* sizes, unsigned) {
            std::fputs("column", stdout);
            std::string_view f[7];
            for (int i = 0; i < 7; ++i) {
              f[i] = row[i] == nullptr ? std::string_view() : std::string_view(row[i], sizes[i]);
              std::putchar('\t');
              print_field(f[i].data() == nullptr ? "" : f[i].data(), f[i].size(), false);
            }
            std::putchar('\n');
            sluice_mysql::Column c;
            const sluice::Status made = sluice_mysql::make_column({f[0], f[1], f[2], f[3], f[4], f[5], f[6]}, &c);
            if (!made.is_ok()) throw std::runtime_error(made.message());
            t.columns.push_back(std::move(c));
          });
  db.each("select column_name from information_schema.key_column_usage" + where +
              "and constraint_name='PRIMARY' order by ordinal_position",
          [&](MYSQL_ROW row, unsigned long* sizes, unsigned) {
            std::fputs("key\t", stdout);
            print_field(row[0], sizes[0], false);
            std::putchar('\n');
          });
  db.each("select " + select_list(t) + " from " + sluice_mysql::quote_name(database) + "." + sluice_mysql::quote_name(table),
          [&](MYSQL_ROW row, unsigned long* sizes, unsigned fields) {
            std::fputs("row", stdout);
            for (unsigned i = 0; i < fields; ++i) {
              using Kind = sluice_mysql::ColumnKind;
              const Kind kind = t.columns[i].kind;
              std::putchar('\t');
              print_field(row[i], sizes[i], kind == Kind::kBytes || kind == Kind::kBit || kind == Kind::kGeometry);
            }
            std::putchar('\n');
          });
}

void capture_stream(const Connection& db, const char* file, unsigned long position, int seconds) {
  db.run("set @master_binlog_checksum=@@global.binlog_checksum");
  db.run("set @master_heartbeat_period=200000000");
  db.run("set @mariadb_slave_capability=4");
  db.run("set @slave_uuid=uuid()");
  MARIADB_RPL* rpl = mariadb_rpl_init(db.get());
  mariadb_rpl_optionsv(rpl, MARIADB_RPL_SERVER_ID, 4711);
  mariadb_rpl_optionsv(rpl, MARIADB_RPL_FILENAME, file, std::char_traits<char>::length(file));
  mariadb_rpl_optionsv(rpl, MARIADB_RPL_START, position);
  if (mariadb_rpl_open(rpl) != 0) db.fail();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    const unsigned long size = mysql_net_read_packet(db.get());
    if (size == packet_error) db.fail();
    const unsigned char* p = db.get()->net.read_pos;
    if (size < 9 && p[0] == 0xFE) break;
    const unsigned long event = size - 1;
    for (int i = 0; i < 4; ++i) std::putchar(static_cast<int>(event >> (8 * i) & 255));
    std::fwrite(p + 1, 1, event, stdout);
  }
  std::fflush(stdout);
  std::_Exit(0);  // the connection is in the middle of a stream
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "rows" && argc == 5) {
      capture_rows(Connection(argv[2]), argv[3], argv[4]);
    } else if (what == "stream" && argc == 6) {
      capture_stream(Connection(argv[2]), argv[3], std::strtoul(argv[4], nullptr, 10), std::atoi(argv[5]));
    } else {
      std::fputs("usage: capture rows SOCKET DATABASE TABLE | capture stream SOCKET FILE POSITION SECONDS\n", stderr);
      return 2;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "capture: %s\n", e.what());
    return 1;
  }
  return 0;
}
