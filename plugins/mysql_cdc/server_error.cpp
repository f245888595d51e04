#include "server_error.h"

namespace sluice_mysql {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Error 1236 (ER_MASTER_FATAL_ERROR_READING_BINLOG) says everything in its text. Texts: MariaDB 10.11, MySQL 8.0.31.
Outcome diagnose_1236(std::string_view text, const std::string& message) {
  if (contains(text, "server_uuid/server_id"))
    return Outcome::wrong(
        message +
        ": another client reads this server's binlog under the same server id, and the server cut this one off. "
        "Give one of them another `server_id`");
  if (contains(text, "checksum"))
    return Outcome::wrong(message + ": the server did not accept that checksums are understood");
  if (contains(text, "inary log is not open"))
    return Outcome::wrong(message + ": the server writes no binlog: start it with log_bin");
  if (contains(text, "binary log index file") || contains(text, "GTID state requested by slave") ||
      contains(text, "purged required binary logs") || contains(text, "has been purged") || contains(text, "purged"))
    return Outcome::lost(message + ": the server has deleted the binlog that comes next");
  if (contains(text, "more GTIDs than the") || contains(text, "which is not in the master's binlog"))
    return Outcome::lost(message +
                         ": this server has never had transactions that were read before: it is another one, or it "
                         "lost them in a crash");
  if (contains(text, "impossible position") || contains(text, "> file size") || contains(text, "position < 4"))
    return Outcome::lost(
        message +
        ": the binlog file is shorter than what was read of it: it was made anew, or its end was lost in a crash");
  if (contains(text, "bogus data") || contains(text, "log event entry exceeded max_allowed_packet") ||
      contains(text, "event read from binlog did not pass"))
    return Outcome::lost(
        message +
        ": no event begins at this position of the file: it is not the file that was read before, or the position was "
        "mistyped");
  return Outcome::lost(message);
}

}  // namespace

Outcome diagnose(unsigned code, std::string_view text, const std::string& doing) {
  const std::string message = "cannot " + doing + ": " + std::string(text) + " (" + std::to_string(code) + ")";
  switch (code) {
    case 1236:
      return diagnose_1236(text, message);
    case 4052:  // MariaDB
      return Outcome::wrong(
          message +
          ": another client reads this server's binlog under the same server id, and the server cut this one off. "
          "Give one of them another `server_id`");
    case 1941:
    case 1942:
      return Outcome::wrong(message + ": `start_gtid` is written domain-server-number, several with commas: 0-101-382");
    case 1044:
    case 1142:
    case 1143:
      return Outcome::wrong(message + ": the user lacks a right; the operator's page lists them");
    case 1227:
      return Outcome::wrong(message + ": the user lacks a right; the operator's page lists them");
    case 1045:
    case 1698:
      return Outcome::wrong(message + ": check `user` and `password`, and from which hosts the user may come");
    case 1130:
      return Outcome::wrong(message + ": the server lets nobody in from this host: create the user for it");
    case 1049:
    case 1146:  // the start says so, with the way out, if it stays away
      return Outcome::away(message + ": it was dropped or renamed while it was being read, and is looked for again");
    case 1054:
    case 1064:
      return Outcome::wrong(
          message +
          ": the server does not know this statement. MariaDB from 10.5 on and MySQL 8 do; a proxy in "
          "between may not: connect to the server itself");
    case 1205:
      return Outcome::away(message +
                           ": a statement or a transaction of another session holds a lock that this waits for");
    case 3159:
      return Outcome::wrong(message + ": the server lets nobody in without TLS: set `tls: required`");
    case 1820:
    case 1862:
      return Outcome::wrong(message + ": the user's password has expired");
    case 3118:
    case 4151:
      return Outcome::wrong(message + ": the user's account is locked");
    case 2026:
      if (contains(text, "certificate") || contains(text, "not support") || contains(text, "required") ||
          contains(text, "file"))
        return Outcome::wrong(
            message +
            ": check the server's certificate and the options `tls`, `tls_ca`, `tls_certificate` and `tls_key`");
      return Outcome::away(message);
    case 2058:
    case 2059:
      return Outcome::wrong(
          message +
          ": libmariadb's plugins are missing: install the package libmariadb3, or set MARIADB_PLUGIN_DIR to their "
          "folder");
    default:
      return Outcome::away(message);
  }
}

}  // namespace sluice_mysql
