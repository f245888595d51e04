#!/usr/bin/env bash
# Runs the whole warehouse on real servers, private to a folder: MySQL and Kafka in, Phoenix (on HBase) and ClickHouse out.
#
#   scripts/demo-real.sh [OUT_DIR]      default demo-real-out, which is removed first
#
# Starts the servers, fills them with the shop, runs both jobs, changes the configuration and the shop while they run, shows what
# Phoenix and ClickHouse hold, and stops everything. Needs about 3 GB of memory; servers are fetched once, into ~/.cache/sluice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -le 1 ] || { echo "usage: scripts/demo-real.sh [OUT_DIR]" >&2; exit 64; }
out=$(realpath -m "${1:-demo-real-out}")
services=$PWD/tests/services
export KAFKA_DATA=$out/kafka PHOENIX_DATA=$out/phoenix MYSQL8_DATA=$out/mysql8 CLICKHOUSE_HOME=$out/clickhouse

stop() { "$services/clean.sh" "$out" >/dev/null 2>&1 || true; }
stop
rm -rf "$out"
mkdir -p "$out"
trap stop EXIT
trap 'exit 130' INT TERM

echo "---- starting Kafka, MySQL, HBase, the Phoenix Query Server and ClickHouse (UTC, and a second one in Asia/Shanghai)"
pids=()
"$services/kafka/kafka.sh" start --fresh & pids+=($!)
"$services/mysql/mysql.sh" mysql8 start --fresh & pids+=($!)
"$services/clickhouse/clickhouse.sh" start --fresh utc shanghai & pids+=($!)
"$services/phoenix/phoenix.sh" start --fresh & pids+=($!)
for pid in "${pids[@]}"; do wait "$pid" || { echo "demo-real.sh: a server did not start" >&2; exit 1; }; done

"$services/kafka/kafka.sh" exec "$services/mysql/mysql.sh" mysql8 exec "$services/phoenix/phoenix.sh" exec \
  "$services/clickhouse/clickhouse.sh" exec python3 demo/real.py "$out"
