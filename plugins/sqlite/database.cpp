#include "database.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace sluice::sqlite {
namespace {

constexpr uint32_t kLockedRetryMs = 50;
constexpr uint32_t kStorageRetryMs = 1000;

}  // namespace

std::string unusable_file(const std::string& path, bool create) {
  namespace fs = std::filesystem;
  const auto reason = [] { return std::generic_category().message(errno); };
  std::error_code error;
  const bool there = fs::exists(path, error);
  if (!there && !create) return "there is no SQLite file " + path + ", and `create: false` makes none";
  if (there) {
    if (!fs::is_regular_file(path, error)) return path + " is no regular file. Choose another `path`";
    std::ifstream file(path, std::ios::binary);
    if (!file) return "cannot read the SQLite file " + path + ": " + reason();
    // https://www.sqlite.org/fileformat2.html#magic_header_string; an empty file is an empty database.
    char head[16] = {};
    file.read(head, sizeof head);
    if (file.gcount() > 0 && std::string_view(head, sizeof head) != std::string_view("SQLite format 3\0", 16))
      return path + " is not a SQLite file. Choose another `path`, or move that file away";
    if (access(path.c_str(), W_OK) != 0)
      return "the SQLite file " + path + " is read-only for this user: change its owner or permissions";
  }
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const fs::path wanted = folder;
  while (!fs::exists(folder, error) && folder.has_parent_path() && folder.parent_path() != folder) folder = folder.parent_path();
  if (!fs::exists(folder, error)) folder = ".";  // the first part of a relative path
  if (!fs::is_directory(folder, error)) return folder.string() + " is not a folder";
  if (access(folder.c_str(), W_OK | X_OK) == 0) return "";
  return (folder == wanted ? "cannot write in the folder " : "cannot make a folder in ") + folder.string() + ": " + reason();
}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    sqlite3_finalize(handle_);
    handle_ = other.handle_;
    other.handle_ = nullptr;
  }
  return *this;
}

void Statement::bind_text(int index, std::string_view text) noexcept {
  // A null pointer would bind NULL.
  sqlite3_bind_text64(handle_, index, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void Statement::reset() noexcept {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

std::string_view Statement::text(int column) const noexcept {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<size_t>(sqlite3_column_bytes(handle_, column)));
}

Status Database::open(const std::string& path, bool create, int64_t busy_timeout_ms, Durability durability) {
  close();
  path_ = path;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (create && !folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return Status::fatal("cannot make the folder " + folder.string() + ": " + error.message());
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  const int result = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
  Status s = result == SQLITE_OK ? set_up(create, busy_timeout_ms, durability) : failure(result, "open");
  if (!s.is_ok()) close();
  return s;
}

Status Database::set_up(bool create, int64_t busy_timeout_ms, Durability durability) {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, static_cast<int>(busy_timeout_ms));
  // Without this an unknown name in double quotes would be taken for a text.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  if (sqlite3_db_readonly(handle_, "main") == 1)
    return Status::fatal("the SQLite file " + path_ + " is read-only for this user: change its owner or permissions");
  Statement mode;
  SLUICE_CHECK_OK(prepare("pragma journal_mode = wal", &mode));
  if (const int result = mode.step(); result != SQLITE_ROW)
    return failure(result, create ? "open" : "open (create: false)");
  write_ahead_log_ = mode.text(0) == "wal";
  mode = Statement();
  // Without a write-ahead log (some file systems have no shared memory) only full synchronisation is safe.
  const bool full = durability == Durability::kCommit || !write_ahead_log_;
  SLUICE_CHECK_OK(execute(full ? "pragma synchronous = full" : "pragma synchronous = normal"));
  return execute("pragma wal_autocheckpoint = 4000");
}

void Database::close() noexcept {
  if (handle_ != nullptr) sqlite3_close_v2(handle_);
  handle_ = nullptr;
}

Status Database::prepare(const std::string& sql, Statement* out) const {
  Statement made;
  const int result = sqlite3_prepare_v3(handle_, sql.c_str(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &made.handle_, nullptr);
  if (result != SQLITE_OK) return failure(result, "use");
  *out = std::move(made);
  return Status::ok();
}

Status Database::execute(const std::string& sql) const {
  const int result = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? Status::ok() : failure(result, "write to");
}

void Database::rollback() const noexcept {
  if (in_transaction()) sqlite3_exec(handle_, "rollback", nullptr, nullptr, nullptr);
}

Status Database::sync() const {
  if (!write_ahead_log_) return Status::ok();
  sqlite3_file* log = nullptr;
  const int found = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (found != SQLITE_OK) return failure(found, "sync");
  if (log == nullptr || log->pMethods == nullptr) return Status::ok();
  const int result = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
  // The rows are in the log but perhaps not on the disk, and a second sync would not tell.
  if (result != SQLITE_OK)
    return Status::fatal("cannot sync the SQLite file " + path_ + ": " + sqlite3_errstr(result) +
                         "; start again from the checkpoint");
  return Status::ok();
}

Status Database::failure(int result, const std::string& doing) const {
  const char* text = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(result);
  const std::string message = "cannot " + doing + " the SQLite file " + path_ + ": " + text;
  switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Status::retry(message + " by another writer", kLockedRetryMs);
    case SQLITE_FULL:
      return Status::retry(message + "; waiting for free space", kStorageRetryMs);
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return Status::retry(message, kStorageRetryMs);
    case SQLITE_CORRUPT:
      return Status::fatal(message + ". Check it with `sqlite3 " + path_ +
                           " 'pragma integrity_check'`; restore it, or move it away and start anew");
    case SQLITE_NOTADB:
      return Status::fatal(message + ". Choose another `path`, or move that file away");
    case SQLITE_CANTOPEN:
      return Status::fatal(message +
                           ". Do its folder and, with `create: false`, the file exist, and may this user write there?");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Status::fatal(message + ". It must be writable for this user");
    case SQLITE_MISUSE:
    case SQLITE_INTERNAL:
      return Status::bug(message);
    default:
      return Status::bad_record(text);
  }
}

}  // namespace sluice::sqlite
