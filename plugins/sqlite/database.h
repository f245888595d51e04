// A connection to a SQLite file and its statements; SQLite's result codes as what the host does next.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/status.hpp"

namespace sluice::sqlite {

class Database;

// A prepared statement. Owned by whoever made it; must die before its Database. Bound text is not copied: it must live
// until reset().
class Statement {
 public:
  Statement() noexcept = default;
  Statement(Statement&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Statement& operator=(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(handle_); }

  void bind_null(int index) noexcept { sqlite3_bind_null(handle_, index); }
  void bind_integer(int index, int64_t value) noexcept { sqlite3_bind_int64(handle_, index, value); }
  void bind_real(int index, double value) noexcept { sqlite3_bind_double(handle_, index, value); }
  void bind_text(int index, std::string_view text) noexcept;
  // SQLITE_ROW, SQLITE_DONE or an error.
  int step() noexcept { return sqlite3_step(handle_); }
  void reset() noexcept;
  std::string_view text(int column) const noexcept;
  int64_t integer(int column) const noexcept { return sqlite3_column_int64(handle_, column); }

 private:
  friend class Database;
  sqlite3_stmt* handle_ = nullptr;
};

// Why Database::open(path, create) will fail. Looks only: opening a database with a write-ahead log would make files.
// Empty: nothing speaks against it.
std::string unusable_file(const std::string& path, bool create);

// Owned by one sink instance and used by its lane only.
class Database {
 public:
  enum class Durability {
    kCommit,  // each commit is durable when it returns
    kSync,    // commits survive the death of the process; sync() makes them survive that of the machine
  };

  Database() noexcept = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { close(); }

  // Sets write-ahead logging, so that readers and the sink do not wait for each other.
  Status open(const std::string& path, bool create, int64_t busy_timeout_ms, Durability durability);
  void close() noexcept;
  bool is_open() const noexcept { return handle_ != nullptr; }

  Status prepare(const std::string& sql, Statement* out) const;
  Status execute(const std::string& sql) const;
  // Takes the write lock at once: nothing later in the transaction can find the file locked.
  Status begin() const { return execute("begin immediate"); }
  Status commit() const { return execute("commit"); }
  void rollback() const noexcept;
  bool in_transaction() const noexcept { return handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0; }
  Status sync() const;
  // How many columns a table can have.
  size_t max_columns() const noexcept { return static_cast<size_t>(sqlite3_limit(handle_, SQLITE_LIMIT_COLUMN, -1)); }

  // What `result` of the last call means. bad_record: the statement or its values can never succeed.
  Status failure(int result, const std::string& doing) const;

 private:
  Status set_up(bool create, int64_t busy_timeout_ms, Durability durability);

  sqlite3* handle_ = nullptr;
  std::string path_;
  bool write_ahead_log_ = false;
};

}  // namespace sluice::sqlite
