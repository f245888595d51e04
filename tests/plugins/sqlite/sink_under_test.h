// What the tests of sqlite.sink share: a sink over a file in a folder of its own, and a look into that file as any
// other program would have it.
#pragma once
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/testing/harness.hpp"
#include "sqlite_sink.h"
#include "support/temp_folder.h"

namespace sluice::tests {

using Sink = testing::Harness<sqlite::SqliteSink>;
using Rows = std::vector<std::string>;

// Another program's connection to the file. Owned by the test.
class Reader {
 public:
  explicit Reader(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open " + path);
  }
  ~Reader() { sqlite3_close(db_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Each row as its values with `|` between them; NULL is `~`; what is not text has its type before it.
  Rows query(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(db_));
    Rows rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::string row;
      for (int c = 0; c < sqlite3_column_count(statement); ++c) {
        if (c > 0) row += '|';
        switch (sqlite3_column_type(statement, c)) {
          case SQLITE_NULL:
            row += '~';
            continue;
          case SQLITE_INTEGER:
            row += "int ";
            break;
          case SQLITE_FLOAT:
            row += "real ";
            break;
          case SQLITE_BLOB:
            row += "blob ";
            break;
          default:
            break;
        }
        row.append(reinterpret_cast<const char*>(sqlite3_column_text(statement, c)),
                   static_cast<size_t>(sqlite3_column_bytes(statement, c)));
      }
      rows.push_back(row);
    }
    sqlite3_finalize(statement);
    return rows;
  }
  void execute(const std::string& sql) const {
    char* message = nullptr;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
    const std::string text = message;
    sqlite3_free(message);
    throw std::runtime_error(text);
  }

 private:
  sqlite3* db_ = nullptr;
};

// The folder, the file's name and the options of a test.
class Target {
 public:
  std::string path() const { return folder.path("warehouse.db"); }
  std::string options(const std::string& more = "") const {
    return "{path: '" + path() + "', busy_timeout: 10ms" + (more.empty() ? "" : ", " + more) + "}";
  }
  Rows query(const std::string& sql) const { return Reader(path()).query(sql); }
  void execute(const std::string& sql) const { Reader(path()).execute(sql); }

  TempFolder folder;
};

inline testing::SchemaIn trademark_schema() { return {"dim_base_trademark", {"id", "tm_name"}, {"id"}}; }

}  // namespace sluice::tests
