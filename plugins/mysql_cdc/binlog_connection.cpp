#include "binlog_connection.h"

#include <ma_pvio.h>
#include <sys/socket.h>

#include <random>

#include "gtid_set.h"

// Exported by libmariadb.so.3, declared in no installed header. The packet is in net.read_pos.
extern "C" unsigned long mysql_net_read_packet(MYSQL*);

namespace sluice_mysql {
namespace {

constexpr auto kComBinlogDump = static_cast<enum enum_server_command>(0x12);
constexpr auto kComRegisterSlave = static_cast<enum enum_server_command>(0x15);
constexpr auto kComBinlogDumpGtid = static_cast<enum enum_server_command>(0x1e);
constexpr uint16_t kNonBlock = 1, kThroughGtid = 4;

// For a connection that only looks. A start and a `validate --connect` may do so at one time, and of two with one number
// MariaDB ends the older.
uint32_t passing_server_id() {
  static thread_local std::mt19937 random{std::random_device()()};
  return std::uniform_int_distribution<uint32_t>(0x40000000, 0x7fffffff)(random);
}

void append(uint64_t v, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(v >> (8 * i) & 0xFF));
}

// Answer: packets of events, not a result; or (register) one OK packet.
Outcome command(Connection* connection, enum enum_server_command code, const std::string& arguments, bool streams,
                const std::string& doing) {
  MYSQL* m = connection->handle();
  if (m->methods->db_command(m, code, arguments.data(), arguments.size(), streams ? 1 : 0, nullptr) != 0)
    return connection->failure(doing);
  return Outcome::ok();
}

Outcome dump(Connection* connection, uint32_t server_id, uint16_t flags, const std::string& file, uint64_t position) {
  std::string a;
  append(position, 4, &a);
  append(flags, 2, &a);
  append(server_id, 4, &a);
  return command(connection, kComBinlogDump, a + file, true, "read the binlog");
}

Outcome dump_gtid(Connection* connection, uint32_t server_id, uint16_t flags, const GtidSet& done) {
  const std::string set = done.encoded();
  std::string a;
  append(kThroughGtid | flags, 2, &a);
  append(server_id, 4, &a);
  append(0, 4, &a);  // no file name
  append(4, 8, &a);
  append(set.size(), 4, &a);
  return command(connection, kComBinlogDumpGtid, a + set, true, "read the binlog");
}

// Makes this client visible in SHOW SLAVE HOSTS, and its server id with it.
Outcome register_client(Connection* connection, const ClientName& client) {
  std::string a;
  append(client.server_id, 4, &a);
  a.push_back(static_cast<char>(client.label.size()));
  a += client.label;
  a.append(2, '\0');  // user, password
  append(0, 2, &a);   // port
  append(0, 4, &a);   // rank
  append(0, 4, &a);   // the master's id
  return command(connection, kComRegisterSlave, a, false, "read the binlog");
}

Outcome announce(Connection* connection, const CdcConfig& config, bool mariadb, const std::string& uuid_sql) {
  const std::string doing = "prepare to read the binlog";
  SLUICE_MYSQL_CHECK(connection->query("SET @master_binlog_checksum=@@global.binlog_checksum", doing));
  SLUICE_MYSQL_CHECK(
      connection->query("SET @master_heartbeat_period=" + std::to_string(config.heartbeat.count() * 1000000), doing));
  if (mariadb) return connection->query("SET @mariadb_slave_capability=4", doing);  // or GTIDs are left out
  // Under the old name and the new one: 8.0.26 and later look at both.
  return connection->query("SET @slave_uuid=" + uuid_sql + ", @replica_uuid=" + uuid_sql, doing);
}

// Three heartbeats, so that a slow one is no reason to hang up.
std::chrono::seconds patience(const CdcConfig& config) {
  return std::chrono::seconds(std::max<int64_t>(2, (config.heartbeat.count() * 3 + 999) / 1000));
}

}  // namespace

Outcome try_dump(const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter) {
  BinlogConnection binlog(interrupter);
  Connection connection(interrupter);
  SLUICE_MYSQL_CHECK(connection.open(config, std::chrono::seconds(10)));
  SLUICE_MYSQL_CHECK(announce(&connection, config, facts.mariadb, "UUID()"));
  const uint64_t position = facts.end_file.empty() ? 4 : std::min<uint64_t>(facts.end_position, UINT32_MAX);
  SLUICE_MYSQL_CHECK(dump(&connection, passing_server_id(), kNonBlock, facts.end_file, position));
  if (mysql_net_read_packet(connection.handle()) == packet_error) return connection.failure("read the binlog");
  return Outcome::ok();
}

Outcome BinlogConnection::open(const CdcConfig& config, const ClientName& client, const ServerFacts& facts,
                               const BinlogPosition& from) {
  SLUICE_MYSQL_CHECK(connection_.open(config, patience(config)));
  SLUICE_MYSQL_CHECK(announce(&connection_, config, facts.mariadb, connection_.quoted(client.uuid)));
  SLUICE_MYSQL_CHECK(register_client(&connection_, client));
  return request(facts, from, client.server_id, 0);
}

