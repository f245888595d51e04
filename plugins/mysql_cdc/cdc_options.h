// The options of mysql.cdc, as the host hands them over.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decode/table_codec.h"
#include "sluice/sdk.hpp"

namespace sluice_mysql {

enum class Tls { kOff, kRequired, kVerified };
enum class Start { kInitial, kLatest, kEarliest, kPosition, kGtid };
enum class SnapshotLock { kAuto, kNone, kTables, kGlobal };
enum class OnGap { kFail, kSnapshot, kEarliest };

struct CdcConfig {
  std::string host, user, password;
  int64_t port = 3306;
  Tls tls = Tls::kOff;
  std::optional<std::string> tls_ca, tls_certificate, tls_key;
  std::vector<std::string> databases, tables;
  Start start = Start::kInitial;
  std::optional<std::string> start_position, start_gtid;
  SnapshotLock snapshot_lock = SnapshotLock::kAuto;
  std::chrono::milliseconds snapshot_lock_timeout{};
  OnGap on_gap = OnGap::kFail;
  std::optional<int64_t> server_id;
  Format format = Format::kDebezium;
  Decimals decimals = Decimals::kText;
  std::string time_zone = "UTC";
  bool timestamps = false;
  bool output_ddl = false;
  std::chrono::milliseconds heartbeat{}, connect_timeout{};
  sluice::Size max_queue;
};

// How this client shows itself to a server. The same after a restart, so that the server ends what is left of the run
// before.
struct ClientName {
  std::string label;       // "sluice:PIPELINE.ID", for the server's lists
  std::string source;      // the operator's id: source.name
  std::string uuid;        // MySQL tells its clients apart by it
  uint32_t server_id = 0;  // MariaDB does by this one
};

// `server_id` if it is not 0, else one made of host, pipeline and operator.
ClientName client_name(std::string_view machine, std::string_view pipeline, std::string_view id, uint32_t server_id);

}  // namespace sluice_mysql
