#include "server_connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice_mysql {
namespace {

constexpr unsigned kUnknownVariable = 1193;

}  // namespace

void Interrupter::interrupt() {
  const std::lock_guard<std::mutex> lock(mutex_);
  interrupted_.store(true, std::memory_order_release);
  for (const int s : sockets_) shutdown(s, SHUT_RDWR);
  wake_.notify_all();
}

bool Interrupter::pause(std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait_for(lock, time, [&] { return interrupted(); });
  return !interrupted();
}

void Interrupter::add(int socket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sockets_.insert(socket);
  if (interrupted()) shutdown(socket, SHUT_RDWR);
}

void Interrupter::remove(int socket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sockets_.erase(socket);
}

Outcome Connection::open(const CdcConfig& config, std::chrono::seconds read_timeout) {
  close();
  // Once in a process, and before the first handle: two threads may be here at once.
  static const int library = mysql_library_init(0, nullptr, nullptr);
  static_cast<void>(library);
  const std::string doing = "connect to " + config.host + ":" + std::to_string(config.port);
  handle_ = mysql_init(nullptr);
  if (handle_ == nullptr) return Outcome::away(doing + ": out of memory");
  const auto seconds = [](std::chrono::milliseconds ms) { return static_cast<unsigned>((ms.count() + 999) / 1000); };
  const unsigned connect = std::max(1u, seconds(config.connect_timeout));
  const auto read = static_cast<unsigned>(read_timeout.count());
  mysql_options(handle_, MYSQL_OPT_CONNECT_TIMEOUT, &connect);
  mysql_options(handle_, MYSQL_OPT_READ_TIMEOUT, &read);
  mysql_options(handle_, MYSQL_OPT_WRITE_TIMEOUT, &read);
  mysql_options(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const auto given = [](const std::optional<std::string>& path) { return path ? path->c_str() : nullptr; };
  if (config.tls != Tls::kOff) {
    const my_bool yes = 1, verify = config.tls == Tls::kVerified ? 1 : 0;
    mysql_ssl_set(handle_, given(config.tls_key), given(config.tls_certificate), given(config.tls_ca), nullptr,
                  nullptr);
    mysql_options(handle_, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(handle_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
  }
  // `localhost` would make the client take the server's Unix socket.
  const unsigned protocol = MYSQL_PROTOCOL_TCP;
  mysql_options(handle_, MYSQL_OPT_PROTOCOL, &protocol);
  if (mysql_real_connect(handle_, config.host.c_str(), config.user.c_str(), config.password.c_str(), nullptr,
                         static_cast<unsigned>(config.port), nullptr, 0) == nullptr) {
    Outcome o = failure(doing);
    mysql_close(handle_);
    handle_ = nullptr;
    return o;
  }
  // Without a certificate to check, the library goes on in the clear when the server has no TLS.
  if (config.tls != Tls::kOff && mysql_get_ssl_cipher(handle_) == nullptr) {
    close();
    return Outcome::wrong("cannot " + doing + ": the server has no TLS, and `tls` asks for it");
  }
  // A descriptor of our own: the library closes its own when a connection breaks, and somebody else may then have that
  // number.
  socket_ = fcntl(static_cast<int>(mysql_get_socket(handle_)), F_DUPFD_CLOEXEC, 0);
  if (socket_ < 0) {
    close();
    return Outcome::away("cannot " + doing + ": no file descriptor is left");
  }
  interrupter_->add(socket_);
  SLUICE_MYSQL_CHECK(query("SET time_zone='+00:00'", doing));
  // A sink that is slow must not cost the connection: the server waits this long for each write.
  SLUICE_MYSQL_CHECK(query("SET SESSION net_write_timeout=31536000", doing));
  // Nor may a limit for everybody's statements end the snapshot, each time anew. A proxy may not know the variable.
  const char* const limit = mariadb_connection(handle_) != 0 ? "max_statement_time" : "max_execution_time";
  if (Outcome o = query(std::string("SET SESSION ") + limit + "=0", doing); !o.is_ok() && code_ != kUnknownVariable)
    return o;
  // Generated primary keys are in the binlog's rows, whether information_schema shows them to everybody or not.
  if (mariadb_connection(handle_) == 0)
    if (Outcome o = query("SET SESSION show_gipk_in_create_table_and_information_schema=ON", doing);
        !o.is_ok() && code_ != kUnknownVariable)
      return o;
  return query("SET SESSION sql_mode=''", doing);  // what a server's mode does to quoting and to dates of zero
}

Outcome Connection::open_briefly(const CdcConfig& config) {
  SLUICE_MYSQL_CHECK(open(config, std::chrono::seconds(10)));
  return query("SET SESSION lock_wait_timeout=2", "connect to " + config.host + ":" + std::to_string(config.port));
}

void Connection::close() {
  if (handle_ == nullptr) return;
  if (socket_ >= 0) {
    interrupter_->remove(socket_);
    // By a reset: a server in the middle of sending would try on for minutes otherwise, with its locks and its
    // transaction, and MariaDB sends no binlog to the next connection of the same number meanwhile.
    const linger reset{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    shutdown(socket_, SHUT_RDWR);
    ::close(socket_);
  }
  mysql_close(handle_);
  handle_ = nullptr;
  socket_ = -1;
}

Outcome Connection::failure(const std::string& doing) {
  code_ = mysql_errno(handle_);
  return diagnose(code_, mysql_error(handle_), doing);
}

Outcome Connection::query(const std::string& sql, const std::string& doing, SqlRows* rows) {
  code_ = 0;
  if (rows != nullptr) rows->clear();
  if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) return failure(doing);
  MYSQL_RES* result = mysql_store_result(handle_);
  if (result == nullptr) return mysql_errno(handle_) != 0 ? failure(doing) : Outcome::ok();
  const unsigned count = mysql_num_fields(result);
  while (MYSQL_ROW row = mysql_fetch_row(result)) {
    if (rows == nullptr) continue;
    const unsigned long* sizes = mysql_fetch_lengths(result);
    SqlRow values;
    for (unsigned i = 0; i < count; ++i)
      values.push_back(row[i] != nullptr ? SqlValue(std::string(row[i], sizes[i])) : std::nullopt);
    rows->push_back(std::move(values));
  }
  mysql_free_result(result);
  return Outcome::ok();
}

Outcome Connection::stream(
    const std::string& sql, const std::string& doing,
    const std::function<Outcome(const char* const* values, const unsigned long* sizes, unsigned count)>& row) {
  code_ = 0;
  if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) return failure(doing);
  MYSQL_RES* result = mysql_use_result(handle_);
  if (result == nullptr) return failure(doing);
  const unsigned count = mysql_num_fields(result);
  while (MYSQL_ROW values = mysql_fetch_row(result)) {
    Outcome o = row(values, mysql_fetch_lengths(result), count);
    if (o.is_ok()) continue;
    shutdown(socket_, SHUT_RDWR);  // freeing the result would read all the rest
    mysql_free_result(result);
    return o;
  }
  const bool failed = mysql_errno(handle_) != 0;
  Outcome o = failed ? failure(doing) : Outcome::ok();
  mysql_free_result(result);
  return o;
}

std::string Connection::quoted(std::string_view text) {
  std::string out(text.size() * 2 + 1, '\0');
  out.resize(mysql_real_escape_string(handle_, out.data(), text.data(), text.size()));
  return "'" + out + "'";
}

}  // namespace sluice_mysql