Outcome BinlogConnection::request(const ServerFacts& facts, const BinlogPosition& from, uint32_t server_id,
                                  uint16_t flags) {
  if (!from.file.empty()) {
    if (from.begin > UINT32_MAX)
      return Outcome::lost("cannot read the binlog: " + from.file + ":" + std::to_string(from.begin) +
                           " is further on than a client can ask for");
    return dump(&connection_, server_id, flags, from.file, from.begin);
  }
  if (from.gtid.empty()) return dump(&connection_, server_id, flags, "", 4);
  if (!facts.mariadb) {
    const auto set = GtidSet::parse(false, from.gtid);
    if (!set) return Outcome::wrong("`" + from.gtid + "` is no GTID set of MySQL: the position is of a MariaDB server");
    return dump_gtid(&connection_, server_id, flags, *set);
  }
  const std::string doing = "prepare to read the binlog";
  SLUICE_MYSQL_CHECK(connection_.query("SET @slave_connect_state=" + connection_.quoted(from.gtid), doing));
  SLUICE_MYSQL_CHECK(connection_.query("SET @slave_gtid_strict_mode=1", doing));
  SLUICE_MYSQL_CHECK(connection_.query("SET @slave_gtid_ignore_duplicates=0", doing));
  return dump(&connection_, server_id, flags, "", 4);
}

Outcome BinlogConnection::open_to_look(const CdcConfig& config, const ServerFacts& facts,
                                       const BinlogPosition& from) {
  looks_ = true;
  SLUICE_MYSQL_CHECK(connection_.open(config, patience(config)));
  SLUICE_MYSQL_CHECK(announce(&connection_, config, facts.mariadb, "UUID()"));
  return request(facts, from, passing_server_id(), kNonBlock);
}

Outcome try_start(const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter,
                  const BinlogPosition& from) {
  BinlogConnection binlog(interrupter);
  SLUICE_MYSQL_CHECK(binlog.open_to_look(config, facts, from));
  EventParser parser(facts.checksum);
  parser.set_position(from.file, from.begin);
  Event event;
  event.made_up = true;
  while (event.made_up) {
    const uint8_t* data = nullptr;
    size_t size = 0;
    SLUICE_MYSQL_CHECK(binlog.read(&data, &size));
    if (size == 0) break;
    if (const sluice::Status s = parser.parse(data, size, &event); !s.is_ok()) return Outcome::lost(s.message());
  }
  return Outcome::ok();
}

Outcome scan_binlog(const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter,
                    const FilePosition& from, const FilePosition& until,
                    const std::function<Outcome(const Event& event, const EventParser& parser)>& visit) {
  BinlogConnection binlog(interrupter);
  BinlogPosition begin;
  begin.file = from.file;
  begin.begin = from.position;
  SLUICE_MYSQL_CHECK(binlog.open_to_look(config, facts, begin));
  EventParser parser(facts.checksum);
  parser.set_position(from.file, from.position);
  Event event;
  while (until.file.empty() || FilePosition{parser.file(), parser.position()} < until) {
    const uint8_t* data = nullptr;
    size_t size = 0;
    SLUICE_MYSQL_CHECK(binlog.read(&data, &size));
    if (size == 0) break;
    if (const sluice::Status s = parser.parse(data, size, &event); !s.is_ok()) return Outcome::lost(s.message());
    SLUICE_MYSQL_CHECK(visit(event, parser));
  }
  return Outcome::ok();
}

Outcome BinlogConnection::read(const uint8_t** data, size_t* size) {
  MYSQL* m = connection_.handle();
  const unsigned long n = mysql_net_read_packet(m);
  if (n == packet_error) return connection_.failure("read the binlog");
  const uint8_t* p = m->net.read_pos;
  // MySQL ends the stream this way when it is shut down in an orderly manner.
  if (looks_ && n < 9 && p[0] == 0xFE) {
    *size = 0;
    return Outcome::ok();
  }
  if (n < 9 && p[0] == 0xFE) return Outcome::away("the server has ended the stream: it is being shut down");
  if (n < 1 || p[0] != 0) return Outcome::away("the server sent a packet that is no event");
  *data = p + 1;
  *size = n - 1;
  return Outcome::ok();
}

bool BinlogConnection::ready() const {
  MYSQL* m = connection_.handle();
  const MARIADB_PVIO* pvio = m->net.pvio;
  if (pvio == nullptr || pvio->cache_pos < pvio->cache + pvio->cache_size) return true;
  char c;
  return recv(static_cast<int>(mysql_get_socket(m)), &c, 1, MSG_PEEK | MSG_DONTWAIT) != -1;
}

}  // namespace sluice_mysql
