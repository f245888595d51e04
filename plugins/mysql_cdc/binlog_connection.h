// The binlog of a server as a stream of packets. Commands and packets: MySQL internals manual, "Replication Protocol";
// MariaDB knowledge base, "COM_BINLOG_DUMP", "COM_REGISTER_SLAVE".
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "binlog_position.h"
#include "decode/binlog_event.h"
#include "server_connection.h"
#include "server_facts.h"

namespace sluice_mysql {

// Whether the server would give this user its binlog: asks for the end of it, looks at the first packet, and hangs up.
// Nobody else's connection is disturbed.
Outcome try_dump(const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter);

// Whether events come from `from` on: looks at the first one. On a connection of its own.
Outcome try_start(const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter,
                  const BinlogPosition& from);

// Every event from `from`, where a transaction begins, to `until`; without a file: to what is the end when it is
// reached. On a connection of its own, beside one that reads for good. `visit` gives not OK to stop.
Outcome scan_binlog(const CdcConfig& config, const ServerFacts& facts, Interrupter* interrupter,
                    const FilePosition& from, const FilePosition& until,
                    const std::function<Outcome(const Event& event, const EventParser& parser)>& visit);

// Owned and used by one thread.
class BinlogConnection {
 public:
  explicit BinlogConnection(Interrupter* interrupter) : connection_(interrupter) {}

  // Begins at `from`: at file and offset; with an empty file behind its GTIDs, or, without these, at the first file
  // there is.
  Outcome open(const CdcConfig& config, const ClientName& client, const ServerFacts& facts, const BinlogPosition& from);
  // For a look at a part: at the end of the binlog read() gives size 0. The server knows this client by a number that
  // no other has, not even another look of this client.
  Outcome open_to_look(const CdcConfig& config, const ServerFacts& facts, const BinlogPosition& from);
  void close() { connection_.close(); }
  // The next event; waits for it. The bytes live until the next call.
  Outcome read(const uint8_t** data, size_t* size);
  // False: read() would wait, as far as can be seen from here.
  bool ready() const;

 private:
  Outcome request(const ServerFacts& facts, const BinlogPosition& from, uint32_t server_id, uint16_t flags);

  Connection connection_;
  bool looks_ = false;
};

}  // namespace sluice_mysql
